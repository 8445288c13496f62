#include "ext/flash/cursor.hpp"

#include <algorithm>

namespace cuckoo {
namespace {

bool is_before(const FlashStore::Listed& listed, uint64_t lsn) noexcept {
  return listed.entry.lsn < lsn;
}

}  // namespace

FlashTable::Cursor::Cursor(FlashTable& table)
    : table_(table), live_(table.live()), current_(live_, table.columns(), table.connection()) {
  live_.follow();
}

void FlashTable::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  table_.rows().note_scan();
  plan_ = plan;
  row_ = rows_ = 0;
  current_.forget();
  leave_unlisted();
  listed_ = false;
  reading_.reset();
  damage_ = {};
  switch (plan & kPlanMask) {
    case kProbePlan:
      return probe(values[0]);
    case kListPlan:
      return probe_list(values[0]);
    case kSeqPlan:
      return seek(values[0]);
    default:
      break;
  }
  rows_ = live_.flash().size();
  first_unseen_lsn_ = live_.flash().next_lsn();
  table_.add_unlisted(*this);
  if ((plan & (kNeedsValue | kNeedsPlace)) != 0) {
    start_reading();
    read_row();
  }
}

void FlashTable::Cursor::probe(sqlite3_value* value) {
  EqualKeys& keys = table_.equal_keys();
  const std::optional<KeyView> key = keys.only(value);
  if (!key) {
    forget_listed();
    keys.add_rows(value, all_);
    return give_added();
  }
  if (key->type != SQLITE_NULL) {
    const bool only_value = (plan_ & (kNeedsValue | kNeedsPlace)) == kNeedsValue;
    rows_ = current_.find(*key, only_value) ? 1 : 0;
  }
}

// Gathers the rows for all values first, so that a row that equals two of them is given once.
void FlashTable::Cursor::probe_list(sqlite3_value* list) {
  forget_listed();
  sqlite3_value* value = nullptr;
  int code = sqlite3_vtab_in_first(list, &value);
  for (; code == SQLITE_OK && value != nullptr; code = sqlite3_vtab_in_next(list, &value)) {
    table_.equal_keys().add_rows(value, all_);
  }
  if (code != SQLITE_OK && code != SQLITE_DONE) {
    throw SqlError(code, table_.name() + ": the values of an IN can't be read");
  }
  give_added();
}

void FlashTable::Cursor::give_added() {
  const auto later = [](const FlashStore::Listed& a, const FlashStore::Listed& b) {
    return a.entry.lsn < b.entry.lsn;
  };
  const auto same = [](const FlashStore::Listed& a, const FlashStore::Listed& b) {
    return a.entry.lsn == b.entry.lsn;
  };
  std::sort(all_.begin(), all_.end(), later);
  all_.erase(std::unique(all_.begin(), all_.end(), same), all_.end());
  listed_ = true;
  rows_ = all_.size();
  find_row();
}

// Finds the row with that seq. Tools bind the number as a text, as in "_rowid_" = '5'. So this
// converts it.
void FlashTable::Cursor::seek(sqlite3_value* value) {
  std::string text;
  const KeyView seq = key_of(value, Affinity::kInteger, text);
  if (seq.type != SQLITE_INTEGER || seq.integer <= 0) {
    return;
  }
  list_all();
  const auto at =
      std::lower_bound(all_.begin(), all_.end(), static_cast<uint64_t>(seq.integer), is_before);
  if (at == all_.end() || at->entry.lsn != static_cast<uint64_t>(seq.integer)) {
    return live_.expect(damage_);  // it may be the row of a record that can't be read
  }
  row_ = static_cast<uint64_t>(at - all_.begin());
  Result<bool> read = current_.read(*at, needs_value());
  live_.expect(read.take_status());
  rows_ = read.value() ? row_ + 1 : row_;
}

// Lists all rows, reading headers only. A join or an IN list comes here for each number, but reads
// the headers once.
void FlashTable::Cursor::list_all() {
  if (all_state_ == live_.flash().state()) {
    return;
  }
  all_state_.reset();
  damage_ = {};
  Result<std::vector<FlashStore::Listed>> listed = live_.flash().entries(&damage_);
  live_.expect(listed.take_status());
  all_ = std::move(listed.value());
  all_state_ = live_.flash().state();
}

void FlashTable::Cursor::list() {
  list_all();
  if (!all_.empty() && all_.back().entry.lsn >= first_unseen_lsn_) {
    std::erase_if(
        all_, [this](const FlashStore::Listed& one) { return one.entry.lsn >= first_unseen_lsn_; });
    all_state_.reset();
  }
  if (reading_) {
    const FlashEntry& given = current_.entry();
    auto at = std::lower_bound(all_.begin(), all_.end(), given.lsn, is_before);
    if (at == all_.end() || at->entry.lsn != given.lsn) {  // a roll-back removed it
      at = all_.insert(at, {given, 0});
      all_state_.reset();
    }
    row_ = static_cast<uint64_t>(at - all_.begin());
    reading_.reset();
  }
  rows_ = all_.size();
  listed_ = true;
  leave_unlisted();
}

// Skips the rows that were only counted so far.
void FlashTable::Cursor::start_reading() {
  reading_.emplace();
  reading_state_ = live_.flash().state();
  for (uint64_t i = 0; i < row_; ++i) {
    live_.expect(live_.flash().next(*reading_).take_status());
  }
}

// Reads the next row of reading_. After all rows that can be read comes the error of those that
// can't.
void FlashTable::Cursor::read_row() {
  while (true) {
    Result<bool> more = live_.flash().next(*reading_);
    live_.expect(more.take_status());
    if (!more.value() || reading_->record().header.lsn >= first_unseen_lsn_) {
      rows_ = row_;
      reading_.reset();
      leave_unlisted();
      return live_.expect(damage_);
    }
    rows_ = row_ + 1;
    Status taken = current_.take(*reading_, needs_value());
    if (taken.ok()) [[likely]] {
      return;
    }
    note_damage(std::move(taken));
  }
}

// Throws, unless the status says that a row is damaged.
void FlashTable::Cursor::note_damage(Status status) {
  if (status.error().code != ErrorCode::kCorrupt) {
    live_.expect(status);
  }
  damage_ = std::move(status);
}

// Skips rows that were removed or replaced since the scan began.
void FlashTable::Cursor::find_row() {
  for (; row_ < rows_; ++row_) {
    Result<bool> read = current_.read(all_[row_], needs_value());
    if (!read.ok() && (plan_ & kPlanMask) == kScanPlan) {
      note_damage(read.take_status());
      continue;
    }
    live_.expect(read.take_status());
    if (read.value()) {
      break;
    }
  }
  if (row_ == rows_ && (plan_ & kPlanMask) == kScanPlan) {
    live_.expect(damage_);  // after all rows that can be read
  }
}

void FlashTable::Cursor::next() {
  if ((plan_ & kPlanMask) != kScanPlan && !listed_) {
    ++row_;
    return;
  }
  if ((reading_ || listed_) && !live_.ready()) [[unlikely]] {
    live_.follow();
  }
  if (reading_ && live_.flash().state() != reading_state_) [[unlikely]] {
    list();
  }
  ++row_;
  current_.forget();
  if (listed_) {
    find_row();
  } else if (reading_) {
    read_row();
  }
}

void FlashTable::Cursor::column(sqlite3_context* context, int column) {
  if (sqlite3_vtab_nochange(context) != 0) {
    return;
  }
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  if (!current_.known()) [[unlikely]] {
    // The scan seemed to be a count. But a DELETE of all rows asks for the keys, too.
    if (listed_) {
      if (row_ < rows_) {
        live_.expect(current_.read(all_[row_], false).take_status());
      }
    } else if (!reading_) {
      start_reading();
      read_row();
    }
  }
  current_.result(context, column);
}

}  // namespace cuckoo
