#include "core/segments/mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMarkMagic = 0x4B4D4B43;    // "CKMK"
constexpr uint32_t kPlacesMagic = 0x4C504B43;  // "CKPL"
constexpr uint8_t kMarkVersion = 3;
constexpr uint8_t kUnique = 1;  // the only flag

// Offsets of the fields of a mark.
constexpr size_t kMarkKindAt = 5;
constexpr size_t kMarkWidthAt = 6;
constexpr size_t kMarkFlagsAt = 7;
constexpr size_t kMarkSeedAt = 8;
constexpr size_t kMarkPositionAt = 16;
constexpr size_t kMarkChainAt = 24;
constexpr size_t kMarkCrcAt = 32;
static_assert(kMarkCrcAt + kCrcBytes == kMarkBytes);

// Places: magic, version, then for each its mark, position and chain value.
constexpr size_t kMarkFirstPlaceAt = 8;
constexpr size_t kPlaceBytes = kMarkBytes + 16;

}  // namespace

std::vector<std::byte> encode_mark(const FilterMark& mark) {
  std::vector<std::byte> bytes(kMarkCrcAt);
  put_front(kMarkMagic, kMarkVersion, bytes);
  store_le(&bytes[kMarkKindAt], static_cast<uint8_t>(mark.kind));
  store_le(&bytes[kMarkWidthAt], static_cast<uint8_t>(mark.width));
  store_le(&bytes[kMarkFlagsAt], mark.unique ? kUnique : uint8_t{0});
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
  mark.unique = bytes[kMarkFlagsAt] == std::byte{kUnique};
  mark.seed = load_le<uint64_t>(&bytes[kMarkSeedAt]);
  mark.position = load_le<uint64_t>(&bytes[kMarkPositionAt]);
  mark.chain = load_le<uint64_t>(&bytes[kMarkChainAt]);
  const bool valid = is_kind(mark.kind) && !traits_of(mark.kind).pairs &&
                     (mark.width == HashWidth::k47Bits || mark.width == HashWidth::k63Bits) &&
                     static_cast<uint8_t>(bytes[kMarkFlagsAt]) <= kUnique;
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
  std::vector<std::byte> bytes(kMarkFirstPlaceAt + kPlaceBytes * places.places.size());
  put_front(kPlacesMagic, uint32_t{kMarkVersion}, bytes);
  std::byte* to = bytes.data() + kMarkFirstPlaceAt;
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
  if (bytes.size() <= kMarkFirstPlaceAt || (bytes.size() - kMarkFirstPlaceAt) % kPlaceBytes != 0 ||
      (bytes.size() - kMarkFirstPlaceAt) / kPlaceBytes > MarkedPlaces::kMost ||
      !has_magic(bytes, kPlacesMagic)) {
    return corrupt("marked places that are none");
  }
  CUCKOO_TRY(expect_version("marked places", load_le<uint32_t>(&bytes[kVersionAt]), kMarkVersion,
                            kMadeBeforeRelease));
  MarkedPlaces places;
  uint64_t position = 0;
  for (size_t at = kMarkFirstPlaceAt; at < bytes.size(); at += kPlaceBytes) {
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
