#include "core/flash/device.hpp"

#include <bit>
#include <string>

#include "core/base/mix.hpp"

namespace cuckoo::core {

Status check_geometry(const FlashGeometry& geometry) {
  const auto out_of_range = [](const char* what, uint64_t value, const char* expected) {
    return invalid(std::string(what) + " is " + std::to_string(value) + "; expected " + expected);
  };
  if (!std::has_single_bit(geometry.sector_size_bytes) || geometry.sector_size_bytes < 512 ||
      geometry.sector_size_bytes > 65536) {
    return out_of_range("sector size", geometry.sector_size_bytes,
                        "a power of two, 512 … 65536 bytes");
  }
  if (geometry.sectors_per_block < 1 || geometry.sectors_per_block > 1024) {
    return out_of_range("erase block", geometry.sectors_per_block, "1 … 1024 sectors");
  }
  if (!std::has_single_bit(geometry.program_unit_bytes) || geometry.program_unit_bytes < 16 ||
      geometry.program_unit_bytes > 64) {
    return out_of_range("program unit", geometry.program_unit_bytes, "16, 32 or 64 bytes");
  }
  if (geometry.blocks < 16) {
    return out_of_range("number of erase blocks", geometry.blocks, "16 or more");
  }
  if (geometry.units() > uint64_t{1} << 32) {
    return out_of_range("number of program units", geometry.units(), "2^32 at most");
  }
  if (geometry.endurance_erases < 1 || geometry.endurance_erases > 1000000000) {
    return out_of_range("endurance", geometry.endurance_erases, "1 … 10^9 erases");
  }
  return {};
}

bool erase_fails_by_rule(uint64_t seed, uint32_t endurance, uint32_t block,
                         uint32_t erases) noexcept {
  constexpr uint32_t kFailing = 10;
  const uint64_t drawn = mix64(mix64(seed + block * kGoldenStep) + erases);
  return erases > endurance && (drawn >> 32) % (uint64_t{endurance} + kFailing) < kFailing;
}

}  // namespace cuckoo::core
