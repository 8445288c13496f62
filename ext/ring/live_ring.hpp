// One hash_ring table as this connection sees it: its shadow tables and the ring in memory.
//
// Every change is written at once; memory is a cache of what is stored, told by the record.
//
// Invariants
//   I1  after follow() memory holds what is stored, as this connection sees it: it was read, or its
//       record compared, since anything may have changed. In a write transaction anything may have
//       changed at any time: a roll-back to a savepoint is not announced to a table that was made
//       behind it.
//   I2  a look-up never writes.
//   I3  an error before the first write of a change leaves all as it was; one after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the statement or the
//       transaction.
//   I4  version() differs whenever the ring in memory may be another one than before, or changed.
//       What was taken from the ring at another version is not used: a node's address least of all.
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

  // What the type of the key's column makes of a key; each instance of the table says the same.
  void set_key_type(RingKeyType type) noexcept { key_type_ = type; }
  RingKeyType key_type() const noexcept { return key_type_; }

  void create(const RingOptions& options);
  void commit() noexcept { end_transaction(); }

  void follow() override;
  void prepare();  // follow(), then what look-ups need
  void build();    // what look-ups need, of the ring that is in memory
  // As far as is known without asking SQLite: between two rows of a statement.
  bool current() const noexcept {
    return ring_ != nullptr && !stale_ && !rolled_back() && has_own_name();
  }
  bool ready() const noexcept { return current() && ring_->built(); }
  uint64_t version() const noexcept { return version_; }    // I4
  const HashRing& ring() const noexcept { return *ring_; }  // after follow()

  // In a write transaction.
  uint32_t insert(const std::string& name, double weight);
  void update(uint32_t id, const std::string& name, double weight);
  void remove(uint32_t id);
  void clear();
  // In the place of all that is there. Throws SqlError; nothing was changed unless its code undoes
  // the statement (I3).
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
  bool stale_ = false;        // … or not: something was rolled back
  uint64_t version_ = 0;
};

}  // namespace cuckoo
