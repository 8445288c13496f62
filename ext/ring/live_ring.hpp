// One hash_ring table as this connection sees it: its shadow tables and the ring in memory.
//
// Every change is written at once. Memory is a cache of the stored ring, which the record names.
//
// Invariants
//   I1  after follow() memory holds the stored ring, as this connection sees it: it was read, or
//       its record was compared, after the last moment at which anything may have changed. In a
//       write transaction anything may have changed at any time, because SQLite does not announce a
//       roll-back to a savepoint that is older than the table.
//   I2  a look-up never writes.
//   I3  an error before the first write of a change leaves all as it was. An error after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the statement or the
//       transaction.
//   I4  version() differs whenever the ring in memory changed, or may be another one. Nothing that
//       was taken from the ring at another version is used, least of all a node's address.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ring/hash_ring.hpp"
#include "core/ring/image.hpp"
#include "core/ring/mark.hpp"
#include "ext/ring/store.hpp"
#include "ext/table/live_table.hpp"

namespace cuckoo {

class LiveRing final : public LiveTable {
 public:
  // For Connection::find().
  static constexpr const char* kWhat = "hash_ring";
  static constexpr const char* kKinds = "a hash_ring";
  static constexpr std::array<const char*, 1> kModules = {"hash_ring"};
  static const char* hint(std::string_view) noexcept { return ""; }

  LiveRing(Connection& connection, const std::string& schema, const std::string& table);

  RingStore& store() noexcept { return store_; }
  void orphan() noexcept override { ring_.reset(); }

  // Sets how the key column's type converts keys. Each instance of the table sets the same.
  void set_key_type(RingKeyType type) noexcept { key_type_ = type; }
  RingKeyType key_type() const noexcept { return key_type_; }

  void create(const RingOptions& options);
  void commit() noexcept { end_transaction(); }

  void follow() override;
  void prepare();  // calls follow() and build()
  void build();    // makes the points of the ring in memory, which look-ups need
  // Returns whether memory is current, as far as we know without asking SQLite. Enough between two
  // rows of a statement.
  bool current() const noexcept {
    return ring_ != nullptr && !stale_ && !rolled_back() && has_own_name();
  }
  bool ready() const noexcept { return current() && ring_->built(); }
  uint64_t version() const noexcept { return version_; }    // I4
  const HashRing& ring() const noexcept { return *ring_; }  // after follow()

  // Called in a write transaction.
  uint32_t insert(const std::string& name, double weight);
  void update(uint32_t id, const std::string& name, double weight);
  void remove(uint32_t id);
  void clear();
  // Replaces everything by the image. Throws SqlError. If its code does not undo the statement,
  // nothing was changed (I3).
  void import(const RingImage& image);

  std::string mark();
  std::vector<std::byte> export_image();

  void check_stored() override;

 private:
  // Every change is written at once.
  bool pending() const noexcept override { return false; }
  void write_pending() override {}
  void finish_changes() override {}
  void undo_transaction() noexcept override { stale_ = true; }
  void undo_to(int) noexcept override { stale_ = true; }

  RingRecord stored_record(const ShadowStore::HeldRecord& held) const;
  template <class Change, class Write>
  void change(std::string_view name, Change&& change, Write&& write);

  RingStore store_;
  RingKeyType key_type_ = RingKeyType::kNone;
  std::shared_ptr<HashRing> ring_;
  RingRecord record_;
  RingRecord::Bytes seen_{};  // the record that ring_ belongs to
  bool stale_ = false;        // something was rolled back, so the stored ring may be another
  uint64_t version_ = 0;
};

}  // namespace cuckoo
