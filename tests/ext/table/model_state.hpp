// What the tables of a model script must hold, worked out without the extension.
//
// A script's keys have numbers, 0 … n-1, and take all types that a value can have; see literal().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
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
    size_ = distinct_ = 0;
  }
  void add(uint64_t key) {
    distinct_ += counts_[key]++ == 0 ? 1 : 0;
    ++size_;
  }
  void remove(uint64_t key) {
    distinct_ -= --counts_[key] == 0 ? 1 : 0;
    --size_;
  }
  uint64_t count(uint64_t key) const { return counts_[key]; }
  uint64_t size() const { return size_; }
  uint64_t distinct() const { return distinct_; }
  uint64_t keys() const { return counts_.size(); }
  // The first key that is there, from `from` on and then from 0 on. Needs size() > 0.
  uint64_t next(uint64_t from) const {
    while (counts_[from] == 0) {
      from = (from + 1) % counts_.size();
    }
    return from;
  }

 private:
  std::vector<uint32_t> counts_;
  uint64_t size_ = 0;
  uint64_t distinct_ = 0;
};

enum class Kind { kCuckoo, kStandard, kBlocked, kCounting, kLegacy };

// What a filter must hold: every key that was added, and of a multiset how often. How many items a
// set counts depends on which adds looked like earlier ones. The first connection that sees this
// state tells the number, and all others must tell the same.
struct FilterState {
  std::string name;
  bool exists = false;
  Kind kind = Kind::kCuckoo;
  std::string type;
  uint64_t seed = 0;
  uint64_t capacity = 0;
  bool growth = true;
  uint64_t generations = 1;
  double rate = 0;
  Bag keys;                // of the newest generation
  std::vector<Bag> older;  // newest first
  std::shared_ptr<std::optional<uint64_t>> set_items;

  bool multiset() const { return kind == Kind::kCuckoo || kind == Kind::kCounting; }
  bool removes() const { return multiset() && generations == 1; }
  // Why a removal fails.
  const char* refusal() const { return generations > 1 ? "sliding window" : "counting = on"; }
  // A cuckoo filter's capacity is exact; a Bloom filter takes at least as many different keys.
  bool full() const { return kind == Kind::kCuckoo && !growth && keys.size() >= capacity; }
  bool may_be_full() const {
    return kind != Kind::kCuckoo && !growth && keys.distinct() > capacity;
  }
  std::string quoted() const { return "\"" + name + "\""; }

  // A lookup must find the key at least so often.
  uint64_t count(uint64_t key) const {
    const auto in = [&](const Bag& bag) {
      return multiset() ? bag.count(key) : std::min<uint64_t>(bag.count(key), 1);
    };
    uint64_t total = in(keys);
    for (const Bag& bag : older) {
      total += in(bag);
    }
    return total;
  }
  uint64_t items() const { return sum(&Bag::size); }
  uint64_t distinct() const { return sum(&Bag::distinct); }

  void add(uint64_t key) {
    keys.add(key);
    changed();
  }
  void remove(uint64_t key) {
    keys.remove(key);
    changed();
  }
  void clear() {
    keys.clear();
    older.clear();
    changed();
  }
  void rotate() {
    older.insert(older.begin(), keys);
    older.resize(std::min<size_t>(older.size(), generations - 1));
    keys.clear();
    changed();
  }

 private:
  void changed() {
    if (set_items == nullptr || set_items.use_count() > 1 || set_items->has_value()) {
      set_items = std::make_shared<std::optional<uint64_t>>();
    }
  }
  uint64_t sum(uint64_t (Bag::*figure)() const) const {
    uint64_t total = (keys.*figure)();
    for (const Bag& bag : older) {
      total += (bag.*figure)();
    }
    return total;
  }
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
  bool or_full = false;     // or else to "full", which changes nothing
};

// What an INSERT of rows must come to. The rows go into filters[filter], or into the app table,
// whose trigger puts them into filters[0].
inline Expected insert_rows(const State& before, size_t filter, bool through_app,
                            const std::vector<NewRow>& rows, Policy policy) {
  using End = Expected::End;
  Expected result{End::kDone, before, false, ""};
  FilterState& target = result.after.filters[filter];
  bool or_full = false;
  const auto undone = [&](End end, bool rolls_back, const char* message) {
    return Expected{end, before, rolls_back, message, or_full};
  };
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
        return undone(End::kConstraint, policy == Policy::kRollback, "NULL");
      }
    } else if (target.full()) {
      return undone(End::kFull, false, "full: ");
    } else {
      target.add(row.key);
      or_full = result.or_full = or_full || target.may_be_full();
    }
    switch (row.raise) {
      case Raise::kNothing:
      case Raise::kIgnore:
        break;
      case Raise::kFail:
        result.end = End::kConstraint;
        return result;
      default:
        return undone(End::kConstraint, row.raise == Raise::kRollback, "stop");
    }
  }
  return result;
}

}  // namespace cuckoo::test
