// Where things are on a flash device and how much room they take: pure functions of its geometry.
//
// Space
//   A record longer than piece_units() is stored in pieces of that size, so a block wastes less
//   than one piece at its end. Blocks that are neither bad nor reserved are usable. In each of
//   them, entries get all units except its headers, a piece that may be wasted at its end, and its
//   share of two checkpoints. A key is charged the units of its pieces, one unit each for its place
//   in the checkpoints, and those of the record that names its parts when it is removed. A store is
//   full in two cases: the charges would exceed the usable units; or a change of more than
//   filled_units(), about an erase block, has no room beside the version that it replaces, because
//   both are there until the change is complete. A remove needs no charge.
//
// Invariants
//   I1  a position is block · units_per_block() + offset; address() is its first byte.
//   I2  a block's records fill at least filled_units() of it before the next one doesn't fit, if
//       none is longer than piece_units(). A longer record is charged for the units it may waste.
//   I3  entries that are charged usable_units() at most fit the device beside two checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.hpp"
#include "core/flash/device.hpp"
#include "core/flash/record.hpp"

namespace cuckoo::core {

struct FlashLocation {
  uint32_t block = 0;
  uint32_t offset = 0;  // in program units
};

// Blocks that are kept free, so that a collection always has room for its copies.
inline constexpr uint32_t kFlashSpareBlocks = 2;

class FlashLayout {
 public:
  explicit FlashLayout(const FlashGeometry& geometry) noexcept : geometry_(geometry) {}

  const FlashGeometry& geometry() const noexcept { return geometry_; }
  uint32_t unit_bytes() const noexcept { return geometry_.program_unit_bytes; }
  uint32_t units_per_block() const noexcept { return geometry_.units_per_block(); }
  size_t bytes_of(uint32_t units) const noexcept { return size_t{units} * unit_bytes(); }

  FlashLocation locate(uint32_t position) const noexcept {
    return {position / units_per_block(), position % units_per_block()};
  }
  uint32_t position(uint32_t block, uint32_t offset) const noexcept {
    return block * units_per_block() + offset;
  }
  uint64_t address(uint32_t position) const noexcept { return uint64_t{position} * unit_bytes(); }
  uint64_t block_address(uint32_t block) const noexcept { return geometry_.block_address(block); }
  // Returns the bytes from here to the block's end.
  size_t room_bytes(uint32_t offset) const noexcept { return bytes_of(units_per_block() - offset); }

  uint32_t piece_units() const noexcept;
  FlashPieces pieces() const noexcept { return {piece_units(), unit_bytes()}; }
  size_t max_key_bytes() const noexcept;
  // Returns the units that an entry of these lengths is charged; kInvalid if one is too long.
  Result<uint64_t> charge(size_t key_bytes, uint64_t value_bytes) const;

  uint32_t filled_units() const noexcept;  // I2
  uint64_t usable_units(uint32_t bad_blocks) const noexcept;
  // Returns an upper bound for so many entries, if so many blocks were ever used.
  uint32_t checkpoint_blocks(uint32_t touched_blocks, uint64_t entries) const noexcept;

 private:
  uint32_t data_units() const noexcept { return units_per_block() - kFlashHeaderUnits; }

  FlashGeometry geometry_;
};

}  // namespace cuckoo::core
