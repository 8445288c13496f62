// The cursor of a flash_kv. It decides which rows a statement gets, and in which order, for a scan
// by seq, a look-up by key, and a look-up by seq.
//
// Invariants
//   I1  a scan gives the rows that were there when it began, by seq, without those that were
//       removed or replaced since. Until a column is asked for, it counts its rows without reading
//       them. Then it reads them from the log, in order. When the table is about to change, it
//       lists the remaining rows (list()), and reads them by the index.
//   I2  before each read the cursor updates memory, because a roll-back may come between any two
//       calls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ext/flash/row.hpp"
#include "ext/flash/table.hpp"

namespace cuckoo {

class FlashTable::Cursor {
 public:
  explicit Cursor(FlashTable& table);
  ~Cursor() { leave_unlisted(); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return row_ >= rows_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return 0; }
  // Lists the remaining rows, before the table changes (I1).
  void list();

 private:
  void leave_unlisted() noexcept { table_.drop_unlisted(*this); }
  bool needs_value() const noexcept { return (plan_ & kNeedsValue) != 0; }
  void probe(sqlite3_value* value);
  void probe_list(sqlite3_value* list);
  void give_added();
  void forget_listed() noexcept {
    all_state_.reset();
    all_.clear();
  }
  void seek(sqlite3_value* value);
  void list_all();
  void start_reading();
  void read_row();
  void find_row();
  void note_damage(Status status);

  FlashTable& table_;
  LiveFlash& live_;
  int plan_ = 0;
  uint64_t row_ = 0;
  uint64_t rows_ = 0;
  FlashRow current_;

  // A scan in order; all_ holds its rows once it is listed.
  std::optional<FlashScan> reading_;
  uint64_t reading_state_ = 0;  // the store's; reading_ is valid only in this state
  bool listed_ = false;
  uint64_t first_unseen_lsn_ = 0;        // the scan does not give rows from this one on
  std::vector<FlashStore::Listed> all_;  // by seq; the rows that were listed or looked up
  std::optional<uint64_t> all_state_;    // the store's, if all_ has all of its rows
  Status damage_;                        // of rows that the scan can't give
};

}  // namespace cuckoo
