#include "core/segments/mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMarkMagic = 0x4B4D4B43;    // "CKMK"
constexpr uint32_t kPlacesMagic = 0x4C504B43;  // "CKPL"
constexpr uint8_t kVersion = 3;
constexpr uint8_t kUnique = 1;  // the only flag

// Offsets of the fields of a mark.
constexpr size_t kKindAt = 5;
constexpr size_t kWidthAt = 6;
constexpr size_t kFlagsAt = 7;
constexpr size_t kSeedAt = 8;
constexpr size_t kPositionAt = 16;
constexpr size_t kChainAt = 24;
constexpr size_t kCrcAt = 32;
static_assert(kCrcAt + kCrcBytes == kMarkBytes);

// Places: magic, version, then for each its mark, position and chain value.
constexpr size_t kFirstPlaceAt = 8;
constexpr size_t kPlaceBytes = kMarkBytes + 16;

}  // namespace

std::vector<std::byte> encode_mark(const FilterMark& mark) {
  std::vector<std::byte> bytes(kCrcAt);
  put_front(kMarkMagic, kVersion, bytes);
  store_le(&bytes[kKindAt], static_cast<uint8_t>(mark.kind));
  store_le(&bytes[kWidthAt], static_cast<uint8_t>(mark.width));
  store_le(&bytes[kFlagsAt], mark.unique ? kUnique : uint8_t{0});
  store_le(&bytes[kSeedAt], mark.seed);
  store_le(&bytes[kPositionAt], mark.position);
  store_le(&bytes[kChainAt], mark.chain);
  append_crc(bytes);
  return bytes;
}

Result<FilterMark> decode_mark(std::span<const std::byte> bytes) {
  if (!has_magic(bytes, kMarkMagic) || bytes.size() <= kVersionAt) {
    return corrupt("bytes that are no mark, expected " + std::to_string(kMarkBytes) +
                   " that begin with CKMK");
  }
  CUCKOO_TRY(
      expect_version("mark", load_le<uint8_t>(&bytes[kVersionAt]), kVersion, kMadeBeforeRelease));
  if (bytes.size() != kMarkBytes) {
    return corrupt("mark of " + std::to_string(bytes.size()) + " bytes, expected " +
                   std::to_string(kMarkBytes));
  }
  if (!has_crc(bytes)) {
    return corrupt("mark with a wrong checksum");
  }
  FilterMark mark;
  mark.kind = static_cast<FilterKind>(bytes[kKindAt]);
  mark.width = static_cast<HashWidth>(bytes[kWidthAt]);
  mark.unique = bytes[kFlagsAt] == std::byte{kUnique};
  mark.seed = load_le<uint64_t>(&bytes[kSeedAt]);
  mark.position = load_le<uint64_t>(&bytes[kPositionAt]);
  mark.chain = load_le<uint64_t>(&bytes[kChainAt]);
  const bool valid = is_kind(mark.kind) && !traits_of(mark.kind).pairs &&
                     (mark.width == HashWidth::k47Bits || mark.width == HashWidth::k63Bits) &&
                     static_cast<uint8_t>(bytes[kFlagsAt]) <= kUnique;
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

// Returns the latest place, if the mark holds at several.
const MarkedPlace* MarkedPlaces::find(const FilterMark& mark) const {
  const auto found = std::find_if(places.rbegin(), places.rend(),
                                  [&mark](const MarkedPlace& place) { return place.mark == mark; });
  return found == places.rend() ? nullptr : &*found;
}

std::vector<std::byte> encode_places(const MarkedPlaces& places) {
  std::vector<std::byte> bytes(kFirstPlaceAt + kPlaceBytes * places.places.size());
  put_front(kPlacesMagic, uint32_t{kVersion}, bytes);
  std::byte* to = bytes.data() + kFirstPlaceAt;
  for (const MarkedPlace& place : places.places) {
    const std::vector<std::byte> mark = encode_mark(place.mark);
    std::copy(mark.begin(), mark.end(), to);
    store_le(to + kMarkBytes, place.position);
    store_le(to + kMarkBytes + 8, place.chain);
    to += kPlaceBytes;
  }
  return bytes;
}

Result<MarkedPlaces> decode_places(std::span<const std::byte> bytes) {
  if (bytes.size() <= kFirstPlaceAt || (bytes.size() - kFirstPlaceAt) % kPlaceBytes != 0 ||
      (bytes.size() - kFirstPlaceAt) / kPlaceBytes > MarkedPlaces::kMost ||
      !has_magic(bytes, kPlacesMagic)) {
    return corrupt("marked places that are none");
  }
  CUCKOO_TRY(expect_version("marked places", load_le<uint32_t>(&bytes[kVersionAt]), kVersion,
                            kMadeBeforeRelease));
  MarkedPlaces places;
  uint64_t position = 0;
  for (size_t at = kFirstPlaceAt; at < bytes.size(); at += kPlaceBytes) {
    MarkedPlace place;
    CUCKOO_ASSIGN_OR_RETURN(place.mark, decode_mark(bytes.subspan(at, kMarkBytes)));
    place.position = load_le<uint64_t>(&bytes[at + kMarkBytes]);
    place.chain = load_le<uint64_t>(&bytes[at + kMarkBytes + 8]);
    if (place.position < position) {
      return corrupt("marked places that do not ascend");
    }
    position = place.position;
    places.places.push_back(place);
  }
  return places;
}

}  // namespace cuckoo::segments
