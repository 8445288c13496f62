#include "core/flash/state.hpp"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "core/base/mix.hpp"

namespace cuckoo::core {

FlashState::FlashState(FlashDevice& device, const FlashStoreOptions& options)
    : policy(options),
      layout(device.geometry()),
      blocks(device.geometry().blocks),
      index(SlotCacheOptions{options.hashes, options.ways, options.seed}),
      device_(device),
      index_options_{options.hashes, options.ways, options.seed} {
  blocks.note_in(undo);
  index.note_in(undo);
}

void FlashState::reset() {
  layout = FlashLayout(device_.geometry());
  undo.release(0);
  blocks = FlashBlocks(layout.geometry().blocks);
  blocks.note_in(undo);
  index = FlashIndex(index_options_);
  index.note_in(undo);
  set_registers({});
  poisoned_ = replaying_ = false;
  forget_held();
}

// Sets all registers except the counts of reads, because no undo takes back a read.
void FlashState::set_registers(FlashRegisters registers) noexcept {
  registers.stats.record_reads = now.stats.record_reads;
  registers.stats.false_reads = now.stats.false_reads;
  now = std::move(registers);
}

void FlashState::grow() {
  layout = FlashLayout(device_.geometry());
  blocks.grow(layout.geometry().blocks);
}

Status FlashState::fail(Status status) noexcept {
  poisoned_ = poisoned_ || !status.ok();
  return status;
}

Error FlashState::full(const std::string& why) const {
  const std::string bad = std::to_string(blocks.bad_count());
  return {ErrorCode::kFull, blocks.bad_count() == 0
                                ? why
                                : "worn out: " + bad + " of " + std::to_string(blocks.count()) +
                                      " erase blocks failed: " + why};
}

// --- what the log does ---------------------------------------------------------------------------

void FlashState::fold(uint64_t value) noexcept { now.digest = mix64(now.digest ^ value) + value; }

void FlashState::open(uint32_t block, FlashBlockKind kind, uint32_t erase_count,
                      uint64_t sequence) {
  blocks.open(block, kind, erase_count, sequence);
  fold(uint64_t{block} << 40 ^ sequence);
}

void FlashState::append(FlashStream& stream, const FlashRecordHeader& header, uint32_t position,
                        uint32_t crc) {
  const auto [block, offset] = layout.locate(position);
  stream.offset = offset + header.units(layout.unit_bytes());
  blocks.append(block, stream.offset, 0, header.is_mark() ? 0 : header.lsn);
  fold(header.lsn << 8 | static_cast<uint8_t>(header.type));
  fold(uint64_t{position} << 32 | crc);
  now.tail_read_bytes += header.header_bytes();
  if (!header.is_mark()) {
    now.tail_read_bytes +=
        header.key_bytes + 4u + (header.type == FlashRecordType::kDrop ? header.value_bytes : 0);
  }
}

Status FlashState::apply(const FlashLogRecord& record) {
  const FlashRecordHeader& header = record.header;
  if (header.type == FlashRecordType::kDrop) {
    return apply_drop(record);
  }
  now.next_lsn = std::max(now.next_lsn, header.lsn + 1);
  const uint32_t block = layout.locate(record.position).block;
  if (header.type == FlashRecordType::kPart) {
    index.insert(record.hash, record.position);
    blocks.add_live(block, header.units(layout.unit_bytes()));
    return {};
  }
  const bool removes = header.type == FlashRecordType::kTombstone;
  if (const uint32_t replaced = header.replaced(); replaced != 0) {
    const uint32_t value_bytes = header.replaced_value_bytes();
    const uint32_t units = layout.pieces().first_units(header.key_bytes, value_bytes);
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, fetch(record.hash));
    const bool known = removes ? index.remove(fetched, replaced)
                               : index.replace(fetched, replaced, record.position);
    const Result<uint64_t> charged =
        is_lost(replaced) ? Result<uint64_t>(uint64_t{0})
                          : charge(record.charged_before, header.key_bytes, value_bytes);
    if (!known || !charged.ok() || charged.value() > now.charged_units ||
        !may_die(replaced, units)) {
      return corrupt("the record at unit " + std::to_string(record.position) +
                     " replaces one that is not there");
    }
    now.charged_units -= charged.value();
    now.heads -= removes ? 1 : 0;
    CUCKOO_TRY(kill(replaced, units));
  } else if (!removes) {
    index.insert(record.hash, record.position);
    ++now.heads;
  }
  if (!removes) {
    blocks.add_live(block, header.units(layout.unit_bytes()));
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t charged,
                            charge(record.charged, header.key_bytes, header.total_value_bytes));
    now.charged_units += charged;
  }
  return {};
}

Status FlashState::apply_drop(const FlashLogRecord& record) {
  const FlashPieces cut = layout.pieces();
  const std::span<const std::byte> body = record.drop;
  const Error broken = corrupt("the drop at unit " + std::to_string(record.position) +
                               " names a part that is not there");
  if (body.size() < kFlashDropHeaderBytes || (body.size() - kFlashDropHeaderBytes) % 4 != 0) {
    return broken;
  }
  const uint64_t lsn = load_le48(&body[0]);
  uint64_t offset = load_le<uint32_t>(&body[6]);
  const uint64_t total = record.header.replaced_value_bytes();
  for (size_t at = kFlashDropHeaderBytes; at < body.size(); at += 4) {
    const auto position = load_le<uint32_t>(&body[at]);
    if (offset >= total) {
      return broken;
    }
    const uint32_t units = cut.part_units(std::min<uint64_t>(cut.part_bytes(), total - offset));
    const uint32_t hash = index.part_hash(lsn, static_cast<uint32_t>(offset));
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, fetch(hash));
    if (!index.remove(fetched, position) || !may_die(position, units)) {
      return broken;
    }
    CUCKOO_TRY(kill(position, units));
    offset += cut.part_bytes();
  }
  return {};
}

Status FlashState::apply_collection(std::span<const FlashLogRecord> copies, uint32_t victim) {
  const uint32_t count = layout.geometry().blocks;
  if (victim >= count) {
    return corrupt("a collection of erase block " + std::to_string(victim) + ", of " +
                   std::to_string(count));
  }
  for (const FlashLogRecord& copy : copies) {
    const uint32_t units = copy.header.units(layout.unit_bytes());
    CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, fetch(copy.hash));
    if (layout.locate(copy.header.copied_from()).block != victim ||
        blocks.at(victim).live_units < units ||
        !index.replace(fetched, copy.header.copied_from(), copy.position)) {
      return corrupt("the copy at unit " + std::to_string(copy.position) +
                     " is of a record that is not there");
    }
    blocks.add_live(layout.locate(copy.position).block, units);
    blocks.remove_live(victim, units);
  }
  if (blocks.at(victim).live_units != 0) {
    return corrupt("a collection left something in erase block " + std::to_string(victim));
  }
  ++now.stats.collections;
  return release_if_dead(victim);
}

// --- blocks that become free ---------------------------------------------------------------------

// Returns whether so many live units can die at that position. Those of a lost entry died before.
bool FlashState::may_die(uint32_t position, uint32_t units) const noexcept {
  const FlashBlock block = blocks.at(layout.locate(position).block);
  return block.live_units >= units || block.kind == FlashBlockKind::kBad;
}

Error FlashState::lost(uint64_t entries) {
  return corrupt(std::to_string(entries) + (entries == 1 ? " row was" : " rows were") +
                 " damaged, and can't be read any more");
}

Status FlashState::kill(uint32_t position, uint32_t units) {
  const uint32_t block = layout.locate(position).block;
  if (blocks.kind(block) == FlashBlockKind::kBad) {
    return {};
  }
  blocks.remove_live(block, units);
  return release_if_dead(block);
}

// On a device that wears out the block is erased, because the next check reads all of the device.
Status FlashState::give_up(uint32_t block) {
  if (policy.wears_out()) {
    blocks.set_erased(block, blocks.at(block).erase_count + 1);
    CUCKOO_TRY(device_.erase(block));
    ++now.stats.erases;
  }
  blocks.retire(block);
  return {};
}

void FlashState::take_back_given_up() {
  for (uint32_t block = 0; policy.wears_out() && block < blocks.touched(); ++block) {
    if (blocks.kind(block) == FlashBlockKind::kBad &&
        !device_.erase_fails(block, blocks.at(block).erase_count)) {
      blocks.take_back(block);
    }
  }
}

// Frees a block that nothing needs any more. On a device that wears out, the block's erase may
// fail. A rule says whether it fails, so that a replay retires the same blocks (S1).
Status FlashState::free_block(uint32_t block) {
  if (!policy.wears_out()) {
    blocks.release(block);
    return {};
  }
  const uint32_t erases = blocks.at(block).erase_count + 1;
  blocks.set_erased(block, erases);
  if (!replaying_) {
    CUCKOO_TRY(device_.erase(block));
    ++now.stats.erases;
  }
  if (device_.erase_fails(block, erases)) {
    blocks.retire(block);
  } else {
    blocks.release(block);
  }
  return {};
}

Status FlashState::release_if_dead(uint32_t block) {
  const FlashBlock state = blocks.at(block);
  if (state.kind != FlashBlockKind::kData || state.live_units != 0 || now.streams.write_to(block) ||
      blocks.in_tail(block, now.streams)) {
    return {};
  }
  if (holding_) {
    held_.push_back(block);
    return {};
  }
  return free_block(block);
}

Status FlashState::release_held() {
  holding_ = false;
  for (const uint32_t block : held_) {
    CUCKOO_TRY(release_if_dead(block));
  }
  held_.clear();
  return {};
}

void FlashState::forget_held() noexcept {
  holding_ = false;
  held_.clear();
}

Status FlashState::sweep() {
  std::vector<uint32_t> kept = now.checkpoint_blocks;
  std::sort(kept.begin(), kept.end());
  for (uint32_t block = 0; block < blocks.touched(); ++block) {
    const FlashBlockKind kind = blocks.kind(block);
    if (kind == FlashBlockKind::kData) {
      if (blocks.live_units(block) == 0) {
        CUCKOO_TRY(release_if_dead(block));
      }
    } else if ((kind == FlashBlockKind::kCheckpoint &&
                !std::binary_search(kept.begin(), kept.end(), block)) ||
               (kind == FlashBlockKind::kReserved && !now.streams.go_on_in(block))) {
      CUCKOO_TRY(free_block(block));
    }
  }
  return {};
}

// --- marks ---------------------------------------------------------------------------------------

void FlashState::undo_to(size_t number) noexcept {
  try {
    undo.undo_index(number, [this](const FlashIndexUndo& change) { index.undo(change); });
    undo.undo_blocks(number, [this](const FlashBlockUndo& change) { blocks.undo(change); });
    set_registers(undo.at(number).registers);
    undo.release(number + 1);
  } catch (...) {  // whatever it was, memory is of neither state now
    poisoned_ = true;
  }
}

// --- checks --------------------------------------------------------------------------------------

std::string FlashState::difference_to(FlashState& other) {
  for (const auto& [what, one, two] :
       {std::tuple("next seq", now.next_lsn, other.now.next_lsn),
        std::tuple("entries", now.heads, other.now.heads),
        std::tuple("charged units", now.charged_units, other.now.charged_units),
        std::tuple("checkpoint", now.checkpoint_id, other.now.checkpoint_id),
        std::tuple("bytes of the tail", now.tail_read_bytes, other.now.tail_read_bytes),
        std::tuple("state", now.digest, other.now.digest)}) {
    if (one != two) {
      return std::string(what)
          .append(" ")
          .append(std::to_string(one))
          .append(" and ")
          .append(std::to_string(two));
    }
  }
  if (now.checkpoint_blocks != other.now.checkpoint_blocks) {
    return "blocks of the checkpoint";
  }
  if (now.streams != other.now.streams) {
    return "streams";
  }
  for (uint32_t block = 0; block < std::max(blocks.touched(), other.blocks.touched()); ++block) {
    if (blocks.at(block) != other.blocks.at(block)) {
      return "erase block " + std::to_string(block);
    }
  }
  const Result<FlashIndex::Entries> own = index.by_position();
  const Result<FlashIndex::Entries> others = other.index.by_position();
  return !own.ok()                       ? own.error().message
         : !others.ok()                  ? others.error().message
         : own.value() == others.value() ? ""
                                         : "index";
}

Status FlashState::check() {
  CUCKOO_TRY(index.check());
  CUCKOO_TRY(blocks.check());
  const auto wrong = [](uint32_t block, const char* what) {
    return corrupt("erase block " + std::to_string(block) + " is not " + what + " (I7)");
  };
  for (const FlashStream* stream : {&now.streams.hot, &now.streams.cold}) {
    const FlashBlock state = blocks.at(stream->block);
    if (stream->block != kNoBlock &&
        (state.kind != FlashBlockKind::kData || state.used_units != stream->offset)) {
      return wrong(stream->block, "one of data that ends where its stream does");
    }
    if (stream->next != kNoBlock && blocks.at(stream->next).kind != FlashBlockKind::kReserved) {
      return wrong(stream->next, "reserved, but a stream names it as its next");
    }
  }
  for (uint32_t block = 0; block < blocks.touched(); ++block) {
    if (blocks.at(block).kind == FlashBlockKind::kReserved && !now.streams.go_on_in(block)) {
      return wrong(block, "a stream's next, but reserved");
    }
  }
  for (const uint32_t block : now.checkpoint_blocks) {
    if (blocks.at(block).kind != FlashBlockKind::kCheckpoint) {
      return wrong(block, "one of the checkpoint");
    }
  }
  const uint32_t anchor = now.streams.anchor.block;
  if (anchor != kNoBlock && blocks.at(anchor).kind != FlashBlockKind::kAnchor) {
    return wrong(anchor, "one of anchors");
  }
  return {};
}

}  // namespace cuckoo::core
