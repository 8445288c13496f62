// FilterFile: its marks, what it has become since one of them, and how a copy becomes the same.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t kChangesPerPoll = 1024;

uint64_t removals_of(const ChangedHash& one) noexcept {
  return one.second < 0 ? 0 - static_cast<uint64_t>(one.second) : 0;
}

uint64_t additions_of(const ChangedHash& one) noexcept {
  return one.second > 0 ? static_cast<uint64_t>(one.second) : 0;
}

// Counts are below 2^62 + 1 each: a sum that is larger says no more.
template <class Part>
uint64_t sum_of(std::span<const ChangedHash> hashes, Part part) noexcept {
  uint64_t sum = 0;
  for (const ChangedHash& one : hashes) {
    sum = std::min(sum + part(one), kMaxHashCount);
  }
  return sum;
}

bool keeps_marks(const FilterOptions& options) noexcept {
  return !traits_of(options.spec.kind).pairs;
}

FilterMark own_mark(const FilterOptions& options, const LogPlace& place) {
  FilterMark mark;
  mark.kind = options.spec.kind;
  mark.width = options.width;
  mark.unique = options.multiset() && !options.counts_copies();
  mark.seed = options.seed;
  mark.position = place.position;
  mark.chain = place.chain;
  return mark;
}

// Can a filter of these options hold what the mark names? Where hashes count once it can, whatever
// they count elsewhere.
bool follows(const FilterOptions& options, const FilterMark& mark) noexcept {
  return keeps_marks(options) && mark.kind == options.spec.kind && mark.width == options.width &&
         mark.seed == options.seed && (mark.unique || !options.multiset() || !options.unique);
}

struct HashRange {
  uint64_t first;
  uint64_t last;
};

uint64_t last_hash_of(uint64_t prefix, unsigned depth) noexcept {
  return prefix | ~uint64_t{0} >> depth;
}

// They ascend and don't meet.
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

// Is each of them a leaf's range, or do several make one up?
bool fit(std::span<const HashRange> ranges, const Directory& directory) noexcept {
  uint64_t next = 0;  // what they leave of a leaf
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

// The changes of hashes in the ranges become entries of a log; the others are the rest.
Status split_by_range(std::span<const ChangedHash> hashes, std::span<const HashRange> ranges,
                      std::vector<uint64_t>& entries, LargeVector<ChangedHash>& rest) {
  constexpr uint64_t kMostEntries = uint64_t{1} << 28;  // no log keeps as many
  auto range = ranges.begin();
  for (const ChangedHash& one : hashes) {
    while (range != ranges.end() && range->last < one.first) {
      ++range;
    }
    if (range == ranges.end() || one.first < range->first) {
      rest.push_back(one);
      continue;
    }
    const uint64_t copies = additions_of(one) + removals_of(one);
    if (copies > kMostEntries - entries.size()) {
      return corrupt("changes of more entries than a log keeps");
    }
    entries.insert(entries.end(), copies, one.first | (one.second < 0 ? kRemoveBit : 0));
  }
  return {};
}

}  // namespace

// --- marks ---------------------------------------------------------------------------------------

Result<std::optional<FilterMark>> FilterFile::mark() {
  CUCKOO_TRY(poison_.error());
  if (!keeps_marks(options_)) {
    return std::optional<FilterMark>();
  }
  const FilterMark own = own_mark(options_, {blocks_.log().position(), blocks_.log().chain()});
  CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, blocks_.places());
  if (!known.places.empty()) {
    const MarkedPlace& last = known.places.back();
    if (last.position == own.position && last.chain == own.chain) {
      return std::optional(last.mark);
    }
  }
  return std::optional(own);
}

Status FilterFile::take_mark(const FilterMark& mark) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, this->mark());
  if (!follows(options_, mark) || now == mark) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(MarkedPlaces known, blocks_.places());
  if (known.places.size() >= MarkedPlaces::kMost) {
    known.places.erase(known.places.begin());
  }
  known.places.push_back({mark, blocks_.log().position(), blocks_.log().chain()});
  blocks_.set_places(std::move(known));
  return {};
}

// --- what changed --------------------------------------------------------------------------------

// Finds the mark in the log: it is its own, or one that holds at one of its places. False: it is
// not there.
Result<bool> FilterFile::entries_since(const FilterMark& from,
                                       LargeVector<uint64_t>& entries) const {
  const auto take_behind = [&](const LogPlace& place) {
    return blocks_.log().entries_behind(blocks_.storage(), blocks_.root().first_row,
                                        blocks_.root().first_position, place, entries);
  };
  if (own_mark(options_, {from.position, from.chain}) == from) {
    CUCKOO_ASSIGN_OR_RETURN(const bool found, take_behind({from.position, from.chain}));
    if (found) {
      return true;
    }
  }
  CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, blocks_.places());
  const MarkedPlace* const place = known.find(from);
  return place != nullptr ? take_behind({place->position, place->chain}) : Result<bool>(false);
}

namespace {

// Can the leaf's segment have got its size since the mark of that position was taken? What was made
// at that position may have been there before. One that has no header was made when the filter was,
// or with all others.
bool made_since(const Directory::Leaf& leaf, const Root& root, uint64_t position) noexcept {
  const uint64_t made_at = leaf.current().number == 0 ? root.folded_to : leaf.current().made_at;
  return made_at > 0 && made_at >= position;
}

}  // namespace

Result<std::optional<FilterChanges>> FilterFile::changes_since(const FilterMark& from) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (!now) {
    return invalid("keeps no marks");
  }
  LargeVector<uint64_t> entries;
  CUCKOO_ASSIGN_OR_RETURN(const bool found, entries_since(from, entries));
  if (!found) {
    return std::optional<FilterChanges>();
  }
  const uint64_t position = blocks_.log().position() - entries.size();
  return std::optional(changes_of(
      from, *now, net_changes(std::move(entries), options_.width, options_.multiset()), position));
}

// Where its log does not go back so far, its hashes say the same.
Result<std::optional<FilterChanges>> FilterFile::changes_since_beginning(const FilterMark& empty) {
  CUCKOO_ASSIGN_OR_RETURN(std::optional<FilterChanges> changes, changes_since(empty));
  if (changes || !keeps_hashes() || items() * kBitsOfChange > bits()) {
    return changes;
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  LargeVector<ChangedHash> hashes;
  CUCKOO_TRY(for_each_hash([&hashes](uint64_t hash, uint64_t count) -> Status {
    hashes.emplace_back(hash, static_cast<int64_t>(count));
    return {};
  }));
  return std::optional(changes_of(empty, *now, std::move(hashes), 0));
}

// Those since the mark of that position.
FilterChanges FilterFile::changes_of(const FilterMark& from, const FilterMark& to,
                                     LargeVector<ChangedHash> hashes, uint64_t position) {
  FilterChanges changes;
  changes.from = from;
  changes.to = to;
  changes.items = items();
  changes.key_types = static_cast<uint8_t>(blocks_.root().key_types);
  changes.spec = options_.spec;
  changes.capacity = made_for();
  changes.hashes = std::move(hashes);
  const auto made = [this, position](const Directory::Leaf& leaf) {
    return made_since(leaf, blocks_.root(), position);
  };
  bool any = false;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
    any = any || made(leaf);
    changes.shape += made(leaf) ? 0 : shape_of(leaf.prefix, leaf.depth, blocks_.geometry_of(leaf));
  }
  if (any) {
    changes.shape_lacks_pieces = true;
    changes.pieces = [this, made](const PieceSink& sink) {
      return for_each_piece(false, sink, made);
    };
  }
  return changes;
}

Result<std::optional<uint64_t>> FilterFile::entries_behind(const FilterMark& from) const {
  CUCKOO_TRY(poison_.error());
  LargeVector<uint64_t> entries;
  CUCKOO_ASSIGN_OR_RETURN(const bool found, entries_since(from, entries));
  return found ? std::optional<uint64_t>(entries.size()) : std::nullopt;
}

// --- becoming what another one is ----------------------------------------------------------------

// A failure is known in the end only. So what came before is written first, and read again then.
// Of a generation that is made beside its window nothing is written, and it is dropped then.
Result<bool> FilterFile::apply(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now == changes.to) {
    return false;
  }
  if (now != changes.from) {
    return invalid("the changes lead from mark " + mark_text(changes.from) + " to mark " +
                   mark_text(changes.to) + ", and it has " +
                   (now ? "mark " + mark_text(*now) : "no mark") +
                   "; ask for the changes since its own mark");
  }
  if (options_.multiset() && options_.unique && !changes.to.unique) {
    return invalid("unique = on follows only what is unique, too");
  }
  if (!follows(options_, changes.to)) {
    return corrupt("changes to the mark of another filter");
  }
  const uint64_t most = items() + changes.hashes.size();
  if (!options_.multiset() && (changes.items < items() || changes.items > most)) {
    return invalid("the changes leave " + std::to_string(changes.items) + " items, expected " +
                   std::to_string(items()) + " to " + std::to_string(most));
  }
  const uint64_t removed = std::min(sum_of(changes.hashes, removals_of), items());
  const uint64_t left = options_.multiset()
                            ? items() - removed + sum_of(changes.hashes, additions_of)
                            : changes.items;
  if (keeps_hashes() && left > most_items()) {
    return full_error();
  }
  const bool stored = blocks_.stored();
  CUCKOO_TRY(stored ? flush() : Status());
  Status applied = poison_.changing([&] { return apply_all(changes); });
  if (!applied.ok() && applied.error().code != ErrorCode::kStorage && stored) {
    const Error why = applied.take_error();
    forget();
    CUCKOO_TRY(refresh());
    return why;
  }
  CUCKOO_TRY(std::move(applied));
  return true;
}

// Adds go first, so that what leaves is there. A remove that finds nothing then was of a key that
// was never added, but shared its cells with one that is added here: it has its turn when that is
// in the pages. What is left then is dropped, as a remake does. The items of a set count which
// hashes seemed present when they came, and only the other filter knows that.
Status FilterFile::apply_all(const FilterChanges& changes) {
  LargeVector<ChangedHash> rest;  // of segments that don't come with them
  std::span<const ChangedHash> hashes = changes.hashes;
  if (changes.pieces && !keeps_hashes()) {
    CUCKOO_ASSIGN_OR_RETURN(const bool taken, take_pieces(changes, rest));
    hashes = taken ? std::span<const ChangedHash>(rest) : hashes;
  }
  CUCKOO_TRY(add_all(hashes));
  if (options_.multiset()) {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<ChangedHash> refused, remove_found(hashes));
    for (const ChangedHash& one : refused) {
      const size_t index = blocks_.directory().leaf_of(one.first);
      if (blocks_.directory().leaf(index).pends) {
        CUCKOO_TRY(fold_leaf(index));
        set_turns();
      }
    }
    CUCKOO_TRY(remove_found(refused).take_status());
  } else {
    settle();
    items_ = changes.items;
  }
  blocks_.note_change();
  note_key_types(changes.key_types);
  return keeps_hashes() || shape() == changes.shape ? take_mark(changes.to) : Status();
}

uint64_t FilterFile::shape() const {
  uint64_t shape = 0;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
    shape += shape_of(leaf.prefix, leaf.depth, blocks_.geometry_of(leaf));
  }
  return shape;
}

// The pieces take the places of its own segments. Their entries are in their cells, so they go into
// the log alone, for copies of this copy. `rest` are those of all other segments. False: the pieces
// are not of its segments, and nothing changed.
Result<bool> FilterFile::take_pieces(const FilterChanges& changes, LargeVector<ChangedHash>& rest) {
  std::vector<HashRange> ranges;
  CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
    ranges.push_back({piece.prefix, last_hash_of(piece.prefix, piece.depth)});
    return blocks_.poll();
  }));
  std::vector<uint64_t> entries;
  CUCKOO_TRY(split_by_range(changes.hashes, ranges, entries, rest));
  const uint64_t position = blocks_.log().position() + entries.size();
  if (cover_all(ranges)) {
    CUCKOO_TRY(replace_by(changes, position));
  } else if (fit(ranges, blocks_.directory())) {
    CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
      CUCKOO_TRY(blocks_.poll());
      return take_piece(std::move(piece), position);
    }));
  } else {
    return false;
  }
  for (const uint64_t entry : entries) {
    blocks_.log().append(entry);
  }
  return true;
}

// All are new, and may be fewer than before.
Status FilterFile::replace_by(const FilterChanges& changes, uint64_t position) {
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(options_, changes.capacity));
  NewSegments next(
      options_, limits,
      {blocks_.root().next_number, position, blocks_.root().directory_version, changes.to.unique},
      false);
  CUCKOO_TRY(changes.pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(blocks_.poll());
    return next.take(std::move(piece));
  }));
  CUCKOO_TRY(next.finish());
  items_ = options_.multiset() ? next.items() : items_;
  replace_all(next, changes.capacity);
  return {};
}

// Its leaf holds nothing then but what is in the piece.
Status FilterFile::take_piece(Piece&& piece, uint64_t position) {
  Directory& directory = blocks_.directory();
  size_t index = directory.leaf_of(piece.prefix);
  const uint64_t pending = directory.leaf(index).pending_entries();
  CUCKOO_ASSIGN_OR_RETURN(const Segment* const old, blocks_.segment(index));
  const uint64_t items = old->header().items + static_cast<uint64_t>(old->pending().items());
  blocks_.note_replaced(old->header().number);
  unfolded_ -= pending;
  items_ -= options_.multiset() ? items : 0;
  directory.split(index, 0);
  while (directory.leaf(index).depth < piece.depth) {
    if (directory.most_bits(index) == 0) {
      return corrupt("changes with a segment that is too small");
    }
    directory.split(index, 1);
    index = directory.leaf_of(piece.prefix);
  }
  blocks_.root().leaves = directory.size();
  CUCKOO_TRY(expect_numbers(blocks_.root().next_number, 1));
  items_ += options_.multiset() ? piece.items : 0;
  CUCKOO_ASSIGN_OR_RETURN(
      directory.leaf(index).segment,
      Segment::adopt(options_, std::move(piece), blocks_.root().next_number, position, false));
  ++blocks_.root().next_number;
  blocks_.note_segment(index);
  return {};
}

// It takes what the other filter took, whatever its own capacity. To a set all are logged, also
// those that seem present here: they may be absent in a copy that has the same mark.
Status FilterFile::add_applied(uint64_t hash) {
  if (keeps_hashes()) {
    return add(hash, true);
  }
  if (options_.multiset()) {
    put_back(hash);
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.segment_of(hash));
  if (found->pending_net(hash) <= 0) {
    append(hash);
  }
  return {};
}

Status FilterFile::add_all(std::span<const ChangedHash> hashes) {
  uint64_t done = 0;
  for (const ChangedHash& one : hashes) {
    for (uint64_t count = additions_of(one); count > 0; --count) {
      CUCKOO_TRY(work());
      CUCKOO_TRY(add_applied(one.first));
      if (++done % kChangesPerPoll == 0) {
        CUCKOO_TRY(blocks_.poll());
      }
    }
  }
  return {};
}

// Removes each as often as it was removed, until none is found, and returns what is left then.
Result<std::vector<ChangedHash>> FilterFile::remove_found(std::span<const ChangedHash> hashes) {
  std::vector<ChangedHash> left;
  uint64_t done = 0;
  for (const ChangedHash& one : hashes) {
    uint64_t count = removals_of(one);
    for (; count > 0; --count) {
      CUCKOO_TRY(work());
      CUCKOO_ASSIGN_OR_RETURN(const bool removed, take_away(one.first));
      if (!removed) {
        left.emplace_back(one.first, -static_cast<int64_t>(count));
        break;
      }
      if (++done % kChangesPerPoll == 0) {
        CUCKOO_TRY(blocks_.poll());
      }
    }
  }
  return left;
}

}  // namespace cuckoo::segments
