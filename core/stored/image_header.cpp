#include "core/stored/image_header.hpp"

#include <algorithm>
#include <cstdio>

#include "core/base/bytes.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kMagic = 0x4D494B43;  // "CKIM"
constexpr uint8_t kHasHashes = 1;        // the only flag

// Where the fields of the header are.
constexpr size_t kVersionAt = 4;
constexpr size_t kLengthAt = 8;
constexpr size_t kKindAt = 16;
constexpr size_t kWidthAt = 17;
constexpr size_t kAffinityAt = 18;
constexpr size_t kFlagsAt = 19;
constexpr size_t kFingerprintBitsAt = 20;
constexpr size_t kHashesAt = 22;
constexpr size_t kRateAt = 24;
constexpr size_t kBitsPerKeyAt = 32;
constexpr size_t kSeedAt = 40;
constexpr size_t kCapacityAt = 48;
constexpr size_t kSizeAt = 56;
constexpr size_t kShapeAt = 64;
constexpr size_t kDetailAt = 72;
constexpr size_t kItemsAt = 80;
constexpr size_t kOccupiedAt = 88;
constexpr size_t kCellBytesAt = 96;
constexpr size_t kOverflowCountAt = 104;
constexpr size_t kHashCountAt = 112;
constexpr size_t kHashBytesAt = 120;
static_assert(kHashBytesAt + 8 == image_header_bytes(1));
constexpr size_t kCollationAt = 128;  // from version 2 on, as all behind it
constexpr size_t kKeyTypesAt = 129;
constexpr size_t kZeroAt = 130;
static_assert(kZeroAt + 6 == image_header_bytes(2));
constexpr size_t kMarkAt = 136;  // in version 3
constexpr size_t kMarkEnd = kMarkAt + kMarkBytes;
static_assert(kMarkEnd + 4 == image_header_bytes(kMarkedImageVersion));

std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

bool is_zero(double number) noexcept { return bits_of(number) == 0; }  // not -0

Status check_spec_of_image(const FilterSpec& spec) {
  if (Status status = check_spec(spec); !status.ok()) {
    return corrupt((is_kind(spec.kind) ? "image for " : "image of ") + status.error().message);
  }
  if (spec.has_own_size() && !is_zero(spec.rate)) {
    return corrupt("image for a false positive rate of " + exact(spec.rate) +
                   " and a size of its own, expected one of the two");
  }
  return {};
}

Status check_mark(const ImageHeader& header) {
  if (header.mark.has_value() != (header.version == kMarkedImageVersion)) {
    return corrupt("image of format " + std::to_string(header.version) +
                   (header.mark.has_value() ? " with a mark" : " without a mark"));
  }
  if (header.mark &&
      (header.mark->kind != header.spec.kind || header.mark->width != header.width ||
       header.mark->seed != header.seed || header.mark->capacity != header.capacity ||
       header.mark->geometry != header.geometry)) {
    return corrupt("image with the mark of another filter");
  }
  return {};
}

Status expect_zeros(std::span<const std::byte> bytes) {
  return all_zero(bytes) ? Status()
                         : corrupt(
                               "image with header bytes that this version does not know,"
                               " expected zeros");
}

// What of the header is not a number: the mark, and bytes without a meaning.
Status read_mark(std::span<const std::byte> bytes, ImageHeader& header) {
  if (header.version > 1) {
    CUCKOO_TRY(expect_zeros(bytes.subspan(kZeroAt, image_header_bytes(2) - kZeroAt)));
  }
  if (header.version == kMarkedImageVersion) {
    CUCKOO_TRY(expect_zeros(bytes.subspan(kMarkEnd, image_header_bytes(3) - kMarkEnd)));
    CUCKOO_ASSIGN_OR_RETURN(header.mark, decode_mark(bytes.subspan(kMarkAt, kMarkBytes)));
  }
  return {};
}

// The fields as they stand there; the bytes are at least a header of that version.
void get_header(const std::byte* from, ImageSections& sections) noexcept {
  const auto word = [from](size_t at) { return load_le<uint64_t>(from + at); };
  ImageHeader& header = sections.header;
  header.version = load_le<uint32_t>(from + kVersionAt);
  sections.length = word(kLengthAt);
  header.spec.kind = static_cast<FilterKind>(from[kKindAt]);
  header.width = static_cast<HashWidth>(from[kWidthAt]);
  header.key_affinity = static_cast<uint8_t>(from[kAffinityAt]);
  header.with_hashes = (static_cast<uint8_t>(from[kFlagsAt]) & kHasHashes) != 0;
  header.spec.fingerprint_bits = load_le<uint16_t>(from + kFingerprintBitsAt);
  header.spec.hashes = load_le<uint16_t>(from + kHashesAt);
  header.spec.rate = real_from_bits(word(kRateAt));
  header.spec.bits_per_key = real_from_bits(word(kBitsPerKeyAt));
  header.seed = word(kSeedAt);
  header.capacity = word(kCapacityAt);
  header.geometry = {word(kSizeAt), word(kShapeAt), word(kDetailAt)};
  header.items = word(kItemsAt);
  header.occupied = word(kOccupiedAt);
  sections.cell_bytes = word(kCellBytesAt);
  sections.overflow_count = word(kOverflowCountAt);
  header.hash_count = word(kHashCountAt);
  sections.hash_bytes = word(kHashBytesAt);
  if (header.version > 1) {
    header.collation = static_cast<uint8_t>(from[kCollationAt]);
    header.key_types = static_cast<uint8_t>(from[kKeyTypesAt]);
  }
}

// The sections fill the image, and are as long as the header's other numbers ask for.
Status check_lengths(const ImageSections& sections) {
  const ImageHeader& header = sections.header;
  if (const uint64_t expected = sections.layout.total_bytes(kImagePageBytes);
      sections.cell_bytes != expected) {
    return corrupt("image with " + grouped(sections.cell_bytes) + " bytes of cells, expected " +
                   grouped(expected) + " for " + grouped(header.geometry.size) + " " +
                   unit_name(header.spec.kind));
  }
  uint64_t room = sections.length - least_image_bytes(header.version);
  if (sections.cell_bytes > room) {
    return corrupt("image with " + grouped(sections.cell_bytes) +
                   " bytes of cells, expected at most " + grouped(room));
  }
  room -= sections.cell_bytes;
  if (sections.overflow_count > room / kOverflowEntryBytes) {
    return corrupt("image with " + grouped(sections.overflow_count) +
                   " overflow entries, expected at most " + grouped(room / kOverflowEntryBytes));
  }
  room -= sections.overflow_count * kOverflowEntryBytes;
  if (sections.hash_bytes != room) {
    return corrupt("image with " + grouped(sections.hash_bytes) + " bytes of hashes, expected " +
                   grouped(room));
  }
  if (!header.with_hashes && sections.hash_bytes != 0) {
    return corrupt("image without hashes that has " + grouped(sections.hash_bytes) +
                   " bytes of them");
  }
  // An entry takes two bits at least.
  if (header.hash_count / 4 > sections.hash_bytes) {
    return corrupt("image with " + grouped(header.hash_count) + " hashes in " +
                   grouped(sections.hash_bytes) + " bytes, expected at most four a byte");
  }
  return {};
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

// What doesn't need the bytes behind the header.
Status check_image_header(const ImageHeader& header, const CellLayout& layout) {
  CUCKOO_TRY(check_spec_of_image(header.spec));
  if (header.version < kOldestImageVersion || header.version > kImageVersion) {
    return corrupt("image of format " + std::to_string(header.version) + ", expected 1 to 3");
  }
  CUCKOO_TRY(check_mark(header));
  if (header.width != HashWidth::k47Bits && header.width != HashWidth::k63Bits) {
    return corrupt("image of " + std::to_string(static_cast<int>(header.width)) +
                   "-bit hashes, expected 47 or 63");
  }
  if (header.key_affinity > kMaxKeyAffinity) {
    return corrupt("image of keys of affinity " + std::to_string(header.key_affinity) +
                   ", expected 0 to 4");
  }
  if (header.collation > kMaxKeyCollation) {
    return corrupt("image of keys of collation " + std::to_string(header.collation) +
                   ", expected 0 to 2");
  }
  if (header.version == 1 && (header.collation != 0 || header.key_types != 0)) {
    return corrupt("image of format 1 that knows the collation or the types of its keys");
  }
  if (header.capacity < 1 || header.capacity > kMaxCapacity) {
    return corrupt("image of capacity " + grouped(header.capacity) + ", expected 1 to 2^40");
  }
  if (header.items > kMaxImageItems) {
    return corrupt("image of " + grouped(header.items) + " items, expected at most 2^62");
  }
  const uint64_t cells = cell_slots(header.spec.kind, layout);
  if (header.occupied > cells) {
    return corrupt("image with " + grouped(header.occupied) + " cells in use, expected at most " +
                   grouped(cells));
  }
  if (header.with_hashes && traits_of(header.spec.kind).pairs) {
    return corrupt("image of a murmur2 filter with hashes, expected none");
  }
  if (!header.with_hashes && header.hash_count != 0) {
    return corrupt("image without hashes that counts " + grouped(header.hash_count));
  }
  return {};
}

void put_image_header(const ImageSections& sections, std::byte* to) {
  const ImageHeader& header = sections.header;
  store_le(to, kMagic);
  store_le(to + kVersionAt, header.version);
  store_le(to + kLengthAt, sections.length);
  store_le(to + kKindAt, static_cast<uint8_t>(header.spec.kind));
  store_le(to + kWidthAt, static_cast<uint8_t>(header.width));
  store_le(to + kAffinityAt, header.key_affinity);
  store_le(to + kFlagsAt, header.with_hashes ? kHasHashes : uint8_t{0});
  store_le(to + kFingerprintBitsAt, static_cast<uint16_t>(header.spec.fingerprint_bits));
  store_le(to + kHashesAt, static_cast<uint16_t>(header.spec.hashes));
  store_le(to + kRateAt, bits_of(header.spec.rate));
  store_le(to + kBitsPerKeyAt, bits_of(header.spec.bits_per_key));
  store_le(to + kSeedAt, header.seed);
  store_le(to + kCapacityAt, header.capacity);
  store_le(to + kSizeAt, header.geometry.size);
  store_le(to + kShapeAt, header.geometry.shape);
  store_le(to + kDetailAt, header.geometry.detail);
  store_le(to + kItemsAt, header.items);
  store_le(to + kOccupiedAt, header.occupied);
  store_le(to + kCellBytesAt, sections.cell_bytes);
  store_le(to + kOverflowCountAt, sections.overflow_count);
  store_le(to + kHashCountAt, header.hash_count);
  store_le(to + kHashBytesAt, sections.hash_bytes);
  if (header.version > 1) {
    store_le(to + kCollationAt, header.collation);
    store_le(to + kKeyTypesAt, header.key_types);
  }
  if (header.mark) {
    const std::vector<std::byte> mark = encode_mark(*header.mark);
    std::copy(mark.begin(), mark.end(), to + kMarkAt);
  }
}

Result<ImageSections> parse_image_header(std::span<const std::byte> bytes) {
  if (bytes.size() >= sizeof kMagic && !looks_like_image(bytes)) {
    return corrupt("bytes that are no image of a filter, expected CKIM at the start");
  }
  const uint32_t version =
      bytes.size() >= kVersionAt + 4 ? load_le<uint32_t>(&bytes[kVersionAt]) : kOldestImageVersion;
  if (version < kOldestImageVersion || version > kImageVersion) {
    return corrupt("image of format " + std::to_string(version) + ", this version reads formats " +
                   std::to_string(kOldestImageVersion) + " to " + std::to_string(kImageVersion));
  }
  if (bytes.size() < least_image_bytes(version)) {
    return corrupt("image cut off: " + grouped(bytes.size()) + " bytes, expected at least " +
                   grouped(least_image_bytes(version)));
  }
  ImageSections sections;
  get_header(bytes.data(), sections);
  if (sections.length != bytes.size()) {
    return corrupt((sections.length > bytes.size() ? "image cut off: " : "image too long: ") +
                   grouped(bytes.size()) + " bytes, expected " + grouped(sections.length));
  }
  if (const auto flags = static_cast<unsigned>(bytes[kFlagsAt]); flags > kHasHashes) {
    return corrupt("image with flags " + std::to_string(flags) + ", expected 0 or 1");
  }
  CUCKOO_TRY(read_mark(bytes, sections.header));
  CUCKOO_TRY(check_spec_of_image(sections.header.spec));  // so that the kind is one
  CUCKOO_ASSIGN_OR_RETURN(sections.layout,
                          cell_layout(sections.header.spec.kind, sections.header.geometry));
  CUCKOO_TRY(check_image_header(sections.header, sections.layout));
  CUCKOO_TRY(check_lengths(sections));
  return sections;
}

bool looks_like_image(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= sizeof kMagic && load_le<uint32_t>(bytes.data()) == kMagic;
}

Result<ImageHeader> decode_image_header(std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const ImageSections& sections, parse_image_header(bytes));
  return sections.header;
}

}  // namespace cuckoo
