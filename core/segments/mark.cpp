#include "core/segments/mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMarkMagic = 0x4B4D4B43;  // "CKMK"
constexpr uint8_t kMarkVersion = 3;

// Offsets of the fields of a mark.
constexpr size_t kMarkKindAt = 5;
constexpr size_t kMarkWidthAt = 6;
constexpr size_t kMarkZeroAt = 7;
constexpr size_t kMarkSeedAt = 8;
constexpr size_t kMarkPositionAt = 16;
constexpr size_t kMarkChainAt = 24;
constexpr size_t kMarkCrcAt = 32;
static_assert(kMarkCrcAt + kCrcBytes == kMarkBytes);

}  // namespace

std::vector<std::byte> encode_mark(const FilterMark& mark) {
  std::vector<std::byte> bytes(kMarkCrcAt);
  put_front(kMarkMagic, kMarkVersion, bytes);
  store_le(&bytes[kMarkKindAt], static_cast<uint8_t>(mark.kind));
  store_le(&bytes[kMarkWidthAt], static_cast<uint8_t>(mark.width));
  store_le(&bytes[kMarkSeedAt], mark.seed);
  store_le(&bytes[kMarkPositionAt], mark.position);
  store_le(&bytes[kMarkChainAt], mark.chain);
  append_crc(bytes);
  return bytes;
}

Result<FilterMark> decode_mark(std::span<const std::byte> bytes) {
  if (!has_magic(bytes, kMarkMagic) || bytes.size() <= kVersionAt) {
    return corrupt("bytes that are no mark, expected " + std::to_string(kMarkBytes) +
                   " that begin with CKMK");
  }
  CUCKOO_TRY(expect_version("mark", load_le<uint8_t>(&bytes[kVersionAt]), kMarkVersion,
                            kMadeBeforeRelease));
  if (bytes.size() != kMarkBytes) {
    return corrupt("mark of " + std::to_string(bytes.size()) + " bytes, expected " +
                   std::to_string(kMarkBytes));
  }
  if (!has_crc(bytes)) {
    return corrupt("mark with a wrong checksum");
  }
  FilterMark mark;
  mark.kind = static_cast<FilterKind>(bytes[kMarkKindAt]);
  mark.width = static_cast<HashWidth>(bytes[kMarkWidthAt]);
  mark.seed = load_le<uint64_t>(&bytes[kMarkSeedAt]);
  mark.position = load_le<uint64_t>(&bytes[kMarkPositionAt]);
  mark.chain = load_le<uint64_t>(&bytes[kMarkChainAt]);
  const bool valid = is_kind(mark.kind) && !traits_of(mark.kind).pairs &&
                     (mark.width == HashWidth::k47Bits || mark.width == HashWidth::k63Bits) &&
                     mark.position <= kMostMarkedPosition && bytes[kMarkZeroAt] == std::byte{0};
  if (!valid) {
    return corrupt("mark of a filter that can't be");
  }
  return mark;
}

std::string mark_text(std::span<const std::byte> mark) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : mark) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace cuckoo::segments
