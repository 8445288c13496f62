// The superblock of a store: the geometry and the seed, which must be known before the log is read.
// It is written once, as the last step when the store is made, into each of the device's first two
// erase blocks. Nothing else uses these, and either of them is enough.
//
// Bytes (little-endian)
//   0   8   "cuckooFS"
//   8   4   version, 1
//   12  4   bytes of a sector · 4 sectors of an erase block · 4 bytes of a program unit · 4 blocks
//   28  8   seed of the keys' hashes
//   36  24  zero
//   60  4   CRC-32C of the bytes before
#pragma once

#include <cstdint>
#include <optional>

#include <cuckoo/flash_device.hpp>

namespace cuckoo {
inline namespace v1 {

struct Superblock {
  FlashGeometry geometry;
  uint64_t seed = 0;
};

// Reads the superblock. nullopt: there is none. kCorrupt: it has another version or geometry.
Result<std::optional<Superblock>> read_superblock(FlashDevice& device,
                                                  const FlashGeometry& geometry);
// Writes both copies. Syncs before, because a superblock says that all the rest is there, and
// after.
Status write_superblock(FlashDevice& device, const Superblock& superblock);
// Returns true if the device has nothing except the remains of a store that was not made
// completely. O(size).
Result<bool> is_blank(FlashDevice& device, const FlashGeometry& geometry);

}  // namespace v1
}  // namespace cuckoo
