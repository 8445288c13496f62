#include "core/flash/record.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/checksum.hpp"

namespace cuckoo::core {
namespace {

constexpr std::byte kErased{0xFF};
constexpr uint8_t kEraseHeader = 0xE5;

uint32_t record_crc(std::span<const std::byte> bytes, uint64_t sequence, uint32_t offset_units) {
  std::byte salt[12];
  store_le(salt, sequence);
  store_le(salt + 8, offset_units);
  return crc32c(bytes, crc32c(salt));
}

uint32_t header_crc(std::span<const std::byte> bytes, uint32_t block) {
  std::byte salt[4];
  store_le(salt, block);
  return crc32c(bytes, crc32c(salt));
}

}  // namespace

void encode_flash_record(const FlashRecordHeader& header, std::span<const std::byte> key,
                         std::span<const std::byte> value, uint32_t unit_bytes, uint64_t sequence,
                         uint32_t offset_units, std::vector<std::byte>& out) {
  out.resize(size_t{header.units(unit_bytes)} * unit_bytes);
  std::byte* to = out.data();
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(header.content_bytes() - 4), out.end(),
            kErased);
  to[0] = static_cast<std::byte>(static_cast<uint8_t>(header.type) |
                                 (header.last_of_batch ? kLastOfBatch : 0));
  if (header.is_mark()) {
    to[1] = std::byte{0};
    store_le48(to + 2, header.lsn);
    store_le(to + 8, header.first_word_);
    store_le(to + 12, record_crc(std::span(out).first(12), sequence, offset_units));
    return;
  }
  store_le(to + 1, header.key_bytes);
  store_le(to + 3, static_cast<uint16_t>(header.value_bytes));
  to[5] = static_cast<std::byte>(header.value_bytes >> 16);
  store_le48(to + 6, header.lsn);
  store_le(to + 12, header.first_word_);
  store_le(to + 16, header.second_word_);
  if (header.type == FlashRecordType::kHead) {
    store_le(to + 20, header.total_value_bytes);
  }
  if (!key.empty()) {
    std::memcpy(to + header.header_bytes(), key.data(), key.size());
  }
  const size_t head = header.head_bytes() - 4;
  const uint32_t head_crc = record_crc(std::span(out).first(head), sequence, offset_units);
  store_le(to + head, head_crc);
  if (!value.empty()) {
    std::memcpy(to + head + 4, value.data(), value.size());
  }
  const size_t covered = out.size() - 4;
  store_le(to + covered, crc32c(std::span(out).subspan(head, covered - head), head_crc));
}

std::optional<FlashRecordHeader> decode_flash_record_header(std::span<const std::byte> bytes,
                                                            uint64_t sequence,
                                                            uint32_t offset_units) {
  if (bytes.size() < kFlashMarkBytes) {
    return std::nullopt;
  }
  FlashRecordHeader header;
  const auto type = static_cast<uint8_t>(bytes[0]);
  header.type = static_cast<FlashRecordType>(type & ~kLastOfBatch);
  header.last_of_batch = (type & kLastOfBatch) != 0;
  if (header.type >= FlashRecordType::kCollect && header.type <= FlashRecordType::kAnchor) {
    header.lsn = load_le48(&bytes[2]);
    header.first_word_ = load_le<uint32_t>(&bytes[8]);
    const bool intact =
        bytes[1] == std::byte{0} && !header.last_of_batch &&
        load_le<uint32_t>(&bytes[12]) == record_crc(bytes.first(12), sequence, offset_units);
    return intact ? std::optional(header) : std::nullopt;
  }
  if (header.type < FlashRecordType::kPut || header.type > FlashRecordType::kIndex ||
      bytes.size() < 20) {
    return std::nullopt;
  }
  header.key_bytes = load_le<uint16_t>(&bytes[1]);
  header.value_bytes = load_le<uint16_t>(&bytes[3]) | static_cast<uint32_t>(bytes[5]) << 16;
  header.lsn = load_le48(&bytes[6]);
  header.first_word_ = load_le<uint32_t>(&bytes[12]);
  header.second_word_ = load_le<uint32_t>(&bytes[16]);
  header.total_value_bytes = header.value_bytes;
  if (header.type == FlashRecordType::kHead) {
    if (bytes.size() < 24) {
      return std::nullopt;
    }
    header.total_value_bytes = load_le<uint32_t>(&bytes[20]);
  }
  if ((header.type == FlashRecordType::kPart && header.key_bytes != 0) || header.lsn == 0 ||
      header.lsn > kMaxLsn) {
    return std::nullopt;
  }
  return header;
}

bool verify_flash_record(std::span<const std::byte> record, uint64_t sequence,
                         uint32_t offset_units) {
  const size_t covered = record.size() - 4;
  return load_le<uint32_t>(&record[covered]) ==
         record_crc(record.first(covered), sequence, offset_units);
}

bool verify_whole_flash_record(const FlashRecordHeader& header, std::span<const std::byte> record,
                               uint64_t sequence, uint32_t offset_units) {
  const size_t content = header.content_bytes();
  return verify_flash_record(record, sequence, offset_units) &&
         is_erased(record.subspan(content - 4, record.size() - content));
}

uint32_t FlashPieces::first_bytes(uint64_t key_bytes, uint64_t value_bytes) const noexcept {
  if (single(key_bytes, value_bytes)) {
    return static_cast<uint32_t>(value_bytes);
  }
  const uint64_t taken = kFlashHeadFixedBytes + key_bytes;
  return taken < piece_bytes ? static_cast<uint32_t>(piece_bytes - taken) : 0;
}

uint64_t FlashPieces::parts(uint64_t key_bytes, uint64_t value_bytes) const noexcept {
  const uint64_t rest = value_bytes - first_bytes(key_bytes, value_bytes);
  return (rest + part_bytes() - 1) / part_bytes();
}

uint64_t FlashPieces::drop_units(uint64_t parts) const noexcept {
  const uint64_t full = parts / positions_per_drop();
  const uint64_t rest = parts % positions_per_drop();
  const uint64_t fixed_bytes = kFlashRecordFixedBytes + kFlashDropHeaderBytes;
  return full * units(fixed_bytes + uint64_t{positions_per_drop()} * 4) +
         (rest == 0 ? 0 : units(fixed_bytes + rest * 4));
}

uint32_t FlashPieces::first_units(uint64_t key_bytes, uint64_t value_bytes) const noexcept {
  const uint64_t fixed_bytes =
      single(key_bytes, value_bytes) ? kFlashRecordFixedBytes : kFlashHeadFixedBytes;
  return units(fixed_bytes + key_bytes + first_bytes(key_bytes, value_bytes));
}

bool is_erased(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kErased; });
}

void encode_erase_header(uint32_t block, uint32_t erase_count, std::span<std::byte> unit) {
  std::fill(unit.begin(), unit.end(), kErased);
  std::fill_n(unit.begin(), 12, std::byte{0});
  unit[0] = std::byte{kEraseHeader};
  unit[1] = std::byte{kFlashFormatVersion};
  store_le(&unit[4], erase_count);
  store_le(&unit[12], header_crc(unit.first(12), block));
}

std::optional<uint32_t> decode_erase_header(uint32_t block, std::span<const std::byte> unit) {
  const bool known = unit[0] == std::byte{kEraseHeader} &&
                     unit[1] == std::byte{kFlashFormatVersion} &&
                     load_le<uint16_t>(&unit[2]) == 0 && load_le<uint32_t>(&unit[8]) == 0;
  if (!known || load_le<uint32_t>(&unit[12]) != header_crc(unit.first(12), block)) {
    return std::nullopt;
  }
  return load_le<uint32_t>(&unit[4]);
}

void encode_open_header(uint32_t block, const FlashOpenHeader& header, std::span<std::byte> unit) {
  std::fill(unit.begin(), unit.end(), kErased);
  store_le(&unit[0], header.sequence << 8 | static_cast<uint8_t>(header.purpose));
  store_le(&unit[8], header.next);
  store_le(&unit[12], header_crc(unit.first(12), block));
}

std::optional<FlashOpenHeader> decode_open_header(uint32_t block, std::span<const std::byte> unit) {
  FlashOpenHeader header;
  header.purpose = static_cast<FlashPurpose>(unit[0]);
  header.sequence = load_le<uint64_t>(&unit[0]) >> 8;
  header.next = load_le<uint32_t>(&unit[8]);
  if (load_le<uint32_t>(&unit[12]) != header_crc(unit.first(12), block) ||
      header.purpose < FlashPurpose::kHot || header.purpose > FlashPurpose::kAnchor) {
    return std::nullopt;
  }
  return header;
}

}  // namespace cuckoo::core
