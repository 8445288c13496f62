// Checks of operations for both devices of the library, and the number of superblocks of a store.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuckoo/flash_device.hpp>

namespace cuckoo {
inline namespace v1 {

// The first erase blocks of a device hold the superblock (superblock.hpp), the others the log.
inline constexpr uint32_t kSuperblocks = 2;

// Check D5. They return kInvalid, whose text names the part that is not on the device.
Status expect_readable(const FlashGeometry& geometry, uint64_t address, size_t bytes);
Status expect_programmable(const FlashGeometry& geometry, uint64_t address, size_t bytes);
Status expect_block(const FlashGeometry& geometry, uint32_t block);

}  // namespace v1
}  // namespace cuckoo
