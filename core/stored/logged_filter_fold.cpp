// LoggedFilter's folds: what is in the tail goes into the pages, or the filter is made anew.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/stored/logged_filter.hpp"

namespace cuckoo {

// The log is longer than after the last compaction by half and 4096, and more than half of it dead.
bool LoggedFilter::compaction_due(uint64_t length, uint64_t dead) const noexcept {
  return keeps_hashes() && dead > length / 2 &&
         length >= record_.compacted_entries + record_.compacted_entries / 2 + 4096;
}

// The tail's own removes count: they are folded by now, or will be by the rebuild.
bool LoggedFilter::must_compact() const noexcept {
  return compaction_due(log_entries(), record_.dead + 2 * tail_.removes());
}

bool LoggedFilter::outgrown() const noexcept {
  return keeps_hashes() && base().outgrown(items(), record_.capacity);
}

Status LoggedFilter::fold() {
  CUCKOO_TRY(fold_soon());
  store_bulk();
  return {};
}

// The pages may lag behind afterwards.
Status LoggedFilter::fold_soon() {
  if (!multiset()) {
    settle();
  }
  if (tail_entries() == 0) {
    return {};
  }
  CUCKOO_TRY(pages_.load_all(record_));
  if (folds_in_bulk()) {
    return fold_in_bulk();
  }
  close_bulk();
  NetEntries entries = tail_.net_entries(base());
  const bool must_grow = keeps_hashes() && base().would_outgrow(entries.removes.size(),
                                                                entries.adds, record_.capacity);
  if (must_grow || (must_compact() && !compaction_waits())) {
    if (entries.adds.size() == tail_entries()) {  // a remove would be missing, and what it removes
      return replay_into_epoch(record_.capacity, false, std::move(entries.adds));
    }
    return replay_into_epoch(record_.capacity, false);
  }
  CUCKOO_TRY(poison_.writing([&] { return fold_into_pages(entries); }));
  if (!outgrown()) {  // what would_outgrow() could not tell
    return {};
  }
  Status status = replay_into_epoch(record_.capacity, !slot_per_item());
  if (!status.ok()) {
    poison_.poison();  // what is folded must not stay so
  }
  return status;
}

Status LoggedFilter::fold_into_pages(const NetEntries& entries) {
  CUCKOO_TRY(begin_fold());
  CUCKOO_ASSIGN_OR_RETURN(const NetEntries::Applied applied, entries.apply_to(pages_.filter()));
  finish_fold(applied);
  return {};
}

Status LoggedFilter::begin_fold() {
  if (makes_next_ || erases_old_) {
    CUCKOO_TRY(erase_other_epochs());  // the next one was made of what is folded now
  }
  tail_.put_rows();
  return keeps_hashes() ? tail_.write(storage_) : Status();
}

void LoggedFilter::finish_fold(const NetEntries::Applied& applied) {
  record_.cells_digest += applied.digest;
  record_.dead += 2 * tail_.removes() + applied.present;
  record_.fold_position = tail_.position();
  record_.fold_chain = tail_.chain();
  record_.fold_items = items();
  record_.fold_row = tail_.end_row();  // the tail always starts with a row of its own
  record_.base_id = log_chain_restart(record_.base_id, record_.fold_chain);
  tail_.start(record_);
  note_fold();
  set_limits();
  dirty_ = true;
}

void LoggedFilter::note_fold() noexcept {
  folded_in_transaction_ = true;
  base_changed_ = true;
  const uint64_t most = multiset() ? kMaxBulkEntries : kMaxBulkSetEntries;
  uint64_t wanted = bulk_ == nullptr ? 3 * items() : 0;
  const uint64_t row = tail_.row_entries();  // whole rows, as a fold begins a new one
  if (const uint64_t bulk = base().fewest_bulk_inserts(); bulk != Filter::kNoBulk) {
    wanted = std::max(wanted, (bulk + row - 1) / row * row);
  }
  bulk_threshold_ = std::max(fold_threshold_, std::min(wanted, most) / row * row);
  set_next_work();
}

// --- bulk folds ----------------------------------------------------------------------------------
//
// Between two flushes, whatever is asked meanwhile: what is asked must not decide what is in the
// pages. So a read that comes in between gets pages that are up to date, but ends nothing.

// Adds alone, for which there is room for sure.
bool LoggedFilter::folds_in_bulk() {
  const uint64_t adds = tail_entries();
  return folded_in_transaction_ && tail_.removes() == 0 && !must_compact() &&
         (bulk_ != nullptr || adds >= base().fewest_bulk_inserts()) &&
         !(keeps_hashes() && base().could_outgrow(items(), adds, record_.capacity));
}

// In log order, which no look-up changes.
Status LoggedFilter::fold_in_bulk() {
  std::vector<uint64_t> read;
  if (!tail_.all_waits()) {
    tail_.put_rows();
    CUCKOO_ASSIGN_OR_RETURN(read, tail_.entries_in_order(storage_));
  }
  return poison_.writing([&]() -> Status {
    CUCKOO_TRY(begin_fold());
    if (bulk_ == nullptr) {
      bulk_ = pages_.filter().bulk_inserter();
    }
    NetEntries::Applied applied;
    ready_ = false;
    lags_ = true;
    applied.present = bulk_->insert(
        tail_.all_waits() ? tail_.waiting() : std::span<const uint64_t>(read), &applied.digest);
    finish_fold(applied);
    tail_.put_rows_soon();  // they will be written
    return {};
  });
}

void LoggedFilter::store_bulk() {
  if (lags_) {
    bulk_->store();
    lags_ = false;
  }
}

void LoggedFilter::close_bulk() {
  store_bulk();
  bulk_.reset();
}

Status LoggedFilter::fold_rest() {
  if (!folded_in_transaction_) {
    return {};
  }
  CUCKOO_TRY(poison_.error());
  return fold();
}

}  // namespace cuckoo
