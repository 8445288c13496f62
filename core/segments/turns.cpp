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
  if (loading_ || blocks_.pending_entries() > 4 * kPendingEntries) {
    return fold_all();
  }
  while (blocks_.pending_entries() > due()) {
    const uint64_t next_number = blocks_.root().next_number;
    const Directory& directory = blocks_.directory();
    const bool first_fold = directory.leaf(directory.oldest()).current().number == 0;
    CUCKOO_TRY(fold_oldest());
    const bool made_anew = blocks_.root().next_number != next_number;
    if (made_anew && !first_fold && blocks_.pending_entries() <= due() + due() / 4) {
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
  while (blocks_.pending_entries() > 0) {
    CUCKOO_TRY(fold_oldest());
  }
  blocks_.settle();
  return poison_.changing([this]() -> Status {
    restart_long_log();
    blocks_.note_root();
    return {};
  });
}

Status Turns::fold(size_t index) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment(index));
  CUCKOO_TRY(found->load_all(blocks_.storage()));
  CUCKOO_ASSIGN_OR_RETURN(std::vector<NetHash> entries,
                          found->sorted_pending([this] { return blocks_.poll(); }));
  blocks_.settle(*found);
  if (found->untouched()) {
    return remake(index, *found, std::move(entries));
  }
  const bool keeps_hashes = blocks_.keeps_hashes();
  Segment::Folding folding = found->folding(std::move(entries));
  if (keeps_hashes &&
      (found->would_outgrow(folding) ||
       mostly_dead(found->header().run_entries, found->header().dead + 2 * folding.removed))) {
    return remake(index, *found, std::move(folding.entries));
  }
  CUCKOO_TRY(poison_.changing([&]() -> Status {
    blocks_.note_segment(index);
    CUCKOO_TRY(found->fold(blocks_.storage(), folding, blocks_.log().position(), keeps_hashes));
    blocks_.directory().note_folded(index);
    return {};
  }));
  return keeps_hashes && found->outgrown() ? remake(index, *found, {}) : Status();
}

// Makes the runs and pending entries into one segment of the same capacity, a larger one, or
// several. An empty segment without runs is made of its pending entries alone. Removes of keys that
// were never added are dropped, and a multiset's items follow. A copy without hashes can't drop
// them. So changes carry such a segment, as if it had got another size.
Status Turns::remake(size_t index, Segment& segment, std::vector<NetHash> fresh) {
  CUCKOO_ASSIGN_OR_RETURN(const Segment::Merged merged,
                          segment.merged(blocks_.storage(), std::move(fresh)));
  const SegmentHeader& before = segment.header();
  SegmentMaker maker = blocks_.maker(blocks_.limits(), blocks_.keeps_hashes());
  maker.id = before.base_id;
  CUCKOO_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Segment>> made,
                          maker.make({before.prefix, before.depth, before.capacity,
                                      blocks_.directory().most_bits(index), segment.outgrown()},
                                     merged.entries));
  int64_t more = -static_cast<int64_t>(before.items) - segment.pending().items();
  for (const std::unique_ptr<Segment>& piece : made) {
    more += static_cast<int64_t>(piece->header().items);
  }
  const bool as_before = !blocks_.options().multiset() || !merged.repaired;
  if (as_before && made.size() == 1 && made[0]->filter().words() == segment.filter().words()) {
    made[0]->set_made_at(before.number != 0 ? before.made_at : blocks_.root().folded_to);
  }
  return poison_.changing([&]() -> Status {
    blocks_.add_items(blocks_.options().multiset() ? more : 0);
    const auto bits = static_cast<unsigned>(std::bit_width(made.size())) - 1;
    const std::vector<size_t> leaves = blocks_.split(index, bits);  // `segment` is gone then
    for (size_t i = 0; i < leaves.size(); ++i) {
      blocks_.put(leaves[i], std::move(made[i]));
    }
    return {};
  });
}

// A segment that has no number yet gets one here. So whenever a segment is put into the directory,
// next_number changes.
Result<Segment*> Turns::segment_to_change(size_t index) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment(index));
  if (found->header().number != 0) {
    return found;
  }
  CUCKOO_TRY(remake(index, *found, {}));
  return blocks_.directory().leaf(index).segment.get();
}

Status Turns::keep_loose(size_t index, Segment& segment) {
  CUCKOO_TRY(poison_.changing([&] { return segment.keep_loose(blocks_.storage()); }));
  return mostly_dead(segment.header().run_entries, segment.header().dead)
             ? remake(index, segment, {})
             : Status();
}

uint64_t Turns::kept_entries() const {
  return kept_entries_of(
      blocks_.leaves(), blocks_.turn_entries(),
      blocks_.keeps_hashes() ? std::max(blocks_.items(), blocks_.root().capacity) : 0);
}

void Turns::restart_long_log() {
  if (appended_ > std::min(kept_entries(), kMostPending)) {
    blocks_.log().restart();
    blocks_.begin_log();
  }
}

}  // namespace cuckoo::segments
