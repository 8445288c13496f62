// The virtual table flash_kv: an exact map. Its members do the work, each for one subject:
//   FlashColumns    the columns, visible and hidden
//   FlashRowWriter  INSERT, UPDATE and DELETE
//   EqualKeys       which keys a look-up finds
//   Cursor          the rows that a statement gets; FlashRow is one of them
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ext/flash/columns.hpp"
#include "ext/flash/equal_keys.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/flash/row_writer.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/table/command.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class FlashTable : public StoredTable<LiveFlash> {
 public:
  class Cursor;  // cursor.hpp
  using enum FlashColumns::Column;

  // idxNum, from xBestIndex to xFilter: a plan, and flags for the parts of a row that it needs.
  enum Plan : int {
    kScanPlan = 0,   // all rows, by seq
    kProbePlan = 1,  // key = values[0]
    kSeqPlan = 2,    // seq = values[0]: its row is found among the headers of all
    kListPlan = 3,   // key IN values[0], which holds all of the list
    kPlanMask = 3,
    kNeedsKey = 4,  // without it, a scan only counts rows, unless a column is asked for after all
    kNeedsValue = 8,
    kNeedsPlace = 16,  // seq or sector
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

  // For cursors.
  Connection& connection() noexcept { return connection_; }
  const FlashColumns& columns() const noexcept { return columns_; }
  EqualKeys& equal_keys() noexcept { return equal_keys_; }
  FlashRowWriter& rows() noexcept { return rows_; }
  // Keep the list of scans that have not listed their rows (Cursor::list).
  void add_unlisted(Cursor& scan) { unlisted_.push_back(&scan); }
  void drop_unlisted(const Cursor& scan) noexcept { std::erase(unlisted_, &scan); }

 private:
  int plan_look_up(sqlite3_index_info* info) const;
  void list_scans();  // before a change, lists the remaining rows of each

  static std::span<const Command<FlashTable>> commands() noexcept;
  void run_clear(sqlite3_value*) { live_->clear(); }
  void run_collect(sqlite3_value*) { live_->collect(); }
  void run_resize(sqlite3_value* size) { live_->resize(text_argument(size)); }

  Connection& connection_;
  sqlite3* db_;
  std::string declared_name_;
  Options options_;
  FlashColumns columns_;
  EqualKeys equal_keys_;
  FlashRowWriter rows_;
  std::vector<Cursor*> unlisted_;
};

}  // namespace cuckoo
