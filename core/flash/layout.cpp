#include "core/flash/layout.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "core/flash/policy.hpp"

namespace cuckoo::core {
namespace {

constexpr size_t kCheckpointFixedBytes = 256;
constexpr size_t kCheckpointBytesPerBlock = 28;
constexpr size_t kCheckpointBytesPerPiece = 14;

// Blocks that are never charged to entries.
constexpr uint32_t kOpenBlocks = 4;          // of the hot and the cold stream, and the next of each
constexpr uint32_t kCheckpointRounding = 2;  // two checkpoints may coexist
constexpr uint32_t kInFlightBlocks = 2;      // old and new versions coexist during a change
constexpr uint32_t kReservedBlocks = FlashPolicy::kAnchorBlocks + kOpenBlocks + kFlashSpareBlocks +
                                     kCheckpointRounding + kInFlightBlocks;

}  // namespace

uint32_t FlashLayout::piece_units() const noexcept {
  constexpr uint32_t kMinPieceBytes = 128;
  return std::min(std::max(data_units() / 8, kMinPieceBytes / unit_bytes()), data_units());
}

size_t FlashLayout::max_key_bytes() const noexcept {
  return std::min<size_t>(bytes_of(data_units()) - kFlashHeadFixedBytes, 0xFFFF);
}

Result<uint64_t> FlashLayout::charge(size_t key_bytes, uint64_t value_bytes) const {
  constexpr uint64_t kMaxValueBytes = uint64_t{1} << 31;
  if (key_bytes > max_key_bytes()) {
    return invalid("key of " + std::to_string(key_bytes) + " bytes; expected at most " +
                   std::to_string(max_key_bytes()));
  }
  if (value_bytes >= kMaxValueBytes) {
    return invalid("value of " + std::to_string(value_bytes) + " bytes; expected less than 2^31");
  }
  const FlashPieces cut = pieces();
  const uint64_t parts = cut.parts(key_bytes, value_bytes);
  const uint32_t first = cut.first_units(key_bytes, value_bytes);
  uint64_t units = first + 1;
  if (first > piece_units()) {  // more than a piece may be wasted at a block's end
    units += first - piece_units();
  }
  if (parts > 0) {
    const uint64_t rest = value_bytes - cut.first_bytes(key_bytes, value_bytes);
    const uint64_t last = rest - (parts - 1) * cut.part_bytes();
    units += (parts - 1) * cut.part_units(cut.part_bytes()) + cut.part_units(last) + parts;
    units += cut.drop_units(parts);  // a removal of the value names its parts
  }
  return units;
}

uint32_t FlashLayout::filled_units() const noexcept {
  return data_units() - std::min(data_units() - 1, piece_units() - 1);
}

uint64_t FlashLayout::usable_units(uint32_t bad_blocks) const noexcept {
  const uint32_t lost = kReservedBlocks + bad_blocks;
  if (lost >= geometry_.blocks) {
    return 0;
  }
  const uint32_t checkpoint_share =
      (2 * kCheckpointBytesPerBlock + unit_bytes() - 1) / unit_bytes();
  const uint32_t per_block = std::max(filled_units(), checkpoint_share + 1) - checkpoint_share;
  return uint64_t{geometry_.blocks - lost} * per_block;
}

// Each entry takes two varints: its position, and the difference of its hash to the one before it.
// These differences sum to less than 2^32, so at most 2^32 / 2^k of them are 2^k or more.
uint32_t FlashLayout::checkpoint_blocks(uint32_t touched_blocks, uint64_t entries) const noexcept {
  constexpr uint64_t kHashes = uint64_t{1} << 32;
  const auto position_bits = static_cast<uint64_t>(std::bit_width(geometry_.units() - 1));
  uint64_t index = entries * (1 + (position_bits + 6) / 7);
  for (unsigned shift = 7; shift < 35; shift += 7) {
    index += std::min(entries, kHashes >> shift);
  }
  // A piece of the index wastes less than an entry, and begins with a whole hash.
  constexpr uint64_t kPieceWasteBytes = 9 + 4;
  const uint64_t payload = bytes_of(data_units()) - kFlashRecordFixedBytes;
  const uint64_t pieces = index / (payload - kPieceWasteBytes);
  const uint64_t bytes = kCheckpointFixedBytes +
                         uint64_t{touched_blocks} * kCheckpointBytesPerBlock + index +
                         pieces * (kPieceWasteBytes + kCheckpointBytesPerPiece);
  return static_cast<uint32_t>((bytes + payload - 1) / payload);
}

}  // namespace cuckoo::core
