// What random scripts over tables share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/database.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::test {

// ---- filters

// Returns the options, with triggers = off if they have a source and don't say what follows it.
inline std::string snapshot(const std::string& options) {
  const bool says =
      options.find("triggers") != std::string::npos || options.find("source") == std::string::npos;
  return options + (says ? "" : ", triggers = off");
}

// How a table of each kind begins.
inline constexpr const char* kFilterKinds[] = {"cuckoo_filter(", "bloom_filter(",
                                               "bloom_filter(layout = blocked, ",
                                               "bloom_filter(counting = on, "};
inline bool counts_copies(const std::string& kind) {
  return kind.starts_with("cuckoo") || kind.find("counting") != std::string::npos;
}

using KeyBag = std::map<int64_t, uint64_t>;  // key -> how often

inline uint64_t items_of(const KeyBag& bag, bool copies = true) {
  uint64_t sum = 0;
  for (const auto& [key, count] : bag) {
    sum += copies ? count : 1;
  }
  return sum;
}
// A table of its keys, with a column `value`.
inline std::string json_of(const KeyBag& bag) {
  std::string all;
  for (const auto& [key, count] : bag) {
    all += (all.empty() ? "" : ",") + std::to_string(key);
  }
  return "json_each('[" + all + "]')";
}

// ---- SQL

// With each place that has `what` replaced.
inline std::string replaced(std::string sql, const std::string& what, const std::string& by) {
  for (size_t at = sql.find(what); at != std::string::npos; at = sql.find(what, at + by.size())) {
    sql.replace(at, what.size(), by);
  }
  return sql;
}

inline bool in_transaction(const Database& db) { return sqlite3_get_autocommit(db.handle()) == 0; }

// All rows with the classes of their values, or what code came instead. Texts are read as UTF-16,
// because UTF-8 can't hold half a surrogate pair, and shown with the numbers of other than ASCII.
inline std::vector<std::string> answer(const Database& db, const std::string& sql) {
  std::vector<std::string> rows;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &statement, nullptr);
  while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    code = SQLITE_OK;
    std::string row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const int type = sqlite3_column_type(statement, i);  // before the text: it makes one of it
      row += std::to_string(type) + ":";
      if (type == SQLITE_TEXT) {
        const auto* units = static_cast<const char16_t*>(sqlite3_column_text16(statement, i));
        for (int left = sqlite3_column_bytes16(statement, i) / 2; left > 0; --left, ++units) {
          const bool plain = *units >= ' ' && *units < 0x7F;
          row += plain ? std::string(1, static_cast<char>(*units))
                       : "\\" + std::to_string(static_cast<unsigned>(*units));
        }
      } else {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, i));
        row += type == SQLITE_NULL ? "NULL" : std::string(text == nullptr ? "" : text, size);
      }
      row += "|";
    }
    rows.push_back(row);
  }
  if (code != SQLITE_DONE) {
    rows.push_back("error " + std::to_string(code));
  }
  sqlite3_finalize(statement);
  return rows;
}

// A copy, in memory.
inline std::unique_ptr<Database> copy_of(const Database& from) {
  auto copy = std::make_unique<Database>();
  back_up(from, *copy);
  return copy;
}

// ---- transactions

// What a model held at BEGIN and at each savepoint since.
template <class State>
class SavedStates {
 public:
  bool open() const { return !saved_.empty(); }

  // A random step into a transaction, in it, or out of it: its SQL. Then `state` is as it says.
  std::string step(Script& script, State& state) {
    const uint64_t choice = saved_.empty() ? 8 : script.random(8);
    if (choice <= 1) {
      state = choice == 0 ? state : saved_.front();
      saved_.clear();
      return choice == 0 ? "COMMIT" : "ROLLBACK";
    }
    if (choice <= 4 && saved_.size() > 1) {
      const size_t to = 1 + script.random(saved_.size() - 1);
      const bool back = choice <= 3;
      state = back ? saved_[to] : state;
      saved_.resize(back ? to + 1 : to);
      return (back ? "ROLLBACK TO s" : "RELEASE s") + std::to_string(to);
    }
    saved_.push_back(state);
    return saved_.size() == 1 ? "BEGIN" : "SAVEPOINT s" + std::to_string(saved_.size() - 1);
  }

 private:
  std::vector<State> saved_;
};

}  // namespace cuckoo::test
