#include "ext/ring/moves.hpp"

#include "core/ring/moves.hpp"

#include "ext/ring/live_ring.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// In the order of the declaration; the arguments are hidden.
enum Column : int { kFrom, kTo, kShare, kRing, kAction, kNode, kWeight };
constexpr int kArguments = 4;
constexpr int kAllGiven = (1 << kArguments) - 1;

}  // namespace

std::string HashRingMoves::declaration() const {
  return "CREATE TABLE x(from_node, to_node, share, ring TEXT HIDDEN, action TEXT HIDDEN,"
         " node TEXT HIDDEN, weight HIDDEN)";
}

bool HashRingMoves::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, kRing)) {
    return false;
  }
  info->estimatedCost = 100000;
  info->estimatedRows = 100;
  return true;
}

void HashRingMoves::Cursor::filter(int plan, const char*, int count, sqlite3_value** values) {
  moves_.clear();
  row_ = 0;
  constexpr int kWeightBit = 1 << (kWeight - kRing);
  if ((plan | kWeightBit) != kAllGiven) {
    throw SqlError(SQLITE_ERROR,
                   "hash_ring_moves: the arguments are ring, 'add' or 'remove', node [, weight]");
  }
  for (int i = 0; i < kArguments - 1; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
      return;
    }
  }
  ring_ = text_argument(values[0]);
  action_ = text_argument(values[1]);
  weight_given_ = count == kArguments && sqlite3_value_type(values[kArguments - 1]) != SQLITE_NULL;
  const std::string action = lower(action_);
  if (action != "add" && action != "remove") {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: unknown action \"" + printable(action_) +
                                     "\"; the actions are add, remove");
  }
  if (weight_given_ && action == "remove") {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: remove takes no weight");
  }
  if (sqlite3_value_type(values[2]) == SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, "hash_ring_moves: a node's name is a text, not a BLOB");
  }
  node_ = text_argument(values[2]);
  weight_ = 1;
  if (weight_given_) {
    const int type = sqlite3_value_numeric_type(values[3]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
      throw SqlError(SQLITE_ERROR, "hash_ring_moves: a weight is a number above 0");
    }
    weight_ = sqlite3_value_double(values[3]);
  }
  compute(action == "add");
}

void HashRingMoves::Cursor::compute(bool adds) {
  const auto table = connection_.find<LiveRing>(ring_);
  LiveRing& live = *table;
  live.prepare();
  const HashRing& before = live.ring();
  HashRing after(before);
  if (adds) {
    if (after.find(node_) != nullptr) {
      throw SqlError(SQLITE_ERROR, ring_ + ": node is there already: " + printable(node_));
    }
    throw_if(ring_, after.insert(node_, weight_).take_status());
  } else if (const RingNode* const found = after.find(node_); found != nullptr) {
    after.remove(found->id);
  } else {
    throw SqlError(SQLITE_ERROR, ring_ + ": no such node: " + printable(node_));
  }
  throw_if(ring_, after.build([&live] { return live.store().poll(); }));
  for (const RingMove& move : ring_moves(before, after)) {
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
    case kFrom:
      return move.from_node ? result_text(context, move.from) : sqlite3_result_null(context);
    case kTo:
      return move.to_node ? result_text(context, move.to) : sqlite3_result_null(context);
    case kShare:
      return sqlite3_result_double(context, move.share);
    case kRing:
      return result_text(context, ring_);
    case kAction:
      return result_text(context, action_);
    case kNode:
      return result_text(context, node_);
    default:
      return weight_given_ ? sqlite3_result_double(context, weight_) : sqlite3_result_null(context);
  }
}

}  // namespace cuckoo
