// The virtual table hash_ring. With a key, it has the key's owners; without one, the nodes.
//
// A row's rowid has the node's id in the low 17 bits. The bits above them, below 2^53, are 0 in a
// node's own row. In the row of a key they are a hash of key, replica and replicas, because SQLite
// drops rows with equal rowids when it joins the branches of an OR.
//
// A statement may stay open while its ring changes. Then the nodes, and the owner of a key, are
// shown as they are when a column is read, like the row of an ordinary table. A node that is gone
// is NULL. The replicas of a key stay those that were found, because they are different nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "ext/ring/live_ring.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/command.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class HashRingTable : public StoredTable<LiveRing> {
 public:
  class Cursor;

  // The columns in the order of the declaration. The command column is the last one.
  enum Column : int {
    kNode,
    kWeight,
    kShare,
    kKey,
    kReplicas,
    kReplica,
    kCommand,
  };

  // The bits of a rowid: the node's id, and a hash.
  static constexpr unsigned kIdBits = 17;
  static constexpr unsigned kRowHashBits = 36;

  // idxNum, from xBestIndex to xFilter.
  enum Plan : int {
    kNodesPlan = 0,
    kNodePlan = 1,             // node = values[0]
    kOwnerPlan = 2,            // key = values[0]
    kOwnersPlan = 3,           // key = values[0], replicas = values[1]
    kRefuseNoKeyPlan = 4,      // a key, or replicas, is asked for and not given
    kRefuseReplicasPlan = 5,   // replicas compared other than by =, or not known yet
    kRefuseReplicaPlan = 6,    // replica without replicas
    kRefuseCollationPlan = 7,  // key compared with another collation than BINARY
  };

  explicit HashRingTable(const ModuleArguments& arguments);

  static bool owns_shadow(const char* suffix) noexcept {
    return is_shadow_suffix(suffix, kRingTables);
  }

  std::string declaration() const;
  void create();
  bool best_index(sqlite3_index_info* info);
  void update(int count, sqlite3_value** values, sqlite3_int64& rowid);
  void rename(const std::string& name);

  Affinity key_affinity() const noexcept { return key_affinity_; }
  // Notes that a statement read the share. UPDATE … FROM reads all columns and passes them back as
  // if they were new, so a share that was read is not a change.
  void share_was_read(uint32_t id, double share);

 private:
  static void refuse_name(const std::string& table);
  void insert(sqlite3_value** columns, sqlite3_int64& rowid);
  void update_node(sqlite3_int64 rowid, sqlite3_value** columns);
  uint32_t node_of_rowid(sqlite3_int64 rowid) const;
  std::string node_name(sqlite3_value* value) const;
  double node_weight(sqlite3_value* value) const;
  // If another node has that name, removes it under OR REPLACE, otherwise throws.
  void resolve_conflict(const std::string& node, uint32_t own_id);
  void refuse_computed(sqlite3_value** columns, sqlite3_value* old_rowid) const;

  static std::span<const Command<HashRingTable>> commands() noexcept;
  void run_clear(sqlite3_value*) { live_->clear(); }
  void run_import(sqlite3_value* value);
  void expect_own_options(const RingImage& image) const;

  sqlite3* db_;
  Options options_;
  std::string declared_name_;
  std::string key_type_;
  Affinity key_affinity_ = Affinity::kNone;
  std::vector<double> shares_read_;  // a node's, at its id
};

class HashRingTable::Cursor {
 public:
  explicit Cursor(HashRingTable& table);

  // Called for each row of a join. So the look-up of an owner is inline, and the rest is in a
  // function.
  void filter(int plan, const char*, int, sqlite3_value** values) {
    plan_ = plan;
    row_ = 0;
    version_ = live_.version();
    if (plan != kOwnerPlan || !live_.ready() ||
        live_.ring().options().algorithm == RingAlgorithm::kKetama) [[unlikely]] {
      filter_other(values);
      return;
    }
    const uint64_t seed = live_.ring().options().seed;
    if (is_plain_integer(values[0], affinity_)) {
      const int64_t key = sqlite3_value_int64(values[0]);
      key_.assign(key);
      owner_ = live_.ring().owner(hash_integer(key, seed));
    } else {
      key_.assign(values[0], affinity_);
      const KeyView key = key_.view();
      owner_ = key.type != SQLITE_NULL ? live_.ring().owner(hash_key(key, seed)) : 0;
    }
    rows_ = owner_ != 0 ? 1 : 0;
  }
  void next() {
    ++row_;
    if (plan_ == kNodesPlan) {
      skip_gone();
    }
  }
  bool eof() const noexcept { return row_ >= rows_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept;

 private:
  bool has_key() const noexcept { return plan_ == kOwnerPlan || plan_ == kOwnersPlan; }
  uint32_t node_id() const noexcept { return plan_ == kOwnerPlan ? owner_ : ids_[row_]; }
  void skip_gone();  // skips nodes that were removed since the scan began
  void filter_other(sqlite3_value** values);
  void filter_nodes(sqlite3_value** values);
  void filter_owners(sqlite3_value** values);
  void note_replicas();
  const RingNode* node_now(bool for_share);
  void replica_column(sqlite3_context* context, int column) const;
  void node_column(sqlite3_context* context, int column);
  uint64_t position_of(const KeyView& key) const;
  size_t replicas_of(sqlite3_value* value) const;
  [[noreturn]] void refuse() const;

  HashRingTable& table_;
  LiveRing& live_;
  Affinity affinity_;
  int plan_ = kNodesPlan;
  size_t row_ = 0;
  size_t rows_ = 0;
  uint32_t owner_ = 0;
  uint64_t version_ = 0;       // of the ring that owner_ is from
  std::vector<uint32_t> ids_;  // all plans but kOwnerPlan
  // In kOwnersPlan, each replica as it was when it was found. May have more, from an earlier row.
  struct Replica {
    std::string node;
    double weight = 0;
    double share = 0;
  };
  std::vector<Replica> found_;
  size_t replicas_ = 1;
  KeyCopy key_;
};

}  // namespace cuckoo
