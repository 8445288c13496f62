// Garbage collection: making room in the log.
//
// To collect a block, the *victim*, the store copies its live records to the cold stream, between
// two marks, and frees it. The victim has the largest dead units · age / (units of a block + live
// units), age by LSN (Rosenblum and Ousterhout 1992, section 3.5; blocks.hpp picks it). While few
// blocks are free, a put collects one block at most. It collects more only if there would be no
// room otherwise.
//
// Invariants
//   I1  the index and the live units don't change before the second mark is programmed. Until then
//       the copies do not count.
//   I2  after make_room() the batch, a checkpoint and a collection have room.
//   I3  on a device that wears out, a collection begins only if there is room for a checkpoint
//       after it, or if one was just written, because only a checkpoint frees blocks of the tail.
//       When no block can be freed any more, the device is worn out: kFull, whose text says so.
//   I4  a victim with a record that can't be read is given up (healer.hpp), and never chosen again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/flash/checkpointer.hpp"
#include "core/flash/healer.hpp"
#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashCollector {
 public:
  FlashCollector(FlashState& state, FlashLog& log, FlashCheckpointer& checkpointer,
                 FlashHealer& healer) noexcept
      : state_(state), log_(log), checkpointer_(checkpointer), healer_(healer) {}

  // Makes room for `units` units in `records` records of the hot stream. The store calls it before
  // a batch. Only here does it collect without a command.
  Status make_room(uint64_t units, uint32_t records);
  // Heals, collects every block with dead units, and writes a checkpoint before and after that.
  Status collect_all();

 private:
  uint64_t blocks_for(uint64_t units, uint32_t records) const noexcept;
  uint32_t pick_victim() const;
  uint32_t required_free() const noexcept;
  bool may_collect() const noexcept;
  Status collect(uint32_t victim);
  Result<uint32_t> copy_live(uint32_t victim, std::vector<FlashLogRecord>& copies);

  FlashState& state_;
  FlashLog& log_;
  FlashCheckpointer& checkpointer_;
  FlashHealer& healer_;
};

}  // namespace cuckoo::core
