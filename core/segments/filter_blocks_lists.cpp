// FilterBlocks: how it follows storage, and the lists of the leaves: what appends to them, and how
// they are applied to the segments.
#include <algorithm>
#include <utility>

#include "core/segments/filter_blocks.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// --- following -----------------------------------------------------------------------------------

Result<bool> FilterBlocks::read_directory(uint64_t known) {
  Root root;
  CUCKOO_TRY(
      storage_.read_one(kRootBlock, [&](int64_t, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(root, decode_root(content));
        CUCKOO_TRY(check_keys(options_->key_form(), root.key_types));
        return root.options_digest == options_->digest ? Status() : corrupt("of other options");
      }));
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(*options_, root.capacity));
  CUCKOO_ASSIGN_OR_RETURN(const bool complete,
                          directory_.read(storage_, root, {known, root_.folded_to}));
  if (limits.words != limits_.words || limits.share != limits_.share ||
      root.hashless != root_.hashless) {
    directory_.drop_shares();
  }
  limits_ = limits;
  root_ = root;
  stored_first_row_ = root.first_row;
  root_stored_ = true;
  return complete;
}

// Comes after the lists were read again. A segment stays if its new list begins with the entries
// that were applied to its pages. Any other segment is read again when it is asked for.
void FilterBlocks::keep_what_stays(const std::vector<EntryList>& before) noexcept {
  for (size_t i = 0; i < before.size(); ++i) {
    Directory::Leaf& leaf = directory_.leaf(i);
    if (leaf.segment == nullptr) {
      continue;
    }
    // The entry after those that were applied may be the one that made it outgrow.
    const size_t decided = leaf.segment->applied() + (leaf.segment->outgrew() ? 1 : 0);
    if (!leaf.pending.begins_with(before[i], std::min(decided, before[i].size()))) {
      leaf.segment.reset();
    }
  }
}

Status FilterBlocks::follow(bool known) {
  LogHeader newest;
  bool same_history = false;
  struct Entry {
    uint64_t position;
    uint64_t entry;
    uint64_t copies;
  };
  std::vector<Entry> entries;
  const auto collect = [&](uint64_t position, uint64_t entry, uint64_t copies) {
    entries.push_back({position, entry, copies});
  };
  std::vector<EntryList> before;  // the lists, if they are read again
  const uint64_t position = log_.position();
  if (known) {
    CUCKOO_ASSIGN_OR_RETURN(same_history, log_.follow(storage_, newest, collect));
  }
  if (!same_history || newest.directory_version != root_.directory_version) {
    CUCKOO_ASSIGN_OR_RETURN(const bool complete, read_directory(same_history ? position : 0));
    const bool again = !same_history || !complete;
    if (again) {
      entries.clear();
      CUCKOO_TRY(log_.read(storage_, root_.pending_row, root_.pending_position, newest, collect));
    }
    if (newest.directory_version != root_.directory_version ||
        std::max(directory_.folded_to(), root_.folded_to) > log_.position()) {
      return corrupt("a log whose end belongs to another directory");
    }
    if (again) {
      before = directory_.take_pending();
    }
  }
  struct KeepWhatStays {  // also if memory runs out
    FilterBlocks& blocks;
    const std::vector<EntryList>& before;
    ~KeepWhatStays() { blocks.keep_what_stays(before); }
  } keep{*this, before};
  for (const auto& [position, entry, copies] : entries) {
    const size_t index = directory_.leaf_of(entry);
    Directory::Leaf& leaf = directory_.leaf(index);
    if (position >= (leaf.header->number == 0 ? root_.folded_to : leaf.header->folded_to)) {
      directory_.append(index, position, entry, copies);
      ++leaf.counted;
    }
  }
  items_ = newest.items;
  return {};
}

// --- entries -------------------------------------------------------------------------------------

void FilterBlocks::append(uint64_t entry, uint64_t copies) {
  const size_t index = directory_.leaf_of(entry);
  const uint64_t position = log_.position();
  if (!options_->multiset()) {
    const Directory::Leaf& leaf = directory_.leaf(index);
    if (leaf.counted == leaf.pending.size()) {
      note_uncounted(index);
    }
    ++uncounted_adds_;
  }
  if (logged_) {
    log_.append(entry, copies);
  }
  directory_.append(index, position, entry, copies);
  changed_ = true;
}

// A leaf that was counted meanwhile is noted again. So now and then, those that need not be there
// are dropped.
void FilterBlocks::note_uncounted(size_t index) {
  constexpr size_t kFew = 64;
  if (uncounted_.size() >= kFew + 2 * directory_.size()) {
    std::erase_if(uncounted_, [this](size_t noted) {
      return noted >= directory_.size() ||
             directory_.leaf(noted).counted == directory_.leaf(noted).pending.size();
    });
    std::sort(uncounted_.begin(), uncounted_.end());
    uncounted_.erase(std::unique(uncounted_.begin(), uncounted_.end()), uncounted_.end());
  }
  uncounted_.push_back(index);
}

Status FilterBlocks::expect_add(uint64_t hash) {
  const size_t index = directory_.leaf_of(hash);
  if (const Segment* const known = directory_.leaf(index).segment.get();
      known == nullptr || !known->all_loaded()) {
    CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(index));
    CUCKOO_TRY(found->load_all(storage_));
  }
  return {};
}

// If a leaf was folded, split or replaced meanwhile, its adds are counted.
Status FilterBlocks::count_all(Polls polls) const {
  for (const size_t index : uncounted_) {
    if (index < directory_.size()) {
      const Directory::Leaf& leaf = directory_.leaf(index);
      CUCKOO_TRY(leaf.counted < leaf.pending.size() ? current(index, polls).take_status()
                                                    : Status());
    }
  }
  drop_uncounted();
  return {};
}

// --- applying ------------------------------------------------------------------------------------

Result<Segment*> FilterBlocks::segment(size_t index) const {
  Directory::Leaf& leaf = directory_.leaf(index);
  if (leaf.segment == nullptr) {
    CUCKOO_ASSIGN_OR_RETURN(leaf.segment, opened(leaf));
  }
  return leaf.segment.get();
}

// Applies the list of the leaf's segment up to `end`. What fails leaves the segment out of memory,
// from which it is read again. If it is not stored as of F yet, the filter is poisoned instead.
Status FilterBlocks::apply_list(Directory::Leaf& leaf, size_t end, Polls polls, bool stops) const {
  constexpr size_t kEntriesPerPoll = size_t{1} << 14;
  struct UnlessDone {
    Directory::Leaf& leaf;
    Poison& poison;
    bool done = false;
    ~UnlessDone() {
      if (!done && leaf.touched) {
        poison.poison();
      } else if (!done) {
        leaf.segment.reset();
      }
    }
  };
  while (leaf.segment->applied() < end) {
    const size_t first = leaf.segment->applied();
    const bool known = first < leaf.counted;
    const size_t part = std::min({end, known ? leaf.counted : end, first + kEntriesPerPoll});
    UnlessDone unless{leaf, poison_};
    const uint64_t fresh = leaf.segment->apply(leaf.pending, part, applying(stops));
    unless.done = true;
    if (!known) {
      items_ += options_->multiset() ? 0 : fresh;
      leaf.counted = static_cast<uint32_t>(leaf.segment->applied());
    }
    if (leaf.segment->applied() < part) {
      break;  // it stopped
    }
    if (part < end && polls == Polls::kYes) {
      CUCKOO_TRY(poll());
    }
  }
  return {};
}

// Pages are shared when this connection follows another one. Those of its own transaction change
// again soon.
Result<Segment*> FilterBlocks::current(size_t index, Polls polls) const {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(index));
  Directory::Leaf& leaf = directory_.leaf(index);
  if (!leaf.is_current()) {
    CUCKOO_TRY(found->load_all(storage_));
    CUCKOO_TRY(apply_list(leaf, leaf.pending.size(), polls));
    if (!changed_) {
      found->share_pages();
    }
  }
  return found;
}

Status FilterBlocks::count(size_t index) const {
  Directory::Leaf& leaf = directory_.leaf(index);
  if (leaf.counted == leaf.pending.size()) {
    return {};
  }
  CUCKOO_TRY(leaf.segment->load_all(storage_));
  CUCKOO_TRY(apply_list(leaf, leaf.pending.size(), Polls::kYes, true));
  const Segment& segment = *leaf.segment;
  if (const size_t size = leaf.pending.size(); leaf.counted < size) {  // it outgrew before
    const size_t counted = std::max<size_t>(leaf.counted, segment.applied());
    items_ += segment.count_rest(leaf.pending, size) - segment.count_rest(leaf.pending, counted);
    leaf.counted = static_cast<uint32_t>(size);
  }
  return {};
}

Status FilterBlocks::apply_all() const {
  for (size_t index = directory_.oldest(); index != Directory::Leaf::kNone;
       index = directory_.leaf(index).behind) {
    CUCKOO_TRY(current(index).take_status());
  }
  return {};
}

}  // namespace cuckoo::segments
