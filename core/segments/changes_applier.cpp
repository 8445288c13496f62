#include "core/segments/changes_applier.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

struct HashRange {
  uint64_t first;
  uint64_t last;
};

// Returns whether the ranges, which ascend and don't overlap, cover all hashes.
bool cover_all(std::span<const HashRange> ranges) noexcept {
  uint64_t next = 0;
  for (const HashRange& range : ranges) {
    if (range.first != next) {
      return false;
    }
    next = range.last + 1;
  }
  return next == 0;
}

// Returns whether each range is that of a leaf, or several ranges make up that of a leaf.
bool fit(std::span<const HashRange> ranges, const Directory& directory) noexcept {
  uint64_t next = 0;  // first hash of the leaf that the ranges don't cover yet
  uint64_t end = 0;
  for (const HashRange& range : ranges) {
    const Directory::Leaf& leaf = directory.leaf(directory.leaf_of(range.first));
    const uint64_t last = last_hash_of(leaf.prefix, leaf.depth);
    if (range.first != (next == end ? leaf.prefix : next) || range.last > last) {
      return false;
    }
    next = range.last + 1;
    end = last + 1;
  }
  return next == end;
}

// Appends the hashes in the ranges to `within`, and all others to `rest`.
void split_by_range(std::span<const ChangedHash> hashes, std::span<const HashRange> ranges,
                    LargeVector<ChangedHash>& within, LargeVector<ChangedHash>& rest) {
  auto range = ranges.begin();
  for (const ChangedHash& one : hashes) {
    while (range != ranges.end() && range->last < one.first) {
      ++range;
    }
    const bool outside = range == ranges.end() || one.first < range->first;
    (outside ? rest : within).push_back(one);
  }
}

bool have_one_hash(const ChangedHash& a, const ChangedHash& b) noexcept {
  return a.first == b.first;
}

void split_twice(std::span<const ChangedHash> hashes, LargeVector<ChangedHash>& once,
                 LargeVector<ChangedHash>& twice) {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const bool two = i + 1 < hashes.size() && have_one_hash(hashes[i], hashes[i + 1]);
    if (two) {
      twice.push_back(hashes[i++]);
    }
    (two ? twice : once).push_back(hashes[i]);
  }
}

uint64_t whole_shape(const FilterBlocks& blocks) {
  uint64_t shape = 0;
  for (size_t i = 0; i < blocks.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks.directory().leaf(i);
    shape += shape_of(leaf.prefix, leaf.depth, blocks.geometry_of(leaf));
  }
  return shape;
}

}  // namespace

// Adds first, so that the removes find their keys. If a remove then finds nothing, it is dropped,
// as a remake would drop it, too. Hashes that come twice are applied in between, one hash after the
// other, because two of them may share a cell.
//
// A set takes its number of items from the changes. It counts the hashes that did not seem present
// when they came, and only the origin knows which did not.
Status ChangesApplier::apply(const FilterChanges& changes) {
  LargeVector<ChangedHash> rest;  // of segments that the changes don't include
  std::span<const ChangedHash> hashes = changes.hashes;
  if (changes.pieces && !blocks_.keeps_hashes()) {
    CUCKOO_ASSIGN_OR_RETURN(const bool taken, take_pieces(changes, rest));
    hashes = taken ? std::span<const ChangedHash>(rest) : hashes;
  }
  LargeVector<ChangedHash> once;
  LargeVector<ChangedHash> twice;
  if (std::adjacent_find(hashes.begin(), hashes.end(), have_one_hash) != hashes.end()) {
    split_twice(hashes, once, twice);
    hashes = once;
  }
  CUCKOO_TRY(add_all(hashes));
  for (size_t i = 0; i < twice.size(); i += 2) {
    CUCKOO_TRY(remove_found({&twice[i], 1}));
    CUCKOO_TRY(add_all({&twice[i + 1], 1}));
  }
  if (blocks_.options().multiset()) {
    CUCKOO_TRY(remove_found(hashes));
  } else {
    (void)blocks_.items();  // so all are counted
    blocks_.set_items(changes.items);
  }
  blocks_.note_change();
  file_.note_key_types(changes.key_types);
  return blocks_.keeps_hashes() || whole_shape(blocks_) == changes.shape
             ? file_.take_mark(changes.to)
             : Status();
}

// Replaces segments by the pieces. The cells of the pieces have their entries already. So these
// entries go into the log alone, for copies of this copy. `rest` gets the hashes of all other
// segments. Returns false, and changes nothing, if the pieces do not fit the segments.
Result<bool> ChangesApplier::take_pieces(const FilterChanges& changes,
                                         LargeVector<ChangedHash>& rest) {
  std::vector<HashRange> ranges;
  CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
    ranges.push_back({piece.prefix, last_hash_of(piece.prefix, piece.depth)});
    return blocks_.poll();
  }));
  const bool all = cover_all(ranges);
  if (!all && !fit(ranges, blocks_.directory())) {
    return false;
  }
  LargeVector<ChangedHash> within;
  split_by_range(changes.hashes, ranges, within, rest);
  for (const ChangedHash& one : within) {
    const uint64_t entry = one.first | (one.second < 0 ? kRemoveBit : 0);
    CUCKOO_TRY(for_each_part(additions_of(one) + removals_of(one), [&](uint64_t copies) -> Status {
      blocks_.log().append(entry, copies);
      return {};
    }));
  }
  CUCKOO_TRY(all ? take_all(changes) : changes.pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(blocks_.poll());
    return take(std::move(piece));
  }));
  return true;
}

// Replaces all segments by the pieces, which may be fewer.
Status ChangesApplier::take_all(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits,
                          limits_for(blocks_.options(), changes.capacity));
  NewSegments next(blocks_.maker(limits, false), changes.to.unique);
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
    blocks_.add_items(
        static_cast<int64_t>(piece.items - blocks_.directory().leaf(index).current().items) -
        blocks_.directory().leaf(index).pending.items());
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

// Adds a hash that its origin added. A copy without hashes adds it whatever its own capacity. A set
// logs it even if it seems present here, because it may be absent in a copy that has the same mark.
Status ChangesApplier::add(uint64_t hash, uint64_t copies) {
  const bool multiset = blocks_.options().multiset();
  if (blocks_.keeps_hashes() && !multiset) {
    return file_.insert(hash);
  }
  CUCKOO_TRY(turns_.make_way());
  if (multiset) {
    CUCKOO_TRY(blocks_.keeps_hashes() ? file_.expect_room(copies) : Status());
    turns_.append(hash, copies);
    blocks_.add_items(static_cast<int64_t>(copies));
    return {};
  }
  CUCKOO_TRY(blocks_.expect_add(hash));
  turns_.append(hash);
  return {};
}

Status ChangesApplier::add_all(std::span<const ChangedHash> hashes) {
  for (const ChangedHash& one : hashes) {
    CUCKOO_TRY(for_each_part(additions_of(one), [&](uint64_t copies) -> Status {
      CUCKOO_TRY(add(one.first, copies));
      return poll_at_times();
    }));
  }
  return {};
}

// Removes each hash as often as the origin did, while it is found.
Status ChangesApplier::remove_found(std::span<const ChangedHash> hashes) {
  for (const ChangedHash& one : hashes) {
    uint64_t count = removals_of(one);
    while (count > 0) {
      const uint64_t part = std::min(count, kMostCopies);
      CUCKOO_ASSIGN_OR_RETURN(const uint64_t removed, file_.remove_copies(one.first, part));
      count -= removed;
      CUCKOO_TRY(poll_at_times());
      if (removed < part) {
        break;
      }
    }
  }
  return {};
}

Status ChangesApplier::poll_at_times() {
  constexpr uint64_t kChangesPerPoll = 1024;
  return ++done_ % kChangesPerPoll == 0 ? blocks_.poll() : Status();
}

}  // namespace cuckoo::segments
