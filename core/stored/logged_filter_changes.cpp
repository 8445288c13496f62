// LoggedFilter's marks: what it has been since one of them, and how a copy becomes what it is now.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/stored/logged_filter.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kChangesPerPoll = 1024;

std::string text_of(const std::optional<FilterMark>& mark) {
  return mark ? "mark " + mark_text(*mark) : "no mark";
}

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

// Calls remove(hash) as often as each is removed, until it finds nothing. What is left then.
template <class Remove>
Result<std::vector<ChangedHash>> remove_found(std::span<const ChangedHash> hashes,
                                              FilterStorage& storage, Remove&& remove) {
  std::vector<ChangedHash> left;
  uint64_t done = 0;
  for (const ChangedHash& one : hashes) {
    uint64_t count = removals_of(one);
    for (; count > 0 && remove(one.first); --count) {
      if (++done % kChangesPerPoll == 0) {
        CUCKOO_TRY(storage.poll());
      }
    }
    if (count > 0) {
      left.emplace_back(one.first, -static_cast<int64_t>(count));
    }
  }
  return left;
}

// Calls add(hashes) with all that are added, each as often as it is, a number of them at a time.
template <class Add>
Status add_in_batches(std::span<const ChangedHash> hashes, FilterStorage& storage, Add&& add) {
  std::vector<uint64_t> batch;
  const auto add_batch = [&]() -> Status {
    CUCKOO_TRY(add(std::span<const uint64_t>(batch)));
    batch.clear();
    return storage.poll();
  };
  for (const ChangedHash& one : hashes) {
    for (uint64_t count = additions_of(one); count > 0; --count) {
      batch.push_back(one.first);
      if (batch.size() == kChangesPerPoll) {
        CUCKOO_TRY(add_batch());
      }
    }
  }
  return add_batch();
}

}  // namespace

// --- marks ---------------------------------------------------------------------------------------

bool LoggedFilter::keeps_marks() const noexcept {
  return options_.format > 1 && options_.generations == 1 && !traits_of(options_.spec.kind).pairs;
}

FilterMark LoggedFilter::own_mark() const noexcept {
  FilterMark mark;
  mark.kind = options_.spec.kind;
  mark.width = options_.width;
  mark.unique = !options_.counts_copies() && multiset();
  mark.seed = options_.seed;
  mark.capacity = record_.capacity;
  mark.geometry = base().words();
  mark.epoch = record_.epoch;
  mark.position = tail_.position();
  mark.chain = tail_.chain();
  return mark;
}

// Of this epoch's log.
Result<std::optional<MarkedPlaces>> LoggedFilter::places() {
  std::vector<std::byte> bytes;
  CUCKOO_TRY(storage_.read_places(bytes));
  if (bytes.empty()) {
    return std::optional<MarkedPlaces>();
  }
  CUCKOO_ASSIGN_OR_RETURN(MarkedPlaces places, decode_places(bytes));
  if (places.epoch != record_.epoch) {
    return std::optional<MarkedPlaces>();
  }
  return std::optional(std::move(places));
}

Result<std::optional<FilterMark>> LoggedFilter::mark() {
  if (!keeps_marks()) {
    return std::optional<FilterMark>();
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<MarkedPlaces> known, places());
  if (known) {
    const MarkedPlace& last = known->places.back();
    if (last.position == tail_.position() && last.chain == tail_.chain() &&
        (keeps_hashes() || known->base_id == record_.base_id)) {
      return std::optional(known->last);
    }
  }
  return keeps_hashes() ? std::optional(own_mark()) : std::nullopt;
}

// Where hashes count once, whatever they count elsewhere.
bool LoggedFilter::follows(const FilterMark& mark) const noexcept {
  return keeps_marks() && (mark.unique || !multiset() || !options_.unique);
}

// What the filter holds is what the mark names. In another geometry that would not stay so: there
// a remove of what was never added takes another entry, or none.
Status LoggedFilter::take_mark(const FilterMark& mark) {
  if (!follows(mark) || mark.geometry != base().words() || mark.capacity != record_.capacity) {
    return {};
  }
  MarkedPlaces next;
  if (keeps_hashes()) {
    CUCKOO_ASSIGN_OR_RETURN(std::optional<MarkedPlaces> known, places());
    if (known) {
      next.places = std::move(known->places);
    }
  }
  if (next.places.size() >= MarkedPlaces::kMost) {
    next.places.erase(next.places.begin());
  }
  next.places.push_back({mark_id(mark), tail_.position(), tail_.chain()});
  next.last = mark;
  next.epoch = record_.epoch;
  next.base_id = record_.base_id;
  return storage_.write_places(encode_places(next));
}

Status LoggedFilter::check_places() {
  Result<std::optional<MarkedPlaces>> known = places();
  if (!known.ok() || !known.value()) {
    return known.take_status();
  }
  return known.value()->places.back().position <= tail_.position()
             ? Status()
             : corrupt("marked places behind the end of the log");
}

// --- what changed --------------------------------------------------------------------------------

// The last folded row that begins at that entry or before it.
Result<int64_t> LoggedFilter::row_of(uint64_t position) {
  auto first = static_cast<int64_t>(record_.first_row);
  auto last = static_cast<int64_t>(record_.fold_row) - 1;
  while (first < last) {
    const int64_t middle = first + (last - first + 1) / 2;
    std::optional<uint64_t> start;
    CUCKOO_TRY(storage_.read_log(middle, middle,
                                 [&](int64_t id, std::span<const std::byte> bytes) -> Status {
                                   Result<LogRow> row = parse_log_row(bytes, options_.width);
                                   if (!row.ok()) {
                                     return in_row("log", id, row.take_status());
                                   }
                                   start = row.value().header.position;
                                   return {};
                                 }));
    if (!start) {
      return in_row("log", middle, corrupt("is missing or does not follow"));
    }
    (*start <= position ? first : last) = *start <= position ? middle : middle - 1;
  }
  return first;
}

// All entries behind that one, in log order; nothing when the log does not go back to it, or had
// another chain value there. A compacted row can't be cut: the log goes back to its last one's end.
Result<std::optional<LoggedFilter::Entries>> LoggedFilter::entries_behind(uint64_t position,
                                                                          uint64_t chain) {
  if (position > tail_.position() ||
      position < record_.start_position + record_.compacted_entries) {
    return std::optional<Entries>();
  }
  auto first = static_cast<int64_t>(record_.fold_row);
  if (position < record_.fold_position) {
    CUCKOO_ASSIGN_OR_RETURN(first, row_of(position));
  }
  CUCKOO_ASSIGN_OR_RETURN(const LogTail::Rows rows, tail_.rows_from(storage_, first));
  Entries entries;
  bool found = false;
  for (const auto& [id, bytes] : rows) {
    Result<LogRow> parsed = parse_log_row(bytes, options_.width);
    if (!parsed.ok()) {
      return in_row("log", id, parsed.take_status());
    }
    const LogRow& row = parsed.value();
    const uint64_t next = position + entries.size();
    if (row.header.position + row.header.entries <= next) {
      continue;  // before it
    }
    if (row.header.compacted() || row.header.position > next ||
        (found && row.header.position != next)) {
      return in_row("log", id, corrupt("is missing or does not follow"));
    }
    const size_t known = next - row.header.position;
    if (log_chain(row, known) != chain) {
      if (found) {
        return in_row("log", id, corrupt("is missing or does not follow"));
      }
      return std::optional<Entries>();
    }
    found = true;
    for (size_t i = known; i < row.header.entries; ++i) {
      entries.push_back(raw_entry(row, i, options_.width));
    }
    chain = log_chain(row, row.header.entries);
  }
  if (chain != tail_.chain() || position + entries.size() != tail_.position()) {
    if (!found) {
      return std::optional<Entries>();
    }
    return corrupt("log that ends at another entry than " + std::to_string(tail_.position()));
  }
  return std::optional(std::move(entries));
}

Result<FilterChanges> LoggedFilter::changes_since(const FilterMark& from) {
  CUCKOO_TRY(expect_hashes());
  FilterChanges changes;
  changes.from = from;
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (!now) {
    return invalid("keeps no marks");
  }
  changes.to = *now;
  changes.items = items();
  changes.key_types = static_cast<uint8_t>(record_.key_types);
  // Its own mark, or one that its log knows a place of.
  std::optional<Entries> entries;
  FilterMark own = own_mark();
  own.position = from.position;
  own.chain = from.chain;
  if (own == from) {
    CUCKOO_ASSIGN_OR_RETURN(entries, entries_behind(from.position, from.chain));
  }
  if (!entries) {
    CUCKOO_ASSIGN_OR_RETURN(const std::optional<MarkedPlaces> known, places());
    if (const MarkedPlace* place = known ? known->find(from) : nullptr; place != nullptr) {
      CUCKOO_ASSIGN_OR_RETURN(entries, entries_behind(place->position, place->chain));
    }
  }
  if (!entries) {
    return invalid("its log does not go back to mark " + mark_text(from) +
                   ": of another filter, or made before this one grew, was rebuilt or cleared;"
                   " ship the image instead");
  }
  changes.hashes = net_changes(std::move(*entries), options_.width, multiset());
  return changes;
}

// --- becoming what another one is ----------------------------------------------------------------

Result<bool> LoggedFilter::apply(const FilterChanges& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> now, mark());
  if (now == changes.to) {
    return false;
  }
  if (now != changes.from) {
    return invalid("the changes lead from mark " + mark_text(changes.from) + " to mark " +
                   mark_text(changes.to) + ", and it has " + text_of(now) +
                   "; ask for the changes since its mark, or ship the image");
  }
  if (!follows(changes.to)) {
    return invalid("unique = on follows only what is unique, too");
  }
  const FilterMark& from = changes.from;
  if (from.kind != options_.spec.kind || from.width != options_.width ||
      from.seed != options_.seed) {
    return corrupt("marked places of another filter");
  }
  const uint64_t most = items() + changes.hashes.size();
  if (!multiset() && (changes.items < items() || changes.items > most)) {
    return invalid("the changes leave " + std::to_string(changes.items) + " items, expected " +
                   std::to_string(items()) + " to " + std::to_string(most));
  }
  CUCKOO_TRY(!keeps_hashes() ? fold_changes(changes)
             : multiset()    ? log_changes(changes)
                             : log_additions(changes));
  CUCKOO_TRY(poison_.writing([&] {
    settle();
    note_key_types(changes.key_types);
    return take_mark(changes.to);
  }));
  return true;
}

// Removes go first, so that what leaves makes room for what comes. One that finds nothing then was
// of a key that was never added, but shared its cells with one that is added here: it has its turn
// when that is in the pages. In the geometry of the marks nothing is left then.
Status LoggedFilter::log_changes(const FilterChanges& changes) {
  const uint64_t added = sum_of(changes.hashes, additions_of);
  const uint64_t removed = std::min(sum_of(changes.hashes, removals_of), items());
  if (items() - removed + added > item_limit_) {
    return full_error();
  }
  CUCKOO_TRY(pages_.load_all(record_));
  const auto remove = [this](uint64_t hash) {
    const bool found = items() > 0 && contains(hash);
    if (found) {
      tail_.remove(hash, base());
    }
    return found;
  };
  const auto add = [this](std::span<const uint64_t> hashes) -> Status {
    if (tail_entries() >= kMaxBulkEntries) {
      CUCKOO_TRY(fold());
    }
    for (const uint64_t hash : hashes) {
      append_add(hash);
    }
    return {};
  };
  return poison_.changing([&]() -> Status {
    dirty_ = true;
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<ChangedHash> refused,
                            remove_found(changes.hashes, storage_, remove));
    CUCKOO_TRY(add_in_batches(changes.hashes, storage_, add));
    if (!refused.empty()) {
      CUCKOO_TRY(fold());
      CUCKOO_TRY(pages_.load_all(record_));
      CUCKOO_TRY(remove_found(refused, storage_, remove).take_status());
    }
    return work_due() ? work() : Status();
  });
}

// To a set. Which hashes were new there is not said, how many is: any will do.
Status LoggedFilter::log_additions(const FilterChanges& changes) {
  if (changes.items > item_limit_) {
    return full_error();
  }
  const auto is_fresh = [this](const ChangedHash& one) { return tail_.net(one.first) <= 0; };
  if (std::count_if(changes.hashes.begin(), changes.hashes.end(), is_fresh) <
      static_cast<int64_t>(changes.items - items())) {
    return invalid("the changes leave more items than they add hashes");
  }
  return poison_.changing([&]() -> Status {
    dirty_ = true;
    uint64_t done = 0;
    for (const ChangedHash& one : changes.hashes) {
      if (tail_entries() >= kMaxBulkSetEntries) {
        CUCKOO_TRY(fold());
      }
      if (is_fresh(one)) {
        tail_.add_to_set(one.first, items() < changes.items);
      }
      if (++done % kChangesPerPoll == 0) {
        CUCKOO_TRY(storage_.poll());
      }
    }
    return work_due() ? work() : Status();
  });
}

// Into the pages at once: nobody could read a log of them. As log_changes(), in cells.
Status LoggedFilter::fold_changes(const FilterChanges& changes) {
  const std::vector<std::byte> bytes = encode_changes(changes);
  const uint64_t id = XXH3_64bits(bytes.data(), bytes.size());
  return change_pages([&](Filter& base) -> Result<ChangedPages> {
    ChangedPages changed{items(), 0, id};
    const auto remove = [&](uint64_t hash) {
      const bool found = changed.items > 0 && base.remove(hash);
      if (found) {
        changed.digest -= base.digest_of(hash);
        --changed.items;
      }
      return found;
    };
    std::vector<ChangedHash> refused;
    if (multiset()) {
      CUCKOO_ASSIGN_OR_RETURN(refused, remove_found(changes.hashes, storage_, remove));
    }
    const auto too_full = [&](uint64_t capacity) {  // copies in the overflow table are free
      return slot_per_item() ? base.outgrown(changed.items, capacity)
                             : base.overfull(changed.items, capacity);
    };
    const uint64_t most = record_.capacity + sum_of(refused, removals_of);
    bool added = false;
    CUCKOO_TRY(
        add_in_batches(changes.hashes, storage_, [&](std::span<const uint64_t> hashes) -> Status {
          base.insert_batch(hashes, changed.digest);
          changed.items += hashes.size();
          added = added || !hashes.empty();
          // Not after a long search for places that there aren't.
          return slot_per_item() && too_full(most)
                     ? more_than_fit(changed.items - std::min(changed.items, items()))
                     : Status();
        }));
    CUCKOO_TRY(remove_found(refused, storage_, remove).take_status());
    changed.items = multiset() ? changed.items : changes.items;
    if (added && too_full(record_.capacity)) {
      return more_than_fit(changed.items - std::min(changed.items, items()));
    }
    return changed;
  });
}

}  // namespace cuckoo
