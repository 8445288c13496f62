#include "ext/flash/survey.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/flash/record.hpp"

namespace cuckoo {

const char* state_name(SectorState state) noexcept {
  constexpr const char* kNames[] = {"free", "hot", "cold", "checkpoint", "anchor", "bad"};
  return kNames[static_cast<size_t>(state)];
}

FlashSurvey::FlashSurvey(LiveFlash& live)
    : geometry_(live.pages().geometry()),
      units_per_sector_(geometry_.sector_size_bytes / geometry_.program_unit_bytes),
      blocks_(live.flash().blocks().touched()),
      live_units_(uint64_t{live.flash().blocks().touched()} * geometry_.sectors_per_block) {
  survey_blocks(live);
  count_live(live);
  for (uint64_t i = 0; i < live_units_.size(); ++i) {
    const SectorFacts facts = sector(i);
    total_.live_bytes += facts.live_bytes;
    total_.dead_bytes += facts.dead_bytes;
    total_.free_bytes += facts.free_bytes;
  }
  total_.free_bytes += geometry_.size_bytes() - live_units_.size() * geometry_.sector_size_bytes;
}

// Looks at all blocks. A block of data has room after its last record only if its stream still
// writes to it. Only the newest hot block and the newest cold block are written to.
void FlashSurvey::survey_blocks(LiveFlash& live) {
  const FlashBlocks& table = live.flash().blocks();
  std::array<uint64_t, 2> newest{};
  std::array<uint32_t, 2> open{kNoBlock, kNoBlock};
  std::vector<std::byte> unit(geometry_.program_unit_bytes);
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    const FlashBlock block = table.at(i);
    Block& facts = blocks_[i];
    facts.erase_count = block.erase_count;
    facts.used_units = geometry_.units_per_block();
    switch (block.kind) {
      case FlashBlockKind::kFree:
      case FlashBlockKind::kReserved:
        facts.used_units = 0;
        break;
      case FlashBlockKind::kBad:
        facts.state = SectorState::kBad;
        break;
      case FlashBlockKind::kAnchor:
        facts.state = SectorState::kAnchor;
        facts.used_units = block.used_units;
        break;
      case FlashBlockKind::kCheckpoint:
        facts.state = SectorState::kCheckpoint;
        facts.used_units = block.used_units;
        break;
      case FlashBlockKind::kData: {
        live.expect(
            live.read_device(geometry_.block_address(i) + geometry_.program_unit_bytes, unit));
        const std::optional<FlashOpenHeader> header = decode_open_header(i, unit);
        const bool cold = header && header->purpose == FlashPurpose::kCold;
        facts.state = cold ? SectorState::kCold : SectorState::kHot;
        if (block.sequence >= newest[cold ? 1 : 0]) {
          newest[cold ? 1 : 0] = block.sequence;
          open[cold ? 1 : 0] = i;
        }
        break;
      }
    }
  }
  for (const uint32_t block : open) {
    if (block != kNoBlock) {
      blocks_[block].used_units = table.at(block).used_units;
    }
  }
}

void FlashSurvey::add_live(uint64_t unit, uint64_t units) noexcept {
  while (units > 0 && unit / units_per_sector_ < live_units_.size()) {
    const uint64_t here = std::min(units, units_per_sector_ - unit % units_per_sector_);
    live_units_[unit / units_per_sector_] += static_cast<uint16_t>(here);
    unit += here;
    units -= here;
  }
}

void FlashSurvey::count_live(LiveFlash& live) {
  const uint32_t units_per_block = geometry_.units_per_block();
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const bool is_data = block.state == SectorState::kHot || block.state == SectorState::kCold;
    if (block.used_units > 0 && block.state != SectorState::kBad) {
      add_live(uint64_t{i} * units_per_block,
               is_data ? std::min(block.used_units, kFlashHeaderUnits) : block.used_units);
    }
  }
  Result<FlashIndex::Entries> entries = live.flash().positions();
  live.expect(entries.take_status());
  for (const auto& [position, hash] : entries.value()) {
    std::byte bytes[kMaxFlashRecordHeaderBytes];
    const uint32_t block = position / units_per_block;
    const uint64_t end = geometry_.block_address(block) + geometry_.block_bytes();
    const uint64_t address = uint64_t{position} * geometry_.program_unit_bytes;
    const auto view = std::span(bytes).first(std::min<uint64_t>(sizeof bytes, end - address));
    live.expect(live.read_device(address, view));
    const auto header = decode_flash_record_header(view, live.flash().blocks().at(block).sequence,
                                                   position % units_per_block);
    if (header) {
      add_live(position, header->units(geometry_.program_unit_bytes));
    }
  }
}

SectorFacts FlashSurvey::sector(uint64_t index) const noexcept {
  SectorFacts facts;
  facts.free_bytes = geometry_.sector_size_bytes;
  if (index >= live_units_.size()) {
    return facts;
  }
  const Block& block = blocks_[index / geometry_.sectors_per_block];
  facts.state = block.state;
  facts.erase_count = block.erase_count;
  const uint64_t first = index % geometry_.sectors_per_block * units_per_sector_;
  const uint64_t used =
      std::clamp<uint64_t>(block.used_units, first, first + units_per_sector_) - first;
  const uint64_t live = std::min<uint64_t>(live_units_[index], used);
  facts.live_bytes = live * geometry_.program_unit_bytes;
  facts.dead_bytes = (used - live) * geometry_.program_unit_bytes;
  facts.free_bytes -= facts.live_bytes + facts.dead_bytes;
  return facts;
}

}  // namespace cuckoo
