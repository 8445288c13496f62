// FlashStore: opening blocks, appending records, reading them back.
#include <algorithm>
#include <cstring>
#include <string>

#include "core/flash/store.hpp"

namespace cuckoo {

// A change that the device didn't let finish leaves memory ahead of the log.
Status FlashStore::fail(Status status) noexcept {
  poisoned_ = poisoned_ || !status.ok();
  return status;
}

Status FlashStore::writable() const {
  if (worn_out_) {
    return worn_out_error("no block can be freed");
  }
  return poisoned_ ? Status(Error{ErrorCode::kStorage, "a change failed half-way; mount again"})
                   : Status();
}

Error FlashStore::worn_out_error(const std::string& why) const {
  const std::string bad = std::to_string(blocks_.bad_count());
  return {ErrorCode::kFull, blocks_.bad_count() == 0
                                ? why
                                : "worn out: " + bad + " of " + std::to_string(blocks_.count()) +
                                      " erase blocks failed: " + why};
}

// A worn block may do nothing and say nothing; a read may be wrong once.
template <class Expected>
Status FlashStore::read_back(uint64_t address, size_t bytes, Expected expected,
                             const char* otherwise) {
  verified_.resize(bytes);
  for (int i = 0; i < 2; ++i) {
    CUCKOO_TRY(device_.read(address, verified_));
    if (expected(verified_)) {
      return {};
    }
  }
  return Error{ErrorCode::kFlashFailure, otherwise};
}

Status FlashStore::program(uint64_t address, std::span<const std::byte> bytes) {
  CUCKOO_TRY(device_.program(address, bytes));
  s_.stats.programmed_bytes += bytes.size();
  if (options_.atomic_device) {
    return {};
  }
  return read_back(
      address, bytes.size(),
      [&](const std::vector<std::byte>& read) { return std::ranges::equal(read, bytes); },
      "what was programmed does not read back");
}

// Erases the block, unless nothing was programmed since it was (see Wear), verifies that, and
// writes its erase header.
Status FlashStore::prepare(uint32_t block) {
  const bool erased = options_.atomic_device && blocks_.at(block).sequence == 0;
  uint32_t erase_count = blocks_.at(block).erase_count;
  if (!erased) {
    ++erase_count;
    blocks_.set_erase_count(block, erase_count);
    CUCKOO_TRY(device_.erase(block));
    ++s_.stats.erases;
    if (!options_.atomic_device) {
      CUCKOO_TRY(read_back(
          geometry().block_address(block), geometry().block_bytes(),
          [](const std::vector<std::byte>& read) { return is_erased(read); },
          "an erased block does not read as erased"));
    }
  }
  std::vector<std::byte> unit(unit_bytes());
  encode_erase_header(block, erase_count, unit);
  return program(geometry().block_address(block), unit);
}

Status FlashStore::open_block(uint32_t block, FlashPurpose purpose, FlashBlockKind kind,
                              uint32_t next) {
  CUCKOO_TRY(prepare(block));
  const uint64_t sequence = s_.streams.next_sequence++;
  std::vector<std::byte> unit(unit_bytes());
  encode_open_header(block, {purpose, sequence, next}, unit);
  CUCKOO_TRY(program(geometry().block_address(block) + unit_bytes(), unit));
  blocks_.open(block, kind, blocks_.at(block).erase_count, sequence);
  fold(uint64_t{block} << 40 ^ sequence);
  return {};
}

// The stream goes on in its next block, or in the best that works.
Status FlashStore::open(FlashStream& stream, FlashPurpose purpose) {
  uint32_t block = stream.next != kNoBlock ? stream.next : blocks_.take();
  stream.next = kNoBlock;
  while (true) {
    if (block == kNoBlock) {
      return Error{ErrorCode::kFull, "no erase block is free"};
    }
    const uint32_t next = options_.atomic_device ? blocks_.take() : kNoBlock;
    if (options_.atomic_device && next == kNoBlock) {  // a mount would not find what comes behind
      return Error{ErrorCode::kFull, "no erase block is free to go on in"};
    }
    Status opened = open_block(block, purpose, FlashBlockKind::kData, next);
    if (opened.ok()) {
      const uint32_t closed = stream.block;
      stream = {block, kFlashHeaderUnits, next};
      return closed == kNoBlock ? Status() : release_if_dead(closed);
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    blocks_.retire(block);
    block = blocks_.take();
  }
}

Result<uint32_t> FlashStore::append(FlashStream& stream, FlashPurpose purpose,
                                    FlashRecordHeader header, std::span<const std::byte> key,
                                    std::span<const std::byte> value) {
  const uint32_t units = header.units(unit_bytes());
  while (true) {
    if (stream.block == kNoBlock || stream.offset + units > units_per_block()) {
      CUCKOO_TRY(open(stream, purpose));
    }
    const uint32_t position = stream.block * units_per_block() + stream.offset;
    encode_flash_record(header, key, value, unit_bytes(), blocks_.at(stream.block).sequence,
                        stream.offset, encoded_);
    Status programmed = program(address(position), encoded_);
    if (programmed.ok()) {
      stream.offset += units;
      blocks_.append(stream.block, stream.offset, 0, header.is_mark() ? 0 : header.lsn);
      fold_record(header, position, load_le<uint32_t>(&encoded_[header.head_bytes() - 4]));
      count_tail_read(header);
      return position;
    }
    if (programmed.error().code != ErrorCode::kFlashFailure) {
      return programmed;
    }
    // Nothing more goes into this block; what it holds is collected before it is given up.
    blocks_.fail(stream.block);
    blocks_.append(stream.block, units_per_block(), 0, 0);
    stream.offset = units_per_block();
  }
}

// To the cold stream. A copy replaces its original, no older version of the key.
Result<uint32_t> FlashStore::append_copy(uint32_t from, FlashRecordHeader& header,
                                         std::span<const std::byte> key,
                                         std::span<const std::byte> value) {
  header.previous = from;
  header.last_of_batch = true;
  if (header.type != FlashRecordType::kPart) {  // of a part it is the offset
    header.previous_value_bytes = 0;
  }
  return append(s_.streams.cold, FlashPurpose::kCold, header, key, value);
}

// The whole record at a position that the index knows, verified.
Status FlashStore::load(uint32_t position, Record& record) {
  const auto broken = [&](const char* what) {
    return corrupt(std::string("the record at unit ") + std::to_string(position) + " " + what);
  };
  if (position >= geometry().units()) {
    return broken("is beyond the device");
  }
  const auto [block, offset] = locate(position);
  const uint64_t sequence = blocks_.at(block).sequence;
  const size_t room = size_t{units_per_block() - offset} * unit_bytes();
  constexpr size_t kFirstReadBytes = 160;  // most small records; never less than a header
  record_bytes_.resize(std::min(room, kFirstReadBytes));
  CUCKOO_TRY(device_.read(address(position), record_bytes_));
  const std::optional<FlashRecordHeader> header =
      decode_flash_record_header(record_bytes_, sequence, offset);
  if (!header || header->is_mark()) {
    return broken("does not begin as one");
  }
  const size_t bytes = size_t{header->units(unit_bytes())} * unit_bytes();
  if (bytes > room) {
    return broken("is longer than its erase block");
  }
  const size_t have = record_bytes_.size();
  record_bytes_.resize(bytes);
  if (bytes > have) {
    CUCKOO_TRY(device_.read(address(position) + have, std::span(record_bytes_).subspan(have)));
  }
  if (!verify_flash_record(record_bytes_, sequence, offset)) {
    return broken("has a wrong CRC");
  }
  record.header = *header;
  record.key = key_in(*header, record_bytes_);
  record.value = value_in(*header, record_bytes_);
  return {};
}

// The record without its value.
Result<bool> FlashStore::load_head(uint32_t position, Scanned& record) {
  if (position >= geometry().units()) {
    return false;
  }
  return scan_record(position, blocks_.at(locate(position).block).sequence, {}, record);
}

}  // namespace cuckoo
