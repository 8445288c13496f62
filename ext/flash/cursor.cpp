// FlashTable::Cursor: a scan by seq, a look-up by key, a look-up by seq.
#include <algorithm>

#include "ext/flash/table.hpp"
#include "ext/sqlite/running.hpp"

namespace cuckoo {
namespace {

bool is_whole(const KeyView& number) noexcept {
  return number.type == SQLITE_INTEGER || is_whole_real(number);
}

// A whole number as SQLite writes an integer: a view of `buffer`.
KeyView integer_text(const KeyView& number, std::string& buffer) {
  buffer = std::to_string(number.type == SQLITE_INTEGER ? number.integer
                                                        : static_cast<int64_t>(number.real));
  return {SQLITE_TEXT, 0, 0, buffer.data(), static_cast<int>(buffer.size())};
}

bool is_before(const FlashStore::Listed& listed, uint64_t lsn) noexcept {
  return listed.entry.lsn < lsn;
}

}  // namespace

FlashTable::Cursor::Cursor(FlashTable& table) : table_(table), live_(table.live()) {
  live_.follow();
}

void FlashTable::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  table_.note_scan();
  plan_ = plan;
  row_ = rows_ = 0;
  has_key_ = has_value_ = has_place_ = false;
  leave_unlisted();
  listed_ = false;
  reading_.reset();
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

// A number in a column of texts or of anything may equal several keys (table.hpp, I1).
void FlashTable::Cursor::probe(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  if (table_.has_number_keys() || (type != SQLITE_INTEGER && type != SQLITE_FLOAT)) {
    return probe_exactly(value);
  }
  const uint64_t notes = live_.flash().stats().notes;
  if (is_ambiguous(notes)) {
    forget_listed();
    add_equals(value);
    return give_added();
  }
  const KeyView key = key_of(value, Affinity::kNone);
  if ((notes & kHeldNumber) != 0) {
    find_key(key);
  } else if ((notes & kHeldPlainInteger) != 0 && is_whole(key)) {
    find_key(integer_text(key, text_));
  }
}

// The list's values are gathered first: a row that equals two of them is given once.
void FlashTable::Cursor::probe_list(sqlite3_value* list) {
  forget_listed();
  sqlite3_value* value = nullptr;
  int code = sqlite3_vtab_in_first(list, &value);
  for (; code == SQLITE_OK && value != nullptr; code = sqlite3_vtab_in_next(list, &value)) {
    add_equals(value);
  }
  if (code != SQLITE_OK && code != SQLITE_DONE) {
    throw SqlError(code, table_.name() + ": the values of an IN can't be read");
  }
  give_added();
}

void FlashTable::Cursor::add_row(const KeyView& key) {
  encode_flash_key(key, live_.options().digest, key_);
  const HashedKey hashed = live_.flash().hashed(key_);
  Result<std::optional<FlashEntry>> found = live_.flash().find(hashed);
  live_.expect(found.take_status());
  if (found.value()) {
    all_.push_back({*found.value(), hashed.hash});
  }
}

// Every row whose key may equal the value, whatever the value's affinity.
void FlashTable::Cursor::add_equals(sqlite3_value* value) {
  const KeyView key = key_of(value, Affinity::kNone);
  if (key.type != SQLITE_INTEGER && key.type != SQLITE_FLOAT) {
    if (key.type != SQLITE_NULL) {
      add_row(flash_view_of(value, table_.key_affinity(), text_));
    }
    return;
  }
  const uint64_t notes = live_.flash().stats().notes;
  if ((notes & kHeldNumber) != 0) {
    add_row(key);
  }
  if ((notes & kHeldPlainInteger) != 0 && is_whole(key)) {
    add_row(integer_text(key, text_));
  }
  if ((notes & kHeldNumberText) == 0) {
    return;
  }
  if (table_.key_affinity() == Affinity::kText) {
    add_row(key_of(value, Affinity::kText));  // as SQLite writes it
  }
  const double number = key.type == SQLITE_INTEGER ? static_cast<double>(key.integer) : key.real;
  live_.expect(table_.number_texts().find(
      live_.flash(), number, [&](const FlashStore::Listed& row) { all_.push_back(row); }));
}

// Refuses a plan that was made before the table held several keys that equal one number: an UPDATE
// would stop at the first of them. SQLite then prepares the statement anew and runs it from its
// start. A query would give rows twice, and gives all of them anyway, so it is let through.
void FlashTable::Cursor::expect_plan_holds() const {
  if ((plan_ & kUnique) != 0 && all_.size() > 1 && runs_writing_statement(table_.db())) {
    throw SqlError(SQLITE_SCHEMA, table_.name() + ": one number equals several keys now");
  }
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
  expect_plan_holds();
  listed_ = true;
  rows_ = all_.size();
  find_row();
}

void FlashTable::Cursor::probe_exactly(sqlite3_value* value) {
  const KeyView key = flash_view_of(value, table_.key_affinity(), text_);
  if (key.type == SQLITE_NULL ||
      (key.type == SQLITE_FLOAT && sqlite3_value_numeric_type(value) == SQLITE_INTEGER &&
       whole_number(key.real) != sqlite3_value_int64(value))) {
    return;  // equal to no key, though it would be stored as one
  }
  find_key(key);
}

void FlashTable::Cursor::find_key(const KeyView& key) {
  encode_flash_key(key, live_.options().digest, key_);
  has_key_ = true;
  bool found = false;
  if ((plan_ & (kNeedsValue | kNeedsPlace)) == kNeedsValue) {
    Result<bool> result = live_.flash().get(key_, value_);
    live_.expect(result.take_status());
    found = has_value_ = result.value();
  } else {
    Result<std::optional<FlashEntry>> result = live_.flash().find(key_);
    live_.expect(result.take_status());
    found = has_place_ = result.value().has_value();
    entry_ = result.value().value_or(FlashEntry{});
  }
  rows_ = found ? 1 : 0;
}

// A tool binds the number as a text: "_rowid_" = '5'.
void FlashTable::Cursor::seek(sqlite3_value* value) {
  const KeyView seq = key_of(value, Affinity::kInteger);
  if (seq.type != SQLITE_INTEGER || seq.integer <= 0) {
    return;
  }
  list_all();
  const auto at =
      std::lower_bound(all_.begin(), all_.end(), static_cast<uint64_t>(seq.integer), is_before);
  if (at == all_.end() || at->entry.lsn != static_cast<uint64_t>(seq.integer)) {
    return;
  }
  row_ = static_cast<uint64_t>(at - all_.begin());
  rows_ = load_row((plan_ & kNeedsValue) != 0) ? row_ + 1 : row_;
}

// Headers only; a join or an IN list, which comes here for each number, reads them once.
void FlashTable::Cursor::list_all() {
  if (all_state_ == live_.flash().state()) {
    return;
  }
  all_state_.reset();
  Result<std::vector<FlashStore::Listed>> listed = live_.flash().entries();
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
    auto at = std::lower_bound(all_.begin(), all_.end(), entry_.lsn, is_before);
    if (at == all_.end() || at->entry.lsn != entry_.lsn) {  // a roll-back took it
      at = all_.insert(at, {entry_, 0});
      all_state_.reset();
    }
    row_ = static_cast<uint64_t>(at - all_.begin());
    reading_.reset();
  }
  rows_ = all_.size();
  listed_ = true;
  leave_unlisted();
}

// What was counted so far is passed over.
void FlashTable::Cursor::start_reading() {
  reading_.emplace();
  reading_state_ = live_.flash().state();
  for (uint64_t i = 0; i < row_; ++i) {
    live_.expect(live_.flash().next(*reading_).take_status());
  }
}

// The next row of reading_.
void FlashTable::Cursor::read_row() {
  Result<bool> more = live_.flash().next(*reading_);
  live_.expect(more.take_status());
  const FlashLoadedRecord& record = reading_->record();
  if (!more.value() || record.header.lsn >= first_unseen_lsn_) {
    rows_ = row_;
    reading_.reset();
    leave_unlisted();
    return;
  }
  rows_ = row_ + 1;
  entry_ = FlashStore::entry_at(*reading_);
  key_.assign(record.key.begin(), record.key.end());
  has_value_ = (plan_ & kNeedsValue) != 0;
  if (has_value_) {
    live_.expect(live_.flash().value_at(*reading_, value_));
  }
  has_key_ = has_place_ = true;
}

// Passes over rows that were removed or replaced since the scan began.
void FlashTable::Cursor::find_row() {
  while (row_ < rows_ && !load_row((plan_ & kNeedsValue) != 0)) {
    ++row_;
  }
}

bool FlashTable::Cursor::load_row(bool with_value) {
  FlashStore::Listed& listed = all_[row_];
  Result<bool> found =
      live_.flash().read(listed.entry, listed.hash, key_, with_value ? &value_ : nullptr);
  live_.expect(found.take_status());
  entry_ = listed.entry;
  has_key_ = has_place_ = found.value();
  has_value_ = found.value() && with_value;
  return found.value();
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
  has_key_ = has_value_ = has_place_ = false;
  if (listed_) {
    find_row();
  } else if (reading_) {
    read_row();
  }
}

// False: the row is gone since.
bool FlashTable::Cursor::load_value() {
  if (!has_value_ && has_key_) {
    Result<bool> found = live_.flash().get(key_, value_);
    live_.expect(found.take_status());
    has_value_ = found.value();
  }
  return has_value_;
}

void FlashTable::Cursor::find_place() {
  if (!has_place_ && has_key_) {
    Result<std::optional<FlashEntry>> found = live_.flash().find(key_);
    live_.expect(found.take_status());
    entry_ = found.value().value_or(FlashEntry{});
    has_place_ = found.value().has_value();
  }
}

bool FlashTable::Cursor::key_was_given_as_real() {
  if (has_value_) {
    return key_was_real(value_);
  }
  find_place();
  return has_place_ && key_was_real({&entry_.first_byte, 1});
}

void FlashTable::Cursor::result_key(sqlite3_context* context) {
  const bool was_real = table_.key_affinity() == Affinity::kReal ||
                        (table_.shows_reals(key_) && key_was_given_as_real());
  live_.expect(result_flash_key(context, key_, was_real, live_.options().digest));
}

void FlashTable::Cursor::result_digest(sqlite3_context* context) {
  if (const std::string text = table_.digest_text(value_); !text.empty()) {
    result_text(context, text);
  }
}

void FlashTable::Cursor::column(sqlite3_context* context, int column) {
  if (sqlite3_vtab_nochange(context) != 0) {
    return;
  }
  if (!live_.ready()) [[unlikely]] {
    live_.follow();  // a roll-back came between
  }
  if (!has_key_) [[unlikely]] {
    // A count, or so it seemed: DELETE of all rows asks for the keys all the same.
    if (listed_) {
      if (row_ < rows_) {
        load_row(false);
      }
    } else if (!reading_) {
      start_reading();
      read_row();
    }
  }
  if (!has_key_) {
    return;
  }
  switch (column) {
    case kKeyColumn:
      return result_key(context);
    case kValueColumn:
      if (load_value()) {
        live_.expect(result_flash_value(context, value_));
      }
      return;
    case kSectorColumn:
      if (find_place(); has_place_) {
        sqlite3_result_int64(context, live_.sector_of(entry_));
      }
      return;
    case kDigestColumn:
      if (load_value()) {
        result_digest(context);
      }
      return;
    case kCommandColumn:
      return;
    default:  // seq and its other names
      if (find_place(); has_place_) {
        sqlite3_result_int64(context, static_cast<sqlite3_int64>(entry_.lsn));
      }
      return;
  }
}

}  // namespace cuckoo
