// The virtual table filter_guard: the table that a filter guards, read as it is, but no key is
// looked up in it that the filter says is not there.
//
// Invariants
//   I1  what a query finds in the guard it finds in the table, as the table is at that moment: each
//       row comes from a statement on the table, and SQLite tests it again (guard_plan.hpp, I1).
//   I2  a filter that is missing, damaged, of another table, or refuses to be asked, is an error
//       when a statement is planned, and again when a cursor asks it first: never a "no".
//   I3  it keeps nothing. SQLite can always connect it, so it can always be dropped: what is wrong
//       is an error when a statement is planned. Until then the guard has the columns that it had
//       in this connection, or a single one.
//   I4  the columns that were declared are those that the table has; where the table was made anew
//       with others, every use says so.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ext/filter/guard_plan.hpp"
#include "ext/filter/guarded_table.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_fact.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

std::span<const OptionSpec> guard_option_specs() noexcept;

class GuardTable {
 public:
  class Cursor;

  static constexpr bool kInnocuous = false;  // it reads a table that a schema could name

  explicit GuardTable(const ModuleArguments& arguments);
  GuardTable(const GuardTable&) = delete;
  GuardTable& operator=(const GuardTable&) = delete;

  std::string declaration() const;
  void create() {}  // nothing is kept
  void destroy() {}
  void rename(const std::string& name) { name_ = name; }
  bool best_index(sqlite3_index_info* info);
  // SQLite calls it before the first row of a statement that writes.
  [[noreturn]] void begin() { refuse_to_write(); }
  [[noreturn]] void update(int, sqlite3_value**, sqlite3_int64&) { refuse_to_write(); }

 private:
  // A statement of a plan, prepared for a set of its terms, and those of them that no cursor uses.
  struct Prepared {
    std::string sql;
    std::vector<Statement> idle;
    uint64_t used = 0;  // when, as a number that rises
  };
  struct Plan {
    GuardPlan plan;
    std::map<uint32_t, std::unique_ptr<Prepared>> prepared;
  };

  [[noreturn]] void refuse_to_write() const;
  SqlError wrong(const std::string& what, int code = SQLITE_ERROR) const;
  void learn_table();
  void look();
  void look_anew();
  void compare_with_filter();
  void compare_with_key(size_t index, const ColumnDomain& key) const;
  void find_filter();
  std::shared_ptr<LiveFilter> filter();
  const GuardedColumn& key_column(size_t i) const {
    return table_.columns[static_cast<size_t>(keys_[i])];
  }
  Prepared& prepared(Plan& plan, uint32_t pushed);
  Statement take(Prepared& prepared);
  void give_back(Prepared& prepared, Statement statement) noexcept;
  void drop_oldest_idle() noexcept;
  bool is_written_meanwhile() const;

  Connection& connection_;
  sqlite3* db_;
  std::string schema_;
  std::string name_;
  std::string filter_name_;
  Options options_;
  GuardedTable table_;
  std::vector<int> keys_;  // its columns that are the filter's key, in the key's order
  std::string problem_;    // I3: what was wrong when SQLite connected it

  std::shared_ptr<LiveFilter> live_;
  uint64_t names_version_ = 0;  // when live_ was what the filter's name means
  SchemaFact looked_;           // filter and table belong together
  bool ever_looked_ = false;
  double rows_ = 1048576;  // as SQLite assumes it

  std::vector<std::unique_ptr<Plan>> plans_;  // idxNum is a place in it
  std::map<std::string, int> plan_numbers_;
  size_t idle_ = 0;
  uint64_t uses_ = 0;
};

class GuardTable::Cursor {
 public:
  explicit Cursor(GuardTable& table) noexcept : table_(table) {}
  ~Cursor() { give_back(); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Once a row of a join: what an integer key that is absent needs stands here.
  void filter(int number, const char*, int, sqlite3_value** values) {
    at_end_ = true;
    if (running_) {
      stop();
    }
    if (number != number_) [[unlikely]] {
      choose(number);
    }
    if (asks_integers_ && live_->ready_for_hashes() &&
        sqlite3_value_type(values[asked_argument_]) == SQLITE_INTEGER) [[likely]] {
      const int64_t key = sqlite3_value_int64(values[asked_argument_]);
      if (live_->contains(hash_integer(key, live_->seed()))) {
        look_up(values, true);
      }
    } else {
      look_up(values, false);
    }
  }
  void next() {
    if (one_row_) {
      at_end_ = true;  // no further step: it would find nothing
    } else {
      step();
    }
  }
  bool eof() const noexcept { return at_end_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const { return statement_.integer(plan_->plan.rowid_place); }

 private:
  // An IN as a whole. The statement runs once for each combination of the values of its lists.
  struct List {
    int term = 0;
    int parameter = 0;   // of the statement
    bool taken = false;  // by the statement
    std::vector<KeyCopy> values;
    size_t at = 0;  // the one that is looked up
  };

  void choose(int number);
  void stop() noexcept {
    statement_.reset();
    running_ = false;
  }
  void look_up(sqlite3_value** values, bool asked);
  bool asks_with_values(sqlite3_value** values) const;
  Fit fit_of(const GuardTerm& term, sqlite3_value* value) const;
  bool pushes_key(uint32_t pushed) const;
  bool ask(sqlite3_value** values);
  void copy_asked(sqlite3_value** values);
  bool may_have_combination();
  bool take_lists(sqlite3_value** values, uint32_t& pushed);
  bool take_list(List& list, sqlite3_value* values);
  bool next_combination();
  void start(sqlite3_value** values, uint32_t pushed, uint32_t colons);
  void bind(sqlite3_value** values, uint32_t pushed, uint32_t colons);
  void bind_combination();
  void step();
  void give_back() noexcept;
  void result_row_key(sqlite3_context* context) const;

  GuardTable& table_;
  int number_ = -1;
  Plan* plan_ = nullptr;
  bool asks_integers_ = false;
  int asked_argument_ = 0;
  std::shared_ptr<LiveFilter> live_;
  std::optional<bool> written_meanwhile_;

  uint32_t pushed_ = 0;
  Prepared* prepared_ = nullptr;  // for pushed_, where statement_ is of
  Statement statement_;
  bool running_ = false;
  bool one_row_ = false;
  bool at_end_ = true;

  bool keyed_ = false;  // every row that is looked for has a key that is in the filter
  TupleKey tuple_;      // a key of several columns

  std::vector<List> lists_;  // one for each of the plan's, in its order
  bool asks_combinations_ = false;
  std::vector<KeyCopy> asked_;  // for that, the key's columns that are no lists
};

}  // namespace cuckoo
