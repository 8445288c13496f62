// hash_ring_moves(ring, 'add' | 'remove' | 'weight' | 'rename', node [, weight or new name]): a
// table-valued function. It shows which share of the key space would move from which node to which,
// if that hash_ring were changed so. It changes nothing.
#include "core/ring/moves.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ring/hash_ring.hpp"

#include "ext/ring/functions.hpp"
#include "ext/ring/live_ring.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"

namespace cuckoo {
namespace {

constexpr const char* kActions[] = {"add", "remove", "weight", "rename"};  // as Action has them
constexpr char kUsage[] =
    "ring, 'add', 'remove', 'weight' or 'rename', node [, weight or new name]";

class HashRingMoves {
 public:
  static void plan(sqlite3_index_info& info) noexcept { estimate(info, 100000, 100); }
  bool start(Connection& connection, const Arguments& arguments) {
    moves_.clear();
    const bool complete = read(arguments);
    if (complete) {
      compute(connection);
    }
    return complete;
  }
  bool find(uint64_t number) {
    row_ = number;
    return row_ < moves_.size();
  }

  struct Move {
    std::optional<std::string> from;  // nothing: the ring was empty, so the key space had no owner
    std::optional<std::string> to;
    double share;
  };
  const Move& move() const noexcept { return moves_[row_]; }
  std::optional<double> weight() const noexcept { return weight_; }

 private:
  enum class Action { kAdd, kRemove, kWeight, kRename };
  // Returns false if an argument is NULL, so that there are no rows.
  bool read(const Arguments& arguments);
  void read_value(sqlite3_value* value);
  void compute(Connection& connection);
  void change(HashRing& ring) const;

  // The arguments.
  std::string ring_;
  Action action_ = Action::kAdd;
  std::string node_;
  std::optional<double> weight_;  // if one is given
  std::string new_name_;
  std::vector<Move> moves_;
  uint64_t row_ = 0;
};

constexpr Column<HashRingMoves> kMovesColumns[] = {
    {"from_node", [](HashRingMoves& row) { return row.move().from; }},
    {"to_node", [](HashRingMoves& row) { return row.move().to; }},
    {"share", [](HashRingMoves& row) { return row.move().share; }},
    {"ring TEXT HIDDEN"},
    {"action TEXT HIDDEN"},
    {"node TEXT HIDDEN"},
    {"weight HIDDEN", [](HashRingMoves& row) { return row.weight(); }},
};

bool HashRingMoves::read(const Arguments& arguments) {
  constexpr size_t kNeeded = 3;
  for (size_t i = 0; i < kNeeded; ++i) {
    if (arguments[i] == nullptr) {
      throw SqlError(SQLITE_ERROR, std::string("hash_ring_moves: the arguments are ") + kUsage);
    }
  }
  for (size_t i = 0; i < kNeeded; ++i) {
    if (is_null(arguments[i])) {
      return false;
    }
  }
  ring_ = text_argument(arguments[0]);
  const std::string action = text_argument(arguments[1]);
  const std::string word = lower(action);
  const auto known = std::find(std::begin(kActions), std::end(kActions), word);
  if (known == std::end(kActions)) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: unknown action \"" + printable(action) +
                                     "\"; the actions are add, remove, weight, rename");
  }
  action_ = static_cast<Action>(known - std::begin(kActions));
  if (sqlite3_value_type(arguments[2]) == SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: a node's name is a text, not a BLOB");
  }
  node_ = text_argument(arguments[2]);
  const bool needs_value = action_ == Action::kWeight || action_ == Action::kRename;
  sqlite3_value* const value = arguments[3];
  if (needs_value && value == nullptr) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: " + word + " takes " +
                                     (action_ == Action::kWeight ? "a weight" : "a new name") +
                                     " after the node: the arguments are " + kUsage);
  }
  weight_.reset();
  new_name_.clear();
  const bool given = value != nullptr && !is_null(value);
  if (given) {
    read_value(value);
  }
  return given || !needs_value;
}

void HashRingMoves::read_value(sqlite3_value* value) {
  if (action_ == Action::kRemove) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: remove takes no weight");
  }
  if (action_ == Action::kRename) {
    if (sqlite3_value_type(value) == SQLITE_BLOB) {
      throw SqlError(SQLITE_ERROR, "hash_ring_moves: a node's new name is a text, not a BLOB");
    }
    new_name_ = text_argument(value);
    return;
  }
  const int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: a weight is a number above 0");
  }
  weight_ = sqlite3_value_double(value);
}

void HashRingMoves::change(HashRing& ring) const {
  const RingNode* const node = ring.find(node_);
  if (action_ == Action::kAdd) {
    if (node != nullptr) {
      throw SqlError(SQLITE_ERROR, ring_ + ": node is there already: " + printable(node_));
    }
    return throw_if(ring_, ring.insert(node_, weight_.value_or(1)).take_status());
  }
  if (node == nullptr) {
    throw SqlError(SQLITE_ERROR, ring_ + ": no such node: " + printable(node_));
  }
  const uint32_t id = node->id;
  switch (action_) {
    case Action::kWeight:
      return throw_if(ring_, ring.update(id, node_, *weight_));
    case Action::kRename:
      if (new_name_ != node_ && ring.find(new_name_) != nullptr) {
        throw SqlError(SQLITE_ERROR, ring_ + ": node is there already: " + printable(new_name_));
      }
      return throw_if(ring_, ring.update(id, new_name_, node->weight));
    default:
      return ring.remove(id);
  }
}

void HashRingMoves::compute(Connection& connection) {
  const auto table = connection.find<LiveRing>(ring_);
  LiveRing& live = *table;
  live.prepare();
  const HashRing& before = live.ring();
  HashRing after(before);
  change(after);
  throw_if(ring_, after.build([&live] { return live.store().poll(); }));
  for (const RingMove& move : ring_moves(before, after)) {
    const RingNode* const from = before.find(move.from);
    const RingNode* const to = after.find(move.to);
    moves_.push_back({from != nullptr ? std::optional(from->name) : std::nullopt,
                      to != nullptr ? std::optional(to->name) : std::nullopt, move.part.share()});
  }
}

}  // namespace

void register_ring_moves(Registration& registration) {
  registration.module<TableFunction<HashRingMoves, kMovesColumns>>("hash_ring_moves");
}

}  // namespace cuckoo
