#include "core/library/flash_geometry.hpp"

#include <string>

#include "core/flash/device.hpp"

namespace cuckoo {
inline namespace v1 {

Status FlashGeometry::check() const {
  core::FlashGeometry log;
  constexpr uint32_t kLeastBlocks = 16 + kSuperblocks;
  if (blocks < kLeastBlocks) {
    return invalid("number of erase blocks is " + std::to_string(blocks) + "; expected " +
                   std::to_string(kLeastBlocks) + " or more");
  }
  log.sector_size_bytes = sector_size_bytes;
  log.sectors_per_block = sectors_per_block;
  log.program_unit_bytes = program_unit_bytes;
  log.blocks = blocks;
  log.endurance_erases = endurance_erases;
  return check_geometry(log);
}

Status expect_readable(const FlashGeometry& geometry, uint64_t address, size_t bytes) {
  const uint64_t size = geometry.size_bytes();
  if (address <= size && bytes <= size - address) {
    return {};
  }
  return invalid("a read of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                 "; expected inside the device's " + std::to_string(size));
}

Status expect_programmable(const FlashGeometry& geometry, uint64_t address, size_t bytes) {
  const uint64_t size = geometry.size_bytes();
  const uint32_t unit = geometry.program_unit_bytes;
  const uint32_t block = geometry.block_bytes();
  if (address < size && address % unit == 0 && bytes % unit == 0 &&
      bytes <= block - address % block) {
    return {};
  }
  return invalid("a program of " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                 "; expected whole units of " + std::to_string(unit) + " in one erase block");
}

Status expect_block(const FlashGeometry& geometry, uint32_t block) {
  return block < geometry.blocks
             ? Status()
             : invalid("erase block " + std::to_string(block) + "; expected less than " +
                       std::to_string(geometry.blocks));
}

}  // namespace v1
}  // namespace cuckoo
