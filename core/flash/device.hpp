// A flash device as the log sees it: read, program, erase. Who implements it: the simulator
// (flash_simulator.hpp, whose head comment is the fault model) and the shadow pages of a database.
//
// Layout
//   bytes     addressed 0 … size_bytes()-1, linearly
//   unit      program_unit_bytes bytes: what one program writes at least, once per erase
//   sector    sector_size_bytes bytes: what users count in
//   block     sectors_per_block sectors: what one erase clears, to all FF
//
// Rules
//   R1  a program clears bits only (1 -> 0); a unit is programmed at most once per erase.
//   R2  units of a block are programmed in ascending order (NAND).
//   R3  an erase sets a whole block to FF and wears it by one; beyond `endurance` it may fail.
//   R4  a read gives what was programmed, FF where nothing was.
//   R5  programs and erases reach the device in their order. On a device that reorders (policy.hpp)
//       only those before a sync() come before those after it.
//   R6  a device that is changed atomically, by a database, can't be asked a second time how an
//       erase ended: there it is a rule, erase_fails(), and erase() itself always clears the block.
// The caller never relies on a program or an erase that was not answered by ok().
//
// A failed operation answers with an Error: kStorage for a device that is gone (a power cut, an I/O
// error; nothing more can be done), kFlashFailure for a block that is worn out (go on elsewhere).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.hpp"

namespace cuckoo {

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

// kInvalid, naming the member and its range, when one is out of it.
Status check_geometry(const FlashGeometry& geometry);

// The rule of devices whose wear is computed (R6): a block's erases succeed up to `endurance`; each
// one beyond fails at the rate 10 / (endurance + 10), so blocks last a tenth longer on average. A
// function of its arguments alone; `erases`: the block's count, this one included.
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
  // Whole units within one block.
  virtual Status program(uint64_t address, std::span<const std::byte> units) = 0;
  virtual Status erase(uint32_t block) = 0;
  // R5. What reorders nothing has nothing to do.
  virtual Status sync() { return {}; }
  // R6: does the erase that makes the block's count `erases` fail?
  virtual bool erase_fails(uint32_t /*block*/, uint32_t /*erases*/) const noexcept { return false; }
};

}  // namespace cuckoo
