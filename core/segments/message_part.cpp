#include "core/segments/message_part.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kPartMagic = 0x54504B43;  // "CKPT"
constexpr uint8_t kPartVersion = 3;

constexpr size_t kPartZeroAt = 5;  // 3 bytes
constexpr size_t kPartIdAt = 8;
constexpr size_t kPartTotalAt = 16;
constexpr size_t kPartSliceAt = 24;
constexpr size_t kPartIndexAt = 32;
static_assert(kPartIndexAt + 8 == kPartHeaderBytes);
static_assert(kPartOverheadBytes == kPartHeaderBytes + kCrcBytes);

}  // namespace

std::string part_name(const MessageCut& cut, uint64_t index) {
  return "part " + std::to_string(index + 1) + " of " + std::to_string(cut.parts());
}

Status check_cut(const MessageCut& cut) {
  if (cut.total_bytes < 1 || cut.total_bytes > kMostMessageBytes ||
      cut.slice_bytes < kLeastSliceBytes || cut.slice_bytes > kMostMessageBytes) {
    return corrupt("a part of a message of " + std::to_string(cut.total_bytes) +
                   " bytes, cut into " + std::to_string(cut.slice_bytes) +
                   "; expected 1 to 2^44 and 1024 to 2^44");
  }
  return {};
}

std::vector<std::byte> encode_part(const MessagePart& part) {
  std::vector<std::byte> bytes(kPartHeaderBytes);
  bytes.reserve(part.slice.size() + kPartOverheadBytes);
  put_front(kPartMagic, kPartVersion, bytes);
  store_le(&bytes[kPartIdAt], part.cut.id);
  store_le(&bytes[kPartTotalAt], part.cut.total_bytes);
  store_le(&bytes[kPartSliceAt], part.cut.slice_bytes);
  store_le(&bytes[kPartIndexAt], part.index);
  bytes.insert(bytes.end(), part.slice.begin(), part.slice.end());
  append_crc(bytes);
  return bytes;
}

Result<MessagePart> decode_part(std::span<const std::byte> bytes) {
  if (!looks_like_part(bytes) || bytes.size() <= kVersionAt) {
    return corrupt("bytes that are no part of a message, expected CKPT at the start");
  }
  CUCKOO_TRY(
      expect_version("a part of a message", load_le<uint8_t>(&bytes[kVersionAt]), kPartVersion));
  if (bytes.size() <= kPartOverheadBytes) {
    return corrupt("a part of a message cut off: " + std::to_string(bytes.size()) +
                   " bytes, expected more than " + std::to_string(kPartOverheadBytes));
  }
  if (!has_crc(bytes)) {
    return corrupt("a part of a message with a wrong checksum");
  }
  MessagePart part;
  part.cut.id = load_le<uint64_t>(&bytes[kPartIdAt]);
  part.cut.total_bytes = load_le<uint64_t>(&bytes[kPartTotalAt]);
  part.cut.slice_bytes = load_le<uint64_t>(&bytes[kPartSliceAt]);
  part.index = load_le<uint64_t>(&bytes[kPartIndexAt]);
  part.slice = bytes.subspan(kPartHeaderBytes, bytes.size() - kPartOverheadBytes);
  CUCKOO_TRY(check_cut(part.cut));
  if (!all_zero(bytes.subspan(kPartZeroAt, kPartIdAt - kPartZeroAt)) ||
      part.index >= part.cut.parts() || part.slice.size() != part.cut.bytes_of(part.index)) {
    return corrupt("a part of a message with a header that can't be");
  }
  return part;
}

bool looks_like_part(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kPartMagic);
}

}  // namespace cuckoo::segments
