// The virtual tables cuckoo_filter and bloom_filter: one class, told apart by their options.
//
// The visible columns are the key's, one to eight. A table without rowids that can be written has a
// primary key of one column, because SQLite allows no other there. So it is the key's column where
// there is one, and else the hidden column `cuckoo_key`: the whole key as one BLOB (tuple_key.hpp),
// as the filter hashes it. SQLite tells rows apart by it, and names by it the row that a DELETE or
// an UPDATE means.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/source.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class FilterTable : public StoredTable<LiveFilter> {
 public:
  class Cursor;

  // What xBestIndex tells xFilter. Where the key has several columns, the two that refuse have a
  // bit for each column at fault, from kColumnsShift on.
  enum Plan : int {
    kCountPlan = 0,            // as many rows as items, no column of them
    kProbePlan = 1,            // a value for each key column, in their order
    kRefuseListPlan = 2,       // would have to list keys: columns without a value
    kRefuseCollationPlan = 3,  // compares by another collation than the key's and BINARY
    kBinaryProbePlan = 4,      // as kProbePlan, but compared by BINARY, where the key's is another
    kSomeRowsPlan = 5,         // as kCountPlan, under a LIMIT (EXISTS has one): it need not end
  };
  static constexpr int kColumnsShift = 8;
  static constexpr char kRowKey[] = "cuckoo_key";  // the hidden column

  FilterTable(const ModuleArguments& arguments, FilterModule module);

  static bool owns_shadow(const char* suffix) noexcept {
    return is_shadow_suffix(suffix, kFilterTables);
  }

  std::string declaration() const;
  void create();
  void destroy();
  bool best_index(sqlite3_index_info* info);
  bool update(int count, sqlite3_value** values, sqlite3_int64& rowid);
  void rename(const std::string& name);

  size_t columns() const noexcept { return key_.size(); }  // of the key
  // The columns behind those, and the one that is the primary key.
  int count_column() const noexcept { return static_cast<int>(columns()); }
  int command_column() const noexcept { return static_cast<int>(columns()) + 1; }
  int row_key_column() const noexcept { return several_ ? static_cast<int>(columns()) + 2 : 0; }
  bool several() const noexcept { return several_; }
  const std::string& column_name(size_t index) const noexcept { return key_[index].name; }
  const KeyDomain& domain() const noexcept { return domain_; }  // without types
  Affinity affinity() const noexcept { return affinity_; }      // of the first column
  std::vector<std::string> key_names() const;
  std::string names_of_key() const;  // "user_id, item_id"
  // "user_id = ? AND item_id = ?"
  std::string equalities(const char* equality = " = ?") const;

  // What a cursor needs for a key of several columns.
  struct TupleRow {
    TupleKey key;
    std::array<KeyCopy, kMaxKeyColumns> columns;
  };
  std::unique_ptr<TupleRow> take_row() {
    return spare_row_ != nullptr ? std::move(spare_row_) : std::make_unique<TupleRow>();
  }
  void give_back(std::unique_ptr<TupleRow> row) noexcept { spare_row_ = std::move(row); }

  // A key was looked for by BINARY: what changes rows must not do so.
  void note_binary_probe();

 private:
  std::optional<SeedSource> seed_source() const;
  void check_columns() const;
  void refuse_name(const std::string& table) const;
  void resolve_key(bool creating);
  Collation given_collation(const ColumnSpec& column) const;
  SourceSpec given_source() const;
  void take_key(size_t index, const SourceKey& from, Collation& collation);
  uint64_t source_capacity();
  void expect_triggers();
  void refuse_binary_change();
  void drop_ended_runs();
  bool has_source() const { return options_.has("source"); }
  FilterSource source();
  void load_from(const FilterSource& from, uint64_t capacity);
  // `keys`: a value for each key column. `row`: that of the primary key's column.
  SqlError null_key(size_t column, const char* why) const;
  KeyView given_key(sqlite3_value** keys);  // perhaps NULL
  KeyView key_to_store(sqlite3_value** keys);
  KeyView changed_key(sqlite3_value* row, sqlite3_value** keys);
  KeyView key_of_row(sqlite3_value* row) const;
  void refuse_row_key(sqlite3_value* row, sqlite3_value* given) const;
  void refuse_more_arguments(const std::string& command, sqlite3_value** keys) const;
  void refuse_removal(const char* what);
  uint64_t copies_argument(sqlite3_value* count) const;
  bool remove(const KeyView& key, uint64_t copies = 1);
  bool is_count_of(sqlite3_value* occurrences, const KeyView& key);
  bool insert(sqlite3_value** keys);  // false: skipped, of these three
  bool insert_copies(sqlite3_value** keys, sqlite3_value* count);
  bool update_key(sqlite3_value* row, sqlite3_value** keys);
  bool run(sqlite3_value* command, sqlite3_value** keys, sqlite3_value* count);
  bool unique() const noexcept { return live_->filter().options().unique; }
  bool refuse_present();
  void rebuild(uint64_t capacity);
  void refuse_losing_keys(const char* command) const;

  static std::span<const Command<FilterTable>> commands() noexcept;
  void run_apply(sqlite3_value* changes);
  void run_clear(sqlite3_value*) {
    refuse_losing_keys("clear");
    live_->clear();
  }
  void run_delete(sqlite3_value*);
  void run_import(sqlite3_value* image);
  void run_merge(sqlite3_value* other);  // a filter's name or an image
  void run_rebuild(sqlite3_value*) { rebuild(0); }
  void run_resize(sqlite3_value* argument);
  void run_rotate(sqlite3_value*) { live_->rotate(); }

  Connection& connection_;
  sqlite3* db_;
  FilterModule module_;
  std::string declared_name_;
  Options options_;
  std::vector<ColumnSpec> key_;
  bool several_;
  KeyDomain domain_;
  Affinity affinity_ = Affinity::kNone;
  SourceSpec chosen_source_;  // at CREATE
  TupleKey tuple_;            // the last one that was made
  std::unique_ptr<TupleRow> spare_row_;
  bool triggers_ = false;
  sqlite3_value** command_keys_ = nullptr;  // of the command that runs
  sqlite3_value* command_count_ = nullptr;  // NULL: none
  ReadTransaction with_triggers_;  // ended: its statement is of a schema that has the triggers
  // The runs of statements that write, in which a key was looked for by BINARY.
  struct Run {
    sqlite3_stmt* statement;  // may be gone: only compared
    int number;
    friend bool operator==(const Run&, const Run&) = default;
  };
  std::vector<Run> binary_probes_;
};

// What SQLite calls them by.
class CuckooTable : public FilterTable {
 public:
  explicit CuckooTable(const ModuleArguments& arguments)
      : FilterTable(arguments, FilterModule::kCuckoo) {}
};
class BloomTable : public FilterTable {
 public:
  explicit BloomTable(const ModuleArguments& arguments)
      : FilterTable(arguments, FilterModule::kBloom) {}
};

class FilterTable::Cursor {
 public:
  explicit Cursor(FilterTable& table);
  ~Cursor() {
    if (row_ != nullptr) {
      table_.give_back(std::move(row_));
    }
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Once a row of a join: what an integer key needs stands here, the rest behind a call.
  void filter(int plan, const char*, int, sqlite3_value** values) {
    rows_left_ = 0;
    plan_ = plan;
    if (plan != kProbePlan || !live_.ready_for_hashes()) [[unlikely]] {
      filter_other(plan, values);
    } else if (is_plain_integer(values[0], affinity_)) [[likely]] {
      const int64_t key = sqlite3_value_int64(values[0]);
      key_.assign(key);
      rows_left_ = live_.contains(hash_integer(key, live_.seed())) ? 1 : 0;
    } else {
      probe_any(values[0]);
    }
  }
  void next() noexcept { --rows_left_; }
  bool eof() const noexcept { return rows_left_ == 0; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return 0; }

 private:
  [[noreturn]] void refuse_to_list() const;
  [[noreturn]] void refuse_to_count(uint64_t items) const;
  [[noreturn]] void refuse_collation(int columns) const;
  [[noreturn]] void refuse_part_of_key(int columns) const;
  void probe_any(sqlite3_value* value);
  void probe_tuple(sqlite3_value** values);
  void filter_other(int plan, sqlite3_value** values);
  void tuple_column(sqlite3_context* context, int column);
  void result_occurrences(sqlite3_context* context, const KeyView& key);

  FilterTable& table_;
  LiveFilter& live_;
  Affinity affinity_;
  int plan_ = 0;
  bool noted_binary_ = false;
  uint64_t rows_left_ = 0;
  KeyCopy key_;
  std::unique_ptr<TupleRow> row_;  // instead, where the key has several columns
};

}  // namespace cuckoo
