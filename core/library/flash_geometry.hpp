// What both devices of the library ask of an operation, and what a store asks of its geometry.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuckoo/flash_device.hpp>

namespace cuckoo {
inline namespace v1 {

// Of a device the first ones hold the superblock (superblock.hpp), the others the log.
inline constexpr uint32_t kSuperblocks = 2;

// D5: kInvalid, which names what is out of the device.
Status expect_readable(const FlashGeometry& geometry, uint64_t address, size_t bytes);
Status expect_programmable(const FlashGeometry& geometry, uint64_t address, size_t bytes);
Status expect_block(const FlashGeometry& geometry, uint32_t block);

}  // namespace v1
}  // namespace cuckoo
