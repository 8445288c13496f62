#include "core/flash/replay.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace cuckoo::core {

namespace {

// The records of one change after the other, each in its order (I4).
class ChangeOrder {
 public:
  explicit ChangeOrder(FlashPieces cut) : cut_(cut) {}

  // Takes the next record. Returns false if another one must come before it.
  bool take(const FlashLogRecord& record) {
    const FlashRecordHeader& header = record.header;
    if (header.type == FlashRecordType::kPart) {
      const bool next = !whole() && header.is_part_of(lsn_, static_cast<uint32_t>(value_end_));
      value_end_ += header.value_bytes;
      return next;
    }
    if (!whole() || (header.lsn == lsn_) != drops_) {
      return false;
    }
    lsn_ = header.lsn;
    return header.type == FlashRecordType::kDrop ? take_drop(record.drop) : take_head(header);
  }
  // Returns true if the change before the next record has all its parts.
  bool whole() const noexcept { return value_end_ == value_bytes_; }

 private:
  bool take_drop(std::span<const std::byte> body) {
    if (body.size() < kFlashDropHeaderBytes) {
      return false;
    }
    const uint64_t from = load_le<uint32_t>(&body[6]);
    const bool next = !drops_ || from == drops_end_;
    drops_begin_ = drops_ ? drops_begin_ : from;
    drops_end_ = from + (body.size() - kFlashDropHeaderBytes) / 4 * uint64_t{cut_.part_bytes()};
    drops_ = true;
    return next;
  }
  // The record that replaces or removes, after the drops of all parts of what it replaces.
  bool take_head(const FlashRecordHeader& header) {
    const uint64_t replaced = header.replaced() == 0 ? 0 : header.replaced_value_bytes();
    const uint64_t first = cut_.first_bytes(header.key_bytes, replaced);
    const bool next =
        first < replaced ? drops_ && drops_begin_ == first && drops_end_ >= replaced : !drops_;
    value_bytes_ = header.total_value_bytes;
    value_end_ = header.value_bytes;
    drops_ = false;
    return next;
  }

  FlashPieces cut_;
  uint64_t lsn_ = 0;
  bool drops_ = false;  // the last record was a drop
  uint64_t drops_begin_ = 0;
  uint64_t drops_end_ = 0;
  uint64_t value_bytes_ = 0;
  uint64_t value_end_ = 0;  // where its next part begins
};

}  // namespace

FlashReplay::FlashReplay(FlashState& state, FlashLog& log, Opened hot, Opened cold)
    : state_(state),
      log_(log),
      hot_{.purpose = FlashPurpose::kHot, .now = state.now.streams.hot, .opened = std::move(hot)},
      cold_{.purpose = FlashPurpose::kCold,
            .now = state.now.streams.cold,
            .opened = std::move(cold)} {}

bool FlashReplay::applied(uint32_t block) const noexcept {
  return std::find(applied_.begin(), applied_.end(), block) != applied_.end();
}

// --- the order of events -------------------------------------------------------------------------

Status FlashReplay::run() {
  for (Stream* stream : {&hot_, &cold_}) {
    if (const uint32_t block = stream->now.block; block != kNoBlock) {
      CUCKOO_TRY(scan_block(*stream, block, stream->now.offset, state_.blocks.at(block).sequence));
    }
  }
  while (true) {
    CUCKOO_ASSIGN_OR_RETURN(const FlashTailRecord* const batch, peek(hot_));
    CUCKOO_ASSIGN_OR_RETURN(const FlashTailRecord* const collection, peek(cold_));
    if (batch == nullptr && collection == nullptr) {
      return {};
    }
    if (collection == nullptr ||
        (batch != nullptr && collection->header.type == FlashRecordType::kCollect &&
         collection->header.lsn > batch->header.lsn)) {
      CUCKOO_TRY(replay_batch());
    } else if (collection->header.type == FlashRecordType::kCollect) {
      if (collection->header.lsn > state_.now.next_lsn) {
        if (state_.policy.may_reorder()) {  // a change before it did not reach the device
          return {};
        }
        return corrupt("the change with seq " + std::to_string(state_.now.next_lsn) +
                       " is missing from the log");
      }
      CUCKOO_TRY(replay_collection());
    } else if (!state_.policy.may_be_torn()) {
      return corrupt("unit " + std::to_string(collection->position) + " belongs to no collection");
    } else {
      ++cold_.next_record;  // a copy of an interrupted recovery
    }
  }
}

// Call it before a batch or collection is applied. The event before was complete, so the blocks
// that it emptied may become free (I3).
Status FlashReplay::begin_event() {
  if (state_.policy.may_be_torn()) {
    CUCKOO_TRY(state_.release_held());
  }
  state_.hold_releases();
  return {};
}

Status FlashReplay::replay_batch() {
  std::vector<FlashLogRecord> batch;
  FlashTailRecord record;
  uint64_t lsn = state_.now.next_lsn;
  ChangeOrder order(state_.layout.pieces());
  while (batch.empty() || !batch.back().header.last_of_batch) {
    CUCKOO_ASSIGN_OR_RETURN(const FlashTailRecord* const next, peek(hot_));
    if (next == nullptr) {
      if (!state_.policy.may_be_torn()) {
        return corrupt("the log ends in the middle of a change");
      }
      return {};  // as if the batch had never begun
    }
    const FlashRecordHeader& header = next->header;
    const bool follows = header.lsn == lsn || (!batch.empty() && header.lsn == lsn + 1);
    if (!follows || header.is_mark() || header.type == FlashRecordType::kCheckpoint ||
        header.type == FlashRecordType::kIndex ||
        (batch.empty() && header.type == FlashRecordType::kPart)) {
      return corrupt("the change with seq " + std::to_string(lsn) +
                     " is missing from the log: unit " + std::to_string(next->position) +
                     " has seq " + std::to_string(header.lsn));
    }
    if (!order.take(*next)) {
      return corrupt("unit " + std::to_string(next->position) +
                     " is not the next record of the change with seq " + std::to_string(lsn));
    }
    lsn = header.lsn;
    CUCKOO_TRY(consume(hot_, record));
    CUCKOO_TRY(consume_copies(hot_, record));
    batch.push_back(record);
  }
  if (!order.whole()) {
    return corrupt("the change with seq " + std::to_string(lsn) + " lacks a part of its value");
  }
  CUCKOO_TRY(begin_event());
  for (const FlashLogRecord& one : batch) {
    CUCKOO_TRY(state_.apply(one));
  }
  newest_ = std::move(record);
  return state_.policy.may_be_torn() ? Status() : state_.release_held();
}

Status FlashReplay::replay_collection() {
  std::vector<FlashLogRecord> copies;
  std::vector<uint32_t> used;
  uint32_t victim = kNoBlock;
  while (true) {
    CUCKOO_ASSIGN_OR_RETURN(const FlashTailRecord* const next, peek(cold_));
    if (next == nullptr || (next->header.type == FlashRecordType::kCollect && victim != kNoBlock)) {
      break;
    }
    FlashTailRecord record;
    CUCKOO_TRY(consume(cold_, record));
    used.push_back(cold_.now.block);
    if (record.header.type == FlashRecordType::kCollect) {
      victim = record.header.victim();
    } else if (record.header.type == FlashRecordType::kCollected) {
      if (record.header.copies() != copies.size()) {
        break;
      }
      if (state_.policy.may_be_torn()) {
        CUCKOO_TRY(begin_event());
      }
      applied_.insert(applied_.end(), used.begin(), used.end());
      newest_ = {};
      return state_.apply_collection(copies, victim);
    } else if (record.header.is_entry() || record.header.type == FlashRecordType::kPart) {
      CUCKOO_TRY(consume_copies(cold_, record));
      copies.push_back(std::move(record));
    } else {
      break;
    }
  }
  return state_.policy.may_be_torn() ? Status() : corrupt("a collection has no end");
}

// --- a stream's records --------------------------------------------------------------------------

// Returns the stream's next record, or null after its last one. Changes only `stream`.
Result<const FlashTailRecord*> FlashReplay::peek(Stream& stream) {
  while (stream.next_record == stream.records.size()) {
    if (stream.opens != kNoBlock) {  // has no record that counts: as if it were not opened
      if (!state_.policy.may_be_torn()) {
        return nullptr;
      }
      stream.opens = kNoBlock;
    }
    CUCKOO_ASSIGN_OR_RETURN(const bool more, read_next_block(stream));
    if (!more) {
      return nullptr;
    }
  }
  return &stream.records[stream.next_record];
}

// Reads the stream's next block. Returns false if there is none.
Result<bool> FlashReplay::read_next_block(Stream& stream) {
  const FlashLayout& layout = state_.layout;
  uint32_t block = stream.now.next;
  std::optional<FlashOpenHeader> opened;
  if (!state_.policy.names_next_block()) {
    if (stream.in_last_block()) {
      return false;
    }
    opened = FlashOpenHeader{stream.purpose, stream.opened[stream.next_opened].first, kNoBlock};
    block = stream.opened[stream.next_opened++].second;
  }
  if (block == kNoBlock || block >= layout.geometry().blocks) {
    return false;
  }
  std::vector<std::byte> units(layout.bytes_of(kFlashHeaderUnits));
  CUCKOO_TRY(log_.read(layout.block_address(block), units));
  const std::optional<uint32_t> erase_count = decode_erase_header(block, units);
  if (!opened) {
    opened = decode_open_header(block, std::span(units).subspan(layout.unit_bytes()));
    const uint64_t sequence_before =
        stream.now.block == kNoBlock ? 0 : state_.blocks.at(stream.now.block).sequence;
    if (!opened || opened->purpose != stream.purpose || opened->sequence <= sequence_before ||
        opened->sequence < state_.now.streams.tail_sequence) {
      return false;
    }
  }
  stream.opens = block;
  stream.opens_header = *opened;
  stream.opens_erase_count = erase_count.value_or(state_.blocks.at(block).erase_count + 1);
  CUCKOO_TRY(scan_block(stream, block, kFlashHeaderUnits, opened->sequence));
  return true;
}

// Takes the next record, which peek() gave.
Status FlashReplay::consume(Stream& stream, FlashTailRecord& record) {
  if (stream.opens != kNoBlock) {
    CUCKOO_TRY(open(stream));
  }
  record = std::move(stream.records[stream.next_record++]);
  state_.append(stream.now, record.header, record.position, record.crc);
  return {};
}

Status FlashReplay::open(Stream& stream) {
  const uint32_t block = stream.opens;
  const FlashOpenHeader& header = stream.opens_header;
  const bool known =
      header.next == kNoBlock || (header.next < state_.layout.geometry().blocks &&
                                  state_.blocks.at(header.next).kind == FlashBlockKind::kFree);
  const FlashBlock before = state_.blocks.at(block);
  if (!known || before.live_units != 0 || before.kind == FlashBlockKind::kAnchor) {
    return corrupt("erase block " + std::to_string(block) + " was opened while it was in use");
  }
  if (header.next != kNoBlock) {
    state_.blocks.take(header.next);
  }
  state_.blocks.take(block);
  state_.open(block, FlashBlockKind::kData, stream.opens_erase_count, header.sequence);
  state_.now.streams.next_sequence =
      std::max(state_.now.streams.next_sequence, header.sequence + 1);
  stream.now = {block, kFlashHeaderUnits, header.next};
  stream.opens = kNoBlock;
  return {};
}

// Consumes the copies of a record. A program that failed may have written all of the record. Then
// the next block has the record, too. `record` becomes the last copy.
Status FlashReplay::consume_copies(Stream& stream, FlashTailRecord& record) {
  while (true) {
    CUCKOO_ASSIGN_OR_RETURN(const FlashTailRecord* const next, peek(stream));
    if (next == nullptr || next->header != record.header || next->hash != record.hash ||
        next->drop != record.drop) {
      return {};
    }
    CUCKOO_TRY(consume(stream, record));
  }
}

// --- a block's records ---------------------------------------------------------------------------

// Reads all records of a block from `offset` on.
Status FlashReplay::scan_block(Stream& stream, uint32_t block, uint32_t offset, uint64_t sequence) {
  constexpr int kTries = 2;  // a read may fail once without anything being torn
  for (int i = 0; i < kTries; ++i) {
    CUCKOO_ASSIGN_OR_RETURN(const bool at_end, scan_once(stream, block, offset, sequence));
    if (at_end) {
      return {};
    }
  }
  if (state_.policy.may_reorder()) {
    return {};
  }
  return expect_end(stream, block, offset, sequence);
}

// Returns false if the block ends in bytes that are no record. If the block may be torn, reads all
// of it at once, because the next read may give other bytes.
Result<bool> FlashReplay::scan_once(Stream& stream, uint32_t block, uint32_t offset,
                                    uint64_t sequence) {
  const FlashLayout& layout = state_.layout;
  stream.records.clear();
  stream.next_record = 0;
  const bool bare = state_.policy.may_be_torn();
  const bool reorders = state_.policy.may_reorder();
  const bool at_once = bare && (reorders || stream.in_last_block());
  std::vector<std::byte> image(at_once ? layout.geometry().block_bytes() : 0);
  if (at_once) {
    CUCKOO_TRY(log_.read(layout.block_address(block), image));
  }
  for (bool again = false; offset < layout.units_per_block();) {
    FlashTailRecord record;
    CUCKOO_ASSIGN_OR_RETURN(bool there,
                            log_.scan(layout.position(block, offset), sequence, image, record));
    if (there && reorders) {
      CUCKOO_ASSIGN_OR_RETURN(there, is_whole(record, sequence, image));
    }
    if (!there && (again || at_once || !bare)) {
      break;
    }
    again = !there;
    if (again) {
      continue;
    }
    offset += record.header.units(layout.unit_bytes());
    stream.records.push_back(std::move(record));
  }
  if (!bare) {
    return true;
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool whole, verify_last(stream, sequence, image));
  if (offset == layout.units_per_block()) {
    return whole;
  }
  std::vector<std::byte> unit(layout.unit_bytes());
  CUCKOO_TRY(read_from(image, layout.position(block, offset), unit));
  return whole && is_erased(unit);
}

// Verifies all bytes of a record. A mark was verified when it was read.
Result<bool> FlashReplay::is_whole(const FlashTailRecord& record, uint64_t sequence,
                                   std::span<const std::byte> image) {
  if (record.header.is_mark()) {
    return true;
  }
  const FlashLayout& layout = state_.layout;
  std::vector<std::byte> whole(layout.bytes_of(record.header.units(layout.unit_bytes())));
  CUCKOO_TRY(read_from(image, record.position, whole));
  return verify_whole_flash_record(record.header, whole, sequence,
                                   layout.locate(record.position).offset);
}

// Verifies the last record that was read. If it is torn, or its program failed before the stream
// left the block, drops it, and returns false. For all other records the CRC of the head is enough.
Result<bool> FlashReplay::verify_last(Stream& stream, uint64_t sequence,
                                      std::span<const std::byte> image) {
  if (stream.records.empty() || stream.records.back().header.is_mark()) {
    return true;
  }
  const FlashLayout& layout = state_.layout;
  FlashTailRecord& last = stream.records.back();
  std::vector<std::byte> whole(layout.bytes_of(last.header.units(layout.unit_bytes())));
  CUCKOO_TRY(read_from(image, last.position, whole));
  const bool holds =
      verify_whole_flash_record(last.header, whole, sequence, layout.locate(last.position).offset);
  if (holds) {
    last.whole = std::move(whole);
  } else {
    stream.records.pop_back();
  }
  return holds;
}

Status FlashReplay::read_from(std::span<const std::byte> image, uint32_t position,
                              std::span<std::byte> out) {
  const FlashLayout& layout = state_.layout;
  if (image.empty()) {
    return log_.read(layout.address(position), out);
  }
  const size_t start = layout.bytes_of(layout.locate(position).offset);
  std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(start), out.size(), out.begin());
  return {};
}

Status FlashReplay::expect_end(const Stream& stream, uint32_t block, uint32_t offset,
                               uint64_t sequence) {
  const FlashLayout& layout = state_.layout;
  if (!stream.records.empty()) {
    const FlashTailRecord& last = stream.records.back();
    offset = layout.locate(last.position).offset + last.header.units(layout.unit_bytes());
  }
  std::vector<std::byte> image(layout.geometry().block_bytes());
  CUCKOO_TRY(log_.read(layout.block_address(block), image));
  const uint32_t broken = layout.position(block, offset);
  while (++offset < layout.units_per_block()) {
    FlashLogRecord record;
    CUCKOO_ASSIGN_OR_RETURN(const bool there,
                            log_.scan(layout.position(block, offset), sequence, image, record));
    if (there) {
      return corrupt("unit " + std::to_string(broken) + " is no record, but unit " +
                     std::to_string(record.position) + " after it is one");
    }
  }
  return {};
}

}  // namespace cuckoo::core
