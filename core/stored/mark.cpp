#include "core/stored/mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kMarkMagic = 0x4B4D4B43;    // "CKMK"
constexpr uint32_t kPlacesMagic = 0x4C504B43;  // "CKPL"
constexpr uint8_t kVersion = 1;
constexpr uint8_t kUnique = 1;  // the only flag
constexpr size_t kCrcBytes = 4;

// Where the fields of a mark are.
constexpr size_t kVersionAt = 4;
constexpr size_t kKindAt = 5;
constexpr size_t kWidthAt = 6;
constexpr size_t kFlagsAt = 7;
constexpr size_t kSeedAt = 8;
constexpr size_t kCapacityAt = 16;
constexpr size_t kSizeAt = 24;
constexpr size_t kShapeAt = 32;
constexpr size_t kDetailAt = 34;
constexpr size_t kEpochAt = 36;
constexpr size_t kPositionAt = 40;
constexpr size_t kChainAt = 48;
constexpr size_t kMarkCrcAt = 56;
static_assert(kMarkCrcAt + kCrcBytes == kMarkBytes);

// … and of places.
constexpr size_t kLastAt = 8;
constexpr size_t kPlacesEpochAt = kLastAt + kMarkBytes;
constexpr size_t kBaseIdAt = kPlacesEpochAt + 8;
constexpr size_t kFirstPlaceAt = kBaseIdAt + 8;
constexpr size_t kPlaceBytes = 24;

// The last four bytes are the checksum of all before them.
void seal(std::span<std::byte> bytes) noexcept {
  const size_t crc_at = bytes.size() - kCrcBytes;
  store_le(&bytes[crc_at], crc32c(bytes.first(crc_at)));
}

bool sealed(std::span<const std::byte> bytes) noexcept {
  const size_t crc_at = bytes.size() - kCrcBytes;
  return crc32c(bytes.first(crc_at)) == load_le<uint32_t>(&bytes[crc_at]);
}

}  // namespace

std::vector<std::byte> encode_mark(const FilterMark& mark) {
  std::vector<std::byte> bytes(kMarkBytes);
  store_le(&bytes[0], kMarkMagic);
  store_le(&bytes[kVersionAt], kVersion);
  store_le(&bytes[kKindAt], static_cast<uint8_t>(mark.kind));
  store_le(&bytes[kWidthAt], static_cast<uint8_t>(mark.width));
  store_le(&bytes[kFlagsAt], mark.unique ? kUnique : uint8_t{0});
  store_le(&bytes[kSeedAt], mark.seed);
  store_le(&bytes[kCapacityAt], mark.capacity);
  store_le(&bytes[kSizeAt], mark.geometry.size);
  store_le(&bytes[kShapeAt], static_cast<uint16_t>(mark.geometry.shape));
  store_le(&bytes[kDetailAt], static_cast<uint16_t>(mark.geometry.detail));
  store_le(&bytes[kEpochAt], static_cast<uint32_t>(mark.epoch));
  store_le(&bytes[kPositionAt], mark.position);
  store_le(&bytes[kChainAt], mark.chain);
  seal(bytes);
  return bytes;
}

Result<FilterMark> decode_mark(std::span<const std::byte> bytes) {
  if (bytes.size() != kMarkBytes || load_le<uint32_t>(bytes.data()) != kMarkMagic) {
    return corrupt("bytes that are no mark, expected " + std::to_string(kMarkBytes) +
                   " that begin with CKMK");
  }
  if (const auto version = load_le<uint8_t>(&bytes[kVersionAt]); version != kVersion) {
    return corrupt("mark of format " + std::to_string(version) + ", this version reads format 1");
  }
  if (!sealed(bytes)) {
    return corrupt("mark with a wrong checksum");
  }
  FilterMark mark;
  mark.kind = static_cast<FilterKind>(bytes[kKindAt]);
  mark.width = static_cast<HashWidth>(bytes[kWidthAt]);
  mark.unique = bytes[kFlagsAt] == std::byte{kUnique};
  mark.seed = load_le<uint64_t>(&bytes[kSeedAt]);
  mark.capacity = load_le<uint64_t>(&bytes[kCapacityAt]);
  mark.geometry = {load_le<uint64_t>(&bytes[kSizeAt]), load_le<uint16_t>(&bytes[kShapeAt]),
                   load_le<uint16_t>(&bytes[kDetailAt])};
  mark.epoch = load_le<uint32_t>(&bytes[kEpochAt]);
  mark.position = load_le<uint64_t>(&bytes[kPositionAt]);
  mark.chain = load_le<uint64_t>(&bytes[kChainAt]);
  const bool valid = is_kind(mark.kind) && !traits_of(mark.kind).pairs &&
                     (mark.width == HashWidth::k47Bits || mark.width == HashWidth::k63Bits) &&
                     static_cast<uint8_t>(bytes[kFlagsAt]) <= kUnique && mark.capacity > 0 &&
                     mark.capacity <= kMaxCapacity && mark.epoch <= kMaxEpoch;
  if (!valid) {
    return corrupt("mark of a filter that can't be");
  }
  return mark;
}

std::string mark_text(const FilterMark& mark) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : encode_mark(mark)) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

uint64_t mark_id(const FilterMark& mark) {
  const std::vector<std::byte> bytes = encode_mark(mark);
  return XXH3_64bits(bytes.data(), bytes.size());
}

const MarkedPlace* MarkedPlaces::find(const FilterMark& mark) const {
  const auto found =
      std::find_if(places.rbegin(), places.rend(),
                   [id = mark_id(mark)](const MarkedPlace& place) { return place.mark_id == id; });
  return found == places.rend() ? nullptr : &*found;
}

std::vector<std::byte> encode_places(const MarkedPlaces& places) {
  std::vector<std::byte> bytes(kFirstPlaceAt + kPlaceBytes * places.places.size() + kCrcBytes);
  store_le(&bytes[0], kPlacesMagic);
  store_le(&bytes[4], uint32_t{kVersion});
  const std::vector<std::byte> last = encode_mark(places.last);
  std::copy(last.begin(), last.end(), &bytes[kLastAt]);
  store_le(&bytes[kPlacesEpochAt], places.epoch);
  store_le(&bytes[kBaseIdAt], places.base_id);
  size_t at = kFirstPlaceAt;
  for (const MarkedPlace& place : places.places) {
    store_le(&bytes[at], place.mark_id);
    store_le(&bytes[at + 8], place.position);
    store_le(&bytes[at + 16], place.chain);
    at += kPlaceBytes;
  }
  seal(bytes);
  return bytes;
}

Result<MarkedPlaces> decode_places(std::span<const std::byte> bytes) {
  constexpr size_t kNone = kFirstPlaceAt + kCrcBytes;
  if (bytes.size() <= kNone || (bytes.size() - kNone) % kPlaceBytes != 0 ||
      (bytes.size() - kNone) / kPlaceBytes > MarkedPlaces::kMost ||
      load_le<uint32_t>(bytes.data()) != kPlacesMagic) {
    return corrupt("marked places that are none");
  }
  if (const auto version = load_le<uint32_t>(&bytes[4]); version != kVersion) {
    return corrupt("marked places of format " + std::to_string(version) +
                   ", this version reads format 1");
  }
  if (!sealed(bytes)) {
    return corrupt("marked places with a wrong checksum");
  }
  MarkedPlaces places;
  CUCKOO_ASSIGN_OR_RETURN(places.last, decode_mark(bytes.subspan(kLastAt, kMarkBytes)));
  places.epoch = load_le<uint64_t>(&bytes[kPlacesEpochAt]);
  places.base_id = load_le<uint64_t>(&bytes[kBaseIdAt]);
  uint64_t position = 0;
  for (size_t at = kFirstPlaceAt; at + kCrcBytes < bytes.size(); at += kPlaceBytes) {
    const MarkedPlace place = {load_le<uint64_t>(&bytes[at]), load_le<uint64_t>(&bytes[at + 8]),
                               load_le<uint64_t>(&bytes[at + 16])};
    if (place.position < position) {
      return corrupt("marked places that do not ascend");
    }
    position = place.position;
    places.places.push_back(place);
  }
  if (places.places.back().mark_id != mark_id(places.last)) {
    return corrupt("marked places of which the last has another mark");
  }
  return places;
}

}  // namespace cuckoo
