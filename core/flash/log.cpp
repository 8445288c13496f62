#include "core/flash/log.hpp"
#include "core/base/bytes.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace cuckoo::core {

// --- reading -------------------------------------------------------------------------------------

Status FlashLog::read(uint64_t address, std::span<std::byte> out) {
  read_bytes_ += out.size();
  return device_.read(address, out);
}

Status FlashLog::load(uint32_t position, FlashLoadedRecord& record) {
  const FlashLayout& layout = state_.layout;
  const auto broken = [&](const char* what) {
    return corrupt(std::string("the record at unit ") + std::to_string(position) + " " + what);
  };
  if (position >= layout.geometry().units()) {
    return broken("is beyond the device");
  }
  const auto [block, offset] = layout.locate(position);
  const FlashBlock in = state_.blocks.at(block);
  if (in.kind == FlashBlockKind::kBad) {  // S4 of state.hpp
    return broken("was damaged, and its erase block is given up");
  }
  const uint64_t sequence = in.sequence;
  const size_t room = layout.room_bytes(offset);
  constexpr size_t kFirstReadBytes = 160;  // most small records; never less than a header
  loaded_.resize(std::min(room, kFirstReadBytes));
  Status read = device_.read(layout.address(position), loaded_);
  if (!read.ok() && read.error().code == ErrorCode::kCorrupt) {
    // What is damaged may lie after this record: read less.
    loaded_.resize(std::min(room, kMaxFlashRecordHeaderBytes));
    read = device_.read(layout.address(position), loaded_);
  }
  CUCKOO_TRY(std::move(read));
  const std::optional<FlashRecordHeader> header =
      decode_flash_record_header(loaded_, sequence, offset);
  if (!header || header->is_mark()) {
    return broken("does not begin as one");
  }
  const size_t bytes = layout.bytes_of(header->units(layout.unit_bytes()));
  if (bytes > room) {
    return broken("is longer than its erase block");
  }
  const size_t have = loaded_.size();
  loaded_.resize(bytes);
  if (bytes > have) {
    CUCKOO_TRY(device_.read(layout.address(position) + have, std::span(loaded_).subspan(have)));
  }
  if (!verify_whole_flash_record(*header, loaded_, sequence, offset)) {
    return broken("has a wrong CRC or bytes without a meaning");
  }
  record.header = *header;
  record.key = key_in(*header, loaded_);
  record.value = value_in(*header, loaded_);
  return {};
}

Result<bool> FlashLog::load_part(uint32_t position, uint64_t lsn, uint32_t offset, uint64_t bytes,
                                 FlashLoadedRecord& part) {
  const FlashLayout& layout = state_.layout;
  const FlashPieces cut = layout.pieces();
  const uint32_t units = cut.part_units(std::min<uint64_t>(bytes, cut.part_bytes()));
  const auto [block, at] = layout.locate(position);
  const FlashBlock in = state_.blocks.at(block);
  if (in.kind != FlashBlockKind::kData || at + units > in.used_units) {
    return false;
  }
  loaded_.resize(layout.bytes_of(units));
  if (Status read = device_.read(layout.address(position), loaded_); !read.ok()) {
    return read.error().code == ErrorCode::kCorrupt ? Result<bool>(false) : read.take_error();
  }
  const std::optional<FlashRecordHeader> header =
      decode_flash_record_header(loaded_, in.sequence, at);
  if (!header || !header->is_part_of(lsn, offset) || header->units(layout.unit_bytes()) != units ||
      !verify_whole_flash_record(*header, loaded_, in.sequence, at)) {
    return false;
  }
  part = {*header, {}, value_in(*header, loaded_)};
  return true;
}

// Returns whether the log probably goes on in the next block of the device.
bool FlashLog::goes_on_behind(uint32_t block) const noexcept {
  const FlashBlock next = state_.blocks.at(block + 1);
  return next.kind == FlashBlockKind::kData &&
         next.sequence == state_.blocks.at(block).sequence + 1;
}

uint32_t FlashLog::position_after(uint32_t position, uint32_t units) const noexcept {
  const auto [block, offset] = state_.layout.locate(position);
  return offset + units == state_.blocks.at(block).used_units && goes_on_behind(block)
             ? state_.layout.position(block + 1, kFlashHeaderUnits)
             : position + units;
}

Result<uint32_t> FlashLog::will_load(uint32_t position, uint64_t units) {
  constexpr uint64_t kMostBytes = 65536;
  const FlashLayout& layout = state_.layout;
  units = std::min(units, kMostBytes / layout.unit_bytes());
  auto [block, offset] = layout.locate(position);
  if (offset >= state_.blocks.at(block).used_units) {
    return position;
  }
  uint64_t found = state_.blocks.at(block).used_units - offset;
  for (; found < units && goes_on_behind(block); ++block) {
    found += state_.blocks.at(block + 1).used_units - kFlashHeaderUnits;
  }
  const uint32_t end = layout.position(block, state_.blocks.at(block).used_units) -
                       static_cast<uint32_t>(found - std::min(found, units));
  const uint64_t address = layout.address(position);
  CUCKOO_TRY(device_.will_read(address, layout.address(end) - address));
  return end;
}

Result<bool> FlashLog::read_head(uint32_t position, FlashLogRecord& record) {
  if (position >= state_.layout.geometry().units()) {
    return false;
  }
  const FlashBlock block = state_.blocks.at(state_.layout.locate(position).block);
  return block.kind == FlashBlockKind::kBad ? Result<bool>(false)
                                            : scan(position, block.sequence, {}, record);
}

Result<bool> FlashLog::scan(uint32_t position, uint64_t sequence, std::span<const std::byte> image,
                            FlashLogRecord& record) {
  const FlashLayout& layout = state_.layout;
  const uint32_t offset = layout.locate(position).offset;
  const size_t start = layout.bytes_of(offset);
  const auto read = [&](size_t from, std::span<std::byte> out) -> Status {
    if (image.empty()) {
      return this->read(layout.address(position) + from, out);
    }
    std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(start + from), out.size(), out.begin());
    return {};
  };
  const size_t room = layout.room_bytes(offset);
  std::byte bytes[kMaxFlashRecordHeaderBytes] = {};
  constexpr size_t kMostBytes = 20;  // of any header except a head's
  size_t have = std::min(room, kMostBytes);
  CUCKOO_TRY(read(0, std::span(bytes).first(have)));
  if (static_cast<FlashRecordType>(bytes[0] & ~std::byte{kLastOfBatch}) == FlashRecordType::kHead &&
      room >= sizeof bytes) {
    CUCKOO_TRY(read(have, std::span(bytes).subspan(have)));
    have = sizeof bytes;
  }
  const std::optional<FlashRecordHeader> header =
      decode_flash_record_header(std::span(bytes).first(have), sequence, offset);
  if (!header) {
    return false;
  }
  const size_t size = layout.bytes_of(header->units(layout.unit_bytes()));
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
  // Reads the value of a drop, too, because it decides about other records.
  const bool is_drop = header->type == FlashRecordType::kDrop;
  std::vector<std::byte> head(is_drop ? size : header->head_bytes());
  std::copy_n(bytes, header->header_bytes(), head.begin());
  CUCKOO_TRY(read(header->header_bytes(), std::span(head).subspan(header->header_bytes())));
  if (!verify_flash_record(std::span(head).first(header->head_bytes()), sequence, offset) ||
      (is_drop && !verify_whole_flash_record(*header, head, sequence, offset))) {
    return false;
  }
  record.crc = load_le<uint32_t>(&head[header->head_bytes() - 4]);
  if (is_drop) {
    const std::span<const std::byte> value = value_in(*header, head);
    record.drop.assign(value.begin(), value.end());
  } else {
    record.hash = header->type == FlashRecordType::kPart
                      ? state_.index.part_hash(header->lsn, header->offset())
                      : state_.index.hash_of(key_in(*header, head));
  }
  return true;
}

// --- writing -------------------------------------------------------------------------------------

// Reads twice if it must, because a read may be wrong once.
template <class Expected>
Status FlashLog::verify(uint64_t address, size_t bytes, Expected expected, const char* otherwise) {
  constexpr int kTries = 2;
  verified_.resize(bytes);
  for (int i = 0; i < kTries; ++i) {
    CUCKOO_TRY(device_.read(address, verified_));
    if (expected(verified_)) {
      return {};
    }
  }
  return Error{ErrorCode::kFlashFailure, otherwise};
}

Status FlashLog::program(uint64_t address, std::span<const std::byte> bytes) {
  CUCKOO_TRY(device_.program(address, bytes));
  state_.now.stats.programmed_bytes += bytes.size();
  if (!state_.policy.verifies()) {
    return {};
  }
  return verify(
      address, bytes.size(),
      [&](const std::vector<std::byte>& read) { return equal_bytes(read, bytes); },
      "what was programmed does not read back");
}

Status FlashLog::sync() {
  CUCKOO_TRY(device_.sync());
  appended_ = false;
  return {};
}

// Syncs first (B1), because records that made the block free must not be lost after the erase.
// Counts the erase before it is tried, because a failed erase may wear the block, too.
Status FlashLog::erase(uint32_t block) {
  if (appended_) {
    CUCKOO_TRY(sync());
  }
  state_.blocks.set_erase_count(block, state_.blocks.at(block).erase_count + 1);
  CUCKOO_TRY(device_.erase(block));
  ++state_.now.stats.erases;
  return {};
}

Status FlashLog::prepare(uint32_t block) {
  const FlashLayout& layout = state_.layout;
  const bool erased = state_.policy.trusts_erased_blocks() && state_.blocks.at(block).sequence == 0;
  if (!erased) {
    CUCKOO_TRY(erase(block));
    if (state_.policy.verifies()) {
      CUCKOO_TRY(verify(
          layout.block_address(block), layout.geometry().block_bytes(),
          [](const std::vector<std::byte>& read) { return is_erased(read); },
          "an erased block does not read as erased"));
    }
  }
  std::vector<std::byte> unit(layout.unit_bytes());
  encode_erase_header(block, state_.blocks.at(block).erase_count, unit);
  return program(layout.block_address(block), unit);
}

Status FlashLog::open_block(uint32_t block, FlashPurpose purpose, FlashBlockKind kind,
                            uint32_t next) {
  CUCKOO_TRY(prepare(block));
  const uint64_t sequence = state_.now.streams.next_sequence++;
  std::vector<std::byte> unit(state_.layout.unit_bytes());
  encode_open_header(block, {purpose, sequence, next}, unit);
  CUCKOO_TRY(program(state_.layout.block_address(block) + unit.size(), unit));
  state_.open(block, kind, state_.blocks.at(block).erase_count, sequence);
  return {};
}

// Opens the stream's next block, or the best other one that works.
Status FlashLog::open_next(FlashStream& stream, FlashPurpose purpose) {
  const bool names_next = state_.policy.names_next_block();
  uint32_t block = stream.next != kNoBlock ? stream.next : state_.blocks.take();
  stream.next = kNoBlock;
  while (true) {
    if (block == kNoBlock) {
      return Error{ErrorCode::kFull, "no erase block is free"};
    }
    const uint32_t next = names_next ? state_.blocks.take() : kNoBlock;
    if (names_next && next == kNoBlock) {  // a mount would not find the records after it
      return Error{ErrorCode::kFull, "no erase block is free to go on in"};
    }
    Status opened = open_block(block, purpose, FlashBlockKind::kData, next);
    if (opened.ok()) {
      const uint32_t closed = stream.block;
      stream = {block, kFlashHeaderUnits, next};
      return closed == kNoBlock ? Status() : state_.release_if_dead(closed);
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    state_.blocks.retire(block);
    block = state_.blocks.take();
  }
}

Result<uint32_t> FlashLog::append(FlashStream& stream, FlashPurpose purpose,
                                  const FlashRecordHeader& header, std::span<const std::byte> key,
                                  std::span<const std::byte> value) {
  const FlashLayout& layout = state_.layout;
  const uint32_t units = header.units(layout.unit_bytes());
  while (true) {
    if (stream.block == kNoBlock || stream.offset + units > layout.units_per_block()) {
      CUCKOO_TRY(open_next(stream, purpose));
    }
    const uint32_t position = layout.position(stream.block, stream.offset);
    encode_flash_record(header, key, value, layout.unit_bytes(),
                        state_.blocks.at(stream.block).sequence, stream.offset, encoded_);
    Status programmed = program(layout.address(position), encoded_);
    appended_ = true;
    if (programmed.ok()) {
      state_.append(stream, header, position,
                    load_le<uint32_t>(&encoded_[header.head_bytes() - 4]));
      return position;
    }
    if (programmed.error().code != ErrorCode::kFlashFailure) {
      return programmed;
    }
    // Appends nothing more to this block. A collection moves its live records before it is retired.
    state_.blocks.fail(stream.block);
    state_.blocks.append(stream.block, layout.units_per_block(), 0, 0);
    stream.offset = layout.units_per_block();
  }
}

Result<uint32_t> FlashLog::append_hot(const FlashRecordHeader& header,
                                      std::span<const std::byte> key,
                                      std::span<const std::byte> value) {
  return append(state_.now.streams.hot, FlashPurpose::kHot, header, key, value);
}

Result<uint32_t> FlashLog::append_cold(const FlashRecordHeader& header,
                                       std::span<const std::byte> key,
                                       std::span<const std::byte> value) {
  return append(state_.now.streams.cold, FlashPurpose::kCold, header, key, value);
}

Result<uint32_t> FlashLog::append_copy(uint32_t from, FlashRecordHeader& header,
                                       std::span<const std::byte> key,
                                       std::span<const std::byte> value) {
  header.set_copied_from(from);
  header.last_of_batch = true;
  return append_cold(header, key, value);
}

}  // namespace cuckoo::core
