#include "core/stored/image.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kMagic = 0x4D494B43;  // "CKIM"
constexpr size_t kCrcBytes = 4;
constexpr size_t kOverflowEntryBytes = 16;
constexpr size_t kRowLengthBytes = 4;
constexpr uint8_t kHasHashes = 1;   // the only flag
constexpr uint64_t kHashChain = 0;  // chain value before the first row of hashes

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
static_assert(kZeroAt + 6 == image_header_bytes(kImageVersion));

constexpr size_t least_bytes(uint32_t version) noexcept {
  return image_header_bytes(version) + kCrcBytes;
}

// 4512 -> "4,512"
std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

bool is_zero(double number) noexcept { return std::bit_cast<uint64_t>(number) == 0; }  // not -0

// ---- header

// The header and what it says about the sections behind it.
struct Sections {
  ImageHeader header;
  CellLayout layout;
  uint64_t length = 0;
  uint64_t cell_bytes = 0;
  uint64_t overflow_count = 0;
  uint64_t hash_bytes = 0;

  size_t header_bytes() const noexcept { return image_header_bytes(header.version); }
};

bool has_own_size(const FilterSpec& spec) noexcept {
  return spec.fingerprint_bits != 0 || spec.bits_per_key != 0;  // so the rate means nothing
}

Status check_rate(const FilterSpec& spec) {
  if (has_own_size(spec)) {
    return is_zero(spec.rate) ? Status()
                              : corrupt("image for a false positive rate of " + exact(spec.rate) +
                                        " and a size of its own, expected one of the two");
  }
  if (spec.kind == FilterKind::kLegacyBloom) {  // its files know no bounds
    return spec.rate > 0 && spec.rate < 1 ? Status()
                                          : corrupt("image for a false positive rate of " +
                                                    exact(spec.rate) + ", expected 0 to 1");
  }
  return spec.rate >= kMinBloomRate && spec.rate <= kMaxRate
             ? Status()
             : corrupt("image for a false positive rate of " + exact(spec.rate) +
                       ", expected 2^-36 to 0.25");
}

Status check_spec(const FilterSpec& spec) {
  if (spec.kind < FilterKind::kCuckoo || spec.kind > FilterKind::kLegacyBloom) {
    return corrupt("image of a filter of kind " + std::to_string(static_cast<int>(spec.kind)) +
                   ", expected 1 to 5");
  }
  const bool cuckoo = spec.kind == FilterKind::kCuckoo;
  if (spec.fingerprint_bits != 0 &&
      (!cuckoo || spec.fingerprint_bits < 4 || spec.fingerprint_bits > 32)) {
    return corrupt("image for " + grouped(spec.fingerprint_bits) + " fingerprint bits, expected " +
                   (cuckoo ? "0 or 4 to 32" : "0 in a Bloom filter"));
  }
  if (!is_zero(spec.bits_per_key) &&
      (cuckoo || !(spec.bits_per_key >= 1 && spec.bits_per_key <= 128))) {
    return corrupt("image for " + exact(spec.bits_per_key) + " bits per key, expected " +
                   (cuckoo ? "0 in a cuckoo filter" : "0 or 1 to 128"));
  }
  if (spec.hashes > (cuckoo ? 0U : 64U)) {
    return corrupt("image for " + grouped(spec.hashes) + " hashes, expected " +
                   (cuckoo ? "0 in a cuckoo filter" : "0 to 64"));
  }
  return check_rate(spec);
}

// What doesn't need the bytes behind the header.
Status check_header(const ImageHeader& header, const CellLayout& layout) {
  CUCKOO_TRY(check_spec(header.spec));
  if (header.version < kOldestImageVersion || header.version > kImageVersion) {
    return corrupt("image of format " + std::to_string(header.version) + ", expected 1 or 2");
  }
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
  if (header.with_hashes && header.spec.kind == FilterKind::kLegacyBloom) {
    return corrupt("image of a murmur2 filter with hashes, expected none");
  }
  if (!header.with_hashes && header.hash_count != 0) {
    return corrupt("image without hashes that counts " + grouped(header.hash_count));
  }
  return {};
}

void put_header(const Sections& sections, std::byte* to) noexcept {
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
  store_le(to + kRateAt, std::bit_cast<uint64_t>(header.spec.rate));
  store_le(to + kBitsPerKeyAt, std::bit_cast<uint64_t>(header.spec.bits_per_key));
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
}

// The fields as they stand there; the bytes are at least a header of that version.
void get_header(const std::byte* from, Sections& sections) noexcept {
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
  header.spec.rate = std::bit_cast<double>(word(kRateAt));
  header.spec.bits_per_key = std::bit_cast<double>(word(kBitsPerKeyAt));
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
Status check_lengths(const Sections& sections) {
  const ImageHeader& header = sections.header;
  if (const uint64_t expected = sections.layout.total_bytes(kImagePageBytes);
      sections.cell_bytes != expected) {
    return corrupt("image with " + grouped(sections.cell_bytes) + " bytes of cells, expected " +
                   grouped(expected) + " for " + grouped(header.geometry.size) + " " +
                   unit_name(header.spec.kind));
  }
  uint64_t room = sections.length - least_bytes(header.version);
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

Result<Sections> parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() >= sizeof kMagic && !looks_like_image(bytes)) {
    return corrupt("bytes that are no image of a filter, expected CKIM at the start");
  }
  const uint32_t version =
      bytes.size() >= kVersionAt + 4 ? load_le<uint32_t>(&bytes[kVersionAt]) : kOldestImageVersion;
  if (version < kOldestImageVersion || version > kImageVersion) {
    return corrupt("image of format " + std::to_string(version) + ", this version reads formats " +
                   std::to_string(kOldestImageVersion) + " to " + std::to_string(kImageVersion));
  }
  if (bytes.size() < least_bytes(version)) {
    return corrupt("image cut off: " + grouped(bytes.size()) + " bytes, expected at least " +
                   grouped(least_bytes(version)));
  }
  Sections sections;
  get_header(bytes.data(), sections);
  if (sections.length != bytes.size()) {
    return corrupt((sections.length > bytes.size() ? "image cut off: " : "image too long: ") +
                   grouped(bytes.size()) + " bytes, expected " + grouped(sections.length));
  }
  if (const auto flags = static_cast<unsigned>(bytes[kFlagsAt]); flags > kHasHashes) {
    return corrupt("image with flags " + std::to_string(flags) + ", expected 0 or 1");
  }
  for (size_t at = kZeroAt; at < sections.header_bytes(); ++at) {
    if (bytes[at] != std::byte{0}) {
      return corrupt("image with header bytes that this version does not know, expected zeros");
    }
  }
  CUCKOO_TRY(check_spec(sections.header.spec));  // so that the kind is one
  Result<CellLayout> layout = cell_layout(sections.header.spec.kind, sections.header.geometry);
  if (!layout.ok()) {
    return layout.take_status();
  }
  sections.layout = layout.value();
  CUCKOO_TRY(check_header(sections.header, sections.layout));
  CUCKOO_TRY(check_lengths(sections));
  return sections;
}

// parse_header() and the checksum.
Result<Sections> parse_image(std::span<const std::byte> bytes) {
  Result<Sections> sections = parse_header(bytes);
  if (!sections.ok()) {
    return sections;
  }
  const size_t crc_at = bytes.size() - kCrcBytes;
  if (crc32c(bytes.first(crc_at)) != load_le<uint32_t>(&bytes[crc_at])) {
    return corrupt("image with a wrong checksum");
  }
  return sections;
}

// ---- encoding

Error as_invalid(Status status) { return invalid(status.take_error().message); }

void append_cells(const Filter& filter, const CellLayout& layout, std::vector<std::byte>& image) {
  std::vector<std::byte> page(kImagePageBytes + PageSet::kSlackBytes);
  const uint64_t pages = layout.page_count(kImagePageBytes);
  for (uint64_t index = 0; index < pages; ++index) {
    std::fill(page.begin(), page.end(), std::byte{0});
    gather_page(filter, layout, index, kImagePageBytes, page.data());
    image.insert(image.end(), page.data(),
                 page.data() + layout.content_bytes(index, kImagePageBytes));
  }
}

void append_overflow(const OverflowTable& overflow, std::vector<std::byte>& image) {
  for (const auto& [cell, count] : overflow.counts()) {
    const size_t at = image.size();
    image.resize(at + kOverflowEntryBytes);
    store_le(&image[at], cell);
    store_le(&image[at + 8], count);
  }
}

// What a list of hashes must be, on the way in and on the way out.
class HashListCheck {
 public:
  explicit HashListCheck(const ImageHeader& header) noexcept : header_(header) {}

  Status add(uint64_t hash, uint64_t count) {
    if (logged_hash(hash, header_.width) != hash) {
      return corrupt("hash with more than " + std::to_string(static_cast<int>(header_.width)) +
                     " bits");
    }
    if (entries_ > 0 && hash <= last_) {
      return corrupt("hashes that do not ascend");
    }
    if (!is_multiset(header_.spec.kind)) {
      if (count != 1) {
        return corrupt("hash that is there " + grouped(count) + " times, expected once in a set");
      }
    } else if (count == 0 || count > header_.items - items_) {  // items_ is at most header_.items
      return corrupt("hash that is there " + grouped(count) + " times, expected 1 to " +
                     grouped(header_.items - items_) + ", as many as there are items left");
    } else {
      items_ += count;
    }
    last_ = hash;
    ++entries_;
    return {};
  }
  uint64_t entries() const noexcept { return entries_; }
  uint64_t items() const noexcept { return items_; }
  Status finish() const {
    if (entries_ != header_.hash_count) {
      return corrupt("image with " + grouped(entries_) + " hashes, expected " +
                     grouped(header_.hash_count));
    }
    if (is_multiset(header_.spec.kind) && items_ != header_.items) {
      return corrupt("image with hashes of " + grouped(items_) + " items, expected " +
                     grouped(header_.items));
    }
    return {};
  }

 private:
  const ImageHeader& header_;
  uint64_t last_ = 0;
  uint64_t entries_ = 0;
  uint64_t items_ = 0;
};

// A set's items don't follow from its entries; they stand in every row.
std::optional<uint64_t> set_items(const ImageHeader& header) noexcept {
  return is_multiset(header.spec.kind) ? std::nullopt : std::optional(header.items);
}

// Appends the rows while they and a CRC fit the limit, and counts their bytes to the end.
Status append_hashes(const ImageHeader& header, const HashSource& hashes, uint64_t limit,
                     uint64_t& hash_bytes, std::vector<std::byte>& image) {
  const size_t start = image.size();
  hash_bytes = 0;
  CompactedRowWriter writer(
      header.width, kImageRowBytes, header.hash_count, kHashChain,
      [&](std::span<const std::byte> row) -> Status {
        hash_bytes += kRowLengthBytes + row.size();
        if (start + hash_bytes + kCrcBytes <= limit) {
          const size_t at = image.size();
          image.resize(at + kRowLengthBytes);
          store_le(&image[at], static_cast<uint32_t>(row.size()));
          image.insert(image.end(), row.begin(), row.end());
        }
        return {};
      },
      set_items(header));
  HashListCheck check(header);
  CUCKOO_TRY(hashes([&](uint64_t hash, uint64_t count) -> Status {
    if (Status status = check.add(hash, count); !status.ok()) {
      return as_invalid(std::move(status));
    }
    return writer.add(hash, count);
  }));
  CUCKOO_TRY(writer.finish());
  if (Status status = check.finish(); !status.ok()) {
    return as_invalid(std::move(status));
  }
  return {};
}

Error too_long(uint64_t bytes, uint64_t limit, const char* way_out) {
  return invalid("image of " + grouped(bytes) + " bytes, at most " + grouped(limit) +
                 " are possible; " + way_out);
}

Status check_bare_bytes(uint64_t bytes, uint64_t limit) {
  if (bytes > limit) {
    return too_long(bytes, limit, "a smaller capacity or a higher rate makes it shorter");
  }
  return {};
}

// ---- decoding

Status read_cells(std::span<const std::byte> cells, const CellLayout& layout, Filter& filter) {
  const uint64_t pages = layout.page_count(kImagePageBytes);
  for (uint64_t index = 0; index < pages; ++index) {
    const size_t content = layout.content_bytes(index, kImagePageBytes);
    const std::span<const std::byte> page = cells.first(content);
    CUCKOO_TRY(filter.validate_page(index, page));
    if (std::any_of(page.begin(), page.end(), [](std::byte b) { return b != std::byte{0}; })) {
      std::copy(page.begin(), page.end(), filter.pages().add(index, false));
      filter.pages().mark_dirty(index);
    }
    cells = cells.subspan(content);
  }
  filter.pages().complete();
  return {};
}

Status read_overflow(std::span<const std::byte> bytes, OverflowTable& overflow) {
  uint64_t last = 0;
  for (size_t at = 0; at < bytes.size(); at += kOverflowEntryBytes) {
    const auto cell = load_le<uint64_t>(&bytes[at]);
    const auto count = load_le<uint64_t>(&bytes[at + 8]);
    const std::string entry = "overflow entry " + std::to_string(at / kOverflowEntryBytes);
    if (at > 0 && cell <= last) {
      return corrupt(entry + " is of cell " + std::to_string(cell) + ", expected more than " +
                     std::to_string(last));
    }
    if (count == 0 || count > kMaxImageItems - overflow.items()) {
      return corrupt(entry + " has count " + grouped(count) + ", expected 1 to " +
                     grouped(kMaxImageItems - overflow.items()));
    }
    overflow.add(cell, count);
    last = cell;
  }
  return {};
}

Status check_items(const ImageHeader& header, const Filter& filter) {
  if (header.spec.kind != FilterKind::kCuckoo) {
    return {};  // a Bloom filter's cells don't tell
  }
  if (const uint64_t held = filter.occupied() + filter.overflow().items(); header.items != held) {
    return corrupt("image of " + grouped(header.items) + " items, expected " + grouped(held) +
                   ", as its buckets and overflow entries hold");
  }
  return {};
}

// One row of hashes, taken from the front of `bytes`, which follows the entries and items so far.
Result<LogRow> take_row(std::span<const std::byte>& bytes, HashWidth width) {
  if (bytes.size() < kRowLengthBytes) {
    return corrupt(grouped(bytes.size()) + " bytes behind the last row of hashes");
  }
  const uint64_t length = load_le<uint32_t>(bytes.data());
  const uint64_t most = std::min<uint64_t>(bytes.size() - kRowLengthBytes, kImageRowBytes);
  if (length > most) {
    return corrupt("row of hashes of " + grouped(length) + " bytes, expected at most " +
                   grouped(most));
  }
  Result<LogRow> row = parse_log_row(bytes.subspan(kRowLengthBytes, length), width);
  bytes = bytes.subspan(kRowLengthBytes + length);
  if (row.ok() && !row.value().header.compacted()) {
    return corrupt("row of hashes that is not a compacted one");
  }
  return row;
}

}  // namespace

uint64_t bare_image_bytes(const Filter& filter) {
  const Result<CellLayout> layout = cell_layout(filter.kind(), filter.words());
  const uint64_t cell_bytes = layout.ok() ? layout.value().total_bytes(kImagePageBytes) : 0;
  return least_bytes(kOldestImageVersion) + cell_bytes;
}

Status check_image_bytes(const Filter& filter, uint64_t limit) {
  return check_bare_bytes(bare_image_bytes(filter), limit);
}

Result<std::vector<std::byte>> encode_image(const ImageHeader& header, const Filter& filter,
                                            const HashSource* hashes, uint64_t limit) {
  Result<CellLayout> layout = cell_layout(filter);
  if (!layout.ok()) {
    return layout.take_status();
  }
  Sections sections;
  sections.header = header;
  sections.layout = layout.value();
  sections.header.geometry = filter.words();
  sections.header.occupied = filter.occupied();
  sections.header.with_hashes = hashes != nullptr;
  sections.header.hash_count = hashes != nullptr ? header.hash_count : 0;
  if (has_own_size(header.spec)) {
    sections.header.spec.rate = 0;
  }
  if (header.spec.kind != filter.kind()) {
    return invalid("image of kind " + std::to_string(static_cast<int>(header.spec.kind)) +
                   ", expected " + std::to_string(static_cast<int>(filter.kind())));
  }
  if (filter.overflow().items() > kMaxImageItems) {
    return invalid("image with " + grouped(filter.overflow().items()) +
                   " items of overflow entries, expected at most 2^62");
  }
  Status fits = check_header(sections.header, sections.layout);
  if (fits.ok()) {
    fits = check_items(sections.header, filter);
  }
  if (!fits.ok()) {
    return as_invalid(std::move(fits));
  }
  sections.cell_bytes = sections.layout.total_bytes(kImagePageBytes);
  sections.overflow_count = filter.overflow().cells();
  const uint64_t bare_bytes = least_bytes(header.version) + sections.cell_bytes +
                              kOverflowEntryBytes * sections.overflow_count;
  CUCKOO_TRY(check_bare_bytes(bare_bytes, limit));
  std::vector<std::byte> image;
  image.reserve(bare_bytes);
  image.resize(sections.header_bytes());
  append_cells(filter, sections.layout, image);
  append_overflow(filter.overflow(), image);
  if (hashes != nullptr) {
    CUCKOO_TRY(append_hashes(sections.header, *hashes, limit, sections.hash_bytes, image));
  }
  sections.length = bare_bytes + sections.hash_bytes;
  if (sections.length > limit) {
    return too_long(sections.length, limit,
                    ("without its hashes it has " + grouped(bare_bytes)).c_str());
  }
  put_header(sections, image.data());
  const uint32_t crc = crc32c(image);
  image.resize(image.size() + kCrcBytes);
  store_le(&image[image.size() - kCrcBytes], crc);
  return image;
}

bool looks_like_image(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= sizeof kMagic && load_le<uint32_t>(bytes.data()) == kMagic;
}

Result<ImageHeader> decode_image_header(std::span<const std::byte> bytes) {
  Result<Sections> sections = parse_header(bytes);
  if (!sections.ok()) {
    return sections.take_status();
  }
  return sections.value().header;
}

Result<Image> decode_image(std::span<const std::byte> bytes) {
  Result<Sections> parsed = parse_image(bytes);
  if (!parsed.ok()) {
    return parsed.take_status();
  }
  const Sections& sections = parsed.value();
  const ImageHeader& header = sections.header;
  // The cells are all there, so the filter is no larger than they are.
  Result<std::unique_ptr<Filter>> made =
      make_filter(header.spec.kind, header.geometry, kImagePageBytes);
  if (!made.ok()) {
    return made.take_status();
  }
  Filter& filter = *made.value();
  if (Result<CellLayout> layout = cell_layout(filter); !layout.ok()) {
    return layout.take_status();
  }
  const size_t cells_at = sections.header_bytes();
  CUCKOO_TRY(read_cells(bytes.subspan(cells_at, sections.cell_bytes), sections.layout, filter));
  CUCKOO_TRY(read_overflow(
      bytes.subspan(cells_at + sections.cell_bytes, kOverflowEntryBytes * sections.overflow_count),
      filter.overflow()));
  filter.set_occupied(header.occupied);
  CUCKOO_TRY(check_items(header, filter));
  CUCKOO_TRY(filter.check());
  return Image{header, std::move(made.value())};
}

Status read_image_hashes(std::span<const std::byte> bytes, const CountedHashSink& sink) {
  Result<Sections> parsed = parse_image(bytes);
  if (!parsed.ok()) {
    return parsed.take_status();
  }
  const Sections& sections = parsed.value();
  const ImageHeader& header = sections.header;
  if (!header.with_hashes) {
    return invalid("image without hashes");
  }
  HashListCheck check(header);
  const CountedHashSink checked = [&](uint64_t hash, uint64_t count) -> Status {
    CUCKOO_TRY(check.add(hash, count));
    return sink(hash, count);
  };
  const std::optional<uint64_t> fixed_items = set_items(header);
  std::span<const std::byte> rest =
      bytes.subspan(bytes.size() - kCrcBytes - sections.hash_bytes, sections.hash_bytes);
  uint64_t chain = kHashChain;
  uint64_t last_hash = 0;
  for (bool first = true; !rest.empty(); first = false) {
    Result<LogRow> taken = take_row(rest, header.width);
    if (!taken.ok()) {
      return taken.take_status();
    }
    const LogRow& row = taken.value();
    if (row.header.chain_before != chain || row.header.position != check.entries() ||
        row.header.items_before != fixed_items.value_or(check.items())) {
      return corrupt("row of hashes that does not follow the one before it");
    }
    CUCKOO_TRY(read_compacted_row(row, header.width, last_hash, first, checked));
    chain = log_chain(row, row.header.entries);
  }
  return check.finish();
}

}  // namespace cuckoo
