#include <algorithm>
#include <utility>

#include "core/base/result.hpp"
#include "core/library/flash_geometry.hpp"

namespace cuckoo {
inline namespace v1 {

MemoryDevice::MemoryDevice(const FlashGeometry& geometry)
    : geometry_(geometry), blocks_(geometry.blocks) {}

Result<std::unique_ptr<MemoryDevice>> MemoryDevice::create(const FlashGeometry& geometry) {
  CUCKOO_TRY(geometry.check());
  return std::unique_ptr<MemoryDevice>(new MemoryDevice(geometry));
}

Status MemoryDevice::read(uint64_t address, std::span<std::byte> out) {
  CUCKOO_TRY(expect_readable(geometry_, address, out.size()));
  const uint32_t size = geometry_.block_bytes();
  while (!out.empty()) {
    const std::vector<std::byte>& block = blocks_[address / size];
    const size_t offset = address % size;
    const size_t bytes = std::min<size_t>(out.size(), size - offset);
    if (block.empty()) {
      std::fill_n(out.begin(), bytes, std::byte{0xFF});
    } else {
      std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(offset), bytes, out.begin());
    }
    address += bytes;
    out = out.subspan(bytes);
  }
  return {};
}

Status MemoryDevice::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(expect_programmable(geometry_, address, units.size()));
  const uint32_t size = geometry_.block_bytes();
  std::vector<std::byte>& block = blocks_[address / size];
  if (block.empty()) {
    block.assign(size, std::byte{0xFF});
  }
  std::copy(units.begin(), units.end(),
            block.begin() + static_cast<std::ptrdiff_t>(address % size));
  return {};
}

Status MemoryDevice::erase(uint32_t block) {
  CUCKOO_TRY(expect_block(geometry_, block));
  std::vector<std::byte>().swap(blocks_[block]);
  return {};
}

}  // namespace v1
}  // namespace cuckoo
