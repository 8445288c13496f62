// The virtual table cuckoo_filter: a deletable membership filter.
#pragma once

#include <memory>
#include <string>

#include "core/key_hash.hpp"
#include "ext/live_filter.hpp"
#include "ext/module.hpp"
#include "ext/options.hpp"
#include "ext/value.hpp"

namespace cuckoo {

class CuckooTable {
 public:
  class Cursor;

  // What xBestIndex tells xFilter.
  enum Plan : int {
    kCountPlan = 0,            // as many rows as items, no column of them
    kProbePlan = 1,            // key = values[0]
    kRefuseListPlan = 2,       // would have to list keys
    kRefuseCollationPlan = 3,  // compares with another collation than BINARY
  };

  explicit CuckooTable(const ModuleArguments& arguments);
  ~CuckooTable();
  CuckooTable(const CuckooTable&) = delete;
  CuckooTable& operator=(const CuckooTable&) = delete;

  static bool owns_shadow(const char* suffix) noexcept { return is_shadow_suffix(suffix); }
  static std::span<const OptionSpec> option_specs() noexcept;

  std::string declaration() const;
  void create();
  void destroy();
  bool best_index(sqlite3_index_info* info);
  void update(int count, sqlite3_value** values, sqlite3_int64& rowid);
  void begin() noexcept { live_->begin(); }
  void sync() { live_->sync(); }
  void commit() noexcept { live_->commit(); }
  void rollback() noexcept { live_->rollback(); }
  void savepoint() { live_->savepoint(); }
  void rollback_to() noexcept { live_->rollback_to(); }
  void rename(const std::string& name);
  std::string integrity();

  LiveFilter& live() noexcept { return *live_; }
  Affinity affinity() const noexcept { return affinity_; }
  const std::string& name() const noexcept { return live_->table(); }

 private:
  FilterOptions chosen_options() const;
  void refuse_own_column(const std::string& table) const;
  void run_command(sqlite3_value* command, sqlite3_value* argument);
  uint64_t hash_to_store(sqlite3_value* value) const;

  Connection& connection_;
  sqlite3* db_;
  std::string declared_name_;
  Options options_;
  ColumnSpec key_;
  Affinity affinity_;
  std::shared_ptr<LiveFilter> live_;
};

class CuckooTable::Cursor {
 public:
  explicit Cursor(CuckooTable& table);

  // Once a row of a join: what an integer key needs stands here, the rest behind a call.
  void filter(int plan, const char*, int, sqlite3_value** values) {
    rows_left_ = 0;
    plan_ = plan;
    if (plan != kProbePlan || !live_.usable()) [[unlikely]] {
      filter_other(plan, values);
    } else if (is_plain_integer(values[0], affinity_)) [[likely]] {
      const int64_t key = sqlite3_value_int64(values[0]);
      hash_ = hash_integer(key, live_.seed());
      key_.assign(key);
      rows_left_ = live_.contains(hash_) ? 1 : 0;
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
  void probe_any(sqlite3_value* value);
  void filter_other(int plan, sqlite3_value** values);

  LiveFilter& live_;
  Affinity affinity_;
  int plan_ = 0;
  uint64_t rows_left_ = 0;
  uint64_t hash_ = 0;
  KeyCopy key_;
};

}  // namespace cuckoo
