// What the tables of a model script must hold, worked out without the extension.
//
// A script's keys have numbers, 0 … n-1, and take all types that a value can have; see literal().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cuckoo::test {

// Key number i, as SQL; the function k(i), which the tests' connections have, gives the same.
inline std::string literal(uint64_t i) {
  const std::string number = std::to_string(i);
  switch (i % 5) {
    case 0:
      return number;
    case 1:
      return "'k" + number + "'";
    case 2:
      return "CAST('b" + number + "' AS BLOB)";
    case 3:
      return number + ".5";
    default:  // beyond what a double can tell apart
      return std::to_string((uint64_t{1} << 53) + i);
  }
}

inline void append(std::string& list, const char* separator, const std::string& item) {
  list += list.empty() ? "" : separator;
  list += item;
}

// A multiset of key numbers, as a count for each.
class Bag {
 public:
  void resize(uint64_t keys) { counts_.resize(keys); }
  void clear() {
    counts_.assign(counts_.size(), 0);
    size_ = 0;
  }
  void add(uint64_t key) {
    ++counts_[key];
    ++size_;
  }
  void remove(uint64_t key) {
    --counts_[key];
    --size_;
  }
  uint64_t count(uint64_t key) const { return counts_[key]; }
  uint64_t size() const { return size_; }
  uint64_t keys() const { return counts_.size(); }
  // The first key at or behind `from`, around the end, that is there. size() > 0.
  uint64_t next(uint64_t from) const {
    while (counts_[from] == 0) {
      from = (from + 1) % counts_.size();
    }
    return from;
  }

 private:
  std::vector<uint32_t> counts_;
  uint64_t size_ = 0;
};

struct FilterState {
  std::string name;
  bool exists = false;
  uint64_t capacity = 0;
  bool growth = true;
  double rate = 0;
  Bag keys;

  bool full() const { return !growth && keys.size() >= capacity; }
  std::string quoted() const { return "\"" + name + "\""; }
};

// The file, as one transaction sees it.
struct State {
  std::array<FilterState, 2> filters;
  Bag app;                  // rows of the ordinary table whose triggers write to filters[0]
  bool orphan = false;      // a deferred foreign key is violated: COMMIT must fail
  std::string other_table;  // a table without any tie to the filters; empty: it does not exist
};

constexpr uint64_t kNull = ~uint64_t{0};

enum class Policy { kAbort, kReplace, kIgnore, kFail, kRollback };
enum class Raise { kNothing, kAbort, kFail, kRollback, kIgnore };

struct NewRow {
  uint64_t key = 0;  // or kNull
  Raise raise = Raise::kNothing;
};

// What a statement must come to.
struct Expected {
  enum class End { kDone, kConstraint, kFull, kError };
  End end = End::kDone;
  State after;
  bool rolls_back = false;  // the whole transaction
  std::string message;      // that the error's text holds
};

// Rows put into filters[filter], or into the app table whose trigger puts them into filters[0].
inline Expected insert_rows(const State& before, size_t filter, bool through_app,
                            const std::vector<NewRow>& rows, Policy policy) {
  using End = Expected::End;
  Expected result{End::kDone, before, false, ""};
  FilterState& target = result.after.filters[filter];
  for (const NewRow& row : rows) {
    if (through_app && row.key != kNull) {
      result.after.app.add(row.key);
    }
    if (row.key == kNull) {
      if (policy == Policy::kFail) {
        result.end = End::kConstraint;
        return result;
      }
      if (policy != Policy::kIgnore) {
        return {End::kConstraint, before, policy == Policy::kRollback, "NULL"};
      }
    } else if (target.full()) {
      return {End::kFull, before, false, "full: "};
    } else {
      target.keys.add(row.key);
    }
    switch (row.raise) {
      case Raise::kNothing:
      case Raise::kIgnore:
        break;
      case Raise::kFail:
        result.end = End::kConstraint;
        return result;
      default:
        return {End::kConstraint, before, row.raise == Raise::kRollback, "stop"};
    }
  }
  return result;
}

}  // namespace cuckoo::test
