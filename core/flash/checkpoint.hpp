// A checkpoint of a flash store as bytes: everything that a mount must know, but for the records
// behind it. Pure functions; the store cuts the bytes into the blocks that hold them.
//
// Bytes (varint: groups of seven bits, lowest first, the high bit set on all but the last)
//   1   format version
//       varints: next LSN, heads, charged units, next sequence
//   8   state
//       varints: block + 1, offset, next + 1 of the hot and of the cold stream (+ 1: 0 is none)
//       varints: user bytes, programmed bytes, erases, collections, checkpoints
//       varint: number of touched blocks, then of each
//         1  kind; 16 is added when it is failing
//            varints: erase count, used units, live units, sequence, newest LSN
//       varint: number of index entries, then of each, by ascending position
//            varint: position less the one before it (0 before the first) · 4 hash
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/blocks.hpp"

namespace cuckoo {

struct FlashCheckpoint {
  uint64_t next_lsn = 1;
  uint64_t heads = 0;
  uint64_t charged_units = 0;
  uint64_t next_sequence = 1;
  uint64_t state = 0;
  FlashStream hot, cold;
  uint64_t user_bytes = 0, programmed_bytes = 0, erases = 0, collections = 0, checkpoints = 0;
  std::vector<FlashBlock> blocks;
  std::vector<std::pair<uint32_t, uint32_t>> entries;  // (position, hash), ascending
};

std::vector<std::byte> encode_flash_checkpoint(const FlashCheckpoint& checkpoint);
// kCorrupt, saying what: a value that this geometry can't have.
Result<FlashCheckpoint> decode_flash_checkpoint(std::span<const std::byte> bytes,
                                                const FlashGeometry& geometry);

}  // namespace cuckoo
