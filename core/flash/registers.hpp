// The small parts of a flash store's state, which a mark copies as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/page_row.hpp"
#include "core/flash/blocks.hpp"

namespace cuckoo::core {

// Since the device was formatted, except for `…reads`: since the mount.
struct FlashStoreStats {
  uint64_t user_bytes = 0;  // of keys and values given to put(), of keys given to remove()
  uint64_t programmed_bytes = 0;
  uint64_t erases = 0;
  uint64_t collections = 0;
  uint64_t checkpoints = 0;
  uint64_t record_reads = 0;  // records read to answer get() and find()
  uint64_t false_reads = 0;   // records among these whose hash matched and whose key did not
  uint64_t notes = 0;         // bits that the caller set (FlashStore::note)
};

// Of a device whose pages are rows, as of the last row that was written. The device counts here, so
// that a roll-back takes that back, too.
struct FlashPageRows {
  PageCount count;
  uint64_t history = 0;  // a hash of all rows that were ever written, in their order
};

struct FlashRegisters {
  uint64_t digest = 0;  // of all that was done since the device was formatted
  FlashStreams streams;
  uint64_t next_lsn = 1;
  uint64_t heads = 0;  // entries
  uint64_t charged_units = 0;
  uint64_t tail_read_bytes = 0;  // that a mount would read after the checkpoint
  uint64_t checkpoint_id = 0;
  std::vector<uint32_t> checkpoint_blocks;
  FlashStoreStats stats;
  FlashPageRows rows;
};

}  // namespace cuckoo::core
