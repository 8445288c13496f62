// All entries of a store in LSN order, with their keys and values, for as long as nothing changes
// the store.
//
// The hot stream is in LSN order. So its blocks are read one behind the other, once each, and the
// records are taken where they stand; which of them are live the index says, if anything in the
// block is dead. What collections moved to the cold stream is in no order: it is listed first,
// sorted, and read record by record, merged with the hot ones.
//
// Invariants
//   I1  gives exactly the records of entries that the index points to, by ascending LSN.
//   I2  a record that is given was verified, of one that is passed over its head was. A block in
//       which less is found than is live in it is an error, and so is a hot stream out of order.
//   I3  what becomes of the store's blocks and index is not noticed: who changes the store makes a
//       new scan. Another store in the same state will do: nothing of a store is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo {

class FlashScan {
 public:
  // What is read; all of it between two changes.
  struct Source {
    const FlashState& state;
    FlashLog& log;
  };
  // Goes on to the next entry. False: there is none.
  Result<bool> next(const Source& from);
  // The put or head that it is at. Its views are valid until next(), and until a record is loaded.
  const FlashLoadedRecord& record() const noexcept { return record_; }
  uint32_t position() const noexcept { return position_; }

 private:
  // The live entries of one block, in the order of their places.
  class Block {
   public:
    void open(const FlashState& state, uint32_t block) noexcept;
    Result<bool> next(const Source& from);  // false: there are no more
    const FlashLoadedRecord& record() const noexcept { return record_; }
    uint32_t position() const noexcept { return position_; }

   private:
    Status load(const Source& from, uint32_t offset, size_t bytes, std::span<const std::byte>& out);
    Status expect_intact(std::span<const std::byte> bytes, uint32_t offset) const;
    bool is_live(const FlashIndex& index, std::span<const std::byte> head) const;
    Error lacks_units() const;

    uint32_t number_ = 0;
    uint32_t offset_ = 0;      // of the record behind the one that it is at
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

  Status begin(const Source& from);
  Status next_hot(const Source& from);

  bool begun_ = false;
  std::vector<std::pair<uint64_t, uint32_t>> blocks_;  // hot ones: (sequence, number), ascending
  size_t next_block_ = 0;
  Block hot_;
  bool hot_there_ = false;  // hot_ is at a record that was not given yet
  uint64_t hot_lsn_ = 0;    // of the record that it is at
  std::vector<Cold> cold_;  // by LSN
  size_t next_cold_ = 0;

  FlashLoadedRecord record_;
  uint32_t position_ = 0;
};

}  // namespace cuckoo
