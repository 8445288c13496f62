// FlashTable::Cursor: a scan by seq, a look-up by key, a look-up by seq.
#include <algorithm>

#include "ext/flash/table.hpp"

namespace cuckoo {
namespace {

// Exactly, as SQLite compares them.
bool equal_numbers(int64_t integer, double real) noexcept {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  return real >= -kTwoTo63 && real < kTwoTo63 && static_cast<int64_t>(real) == integer &&
         static_cast<double>(integer) == real;
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
  if ((plan & kPlanMask) == kProbePlan) {
    probe(values[0]);
    return;
  }
  if ((plan & kPlanMask) == kSeqPlan) {
    seek(values[0]);
    return;
  }
  listed_ = false;
  reading_.reset();
  rows_ = live_.flash().size();
  first_unseen_lsn_ = live_.flash().next_lsn();
  table_.unlisted_.push_back(this);
  if ((plan & (kNeedsValue | kNeedsPlace)) != 0) {
    start_reading();
    read_row();
  }
}

void FlashTable::Cursor::probe(sqlite3_value* value) {
  const KeyView key = flash_view_of(value, table_.key_affinity(), text_);
  if (key.type == SQLITE_NULL ||
      (key.type == SQLITE_FLOAT && sqlite3_value_numeric_type(value) == SQLITE_INTEGER &&
       !equal_numbers(sqlite3_value_int64(value), key.real))) {
    return;  // equal to no key, though it would be stored as one
  }
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
  entry_ = {record.header.lsn, reading_->position(), record.header.total_value_bytes};
  key_.assign(record.key.begin(), record.key.end());
  has_value_ = (plan_ & kNeedsValue) != 0 || table_.shows_reals(key_);
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
  if ((plan_ & kPlanMask) != kScanPlan) {
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

void FlashTable::Cursor::result_key(sqlite3_context* context) {
  const bool was_real = table_.key_affinity() == Affinity::kReal ||
                        (table_.shows_reals(key_) && load_value() && key_was_real(value_));
  live_.expect(result_flash_key(context, key_, was_real));
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
