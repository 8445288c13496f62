// FilterBlocks: making, segments, changes, writing and its check. Following and the lists of the
// leaves are in filter_blocks_lists.cpp.
#include "core/segments/filter_blocks.hpp"

#include <algorithm>
#include <utility>

#include "core/segments/new_segments.hpp"

namespace cuckoo::segments {

Result<SegmentLimits> limits_for(FilterOptions options, uint64_t capacity) {
  options.capacity = capacity;
  return segment_limits(options);
}

// --- making and following ------------------------------------------------------------------------

Status FilterBlocks::create(uint64_t past) {
  CUCKOO_ASSIGN_OR_RETURN(limits_, limits_for(*options_, options_->capacity));
  root_ = {};
  root_.options_digest = options_->digest;
  root_.first_depth = limits_.depth;
  root_.leaves = uint64_t{1} << limits_.depth;
  root_.capacity = options_->capacity;
  directory_.start(limits_.depth);
  const uint64_t chain = chain_with(options_->seed, options_->digest);
  log_.start(0, 0, past == 0 ? chain : chain_with(chain, past));
  drop_uncounted();
  items_ = 0;
  root_stored_ = false;
  stored_first_row_ = 0;
  note_root();
  return {};
}

void FilterBlocks::forget() noexcept {
  drop_uncounted();
  for (const size_t index : touched_) {
    directory_.leaf(index).segment.reset();
    directory_.leaf(index).touched = false;
  }
  touched_.clear();
  replaced_.clear();
  changed_ = root_changed_ = all_replaced_ = false;
  poison_.forget();
}

// --- segments ------------------------------------------------------------------------------------

Result<std::unique_ptr<Segment>> FilterBlocks::opened(const Directory::Leaf& leaf) const {
  Result<std::unique_ptr<Segment>> made =
      leaf.header->number == 0 ? Segment::make_share(*options_, limits_, leaf.prefix, leaf.depth, 0)
                               : Segment::open(*options_, storage_, *leaf.header);
  return made;
}

Status FilterBlocks::visit_segments(Lists lists, const LeafChoice& choose,
                                    const SegmentVisitor& visit) const {
  uint64_t prefix = 0;
  do {
    const size_t index = directory_.leaf_of(prefix);
    const Directory::Leaf& leaf = directory_.leaf(index);
    prefix = leaf.depth == 0 ? 0 : prefix + (uint64_t{1} << (64 - leaf.depth));
    if (choose(leaf)) {
      CUCKOO_TRY(visit_segment(lists, index, visit));
    }
  } while (prefix != 0);
  return {};
}

Status FilterBlocks::visit_segment(Lists lists, size_t index, const SegmentVisitor& visit) const {
  const Directory::Leaf& leaf = directory_.leaf(index);
  std::unique_ptr<Segment> made;
  if (leaf.segment == nullptr) {
    CUCKOO_ASSIGN_OR_RETURN(made, opened(leaf));
  }
  if (lists == Lists::kApplied && made != nullptr) {
    CUCKOO_TRY(made->load_all(storage_));
    made->apply(leaf.pending, leaf.pending.size(), applying());
  } else if (lists == Lists::kApplied) {
    CUCKOO_TRY(leaf.segment->load_all(storage_));
    CUCKOO_TRY(current(index).take_status());
  }
  CUCKOO_TRY(visit(made != nullptr ? *made : *leaf.segment, leaf.pending));
  return poll();
}

uint64_t FilterBlocks::turn_entries() const noexcept {
  const uint64_t capacity = directory_.leaf(0).current().capacity;
  return turn_entries_of(limits_, directory_.size(), capacity != 0 ? capacity : limits_.share);
}

// --- changes -------------------------------------------------------------------------------------

std::vector<size_t> FilterBlocks::split(size_t index, unsigned bits) {
  note_root();
  if (const uint64_t number = directory_.leaf(index).current().number; number != 0) {
    replaced_.push_back(number);
  }
  std::vector<size_t> leaves = directory_.split(index, bits);
  root_.leaves = directory_.size();
  return leaves;
}

Status FilterBlocks::give_number(size_t index) {
  CUCKOO_TRY(maker(limits_, keeps_hashes()).expect_numbers(1));
  note_segment(index);
  directory_.leaf(index).segment->begin(root_.next_number++, root_.folded_to);
  return {};
}

void FilterBlocks::begin_log() noexcept {
  root_.first_row = log_.row();
  root_.first_position = log_.position();
  note_root();
}

void FilterBlocks::begin_log(const LogPlace& place) {
  log_.restart(place);
  begin_log();
}

void FilterBlocks::begin_anew(const LogPlace& place) {
  drop_uncounted();
  begin_log(place);
  all_replaced_ = true;
}

void FilterBlocks::clear(const SegmentLimits& limits) {
  stir(root_.next_number);
  Root fresh;
  fresh.options_digest = root_.options_digest;
  fresh.directory_version = root_.directory_version;
  fresh.next_number = root_.next_number;
  fresh.first_row = root_.first_row;
  fresh.first_position = root_.first_position;
  fresh.window_hash = root_.window_hash;
  fresh.first_depth = limits.depth;
  fresh.leaves = uint64_t{1} << limits.depth;
  fresh.folded_to = log_.position();
  fresh.capacity = options_->capacity;
  directory_.start(limits.depth);
  limits_ = limits;
  root_ = fresh;
  items_ = 0;
  touched_.clear();
  replaced_.clear();
}

void FilterBlocks::note_options() {
  storage_ = storage_.with_seed(options_->block_seed());
  Log log(*options_);
  log.start(log_.row(), log_.position(), log_.chain());
  log_ = std::move(log);
  root_.options_digest = options_->digest;
}

void FilterBlocks::replace(NewSegments& next, uint64_t capacity) {
  drop_uncounted();
  directory_ = std::move(next.directory());
  limits_ = next.limits();
  touched_.clear();
  replaced_.clear();
  for (size_t i = 0; i < directory_.size(); ++i) {
    if (directory_.leaf(i).segment != nullptr) {
      note_segment(i);
    }
  }
  root_.next_number = next.next_number();
  root_.first_depth = next.first_depth();
  root_.leaves = directory_.size();
  root_.capacity = capacity;
  root_.folded_to = next.position();
  root_.pages_hash = 0;
  all_replaced_ = true;
  note_root();
}

// --- writing -------------------------------------------------------------------------------------

// Keeps S3. Returns the root with its first row and the row of its oldest pending entry as of now.
Root FilterBlocks::root_of_cut_log(uint64_t kept) const noexcept {
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
  root.first_row = row_of(std::min(pending, end - std::min(end, kept)));
  root.first_position = position_of(root.first_row);
  return root;
}

Status FilterBlocks::erase_replaced(const Blocks& storage) const {
  if (all_replaced_) {
    CUCKOO_TRY(storage.erase(kFirstDirectoryBlock, kFirstLogBlock - 1));
  }
  for (const uint64_t number : replaced_) {
    CUCKOO_TRY(storage.erase(segment_block(number, 0), segment_block(number, kEndPart - 1)));
  }
  return {};
}

// Writes the pages of the directory whose headers changed.
Status FilterBlocks::write_directory(const Blocks& storage, Written& written) const {
  Root& root = written.root;
  const uint64_t per_page = Directory::leaves_per_page(options_->page_bytes);
  std::optional<uint64_t> last;
  for (const auto& [index, stored] : written.leaves) {
    root.directory_version = hash_of(stored.header, root.directory_version);
    const uint64_t page = index / per_page;
    if (page == last) {
      continue;
    }
    last = page;
    const std::vector<std::byte> content = directory_.encode_page(page, written.leaves);
    const uint64_t before = directory_.page_hash(page);
    CUCKOO_TRY(
        storage.write(kFirstDirectoryBlock + static_cast<int64_t>(page), content, before != 0));
    written.pages.emplace_back(page, Directory::hash_of_page(page, content));
    root.pages_hash += written.pages.back().second - before;
  }
  return {};
}

// Writes the root, and all that changes only together with the root.
Status FilterBlocks::write_root(const Blocks& storage, uint64_t kept, Written& written) const {
  Root& root = written.root;
  root = root_of_cut_log(kept);
  CUCKOO_TRY(erase_replaced(storage));
  for (const size_t index : touched_) {
    CUCKOO_ASSIGN_OR_RETURN(Segment::Stored stored,
                            directory_.leaf(index).segment->write_to(storage));
    written.leaves.emplace_back(index, std::move(stored));
  }
  std::sort(written.leaves.begin(), written.leaves.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  CUCKOO_TRY(write_directory(storage, written));
  if (root.first_row > stored_first_row_) {
    CUCKOO_TRY(storage.erase(kFirstLogBlock + static_cast<int64_t>(stored_first_row_),
                             kFirstLogBlock + static_cast<int64_t>(root.first_row) - 1));
  }
  root.directory_version = hash_of(root);
  return storage.write(kRootBlock, encode_root(root), root_stored_);
}

Status FilterBlocks::write_to(const Blocks& storage, uint64_t kept, Written& written) const {
  written.root = root_;
  if (root_changed_) {
    CUCKOO_TRY(write_root(storage, kept, written));
  }
  CUCKOO_ASSIGN_OR_RETURN(written.log, log_.write_to(storage, written.root.first_row, items_,
                                                     written.root.directory_version));
  return {};
}

void FilterBlocks::note_written(Written&& written) {
  log_.note_written(std::move(written.log));
  for (const auto& [page, hash] : written.pages) {
    directory_.note_stored(page, hash);
  }
  for (auto& [index, stored] : written.leaves) {
    Directory::Leaf& leaf = directory_.leaf(index);
    leaf.header = stored.header;
    leaf.segment->note_written(std::move(stored));
    leaf.touched = false;
  }
  touched_.clear();
  replaced_.clear();
  root_ = written.root;
  stored_first_row_ = root_.first_row;
  root_stored_ = root_stored_ || root_changed_;
  changed_ = root_changed_ = all_replaced_ = false;
}

// --- check ---------------------------------------------------------------------------------------

Status FilterBlocks::check() const {
  Log kept(*options_);
  LogHeader newest;
  CUCKOO_TRY(kept.read(storage_, root_.first_row, root_.first_position, newest,
                       [](uint64_t, uint64_t, uint64_t) {}));
  if (kept.position() != log_.position() || kept.chain() != log_.chain() ||
      root_.pending_position - root_.first_position !=
          (root_.pending_row - root_.first_row) * log_.row_entries()) {
    return corrupt("a log whose rows are not where the root says");
  }
  if (directory_.pages_hash() != root_.pages_hash) {
    return corrupt("a directory in memory whose pages are not those of the root");
  }
  if (root_.first_row == 0) {
    return {};
  }
  return storage_.read(kFirstLogBlock, kFirstLogBlock + static_cast<int64_t>(root_.first_row) - 1,
                       [](int64_t, std::span<const std::byte>) -> Status {
                         return corrupt("is before the first row of the log");
                       });
}

}  // namespace cuckoo::segments
