// The superblock of a store: what must be known before its log is read. It is written once, when
// the store is made, as the last thing, into each of the device's first two erase blocks, which
// nothing else uses. Either of them is enough.
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

// nullopt: there is none. kCorrupt: one of another version or for another geometry.
Result<std::optional<Superblock>> read_superblock(FlashDevice& device,
                                                  const FlashGeometry& geometry);
// Syncs before, because it says that all the rest is there, and after.
Status write_superblock(FlashDevice& device, const Superblock& superblock);
// Is there nothing on the device, but for what the making of a store may have left, unfinished?
// O(size).
Result<bool> is_blank(FlashDevice& device, const FlashGeometry& geometry);

}  // namespace v1
}  // namespace cuckoo
