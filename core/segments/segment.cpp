// Segment: making, opening, reading and writing. Its list is applied and folded in
// segment_fold.cpp, its check is in segment_check.cpp.
#include "core/segments/segment.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/cell_layout.hpp"

namespace cuckoo::segments {
namespace {

constexpr size_t kOverflowCellBytes = 16;

int64_t page_block(const SegmentHeader& header, uint64_t index) noexcept {
  return segment_block(header.number, static_cast<int64_t>(index));
}

}  // namespace

Segment::Segment(const FilterOptions& options, const SegmentHeader& header,
                 std::unique_ptr<Filter> filter)
    : options_(&options),
      header_(header),
      sums_(filter->pages().page_count()),
      filter_(std::move(filter)),
      kept_run_blocks_(header.run_blocks) {}

std::unique_ptr<Segment> Segment::made_of(const FilterOptions& options, uint64_t prefix,
                                          unsigned depth, uint64_t number, uint64_t capacity,
                                          std::unique_ptr<Filter> filter) {
  filter->pages().complete();
  const GeometryWords words = filter->words();
  SegmentHeader header;
  header.prefix = prefix;
  header.depth = static_cast<uint8_t>(depth);
  header.number = number;
  header.capacity = capacity;
  header.size = words.size;
  header.shape = static_cast<uint32_t>(words.shape);
  header.detail = static_cast<uint32_t>(words.detail);
  std::unique_ptr<Segment> made(new Segment(options, header, std::move(filter)));
  made->all_loaded_ = true;
  return made;
}

Result<std::unique_ptr<Segment>> Segment::make(const FilterOptions& options, uint64_t prefix,
                                               unsigned depth, uint64_t number, uint64_t capacity) {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> filter, options.make_filter_for(capacity));
  return made_of(options, prefix, depth, number, capacity, std::move(filter));
}

Result<std::unique_ptr<Segment>> Segment::make_share(const FilterOptions& options,
                                                     const SegmentLimits& limits, uint64_t prefix,
                                                     unsigned depth, uint64_t number) {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> filter,
                          make_filter(options.spec.kind, limits.words, options.page_bytes));
  return made_of(options, prefix, depth, number, limits.share, std::move(filter));
}

// Checks the sizes on which memory depends. A filter takes memory for its pages before it reads any
// of them. A filter that is made anew takes memory for its capacity. The capacity of a filter of
// pairs came from a legacy file and may be any.
Status check_geometry(const FilterOptions& options, const SegmentHeader& header) {
  const std::string name = "segment " + std::to_string(header.number);
  const Result<CellLayout> made = cell_layout(options.spec.kind, header.geometry());
  if (!made.ok()) {
    return corrupt(name + ": a geometry that does not exist: " + made.error().message);
  }
  const CellLayout& layout = made.value();
  if (layout.page_count(options.page_bytes) > static_cast<uint64_t>(kFirstRunPart)) {
    return corrupt(name + ": a geometry of too many pages");
  }
  if (!traits_of(options.spec.kind).pairs &&
      layout.units * layout.unit_bits < header.capacity / 2) {
    return corrupt(name + ": a geometry too small for its capacity");
  }
  return {};
}

Result<std::unique_ptr<Segment>> Segment::open(const FilterOptions& options, const Blocks& blocks,
                                               const SegmentHeader& header) {
  const std::string name = "segment " + std::to_string(header.number);
  CUCKOO_TRY(check_geometry(options, header));
  Result<std::unique_ptr<Filter>> made =
      make_filter(options.spec.kind, header.geometry(), options.page_bytes);
  if (!made.ok()) {
    return corrupt(name + ": a geometry that does not exist: " + made.error().message);
  }
  Filter& filter = *made.value();
  const uint64_t page_count = filter.pages().page_count();
  const bool adds_up =
      !filter.traits().slot_per_item || header.occupied + header.overflow_items == header.items;
  if (!adds_up || header.occupied > filter.bits() || header.pages > page_count) {
    return corrupt(name + ": counts that do not add up");
  }
  filter.set_occupied(header.occupied);
  std::unique_ptr<Segment> segment(new Segment(options, header, std::move(made.value())));
  segment->written_ = true;
  CUCKOO_TRY(segment->read_overflow(blocks));
  CUCKOO_TRY(segment->sums_.read(blocks, header.number, header.run_blocks, header.sums_hash));
  if (segment->sums_.pages() != header.pages) {
    return corrupt(name + ": counts that do not add up");
  }
  if (header.pages == 0) {
    CUCKOO_TRY(segment->load_all(blocks));
  }
  return segment;
}

// --- reading -------------------------------------------------------------------------------------

Status Segment::add_page(int64_t id, std::span<const std::byte> content) {
  const auto index = static_cast<uint64_t>(id - page_block(header_, 0));
  if (index >= filter_->pages().page_count()) {
    return corrupt("does not belong to this segment");
  }
  if (filter_->pages().find(index) != nullptr) {
    return {};
  }
  CUCKOO_TRY(sums_.expect_page(index, content));
  CUCKOO_TRY(filter_->validate_page(index, content));
  std::copy(content.begin(), content.end(), filter_->pages().add(index, true));
  filter_->pages().share(index);
  return {};
}

Status Segment::load(const Blocks& blocks, uint64_t hash) {
  if (all_loaded_) {
    return {};
  }
  uint64_t indexes[Filter::kMaxPlaces];
  return load_pages(blocks, {indexes, filter_->pages_of(hash << header_.depth, indexes)});
}

Status Segment::load_pages(const Blocks& blocks, std::span<const uint64_t> indexes) {
  for (const uint64_t index : indexes) {
    if (filter_->pages().find(index) != nullptr) {
      continue;
    }
    if (!sums_.has_page(index)) {
      return load_all(blocks);
    }
    CUCKOO_TRY(blocks.read_one(
        page_block(header_, index),
        [&](int64_t at, std::span<const std::byte> content) { return add_page(at, content); }));
  }
  return {};
}

Status Segment::load_all(const Blocks& blocks) {
  if (!all_loaded_) {
    CUCKOO_TRY(read_pages(blocks));
    filter_->pages().complete();
    all_loaded_ = true;
  }
  return {};
}

// Reads every page that has a block. One that is missing is an error.
Status Segment::read_pages(const Blocks& blocks) {
  const auto take = [&](int64_t id, std::span<const std::byte> content) -> Status {
    CUCKOO_TRY(add_page(id, content));
    return blocks.poll();
  };
  CUCKOO_TRY(
      blocks.read(page_block(header_, 0), segment_block(header_.number, kFirstRunPart - 1), take));
  const PageSet& pages = filter_->pages();
  for (uint64_t index = 0; index < pages.page_count(); ++index) {
    if (sums_.has_page(index) && pages.find(index) == nullptr) {
      CUCKOO_TRY(blocks.read_one(page_block(header_, index), take));
    }
  }
  return {};
}

Status Segment::read_overflow(const Blocks& blocks) {
  if (header_.overflow_blocks == 0) {
    return header_.overflow_items == 0 && header_.overflow_digest == 0
               ? Status()
               : corrupt("segment " + std::to_string(header_.number) +
                         ": overflow items without blocks");
  }
  OverflowTable& overflow = filter_->overflow();
  uint64_t found = 0;
  const int64_t first = segment_block(header_.number, kFirstOverflowPart);
  const auto take = [&](int64_t, std::span<const std::byte> content) -> Status {
    ++found;
    if (content.empty() || content.size() % kOverflowCellBytes != 0) {
      return corrupt("overflow block of " + std::to_string(content.size()) + " bytes");
    }
    for (size_t at = 0; at < content.size(); at += kOverflowCellBytes) {
      const auto cell = load_le<uint64_t>(&content[at]);
      const auto count = load_le<uint64_t>(&content[at + 8]);
      if (count == 0 || overflow.count(cell) != 0) {
        return corrupt("overflow cell that is doubled or empty");
      }
      overflow.add(cell, count);
    }
    return blocks.poll();
  };
  CUCKOO_TRY(blocks.read(first, segment_block(header_.number, kFirstSumsPart - 1), take));
  if (found != header_.overflow_blocks || overflow.items() != header_.overflow_items ||
      overflow.digest() != header_.overflow_digest) {
    return corrupt("segment " + std::to_string(header_.number) +
                   ": overflow blocks that are not those of its header");
  }
  overflow.clear_changed();
  return {};
}

// --- writing -------------------------------------------------------------------------------------

Status Segment::write_overflow(const Blocks& blocks, SegmentHeader& header) const {
  const OverflowTable& overflow =
      unwritten_ != nullptr ? unwritten_->overflow : filter_->overflow();
  header.overflow_items = overflow.items();
  header.overflow_digest = overflow.digest();
  if (overflow.changed().empty() && (header.overflow_blocks > 0 || overflow.empty())) {
    return {};
  }
  const size_t per_block = options_->page_bytes / kOverflowCellBytes;
  const std::vector<OverflowTable::CellCount> cells = overflow.counts();
  const auto count = static_cast<uint32_t>((cells.size() + per_block - 1) / per_block);
  std::vector<std::byte> content;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t begin = i * per_block;
    const size_t end = std::min(begin + per_block, cells.size());
    content.assign((end - begin) * kOverflowCellBytes, std::byte{0});
    for (size_t at = begin; at < end; ++at) {
      store_le(&content[(at - begin) * kOverflowCellBytes], cells[at].cell);
      store_le(&content[(at - begin) * kOverflowCellBytes + 8], cells[at].count);
    }
    CUCKOO_TRY(blocks.write(segment_block(header.number, kFirstOverflowPart + i), content,
                            i < header.overflow_blocks));
  }
  if (count < header.overflow_blocks) {
    CUCKOO_TRY(blocks.erase(segment_block(header.number, kFirstOverflowPart + count),
                            segment_block(header.number, kFirstSumsPart - 1)));
  }
  header.overflow_blocks = count;
  return {};
}

Status Segment::write_runs(const Blocks& blocks, Stored& stored) const {
  constexpr auto kMostRunBlocks = static_cast<uint64_t>(kFirstOverflowPart - kFirstRunPart);
  SegmentHeader& header = stored.header;
  if (kept_run_blocks_ + new_runs_.size() > kMostRunBlocks) {
    return corrupt("segment " + std::to_string(header.number) + ": too many run blocks");
  }
  stored.sums.keep_runs(kept_run_blocks_);
  uint32_t count = kept_run_blocks_;
  for (const std::vector<std::byte>& block : new_runs_) {
    CUCKOO_TRY(blocks.write(segment_block(header.number, kFirstRunPart + count), block,
                            count < header.run_blocks));
    stored.sums.add_run(block);
    ++count;
  }
  if (count < header.run_blocks) {
    CUCKOO_TRY(blocks.erase(segment_block(header.number, kFirstRunPart + count),
                            segment_block(header.number, kFirstOverflowPart - 1)));
  }
  header.run_blocks = count;
  return {};
}

Status Segment::write_pages(const Blocks& blocks, Stored& stored) const {
  const PageSet& pages = filter_->pages();
  const auto write = [&](uint64_t index, std::span<const std::byte> content) -> Status {
    CUCKOO_TRY(blocks.write(page_block(stored.header, index), content, pages.stored(index)));
    stored.sums.set_page(index, content);
    return {};
  };
  if (unwritten_ != nullptr) {
    for (const Unwritten::Page& page : unwritten_->pages) {
      CUCKOO_TRY(write(page.index, page.content));
    }
    return {};
  }
  std::vector<uint64_t> dirty = pages.dirty();
  std::sort(dirty.begin(), dirty.end());
  for (const uint64_t index : dirty) {
    CUCKOO_TRY(write(index, {pages.find(index), filter_->content_bytes(index)}));
  }
  return {};
}

Result<Segment::Stored> Segment::write_to(const Blocks& blocks) const {
  Stored stored{header_, sums_};
  CUCKOO_TRY(write_pages(blocks, stored));
  CUCKOO_TRY(write_runs(blocks, stored));
  CUCKOO_TRY(write_overflow(blocks, stored.header));
  CUCKOO_TRY(stored.sums.write(blocks, header_.number, options_->page_bytes, sums_));
  stored.header.pages = static_cast<uint32_t>(stored.sums.pages());
  stored.header.sums_hash = stored.sums.hash();
  return stored;
}

// Pages that are ahead of F stay dirty.
void Segment::note_written(Stored&& stored) noexcept {
  header_ = stored.header;
  sums_ = std::move(stored.sums);
  kept_run_blocks_ = header_.run_blocks;
  new_runs_.clear();
  written_ = true;
  if (unwritten_ == nullptr) {
    filter_->pages().clear_dirty();
    filter_->overflow().clear_changed();
    return;
  }
  for (const Unwritten::Page& page : unwritten_->pages) {
    filter_->pages().note_stored(page.index);
  }
  unwritten_.reset();
}

// Keeps the pages and the overflow table as of F, before the list changes them.
void Segment::keep_unwritten() {
  auto kept = std::make_unique<Unwritten>();
  const PageSet& pages = filter_->pages();
  std::vector<uint64_t> dirty = pages.dirty();
  std::sort(dirty.begin(), dirty.end());
  for (const uint64_t index : dirty) {
    const std::byte* const page = pages.find(index);
    kept->pages.push_back({index, {page, page + filter_->content_bytes(index)}});
  }
  kept->overflow = filter_->overflow();
  unwritten_ = std::move(kept);
}

void Segment::share_pages() noexcept {
  PageSet& pages = filter_->pages();
  for (const uint64_t index : pages.dirty()) {
    if (!pages.shared(index)) {
      pages.share(index);
    }
  }
}

uint64_t Segment::stored_blocks() const noexcept {
  const uint64_t sums = (sums_.stored_bytes() + options_->page_bytes - 1) / options_->page_bytes;
  return uint64_t{header_.pages} + header_.run_blocks + header_.overflow_blocks + sums;
}

size_t Segment::memory_bytes() const noexcept {
  size_t bytes = sizeof(Segment) + sums_.memory_bytes() + filter_->pages().memory_bytes() +
                 beyond_.memory_bytes() + owed_.memory_bytes();
  for (const std::vector<std::byte>& block : new_runs_) {
    bytes += block.capacity();
  }
  if (unwritten_ != nullptr) {
    for (const Unwritten::Page& page : unwritten_->pages) {
      bytes += page.content.capacity();
    }
  }
  return bytes;
}

}  // namespace cuckoo::segments
