// FlashStore: the tail, that is the records behind the newest checkpoint, read and applied in the
// order in which they were appended. A mount does that, and a store that follows another one.
//
// The hot stream is in LSN order. A collection begins with a mark that holds the LSN of the batch
// that came next: the two streams merge by it. Records that no complete batch or collection holds
// are passed over when something may be torn, and an error otherwise.
#include <algorithm>
#include <iterator>
#include <string>

#include "core/flash/store.hpp"

namespace cuckoo {

Status FlashStore::count_read(uint64_t address, std::span<std::byte> out) {
  mount_read_bytes_ += mounted_ ? 0 : out.size();
  return device_.read(address, out);
}

// One record without its value; false: there is none. `image`: the block, if it was read already.
Result<bool> FlashStore::scan_record(uint32_t position, uint64_t sequence,
                                     std::span<const std::byte> image, Scanned& record) {
  const uint32_t offset = locate(position).offset;
  const uint64_t start = uint64_t{offset} * unit_bytes();
  const auto read = [&](uint64_t from, std::span<std::byte> out) -> Status {
    if (image.empty()) {
      return count_read(address(position) + from, out);
    }
    std::ranges::copy(image.subspan(start + from, out.size()), out.begin());
    return {};
  };
  const size_t room = size_t{units_per_block() - offset} * unit_bytes();
  std::byte bytes[kMaxFlashRecordHeaderBytes] = {};
  constexpr size_t kMostBytes = 20;  // of all headers but a head's
  size_t head_bytes = std::min(room, kMostBytes);
  CUCKOO_TRY(read(0, std::span(bytes).first(head_bytes)));
  if (static_cast<FlashRecordType>(bytes[0] & ~std::byte{kLastOfBatch}) == FlashRecordType::kHead &&
      room >= sizeof bytes) {
    CUCKOO_TRY(read(head_bytes, std::span(bytes).subspan(head_bytes)));
    head_bytes = sizeof bytes;
  }
  const std::optional<FlashRecordHeader> header =
      decode_flash_record_header(std::span(bytes).first(head_bytes), sequence, offset);
  if (!header) {
    return false;
  }
  const size_t size = size_t{header->units(unit_bytes())} * unit_bytes();
  if (size > room) {
    return false;
  }
  record = {};
  record.position = position;
  record.header = *header;
  if (header->is_mark()) {
    record.crc = load_le<uint32_t>(&bytes[12]);
    return true;
  }
  // Of a drop the value, too: it says what becomes of other records.
  const bool is_drop = header->type == FlashRecordType::kDrop;
  std::vector<std::byte> head(is_drop ? size : header->head_bytes());
  std::ranges::copy(std::span(bytes).first(header->header_bytes()), head.begin());
  CUCKOO_TRY(read(header->header_bytes(), std::span(head).subspan(header->header_bytes())));
  if (!verify_flash_head(std::span(head).first(header->head_bytes()), sequence, offset) ||
      (is_drop && !verify_flash_record(head, sequence, offset))) {
    return false;
  }
  record.crc = load_le<uint32_t>(&head[header->head_bytes() - 4]);
  if (is_drop) {
    const std::span<const std::byte> value = value_in(*header, head);
    record.drop.assign(value.begin(), value.end());
  } else {
    record.hash = header->type == FlashRecordType::kPart
                      ? index_.part_hash(header->lsn, header->offset())
                      : index_.hash_of(key_in(*header, head));
  }
  return true;
}

// All records of a block from `offset` on.
Status FlashStore::scan_block(TailStream& tail, uint32_t block, uint32_t offset,
                              uint64_t sequence) {
  constexpr int kTries = 2;  // a read may fail once without anything being torn
  bool at_end = false;
  for (int i = 0; i < kTries && !at_end; ++i) {
    Result<bool> scanned = scan_block_once(tail, block, offset, sequence);
    CUCKOO_TRY(scanned.take_status());
    at_end = scanned.value();
  }
  return at_end ? Status() : expect_end(tail, block, offset, sequence);
}

// False: it ends in something that is no record. What may be torn is read at once: it may read
// otherwise the next time.
Result<bool> FlashStore::scan_block_once(TailStream& tail, uint32_t block, uint32_t offset,
                                         uint64_t sequence) {
  tail.records.clear();
  tail.next_record = 0;
  const bool may_be_torn = !options_.atomic_device && tail.next_block == tail.blocks.size();
  std::vector<std::byte> image(may_be_torn ? geometry().block_bytes() : 0);
  CUCKOO_TRY(count_read(geometry().block_address(block), image));
  for (bool again = false; offset < units_per_block();) {
    Scanned record;
    Result<bool> there = scan_record(block * units_per_block() + offset, sequence, image, record);
    CUCKOO_TRY(there.take_status());
    if (!there.value() && (again || may_be_torn || options_.atomic_device)) {
      break;
    }
    again = !there.value();
    if (again) {
      continue;
    }
    offset += record.header.units(unit_bytes());
    tail.records.push_back(std::move(record));
  }
  if (options_.atomic_device) {
    return true;
  }
  bool at_end = true;
  if (!tail.records.empty() && !tail.records.back().header.is_mark()) {
    // Torn, or the program that failed before the stream left the block.
    Scanned& last = tail.records.back();
    const uint32_t last_offset = locate(last.position).offset;
    const size_t size = size_t{last.header.units(unit_bytes())} * unit_bytes();
    std::vector<std::byte> whole(size);
    if (may_be_torn) {
      std::ranges::copy(std::span(image).subspan(size_t{last_offset} * unit_bytes(), size),
                        whole.begin());
    } else {
      CUCKOO_TRY(count_read(address(last.position), whole));
    }
    at_end = verify_flash_record(whole, sequence, last_offset);
    if (at_end) {
      last.whole = std::move(whole);
    } else {
      tail.records.pop_back();
    }
  }
  if (offset < units_per_block()) {
    std::vector<std::byte> unit(unit_bytes());
    if (may_be_torn) {
      std::ranges::copy(std::span(image).subspan(size_t{offset} * unit_bytes(), unit_bytes()),
                        unit.begin());
    } else {
      CUCKOO_TRY(count_read(address(block * units_per_block() + offset), unit));
    }
    at_end = at_end && is_erased(unit);
  }
  return at_end;
}

// A torn record is the last thing in its block; one with a record behind it was damaged later.
Status FlashStore::expect_end(const TailStream& tail, uint32_t block, uint32_t offset,
                              uint64_t sequence) {
  if (!tail.records.empty()) {
    const Scanned& last = tail.records.back();
    offset = locate(last.position).offset + last.header.units(unit_bytes());
  }
  std::vector<std::byte> image(geometry().block_bytes());
  CUCKOO_TRY(count_read(geometry().block_address(block), image));
  const uint32_t broken = offset;
  while (++offset < units_per_block()) {
    Scanned record;
    Result<bool> there = scan_record(block * units_per_block() + offset, sequence, image, record);
    CUCKOO_TRY(there.take_status());
    if (there.value()) {
      return corrupt("unit " + std::to_string(block * units_per_block() + broken) +
                     " is no record, but unit " + std::to_string(record.position) +
                     " behind it is one");
    }
  }
  return {};
}

// Reads the block that the stream went on in. False: it didn't.
Result<bool> FlashStore::next_block(TailStream& tail) {
  uint32_t block = tail.stream->next;
  std::optional<FlashOpenHeader> opened;
  if (!options_.atomic_device) {
    if (tail.next_block == tail.blocks.size()) {
      return false;
    }
    opened = FlashOpenHeader{tail.purpose, tail.blocks[tail.next_block].first, kNoBlock};
    block = tail.blocks[tail.next_block++].second;
  }
  if (block == kNoBlock || block >= geometry().blocks) {
    return false;
  }
  std::vector<std::byte> units(size_t{kFlashHeaderUnits} * unit_bytes());
  CUCKOO_TRY(count_read(geometry().block_address(block), units));
  const std::optional<uint32_t> erase_count = decode_erase_header(block, units);
  if (!opened) {
    opened = decode_open_header(block, std::span(units).subspan(unit_bytes()));
    const uint64_t sequence_before =
        tail.stream->block == kNoBlock ? 0 : blocks_.at(tail.stream->block).sequence;
    if (!opened || opened->purpose != tail.purpose || opened->sequence <= sequence_before ||
        opened->sequence < s_.streams.tail_sequence) {
      return false;
    }
  }
  tail.opens = block;
  tail.opens_header = *opened;
  tail.opens_erase_count = erase_count.value_or(blocks_.at(block).erase_count + 1);
  CUCKOO_TRY(scan_block(tail, block, kFlashHeaderUnits, opened->sequence));
  return true;
}

// The stream's next record, null behind its last one. Changes nothing but `tail`.
Result<const FlashStore::Scanned*> FlashStore::peek(TailStream& tail) {
  while (tail.next_record == tail.records.size()) {
    if (tail.opens != kNoBlock) {  // nothing in it that counts: as if it were not opened
      if (options_.atomic_device) {
        return nullptr;
      }
      tail.opens = kNoBlock;
    }
    Result<bool> more = next_block(tail);
    CUCKOO_TRY(more.take_status());
    if (!more.value()) {
      return nullptr;
    }
  }
  return &tail.records[tail.next_record];
}

Status FlashStore::consume(TailStream& tail) {
  if (tail.opens != kNoBlock) {
    const uint32_t block = tail.opens;
    const FlashOpenHeader& header = tail.opens_header;
    const bool known =
        header.next == kNoBlock ||
        (header.next < geometry().blocks && blocks_.at(header.next).kind == FlashBlockKind::kFree);
    const FlashBlock state = blocks_.at(block);
    if (!known || state.live_units != 0 || state.kind == FlashBlockKind::kAnchor) {
      return corrupt("erase block " + std::to_string(block) + " was opened while it was in use");
    }
    if (header.next != kNoBlock) {
      blocks_.take(header.next);
    }
    blocks_.take(block);
    blocks_.open(block, FlashBlockKind::kData, tail.opens_erase_count, header.sequence);
    s_.streams.next_sequence = std::max(s_.streams.next_sequence, header.sequence + 1);
    fold(uint64_t{block} << 40 ^ header.sequence);
    *tail.stream = {block, kFlashHeaderUnits, header.next};
    tail.opens = kNoBlock;
  }
  if (tail.next_record < tail.records.size()) {
    const Scanned& record = tail.records[tail.next_record++];
    const auto [block, offset] = locate(record.position);
    tail.stream->offset = offset + record.header.units(unit_bytes());
    blocks_.append(block, tail.stream->offset, 0, record.header.is_mark() ? 0 : record.header.lsn);
    fold_record(record.header, record.position, record.crc);
    count_tail_read(record.header);
  }
  return {};
}

// A program that failed may have done all that it should; the record stands in the next block, too.
Status FlashStore::take_last_copy(TailStream& tail, Scanned& record) {
  while (true) {
    Result<const Scanned*> next = peek(tail);
    CUCKOO_TRY(next.take_status());
    if (next.value() == nullptr || next.value()->header != record.header ||
        next.value()->hash != record.hash || next.value()->drop != record.drop) {
      return {};
    }
    record = *next.value();
    CUCKOO_TRY(consume(tail));
  }
}

Status FlashStore::replay_batch(TailStream& hot) {
  std::vector<Scanned> batch;
  uint64_t lsn = s_.next_lsn;
  while (batch.empty() || !batch.back().header.last_of_batch) {
    Result<const Scanned*> next = peek(hot);
    CUCKOO_TRY(next.take_status());
    if (next.value() == nullptr) {
      if (options_.atomic_device) {
        return corrupt("the log ends in the middle of a change");
      }
      return {};  // as if it had never begun (I3)
    }
    const FlashRecordHeader& header = next.value()->header;
    const bool follows = header.lsn == lsn || (!batch.empty() && header.lsn == lsn + 1);
    if (!follows || header.is_mark() || header.type == FlashRecordType::kCheckpoint ||
        (batch.empty() && header.type == FlashRecordType::kPart)) {
      return corrupt("the change with seq " + std::to_string(lsn) +
                     " is missing from the log: unit " + std::to_string(next.value()->position) +
                     " has seq " + std::to_string(header.lsn));
    }
    lsn = header.lsn;
    batch.push_back(*next.value());
    CUCKOO_TRY(consume(hot));
    CUCKOO_TRY(take_last_copy(hot, batch.back()));
  }
  if (recovering_) {
    CUCKOO_TRY(release_pending());  // those of the event before this one
  }
  hold_releases_ = true;
  for (const Scanned& record : batch) {
    CUCKOO_TRY(apply(record));
  }
  newest_ = batch.back();
  return recovering_ ? Status() : release_pending();
}

Status FlashStore::replay_collection(TailStream& cold, bool& applied) {
  applied = false;
  std::vector<Scanned> copies;
  std::vector<uint32_t> used;
  uint32_t victim = kNoBlock;
  while (true) {
    Result<const Scanned*> next = peek(cold);
    CUCKOO_TRY(next.take_status());
    if (next.value() == nullptr) {
      break;
    }
    const Scanned record = *next.value();
    if (record.header.type == FlashRecordType::kCollect && victim != kNoBlock) {
      break;
    }
    CUCKOO_TRY(consume(cold));
    used.push_back(cold.stream->block);
    if (record.header.type == FlashRecordType::kCollect) {
      victim = record.header.number();
    } else if (record.header.type == FlashRecordType::kCollected) {
      if (record.header.number() != copies.size()) {
        break;
      }
      if (recovering_) {
        CUCKOO_TRY(release_pending());
        hold_releases_ = true;
      }
      applied = true;
      applied_blocks_.insert(applied_blocks_.end(), used.begin(), used.end());
      newest_ = {};
      return apply_collection(copies, victim);
    } else if (record.header.is_entry() || record.header.type == FlashRecordType::kPart) {
      copies.push_back(record);
      CUCKOO_TRY(take_last_copy(cold, copies.back()));
    } else {
      break;
    }
  }
  return options_.atomic_device ? corrupt("a collection has no end") : Status{};
}

// Live and replayed alike: the index points to the copies, the victim is free.
Status FlashStore::apply_collection(std::span<const Scanned> copies, uint32_t victim) {
  if (victim >= geometry().blocks) {
    return corrupt("a collection of erase block " + std::to_string(victim) + ", of " +
                   std::to_string(geometry().blocks));
  }
  for (const Scanned& copy : copies) {
    const uint32_t units = copy.header.units(unit_bytes());
    if (locate(copy.header.previous).block != victim || blocks_.at(victim).live_units < units ||
        !index_.replace(copy.hash, copy.header.previous, copy.position)) {
      return corrupt("the copy at unit " + std::to_string(copy.position) +
                     " is of a record that is not there");
    }
    blocks_.add_live(locate(copy.position).block, units);
    blocks_.remove_live(victim, units);
  }
  if (blocks_.at(victim).live_units != 0) {
    return corrupt("a collection left something in erase block " + std::to_string(victim));
  }
  ++s_.stats.collections;
  return release_if_dead(victim);
}

Status FlashStore::replay(const Headers* headers) {
  TailStream hot;
  TailStream cold;
  hot.stream = &s_.streams.hot;
  cold.purpose = FlashPurpose::kCold;
  cold.stream = &s_.streams.cold;
  if (headers != nullptr) {
    const auto opened_since = [&](const std::vector<std::pair<uint64_t, uint32_t>>& all,
                                  std::vector<std::pair<uint64_t, uint32_t>>& blocks) {
      std::ranges::copy_if(all, std::back_inserter(blocks), [&](const auto& opened) {
        return opened.first >= s_.streams.tail_sequence;
      });
    };
    opened_since(headers->hot, hot.blocks);
    opened_since(headers->cold, cold.blocks);
  }
  for (TailStream* tail : {&hot, &cold}) {
    const FlashStream& stream = *tail->stream;
    if (stream.block != kNoBlock) {
      CUCKOO_TRY(scan_block(*tail, stream.block, stream.offset, blocks_.at(stream.block).sequence));
    }
  }
  while (true) {
    Result<const Scanned*> next_hot = peek(hot);
    CUCKOO_TRY(next_hot.take_status());
    Result<const Scanned*> next_cold = peek(cold);
    CUCKOO_TRY(next_cold.take_status());
    const Scanned* batch = next_hot.value();
    const Scanned* collection = next_cold.value();
    if (batch == nullptr && collection == nullptr) {
      return {};
    }
    if (collection == nullptr ||
        (batch != nullptr && collection->header.type == FlashRecordType::kCollect &&
         collection->header.lsn > batch->header.lsn)) {
      CUCKOO_TRY(replay_batch(hot));
    } else if (collection->header.type == FlashRecordType::kCollect) {
      if (collection->header.lsn > s_.next_lsn) {
        return corrupt("the change with seq " + std::to_string(s_.next_lsn) +
                       " is missing from the log");
      }
      bool applied = false;
      CUCKOO_TRY(replay_collection(cold, applied));
    } else if (options_.atomic_device) {
      return corrupt("unit " + std::to_string(collection->position) + " belongs to no collection");
    } else {
      ++cold.next_record;  // a copy of an interrupted recovery
    }
  }
}

Result<bool> FlashStore::follow(uint64_t state) {
  if (!mounted_ || poisoned_ || !options_.atomic_device || !marks_.empty()) {
    return false;
  }
  replaying_ = true;
  Status replayed = replay(nullptr);
  replaying_ = false;
  if (!replayed.ok() && replayed.error().code == ErrorCode::kStorage) {
    return replayed;
  }
  const bool reached = replayed.ok() && s_.state == state;
  mounted_ = reached;
  return reached;
}

}  // namespace cuckoo
