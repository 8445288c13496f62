// A checkpoint of a flash store as bytes: everything that a mount must know, except the records
// written after it and the pieces of its index (stored_index.hpp). These are pure functions. The
// store cuts the bytes into the blocks that hold them.
//
// Bytes (varint: groups of seven bits, lowest first, the high bit set on all but the last)
//   1   format version
//       varints: next LSN, heads, charged units, next sequence
//   8   state
//       varints: block + 1, offset, next + 1 of the hot and of the cold stream (+ 1: 0 is none)
//       varints: user bytes, programmed bytes, erases, collections, checkpoints
//       varint: number of touched blocks, then of each
//         1  kind; 16 is added when it is failing
//            varints: erase count, units that are not used yet, dead units
//            varints: sequence and newest LSN, each as the difference to the block before (to 0
//            for the first): d is written as 2d, and as -2d - 1 if it is negative
//       varint: number of the index's pieces, then of each
//         varint: block · 4 first hash · varint: entries
//       varint: number of the index entries that are in no piece, then these, as in a piece
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/blocks.hpp"
#include "core/flash/stored_index.hpp"

namespace cuckoo::core {

struct FlashCheckpoint {
  uint64_t next_lsn = 1;
  uint64_t heads = 0;
  uint64_t charged_units = 0;
  uint64_t next_sequence = 1;
  uint64_t state = 0;
  FlashStream hot, cold;
  uint64_t user_bytes = 0, programmed_bytes = 0, erases = 0, collections = 0, checkpoints = 0;
  std::vector<FlashBlock> blocks;
  std::vector<FlashIndexPiece> pieces;
  FlashIndexEntries rest;  // by ascending (hash, position), none before those of the pieces
};

std::vector<std::byte> encode_flash_checkpoint(const FlashCheckpoint& checkpoint,
                                               const FlashGeometry& geometry);
// kCorrupt: a value that this geometry can't have; the text says which.
Result<FlashCheckpoint> decode_flash_checkpoint(std::span<const std::byte> bytes,
                                                const FlashGeometry& geometry);

}  // namespace cuckoo::core
