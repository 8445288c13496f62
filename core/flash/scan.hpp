// Lists all entries of a store in LSN order, with their keys and values, as long as nothing changes
// the store.
//
// The hot stream is in LSN order. So the scan reads its blocks one after the other, once each. If
// something in a block is dead, the scan asks the index which of the block's records are live. It
// first lists the index if that is still on the device, because to fetch each would cost more. The
// cold stream has the records that collections moved, in no order. So the scan first lists these,
// and sorts the list by LSN. Then it merges them with the hot ones, and reads each by itself. For
// example, if the hot stream has the LSNs 5 and 9, and the cold one 7 and 2, the scan gives 2, 5,
// 7 and 9.
//
// Invariants
//   I1  next() gives exactly the records of entries that the index points to, by ascending LSN.
//   I2  a record that next() gives was verified as a whole. If next() passes over a record, it
//       verified the record's head. It is damage if a block has fewer live units than the block
//       table says, and an error if the hot stream is out of order.
//   I3  a scan does not notice changes of the store's blocks and index. A caller that changes the
//       store makes a new scan. A scan may go on in another store that is in the same state,
//       because it refers to no store between two calls.
//   I4  damage hides nothing that can be read. If a block is damaged, the scan asks the index where
//       the block's records are, and reads each by itself. A scan of kAll gives the error once,
//       after all that can be read. It does so also if an entry is lost (S4 of state.hpp). A scan
//       of kSound ends without an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashScan {
 public:
  // The store that is read. It must not change while the scan goes on.
  struct Source {
    FlashState& state;
    FlashLog& log;
  };
  enum class Of : bool { kAll, kSound };
  explicit FlashScan(Of of = Of::kAll) noexcept : of_(of) {}

  // Goes on to the next entry. Returns false if there is none.
  Result<bool> next(const Source& from);
  // Returns the put or head that the scan is at. Its views are valid until next(), and until a
  // record is loaded.
  const FlashLoadedRecord& record() const noexcept { return record_; }
  uint32_t position() const noexcept { return position_; }

 private:
  // The live entries of one block, in the order of their places.
  class Block {
   public:
    void open(const FlashState& state, uint32_t block) noexcept;
    // False: there are no more.
    Result<bool> next(const Source& from, FlashIndexEntries& entries);
    const FlashLoadedRecord& record() const noexcept { return record_; }
    uint32_t position() const noexcept { return position_; }
    uint32_t number() const noexcept { return number_; }
    // Returns where the record begins that could not be read, after an error.
    uint32_t damaged_at() const noexcept { return damaged_at_; }
    // Leaves the rest of the block.
    void leave() noexcept { live_units_ = 0; }

   private:
    Status load(const Source& from, uint32_t offset, size_t bytes, std::span<const std::byte>& out);
    Status expect_intact(std::span<const std::byte> bytes, uint32_t offset) const;
    Result<bool> is_live(FlashIndex& index, const FlashIndexEntries& entries,
                         std::span<const std::byte> head) const;
    Error lacks_units() const;

    uint32_t number_ = 0;
    uint32_t offset_ = 0;  // of the record after the current one
    uint32_t damaged_at_ = 0;
    uint32_t live_units_ = 0;  // from there on
    FlashBlock block_;
    FlashLoadedRecord record_;
    uint32_t position_ = 0;
    std::vector<std::byte> window_;  // the bytes of the block from unit window_at_ on
    uint32_t window_at_ = 0;
  };
  struct Cold {
    uint64_t lsn;
    uint32_t position;
  };

  static Status list(const Source& from, FlashIndexEntries& entries);
  Status begin(const Source& from);
  Status next_hot(const Source& from);
  Status pass_damage(const Source& from, uint32_t block, uint32_t offset, Status damage);
  Result<bool> end(const Source& from);

  Of of_;
  bool begun_ = false;
  uint64_t given_ = 0;
  Status damage_;                                      // the first
  std::vector<std::pair<uint64_t, uint32_t>> blocks_;  // hot ones: (sequence, number), ascending
  size_t next_block_ = 0;
  Block hot_;
  bool hot_there_ = false;  // hot_ is at a record that was not given yet
  uint64_t hot_lsn_ = 0;    // of the record that it is at
  std::vector<Cold> cold_;  // by LSN
  size_t next_cold_ = 0;
  // Of the whole index, by position. Empty until it is needed.
  FlashIndexEntries entries_;

  FlashLoadedRecord record_;
  uint32_t position_ = 0;
};

}  // namespace cuckoo::core
