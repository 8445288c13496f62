// hash_ring_moves(ring, 'add' | 'remove' | 'weight' | 'rename', node [, weight or new name]): a
// table-valued function. It shows which share of the key space would move from which node to which,
// if that hash_ring were changed so. It changes nothing.
#pragma once

#include <string>
#include <vector>

#include "core/ring/hash_ring.hpp"

#include "ext/sqlite/module.hpp"

namespace cuckoo {

class HashRingMoves {
 public:
  class Cursor;

  explicit HashRingMoves(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class HashRingMoves::Cursor {
 public:
  explicit Cursor(HashRingMoves& table) : connection_(table.connection()) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next() noexcept { ++row_; }
  bool eof() const noexcept { return row_ >= moves_.size(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(row_) + 1; }

 private:
  struct Move {
    std::string from;
    std::string to;
    bool from_node;  // false: the ring was empty, so the key space had no owner
    bool to_node;
    double share;
  };
  enum class Action { kAdd, kRemove, kWeight, kRename };
  // Returns false if an argument is NULL, so that there are no rows.
  bool read(int plan, sqlite3_value** values);
  void read_value(sqlite3_value* value, Action action);
  void compute();
  uint32_t change(HashRing& ring) const;

  Connection& connection_;
  // The arguments; the hidden columns show them.
  std::string ring_;
  std::string action_text_;
  Action action_ = Action::kAdd;
  std::string node_;
  double weight_ = 1;
  std::string new_name_;
  bool value_given_ = false;  // the last argument: a weight or a new name
  std::vector<Move> moves_;
  size_t row_ = 0;
};

}  // namespace cuckoo
