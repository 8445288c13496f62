// One row of a flash_kv, as a cursor shows it: the key, the value, and the place in the log. Each
// is read when a column first asks for it, unless it was read with the others.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ext/flash/columns.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class FlashRow {
 public:
  // All arguments outlive this.
  FlashRow(LiveFlash& live, const FlashColumns& columns, Connection& connection) noexcept
      : live_(live), columns_(columns), connection_(connection) {}

  void forget() noexcept { has_key_ = has_value_ = has_place_ = damaged_ = false; }
  bool known() const noexcept { return has_key_; }

  // Each of these makes this another row, and throws SqlError.
  // Finds the row of that key, and reads its value, or otherwise its place. Returns false if there
  // is none. A damaged row has its key only: so DELETE and UPDATE find it, and whoever asks for
  // another column gets the error.
  bool find(const KeyView& key, bool with_value);
  // Reads a row that was listed. Returns false if it is gone since, and kCorrupt if it is damaged.
  Result<bool> read(FlashStore::Listed& listed, bool with_value);
  // Takes the row that the scan is at. kCorrupt: it is damaged.
  Status take(const FlashScan& scan, bool with_value);

  // Returns the entry that read() or take() found last, even after forget().
  const FlashEntry& entry() const noexcept { return entry_; }

  // Gives a column of the row to SQLite, or NULL if the row is gone since. This and take() are
  // called for each row of a scan, so both are inline.
  void result(sqlite3_context* context, int column);

 private:
  bool has_value() { return has_value_ || load_value(); }
  bool has_place() { return has_place_ || load_place(); }
  bool load_value();
  bool load_place();
  bool find_damaged(const KeyView& key, const Status& status);
  void expect_read(Status status) const;
  bool key_was_given_as_real();
  void result_key(sqlite3_context* context);
  void result_value(sqlite3_context* context);
  void result_digest(sqlite3_context* context);

  LiveFlash& live_;
  const FlashColumns& columns_;
  Connection& connection_;

  bool has_key_ = false, has_value_ = false, has_place_ = false;
  bool damaged_ = false;
  std::string shown_;  // the key of a damaged row
  FlashEntry entry_;
  std::vector<std::byte> key_, value_;
};

inline Status FlashRow::take(const FlashScan& scan, bool with_value) {
  const FlashLoadedRecord& record = scan.record();
  entry_ = FlashStore::entry_at(scan);
  key_.assign(record.key.begin(), record.key.end());
  has_value_ = with_value;
  if (with_value) {
    CUCKOO_TRY(live_.flash().value_at(scan, value_));
  }
  has_key_ = has_place_ = true;
  return {};
}

inline void FlashRow::result(sqlite3_context* context, int column) {
  if (!has_key_) {
    return;
  }
  switch (column) {
    case FlashColumns::kKeyColumn:
      return result_key(context);
    case FlashColumns::kValueColumn:
      if (has_value()) {
        result_value(context);
      }
      return;
    case FlashColumns::kSectorColumn:
      if (has_place()) {
        sqlite3_result_int64(context, live_.sector_of(entry_));
      }
      return;
    case FlashColumns::kDigestColumn:
      if (has_value()) {
        result_digest(context);
      }
      return;
    case FlashColumns::kCommandColumn:
      return;
    default:  // seq and its other names
      if (has_place()) {
        sqlite3_result_int64(context, static_cast<sqlite3_int64>(entry_.lsn));
      }
      return;
  }
}

}  // namespace cuckoo
