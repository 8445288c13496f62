#include "core/stored/logged_filter.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include "core/filter/sizing.hpp"

namespace cuckoo {
namespace {

// T: long enough that a fold touches each page for many entries, short enough for a tail that is
// read whole by a fresh connection and rebuilt in memory.
uint64_t threshold_for(uint64_t pages) noexcept {
  constexpr uint64_t kFewestEntries = kPageBytes / 8;  // a page of 8 bytes each
  constexpr uint64_t kManyPages = 32768;
  constexpr uint64_t kMostEntries = uint64_t{1} << 30;  // net counts are 32-bit
  const uint64_t entries = pages <= kManyPages ? std::max(kFewestEntries, 32 * pages)
                                               : std::max<uint64_t>(uint64_t{1} << 20, 16 * pages);
  return std::min(entries, kMostEntries);
}

}  // namespace

LoggedFilter::LoggedFilter(const FilterOptions& options, FilterStorage& storage)
    : options_(options), storage_(storage), pages_(storage), tail_(options) {}

// --- limits --------------------------------------------------------------------------------------

// Without hashes a filter with a slot per item is full at its capacity; when another is, its cells
// say (make_room).
uint64_t LoggedFilter::item_limit() const noexcept {
  if (keeps_hashes()) {
    return options_.most_items_by_hashes();
  }
  return slot_per_item() ? record_.capacity : kMaxCapacity;
}

void LoggedFilter::set_limits() noexcept {
  item_limit_ = item_limit();
  plain_adds_ = multiset() && (slot_per_item() || keeps_hashes());
  fold_threshold_ = threshold_for(base().pages().page_count());
  set_steps();
  set_next_work();
}

Status LoggedFilter::full_error() const {
  const std::string held = std::to_string(items()) + " items, ";
  if (keeps_hashes()) {
    return Error{ErrorCode::kFull, held + "as many as hashes of " +
                                       std::to_string(static_cast<int>(options_.width)) +
                                       " bits can tell apart at this rate"};
  }
  const std::string capacity = "its capacity of " + std::to_string(record_.capacity);
  return Error{ErrorCode::kFull,
               options_.growth
                   ? held + capacity + " is reached, and it came without hashes: it can't grow"
                   : held + capacity + " is reached, and growth is off"};
}

// --- asking and changing ---------------------------------------------------------------------

uint64_t LoggedFilter::count(uint64_t hash) {
  if (!multiset()) {
    return contains(hash) ? 1 : 0;
  }
  if (!ready_) {
    get_ready();
  }
  const int32_t net = tail_.net(hash);
  const uint64_t own = net > 0 ? static_cast<uint64_t>(net) : 0;
  return own + base().count(hash, tail_.pending_removes());
}

Result<bool> LoggedFilter::load_and_probe(uint64_t hash) {
  Answer answer = probe(hash);
  if (answer == Answer::kNotLoaded) {
    CUCKOO_TRY(load(hash));
    answer = probe(hash);
  }
  return answer == Answer::kPresent;
}

// For a filter without hashes whose keys share cells, before an add of what is absent. What the
// tail stands for is an estimate, so it is folded before the answer is "full".
Status LoggedFilter::make_room() {
  const uint64_t unfolded = items() - std::min(items(), record_.fold_items);
  if (!base().full(items(), unfolded, record_.capacity)) {
    return {};
  }
  CUCKOO_TRY(fold());
  return base().full(items(), 0, record_.capacity) ? full_error() : Status();
}

Status LoggedFilter::insert(uint64_t hash) {
  if (!multiset()) {
    return insert_into_set(hash);
  }
  CUCKOO_TRY(insert_into_multiset(hash));
  settle();
  return {};
}

Status LoggedFilter::insert_into_multiset(uint64_t hash) {
  if (items() >= item_limit_) {
    return full_error();
  }
  if (work_due()) {
    CUCKOO_TRY(work());
  }
  if (!plain_adds_) {
    CUCKOO_TRY(load(hash));
    if (!contains(hash)) {
      CUCKOO_TRY(make_room());
    }
  }
  append_add(hash);
  return {};
}

Status LoggedFilter::insert_into_set(uint64_t hash) {
  if (work_due()) {
    CUCKOO_TRY(work());
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (!present) {
    if (items() >= item_limit_) {
      return full_error();
    }
    if (!keeps_hashes()) {
      CUCKOO_TRY(make_room());
    }
  }
  add_to_set(hash, present);
  return {};
}

// A hash that only looks present is logged all the same: the next rebuild would lose it.
void LoggedFilter::add_to_set(uint64_t hash, bool present) {
  if (!present || (keeps_hashes() && tail_.net(hash) <= 0)) {
    tail_.add_to_set(hash, !present);
    dirty_ = true;
  }
}

// --- adds that wait ------------------------------------------------------------------------------

// I8, for one more.
bool LoggedFilter::may_wait() const noexcept {
  const uint64_t waiting = tail_.waiting().size();
  if (!pages_.all_loaded() || tail_entries() + waiting >= next_work_ ||
      items() + waiting >= item_limit_) {
    return false;
  }
  const uint64_t unfolded = items() - std::min(items(), record_.fold_items);
  return keeps_hashes() || !base().full(items() + waiting, unfolded + waiting, record_.capacity);
}

Status LoggedFilter::insert_soon(uint64_t hash) {
  constexpr size_t kMostWaiting = 64;
  if (multiset()) {
    return insert_into_multiset(hash);
  }
  if (tail_.waiting().size() == kMostWaiting) {
    settle();
  }
  if (!may_wait()) {
    settle();
    return insert_into_set(hash);
  }
  ready_ = false;
  tail_.wait(hash);
  static_cast<const BloomFilter&>(base()).prefetch(hash);
  return {};
}

void LoggedFilter::settle() {
  store_bulk();
  tail_.put_rows();
  if (!waits()) {
    return;
  }
  for (const uint64_t hash : tail_.waiting()) {
    const Answer answer = probe_ready(hash);
    assert(answer != Answer::kNotLoaded);
    add_to_set(hash, answer == Answer::kPresent);
  }
  tail_.forget_waiting();
}

void LoggedFilter::get_ready() {
  settle();
  if (multiset()) {
    tail_.index(base());
  }
  ready_ = true;
}

Result<bool> LoggedFilter::remove(uint64_t hash) {
  CUCKOO_TRY(load(hash));
  // Removes of what was never added can use up the items of a counting filter before its cells.
  if (items() == 0 || !contains(hash)) {
    return false;
  }
  if (work_due()) {
    CUCKOO_TRY(work());
    CUCKOO_TRY(load(hash));
    if (!contains(hash)) {
      return false;
    }
  }
  tail_.remove(hash, base());
  dirty_ = true;
  return true;
}

Result<bool> LoggedFilter::insert_new(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (present) {
    return false;
  }
  CUCKOO_TRY(insert(hash));
  return true;
}

Result<LoggedFilter::Replaced> LoggedFilter::replace(uint64_t from, uint64_t to,
                                                     IfPresent if_present) {
  CUCKOO_TRY(load(to));
  CUCKOO_ASSIGN_OR_RETURN(const bool removed, remove(from));
  if (!removed) {
    return Replaced::kNoSuch;
  }
  if (if_present != IfPresent::kAdd && contains(to)) {
    if (if_present == IfPresent::kRefuse) {
      put_back(from);
      return Replaced::kRefused;
    }
    return Replaced::kDone;
  }
  Status status = insert(to);
  if (!status.ok() && !poisoned()) {
    put_back(from);
  }
  CUCKOO_TRY(std::move(status));
  return Replaced::kDone;
}

// Where it was, there is room.
void LoggedFilter::put_back(uint64_t hash) {
  append_add(hash);
  settle();
}

Status LoggedFilter::insert_unlogged(std::span<const uint64_t> words,
                                     const std::function<void(Filter&)>& insert) {
  if (base().full(items(), 0, record_.capacity)) {
    return full_error();
  }
  insert(pages_.filter());
  base_changed_ = dirty_ = true;
  ++record_.fold_items;
  for (const uint64_t word : words) {
    record_.base_id = log_chain_restart(record_.base_id, word);
  }
  tail_.start(record_);
  return {};
}

// --- writing -------------------------------------------------------------------------------------

// Without hashes nobody reads the log again once it is folded.
Status LoggedFilter::forget_folded_log(FilterStorage& storage, FilterRecord& record) const {
  if (keeps_hashes() || record.first_row >= record.fold_row) {
    return {};
  }
  CUCKOO_TRY(storage.erase_log(static_cast<int64_t>(record.first_row),
                               static_cast<int64_t>(record.fold_row) - 1));
  record.first_row = record.fold_row;
  record.start_chain = record.fold_chain;
  record.start_position = record.fold_position;
  record.start_items = record.fold_items;
  record.compacted_entries = record.dead = 0;
  return {};
}

// All that is pending; the record, a copy or its own, says what is stored then.
Status LoggedFilter::write_to(FilterStorage& storage, FilterRecord& record) const {
  if (lags_ || waits() || !tail_.has_rows()) {  // I9
    return invalid("a filter that is written before all that is pending is made");
  }
  CUCKOO_TRY(forget_folded_log(storage, record));
  CUCKOO_TRY(tail_.write_to(storage));
  CUCKOO_TRY(pages_.write_to(storage, record));
  record.end_position = tail_.position();
  record.end_chain = tail_.chain();
  record.end_items = items();
  record.end_row = tail_.end_row();
  return storage.write_record(encode_record(record));
}

Status LoggedFilter::write_pending_to(FilterStorage& storage) const {
  CUCKOO_TRY(poison_.error());
  FilterRecord record = record_;
  return write_to(storage, record);
}

Status LoggedFilter::flush() {
  CUCKOO_TRY(poison_.error());
  settle();
  close_bulk();
  if (!dirty_) {
    return {};
  }
  CUCKOO_TRY(poison_.writing([&] { return write_to(storage_, record_); }));
  tail_.note_written();
  pages_.note_written();
  dirty_ = false;
  return {};
}

// --- figures -------------------------------------------------------------------------------------

double LoggedFilter::target_rate() const noexcept {
  const FilterSpec& spec = options_.spec;
  return spec.has_own_size() ? base().rate(static_cast<double>(record_.capacity)) : spec.rate;
}

double LoggedFilter::rate_now() const noexcept { return base().rate_now(); }

double LoggedFilter::load_factor() const noexcept { return base().load_factor(); }

size_t LoggedFilter::memory_bytes() const noexcept {
  return base().pages().memory_bytes() + tail_.memory_bytes() +
         (next_ == nullptr ? 0 : next_->memory_bytes()) +
         (bulk_ == nullptr ? 0 : bulk_->memory_bytes());
}

}  // namespace cuckoo
