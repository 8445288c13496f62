// Garbage collection: making room in the log.
//
// Collecting a block, the *victim*, copies what is live in it to the cold stream, between two
// marks, and frees it. The victim has the best (dead units · age) / (live units), age by LSN
// (Rosenblum and Ousterhout 1992, section 3.5; blocks.hpp picks it). One block a put is collected
// at most while few blocks are free; more only when otherwise no room would be left.
//
// Invariants
//   I1  the index and the live units don't change before the second mark is programmed: until then
//       the copies are as if they were not there.
//   I2  after make_room() the batch, a checkpoint and a collection have room.
//   I3  on a device that wears out a collection begins with room for a checkpoint after it, or when
//       one was just written: without any, what is in the tail is never freed. When nothing can be
//       freed any more the device is worn out: kFull, which says so.
#pragma once

#include <cstdint>
#include <vector>

#include "core/flash/checkpointer.hpp"
#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo {

class FlashCollector {
 public:
  FlashCollector(FlashState& state, FlashLog& log, FlashCheckpointer& checkpointer) noexcept
      : state_(state), log_(log), checkpointer_(checkpointer) {}

  // Room for `units` units in `records` records of the hot stream. Only here, before a batch
  // begins, is anything collected without being asked for.
  Status make_room(uint64_t units, uint32_t records);
  // Collects every block with something dead in it; a checkpoint before and after.
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
};

}  // namespace cuckoo
