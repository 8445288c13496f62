#include "core/segments/message_header.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/front.hpp"
#include "core/segments/message_part.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMessageMagic = 0x534D4B43;                           // "CKMS"
constexpr uint32_t kOldMagics[] = {0x4D494B43, 0x33494B43, 0x48434B43};  // CKIM, CKI3, CKCH
constexpr uint8_t kMessageVersion = 4;

constexpr size_t kFlagsAt = 5;
constexpr uint8_t kHasHashes = 1;
constexpr uint8_t kHasMark = 2;
constexpr uint8_t kEachOnce = 4;
constexpr uint8_t kIsChanges = 8;
constexpr uint8_t kWhole = 16;
constexpr uint8_t kAllFlags = 31;

constexpr size_t kFieldsAt = 6;
constexpr size_t kZeroAt = 7;
constexpr size_t kLengthAt = 8;
constexpr size_t kFirstFieldAt = 16;
constexpr size_t kFieldBytes = 8;

// The fields of a header, in their order. A new one comes last, and is 0 where it is left out.
struct Field {
  enum Number : uint8_t {
    kItems,
    kHashCount,
    kPieces,
    kEntries,
    kCounts,
    kKind,
    kWidth,
    kSeed,
    kCapacity,
    kKeyColumns,
    kAffinities,
    kCollations,
    kKeyTypes,
    kRate,
    kFingerprintBits,
    kBitsPerKey,
    kHashes,
    kPosition,
    kChain,
    kFromPosition,
    kFromChain,
    kEnd,
  };
};
using Fields = std::array<uint64_t, Field::kEnd>;
static_assert(kMessageHeaderBytes == kFirstFieldAt + kFieldBytes * Field::kEnd);

std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

Status check_spec_of_image(const FilterSpec& spec) {
  if (Status status = check_spec(spec); !status.ok()) {
    return corrupt((is_kind(spec.kind) ? "image for " : "image of ") + status.error().message);
  }
  if (spec.has_own_size() && bits_of(spec.rate) != 0) {
    return corrupt("image for a false positive rate of " + exact(spec.rate) +
                   " and a size of its own, expected one of the two");
  }
  return {};
}

Status check_hashing(const MessageHeader& header) {
  if (header.width != HashWidth::k47Bits && header.width != HashWidth::k63Bits) {
    return corrupt("image of " + std::to_string(static_cast<int>(header.width)) +
                   "-bit hashes, expected 47 or 63");
  }
  if (const Status keys = check_keys(header.keys, header.key_types); !keys.ok()) {
    return corrupt("image of " + keys.error().message);
  }
  return {};
}

}  // namespace

MessageHeader image_header(const FilterSpec& spec, HashWidth width, uint64_t seed,
                           const KeyForm& keys, uint64_t key_types) noexcept {
  MessageHeader header;
  header.spec = spec;
  header.spec.rate = spec.has_own_size() ? 0 : spec.rate;
  header.width = width;
  header.seed = seed;
  header.keys = keys;
  header.key_types = key_types;
  return header;
}

FilterSpec created_spec(FilterSpec spec) noexcept {
  spec.rate = spec.has_own_size() ? FilterSpec{}.rate : spec.rate;
  spec.hashes = spec.has_own_size() ? spec.hashes : 0;  // an option that goes with bits_per_key
  return spec;
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

// --- the header ----------------------------------------------------------------------------------

Status check_message_header(const MessageHeader& header) {
  CUCKOO_TRY(check_spec_of_image(header.spec));
  CUCKOO_TRY(check_hashing(header));
  for (const std::optional<FilterMark>& mark : {header.mark, header.from}) {
    if (mark && (mark->kind != header.spec.kind || mark->width != header.width ||
                 mark->seed != header.seed)) {
      return corrupt("message with the mark of another filter");
    }
  }
  if (header.mark && traits_of(header.spec.kind).pairs) {
    return corrupt("message of a murmur2 filter with a mark, expected none");
  }
  // Changes have both marks, no hashes, and the segments that were made anew. An image has all.
  const bool changes = header.from.has_value();
  if ((changes && (!header.mark || header.with_hashes)) ||
      (!changes && (header.whole || header.entries > 0)) || header.counts > header.entries) {
    return corrupt("message that is neither an image nor changes");
  }
  if (header.unique && !is_multiset(header.spec.kind)) {
    return corrupt("image of a set that says that each hash counts once");
  }
  if (header.capacity < 1 || header.capacity > kMaxCapacity) {
    return corrupt("image of capacity " + grouped(header.capacity) + ", expected 1 to 2^40");
  }
  if (header.items > kMaxImageItems) {
    return corrupt("image of " + grouped(header.items) + " items, expected at most 2^62");
  }
  if (header.with_hashes && traits_of(header.spec.kind).pairs) {
    return corrupt("image of a murmur2 filter with hashes, expected none");
  }
  if (!header.with_hashes && header.hash_count != 0) {
    return corrupt("image without hashes that counts " + grouped(header.hash_count));
  }
  return {};
}

namespace {

uint8_t flags_of(const MessageHeader& header) noexcept {
  return static_cast<uint8_t>((header.with_hashes ? kHasHashes : 0) | (header.mark ? kHasMark : 0) |
                              (header.unique ? kEachOnce : 0) | (header.from ? kIsChanges : 0) |
                              (header.whole ? kWhole : 0));
}

Fields fields_of(const MessageHeader& header) noexcept {
  Fields fields{};
  fields[Field::kItems] = header.items;
  fields[Field::kHashCount] = header.hash_count;
  fields[Field::kPieces] = header.pieces;
  fields[Field::kEntries] = header.entries;
  fields[Field::kCounts] = header.counts;
  fields[Field::kKind] = static_cast<uint64_t>(header.spec.kind);
  fields[Field::kWidth] = static_cast<uint64_t>(header.width);
  fields[Field::kSeed] = header.seed;
  fields[Field::kCapacity] = header.capacity;
  fields[Field::kKeyColumns] = header.keys.columns;
  fields[Field::kAffinities] = header.keys.affinities;
  fields[Field::kCollations] = header.keys.collations;
  fields[Field::kKeyTypes] = header.key_types;
  fields[Field::kRate] = bits_of(header.spec.rate);
  fields[Field::kFingerprintBits] = header.spec.fingerprint_bits;
  fields[Field::kBitsPerKey] = bits_of(header.spec.bits_per_key);
  fields[Field::kHashes] = header.spec.hashes;
  if (header.mark) {
    fields[Field::kPosition] = header.mark->position;
    fields[Field::kChain] = header.mark->chain;
  }
  if (header.from) {
    fields[Field::kFromPosition] = header.from->position;
    fields[Field::kFromChain] = header.from->chain;
  }
  return fields;
}

// Returns kCorrupt unless the fields fit their types.
Status take_fields(const Fields& fields, uint8_t flags, MessageHeader& header) {
  constexpr std::pair<Field::Number, uint64_t> kMost[] = {
      {Field::kKind, UINT8_MAX},
      {Field::kWidth, UINT8_MAX},
      {Field::kKeyColumns, UINT8_MAX},
      {Field::kAffinities, UINT32_MAX},
      {Field::kCollations, UINT16_MAX},
      {Field::kFingerprintBits, UINT32_MAX},
      {Field::kHashes, UINT32_MAX},
      {Field::kPosition, kMostMarkedPosition},
      {Field::kFromPosition, kMostMarkedPosition}};
  for (const auto& [field, most] : kMost) {
    if (fields[field] > most) {
      return corrupt("message whose field " + std::to_string(field) + " is " +
                     grouped(fields[field]) + ", expected at most " + grouped(most));
    }
  }
  header.items = fields[Field::kItems];
  header.hash_count = fields[Field::kHashCount];
  header.pieces = fields[Field::kPieces];
  header.entries = fields[Field::kEntries];
  header.counts = fields[Field::kCounts];
  header.spec.kind = static_cast<FilterKind>(fields[Field::kKind]);
  header.width = static_cast<HashWidth>(fields[Field::kWidth]);
  header.seed = fields[Field::kSeed];
  header.capacity = fields[Field::kCapacity];
  header.keys = {static_cast<uint8_t>(fields[Field::kKeyColumns]),
                 static_cast<uint32_t>(fields[Field::kAffinities]),
                 static_cast<uint16_t>(fields[Field::kCollations])};
  header.key_types = fields[Field::kKeyTypes];
  header.spec.rate = real_from_bits(fields[Field::kRate]);
  header.spec.fingerprint_bits = static_cast<uint32_t>(fields[Field::kFingerprintBits]);
  header.spec.bits_per_key = real_from_bits(fields[Field::kBitsPerKey]);
  header.spec.hashes = static_cast<uint32_t>(fields[Field::kHashes]);
  header.with_hashes = (flags & kHasHashes) != 0;
  header.unique = (flags & kEachOnce) != 0;
  header.whole = (flags & kWhole) != 0;
  const auto mark_at = [&](Field::Number position, Field::Number chain) {
    return FilterMark{header.spec.kind, header.width, header.seed, fields[position], fields[chain]};
  };
  if ((flags & kHasMark) != 0) {
    header.mark = mark_at(Field::kPosition, Field::kChain);
  }
  if ((flags & kIsChanges) != 0) {
    header.from = mark_at(Field::kFromPosition, Field::kFromChain);
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode_message_header(const MessageHeader& header, uint64_t length) {
  std::vector<std::byte> bytes(kMessageHeaderBytes);
  put_front(kMessageMagic, kMessageVersion, bytes);
  store_le(&bytes[kFlagsAt], flags_of(header));
  store_le(&bytes[kFieldsAt], uint8_t{Field::kEnd});
  store_le(&bytes[kLengthAt], length);
  const Fields fields = fields_of(header);
  for (size_t i = 0; i < fields.size(); ++i) {
    store_le(&bytes[kFirstFieldAt + kFieldBytes * i], fields[i]);
  }
  return bytes;
}

namespace {

// Checks magic, version and length.
Status check_frame(std::span<const std::byte> bytes, uint64_t size) {
  constexpr size_t kLeast = kMessageHeaderBytes + kImageCrcBytes;
  if (bytes.size() >= sizeof kMessageMagic) {
    const auto magic = load_le<uint32_t>(bytes.data());
    if (std::find(std::begin(kOldMagics), std::end(kOldMagics), magic) != std::end(kOldMagics)) {
      return corrupt("image or changes made by a version before the first release: make them anew");
    }
    if (magic == kWindowMagic) {
      return corrupt(
          "image of a sliding window, expected that of one filter; its generations can't be told"
          " apart once they are merged");
    }
    if (looks_like_part(bytes)) {
      return corrupt("a part of a message, expected a whole one; 'apply' takes parts");
    }
    if (magic != kMessageMagic) {
      return corrupt("bytes that are no image or changes of a filter, expected CKMS at the start");
    }
  }
  if (bytes.size() > kVersionAt) {
    CUCKOO_TRY(
        expect_version("image or changes", load_le<uint8_t>(&bytes[kVersionAt]), kMessageVersion));
  }
  if (size < kLeast || bytes.size() < kMessageHeaderBytes) {
    return corrupt("image or changes cut off: " + grouped(size) + " bytes, expected at least " +
                   grouped(kLeast));
  }
  const auto length = load_le<uint64_t>(&bytes[kLengthAt]);
  if (length != size) {
    return corrupt((length > size ? "image or changes cut off: " : "image or changes too long: ") +
                   grouped(size) + " bytes, expected " + grouped(length));
  }
  return {};
}

Status check_lengths(const MessageHeader& header, uint64_t room) {
  const uint64_t least = header.from ? 0 : 1;
  if (header.pieces < least || header.pieces > room / kLeastPieceBytes) {
    return corrupt("message of " + grouped(header.pieces) + " pieces, expected " + grouped(least) +
                   " to " + grouped(room / kLeastPieceBytes));
  }
  // An entry takes two bits at least.
  if (header.hash_count / 4 > room) {
    return corrupt("image with " + grouped(header.hash_count) + " hashes in " + grouped(room) +
                   " bytes, expected at most four a byte");
  }
  if (header.entries > room || header.counts > header.entries || header.entry_bytes() > room) {
    return corrupt("message of " + grouped(header.entries) + " entries and " +
                   grouped(header.counts) + " counts in " + grouped(room) + " bytes");
  }
  return {};
}

}  // namespace

Result<MessageHeader> parse_message_header(std::span<const std::byte> bytes, uint64_t length) {
  CUCKOO_TRY(check_frame(bytes, length));
  const auto flags = load_le<uint8_t>(&bytes[kFlagsAt]);
  const auto count = load_le<uint8_t>(&bytes[kFieldsAt]);
  if (flags > kAllFlags || count != Field::kEnd || bytes[kZeroAt] != std::byte{0}) {
    return corrupt("message with flags " + std::to_string(flags) + " and " + std::to_string(count) +
                   " fields, expected flags up to " + std::to_string(kAllFlags) + " and " +
                   std::to_string(Field::kEnd) + " fields");
  }
  Fields fields{};
  for (size_t i = 0; i < fields.size(); ++i) {
    fields[i] = load_le<uint64_t>(&bytes[kFirstFieldAt + kFieldBytes * i]);
  }
  MessageHeader header;
  CUCKOO_TRY(take_fields(fields, flags, header));
  CUCKOO_TRY(check_message_header(header));
  if (flags_of(header) != flags || fields_of(header) != fields) {
    return corrupt("message with a header that can't be");  // a mark without its flag, for example
  }
  CUCKOO_TRY(check_lengths(header, length - kMessageHeaderBytes - kImageCrcBytes));
  return header;
}

namespace {

bool has_from(std::span<const std::byte> bytes) noexcept {
  return bytes.size() > kFlagsAt && (bytes[kFlagsAt] & std::byte{kIsChanges}) != std::byte{0};
}

Result<MessageHeader> front_of(const MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> front,
                          bytes.front(kMessageHeaderBytes, buffer));
  return parse_message_header(front, bytes.size());
}

}  // namespace

bool looks_like_image(std::span<const std::byte> bytes) noexcept {
  return (has_magic(bytes, kMessageMagic) && !has_from(bytes)) || has_magic(bytes, kWindowMagic) ||
         has_magic(bytes, kOldMagics[0]) || has_magic(bytes, kOldMagics[1]);
}

bool looks_like_changes(std::span<const std::byte> bytes) noexcept {
  return (has_magic(bytes, kMessageMagic) && has_from(bytes)) || has_magic(bytes, kOldMagics[2]);
}

Result<MessageHeader> decode_image_header(const MessageBytes& bytes) {
  Result<MessageHeader> header = front_of(bytes);
  if (header.ok() && header.value().from) {
    return corrupt("changes of a filter, expected its image");
  }
  return header;
}

Result<MessageHeader> decode_changes_header(const MessageBytes& bytes) {
  Result<MessageHeader> header = front_of(bytes);
  if (header.ok() && !header.value().from) {
    return corrupt("an image of a filter, expected changes");
  }
  return header;
}

}  // namespace cuckoo::segments
