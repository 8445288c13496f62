// One flash_kv as this connection sees it: its shadow tables and the store in memory, kept in step.
//
// Invariants (beyond LiveTable's contract)
//   I1  memory is what the record names, or it has changes that flush() will write together with a
//       new record, or it is broken().
//   I2  each mark of the store's undo log has the number of the savepoint that it was made for. The
//       numbers ascend. Mark 0 is the beginning of the transaction. A roll-back to savepoint n goes
//       to the first mark whose number is n or more. SQLite doesn't announce savepoints that began
//       before the table took part in the transaction. The first mark after them serves for all of
//       these. If there is none, mark 0 does.
//   I3  after every roll-back the store's state and the pages' history are compared with the
//       record's at the next use. If they differ, the store is brought up to date as if another
//       connection had committed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/flash/store.hpp"
#include "ext/flash/options.hpp"
#include "ext/flash/pages.hpp"
#include "ext/table/live_table.hpp"

namespace cuckoo {

class LiveFlash final : public LiveTable {
 public:
  // For Connection::find() and all().
  static constexpr const char* kWhat = "flash_kv";
  static constexpr const char* kKinds = "a flash_kv";
  static constexpr std::array<const char*, 1> kModules = {"flash_kv"};
  static const char* hint(std::string_view) noexcept { return ""; }

  LiveFlash(Connection& connection, const std::string& schema, const std::string& table);

  void orphan() noexcept override { close(); }

  void create(const FlashOptions& options);
  // Sets the affinity with which the key is declared. The stored one must be the same.
  void declare_key(Affinity affinity);

  void follow() override;
  // Returns whether follow() would do nothing.
  bool ready() const noexcept {
    return mounted_ && !recheck_ && !broken_ && !rolled_back() && has_own_name();
  }
  FlashStore& flash() noexcept { return *flash_; }
  const FlashPages& pages() const noexcept { return *pages_; }
  const FlashOptions& options() const noexcept { return options_; }
  int64_t sector_of(const FlashEntry& entry) const noexcept {
    const FlashGeometry& geometry = pages_->geometry();
    return static_cast<int64_t>(uint64_t{entry.position} * geometry.program_unit_bytes /
                                geometry.sector_size_bytes);
  }

  // Change the table, while an instance of it is in a write transaction. They throw SqlError.
  void write(std::span<const FlashStore::Change> batch);
  // Returns false if the key is there already.
  bool insert(const HashedKey& key, std::span<const std::byte> value);
  // Makes the store anew if it can't be read.
  void clear();
  void collect();
  void resize(const std::string& argument);

  void check_stored() override;

  // The transaction contract, called by every instance.
  void commit() noexcept;

  // Returns the device of a store that can't be mounted. Throws SqlError if its options are
  // damaged.
  FlashPages& raw_device();
  FlashStoreOptions store_options() const;
  Affinity key_affinity() const noexcept { return key_affinity_; }

  // Reads the device directly, for FlashSurvey, which looks at it from outside the store.
  Status read_device(uint64_t address, std::span<std::byte> out) {
    return pages_->read(address, out);
  }
  // Throws if a call of the store failed.
  void expect(const Status& status) const;

 private:
  bool pending() const noexcept override {
    return mounted_ && !rolled_back() &&
           (pages_->dirty() || flash_->state() != flushed_state_ ||
            pages_->geometry().blocks != flushed_blocks_);
  }
  void finish_changes() override;
  void write_pending() override;
  void close() noexcept;
  void open(const FlashOptions& options);
  void reload();
  void mount(const FlashStateRecord& record);
  FlashStateRecord stored_record(const ShadowStore::HeldRecord& held) const;
  void expect_state(const FlashStateRecord& record) const;
  FlashStateRecord record() const;
  void set_flushed() noexcept;
  void format_anew();
  template <class Body>
  void change(Body&& body);
  [[noreturn]] void fail(const Status& status);
  void expect_whole() const;

  void savepoint_begun(int number) override;
  void savepoint_released(int number) noexcept override;
  void undo_transaction() noexcept override;
  void undo_to(int savepoint) noexcept override;
  size_t marks() const noexcept { return flash_ == nullptr ? 0 : flash_->marks(); }
  int savepoint_of(size_t mark) const noexcept { return flash_->undo_log().at(mark).savepoint; }
  void undo(size_t mark) noexcept;
  void end_marks() noexcept;
  void forget_memory() noexcept;

  ShadowStore store_;
  FlashOptions options_;
  Affinity key_affinity_ = Affinity::kNone;
  std::unique_ptr<FlashPages> pages_;  // over store_
  std::unique_ptr<FlashStore> flash_;  // over *pages_
  bool mounted_ = false;
  // The record's values, as this connection last wrote or read them.
  uint64_t flushed_state_ = 0;
  uint32_t flushed_blocks_ = 0;
  bool recheck_ = false;  // I3
  // A change failed half-way. Nothing in memory counts until SQLite rolls it back.
  bool broken_ = false;

  // Memory was read anew in the middle of a transaction. So a roll-back to an earlier savepoint
  // must read it again.
  bool marks_lost_ = false;
};

}  // namespace cuckoo
