// FlashStore::check() checks every invariant, and reads the whole device to do so.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/bytes.hpp"
#include "core/flash/record.hpp"
#include "core/flash/store.hpp"

namespace cuckoo::core {

// Sums over the records, to be compared with those in memory.
struct FlashStore::Tally {
  std::vector<uint32_t> live;  // units, of each block
  uint64_t heads = 0;
  uint64_t lost = 0;  // entries, heads or parts
  uint64_t charged = 0;
  uint64_t part_bytes = 0;
  uint64_t part_bytes_expected = 0;
  std::unordered_multimap<uint32_t, std::vector<std::byte>> keys;  // by hash
};

Status FlashStore::check(const Poll& poll) {
  if (!mounted_ || state_.poisoned()) {
    return invalid("the store is not mounted");
  }
  CUCKOO_TRY(state_.check());
  if (state_.policy.mount_only_reads()) {  // elsewhere a power cut may have left anything
    CUCKOO_TRY(check_bytes(poll));
  }
  CUCKOO_TRY(check_records(poll));
  CUCKOO_TRY(check_interrupt(poll));
  CUCKOO_TRY(check_mount());
  return check_interrupt(poll);
}

Status FlashStore::check_bytes(const Poll& poll) {
  std::vector<std::byte> bytes(state_.layout.geometry().block_bytes());
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    CUCKOO_TRY(check_interrupt(poll));
    if (state_.blocks.at(block).kind != FlashBlockKind::kBad) {
      CUCKOO_TRY(check_block_bytes(block, bytes));
    }
  }
  return {};
}

// Checks that a block's bytes are just what its headers and records encode to, padding included.
// Two headers are in its first units. Records and marks follow, one after the other.
Status FlashStore::check_block_bytes(uint32_t block, std::vector<std::byte>& bytes) {
  const FlashLayout& layout = state_.layout;
  const auto wrong = [&](uint32_t offset) {
    return corrupt("unit " + std::to_string(layout.position(block, offset)) +
                   " holds bytes that are no header, mark or record as it is written");
  };
  CUCKOO_TRY(log_.read(layout.block_address(block), bytes));
  const auto unit = [&](uint32_t offset) {
    return std::span<const std::byte>(bytes).subspan(layout.bytes_of(offset), layout.unit_bytes());
  };
  std::vector<std::byte> own(layout.unit_bytes());
  if (const auto erase_count = decode_erase_header(block, unit(0)); erase_count) {
    encode_erase_header(block, *erase_count, own);
  }
  if (!is_erased(unit(0)) && !equal_bytes(unit(0), own)) {
    return wrong(0);
  }
  const auto opened = decode_open_header(block, unit(1));
  if (opened) {
    encode_open_header(block, *opened, own);
  }
  if (!is_erased(unit(1)) && !equal_bytes(unit(1), own)) {
    return wrong(1);
  }
  for (uint32_t offset = kFlashHeaderUnits; opened && offset < layout.units_per_block();) {
    const auto rest = std::span<const std::byte>(bytes).subspan(layout.bytes_of(offset));
    const auto header = decode_flash_record_header(
        rest.first(std::min(rest.size(), kMaxFlashRecordHeaderBytes)), opened->sequence, offset);
    const size_t size = header ? layout.bytes_of(header->units(layout.unit_bytes())) : 0;
    if (!header || size > rest.size()) {
      return {};  // nothing was appended here; check_record() checks what the index points to
    }
    const auto record = rest.first(size);
    if (header->is_mark() ? !is_erased(record.subspan(kFlashMarkBytes))
                          : !verify_whole_flash_record(*header, record, opened->sequence, offset)) {
      return wrong(offset);
    }
    offset += header->units(layout.unit_bytes());
  }
  return {};
}

Status FlashStore::check_records(const Poll& poll) {
  constexpr size_t kRecordsBetweenPolls = 256;
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Entries slots, positions());
  Tally tally;
  tally.live.resize(state_.blocks.touched());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i % kRecordsBetweenPolls == 0) {
      CUCKOO_TRY(check_interrupt(poll));
    }
    CUCKOO_TRY(check_record(slots[i].first, slots[i].second, tally));
  }
  CUCKOO_TRY(check_tally(tally));
  const uint64_t lost = state_.now.heads - tally.heads;
  return lost == 0 ? Status() : FlashState::lost(lost);
}

// Checks I5 for one slot.
Status FlashStore::check_record(uint32_t position, uint32_t hash, Tally& tally) {
  const auto wrong = [&](const std::string& what) {
    return corrupt("the record at unit " + std::to_string(position) + " " + what);
  };
  if (state_.is_lost(position)) {
    ++tally.lost;
    return {};
  }
  const auto [block, offset] = state_.layout.locate(position);
  const FlashBlock state = state_.blocks.at(block);
  if (block >= state_.blocks.touched() || state.kind != FlashBlockKind::kData ||
      offset < kFlashHeaderUnits || offset >= state.used_units) {
    return wrong("lies where no record can be (I5)");
  }
  FlashLoadedRecord record;
  CUCKOO_TRY(log_.load(position, record));
  const FlashRecordHeader header = record.header;
  tally.live[block] += header.units(state_.layout.unit_bytes());
  if (header.lsn >= state_.now.next_lsn) {
    return wrong("has seq " + std::to_string(header.lsn) + ", the next is " +
                 std::to_string(state_.now.next_lsn));
  }
  if (header.type == FlashRecordType::kPart) {
    tally.part_bytes += header.value_bytes;
    return hash == state_.index.part_hash(header.lsn, header.offset())
               ? Status()
               : wrong("has another hash than its slot (I5)");
  }
  if (!header.is_entry() || hash != state_.index.hash_of(record.key)) {
    return wrong("has another hash than its slot (I5)");
  }
  const auto [first, last] = tally.keys.equal_range(hash);
  for (auto other = first; other != last; ++other) {
    if (equal_bytes(other->second, record.key)) {
      return wrong("is the second head of its key (I5)");
    }
  }
  tally.keys.emplace(hash, std::vector<std::byte>(record.key.begin(), record.key.end()));
  ++tally.heads;
  const Result<uint64_t> charged = charge(header.key_bytes, header.total_value_bytes);
  if (!charged.ok()) {
    return wrong("has impossible lengths");
  }
  tally.charged += charged.value();
  tally.part_bytes_expected += header.total_value_bytes - header.value_bytes;
  std::vector<std::byte> value;
  return read_value({header.lsn, position, header.total_value_bytes}, record, value);
}

// Checks I5 for all slots together, and I6.
Status FlashStore::check_tally(const Tally& tally) const {
  if (tally.heads > state_.now.heads || state_.now.heads - tally.heads > tally.lost ||
      tally.charged != state_.now.charged_units || tally.part_bytes != tally.part_bytes_expected) {
    return corrupt("counted " + std::to_string(tally.heads) + " entries charged " +
                   std::to_string(tally.charged) + " units, noted are " +
                   std::to_string(state_.now.heads) + " and " +
                   std::to_string(state_.now.charged_units));
  }
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    const uint32_t noted = state_.blocks.at(block).live_units;
    if (tally.live[block] != noted) {
      return corrupt("erase block " + std::to_string(block) + " has " +
                     std::to_string(tally.live[block]) + " live units, noted are " +
                     std::to_string(noted) + " (I5)");
    }
  }
  if (tally.charged > usable_units() && state_.blocks.bad_count() == 0) {
    return corrupt("more is charged than is usable (I6)");
  }
  return {};
}

// Checks I1 where a mount writes nothing.
Status FlashStore::check_mount() {
  if (!state_.policy.mount_only_reads()) {
    return {};
  }
  FlashStore mounted(device_, options_);
  CUCKOO_TRY(mounted.mount());
  const std::string difference = difference_to(mounted);
  return difference.empty() ? Status()
                            : corrupt("a mount gives another state: " + difference + " (I1)");
}

}  // namespace cuckoo::core
