// HashRingTable::Cursor: gives all nodes, one node, or the owners of a key.
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "core/ring/real_text.hpp"
#include "ext/ring/table.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {
namespace {

// Gives a whole number as an integer, as a column of type NUMERIC would.
void result_weight(sqlite3_context* context, double weight) {
  if (weight == std::floor(weight)) {
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(weight));  // at most 1e15
  } else {
    sqlite3_result_double(context, weight);
  }
}

}  // namespace

HashRingTable::Cursor::Cursor(HashRingTable& table)
    : table_(table), live_(table.live()), affinity_(table.key_affinity()) {
  live_.follow();
}

void HashRingTable::Cursor::refuse() const {
  const std::string& name = live_.table();
  switch (plan_) {
    case kRefuseCollationPlan:
      throw SqlError(SQLITE_ERROR, name +
                                       ": keys are compared with BINARY collation only; write"
                                       " key = value COLLATE BINARY");
    case kRefuseReplicasPlan:
      throw SqlError(SQLITE_ERROR, name +
                                       ": how many replicas is given by replicas = n, a value"
                                       " known before the look-up");
    case kRefuseReplicaPlan:
      throw SqlError(SQLITE_ERROR, name +
                                       ": replica counts from 0 to replicas - 1: give"
                                       " replicas = n, too");
    default:
      throw SqlError(SQLITE_ERROR, name +
                                       ": key, replicas and replica need a key: key = value, or"
                                       " JOIN … ON key = column; without them the nodes are"
                                       " listed");
  }
}

void HashRingTable::Cursor::filter_other(sqlite3_value** values) {
  rows_ = 0;
  if (plan_ > kOwnersPlan) {
    refuse();
  }
  if (has_key()) {
    if (!live_.ready()) {
      live_.prepare();
      version_ = live_.version();
    }
    filter_owners(values);
  } else {
    live_.follow();
    filter_nodes(values);
  }
}

void HashRingTable::Cursor::filter_nodes(sqlite3_value** values) {
  const HashRing& ring = live_.ring();
  ids_.clear();
  if (plan_ == kNodePlan) {
    if (!is_null(values[0]) && sqlite3_value_type(values[0]) != SQLITE_BLOB) {
      std::string buffer;
      const RingNode* const node = ring.find(text_bytes(values[0], buffer));
      if (node != nullptr) {
        ids_.push_back(node->id);
      }
    }
  } else {
    for (uint32_t id = 1; id <= ring.last_id(); ++id) {
      if (ring.find(id) != nullptr) {
        ids_.push_back(id);
      }
    }
  }
  rows_ = ids_.size();
}

void HashRingTable::Cursor::skip_gone() {
  if (row_ < rows_ && !live_.current()) {
    live_.follow();
  }
  while (row_ < rows_ && live_.ring().find(ids_[row_]) == nullptr) {
    ++row_;
  }
}

// Returns a key's position on the ring. ketama's clients know texts only, so a key is taken as
// CAST(key AS TEXT) gives it, a BLOB as its bytes. JavaScript has no integers, and binds 42 as
// 42.0. From format 2 on, 42.0 is '42', too. The text of other reals comes from core, not from
// SQLite, so that a key's owner does not depend on SQLite's version.
uint64_t HashRingTable::Cursor::position_of(const KeyView& key) const {
  const HashRing& ring = live_.ring();
  if (ring.options().algorithm != RingAlgorithm::kKetama) {
    return hash_key(key, ring.options().seed);
  }
  const auto position = [&ring](std::string_view text) {
    return ring.ketama_position(bytes_of(text));
  };
  RealText room;
  const auto position_of_integer = [&](int64_t integer) {
    const char* const end = std::to_chars(room.data(), room.data() + room.size(), integer).ptr;
    return position({room.data(), static_cast<size_t>(end - room.data())});
  };
  switch (key.type) {
    case SQLITE_INTEGER:
      return position_of_integer(key.integer);
    case SQLITE_FLOAT:
      if (const auto integer = whole_number(key.real); integer && ring.options().format > 1) {
        return position_of_integer(*integer);
      }
      return position(real_text(key.real, room));
    default:
      return ring.ketama_position(bytes_of(key));
  }
}

size_t HashRingTable::Cursor::replicas_of(sqlite3_value* value) const {
  const int type = sqlite3_value_numeric_type(value);
  const double count = sqlite3_value_double(value);
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || count != std::floor(count) || count < 1) {
    throw SqlError(SQLITE_ERROR, live_.table() + ": replicas is a whole number from 1");
  }
  return count >= static_cast<double>(kMaxRingNodes) ? kMaxRingNodes : static_cast<size_t>(count);
}

void HashRingTable::Cursor::filter_owners(sqlite3_value** values) {
  key_.assign(values[0], affinity_);
  const KeyView key = key_.view();
  if (key.type == SQLITE_NULL || (plan_ == kOwnersPlan && is_null(values[1]))) {
    return;
  }
  const uint64_t position = position_of(key);
  if (plan_ == kOwnerPlan) {
    owner_ = live_.ring().owner(position);
    rows_ = owner_ != 0 ? 1 : 0;
    return;
  }
  replicas_ = replicas_of(values[1]);
  live_.ring().owners(position, replicas_, ids_);
  rows_ = ids_.size();
  note_replicas();
}

void HashRingTable::Cursor::note_replicas() {
  if (found_.size() < rows_) {
    found_.resize(rows_);
  }
  for (size_t i = 0; i < rows_; ++i) {
    const RingNode& node = *live_.ring().find(ids_[i]);
    found_[i].node = node.name;
    found_[i].weight = node.weight;
    found_[i].share = live_.ring().share(node.id).share();
  }
}

// Returns the row's node in the current ring, or null if it is gone. The result is valid until the
// ring may change. Anything that may read the ring anew comes first.
const RingNode* HashRingTable::Cursor::node_now(bool for_share) {
  if (!live_.current()) {  // something was rolled back, or another table took this one's place
    live_.follow();
  }
  const bool owner_changed = plan_ == kOwnerPlan && version_ != live_.version();
  if ((for_share || owner_changed) && !live_.ring().built()) {
    live_.build();
  }
  if (owner_changed) {
    owner_ = live_.ring().owner(position_of(key_.view()));
    version_ = live_.version();
  }
  return live_.ring().find(node_id());
}

void HashRingTable::Cursor::column(sqlite3_context* context, int column) {
  if (column == kNode && plan_ == kOwnerPlan && live_.current() && version_ == live_.version())
      [[likely]] {
    if (const RingNode* const node = live_.ring().find(owner_)) {
      sqlite3_result_text(context, node->name.data(), static_cast<int>(node->name.size()),
                          SQLITE_TRANSIENT);
    }
    return;
  }
  if (!has_key() && sqlite3_vtab_nochange(context) != 0) {  // an UPDATE lists nodes
    return;
  }
  switch (column) {
    case kKey:
      return has_key() ? key_.result(context) : sqlite3_result_null(context);
    case kReplicas:
      return has_key()
                 ? sqlite3_result_int64(context, static_cast<sqlite3_int64>(
                                                     plan_ == kOwnersPlan ? replicas_ : size_t{1}))
                 : sqlite3_result_null(context);
    case kReplica:
      return has_key() ? sqlite3_result_int64(context, static_cast<sqlite3_int64>(row_))
                       : sqlite3_result_null(context);
    default:
      return plan_ == kOwnersPlan ? replica_column(context, column) : node_column(context, column);
  }
}

void HashRingTable::Cursor::replica_column(sqlite3_context* context, int column) const {
  const Replica& replica = found_[row_];
  switch (column) {
    case kNode:
      return result_text(context, replica.node);
    case kWeight:
      return result_weight(context, replica.weight);
    case kShare:
      return sqlite3_result_double(context, replica.share);
    default:
      return;
  }
}

void HashRingTable::Cursor::node_column(sqlite3_context* context, int column) {
  const RingNode* const node = node_now(column == kShare);
  if (node == nullptr) {
    return;
  }
  switch (column) {
    case kNode:
      return result_text(context, node->name);
    case kWeight:
      return result_weight(context, node->weight);
    case kShare: {
      const double share = live_.ring().share(node->id).share();
      if (!has_key()) {
        table_.share_was_read(node->id, share);
      }
      return sqlite3_result_double(context, share);
    }
    default:
      return;
  }
}

sqlite3_int64 HashRingTable::Cursor::rowid() const noexcept {
  if (!has_key()) {
    return static_cast<sqlite3_int64>(node_id());
  }
  std::byte bytes[16];
  store_le(bytes, uint64_t{row_});
  store_le(bytes + 8, uint64_t{plan_ == kOwnersPlan ? replicas_ : size_t{1}});
  const uint64_t hash =
      XXH3_64bits_withSeed(bytes, sizeof bytes, hash_key(key_.view(), 0)) >> (64 - kRowHashBits);
  return static_cast<sqlite3_int64>((hash != 0 ? hash : 1) << kIdBits | node_id());
}

}  // namespace cuckoo
