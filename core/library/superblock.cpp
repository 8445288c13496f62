#include "core/library/superblock.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/result.hpp"
#include "core/library/flash_geometry.hpp"

namespace cuckoo {
inline namespace v1 {
namespace {

constexpr std::string_view kMagic = "cuckooFS";
constexpr uint32_t kVersion = 1;
constexpr size_t kBytes = 64;  // a multiple of every size of a unit
using Bytes = std::array<std::byte, kBytes>;

Bytes encode(const Superblock& superblock) {
  Bytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  store_le(&bytes[8], kVersion);
  store_le(&bytes[12], superblock.geometry.sector_size_bytes);
  store_le(&bytes[16], superblock.geometry.sectors_per_block);
  store_le(&bytes[20], superblock.geometry.program_unit_bytes);
  store_le(&bytes[24], superblock.geometry.blocks);
  store_le(&bytes[28], superblock.seed);
  store_le(&bytes[60], crc32c(std::span(bytes).first(60)));
  return bytes;
}

bool is_superblock(const Bytes& bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0 &&
         load_le<uint32_t>(&bytes[60]) == crc32c(std::span(bytes).first(60));
}

std::string text_of(const FlashGeometry& geometry) {
  std::string text = std::to_string(geometry.blocks) + " erase blocks of ";
  text += std::to_string(geometry.sectors_per_block) + " sectors of ";
  text += std::to_string(geometry.sector_size_bytes) + " bytes in units of ";
  return text + std::to_string(geometry.program_unit_bytes);
}

Result<std::optional<Superblock>> decode(const Bytes& bytes, const FlashGeometry& geometry) {
  if (const auto version = load_le<uint32_t>(&bytes[8]); version != kVersion) {
    return corrupt("the store has version " + std::to_string(version) + "; expected " +
                   std::to_string(kVersion));
  }
  Superblock found{geometry, load_le<uint64_t>(&bytes[28])};
  found.geometry.sector_size_bytes = load_le<uint32_t>(&bytes[12]);
  found.geometry.sectors_per_block = load_le<uint32_t>(&bytes[16]);
  found.geometry.program_unit_bytes = load_le<uint32_t>(&bytes[20]);
  found.geometry.blocks = load_le<uint32_t>(&bytes[24]);
  if (found.geometry != geometry) {
    return corrupt("the store was made on a device of " + text_of(found.geometry) +
                   "; this one has " + text_of(geometry));
  }
  return std::optional(found);
}

}  // namespace

Result<std::optional<Superblock>> read_superblock(FlashDevice& device,
                                                  const FlashGeometry& geometry) {
  for (uint32_t block = 0; block < kSuperblocks; ++block) {
    Bytes bytes{};
    const Status read = device.read(uint64_t{block} * geometry.block_bytes(), bytes);
    if (!read.ok() && read.error().code != ErrorCode::kFlashFailure) {
      return read.error();
    }
    if (read.ok() && is_superblock(bytes)) {
      return decode(bytes, geometry);
    }
  }
  return std::optional<Superblock>();
}

Status write_superblock(FlashDevice& device, const Superblock& superblock) {
  const Bytes bytes = encode(superblock);
  Status failure;
  uint32_t written = 0;
  for (uint32_t block = 0; block < kSuperblocks; ++block) {
    Status done = device.erase(block);
    // The syncs make the first superblock complete before the second one is erased.
    if (done.ok()) {
      done = device.sync();
    }
    if (done.ok()) {
      done = device.program(uint64_t{block} * superblock.geometry.block_bytes(), bytes);
    }
    if (done.ok()) {
      done = device.sync();
    }
    written += done.ok() ? 1 : 0;
    if (!done.ok() && done.error().code != ErrorCode::kFlashFailure) {
      return done;
    }
    failure = std::move(done);
  }
  return written > 0 ? Status() : std::move(failure);
}

// The making of a store begins with the log. The log's first four erase blocks get three anchors
// and an empty checkpoint, some hundred bytes each. A store with an entry has used another block.
Result<bool> is_blank(FlashDevice& device, const FlashGeometry& geometry) {
  constexpr uint32_t kBegunBlocks = kSuperblocks + 4;
  constexpr size_t kBegunBytes = 512;
  std::vector<std::byte> bytes(geometry.block_bytes());
  for (uint32_t block = 0; block < geometry.blocks; ++block) {
    CUCKOO_TRY(device.read(uint64_t{block} * geometry.block_bytes(), bytes));
    const size_t from = block < kBegunBlocks ? kBegunBytes : 0;
    if (!std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0xFF}; })) {
      return false;
    }
  }
  return true;
}

}  // namespace v1
}  // namespace cuckoo
