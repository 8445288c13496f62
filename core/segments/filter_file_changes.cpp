// FilterFile: its marks, what it has become since one of them, and how a copy becomes the same.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/segments/filter_file.hpp"
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

// A generation of a window is not all that the window holds.
bool keeps_marks(const FilterOptions& options) noexcept {
  return options.generations == 1 && !traits_of(options.spec.kind).pairs;
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

// The mark is its own, or one that holds at one of its places.
Result<FilterChanges> FilterFile::changes_since(const FilterMark& from) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (!now) {
    return invalid("keeps no marks");
  }
  FilterChanges changes;
  changes.from = from;
  changes.to = *now;
  changes.items = items();
  changes.key_types = static_cast<uint8_t>(blocks_.root().key_types);
  LargeVector<uint64_t> entries;
  const auto take_behind = [&](const LogPlace& place) {
    return blocks_.log().entries_behind(blocks_.storage(), blocks_.root().first_row,
                                        blocks_.root().first_position, place, entries);
  };
  bool found = false;
  if (own_mark(options_, {from.position, from.chain}) == from) {
    CUCKOO_ASSIGN_OR_RETURN(found, take_behind({from.position, from.chain}));
  }
  if (!found) {
    CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, blocks_.places());
    if (const MarkedPlace* const place = known.find(from); place != nullptr) {
      CUCKOO_ASSIGN_OR_RETURN(found, take_behind({place->position, place->chain}));
    }
  }
  if (!found) {
    return invalid("its log does not go back to mark " + mark_text(from) +
                   ": of another filter, or made before more changes than the log keeps, or before"
                   " this one was loaded, cleared, imported or united; ship the image instead");
  }
  changes.hashes = net_changes(std::move(entries), options_.width, options_.multiset());
  return changes;
}

// --- becoming what another one is ----------------------------------------------------------------

// Whether all fits is known in the end only. So what came before is written first, and read again
// if it does not.
Result<bool> FilterFile::apply(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now == changes.to) {
    return false;
  }
  if (now != changes.from) {
    return invalid("the changes lead from mark " + mark_text(changes.from) + " to mark " +
                   mark_text(changes.to) + ", and it has " +
                   (now ? "mark " + mark_text(*now) : "no mark") +
                   "; ask for the changes since its mark, or ship the image");
  }
  if (options_.multiset() && options_.unique && !changes.to.unique) {
    return invalid("unique = on follows only what is unique, too");
  }
  if (!follows(options_, changes.to)) {
    return corrupt("changes to the mark of another filter");
  }
  settle();
  const uint64_t most = items_ + changes.hashes.size();
  if (!options_.multiset() && (changes.items < items_ || changes.items > most)) {
    return invalid("the changes leave " + std::to_string(changes.items) + " items, expected " +
                   std::to_string(items_) + " to " + std::to_string(most));
  }
  const uint64_t removed = std::min(sum_of(changes.hashes, removals_of), items_);
  const uint64_t left =
      options_.multiset() ? items_ - removed + sum_of(changes.hashes, additions_of) : changes.items;
  if (left > most_items()) {
    return keeps_hashes() ? full_error() : more_than_fit(left - std::min(left, items_));
  }
  CUCKOO_TRY(flush());
  Status applied = poison_.changing([&] { return apply_all(changes); });
  if (!applied.ok() && applied.error().code == ErrorCode::kFull) {
    forget();
    CUCKOO_TRY(refresh());
  }
  CUCKOO_TRY(std::move(applied));
  return true;
}

// Removes go first, so that what leaves makes room for what comes. One that finds nothing then was
// of a key that was never added, but shared its cells with one that is added here: it has its turn
// when that is in the pages. What is left then is dropped, as a remake does. The items of a set
// count which hashes seemed present when they came, and only the other filter knows that.
Status FilterFile::apply_all(const FilterChanges& changes) {
  std::vector<ChangedHash> refused;
  if (options_.multiset()) {
    CUCKOO_ASSIGN_OR_RETURN(refused, remove_found(changes.hashes));
  }
  CUCKOO_TRY(add_all(changes.hashes));
  for (const ChangedHash& one : refused) {
    const size_t index = blocks_.directory().leaf_of(one.first);
    if (blocks_.directory().leaf(index).pends) {
      CUCKOO_TRY(fold_leaf(index));
      set_turns();
    }
  }
  CUCKOO_TRY(remove_found(refused).take_status());
  if (!options_.multiset()) {
    settle();
    items_ = changes.items;
  }
  blocks_.note_entries();
  note_key_types(changes.key_types);
  return take_mark(changes.to);
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

// To a set all are logged, also those that seem present here: they may be absent in a copy that has
// the same mark.
Status FilterFile::add_all(std::span<const ChangedHash> hashes) {
  uint64_t done = 0;
  for (const ChangedHash& one : hashes) {
    for (uint64_t count = additions_of(one); count > 0; --count) {
      CUCKOO_TRY(work());
      CUCKOO_TRY(add(one.first, true));
      if (++done % kChangesPerPoll == 0) {
        CUCKOO_TRY(blocks_.poll());
      }
    }
  }
  return {};
}

}  // namespace cuckoo::segments
