// The contents of each sector, for flash_kv_info(), flash_kv_sectors() and flash_kv_map().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ext/flash/live_flash.hpp"

namespace cuckoo {

enum class SectorState : uint8_t { kFree, kHot, kCold, kCheckpoint, kAnchor, kBad };

const char* state_name(SectorState state) noexcept;

struct SectorFacts {
  SectorState state = SectorState::kFree;
  uint32_t erase_count = 0;
  // These add up to the sector's size. Live are newest versions of keys, headers, and the newest
  // checkpoint.
  uint64_t live_bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t free_bytes = 0;
};

class FlashSurvey {
 public:
  // Reads the header of every live record. Throws SqlError.
  explicit FlashSurvey(LiveFlash& live);

  const FlashGeometry& geometry() const noexcept { return geometry_; }
  uint64_t sectors() const noexcept { return geometry_.sectors(); }
  SectorFacts sector(uint64_t index) const noexcept;
  // Returns the sums over all sectors.
  const SectorFacts& total() const noexcept { return total_; }

 private:
  struct Block {
    SectorState state = SectorState::kFree;
    uint32_t erase_count = 0;
    uint32_t used_units = 0;  // the units after these are free
  };

  void survey_blocks(LiveFlash& live);
  void count_live(LiveFlash& live);
  void add_live(uint64_t unit, uint64_t units) noexcept;

  FlashGeometry geometry_;
  uint32_t units_per_sector_;
  std::vector<Block> blocks_;         // those that were ever used; all others are free
  std::vector<uint16_t> live_units_;  // of each sector of these blocks
  SectorFacts total_;
};

}  // namespace cuckoo
