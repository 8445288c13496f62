// hash_ring_moves(ring, 'add' | 'remove', node [, weight]): a table-valued function. Which share of
// the key space a change of that hash_ring would move from whom to whom; nothing is changed.
#pragma once

#include <string>
#include <vector>

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
    bool from_node;  // else from nobody: the ring was empty
    bool to_node;
    double share;
  };
  void compute(bool adds);

  Connection& connection_;
  // The arguments; the hidden columns show them.
  std::string ring_;
  std::string action_;
  std::string node_;
  double weight_ = 1;
  bool weight_given_ = false;
  std::vector<Move> moves_;
  size_t row_ = 0;
};

}  // namespace cuckoo
