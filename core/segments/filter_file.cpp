// FilterFile: opening and following, asking and changing. When what is folded, and what is written,
// is in filter_file_work.cpp.
#include "core/segments/filter_file.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/filter/sizing.hpp"
#include "core/segments/decide.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

Result<SegmentLimits> FilterFile::limits_for(uint64_t capacity) const {
  FilterOptions options = options_;
  options.capacity = capacity;
  return segment_limits(options);
}

// --- making and following ------------------------------------------------------------------------

Status FilterFile::create() {
  CUCKOO_ASSIGN_OR_RETURN(limits_, limits_for(options_.capacity));
  root_ = {};
  root_.options_digest = options_.digest;
  root_.first_depth = limits_.depth;
  root_.leaves = uint64_t{1} << limits_.depth;
  root_.capacity = options_.capacity;
  directory_.start(limits_.depth);
  log_.start(0, 0, log_chain_restart(options_.seed, options_.digest));
  items_ = appended_ = unfolded_ = uncounted_ = 0;
  waiting_.clear();
  changed_ = layout_changed_ = true;
  root_stored_ = places_stored_ = false;
  stored_first_row_ = 0;
  memory_ = Memory::kCurrent;
  set_turns();
  return {};
}

Status FilterFile::read_root(Root& root) const {
  CUCKOO_TRY(
      blocks_.read_one(kRootBlock, [&](int64_t, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(root, decode_root(content));
        return {};
      }));
  if (root.options_digest != options_.digest) {
    return in_block(kRootBlock, corrupt("of other options"));
  }
  return {};
}

void FilterFile::forget() noexcept {
  waiting_.clear();
  for (const size_t index : touched_) {
    directory_.leaf(index).segment.reset();
    directory_.leaf(index).touched = false;
  }
  touched_.clear();
  erased_.clear();
  changed_ = layout_changed_ = loading_ = cleared_ = replaced_ = false;
  new_places_.reset();
  appended_ = unfolded_ = uncounted_ = 0;
  memory_ = Memory::kUnknown;
  poison_.lift();
}

// An entry of the log that was read is pending, unless its segment was folded since.
void FilterFile::take(uint64_t position, uint64_t entry) {
  const size_t index = directory_.leaf_of(entry & ~kRemoveBit);
  Directory::Leaf& leaf = directory_.leaf(index);
  if (position < (leaf.header.number == 0 ? root_.folded_to : leaf.header.folded_to)) {
    return;
  }
  directory_.note_pending(index, position);
  if (leaf.segment != nullptr) {
    leaf.segment->append(entry);
  } else {
    leaf.waiting.push_back(entry);
  }
  ++unfolded_;
}

Status FilterFile::read_directory() {
  Root root;
  CUCKOO_TRY(read_root(root));
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(root.capacity));
  CUCKOO_TRY(directory_.read(blocks_, root));
  limits_ = limits;
  root_ = root;
  stored_first_row_ = root.first_row;
  root_stored_ = true;
  places_stored_ = root.places != 0;
  unfolded_ = directory_.pending_entries();
  return {};
}

Status FilterFile::refresh() {
  CUCKOO_TRY(poison_.error());
  if (changed_) {
    return {};
  }
  LogHeader newest;
  bool same_history = false;
  std::vector<std::pair<uint64_t, uint64_t>> entries;
  const auto collect = [&](uint64_t position, uint64_t entry) {
    entries.emplace_back(position, entry);
  };
  if (memory_ == Memory::kCurrent) {
    memory_ = Memory::kUnknown;
    CUCKOO_ASSIGN_OR_RETURN(same_history, log_.follow(blocks_, newest, collect));
  }
  if (!same_history || newest.directory_version != root_.directory_version) {
    CUCKOO_TRY(read_directory());
    if (!same_history) {
      directory_.drop_pending();
      unfolded_ = 0;
      CUCKOO_TRY(log_.read(blocks_, root_.pending_row, root_.pending_position, newest, collect));
    }
    if (newest.directory_version != root_.directory_version ||
        std::max(directory_.folded_to(), root_.folded_to) > log_.position()) {
      return corrupt("a log whose end belongs to another directory");
    }
    set_turns();
  }
  for (const auto& [position, entry] : entries) {
    take(position, entry);
  }
  items_ = newest.items;
  memory_ = Memory::kCurrent;
  return {};
}

Result<std::unique_ptr<Segment>> FilterFile::opened(const Directory::Leaf& leaf) const {
  Result<std::unique_ptr<Segment>> made =
      leaf.header.number == 0 ? Segment::make_share(options_, limits_, leaf.prefix, leaf.depth, 0)
                              : Segment::open(options_, blocks_, leaf.header);
  if (made.ok()) {
    for (const uint64_t entry : leaf.waiting) {
      made.value()->append(entry);
    }
  }
  return made;
}

Result<Segment*> FilterFile::segment(size_t index) {
  Directory::Leaf& leaf = directory_.leaf(index);
  if (leaf.segment == nullptr) {
    CUCKOO_ASSIGN_OR_RETURN(leaf.segment, opened(leaf));
    std::vector<uint64_t>().swap(leaf.waiting);
  }
  return leaf.segment.get();
}

// --- asking --------------------------------------------------------------------------------------

Status FilterFile::load(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment_of(hash));
  return found->load(blocks_, hash);
}

Result<bool> FilterFile::load_and_probe(uint64_t hash) {
  Answer answer = probe(hash);
  if (answer == Answer::kNotLoaded) {
    if (directory_.leaf(directory_.leaf_of(hash)).untouched()) {
      return false;
    }
    CUCKOO_TRY(load(hash));
    answer = probe(hash);
  }
  return answer == Answer::kPresent;
}

Result<uint64_t> FilterFile::count(uint64_t hash) {
  if (directory_.leaf(directory_.leaf_of(hash)).untouched()) {
    return uint64_t{0};
  }
  CUCKOO_TRY(load(hash));
  return directory_.segment_of(hash)->count(hash);
}

uint64_t FilterFile::history() const {
  return log_chain_restart(log_.chain(), root_.directory_version);
}

size_t FilterFile::memory_bytes() const noexcept {
  size_t bytes = log_.memory_bytes();
  for (size_t i = 0; i < directory_.size(); ++i) {
    const Directory::Leaf& leaf = directory_.leaf(i);
    bytes += sizeof leaf + leaf.waiting.capacity() * sizeof(uint64_t) +
             (leaf.segment != nullptr ? leaf.segment->memory_bytes() : 0);
  }
  return bytes;
}

// --- changing ------------------------------------------------------------------------------------

Status FilterFile::full_error() const {
  const std::string held = std::to_string(items()) + " items, ";
  if (keeps_hashes()) {
    return Error{ErrorCode::kFull, held + "as many as hashes of " +
                                       std::to_string(static_cast<int>(options_.width)) +
                                       " bits can tell apart at this rate"};
  }
  return Error{ErrorCode::kFull,
               held + "its capacity of " + std::to_string(root_.capacity) + " is reached, and " +
                   (options_.growth ? "it came without hashes: it can't grow" : "growth is off")};
}

Status FilterFile::append(uint64_t hash, uint64_t entry) {
  const size_t index = directory_.leaf_of(hash);
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(index));
  return poison_.changing([&]() -> Status {  // log and segment, or neither
    directory_.note_pending(index, log_.position());
    log_.append(entry);
    found->append(entry);
    ++appended_;
    ++unfolded_;
    changed_ = true;
    return {};
  });
}

// When a filter without hashes whose keys share cells is full, these say: make_room().
uint64_t FilterFile::most_items() const noexcept {
  if (keeps_hashes()) {
    return limits_.items;
  }
  return traits_of(options_.spec.kind).slot_per_item ? root_.capacity : kMaxCapacity;
}

// Comes before an add of what is absent to a filter without hashes whose keys share cells. One
// segment is full when its cells say so. What is pending there is an estimate, so it is folded
// before the answer is "full". Of several segments each has its share by chance. So `capacity` keys
// are always taken, and more only into a counting filter, whose items may be copies, as long as the
// cells allow it.
Status FilterFile::make_room(uint64_t hash) {
  const bool several = directory_.size() > 1;
  if (several && items_ < root_.capacity) {
    return {};
  }
  if (several && !options_.multiset()) {
    return full_error();
  }
  const size_t index = directory_.leaf_of(hash);
  const auto is_full = [&](const Segment& segment) {
    const SegmentHeader& header = segment.header();
    const uint64_t items =
        several ? header.items + static_cast<uint64_t>(segment.pending().items()) : items_;
    const uint64_t unfolded =
        std::min(segment.pending().entries(), items - std::min(items, header.items));
    return segment.filter().full(items, unfolded, header.capacity);
  };
  CUCKOO_ASSIGN_OR_RETURN(Segment * found, segment(index));
  if (!is_full(*found)) {
    return {};
  }
  if (!found->pending().empty()) {
    CUCKOO_TRY(fold_leaf(index));
    CUCKOO_ASSIGN_OR_RETURN(found, segment(index));
    if (!is_full(*found)) {
      return {};
    }
  }
  return full_error();
}

// --- a load into a set
//
// To count an add, a set must ask whether it is present. Each time that is a look into the pages
// and the pending entries of another segment, which are not in the processor's cache. So the adds
// of a load are logged at once, and wait to be counted until their segment is folded or asked.
// Nothing but items() depends on it: a probe finds what is pending, counted or not.

// Can the next add not be refused, whatever the waiting ones count?
bool FilterFile::may_wait() {
  constexpr uint64_t kFewest = 4096;  // so that a filter that is nearly full need not settle often
  if (!loading_ || options_.multiset() || (!keeps_hashes() && directory_.size() == 1)) {
    return false;
  }
  const uint64_t most = keeps_hashes() ? most_items() : root_.capacity;
  if (items_ + uncounted_ + kFewest >= most) {
    settle();
  }
  return items_ + uncounted_ + kFewest < most;
}

Status FilterFile::add_uncounted(uint64_t hash) {
  const size_t index = directory_.leaf_of(hash);
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment(index));
  CUCKOO_TRY(found->load_all(blocks_));
  return poison_.changing([&]() -> Status {
    if (!found->pending().uncounted()) {
      waiting_.push_back(index);
    }
    directory_.note_pending(index, log_.position());
    log_.append(hash);
    found->append_uncounted(hash);
    ++uncounted_;
    ++appended_;
    ++unfolded_;
    changed_ = true;
    return {};
  });
}

// Of a leaf that was cut or replaced since nothing waits any more.
void FilterFile::settle() const {
  for (const size_t index : waiting_) {
    Segment* const segment =
        index < directory_.size() ? directory_.leaf(index).segment.get() : nullptr;
    items_ += segment != nullptr ? segment->settle() : 0;
  }
  waiting_.clear();
  uncounted_ = 0;
}

// Without work(), so that replace() can add and remove as one.
Status FilterFile::add(uint64_t hash, bool log_seeming) {
  if (may_wait()) {
    return add_uncounted(hash);
  }
  const bool slots = traits_of(options_.spec.kind).slot_per_item;
  const uint64_t most = most_items();
  if (options_.multiset() && items_ >= most) {
    return full_error();
  }
  if (options_.multiset() && (slots || keeps_hashes())) {
    CUCKOO_TRY(append(hash, hash));
    ++items_;
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (!present && items_ >= most) {
    return full_error();
  }
  if (!present && !keeps_hashes()) {
    CUCKOO_TRY(make_room(hash));
  }
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, segment_of(hash));
  // A hash that only looks present is logged all the same where it would get lost: in the next
  // remake, or in a copy of the same mark, in whose cells it may be absent.
  log_seeming = log_seeming || keeps_hashes() || root_.places != 0;
  if (options_.multiset() || !present || (log_seeming && found->pending_net(hash) <= 0)) {
    CUCKOO_TRY(append(hash, hash));
    items_ += options_.multiset() || !present ? 1 : 0;
  }
  return {};
}

Result<bool> FilterFile::take_away(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (items_ == 0 || !present) {
    return false;
  }
  CUCKOO_TRY(append(hash, hash | kRemoveBit));
  --items_;
  return true;
}

Status FilterFile::insert(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(work());
  return add(hash);
}

Result<bool> FilterFile::insert_new(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(work());
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (present) {
    return false;
  }
  CUCKOO_TRY(add(hash));
  return true;
}

Result<bool> FilterFile::remove(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(work());
  return take_away(hash);
}

// There was room for it.
Status FilterFile::put_back(uint64_t hash) {
  CUCKOO_TRY(append(hash, hash));
  ++items_;
  return {};
}

// All pages that are needed are loaded before anything changes.
Result<FilterFile::Replaced> FilterFile::replace(uint64_t from, uint64_t to, IfPresent if_present) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(work());
  CUCKOO_TRY(load(to));
  CUCKOO_ASSIGN_OR_RETURN(const bool removed, take_away(from));
  if (!removed) {
    return Replaced::kNoSuch;
  }
  if (if_present != IfPresent::kAdd && probe(to) == Answer::kPresent) {
    if (if_present == IfPresent::kLeave) {
      return Replaced::kDone;
    }
    CUCKOO_TRY(put_back(from));
    return Replaced::kRefused;
  }
  if (Status added = add(to); !added.ok()) {
    CUCKOO_TRY(put_back(from));
    return added;
  }
  return Replaced::kDone;
}

}  // namespace cuckoo::segments
