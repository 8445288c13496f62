// The shadow tables of one hash_ring, and the ring that is stored in them: FORMAT.md,
// "Hash rings".
//
//   <table>_config                            as all tables have it
//   <table>_pages                             the slots: the table of owners
//   <table>_items(key PRIMARY KEY, value)     the nodes: name -> id, weight
//
// Nothing read from them is trusted. A broken invariant is SQLITE_CORRUPT_VTAB with a text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ring/hash_ring.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

extern const std::array<ShadowTable, 3> kRingTables;

std::span<const OptionSpec> ring_option_specs() noexcept;
// Throws SqlError that names the table if options contradict one another. If the seed is not given,
// it is 0, so that machines that replay the same statements name the same owners.
RingOptions chosen_ring_options(const std::string& table, const Options& options);
// Returns them as CREATE VIRTUAL TABLE has them: "hash_ring(algorithm = slots, seed = 0)".
std::string describe(const RingOptions& options);

// The record tells one state of a table from every other. It has the number of changes, and digests
// of everything stored. If its bytes are equal, the ring in memory is the stored one.
class RingRecord {
 public:
  static constexpr size_t kBytes = 48;
  using Bytes = std::array<std::byte, kBytes>;

  uint64_t changes = 0;
  uint32_t nodes = 0;
  uint64_t node_digest = 0;
  uint64_t slot_digest = 0;
  uint64_t options_digest = 0;

  Bytes encode() const noexcept;
  static std::optional<RingRecord> decode(std::span<const std::byte> bytes) noexcept;
};

class RingStore final : public ShadowStore {
 public:
  RingStore(sqlite3* db, const std::string& schema, const std::string& table)
      : ShadowStore(db, kRingTables, schema, table) {}

  // All throw SqlError.
  void create(const RingOptions& options);
  // Loads the stored ring, and checks it against the record.
  std::shared_ptr<HashRing> load(const RingRecord& record);

  void write_options(const RingOptions& options);  // replaces those that are there
  // Throws if the name is no well-formed text. SQLite changes such a text when it converts it to
  // UTF-16, so the node would have another name when it is read.
  void expect_storable(const std::string& name);
  void write_node(const RingNode& node);
  void erase_node(const std::string& name);
  void erase_all();
  void write_slots(HashRing& ring);  // the rows that changed
  void write_record(const RingRecord& record);

 protected:
  void finalize() noexcept override;

 private:
  [[noreturn]] void corrupt(const std::string& what) const;
  RingOptions stored_options();
  std::vector<RingNode> stored_nodes();
  std::vector<std::vector<std::byte>> stored_slots(uint64_t seed);

  Statement convert_, write_node_, erase_node_, write_page_;
};

uint64_t digest_of(const RingOptions& options) noexcept;

}  // namespace cuckoo
