// FilterFile: what is folded when, and what is written.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/segments/decide.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// Segments that are folded in turn have up to T pending entries, half of it on average. It is done
// at the transaction's end: a remove of what was never added takes cells from other keys until the
// add that makes up for it is there, too. So the two should be folded together.
Status FilterFile::take_turns() {
  while (blocks_.pending_entries() > (blocks_.leaves() + 1) * turn_entries() / 2) {
    CUCKOO_TRY(blocks_.poll());
    CUCKOO_TRY(fold_leaf(blocks_.directory().oldest()));
  }
  return {};
}

Status FilterFile::fold_leaf(size_t index) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment(index));
  CUCKOO_TRY(found->load_all(blocks_.storage()));
  std::vector<NetHash> entries = found->sorted_pending();
  blocks_.settle(*found);
  if (found->untouched()) {
    return remake_leaf(index, *found, std::move(entries));
  }
  Segment::Folding folding = found->folding(std::move(entries));
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
      return remake_leaf(index, *found, std::move(folding.entries));
    case SegmentWork::kFold:
      break;
  }
  CUCKOO_TRY(poison_.changing([&]() -> Status {
    blocks_.note_segment(index);
    CUCKOO_TRY(found->fold(blocks_.storage(), folding, blocks_.log().position(), keeps_hashes()));
    blocks_.directory().note_folded(index);
    return {};
  }));
  return keeps_hashes() && found->outgrown() ? remake_leaf(index, *found, {}) : Status();
}

// Of its runs and pending entries it makes one segment of the same capacity, a larger one, or
// several. One without runs that is still empty is made of its pending entries. A multiset's items
// follow: removes of what was never added are dropped.
Status FilterFile::remake_leaf(size_t index, Segment& segment, std::vector<NetHash> fresh) {
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries,
                          segment.merged(blocks_.storage(), std::move(fresh)));
  const SegmentHeader& before = segment.header();
  SegmentMaker maker = blocks_.maker(blocks_.limits(), keeps_hashes());
  maker.id = before.base_id;
  CUCKOO_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Segment>> made,
                          maker.make({before.prefix, before.depth, before.capacity,
                                      blocks_.directory().most_bits(index), segment.outgrown()},
                                     entries));
  if (made.size() == 1 && made[0]->filter().words() == segment.filter().words()) {
    made[0]->set_made_at(before.number != 0 ? before.made_at : blocks_.root().folded_to);
  }
  int64_t more = -static_cast<int64_t>(before.items) - segment.pending().items();
  for (const std::unique_ptr<Segment>& piece : made) {
    more += static_cast<int64_t>(piece->header().items);
  }
  return poison_.changing([&]() -> Status {
    blocks_.add_items(options_.multiset() ? more : 0);
    const std::vector<size_t> leaves =
        blocks_.split(index, static_cast<unsigned>(std::bit_width(made.size())) - 1);
    for (size_t i = 0; i < leaves.size(); ++i) {
      blocks_.put(leaves[i], std::move(made[i]));
    }
    return {};
  });
}

// R of S3.
uint64_t FilterFile::kept_entries() const {
  return kept_entries_of(blocks_.leaves(), turn_entries(), keeps_hashes() ? items() : 0);
}

// When nothing is pending. The entries of a large load would be erased soon: they are not written,
// and the log begins anew.
void FilterFile::restart_long_log() {
  if (appended_ > std::min(kept_entries(), kMostUnfolded)) {
    blocks_.log().restart();
    blocks_.begin_log();
  }
}

// Nothing is pending afterwards.
Status FilterFile::fold_all() {
  while (blocks_.pending_entries() > 0) {
    CUCKOO_TRY(fold_leaf(blocks_.directory().oldest()));
    CUCKOO_TRY(blocks_.poll());
  }
  blocks_.settle();
  return poison_.changing([this]() -> Status {
    restart_long_log();
    blocks_.note_root();
    return {};
  });
}

// A load that was rolled back in part is none any more, but may have left much.
Status FilterFile::finish_load() {
  CUCKOO_TRY(poison_.error());
  if (memory_ != Memory::kCurrent) {  // the last that happened was a roll-back to a savepoint
    return {};
  }
  return loading_ || blocks_.pending_entries() > 4 * kPendingEntries ? fold_all() : take_turns();
}

Status FilterFile::clear() {
  CUCKOO_TRY(poison_.error());
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(options_, options_.capacity));
  return poison_.changing([&]() -> Status {
    blocks_.clear(limits);
    return {};
  });
}

// --- writing -------------------------------------------------------------------------------------

Status FilterFile::flush() {
  CUCKOO_TRY(poison_.error());
  if (!blocks_.changed()) {
    return {};
  }
  return poison_.writing([this]() -> Status {
    FilterBlocks::Written written;
    CUCKOO_TRY(blocks_.write_to(blocks_.storage(), kept_entries(), written));
    blocks_.note_written(written);
    return {};
  });
}

Status FilterFile::write_pending_to(BlockStorage& storage) const {
  CUCKOO_TRY(poison_.error());
  if (!blocks_.changed()) {
    return {};
  }
  FilterBlocks::Written written;
  return blocks_.write_to(blocks_.storage().over(storage), kept_entries(), written);
}

// --- check ---------------------------------------------------------------------------------------

namespace {

// Opens one segment at a time, of a filter that was just read.
Status check_segments(FilterBlocks& stored, const FilterFile& file) {
  uint64_t items = 0;
  uint64_t blocks = 0;
  for (size_t i = 0; i < stored.directory().size(); ++i) {
    if (stored.directory().leaf(i).untouched()) {
      continue;
    }
    CUCKOO_ASSIGN_OR_RETURN(Segment* const found, stored.segment(i));
    const SegmentHeader& header = found->header();
    if (header.number != 0) {
      CUCKOO_TRY(found->check(stored.storage(), file.keeps_hashes()));
    }
    items += header.items + static_cast<uint64_t>(found->pending().items());
    blocks += uint64_t{header.pages} + header.run_blocks + header.overflow_blocks;
    stored.directory().leaf(i).segment.reset();
  }
  if (file.multiset() && items != file.items()) {
    return corrupt("segments and log of " + std::to_string(items) + " items, expected " +
                   std::to_string(file.items()));
  }
  uint64_t found = 0;  // a block of no segment, or of two
  CUCKOO_TRY(stored.storage().read(segment_block(1, 0), kFirstLogBlock - 1,
                                   [&](int64_t, std::span<const std::byte>) -> Status {
                                     ++found;
                                     return stored.poll();
                                   }));
  return found == blocks ? Status()
                         : corrupt(std::to_string(found) + " blocks of segments, expected " +
                                   std::to_string(blocks));
}

}  // namespace

Status FilterFile::check() const {
  CUCKOO_TRY(poison_.error());
  FilterBlocks stored(options_, blocks_.storage());
  CUCKOO_TRY(stored.follow(false));
  if (stored.root() != blocks_.root() || stored.log().position() != blocks_.log().position() ||
      stored.items() != items()) {
    return corrupt("memory that is not what is stored");
  }
  CUCKOO_TRY(stored.check());
  return check_segments(stored, *this);
}

}  // namespace cuckoo::segments
