// A flash device as the log sees it: read, program, erase. Two classes implement it: the shadow
// pages of a database, and in the library a part of the program's device
// (core/library/flash_store.cpp). Tests and benchmarks have others, such as the simulator, whose
// head comment is the fault model (tests/support/flash_simulator.hpp).
//
// Layout
//   bytes     addressed 0 … size_bytes()-1, linearly
//   unit      program_unit_bytes bytes: one program writes whole units, each once per erase
//   sector    sector_size_bytes bytes: users count in sectors
//   block     sectors_per_block sectors: one erase sets a whole block to FF
//
// Rules
//   R1  a program clears bits only (1 -> 0); a unit is programmed at most once per erase.
//   R2  units of a block are programmed in ascending order (NAND).
//   R3  an erase sets a whole block to FF and wears it by one; beyond `endurance` it may fail.
//   R4  a read gives the bytes that were programmed, and FF where none were.
//   R5  programs and erases reach the device in their order. On a device that reorders (policy.hpp)
//       only those before a sync() come before those after it.
//   R6  on a device that a database changes atomically, a replay can't see how an erase ended. So
//       there a rule decides it, erase_fails(), and erase() itself always clears the block.
// The caller relies on a program or an erase only if it returned ok().
//
// A failed operation returns an Error. kStorage: the device is gone (a power cut, an I/O error),
// and nothing more can be done. kFlashFailure: the block is worn out, and the store goes on
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.hpp"

namespace cuckoo::core {

struct FlashGeometry {
  uint32_t sector_size_bytes = 1024;   // 512 … 65536, a power of two
  uint32_t sectors_per_block = 4;      // 1 … 1024
  uint32_t program_unit_bytes = 16;    // 16, 32 or 64
  uint32_t blocks = 4096;              // 16 or more; units() <= 2^32
  uint32_t endurance_erases = 100000;  // 1 … 10^9

  uint32_t block_bytes() const noexcept { return sector_size_bytes * sectors_per_block; }
  uint32_t units_per_block() const noexcept { return block_bytes() / program_unit_bytes; }
  uint64_t sectors() const noexcept { return uint64_t{blocks} * sectors_per_block; }
  uint64_t units() const noexcept { return uint64_t{blocks} * units_per_block(); }
  uint64_t size_bytes() const noexcept { return uint64_t{blocks} * block_bytes(); }
  uint64_t block_address(uint32_t block) const noexcept { return uint64_t{block} * block_bytes(); }

  friend bool operator==(const FlashGeometry&, const FlashGeometry&) = default;
};

// Returns kInvalid if a member is out of its range; the text names both.
Status check_geometry(const FlashGeometry& geometry);

// Returns whether an erase fails on a device whose wear is computed (R6). A block's erases succeed
// up to `endurance`. Each later one fails at the rate 10 / (endurance + 10), so blocks last a tenth
// longer on average. The answer depends on the arguments alone. `erases`: the block's erase count,
// this erase included.
bool erase_fails_by_rule(uint64_t seed, uint32_t endurance, uint32_t block,
                         uint32_t erases) noexcept;

class FlashDevice {
 public:
  FlashDevice() = default;
  FlashDevice(const FlashDevice&) = delete;
  FlashDevice& operator=(const FlashDevice&) = delete;
  virtual ~FlashDevice() = default;

  virtual const FlashGeometry& geometry() const noexcept = 0;
  // Any address and length within the device.
  virtual Status read(uint64_t address, std::span<std::byte> out) = 0;
  // Says that these bytes are about to be read, perhaps in several reads.
  virtual Status will_read(uint64_t /*address*/, uint64_t /*bytes*/) { return {}; }
  // Whole units within one block.
  virtual Status program(uint64_t address, std::span<const std::byte> units) = 0;
  virtual Status erase(uint32_t block) = 0;
  // R5. A device that reorders nothing has nothing to do.
  virtual Status sync() { return {}; }
  // R6. Returns whether the erase fails that makes the block's count `erases`.
  virtual bool erase_fails(uint32_t /*block*/, uint32_t /*erases*/) const noexcept { return false; }
};

}  // namespace cuckoo::core
