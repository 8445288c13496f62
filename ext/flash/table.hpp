// The virtual table flash_kv: an exact map, SQLite's rules of constraints and conflicts over
// LiveFlash.
//
// Invariants
//   I1  A look-up finds what a scan with the same condition finds. SQLite compares a key with a
//       value by the affinity of both sides, and doesn't tell us the value's: 5 may come from a
//       column of numbers (then it equals '05'), from an untyped one (then it equals no text) or
//       from a parameter (then it equals '5' in a TEXT column). So a look-up in a TEXT or untyped
//       column gives every row that is equal in one of these ways, and SQLite compares again.
//   I2  In a column of numbers all ways are one: a look-up there is exact, and SQLite need not
//       compare.
//
// One kind of value escapes I1: a text that looks like a number, out of an expression with the
// affinity of a number. Ordinary tables hold none; another virtual table may show one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ext/flash/columns.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/flash/number_texts.hpp"
#include "ext/flash/value.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/command.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class FlashTable : public StoredTable<LiveFlash> {
 public:
  class Cursor;
  using enum FlashColumns::Column;

  // What xBestIndex tells xFilter: a plan, and what of each row is asked for.
  enum Plan : int {
    kScanPlan = 0,   // all rows, by seq
    kProbePlan = 1,  // key = values[0]
    kSeqPlan = 2,    // seq = values[0]: its row is found among the headers of all
    kListPlan = 3,   // key IN values[0], which holds all of the list
    kPlanMask = 3,
    kNeedsKey = 4,  // a scan that does not is a count, until a column is asked for all the same
    kNeedsValue = 8,
    kNeedsPlace = 16,  // seq or sector
    kUnique = 32,      // SQLite was told that there is one row at most
  };

  explicit FlashTable(const ModuleArguments& arguments);

  static bool owns_shadow(const char* suffix) noexcept {
    return is_shadow_suffix(suffix, kFlashTables);
  }

  std::string declaration() const { return columns_.declaration(declared_name_); }
  void create();
  bool best_index(sqlite3_index_info* info);
  void update(int count, sqlite3_value** values, sqlite3_int64& rowid);
  void rename(const std::string& name);

  sqlite3* db() const noexcept { return db_; }
  Affinity key_affinity() const noexcept { return columns_.key_affinity(); }
  bool has_number_keys() const noexcept { return key_affinity() >= Affinity::kNumeric; }  // I2
  NumberTexts& number_texts() noexcept { return number_texts_; }
  // Is 1.0 shown as 1.0 in the key column? Then the row's value knows how it was given.
  bool shows_reals(std::span<const std::byte> key) const noexcept {
    return key_affinity() == Affinity::kNone && may_be_whole_real(key);
  }
  // Scans that have not listed their rows (Cursor::list).
  void add_unlisted(Cursor& scan) { unlisted_.push_back(&scan); }
  void drop_unlisted(const Cursor& scan) noexcept { std::erase(unlisted_, &scan); }
  std::string digest_text(std::span<const std::byte> value);
  // What has a later seq was written since; by the statement that scans, if it asks.
  void note_scan() noexcept { scan_lsn_ = live_->flash().next_lsn(); }

 private:
  void list_scans();  // before a change: what they have not given yet
  int plan_look_up(sqlite3_index_info* info) const;
  bool is_unique();
  [[noreturn]] void refuse_duplicate() const;
  [[noreturn]] void refuse_computed(int column) const;
  void expect_unchanged(sqlite3_value** columns);
  void encode_key(const KeyView& key);
  void encode_value(sqlite3_value* value, bool key_was_real);
  void encode_address();
  void note_key();
  void expect_same_content();
  void insert(sqlite3_value* key_value, sqlite3_value* value);
  void change(sqlite3_value* key_value, sqlite3_value* value);
  void remove(sqlite3_value* key);
  bool take_old_key(sqlite3_value* value);

  static std::span<const Command<FlashTable>> commands() noexcept;
  void run_clear(sqlite3_value*) { live_->clear(); }
  void run_collect(sqlite3_value*) { live_->collect(); }
  void run_resize(sqlite3_value* size) { live_->resize(text_argument(size)); }

  Connection& connection_;
  sqlite3* db_;
  std::string declared_name_;
  Options options_;
  FlashColumns columns_;
  NumberTexts number_texts_;
  uint64_t scan_lsn_ = 0;
  std::vector<Cursor*> unlisted_;

  // Reused from row to row.
  std::vector<std::byte> key_bytes_, old_key_bytes_, value_bytes_, stored_value_;
  std::string key_text_, text_;
};

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
  // A scan counts its rows without reading them, until somebody asks for a column: then it reads
  // them from the log, in order. When the table is about to change, it lists what it has not given
  // yet, and reads on by the index.
  void list();

 private:
  void leave_unlisted() noexcept { table_.drop_unlisted(*this); }
  void probe(sqlite3_value* value);
  void probe_exactly(sqlite3_value* value);
  void find_key(const KeyView& key);
  void probe_list(sqlite3_value* list);
  void add_equals(sqlite3_value* value);
  void add_row(const KeyView& key);
  void expect_plan_holds() const;
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
  bool load_row(bool with_value);
  bool load_value();
  void find_place();
  bool key_was_given_as_real();
  void result_key(sqlite3_context* context);
  void result_digest(sqlite3_context* context);

  FlashTable& table_;
  LiveFlash& live_;
  int plan_ = 0;
  uint64_t row_ = 0;
  uint64_t rows_ = 0;

  // A scan in order; all_ holds its rows once it is listed.
  std::optional<FlashScan> reading_;
  uint64_t reading_state_ = 0;  // the store's; in any other reading_ means nothing
  bool listed_ = false;
  uint64_t first_unseen_lsn_ = 0;        // what came later is no part of the scan
  std::vector<FlashStore::Listed> all_;  // by seq; what a look-up added
  std::optional<uint64_t> all_state_;    // the store's, when all_ is all of it

  FlashEntry entry_;
  bool has_key_ = false, has_value_ = false, has_place_ = false;  // of the current row
  std::vector<std::byte> key_, value_;
  std::string text_;
};

}  // namespace cuckoo
