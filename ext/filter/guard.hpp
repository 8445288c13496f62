// The virtual table filter_guard. It shows the table that a filter guards as it is, but does not
// look up a key of which the filter says "not there".
//
// Invariants
//   I1  a query finds the same rows in the guard as in the table at that moment, because each row
//       comes from a statement on the table, and SQLite tests it again (guard_plan.hpp, I1).
//   I2  a filter that is missing, damaged, of another table, or refuses to be asked, is an error
//       when a statement is planned, and again when a cursor first asks it: never a "no".
//   I3  the guard stores nothing. SQLite can always connect it, so it can always be dropped. A
//       problem is an error when a statement is planned. Until then the guard has the columns that
//       it had in this connection, or a single one.
//   I4  the declared columns are those of the table. If the table was made anew with other columns,
//       every use throws.
//   I5  a statement that inserts into the table what it reads from the guard finds the rows that
//       were there before it, or is refused (self_insert.hpp).
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

  static constexpr bool kInnocuous = false;  // because a schema could name the table that it reads

  explicit GuardTable(const ModuleArguments& arguments);
  GuardTable(const GuardTable&) = delete;
  GuardTable& operator=(const GuardTable&) = delete;

  std::string declaration() const;
  void create() {}  // stores nothing
  void destroy() {}
  void rename(const std::string& name) { name_ = name; }
  bool best_index(sqlite3_index_info* info);
  // SQLite calls this before the first row of a statement that writes.
  [[noreturn]] void begin() { refuse_to_write(); }
  [[noreturn]] void update(int, sqlite3_value**, sqlite3_int64&) { refuse_to_write(); }

 private:
  // A statement of a plan, prepared for a set of its terms, and its copies that no cursor uses.
  struct Prepared {
    std::string sql;
    std::vector<Statement> idle;
    uint64_t used = 0;  // the number of its last use, which rises
  };
  struct Plan {
    GuardPlan plan;
    std::map<uint32_t, std::unique_ptr<Prepared>> prepared;
  };
  // The number of a plan that could not be made, because another connection has changed the schema,
  // or because of an interrupt. SQLite plans the statement anew when it runs.
  static constexpr int kPlanAgain = -2;

  [[noreturn]] void refuse_to_write() const;
  SqlError wrong(const std::string& what, int code = SQLITE_ERROR) const;
  bool has_filter() const;
  void learn_table();
  bool look();
  [[noreturn]] void plan_again();
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
  void refuse_self_insert() const;

  Connection& connection_;
  sqlite3* db_;
  std::string schema_;
  std::string name_;
  std::string filter_name_;
  Options options_;
  GuardedTable table_;
  std::vector<int> keys_;  // the table's columns that are the filter's key, in the key's order
  std::string problem_;    // I3: the problem when SQLite connected it

  std::shared_ptr<LiveFilter> live_;
  uint64_t names_version_ = 0;  // the version in which the filter's name meant live_
  SchemaFact looked_;           // that filter and table belong together
  bool ever_looked_ = false;
  bool interrupted_ = false;      // planning was; the next statement with kPlanAgain says so
  bool trigger_inserts_ = false;  // I5: true of the schema that looked_ saw

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

  // Called for each row of a join. So the probe of an absent integer key is inline.
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
      at_end_ = true;  // a further step would find nothing
    } else {
      step();
    }
  }
  bool eof() const noexcept { return at_end_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const { return statement_.integer(plan_->plan.rowid_place); }

 private:
  // A whole IN. The statement runs once for each combination of the values of its lists.
  struct List {
    int term = 0;
    int parameter = 0;   // its number in the statement
    bool taken = false;  // whether the statement has it
    std::vector<KeyCopy> values;
    size_t at = 0;  // the value that is looked up now
  };

  void choose(int number);
  void stop() noexcept {
    statement_.restart();  // the bound values are forgotten when it is given back
    running_ = false;
  }
  void look_up(sqlite3_value** values, bool asked);
  bool asks_with_values(sqlite3_value** values) const;
  Fit fit_of(const GuardTerm& term, sqlite3_value* value) const;
  bool pushes_key(uint32_t pushed) const;
  bool pushes_nothing_else(uint32_t pushed) const;
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

  uint32_t pushed_ = 0;
  Prepared* prepared_ = nullptr;  // the statement for pushed_, to which statement_ belongs
  Statement statement_;
  bool running_ = false;
  bool one_row_ = false;
  bool at_end_ = true;

  bool keyed_ = false;     // the filter has the key of every row that is looked for
  bool only_key_ = false;  // the statement looks up nothing but a key
  bool in_vain_ = false;   // so far, the filter's "maybe" for the key that is looked up now
  TupleKey tuple_;         // the key, if it has several columns
  std::string text_;

  std::vector<List> lists_;  // one for each list of the plan, in its order
  bool asks_combinations_ = false;
  std::vector<KeyCopy> asked_;  // for combinations: the key's columns that are no lists
};

}  // namespace cuckoo
