// Random queries over a table @T with the columns k, t, n, r, u, v and gen, beside a table o.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/script.hpp"

namespace cuckoo::test {

// Values of all classes. After SQLite converts them, many are equal to others, or almost equal.
// clang-format off
inline constexpr const char* kGuardValues[] = {
    "NULL", "0", "1", "2", "3", "5", "5.0", "5.5", "-1", "12", "1e20", "9e999", "'5'", "'05'",
    "' 5'", "'5.0'", "'5e0'", "'12'", "'-1'", "'1.0e+20'", "'Inf'", "'abc'", "'ABC'", "'abc '",
    "''", "':'", "'z'", "'\xC3\xA9'", "x''", "x'35'", "x'6162'", "'5abc'", "'a5'", "' '",
    "9007199254740993", "'3'", "3.0", "'2'", "x'32'", "'9007199254740993'", "9007199254740992.0"};
// clang-format on

class GuardQueries : public Script {
 public:
  // `keys`: the columns of the filter's key.
  GuardQueries(uint64_t seed, bool rowid, std::vector<std::string> keys)
      : Script(seed), rowid_(rowid), keys_(std::move(keys)) {}

  bool chance(int percent) { return random(100) < static_cast<uint64_t>(percent); }
  std::string value() { return pick(values_); }
  // Adds texts that only a database of this encoding has, and others that SQLite might change.
  void add_texts_of(const std::string& encoding);

  struct Query {
    std::string sql;
    bool ordered = false;       // completely
    std::string of_table = {};  // what to ask the table instead, if it is not the same
  };
  Query query();
  // A statement that reads @T and writes o, users or a table `taken`. What it does is the same in
  // whatever order it finds the rows. `columns` are those that it inserts into users.
  std::string write(const std::string& columns);
  const std::vector<std::string>& keys() const { return keys_; }
  // A row's values in the key's columns, as SQL: conditions on the whole key take them.
  void set_row(std::vector<std::string> row) { row_ = std::move(row); }

 private:
  std::string column(const std::string& table);
  std::string other_column() { return "o." + pick({"x", "y", "z", "c", "q", "m", "w"}); }
  std::string collation() {
    return chance(15) ? " COLLATE " + pick({"NOCASE", "BINARY", "RTRIM", "own"}) : "";
  }
  std::string all_with_rowids() {  // all columns of g, for a subquery in its place
    return rowid_ ? "g.rowid AS rowid, g.rowid AS oid, g.rowid AS _rowid_, g.*" : "g.*";
  }
  std::string operand(bool with_o);
  std::string list();
  std::string values_of_o();
  std::string comparison(const std::string& table, bool with_o, bool collate);
  std::string whole_key(const std::string& table, bool with_o);
  std::string predicate(const std::string& table, bool with_o, int depth = 0);
  Query joined();
  Query alone();
  Query inside();

  std::vector<std::string> values_{std::begin(kGuardValues), std::end(kGuardValues)};
  bool rowid_;
  std::vector<std::string> keys_;
  std::vector<std::string> row_;
};

}  // namespace cuckoo::test
