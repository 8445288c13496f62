// The virtual tables cuckoo_filter and bloom_filter: one class, told apart by their options.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/source.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class FilterTable : public StoredTable<LiveFilter> {
 public:
  class Cursor;

  enum Column : int { kKeyColumn = 0, kCountColumn = 1, kCommandColumn = 2 };

  // What xBestIndex tells xFilter.
  enum Plan : int {
    kCountPlan = 0,            // as many rows as items, no column of them
    kProbePlan = 1,            // key = values[0]
    kRefuseListPlan = 2,       // would have to list keys
    kRefuseCollationPlan = 3,  // compares by another collation than the key's and BINARY
    kBinaryProbePlan = 4,      // as kProbePlan, but compared by BINARY, where the key's is another
    kSomeRowsPlan = 5,         // as kCountPlan, under a LIMIT (EXISTS has one): it need not end
  };

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

  Affinity affinity() const noexcept { return affinity_; }
  Collation collation() const noexcept { return collation_; }
  // A key was looked for by BINARY: what changes rows must not do so.
  void note_binary_probe();

 private:
  std::optional<SeedSource> seed_source() const;
  void refuse_name(const std::string& table) const;
  void resolve_key(bool creating);
  Collation given_collation() const;
  SourceSpec given_source() const;
  void take_key(const SourceKey& from);
  uint64_t source_capacity();
  void expect_triggers();
  void refuse_binary_change();
  void drop_ended_runs();
  bool has_source() const { return options_.has("source"); }
  FilterSource source();
  void load_from(const FilterSource& from, uint64_t capacity);
  KeyView key_to_store(sqlite3_value* value) const;
  void refuse_removal(const char* what);
  uint64_t copies_argument(sqlite3_value* count) const;
  bool remove(sqlite3_value* value, uint64_t copies = 1);
  bool is_count_of(sqlite3_value* occurrences, sqlite3_value* value);
  bool insert(sqlite3_value* value);  // false: skipped, of these three
  bool insert_copies(sqlite3_value* value, sqlite3_value* count);
  bool update_key(sqlite3_value* old_key, sqlite3_value* new_key);
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
  void run_delete(sqlite3_value* key);
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
  ColumnSpec key_;
  Affinity affinity_ = Affinity::kNone;
  Collation collation_ = Collation::kBinary;
  SourceSpec chosen_source_;  // at CREATE
  bool triggers_ = false;
  sqlite3_value* command_count_ = nullptr;  // of the command that runs; NULL: none
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
  void probe_any(sqlite3_value* value);
  void filter_other(int plan, sqlite3_value** values);

  FilterTable& table_;
  LiveFilter& live_;
  Affinity affinity_;
  int plan_ = 0;
  bool noted_binary_ = false;
  uint64_t rows_left_ = 0;
  KeyCopy key_;
};

}  // namespace cuckoo
