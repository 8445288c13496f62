#include "core/flash/collector.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/flash/wear.hpp"

namespace cuckoo::core {

uint32_t FlashCollector::required_free() const noexcept {
  return kFlashSpareBlocks + checkpointer_.blocks_needed();
}

// Returns whether there is room for a checkpoint after a collection (I3). A collection takes two
// blocks at most. Then it frees one, unless that block fails.
bool FlashCollector::may_collect() const noexcept {
  return !state_.policy.wears_out() || state_.blocks.free_count() >= required_free();
}

uint32_t FlashCollector::pick_victim() const {
  return state_.blocks.pick_victim(state_.now.streams, state_.layout.units_per_block(),
                                   state_.now.next_lsn);
}

// Returns how many blocks at most the hot stream takes for these units and records.
uint64_t FlashCollector::blocks_for(uint64_t units, uint32_t records) const noexcept {
  const FlashStream& hot = state_.now.streams.hot;
  const uint64_t left = hot.block == kNoBlock ? 0 : state_.layout.units_per_block() - hot.offset;
  if (units <= left && records == 1) {
    return 0;
  }
  const uint64_t per_block = state_.layout.filled_units();
  return (units > left ? (units - left + per_block - 1) / per_block : 0) + (records > 1 ? 1 : 0);
}

Status FlashCollector::make_room(uint64_t units, uint32_t records) {
  constexpr uint32_t kSlackBlocks = 2;  // collection begins so many blocks early
  const FlashBlocks& blocks = state_.blocks;
  const auto wanted = [&] { return blocks_for(units, records) + required_free(); };
  if (blocks.free_count() < wanted() + kSlackBlocks) {
    const uint32_t victim = pick_victim();
    if (victim != kNoBlock && blocks.free_count() > kFlashSpareBlocks && may_collect()) {
      CUCKOO_TRY(state_.fail(collect(victim)));
    }
  }
  // A round may free no block, and only fill other blocks better. So the number of rounds is
  // limited.
  uint64_t rounds = 2 * uint64_t{blocks.touched()} + 16;
  bool fresh_checkpoint = false;  // nothing was collected since
  bool had_checkpoint = false;
  while (blocks.free_count() < wanted()) {
    const uint32_t victim = pick_victim();
    const bool can_collect =
        victim != kNoBlock && rounds > 0 &&
        (!state_.policy.wears_out() || blocks.free_count() >= kFlashSpareBlocks);
    const bool can_checkpoint =
        !fresh_checkpoint && blocks.free_count() >= checkpointer_.blocks_needed();
    if (can_collect && (may_collect() || had_checkpoint || !can_checkpoint)) {
      --rounds;
      CUCKOO_TRY(state_.fail(collect(victim)));
      fresh_checkpoint = false;
    } else if (can_checkpoint) {
      CUCKOO_TRY(checkpointer_.checkpoint());
      fresh_checkpoint = had_checkpoint = true;
    } else {
      return state_.full("no block can be freed");
    }
  }
  const uint32_t behind = block_to_level(state_, units, wanted());
  return behind == kNoBlock || blocks.free_count() <= required_free()
             ? Status()
             : state_.fail(collect(behind));
}

Status FlashCollector::collect(uint32_t victim) {
  const auto begin = FlashRecordHeader::collect(state_.now.next_lsn, victim);
  CUCKOO_TRY(log_.append_cold(begin, {}, {}).take_status());
  std::vector<FlashLogRecord> copies;
  Result<uint32_t> lacking = copy_live(victim, copies);
  if (lacking.ok() ? lacking.value() != 0 : lacking.error().code == ErrorCode::kCorrupt) {
    return healer_.heal(victim);
  }
  CUCKOO_TRY(lacking.take_status());
  const auto end =
      FlashRecordHeader::collected(state_.now.next_lsn, static_cast<uint32_t>(copies.size()));
  CUCKOO_TRY(log_.append_cold(end, {}, {}).take_status());
  CUCKOO_TRY(log_.sync());
  return state_.apply_collection(copies, victim);
}

// Copies the live records. Returns how many live units were not found.
Result<uint32_t> FlashCollector::copy_live(uint32_t victim, std::vector<FlashLogRecord>& copies) {
  const FlashBlock block = state_.blocks.at(victim);
  uint32_t units_left = block.live_units;
  for (uint32_t offset = kFlashHeaderUnits; offset < block.used_units && units_left > 0;) {
    const uint32_t from = state_.layout.position(victim, offset);
    FlashLogRecord head;
    CUCKOO_ASSIGN_OR_RETURN(const bool there, log_.read_head(from, head));
    if (!there) {
      break;  // torn, or a program failed here: nothing follows
    }
    const uint32_t units = head.header.units(state_.layout.unit_bytes());
    offset += units;
    if (!head.header.is_entry() && head.header.type != FlashRecordType::kPart) {
      continue;
    }
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(head.hash));
    if (!state_.index.contains(fetched, from)) {
      continue;
    }
    FlashLoadedRecord record;
    CUCKOO_TRY(log_.load(from, record));
    FlashLogRecord copy;
    copy.header = record.header;
    copy.hash = head.hash;
    CUCKOO_ASSIGN_OR_RETURN(copy.position,
                            log_.append_copy(from, copy.header, record.key, record.value));
    copies.push_back(std::move(copy));
    units_left -= std::min(units_left, units);
  }
  return units_left;
}

Status FlashCollector::collect_all() {
  CUCKOO_TRY(healer_.heal());
  CUCKOO_TRY(checkpointer_.checkpoint());
  const FlashStreams& streams = state_.now.streams;
  std::vector<uint32_t> victims;
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    const FlashBlock state = state_.blocks.at(block);
    if (state.kind == FlashBlockKind::kData && !streams.write_to(block) && state.has_dead()) {
      victims.push_back(block);
    }
  }
  for (const uint32_t victim : victims) {
    if (state_.blocks.free_count() <= checkpointer_.blocks_needed() || !may_collect()) {
      break;
    }
    if (!state_.blocks.in_tail(victim, streams) &&
        state_.blocks.at(victim).kind == FlashBlockKind::kData) {
      CUCKOO_TRY(state_.fail(collect(victim)));
    }
  }
  return checkpointer_.checkpoint();
}

}  // namespace cuckoo::core
