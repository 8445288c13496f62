// FilterFile: its marks, the changes since one of them, and how a copy applies changes.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/segments/changes_applier.hpp"
#include "core/segments/filter_file.hpp"

namespace cuckoo::segments {
namespace {

// Returns the sum, but at most kMaxHashCount, because a larger one says no more. Each count is at
// most 2^62, so the sum does not overflow.
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

// Returns whether a filter of these options can hold the contents that the mark names. A multiset
// with unique = on can hold only contents in which each hash counts once.
bool follows(const FilterOptions& options, const FilterMark& mark) noexcept {
  return keeps_marks(options) && mark.kind == options.spec.kind && mark.width == options.width &&
         mark.seed == options.seed && (mark.unique || !options.multiset() || !options.unique);
}

}  // namespace

// --- marks ---------------------------------------------------------------------------------------

Result<std::optional<FilterMark>> FilterFile::mark() {
  CUCKOO_TRY(poison_error());
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

// --- changes since a mark ------------------------------------------------------------------------

namespace {

struct Since {
  uint64_t position = 0;  // of the mark, in this log
  EntryList behind;
};

// Finds the mark in the log: it is the filter's own, or another filter's that holds at one of the
// log's places. Returns nothing if it is not there.
Result<std::optional<Since>> entries_since(const FilterBlocks& blocks, const FilterMark& from) {
  const auto behind = [&](const LogPlace& place) -> Result<std::optional<Since>> {
    Since since;
    since.position = place.position;
    CUCKOO_ASSIGN_OR_RETURN(
        const bool found,
        blocks.log().entries_behind(blocks.storage(), blocks.root().first_row,
                                    blocks.root().first_position, place, since.behind));
    return found ? std::optional(std::move(since)) : std::nullopt;
  };
  if (own_mark(blocks.options(), {from.position, from.chain}) == from) {
    CUCKOO_ASSIGN_OR_RETURN(std::optional<Since> found, behind({from.position, from.chain}));
    if (found) {
      return found;
    }
  }
  CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, blocks.places());
  const MarkedPlace* const place = known.find(from);
  return place != nullptr ? behind({place->position, place->chain})
                          : Result<std::optional<Since>>(std::nullopt);
}

}  // namespace

Result<std::optional<FilterChanges>> FilterFile::changes_since(const FilterMark& from) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (!now) {
    return invalid("keeps no marks");
  }
  CUCKOO_ASSIGN_OR_RETURN(std::optional<Since> since, entries_since(blocks_, from));
  if (!since) {
    return std::optional<FilterChanges>();
  }
  return std::optional(changes_of(from, *now,
                                  net_changes(since->behind, options_.width, options_.multiset()),
                                  since->position));
}

// If the log does not go back so far, the changes are made of the hashes that the filter keeps.
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

// Returns the changes since the mark of that position. `hashes` are those that changed.
FilterChanges FilterFile::changes_of(const FilterMark& from, const FilterMark& to,
                                     LargeVector<ChangedHash> hashes, uint64_t position) {
  FilterChanges changes;
  changes.from = from;
  changes.to = to;
  changes.items = items();
  changes.key_types = blocks_.root().key_types;
  changes.spec = options_.spec;
  changes.capacity = made_for();
  changes.hashes = std::move(hashes);
  // Returns whether the leaf's segment may have got its size since then. A segment that was made at
  // just that position may have been there before, but is taken, too. A segment with number 0 was
  // made when the filter was, or together with all others.
  const auto made = [this, position](const Directory::Leaf& leaf) {
    const SegmentHeader& header = leaf.current();
    const uint64_t made_at = header.number == 0 ? blocks_.root().folded_to : header.made_at;
    return made_at > 0 && made_at >= position;
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
    changes.range = piece_range(false, made);
  }
  return changes;
}

// An entry with a count of 5 counts as 5 changes.
Result<std::optional<uint64_t>> FilterFile::changes_behind(const FilterMark& from) const {
  CUCKOO_TRY(poison_error());
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<Since> since, entries_since(blocks_, from));
  if (!since) {
    return std::optional<uint64_t>();
  }
  uint64_t changes = since->behind.size();
  for (const MoreCopies& one : since->behind.more()) {
    changes += one.more;
  }
  return std::optional(changes);
}

// --- applying changes ----------------------------------------------------------------------------

Status FilterFile::expect_from(const FilterMark& from, const FilterMark& to) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now != to && now != from) {
    return invalid("the changes lead from mark " + mark_text(from) + " to mark " + mark_text(to) +
                   ", and it has " + (now ? "mark " + mark_text(*now) : "no mark") +
                   "; ask for the changes since its own mark");
  }
  return options_.multiset() && options_.unique && !to.unique
             ? invalid("unique = on follows only what is unique, too")
             : Status();
}

// apply() may fail late. So it first writes what came before, and reads that again after a failure.
// A generation that is made beside its window is not written, because the window drops it after a
// failure.
Result<bool> FilterFile::apply(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now == changes.to) {
    CUCKOO_TRY(verify(changes.pieces));
    return false;
  }
  CUCKOO_TRY(expect_from(changes.from, changes.to));
  if (!follows(options_, changes.to)) {
    return corrupt("changes to the mark of another filter");
  }
  const uint64_t added = sum_of(changes.hashes, additions_of);
  const uint64_t removed = sum_of(changes.hashes, removals_of);
  // Within this limit a hash with many copies takes only few entries of the log.
  if (std::max(added, removed) > kMaxCapacity) {
    return corrupt("changes of more items than a filter holds");
  }
  const uint64_t most = items() + changes.hashes.size();
  if (!options_.multiset() && (changes.items < items() || changes.items > most)) {
    return invalid("the changes leave " + std::to_string(changes.items) + " items, expected " +
                   std::to_string(items()) + " to " + std::to_string(most));
  }
  const uint64_t left =
      options_.multiset() ? items() - std::min(removed, items()) + added : changes.items;
  if (left > (keeps_hashes() ? most_items() : kMaxCapacity)) {
    return full_error();
  }
  const bool stored = blocks_.stored();
  CUCKOO_TRY(stored ? flush() : Status());
  Status applied = blocks_.poison().changing(
      [&] { return ChangesApplier(*this, blocks_, turns_).apply(changes); });
  if (!applied.ok() && applied.error().code != ErrorCode::kStorage && stored) {
    const Error why = applied.take_error();
    forget();
    CUCKOO_TRY(refresh());
    return why;
  }
  CUCKOO_TRY(std::move(applied));
  return true;
}

}  // namespace cuckoo::segments
