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

// --- making and following ------------------------------------------------------------------------

Status FilterFile::create(uint64_t past) {
  CUCKOO_TRY(blocks_.create(past));
  items_ = appended_ = unfolded_ = uncounted_ = 0;
  memory_ = Memory::kCurrent;
  set_turns();
  return {};
}

void FilterFile::forget() noexcept {
  blocks_.forget();
  loading_ = false;
  appended_ = unfolded_ = uncounted_ = 0;
  memory_ = Memory::kUnknown;
  poison_.lift();
}

Status FilterFile::refresh() {
  CUCKOO_TRY(poison_.error());
  if (blocks_.changed()) {
    return {};
  }
  const bool known = memory_ == Memory::kCurrent;
  memory_ = Memory::kUnknown;
  CUCKOO_ASSIGN_OR_RETURN(const FilterBlocks::Followed followed, blocks_.follow(known));
  items_ = followed.items;
  unfolded_ += followed.entries;
  if (followed.directory) {
    unfolded_ = blocks_.directory().pending_entries();
    set_turns();
  }
  memory_ = Memory::kCurrent;
  return {};
}

// --- asking --------------------------------------------------------------------------------------

Status FilterFile::load(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment_of(hash));
  return found->load(blocks_.storage(), hash);
}

Result<bool> FilterFile::load_and_probe(uint64_t hash) {
  Answer answer = probe(hash);
  if (answer == Answer::kNotLoaded) {
    if (blocks_.directory().leaf(blocks_.directory().leaf_of(hash)).untouched()) {
      return false;
    }
    CUCKOO_TRY(load(hash));
    answer = probe(hash);
  }
  return answer == Answer::kPresent;
}

Result<uint64_t> FilterFile::count(uint64_t hash) {
  if (blocks_.directory().leaf(blocks_.directory().leaf_of(hash)).untouched()) {
    return uint64_t{0};
  }
  CUCKOO_TRY(load(hash));
  return blocks_.directory().segment_of(hash)->count(hash);
}

uint64_t FilterFile::history() const {
  return chain_with(blocks_.log().chain(), blocks_.root().directory_version);
}

size_t FilterFile::memory_bytes() const {
  size_t bytes = blocks_.log().memory_bytes();
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
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
               held + "its capacity of " + std::to_string(blocks_.root().capacity) +
                   " is reached, and " +
                   (options_.growth ? "it came without hashes: it can't grow" : "growth is off")};
}

// When a filter without hashes whose keys share cells is full, these say: make_room().
uint64_t FilterFile::most_items() const noexcept {
  if (keeps_hashes()) {
    return blocks_.limits().items;
  }
  return traits_of(options_.spec.kind).slot_per_item ? blocks_.root().capacity : kMaxCapacity;
}

// Comes before an add of what is absent to a filter without hashes whose keys share cells. One
// segment is full when its cells say so. What is pending there is an estimate, so it is folded
// before the answer is "full". Of several segments each has its share by chance. So `capacity` keys
// are always taken, and more only where the cells allow it: into a counting filter, whose items may
// be copies, and into a set, whose items leave out the keys that seemed present.
Status FilterFile::make_room(uint64_t hash) {
  const bool several = blocks_.directory().size() > 1;
  if (several && !options_.multiset()) {
    return make_room_in_shares(hash);
  }
  if (several && items_ < blocks_.root().capacity) {
    return {};
  }
  const size_t index = blocks_.directory().leaf_of(hash);
  const auto is_full = [&](const Segment& segment) {
    const SegmentHeader& header = segment.header();
    const uint64_t items =
        several ? header.items + static_cast<uint64_t>(segment.pending().items()) : items_;
    const uint64_t unfolded =
        std::min(segment.pending().entries(), items - std::min(items, header.items));
    return segment.filter().full(items, unfolded, header.capacity);
  };
  CUCKOO_ASSIGN_OR_RETURN(Segment * found, blocks_.segment(index));
  if (!is_full(*found)) {
    return {};
  }
  if (!found->pending().empty()) {
    CUCKOO_TRY(fold_leaf(index));
    CUCKOO_ASSIGN_OR_RETURN(found, blocks_.segment(index));
    if (!is_full(*found)) {
      return {};
    }
  }
  return full_error();
}

// The same of a set of several segments. At a rate of 25 % one key in ten is not counted by the
// time it is full. So it is also full when most segments are, by their cells, and the key's own
// one, too. One alone may be full because the keys were chosen for it.
Status FilterFile::make_room_in_shares(uint64_t hash) {
  if (items_ >= blocks_.root().capacity) {
    return full_error();
  }
  const size_t index = blocks_.directory().leaf_of(hash);
  const auto are_full = [&]() -> Result<bool> {
    CUCKOO_ASSIGN_OR_RETURN(const Segment* const own, blocks_.segment(index));
    return own->filter().full(0, own->pending().entries(), own->header().capacity) &&
           most_are_full();
  };
  CUCKOO_ASSIGN_OR_RETURN(bool full, are_full());
  if (full && unfolded_ > 0) {  // that much was an estimate
    while (unfolded_ > 0) {
      CUCKOO_TRY(fold_leaf(blocks_.directory().oldest()));
      CUCKOO_TRY(blocks_.poll());
    }
    CUCKOO_ASSIGN_OR_RETURN(full, are_full());
  }
  return full ? full_error() : Status();
}

// --- a load into a set
//
// To count an add, a set must ask whether it is present. Each time that is a look into the pages
// and the pending entries of another segment, which are not in the processor's cache. So the adds
// of a load are logged at once, and wait to be counted until their segment is folded or asked.
// Nothing but items() depends on it: a probe finds what is pending, counted or not.

// Can the next add not be refused, whatever the waiting ones count? Of a key that is new, the
// chance not to be counted is never above the rate of a full filter.
bool FilterFile::may_wait() {
  constexpr uint64_t kFewest = 4096;  // so that a filter that is nearly full need not settle often
  constexpr uint64_t kParts = 64;
  if (!loading_ || options_.multiset() || (!keeps_hashes() && blocks_.leaves() == 1)) {
    return false;
  }
  uint64_t most = most_items();
  if (!keeps_hashes()) {
    const uint64_t lost = 1 + static_cast<uint64_t>(target_rate() * kParts);
    most = blocks_.root().capacity / kParts * (kParts - std::min(lost, kParts));
  }
  if (items_ + uncounted_ + kFewest >= most) {
    settle();
  }
  return items_ + uncounted_ + kFewest < most;
}

Status FilterFile::add_uncounted(uint64_t hash) {
  CUCKOO_TRY(blocks_.append_uncounted(hash));
  ++uncounted_;
  ++appended_;
  ++unfolded_;
  return {};
}

void FilterFile::settle() const {
  items_ += blocks_.take_counted();
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
    append(hash);
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
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment_of(hash));
  // A hash that only looks present is logged all the same where it would get lost: in the next
  // remake, or in a copy of the same mark, in whose cells it may be absent.
  log_seeming = log_seeming || keeps_hashes() || blocks_.root().places != 0;
  if (options_.multiset() || !present || (log_seeming && found->pending_net(hash) <= 0)) {
    append(hash);
    items_ += options_.multiset() || !present ? 1 : 0;
  }
  return {};
}

Result<bool> FilterFile::take_away(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (items_ == 0 || !present) {
    return false;
  }
  append(hash | kRemoveBit);
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
void FilterFile::put_back(uint64_t hash) {
  append(hash);
  ++items_;
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
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(to));
  if (if_present != IfPresent::kAdd && present) {
    if (if_present == IfPresent::kLeave) {
      return Replaced::kDone;
    }
    put_back(from);
    return Replaced::kRefused;
  }
  if (Status added = add(to); !added.ok()) {
    put_back(from);
    return added;
  }
  return Replaced::kDone;
}

}  // namespace cuckoo::segments
