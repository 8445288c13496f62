// Replays the tail, that is the records after the newest checkpoint, in the order in which they
// were appended. A mount does that, and so does a store that follows another one. An object of this
// class lives as long as one replay.
//
// The hot stream is in LSN order. A collection begins with a mark that has the LSN of the batch
// that came next. By this LSN the replay merges the two streams.
//
// Invariants
//   I1  a batch or a collection is applied as a whole, when its end was read. A record that belongs
//       to none is passed over on a bare device, and is an error on an atomic one.
//   I2  a torn record is the last one in its block; a record after it is an error. Where a device
//       reorders, the replay verifies every record wholly. The log ends there with the first record
//       that is not whole, and the replay ignores all later ones, of both streams.
//   I3  on a bare device, no block becomes free that the newest batch or collection emptied,
//       because the end of that batch or collection may not be readable at the next mount. The
//       state holds such blocks (state.hpp).
//   I4  a change is whole: drops of all parts of the value that it replaces, then its entry or
//       tombstone, then all parts of its value. Otherwise the log is damaged.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

// A record, and all its bytes if it is the last one of a stream that may be torn.
struct FlashTailRecord : FlashLogRecord {
  std::vector<std::byte> whole;
};

class FlashReplay {
 public:
  // Blocks that were opened after the checkpoint: (sequence, block), ascending.
  using Opened = std::vector<std::pair<uint64_t, uint32_t>>;

  // Devices whose open blocks don't name the next one need `hot` and `cold`.
  FlashReplay(FlashState& state, FlashLog& log, Opened hot, Opened cold);

  Status run();

  // The last record of the newest batch, if nothing was collected after it.
  const FlashTailRecord& newest() const noexcept { return newest_; }
  // Returns true if the block has a part of a collection that was applied.
  bool applied(uint32_t block) const noexcept;

 private:
  // The records of a stream that were read and not yet consumed. They are in its current block or,
  // if `opens` is a block, in that one. That block is opened when its first record is consumed.
  struct Stream {
    FlashPurpose purpose;
    FlashStream& now;
    Opened opened;
    size_t next_opened = 0;
    std::vector<FlashTailRecord> records{};
    size_t next_record = 0;
    uint32_t opens = kNoBlock;
    uint32_t opens_erase_count = 0;
    FlashOpenHeader opens_header{};

    // Returns true in the block that has the stream's last program.
    bool in_last_block() const noexcept { return next_opened == opened.size(); }
  };

  Status replay_batch();
  Status replay_collection();
  Status begin_event();

  Result<const FlashTailRecord*> peek(Stream& stream);
  Result<bool> read_next_block(Stream& stream);
  Status consume(Stream& stream, FlashTailRecord& record);
  Status open(Stream& stream);
  Status consume_copies(Stream& stream, FlashTailRecord& record);

  Status scan_block(Stream& stream, uint32_t block, uint32_t offset, uint64_t sequence);
  Result<bool> scan_once(Stream& stream, uint32_t block, uint32_t offset, uint64_t sequence);
  Result<bool> is_whole(const FlashTailRecord& record, uint64_t sequence,
                        std::span<const std::byte> image);
  Result<bool> verify_last(Stream& stream, uint64_t sequence, std::span<const std::byte> image);
  Status expect_end(const Stream& stream, uint32_t block, uint32_t offset, uint64_t sequence);
  Status read_from(std::span<const std::byte> image, uint32_t position, std::span<std::byte> out);

  FlashState& state_;
  FlashLog& log_;
  Stream hot_;
  Stream cold_;
  FlashTailRecord newest_;
  std::vector<uint32_t> applied_;
};

}  // namespace cuckoo::core
