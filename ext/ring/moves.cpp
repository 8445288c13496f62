#include "ext/ring/moves.hpp"

#include <algorithm>
#include <iterator>

#include "core/ring/moves.hpp"

#include "ext/ring/live_ring.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// The columns in the order of the declaration; the arguments are hidden.
struct MovesColumn {
  enum : int { kFrom, kTo, kShare, kRing, kAction, kNode, kValue };
};
constexpr int kMovesArguments = 4;
constexpr int kAllMovesGiven = (1 << kMovesArguments) - 1;

constexpr const char* kActions[] = {"add", "remove", "weight", "rename"};  // as Action has them
constexpr char kUsage[] =
    "ring, 'add', 'remove', 'weight' or 'rename', node [, weight or new name]";

}  // namespace

std::string HashRingMoves::declaration() const {
  return "CREATE TABLE x(from_node, to_node, share, ring TEXT HIDDEN, action TEXT HIDDEN,"
         " node TEXT HIDDEN, weight HIDDEN)";
}

bool HashRingMoves::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, MovesColumn::kRing)) {
    return false;
  }
  info->estimatedCost = 100000;
  info->estimatedRows = 100;
  return true;
}

void HashRingMoves::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  moves_.clear();
  row_ = 0;
  if (read(plan, values)) {
    compute();
  }
}

bool HashRingMoves::Cursor::read(int plan, sqlite3_value** values) {
  constexpr int kValueBit = 1 << (MovesColumn::kValue - MovesColumn::kRing);
  if ((plan | kValueBit) != kAllMovesGiven) {
    throw SqlError(SQLITE_ERROR, std::string("hash_ring_moves: the arguments are ") + kUsage);
  }
  for (int i = 0; i < kMovesArguments - 1; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
      return false;
    }
  }
  ring_ = text_argument(values[0]);
  action_text_ = text_argument(values[1]);
  const std::string word = lower(action_text_);
  const auto known = std::find(std::begin(kActions), std::end(kActions), word);
  if (known == std::end(kActions)) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: unknown action \"" + printable(action_text_) +
                                     "\"; the actions are add, remove, weight, rename");
  }
  action_ = static_cast<Action>(known - std::begin(kActions));
  if (sqlite3_value_type(values[2]) == SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: a node's name is a text, not a BLOB");
  }
  node_ = text_argument(values[2]);
  const bool needs_value = action_ == Action::kWeight || action_ == Action::kRename;
  const bool has_value = (plan & kValueBit) != 0;
  if (needs_value && !has_value) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: " + word + " takes " +
                                     (action_ == Action::kWeight ? "a weight" : "a new name") +
                                     " after the node: the arguments are " + kUsage);
  }
  weight_ = 1;
  new_name_.clear();
  value_given_ = has_value && sqlite3_value_type(values[kMovesArguments - 1]) != SQLITE_NULL;
  if (value_given_) {
    read_value(values[kMovesArguments - 1], action_);
  }
  return value_given_ || !needs_value;
}

void HashRingMoves::Cursor::read_value(sqlite3_value* value, Action action) {
  if (action == Action::kRemove) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: remove takes no weight");
  }
  if (action == Action::kRename) {
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

// Makes the change. Returns the id of a node that it renames, otherwise 0.
uint32_t HashRingMoves::Cursor::change(HashRing& ring) const {
  const RingNode* const node = ring.find(node_);
  if (action_ == Action::kAdd) {
    if (node != nullptr) {
      throw SqlError(SQLITE_ERROR, ring_ + ": node is there already: " + printable(node_));
    }
    throw_if(ring_, ring.insert(node_, weight_).take_status());
    return 0;
  }
  if (node == nullptr) {
    throw SqlError(SQLITE_ERROR, ring_ + ": no such node: " + printable(node_));
  }
  const uint32_t id = node->id;
  switch (action_) {
    case Action::kWeight:
      throw_if(ring_, ring.update(id, node_, weight_));
      return 0;
    case Action::kRename:
      if (new_name_ != node_ && ring.find(new_name_) != nullptr) {
        throw SqlError(SQLITE_ERROR, ring_ + ": node is there already: " + printable(new_name_));
      }
      throw_if(ring_, ring.update(id, new_name_, node->weight));
      return new_name_ != node_ ? id : 0;
    default:
      ring.remove(id);
      return 0;
  }
}

void HashRingMoves::Cursor::compute() {
  const auto table = connection_.find<LiveRing>(ring_);
  LiveRing& live = *table;
  live.prepare();
  const HashRing& before = live.ring();
  HashRing after(before);
  const uint32_t renamed = change(after);
  throw_if(ring_, after.build([&live] { return live.store().poll(); }));
  for (const RingMove& move : ring_moves(before, after, renamed)) {
    const RingNode* const from = before.find(move.from);
    const RingNode* const to = after.find(move.to);
    moves_.push_back({from != nullptr ? from->name : std::string(),
                      to != nullptr ? to->name : std::string(), from != nullptr, to != nullptr,
                      move.part.share()});
  }
}

void HashRingMoves::Cursor::column(sqlite3_context* context, int column) {
  const Move& move = moves_[row_];
  switch (column) {
    case MovesColumn::kFrom:
      return move.from_node ? result_text(context, move.from) : sqlite3_result_null(context);
    case MovesColumn::kTo:
      return move.to_node ? result_text(context, move.to) : sqlite3_result_null(context);
    case MovesColumn::kShare:
      return sqlite3_result_double(context, move.share);
    case MovesColumn::kRing:
      return result_text(context, ring_);
    case MovesColumn::kAction:
      return result_text(context, action_text_);
    case MovesColumn::kNode:
      return result_text(context, node_);
    default:
      if (!value_given_) {
        return sqlite3_result_null(context);
      }
      return action_ == Action::kRename ? result_text(context, new_name_)
                                        : sqlite3_result_double(context, weight_);
  }
}

}  // namespace cuckoo
