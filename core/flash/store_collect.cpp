// FlashStore: making room. Which block is collected, when, and what that costs.
#include <algorithm>
#include <bit>
#include <string>

#include "core/flash/store.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kSpareBlocks = 2;  // so that a collection always has somewhere to copy to
constexpr uint32_t kSlackBlocks = 2;  // collection begins when so few more are free
constexpr uint32_t kWearMargin = 4;   // levelling begins so many erases before the gap
constexpr uint32_t kLeastWearGap = 32;
constexpr uint32_t kBlocksToLevel = 3;  // that collecting a block without anything dead may open
constexpr size_t kCheckpointFixedBytes = 256;
constexpr size_t kCheckpointBytesPerBlock = 28;

}  // namespace

// An upper bound: 4 bytes of hash and a varint of the distance for each entry.
uint32_t FlashStore::checkpoint_blocks_needed(uint64_t entries) const noexcept {
  const uint64_t units = geometry().units();
  uint64_t bytes =
      kCheckpointFixedBytes + uint64_t{blocks_.touched()} * kCheckpointBytesPerBlock + entries * 5;
  for (unsigned shift = 7; shift < 35; shift += 7) {
    bytes += std::min(entries, units >> shift);
  }
  const uint64_t payload =
      uint64_t{units_per_block() - kFlashHeaderUnits} * unit_bytes() - kFlashRecordFixedBytes;
  return static_cast<uint32_t>((bytes + payload - 1) / payload);
}

uint32_t FlashStore::reserved_blocks() const noexcept {
  constexpr uint32_t kOpenBlocks = 4;  // of the hot and the cold stream, and the next of each
  constexpr uint32_t kCheckpointRounding = 2;  // two checkpoints may coexist
  constexpr uint32_t kInFlightBlocks = 2;      // old and new versions do until a change is complete
  return kAnchorBlocks + kOpenBlocks + kSpareBlocks + kCheckpointRounding + kInFlightBlocks;
}

// Units in a block that are surely filled: a record that doesn't fit wastes less than a piece.
uint32_t FlashStore::filled_units() const noexcept {
  const uint32_t data_units = units_per_block() - kFlashHeaderUnits;
  return data_units - std::min(data_units - 1, piece_units() - 1);
}

uint64_t FlashStore::usable_units() const noexcept { return usable_units(blocks_.bad_count()); }

uint64_t FlashStore::usable_units(uint32_t bad_blocks) const noexcept {
  const uint32_t lost = reserved_blocks() + bad_blocks;
  if (lost >= geometry().blocks) {
    return 0;
  }
  const uint32_t checkpoint_share =
      (2 * kCheckpointBytesPerBlock + unit_bytes() - 1) / unit_bytes();
  const uint32_t per_block = std::max(filled_units(), checkpoint_share + 1) - checkpoint_share;
  return uint64_t{geometry().blocks - lost} * per_block;
}

uint32_t FlashStore::required_free() const noexcept {
  return kSpareBlocks + checkpoint_blocks_needed(index_.size());
}

// A collection takes two blocks at most before it frees one, if that one doesn't fail. Where it
// may, a checkpoint should be possible after it: without one, what is in the tail is never freed.
bool FlashStore::may_collect() const noexcept {
  return !options_.wears_out || blocks_.free_count() >= required_free();
}

// Sure of it where blocks fail; elsewhere ensure_room() sees to it.
bool FlashStore::checkpoint_fits(uint64_t entries) const noexcept {
  return !options_.wears_out || blocks_.free_count() >= checkpoint_blocks_needed(entries);
}

// Room for `units` units in `records` records of the hot stream, with enough left to write a
// checkpoint and to collect. Only here, before a batch begins, is anything collected.
Status FlashStore::ensure_room(uint64_t units, uint32_t records) {
  const auto blocks_wanted = [&]() -> uint64_t {
    const uint64_t left =
        s_.streams.hot.block == kNoBlock ? 0 : units_per_block() - s_.streams.hot.offset;
    if (units <= left && records == 1) {
      return 0;
    }
    const uint64_t per_block = filled_units();
    return (units > left ? (units - left + per_block - 1) / per_block : 0) + (records > 1 ? 1 : 0);
  };
  const auto wanted = [&] { return blocks_wanted() + required_free(); };
  if (blocks_.free_count() < wanted() + kSlackBlocks) {
    const uint32_t victim = blocks_.pick_victim(s_.streams, units_per_block(), s_.next_lsn);
    if (victim != kNoBlock && blocks_.free_count() > kSpareBlocks && may_collect()) {
      CUCKOO_TRY(fail(collect_block(victim)));
    }
  }
  // Every round frees a block or ends; one that frees none may still pack others.
  uint64_t rounds = 2 * uint64_t{blocks_.touched()} + 16;
  bool fresh_checkpoint = false;  // nothing was collected since
  bool had_checkpoint = false;
  while (blocks_.free_count() < wanted()) {
    const uint32_t victim = blocks_.pick_victim(s_.streams, units_per_block(), s_.next_lsn);
    const bool can_collect = victim != kNoBlock && rounds > 0 &&
                             (!options_.wears_out || blocks_.free_count() >= kSpareBlocks);
    const bool can_checkpoint =
        !fresh_checkpoint && blocks_.free_count() >= checkpoint_blocks_needed(index_.size());
    if (can_collect && (may_collect() || had_checkpoint || !can_checkpoint)) {
      --rounds;
      CUCKOO_TRY(fail(collect_block(victim)));
      fresh_checkpoint = false;
    } else if (can_checkpoint) {
      CUCKOO_TRY(checkpoint());
      fresh_checkpoint = had_checkpoint = true;
    } else {
      return worn_out_error("no block can be freed");
    }
  }
  return level_wear(units, wanted());
}

// Blocks that wear out soon are levelled when an eighth of their life lies between them.
uint32_t FlashStore::wear_gap() const noexcept {
  const uint32_t endurance = geometry().endurance_erases;
  const uint32_t least = options_.wears_out
                             ? std::clamp(endurance / 8, 2 * kWearMargin, kLeastWearGap)
                             : kLeastWearGap;
  return std::max(least, endurance / 50);
}

// Static wear levelling: data that never changes gives its little worn block up.
Status FlashStore::level_wear(uint64_t units, uint64_t wanted) {
  const FlashStream& hot = s_.streams.hot;
  const bool opens = hot.block == kNoBlock || hot.offset + units > units_per_block();
  if (!opens || hot.block == kNoBlock ||
      blocks_.at(hot.block).erase_count + kWearMargin < wear_gap()) {
    return {};
  }
  if (options_.wears_out && blocks_.free_count() < wanted + kBlocksToLevel) {
    return {};
  }
  const uint32_t victim = blocks_.pick_least_worn(s_.streams, wear_gap() - kWearMargin);
  return victim == kNoBlock || blocks_.free_count() <= required_free()
             ? Status{}
             : fail(collect_block(victim));
}

// Copies what is live to the cold stream, between two marks, and frees the block. Nothing in
// memory changes before the second mark is programmed: until then the copies are as if they were
// not there.
Status FlashStore::collect_block(uint32_t victim) {
  std::vector<Scanned> moves;
  const FlashBlock state = blocks_.at(victim);
  FlashStream& cold = s_.streams.cold;
  FlashRecordHeader mark;
  mark.type = FlashRecordType::kCollect;
  mark.lsn = s_.next_lsn;
  mark.previous = victim;
  Result<uint32_t> begun = append(cold, FlashPurpose::kCold, mark, {}, {});
  CUCKOO_TRY(begun.take_status());

  uint32_t units_left = state.live_units;
  for (uint32_t offset = kFlashHeaderUnits; offset < state.used_units && units_left > 0;) {
    const uint32_t from = victim * units_per_block() + offset;
    Scanned head;
    Result<bool> there = load_head(from, head);
    CUCKOO_TRY(there.take_status());
    if (!there.value()) {
      break;  // torn, or a program failed here: nothing behind it
    }
    const uint32_t units = head.header.units(unit_bytes());
    offset += units;
    const FlashRecordType type = head.header.type;
    if ((!head.header.is_entry() && type != FlashRecordType::kPart) ||
        !index_.contains(head.hash, from)) {
      continue;
    }
    Record record;
    CUCKOO_TRY(load(from, record));
    Scanned move;
    move.header = record.header;
    move.hash = head.hash;
    Result<uint32_t> to = append_copy(from, move.header, record.key, record.value);
    CUCKOO_TRY(to.take_status());
    move.position = to.value();
    moves.push_back(std::move(move));
    units_left -= std::min(units_left, units);
  }
  if (units_left != 0) {
    return corrupt("erase block " + std::to_string(victim) + " lacks " +
                   std::to_string(units_left) + " units that the index points to");
  }
  mark.type = FlashRecordType::kCollected;
  mark.previous = static_cast<uint32_t>(moves.size());
  Result<uint32_t> done = append(cold, FlashPurpose::kCold, mark, {}, {});
  CUCKOO_TRY(done.take_status());
  return apply_collection(moves, victim);
}

Status FlashStore::collect() {
  CUCKOO_TRY(checkpoint());
  std::vector<uint32_t> victims;
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    const FlashBlock state = blocks_.at(block);
    if (state.kind == FlashBlockKind::kData && block != s_.streams.hot.block &&
        block != s_.streams.cold.block && state.live_units + kFlashHeaderUnits < state.used_units) {
      victims.push_back(block);
    }
  }
  for (const uint32_t victim : victims) {
    if (blocks_.free_count() <= checkpoint_blocks_needed(index_.size()) || !may_collect()) {
      break;
    }
    if (!blocks_.in_tail(victim, s_.streams) && blocks_.at(victim).kind == FlashBlockKind::kData) {
      CUCKOO_TRY(fail(collect_block(victim)));
    }
  }
  return checkpoint();
}

bool FlashStore::checkpoint_due() const noexcept {
  constexpr uint64_t kTailSectors = 48;
  return s_.tail_read_bytes > index_.size() * 5 / 2 + kTailSectors * geometry().sector_size_bytes &&
         checkpoint_fits(index_.size());
}

}  // namespace cuckoo
