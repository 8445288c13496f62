// FilterFile: its marks, the changes since one of them, and how a copy applies changes.
#include <algorithm>
#include <string>
#include <utility>

#include "core/segments/changes_applier.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/message_header.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

bool keeps_marks(const FilterOptions& options) noexcept {
  return !traits_of(options.spec.kind).pairs;
}

FilterMark mark_at(const FilterOptions& options, const LogPlace& place) {
  FilterMark mark;
  mark.kind = options.spec.kind;
  mark.width = options.width;
  mark.seed = options.seed;
  mark.position = place.position;
  mark.chain = place.chain;
  return mark;
}

}  // namespace

// --- marks ---------------------------------------------------------------------------------------

// New entries come after the mark. So its position must be far below the largest one.
bool FilterFile::can_have(const FilterMark& mark, bool unique) const noexcept {
  return keeps_marks(options_) && mark_at(options_, {mark.position, mark.chain}) == mark &&
         mark.position <= kMostMarkedPosition / 2 &&
         (unique || !options_.multiset() || !options_.unique);
}

Result<std::optional<FilterMark>> FilterFile::mark() const {
  CUCKOO_TRY(poison_error());
  return keeps_marks(options_)
             ? std::optional(mark_at(options_, {blocks_.log().position(), blocks_.log().chain()}))
             : std::nullopt;
}

// --- changes since a mark ------------------------------------------------------------------------

namespace {

// Returns the entries after the mark, or nothing if the mark is not in the log.
Result<std::optional<EntryList>> entries_since(const FilterBlocks& blocks, const FilterMark& from) {
  const LogPlace place{from.position, from.chain};
  EntryList behind;
  if (mark_at(blocks.options(), place) != from) {
    return std::optional<EntryList>();
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool found,
                          blocks.log().entries_behind(blocks.storage(), blocks.root().first_row,
                                                      blocks.root().first_position, place, behind));
  return found ? std::optional(std::move(behind)) : std::nullopt;
}

}  // namespace

Result<std::optional<FilterChanges>> FilterFile::changes_since(const FilterMark& from) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (!now) {
    return invalid("keeps no marks");
  }
  CUCKOO_ASSIGN_OR_RETURN(std::optional<EntryList> behind, entries_since(blocks_, from));
  return behind ? std::optional(changes_of(from, *now, std::move(*behind))) : std::nullopt;
}

// If the log does not go back so far, the changes are made of the hashes that the filter keeps.
Result<std::optional<FilterChanges>> FilterFile::changes_since_beginning(const FilterMark& empty) {
  CUCKOO_ASSIGN_OR_RETURN(std::optional<FilterChanges> changes, changes_since(empty));
  if (changes || !keeps_hashes() ||
      items() * log_entry_bytes(options_.width) > least_image_bytes()) {
    return changes;
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  EntryList hashes;
  CUCKOO_TRY(for_each_hash([&hashes](uint64_t hash, uint64_t count) -> Status {
    return for_each_part(count, [&](uint64_t copies) -> Status {
      hashes.append(hash, copies);
      return {};
    });
  }));
  changes = changes_of(empty, *now, std::move(hashes));
  changes->whole = true;
  return changes;
}

FilterChanges FilterFile::changes_of(const FilterMark& from, const FilterMark& to,
                                     EntryList entries) {
  FilterChanges changes;
  changes.from = from;
  changes.to = to;
  changes.unique = options_.multiset() && !options_.counts_copies();
  changes.items = items();
  changes.key_types = blocks_.root().key_types;
  changes.spec = options_.spec;
  changes.capacity = made_for();
  changes.entries = std::move(entries);
  if (from == to) {
    return changes;
  }
  // Returns whether the leaf's segment got its size since then. One with number 0 was made when the
  // filter was, or together with all others. A small segment may hold many more keys than it was
  // made for before its turn comes. A copy of it would be too full, so it is sent, too.
  const auto made = [this, position = from.position](const Directory::Leaf& leaf) {
    constexpr uint64_t kMuch = 4;  // a quarter more
    const SegmentHeader& header = leaf.current();
    const uint64_t made_at = header.number == 0 ? blocks_.root().folded_to : header.made_at;
    const uint64_t capacity = header.number == 0 ? blocks_.limits().share : header.capacity;
    const bool slots = traits_of(options_.spec.kind).slot_per_item;
    const uint64_t keys = slots ? header.occupied : std::min(header.items, capacity);
    const uint64_t pending = leaf.pending.size();
    return (made_at > 0 && made_at >= position) || (keeps_hashes() && pending > capacity / kMuch &&
                                                    keys + pending > capacity + capacity / kMuch);
  };
  changes.bytes = kMessageHeaderBytes + header_of(changes).entry_bytes() + kImageCrcBytes;
  if (const uint64_t bytes = least_piece_bytes(made); bytes > 0) {
    changes.bytes += bytes;
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
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<EntryList> behind, entries_since(blocks_, from));
  if (!behind) {
    return std::optional<uint64_t>();
  }
  uint64_t changes = behind->size();
  for (const MoreCopies& one : behind->more()) {
    changes += one.more;
  }
  return std::optional(changes);
}

// --- applying changes ----------------------------------------------------------------------------

Status FilterFile::expect_from(const FilterChanges& changes) const {
  const FilterMark& from = changes.from;
  const FilterMark& to = changes.to;
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now != to && now != from) {
    return invalid("the changes lead from mark " + mark_text(from) + " to mark " + mark_text(to) +
                   ", and it has " + (now ? "mark " + mark_text(*now) : "no mark") +
                   "; ask for the changes since its own mark");
  }
  return options_.multiset() && options_.unique && !changes.unique
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
  CUCKOO_TRY(expect_from(changes));
  if (!can_have(changes.to, changes.unique)) {
    return bad_message("changes to the mark of another filter");
  }
  const uint64_t most = items() + changes.entries.size();
  if (!options_.multiset() && (changes.items < items() || changes.items > most)) {
    return invalid("the changes leave " + std::to_string(changes.items) + " items, expected " +
                   std::to_string(items()) + " to " + std::to_string(most));
  }
  const bool stored = blocks_.stored();
  CUCKOO_TRY(stored ? flush() : Status());
  Status applied = blocks_.poison().changing(
      [&] { return ChangesApplier(*this, blocks_, turns_).apply(changes); });
  if (!applied.ok() && applied.error().code != ErrorCode::kStorage && stored) {
    forget();
    CUCKOO_TRY(refresh());
    return of_message(std::move(applied));
  }
  CUCKOO_TRY(std::move(applied));
  return true;
}

}  // namespace cuckoo::segments
