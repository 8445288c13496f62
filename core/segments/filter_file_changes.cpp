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

}  // namespace

// --- marks ---------------------------------------------------------------------------------------

// A generation of a window is not all that the window holds.
bool FilterFile::keeps_marks() const noexcept {
  return options_.generations == 1 && !traits_of(options_.spec.kind).pairs;
}

FilterMark FilterFile::own_mark() const {
  FilterMark mark;
  mark.kind = options_.spec.kind;
  mark.width = options_.width;
  mark.unique = options_.multiset() && !options_.counts_copies();
  mark.seed = options_.seed;
  mark.position = log_.position();
  mark.chain = log_.chain();
  return mark;
}

Result<MarkedPlaces> FilterFile::places() const {
  if (new_places_ || root_.places == 0) {
    return new_places_.value_or(MarkedPlaces());
  }
  MarkedPlaces known;
  CUCKOO_TRY(
      blocks_.read_one(kMarksBlock, [&](int64_t, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(known, decode_places(content));
        for (const auto& [mark, position, chain] : known.places) {
          if (mark.kind != options_.spec.kind || mark.width != options_.width ||
              mark.seed != options_.seed || position > log_.position()) {
            return corrupt("marked places of another filter");
          }
        }
        return {};
      }));
  return known;
}

Result<std::optional<FilterMark>> FilterFile::mark() {
  CUCKOO_TRY(poison_.error());
  if (!keeps_marks()) {
    return std::optional<FilterMark>();
  }
  const FilterMark own = own_mark();
  CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, places());
  if (!known.places.empty()) {
    const MarkedPlace& last = known.places.back();
    if (last.position == own.position && last.chain == own.chain) {
      return std::optional(last.mark);
    }
  }
  return std::optional(own);
}

// Where hashes count once, whatever they count elsewhere.
bool FilterFile::follows(const FilterMark& mark) const noexcept {
  return keeps_marks() && mark.kind == options_.spec.kind && mark.width == options_.width &&
         mark.seed == options_.seed && (mark.unique || !options_.multiset() || !options_.unique);
}

Status FilterFile::take_mark(const FilterMark& mark) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, this->mark());
  if (!follows(mark) || now == mark) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(MarkedPlaces known, places());
  if (known.places.size() >= MarkedPlaces::kMost) {
    known.places.erase(known.places.begin());
  }
  known.places.push_back({mark, log_.position(), log_.chain()});
  new_places_ = std::move(known);
  root_.places = 1;
  changed_ = layout_changed_ = true;
  return {};
}

Status FilterFile::check_places() const {
  CUCKOO_TRY(places().take_status());
  if (root_.places != 0) {
    return {};
  }
  return blocks_.read(kMarksBlock, kMarksBlock, [](int64_t, std::span<const std::byte>) -> Status {
    return corrupt("the root knows of none");
  });
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
  changes.key_types = static_cast<uint8_t>(root_.key_types);
  LargeVector<uint64_t> entries;
  const auto take_behind = [&](const LogPlace& place) {
    return log_.entries_behind(blocks_, root_.first_row, root_.first_position, place, entries);
  };
  FilterMark own = own_mark();
  own.position = from.position;
  own.chain = from.chain;
  bool found = false;
  if (own == from) {
    CUCKOO_ASSIGN_OR_RETURN(found, take_behind({from.position, from.chain}));
  }
  if (!found) {
    CUCKOO_ASSIGN_OR_RETURN(const MarkedPlaces known, places());
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
  if (!follows(changes.to)) {
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
    const size_t index = directory_.leaf_of(one.first);
    if (directory_.leaf(index).pends) {
      CUCKOO_TRY(fold_leaf(index));
      set_turns();
    }
  }
  CUCKOO_TRY(remove_found(refused).take_status());
  if (!options_.multiset()) {
    settle();
    items_ = changes.items;
  }
  changed_ = true;
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
