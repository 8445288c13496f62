// The log's part of a device: the blocks after the superblocks.
//
// Invariants
//   I1  only kFlashFailure keeps its meaning. Every other error of a device, whatever its code,
//       means that the device is gone.
//   I2  with only_read, nothing is written to the device. The blocks that the store erases or
//       programs are kept in memory, and are read from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/flash/device.hpp"

#include <cuckoo/flash_device.hpp>

namespace cuckoo {
inline namespace v1 {

class LogDevice final : public core::FlashDevice {
 public:
  LogDevice(std::unique_ptr<v1::FlashDevice> device, const v1::FlashGeometry& geometry,
            bool only_read);

  const core::FlashGeometry& geometry() const noexcept override { return geometry_; }
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;
  Status sync() override;

  bool only_reads() const noexcept { return only_reads_; }
  bool released() const noexcept { return device_ == nullptr; }
  v1::FlashDevice& device() noexcept { return *device_; }
  std::unique_ptr<v1::FlashDevice> release() noexcept { return std::move(device_); }

 private:
  std::unique_ptr<v1::FlashDevice> device_;
  const uint64_t offset_;
  core::FlashGeometry geometry_;
  const bool only_reads_;
  std::map<uint32_t, std::vector<std::byte>> kept_;  // blocks; only_reads_
};

}  // namespace v1
}  // namespace cuckoo
