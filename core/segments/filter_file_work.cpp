// FilterFile: what is folded when, and what is written.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/segments/decide.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t kFewestLoadEntries = 16384;         // a transaction of more is a load
constexpr uint64_t kMostUnfolded = uint64_t{1} << 22;  // S3: 64 MB, in the log and the segments

}  // namespace

void FilterFile::set_turns() noexcept {
  const SegmentHeader& first = directory_.leaf(0).current();
  turn_entries_ = turn_entries_of(limits_, directory_.size(),
                                  first.number != 0 ? first.capacity : limits_.share);
}

void FilterFile::touch(size_t index) {
  if (!directory_.leaf(index).touched) {
    touched_.push_back(index);
    directory_.leaf(index).touched = true;
  }
  changed_ = layout_changed_ = true;
}

// Comes before an entry is appended.
Status FilterFile::work() {
  if (unfolded_ >= kMostUnfolded) {
    return fold_all();
  }
  loading_ =
      loading_ || appended_ >= std::max(kFewestLoadEntries, 2 * directory_.size() * turn_entries_);
  return {};
}

// Segments that are folded in turn have up to T pending entries, half of it on average. It is done
// at the transaction's end: a remove of what was never added takes cells from other keys until the
// add that makes up for it is there, too. So the two should be folded together.
Status FilterFile::take_turns() {
  while (unfolded_ > (directory_.size() + 1) * turn_entries_ / 2 &&
         directory_.oldest() != Directory::Leaf::kNone) {
    CUCKOO_TRY(blocks_.poll());
    CUCKOO_TRY(fold_leaf(directory_.oldest()));
    set_turns();
  }
  return {};
}

Status FilterFile::fold_leaf(size_t index) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(index));
  CUCKOO_TRY(found->load_all(blocks_));
  items_ += found->settle();
  if (found->untouched()) {
    return remake_leaf(index, *found);
  }
  const Segment::Folding folding = found->folding();
  const SegmentHeader& header = found->header();
  SegmentFigures figures;
  figures.keeps_hashes = keeps_hashes();
  figures.pending = found->pending().entries();
  figures.outgrows = found->would_outgrow(folding);
  figures.run_entries = header.run_entries;
  figures.dead = header.dead + 2 * folding.removes.size();
  switch (decide(figures)) {
    case SegmentWork::kNothing:
      return {};
    case SegmentWork::kRemake:
      return remake_leaf(index, *found);
    case SegmentWork::kFold:
      break;
  }
  CUCKOO_TRY(poison_.changing([&]() -> Status {
    touch(index);
    CUCKOO_TRY(found->fold(folding, log_.position(), keeps_hashes()));
    directory_.note_folded(index);
    unfolded_ -= figures.pending;
    return {};
  }));
  return keeps_hashes() && found->outgrown() ? remake_leaf(index, *found) : Status();
}

// Of its runs and pending entries it makes one segment of the same capacity, a larger one, or
// several. One without runs that is still empty is made of its pending entries.
Status FilterFile::remake_leaf(size_t index, Segment& segment) {
  Remake remake;
  CUCKOO_ASSIGN_OR_RETURN(remake.entries, segment.merged(blocks_));
  remake.before = segment.header();
  const uint64_t needed = needed_for(remake.entries, traits_of(options_.spec.kind).slot_per_item);
  remake.grows = keeps_hashes() && (needed > remake.before.capacity || segment.outgrown());
  if (remake.grows) {
    remake.bits = std::min(bits_to_split(needed, limits_.keys), directory_.most_bits(index));
  }
  CUCKOO_TRY(expect_numbers(root_.next_number, uint64_t{1} << remake.bits));
  const uint64_t pending = segment.pending().entries();
  const uint64_t items = remake.before.items + static_cast<uint64_t>(segment.pending().items());
  return poison_.changing([&]() -> Status {
    unfolded_ -= pending;
    items_ -= options_.multiset() ? items : 0;
    return replace_leaf(index, remake);  // `segment` is gone then
  });
}

Status FilterFile::replace_leaf(size_t index, const Remake& remake) {
  if (remake.before.number != 0) {
    erased_.push_back(remake.before.number);
  }
  touch(index);
  const std::vector<size_t> leaves = directory_.split(index, remake.bits);
  root_.leaves = directory_.size();
  const unsigned depth = remake.before.depth + remake.bits;
  std::span<const NetHash> rest = remake.entries;
  for (const size_t leaf : leaves) {
    size_t count = rest.size();
    if (leaf != leaves.back()) {
      const uint64_t end = directory_.leaf(leaf).prefix + (uint64_t{1} << (64 - depth));
      const auto ends = std::partition_point(
          rest.begin(), rest.end(), [end](const NetHash& entry) { return entry.hash < end; });
      count = static_cast<size_t>(ends - rest.begin());
    }
    CUCKOO_TRY(make_piece(leaf, rest.first(count), remake));
    rest = rest.subspan(count);
  }
  return {};
}

// A multiset's items follow: removes of what was never added are dropped.
Status FilterFile::make_piece(size_t index, std::span<const NetHash> entries,
                              const Remake& remake) {
  const Directory::Leaf& leaf = directory_.leaf(index);
  const uint64_t keys = needed_for(entries, traits_of(options_.spec.kind).slot_per_item);
  const uint64_t capacity =
      remake.grows ? remade_capacity(keys, limits_.keys) : remake.before.capacity;
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Segment> made,
      Segment::make(options_, leaf.prefix, leaf.depth, root_.next_number, capacity));
  ++root_.next_number;
  const uint64_t items = items_of(entries, options_.multiset());
  made->become(entries, log_.position(), remake.before.base_id, items, keeps_hashes());
  items_ += options_.multiset() ? items : 0;
  directory_.leaf(index).segment = std::move(made);
  touch(index);
  return {};
}

// R of S3.
uint64_t FilterFile::kept_entries() const noexcept {
  return kept_entries_of(directory_.size(), turn_entries_, keeps_hashes() ? items_ : 0);
}

void FilterFile::begin_log() noexcept {
  root_.first_row = log_.row();
  root_.first_position = log_.position();
}

// When nothing is pending. The entries of a large load would be erased soon: they are not written,
// and the log begins anew.
void FilterFile::restart_long_log() {
  if (appended_ > std::min(kept_entries(), kMostUnfolded)) {
    log_.restart();
    begin_log();
  }
}

// Nothing is pending afterwards.
Status FilterFile::fold_all() {
  while (directory_.oldest() != Directory::Leaf::kNone) {
    CUCKOO_TRY(fold_leaf(directory_.oldest()));
    CUCKOO_TRY(blocks_.poll());
  }
  settle();
  set_turns();
  return poison_.changing([this]() -> Status {
    restart_long_log();
    changed_ = layout_changed_ = true;
    return {};
  });
}

// A load that was rolled back in part is none any more, but may have left much.
Status FilterFile::finish_load() {
  CUCKOO_TRY(poison_.error());
  if (memory_ != Memory::kCurrent) {  // the last that happened was a roll-back to a savepoint
    return {};
  }
  return loading_ || unfolded_ > 4 * kPendingEntries ? fold_all() : take_turns();
}

// Numbers of segments and rows of the log go on, so that other connections see that it changed.
Status FilterFile::clear() {
  CUCKOO_TRY(poison_.error());
  CUCKOO_ASSIGN_OR_RETURN(limits_, limits_for(options_.capacity));
  return poison_.changing([this]() -> Status {
    log_.stir(root_.next_number);
    new_places_.reset();
    Root fresh;
    fresh.options_digest = root_.options_digest;
    fresh.directory_version = root_.directory_version;
    fresh.next_number = root_.next_number;
    fresh.first_depth = limits_.depth;
    fresh.leaves = uint64_t{1} << limits_.depth;
    fresh.folded_to = log_.position();
    fresh.capacity = options_.capacity;
    directory_.start(limits_.depth);
    root_ = fresh;
    begin_log();
    touched_.clear();
    erased_.clear();
    items_ = unfolded_ = uncounted_ = 0;
    waiting_.clear();
    changed_ = layout_changed_ = cleared_ = true;
    set_turns();
    return {};
  });
}

// --- writing -------------------------------------------------------------------------------------

// S3. Returns the root with the places in the log as of now.
Root FilterFile::root_of_cut_log() const noexcept {
  const uint64_t end = log_.position();
  const auto row_of = [this](uint64_t position) {
    const uint64_t rows = position > root_.first_position
                              ? (position - root_.first_position) / log_.row_entries()
                              : 0;
    return std::min(root_.first_row + rows, log_.last_row());
  };
  const auto position_of = [this](uint64_t row) {
    return root_.first_position + (row - root_.first_row) * log_.row_entries();
  };
  const size_t oldest = directory_.oldest();
  const uint64_t pending =
      oldest == Directory::Leaf::kNone ? end : directory_.leaf(oldest).first_pending;
  Root root = root_;
  root.pending_row = row_of(pending);
  root.pending_position = position_of(root.pending_row);
  root.first_row = row_of(std::min(pending, end - std::min(end, kept_entries())));
  root.first_position = position_of(root.first_row);
  return root;
}

Status FilterFile::write_layout(const Blocks& blocks, Written& written) const {
  Root& root = written.root;
  root = root_of_cut_log();
  if (cleared_) {
    CUCKOO_TRY(blocks.erase(kFirstDirectoryBlock, kFirstLogBlock - 1));
  } else if (replaced_) {
    CUCKOO_TRY(blocks.erase(kFirstDirectoryBlock, kMarksBlock - 1));
    CUCKOO_TRY(blocks.erase(segment_block(1, 0), kFirstLogBlock - 1));
  }
  for (const uint64_t number : erased_) {
    CUCKOO_TRY(blocks.erase(segment_block(number, 0), segment_block(number, kEndPart - 1)));
  }
  for (const size_t index : touched_) {
    CUCKOO_ASSIGN_OR_RETURN(const SegmentHeader header,
                            directory_.leaf(index).segment->write_to(blocks));
    written.headers.emplace_back(index, header);
  }
  std::sort(written.headers.begin(), written.headers.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  const uint64_t per_page = Directory::leaves_per_page(options_.page_bytes);
  std::optional<uint64_t> last;
  for (const auto& [index, header] : written.headers) {
    root.directory_version = log_chain_restart(root.directory_version, header.base_id);
    const uint64_t page = index / per_page;
    if (page == last) {
      continue;
    }
    last = page;
    const bool stored = directory_.page_stored(page);
    CUCKOO_TRY(blocks.write(kFirstDirectoryBlock + static_cast<int64_t>(page),
                            directory_.encode_page(page, written.headers), stored));
    if (!stored) {
      written.new_pages.push_back(page);
      ++root.pages;
      root.page_index_sum += page;
    }
  }
  if (new_places_) {
    CUCKOO_TRY(blocks.write(kMarksBlock, encode_places(*new_places_), places_stored_ && !cleared_));
    root.places = 1;
  }
  if (root.first_row > stored_first_row_) {
    CUCKOO_TRY(blocks.erase(kFirstLogBlock + static_cast<int64_t>(stored_first_row_),
                            kFirstLogBlock + static_cast<int64_t>(root.first_row) - 1));
  }
  root.directory_version = log_chain_restart(root.directory_version, root.first_position);
  return blocks.write(kRootBlock, encode_root(root), root_stored_);
}

Status FilterFile::write_to(const Blocks& blocks, Written& written) const {
  settle();
  written.root = root_;
  if (layout_changed_) {
    CUCKOO_TRY(write_layout(blocks, written));
  }
  return log_.write_to(blocks, written.root.first_row, items_, written.root.directory_version);
}

void FilterFile::note_written(const Written& written) {
  log_.note_written();
  for (const uint64_t page : written.new_pages) {
    directory_.note_stored(page);
  }
  for (const auto& [index, header] : written.headers) {
    Directory::Leaf& leaf = directory_.leaf(index);
    leaf.segment->note_written(header);
    leaf.header = header;
    leaf.touched = false;
  }
  touched_.clear();
  erased_.clear();
  root_ = written.root;
  stored_first_row_ = root_.first_row;
  places_stored_ = root_.places != 0;
  new_places_.reset();
  root_stored_ = root_stored_ || layout_changed_;
  changed_ = layout_changed_ = cleared_ = replaced_ = false;
}

Status FilterFile::flush() {
  CUCKOO_TRY(poison_.error());
  if (!changed_) {
    return {};
  }
  return poison_.writing([this]() -> Status {
    Written written;
    CUCKOO_TRY(write_to(blocks_, written));
    note_written(written);
    return {};
  });
}

Status FilterFile::write_pending_to(BlockStorage& storage) const {
  CUCKOO_TRY(poison_.error());
  Written written;
  return changed_ ? write_to(blocks_.over(storage), written) : Status();
}

// --- check ---------------------------------------------------------------------------------------

Status FilterFile::check() const {
  CUCKOO_TRY(poison_.error());
  FilterFile stored(options_, blocks_);
  CUCKOO_TRY(stored.refresh());
  if (stored.root_ != root_ || stored.log_.position() != log_.position() ||
      stored.items_ != items_) {
    return corrupt("memory that is not what is stored");
  }
  CUCKOO_TRY(stored.check_log());
  CUCKOO_TRY(stored.check_places());
  return stored.check_segments();
}

// S3. All that is kept of it, also what refresh() did not read.
Status FilterFile::check_log() const {
  Log kept(options_);
  LogHeader newest;
  CUCKOO_TRY(
      kept.read(blocks_, root_.first_row, root_.first_position, newest, [](uint64_t, uint64_t) {}));
  if (kept.position() != log_.position() || kept.chain() != log_.chain() ||
      root_.pending_position - root_.first_position !=
          (root_.pending_row - root_.first_row) * log_.row_entries()) {
    return corrupt("a log whose rows are not where the root says");
  }
  if (root_.first_row == 0) {
    return {};
  }
  return blocks_.read(kFirstLogBlock, kFirstLogBlock + static_cast<int64_t>(root_.first_row) - 1,
                      [](int64_t, std::span<const std::byte>) -> Status {
                        return corrupt("is before the first row of the log");
                      });
}

// Opens one segment at a time.
Status FilterFile::check_segments() {
  uint64_t items = 0;
  uint64_t blocks = 0;
  for (size_t i = 0; i < directory_.size(); ++i) {
    if (directory_.leaf(i).untouched()) {
      continue;
    }
    CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(i));
    const SegmentHeader& header = found->header();
    if (header.number != 0) {
      CUCKOO_TRY(found->check(blocks_, keeps_hashes()));
    }
    items += header.items + static_cast<uint64_t>(found->pending().items());
    blocks += uint64_t{header.pages} + header.run_blocks + header.overflow_blocks;
    directory_.leaf(i).segment.reset();
  }
  if (options_.multiset() && items != items_) {
    return corrupt("segments and log of " + std::to_string(items) + " items, expected " +
                   std::to_string(items_));
  }
  uint64_t found = 0;  // a block of no segment, or of two
  CUCKOO_TRY(blocks_.read(segment_block(1, 0), kFirstLogBlock - 1,
                          [&](int64_t, std::span<const std::byte>) -> Status {
                            ++found;
                            return blocks_.poll();
                          }));
  return found == blocks ? Status()
                         : corrupt(std::to_string(found) + " blocks of segments, expected " +
                                   std::to_string(blocks));
}

}  // namespace cuckoo::segments
