#include "core/segments/changes.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/segments/front.hpp"
#include "core/segments/log_row.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMagic = 0x48434B43;  // "CKCH"
constexpr uint8_t kVersion = 4;
constexpr uint8_t kCountOnce = 1;  // flags
constexpr uint8_t kWhole = 2;

constexpr size_t kFlagsAt = 5;
constexpr size_t kKeyColumnsAt = 6;
constexpr size_t kZeroAt = 7;
constexpr size_t kAffinitiesAt = 8;
constexpr size_t kCollationsAt = 12;
constexpr size_t kMoreZerosAt = 14;  // 2 bytes
constexpr size_t kEntriesAt = 16;
constexpr size_t kItemsAt = 24;
constexpr size_t kImageBytesAt = 32;
constexpr size_t kCountsAt = 40;
constexpr size_t kKeyTypesAt = 48;
constexpr size_t kFromAt = 56;
constexpr size_t kToAt = kFromAt + kMarkBytes;
constexpr size_t kHeaderBytes = kToAt + kMarkBytes;
constexpr size_t kCountBytes = 8;
constexpr size_t kOccurrencesAt = 4;  // of a count

Status decode_entries(std::span<const std::byte> entries, std::span<const std::byte> counts,
                      FilterChanges& changes) {
  const HashWidth width = changes.from.width;
  const bool multiset = is_multiset(changes.from.kind);
  if (!multiset && !counts.empty()) {
    return corrupt("changes of a set with a hash that is not added once");
  }
  const size_t entry_bytes = log_entry_bytes(width);
  changes.entries.reserve(entries.size() / entry_bytes);
  for (size_t at = 0; at < entries.size(); at += entry_bytes) {
    uint64_t copies = 1;
    if (!counts.empty() && load_le<uint32_t>(counts.data()) == changes.entries.size()) {
      copies = load_le<uint32_t>(&counts[kOccurrencesAt]);
      counts = counts.subspan(kCountBytes);
      if (copies < 2 || copies > kMostCopies) {
        return corrupt("changes with an entry of " + std::to_string(copies) +
                       " occurrences, expected 2 to 2^31");
      }
    }
    const uint64_t entry = load_log_entry(&entries[at], width);
    if (!multiset && (entry & kRemoveBit) != 0) {
      return corrupt("changes of a set with a hash that is not added once");
    }
    changes.entries.append(entry, copies);
  }
  return counts.empty() ? Status() : corrupt("changes with counts that do not ascend");
}

// Keeps I2. Entries that are not those of the log must at least be no more than these.
Status check_entries(const FilterChanges& changes) {
  const uint64_t positions = changes.to.position - changes.from.position;
  uint64_t chain = changes.from.chain;
  Copies copies(changes.entries.more());
  uint64_t last = 0;
  bool ascend = true;
  for (size_t i = 0; i < changes.entries.size(); ++i) {
    const uint64_t entry = changes.entries[i];
    chain = chain_with_entry(chain, entry, copies.of(i));
    ascend = ascend && entry >= last && (entry & kRemoveBit) == 0;
    last = entry;
  }
  const bool fits = changes.whole
                        ? ascend && changes.entries.size() <= positions
                        : changes.entries.size() == positions && chain == changes.to.chain;
  return changes.from.position <= changes.to.position && fits
             ? Status()
             : corrupt("changes that do not lead from their first mark to their second one");
}

}  // namespace

uint64_t FilterChanges::entry_bits() const noexcept {
  return 8 * (entries.size() * log_entry_bytes(from.width) + entries.more().size() * kCountBytes);
}

// The image of the pieces has the second mark of the changes, and gaps.
ImageHeader header_of_pieces(const FilterChanges& changes) {
  ImageHeader header;
  header.partial = true;
  header.spec = changes.spec;
  header.width = changes.to.width;
  header.seed = changes.to.seed;
  header.capacity = changes.capacity;
  header.keys = changes.keys;
  header.key_types = changes.key_types;
  header.mark = changes.to;
  header.unique = changes.unique;
  return header;
}

namespace {

// Decodes the pieces. Returns kCorrupt if their mark, kind or keys are not those of the changes.
Status decode_pieces(const MessageBytes& bytes, uint32_t page_bytes, const Poll& poll,
                     FilterChanges& changes) {
  if (bytes.size() == 0) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const ImageHeader header, decode_partial_header(bytes));
  changes.spec = header.spec;
  changes.capacity = header.capacity;
  if (header.mark != changes.to || header.spec.kind != changes.to.kind ||
      header.unique != changes.unique || header.keys != changes.keys ||
      header.key_types != changes.key_types) {
    return corrupt("changes with segments of another filter");
  }
  changes.pieces = [bytes, page_bytes, poll](const PieceSink& sink) {
    return read_partial_image(bytes, page_bytes, sink, poll);
  };
  return {};
}

}  // namespace

std::vector<std::byte> encode_changes_front(const FilterChanges& changes) {
  std::vector<std::byte> front(kHeaderBytes);
  front.reserve(kHeaderBytes + changes.entry_bits() / 8 + kCrcBytes);
  put_front(kMagic, kVersion, front);
  store_le(&front[kFlagsAt],
           static_cast<uint8_t>((changes.unique ? kCountOnce : 0) | (changes.whole ? kWhole : 0)));
  store_le(&front[kKeyColumnsAt], changes.keys.columns);
  store_le(&front[kAffinitiesAt], changes.keys.affinities);
  store_le(&front[kCollationsAt], changes.keys.collations);
  store_le(&front[kKeyTypesAt], changes.key_types);
  store_le(&front[kEntriesAt], uint64_t{changes.entries.size()});
  store_le(&front[kItemsAt], changes.items);
  store_le(&front[kCountsAt], uint64_t{changes.entries.more().size()});
  for (const auto& [at, mark] : {std::pair(kFromAt, &changes.from), {kToAt, &changes.to}}) {
    const std::vector<std::byte> bytes = encode_mark(*mark);
    std::copy(bytes.begin(), bytes.end(), &front[at]);
  }
  put_log_entries(changes.entries.entries(), changes.from.width, front);
  for (const MoreCopies& one : changes.entries.more()) {
    std::byte count[kCountBytes];
    store_le(&count[0], static_cast<uint32_t>(one.at));
    store_le(&count[kOccurrencesAt], static_cast<uint32_t>(1 + one.more));
    front.insert(front.end(), std::begin(count), std::end(count));
  }
  return front;
}

void put_image_bytes(std::span<std::byte> front, uint64_t image_bytes) {
  store_le(&front[kImageBytesAt], image_bytes);
}

Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit) {
  std::vector<std::byte> bytes = encode_changes_front(changes);
  if (bytes.size() + kCrcBytes > limit) {
    return invalid("changes of " + std::to_string(bytes.size() + kCrcBytes) + " bytes, at most " +
                   std::to_string(limit) + " are possible");
  }
  if (changes.pieces) {
    CUCKOO_ASSIGN_OR_RETURN(
        const std::vector<std::byte> image,
        encode_image(header_of_pieces(changes), changes.pieces, limit - bytes.size() - kCrcBytes));
    put_image_bytes(bytes, image.size());
    bytes.insert(bytes.end(), image.begin(), image.end());
  }
  append_crc(bytes);
  return bytes;
}

namespace {

// The fields of the header. `changes` has no entries and no pieces yet.
struct ChangesHeader {
  FilterChanges changes;
  uint64_t entry_bytes = 0;
  uint64_t count_bytes = 0;
  uint64_t image_bytes = 0;
};

// `front` are the first kHeaderBytes of changes of `size` bytes, or all of them if they are fewer.
Result<ChangesHeader> parse_header(std::span<const std::byte> front, uint64_t size) {
  if (!looks_like_changes(front) || front.size() <= kVersionAt) {
    return corrupt("bytes that are no changes of a filter, expected CKCH at the start");
  }
  if (size < kHeaderBytes + kCrcBytes) {
    return corrupt("changes cut off: " + std::to_string(size) + " bytes, expected at least " +
                   std::to_string(kHeaderBytes + kCrcBytes));
  }
  CUCKOO_TRY(expect_version("changes", load_le<uint8_t>(&front[kVersionAt]), kVersion,
                            kMadeBeforeRelease));
  ChangesHeader header;
  FilterChanges& changes = header.changes;
  CUCKOO_ASSIGN_OR_RETURN(changes.from, decode_mark(front.subspan(kFromAt, kMarkBytes)));
  CUCKOO_ASSIGN_OR_RETURN(changes.to, decode_mark(front.subspan(kToAt, kMarkBytes)));
  if (!of_one_filter(changes.from, changes.to)) {
    return corrupt("changes between marks of different filters");
  }
  changes.items = load_le<uint64_t>(&front[kItemsAt]);
  changes.keys = {load_le<uint8_t>(&front[kKeyColumnsAt]), load_le<uint32_t>(&front[kAffinitiesAt]),
                  load_le<uint16_t>(&front[kCollationsAt])};
  changes.key_types = load_le<uint64_t>(&front[kKeyTypesAt]);
  const auto flags = load_le<uint8_t>(&front[kFlagsAt]);
  changes.unique = (flags & kCountOnce) != 0;
  changes.whole = (flags & kWhole) != 0;
  const bool may_be_unique = is_multiset(changes.from.kind);
  if (changes.items > kMaxImageItems || !check_keys(changes.keys, changes.key_types).ok() ||
      flags > (kCountOnce | kWhole) || (changes.unique && !may_be_unique) ||
      front[kZeroAt] != std::byte{0} ||
      !all_zero(front.subspan(kMoreZerosAt, kEntriesAt - kMoreZerosAt))) {
    return corrupt("changes with a header that can't be");
  }
  const uint64_t rest = size - kHeaderBytes - kCrcBytes;
  const auto entries = load_le<uint64_t>(&front[kEntriesAt]);
  const auto counts = load_le<uint64_t>(&front[kCountsAt]);
  header.image_bytes = load_le<uint64_t>(&front[kImageBytesAt]);
  if (entries > rest || counts > entries || header.image_bytes > rest ||
      entries * log_entry_bytes(changes.from.width) + counts * kCountBytes + header.image_bytes !=
          rest) {
    return corrupt("changes of " + std::to_string(entries) + " entries, " + std::to_string(counts) +
                   " counts and " + std::to_string(header.image_bytes) + " bytes of segments in " +
                   std::to_string(rest) + " bytes");
  }
  header.entry_bytes = entries * log_entry_bytes(changes.from.width);
  header.count_bytes = counts * kCountBytes;
  return header;
}

Status check_checksum(const MessageBytes& bytes, const Poll& poll) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 16;
  const uint64_t crc_at = bytes.size() - kCrcBytes;
  std::vector<std::byte> buffer;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < crc_at; at += kAtOnce) {
    CUCKOO_TRY(check_interrupt(poll));
    CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> some,
                            bytes.read(at, std::min(kAtOnce, crc_at - at), buffer));
    crc = crc32c(some, crc);
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> stored,
                          bytes.read(crc_at, kCrcBytes, buffer));
  return crc == load_le<uint32_t>(stored.data()) ? Status()
                                                 : corrupt("changes with a wrong checksum");
}

}  // namespace

Result<FilterChanges> decode_changes_header(std::span<const std::byte> front, uint64_t size) {
  CUCKOO_ASSIGN_OR_RETURN(ChangesHeader header,
                          parse_header(front.first(std::min(front.size(), kHeaderBytes)), size));
  return std::move(header.changes);
}

Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll) {
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> front,
                          bytes.front(kHeaderBytes, buffer));
  CUCKOO_ASSIGN_OR_RETURN(ChangesHeader header, parse_header(front, bytes.size()));
  CUCKOO_TRY(check_checksum(bytes, poll));
  FilterChanges changes = std::move(header.changes);
  const uint64_t listed = header.entry_bytes + header.count_bytes;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> list,
                          bytes.read(kHeaderBytes, listed, buffer));
  CUCKOO_TRY(
      decode_entries(list.first(header.entry_bytes), list.subspan(header.entry_bytes), changes));
  CUCKOO_TRY(check_entries(changes));
  CUCKOO_TRY(decode_pieces(bytes.range(kHeaderBytes + listed, header.image_bytes), page_bytes, poll,
                           changes));
  return changes;
}

bool looks_like_changes(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kMagic);
}

}  // namespace cuckoo::segments
