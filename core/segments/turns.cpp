#include "core/segments/turns.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "core/segments/decide.hpp"

namespace cuckoo::segments {

// A load that was rolled back in part counts as no load any more, but may have left many entries
// pending.
//
// Segments that are folded in turn have up to T pending entries, and T/2 on average. They are
// folded at the transaction's end. A remove of a key that was never added takes cells from other
// keys until the add that makes up for it comes. So the two should be folded together.
//
// Making a segment anew takes as long as several folds. So a transaction that made one anew leaves
// the other segments to later transactions, unless too many entries wait already. So no commit
// takes long when all segments get full at one time.
Status Turns::finish() {
  if (appended_ == 0) {  // since a roll-back to a savepoint, after which memory may be unknown
    return {};
  }
  if (loading_ || blocks_.directory().pending_entries() > 4 * kPendingEntries) {
    return fold_all();
  }
  while (blocks_.directory().pending_entries() > due()) {
    const uint64_t next_number = blocks_.root().next_number;
    const Directory& directory = blocks_.directory();
    const bool first_fold = directory.leaf(directory.oldest()).current().number == 0;
    CUCKOO_TRY(fold_oldest());
    const bool made_anew = blocks_.root().next_number != next_number;
    if (made_anew && !first_fold && blocks_.directory().pending_entries() <= due() + due() / 4) {
      break;
    }
  }
  return {};
}

Status Turns::fold_oldest() {
  CUCKOO_TRY(blocks_.poll());
  return fold(blocks_.directory().oldest());
}

Status Turns::fold_all() {
  while (blocks_.directory().pending_entries() > 0) {
    CUCKOO_TRY(fold_oldest());
  }
  CUCKOO_TRY(blocks_.count_all());  // none is left
  return blocks_.poison().changing([this]() -> Status {
    restart_long_log();
    blocks_.note_root();
    return {};
  });
}

// What becomes of the segment follows from its state as of F and from its list alone, whatever was
// applied before.
Status Turns::fold(size_t index) {
  const Directory::Leaf& leaf = blocks_.directory().leaf(index);
  const bool keeps_hashes = blocks_.keeps_hashes();
  CUCKOO_ASSIGN_OR_RETURN(Segment * found, blocks_.segment(index));
  std::vector<NetHash> sums;
  if (keeps_hashes) {  // otherwise nobody asks for them
    CUCKOO_ASSIGN_OR_RETURN(
        sums, sums_of(leaf.pending, leaf.pending.size(), blocks_.options().width, leaf.depth,
                      blocks_.options().multiset(), [this] { return blocks_.poll(); }));
  }
  if (keeps_hashes && found->outgrows(sums)) {
    CUCKOO_TRY(blocks_.options().multiset() ? Status() : blocks_.count(index));
    return remake(index, std::move(sums), true);
  }
  CUCKOO_ASSIGN_OR_RETURN(found, blocks_.current(index));
  if (keeps_hashes &&
      (found->outgrew() || mostly_dead(found->header().run_entries, found->dead()))) {
    return remake(index, std::move(sums), found->outgrew());
  }
  return blocks_.poison().changing([&]() -> Status {
    CUCKOO_TRY(found->header().number == 0 ? blocks_.give_number(index) : Status());
    blocks_.note_segment(index);
    CUCKOO_TRY(
        found->fold(blocks_.storage(), leaf.pending, sums, blocks_.log().position(), keeps_hashes));
    blocks_.directory().note_folded(index);
    return {};
  });
}

// Makes the runs and the list, whose sums these are, into one segment of the same capacity, a
// larger one, or several. Removes of keys that were never added are dropped, and a multiset's items
// follow. A copy without hashes can't drop them. So changes carry such a segment, as if it had got
// another size.
Status Turns::remake(size_t index, std::vector<NetHash> sums, bool too_full) {
  const Directory::Leaf& leaf = blocks_.directory().leaf(index);
  const Segment& segment = *leaf.segment;
  const SegmentHeader before = segment.header();
  // If the list is not applied, no remove in it can miss what it removes (Segment::outgrows()).
  const uint64_t items = leaf.is_current()
                             ? segment.items()
                             : before.items + static_cast<uint64_t>(leaf.pending.items());
  CUCKOO_ASSIGN_OR_RETURN(const Segment::Merged merged,
                          segment.merged(blocks_.storage(), std::move(sums)));
  SegmentMaker maker = blocks_.maker(blocks_.limits(), blocks_.keeps_hashes());
  maker.id = before.base_id;
  CUCKOO_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Segment>> made,
                          maker.make({before.prefix, before.depth, before.capacity,
                                      blocks_.directory().most_bits(index), too_full},
                                     merged.entries));
  int64_t more = -static_cast<int64_t>(items);
  for (const std::unique_ptr<Segment>& piece : made) {
    more += static_cast<int64_t>(piece->header().items);
  }
  const bool as_before = !blocks_.options().multiset() || !merged.repaired;
  if (as_before && made.size() == 1 && made[0]->filter().words() == segment.filter().words()) {
    made[0]->set_made_at(before.number != 0 ? before.made_at : blocks_.root().folded_to);
  }
  return blocks_.poison().changing([&]() -> Status {
    blocks_.add_items(blocks_.options().multiset() ? more : 0);
    const auto bits = static_cast<unsigned>(std::bit_width(made.size())) - 1;
    const std::vector<size_t> leaves = blocks_.split(index, bits);  // the segment is gone then
    for (size_t i = 0; i < leaves.size(); ++i) {
      blocks_.put(leaves[i], std::move(made[i]));
    }
    return {};
  });
}

// The list becomes a run once it is long. Without hashes it is dropped then.
Status Turns::settle(size_t index) {
  constexpr uint64_t kFewest = 256;
  constexpr uint64_t kPart = 32;
  CUCKOO_ASSIGN_OR_RETURN(const Segment* const segment, blocks_.current(index));
  const uint64_t many =
      blocks_.keeps_hashes() ? std::max(kFewest, segment->header().capacity / kPart) : kFewest;
  const size_t entries = blocks_.directory().leaf(index).pending.size();
  const bool due = segment->header().number == 0 || segment->outgrew() || entries >= many;
  begin();
  return entries > 0 && due ? fold(index) : Status();
}

uint64_t Turns::kept_entries() const {
  return kept_entries_of(
      blocks_.directory().size(), blocks_.turn_entries(),
      blocks_.keeps_hashes() ? std::max(blocks_.items(), blocks_.root().capacity) : 0,
      blocks_.options().generations > 1);
}

void Turns::restart_long_log() {
  if (appended_ > std::min(kept_entries(), kMostPending)) {
    blocks_.log().restart();
    blocks_.begin_log();
  }
}

}  // namespace cuckoo::segments
