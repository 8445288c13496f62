#include "core/segments/changes_applier.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// --- the hashes of the pieces --------------------------------------------------------------------

// Reads all pieces, which verifies them.
Result<ChangesApplier::HashRanges> ChangesApplier::ranges_of(const FilterChanges& changes) const {
  HashRanges ranges;
  if (changes.pieces) {
    CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
      ranges.push_back({piece.prefix, last_hash_of(piece.prefix, piece.depth)});
      return blocks_.poll();
    }));
  }
  return ranges;
}

bool ChangesApplier::cover_all(const HashRanges& ranges) noexcept {
  uint64_t next = 0;
  for (const HashRange& range : ranges) {
    if (range.first != next) {
      return false;
    }
    next = range.last + 1;
  }
  return next == 0 && !ranges.empty();
}

bool ChangesApplier::cover(const HashRanges& ranges, uint64_t hash) noexcept {
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), hash,
                       [](const HashRange& one, uint64_t wanted) { return one.last < wanted; });
  return range != ranges.end() && range->first <= hash;
}

// Returns whether each range is that of a leaf, or several ranges make up that of a leaf.
bool ChangesApplier::fit(const HashRanges& ranges) const noexcept {
  uint64_t next = 0;  // first hash of the leaf that the ranges don't cover yet
  uint64_t end = 0;
  for (const HashRange& range : ranges) {
    const Directory::Leaf& leaf =
        blocks_.directory().leaf(blocks_.directory().leaf_of(range.first));
    const uint64_t last = last_hash_of(leaf.prefix, leaf.depth);
    if (range.first != (next == end ? leaf.prefix : next) || range.last > last) {
      return false;
    }
    next = range.last + 1;
    end = last + 1;
  }
  return next == end;
}

// --- applying ------------------------------------------------------------------------------------

// A set takes its number of items from the changes. It counts the hashes that did not seem present
// when they came, and only the origin knows which did not.
Status ChangesApplier::apply(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(HashRanges ranges, ranges_of(changes));
  const bool keeps_hashes = blocks_.keeps_hashes();
  const bool all = !keeps_hashes && cover_all(ranges);
  if (!keeps_hashes && !all && !fit(ranges)) {
    ranges.clear();  // another filter's: this one goes on with its own segments
  }
  CUCKOO_TRY(append_all(changes.entries, keeps_hashes ? HashRanges() : ranges));
  if (all) {
    CUCKOO_TRY(take_all(changes));
  } else if (!keeps_hashes && !ranges.empty()) {
    CUCKOO_TRY(changes.pieces([this](Piece&& piece) -> Status {
      CUCKOO_TRY(blocks_.poll());
      return take(std::move(piece));
    }));
  } else {
    for (const HashRange& range : ranges) {
      CUCKOO_TRY(note_made(range));
    }
  }
  if (!blocks_.options().multiset()) {
    (void)blocks_.items();  // so all are counted
    blocks_.set_items(changes.items);
  }
  if (changes.whole) {
    CUCKOO_TRY(turns_.fold_all());
    blocks_.begin_log({changes.to.position, changes.to.chain});
  }
  blocks_.note_change();
  file_.note_key_types(changes.key_types);
  return {};
}

// Entries of segments that are replaced go into the log alone.
Status ChangesApplier::append_all(const EntryList& entries, const HashRanges& replaced) {
  constexpr size_t kEntriesPerPoll = 1024;
  Copies copies(entries.more());
  for (size_t i = 0; i < entries.size(); ++i) {
    const uint64_t of = copies.of(i);
    if (cover(replaced, entries[i])) {
      blocks_.log().append(entries[i], of);
    } else {
      CUCKOO_TRY(append(entries[i], of));
    }
    if (i % kEntriesPerPoll == 0) {
      CUCKOO_TRY(blocks_.poll());
    }
  }
  return {};
}

// A copy without hashes takes an add whatever its own capacity. A set takes it even if it seems
// present here, because it may be absent in a copy that has the same mark.
Status ChangesApplier::append(uint64_t entry, uint64_t copies) {
  const uint64_t hash = entry & ~kRemoveBit;
  if (!blocks_.options().multiset()) {
    if (blocks_.keeps_hashes()) {
      return file_.insert(hash);
    }
    CUCKOO_TRY(turns_.make_way());
    CUCKOO_TRY(blocks_.expect_add(hash));
    turns_.append(entry);
    return {};
  }
  CUCKOO_TRY(turns_.make_way());
  if (hash != entry) {
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t found, file_.removable(hash));
    turns_.append(entry, copies);
    blocks_.add_items(-static_cast<int64_t>(std::min(copies, found)));
    return {};
  }
  CUCKOO_TRY(blocks_.keeps_hashes() ? file_.expect_room(copies) : Status());
  if (blocks_.items() + copies > kMaxCapacity) {
    return corrupt("changes of more items than a filter holds");
  }
  turns_.append(entry, copies);
  blocks_.add_items(static_cast<int64_t>(copies));
  return {};
}

// Replaces all segments by the pieces, which may be fewer.
Status ChangesApplier::take_all(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits,
                          limits_for(blocks_.options(), changes.capacity));
  NewSegments next(blocks_.maker(limits, false), changes.unique);
  CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(blocks_.poll());
    return next.take(std::move(piece));
  }));
  CUCKOO_TRY(next.finish());
  if (blocks_.options().multiset()) {
    blocks_.set_items(next.items());
  }
  blocks_.replace(next, changes.capacity);
  return {};
}

// Replaces all that the leaf of the piece held, pending entries too.
Status ChangesApplier::take(Piece&& piece) {
  const Directory& directory = blocks_.directory();
  size_t index = directory.leaf_of(piece.prefix);
  if (blocks_.options().multiset()) {
    CUCKOO_ASSIGN_OR_RETURN(const Segment* const before, blocks_.current(index));
    blocks_.add_items(static_cast<int64_t>(piece.items - before->items()));
  }
  blocks_.split(index, 0);
  while (directory.leaf(index).depth < piece.depth) {
    if (directory.most_bits(index) == 0) {
      return corrupt("changes with a segment that is too small");
    }
    blocks_.split(index, 1);
    index = directory.leaf_of(piece.prefix);
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                          blocks_.maker(blocks_.limits(), false).adopt(std::move(piece)));
  blocks_.put(index, std::move(made));
  return {};
}

// Keeps I3: its own segments of that range count as made now. A fold comes first, because the
// header is written together with the pages as of F.
Status ChangesApplier::note_made(const HashRange& range) {
  uint64_t next = range.first;
  do {
    CUCKOO_TRY(blocks_.poll());
    CUCKOO_TRY(turns_.fold(blocks_.directory().leaf_of(next)));
    const size_t index = blocks_.directory().leaf_of(next);
    const Directory::Leaf& leaf = blocks_.directory().leaf(index);
    leaf.segment->set_made_at(made_by(blocks_.log().position()));
    next = last_hash_of(leaf.prefix, leaf.depth) + 1;
  } while (next != 0 && next <= range.last);
  return {};
}

}  // namespace cuckoo::segments
