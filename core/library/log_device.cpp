#include "core/library/log_device.hpp"

#include <algorithm>

#include "core/base/result.hpp"
#include "core/library/flash_geometry.hpp"

namespace cuckoo {
inline namespace v1 {
namespace {

// I1.
Status told(Status status) {
  if (status.ok() || status.error().code == ErrorCode::kFlashFailure) {
    return status;
  }
  Error error = status.take_error();
  error.code = ErrorCode::kStorage;
  return error;
}

}  // namespace

LogDevice::LogDevice(std::unique_ptr<v1::FlashDevice> device, const v1::FlashGeometry& geometry,
                     bool only_read)
    : device_(std::move(device)),
      offset_(uint64_t{kSuperblocks} * geometry.block_bytes()),
      only_reads_(only_read) {
  geometry_.sector_size_bytes = geometry.sector_size_bytes;
  geometry_.sectors_per_block = geometry.sectors_per_block;
  geometry_.program_unit_bytes = geometry.program_unit_bytes;
  geometry_.blocks = geometry.blocks - kSuperblocks;
  geometry_.endurance_erases = geometry.endurance_erases;
}

Status LogDevice::read(uint64_t address, std::span<std::byte> out) {
  CUCKOO_TRY(told(device_->read(offset_ + address, out)));
  const uint64_t size = geometry_.block_bytes();
  const uint64_t end = address + out.size();
  for (auto kept = kept_.lower_bound(static_cast<uint32_t>(address / size));
       kept != kept_.end() && kept->first * size < end; ++kept) {
    const uint64_t start = kept->first * size;
    const uint64_t from = std::max(address, start);
    const uint64_t to = std::min(end, start + size);
    std::copy_n(kept->second.data() + (from - start), to - from, out.data() + (from - address));
  }
  return {};
}

Status LogDevice::program(uint64_t address, std::span<const std::byte> units) {
  if (!only_reads_) {
    return told(device_->program(offset_ + address, units));
  }
  const uint32_t size = geometry_.block_bytes();
  const auto block = static_cast<uint32_t>(address / size);
  auto kept = kept_.find(block);
  if (kept == kept_.end()) {
    std::vector<std::byte> bytes(size);
    CUCKOO_TRY(read(uint64_t{block} * size, bytes));
    kept = kept_.emplace(block, std::move(bytes)).first;
  }
  std::copy(units.begin(), units.end(), kept->second.data() + address % size);
  return {};
}

Status LogDevice::erase(uint32_t block) {
  if (!only_reads_) {
    return told(device_->erase(kSuperblocks + block));
  }
  kept_[block].assign(geometry_.block_bytes(), std::byte{0xFF});
  return {};
}

Status LogDevice::sync() { return only_reads_ ? Status() : told(device_->sync()); }

}  // namespace v1
}  // namespace cuckoo
