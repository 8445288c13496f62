// Gives up erase blocks with records that can't be read, so that one damaged page costs its own
// records and no others.
//
// A read never heals: a look-up of a damaged key is an error, and other keys are found as before. A
// change that meets damage heals first, and so does a collection. What is sound in a damaged block
// moves to another one. The rest is *lost* (S4 of state.hpp): a look-up of such a key is an error
// until the key is replaced or removed, because only its hash is known.
//
// Invariants
//   I1  afterwards all entries can be read, except those that are lost, and I5 and I6 of store.hpp
//       hold. The parts of a value whose head is lost have left the index, if they can be read.
//   I2  nothing changes before all records were read, and it is known that there is room.
//   I3  the checkpoint at the end is what a mount finds: there are no records for a replay.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/flash/checkpointer.hpp"
#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashHealer {
 public:
  FlashHealer(FlashState& state, FlashLog& log, FlashCheckpointer& checkpointer) noexcept
      : state_(state), log_(log), checkpointer_(checkpointer) {}

  // Reads all blocks of data and all entries, and gives up every block that has something which
  // can't be read, and `suspect`. O(bytes).
  Status heal(uint32_t suspect = kNoBlock);

 private:
  struct Part {
    uint32_t position, hash, units;
    uint64_t lsn;
  };
  struct Survey {
    std::set<uint32_t> damaged;  // blocks
    std::vector<uint32_t> live;  // units that can be read, by block
    std::vector<Part> orphans;   // parts without their head
    uint64_t charged = 0;        // units of all heads that can be read
  };
  Result<bool> is_readable(uint32_t block);
  Status look(Survey& survey);
  Status expect_room(const Survey& survey) const;
  Status give_up(Survey& survey);
  Status move_sound(Survey& survey);

  FlashState& state_;
  FlashLog& log_;
  FlashCheckpointer& checkpointer_;
};

}  // namespace cuckoo::core
