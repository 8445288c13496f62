// The shadow tables of one hash_ring, and the ring that is stored in them (FORMAT.md).
//
//   <table>_config(key PRIMARY KEY, value)    the options, one a row; 'record': digests (a BLOB)
//   <table>_items(key PRIMARY KEY, value)     the nodes: name -> id, weight
//   <table>_pages(id INTEGER PRIMARY KEY, page)    slots: the table of owners
//
// Nothing read from them is trusted: what breaks an invariant is SQLITE_CORRUPT_VTAB with a text.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ring/hash_ring.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/shadow_tables.hpp"

namespace cuckoo {

inline constexpr std::array<ShadowTable, 3> kRingShadowTables = {{
    {"config", "(key PRIMARY KEY, value) WITHOUT ROWID"},
    {"items", "(key PRIMARY KEY, value) WITHOUT ROWID"},
    {"pages", "(id INTEGER PRIMARY KEY, page)"},
}};

std::span<const OptionSpec> ring_option_specs() noexcept;
// Throws SqlError that names the table when options contradict one another. Without the option the
// seed is 0: machines that replay the same statements name the same owners.
RingOptions chosen_ring_options(const std::string& table, const Options& options);

// What tells one state of a table from every other: how often it was changed, and digests of all
// that is stored. Equal bytes: the ring in memory is the one that is stored.
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

class RingStore {
 public:
  RingStore(sqlite3* db, std::string schema, std::string table);

  sqlite3* db() const noexcept { return db_; }
  const std::string& schema() const noexcept { return schema_; }
  const std::string& table() const noexcept { return table_; }

  // For long work: fails when the application wants it to stop.
  Status poll();

  // All throw SqlError.
  void create(const RingOptions& options);
  void destroy();
  void rename(const std::string& name);

  // False: what is stored under that name is no ring.
  bool exists() const;

  // The record's row, held: as long as it lives, all that is read comes from one commit.
  class HeldRecord {
   public:
    explicit HeldRecord(RingStore& store);
    ~HeldRecord() { store_.select_record_.reset(); }
    HeldRecord(const HeldRecord&) = delete;
    HeldRecord& operator=(const HeldRecord&) = delete;
    std::span<const std::byte> bytes() const { return store_.select_record_.bytes(0); }

   private:
    RingStore& store_;
  };

  // What is stored, checked against the record.
  std::shared_ptr<HashRing> load(const RingRecord& record);

  void write_node(const RingNode& node);
  void erase_node(const std::string& name);
  void erase_all();
  void write_slots(HashRing& ring);  // the rows that changed
  void write_record(const RingRecord& record);

 private:
  [[noreturn]] void corrupt(const std::string& what) const;
  // Runs `body`; a failure that means broken tables becomes SQLITE_CORRUPT_VTAB.
  template <class Body>
  auto reading(Body&& body);
  Statement& ready(Statement& statement, const char* sql);
  void finalize() noexcept;
  RingOptions stored_options();
  std::vector<RingNode> stored_nodes();
  std::vector<std::vector<std::byte>> stored_slots(uint64_t seed);

  sqlite3* db_;
  std::string schema_;
  std::string table_;
  std::chrono::steady_clock::time_point polled_at_{};
  Statement select_record_, write_option_, write_node_, erase_node_, write_page_;
};

uint64_t digest_of(const RingOptions& options) noexcept;

}  // namespace cuckoo
