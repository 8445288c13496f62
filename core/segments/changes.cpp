#include "core/segments/changes.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/segments/front.hpp"
#include "core/segments/image.hpp"
#include "core/segments/run.hpp"
#include "core/stored/log_entry.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMagic = 0x48434B43;  // "CKCH"
constexpr uint8_t kVersion = 3;
constexpr uint8_t kMostlyRemoved = 1;

constexpr size_t kRiceAt = 5;
constexpr size_t kFlagsAt = 6;
constexpr size_t kKeyColumnsAt = 7;
constexpr size_t kAffinitiesAt = 8;
constexpr size_t kCollationsAt = 12;
constexpr size_t kZeroAt = 14;  // 2 bytes
constexpr size_t kCountAt = 16;
constexpr size_t kItemsAt = 24;
constexpr size_t kImageBytesAt = 32;
constexpr size_t kShapeAt = 40;
constexpr size_t kKeyTypesAt = 48;
constexpr size_t kFromAt = 56;
constexpr size_t kToAt = kFromAt + kMarkBytes;
constexpr size_t kHeaderBytes = kToAt + kMarkBytes;
constexpr uint64_t kLeastEntryBits = 2;  // an empty quotient and a sign

uint64_t magnitude(int64_t net) noexcept {
  return net < 0 ? 0 - static_cast<uint64_t>(net) : static_cast<uint64_t>(net);
}

// After the delta comes the bit 0 for a count of 1 of the usual sign. For a count of 1 of the other
// sign come 1 0. For any other count come 1 1, the sign and the count.
void put_net(BitWriter& stream, uint64_t delta, unsigned rice, int64_t net, bool mostly_removed) {
  const bool removed = net < 0;
  const uint64_t count = magnitude(net);
  if (count == 1 && removed == mostly_removed) {
    stream.put_delta(delta, rice, 0, 1);
  } else if (count == 1) {
    stream.put_delta(delta, rice, 1, 2);
  } else {
    stream.put_delta(delta, rice, 3, 2);
    stream.put(removed ? 1 : 0, 1);
    stream.put_count(count);
  }
}

bool take_net(BitReader& stream, bool mostly_removed, int64_t& net) noexcept {
  bool removed = mostly_removed;
  uint64_t count = 1;
  if (stream.take(1) != 0) {
    if (stream.take(1) == 0) {
      removed = !removed;
    } else {
      removed = stream.take(1) != 0;
      if (!stream.take_count(count)) {
        return false;
      }
    }
  }
  net = removed ? -static_cast<int64_t>(count) : static_cast<int64_t>(count);
  return !stream.overrun();
}

// Returns kCorrupt unless both marks are of filters of one kind, hash width and seed. A copy that
// has the first mark can take no other changes.
Status check_both_marks(const FilterMark& from, const FilterMark& to) {
  if (from.kind != to.kind || from.width != to.width || from.seed != to.seed) {
    return corrupt("changes between marks of different filters");
  }
  return {};
}

Status decode_stream(std::span<const std::byte> bytes, uint64_t count, bool mostly_removed,
                     unsigned rice, FilterChanges& changes) {
  const unsigned shift = hash_shift(changes.from.width);
  const uint64_t max_delta = ~uint64_t{0} >> shift;
  const bool multiset = is_multiset(changes.from.kind);
  if (count > bytes.size() * 8 / kLeastEntryBits) {
    return corrupt("changes of " + std::to_string(count) + " hashes in " +
                   std::to_string(bytes.size()) + " bytes");
  }
  changes.hashes.reserve(count);
  BitReader stream(bytes);
  uint64_t hash = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t delta = 0;
    int64_t net = 0;
    if (!stream.take_delta(rice, max_delta, delta) || !take_net(stream, mostly_removed, net) ||
        delta > max_delta - (hash >> shift) ||
        (delta == 0 && i > 0 && (changes.hashes.back().second > 0 || net < 0))) {
      return corrupt("changes that end early, do not ascend or count too far");
    }
    if (!multiset && net != 1) {
      return corrupt("changes of a set with a hash that is not added once");
    }
    hash += delta << shift;
    changes.hashes.emplace_back(hash, net);
  }
  return stream.at_end() ? Status() : corrupt("changes with bytes after the last hash");
}

}  // namespace

PieceSource pieces_for_shape(const FilterChanges& changes, uint64_t& shape) {
  return [&changes, &shape](const PieceSink& sink) {
    return changes.pieces([&](Piece&& piece) -> Status {
      shape += changes.shape_lacks_pieces
                   ? shape_of(piece.prefix, piece.depth, piece.filter->words())
                   : 0;
      return sink(std::move(piece));
    });
  };
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
      header.keys != changes.keys || header.key_types != changes.key_types) {
    return corrupt("changes with segments of another filter");
  }
  changes.pieces = [bytes, page_bytes, poll](const PieceSink& sink) {
    return read_partial_image(bytes, page_bytes, sink, poll);
  };
  return {};
}

}  // namespace

std::vector<std::byte> encode_changes_front(const FilterChanges& changes) {
  const HashWidth width = changes.from.width;
  const unsigned rice = rice_parameter(width, changes.hashes.size());
  const auto removed =
      static_cast<size_t>(std::count_if(changes.hashes.begin(), changes.hashes.end(),
                                        [](const ChangedHash& one) { return one.second < 0; }));
  const bool mostly_removed = removed > changes.hashes.size() / 2;
  std::vector<std::byte> header(kHeaderBytes);
  put_front(kMagic, kVersion, header);
  store_le(&header[kRiceAt], static_cast<uint8_t>(rice));
  store_le(&header[kFlagsAt], static_cast<uint8_t>(mostly_removed ? kMostlyRemoved : 0));
  store_le(&header[kKeyColumnsAt], changes.keys.columns);
  store_le(&header[kAffinitiesAt], changes.keys.affinities);
  store_le(&header[kCollationsAt], changes.keys.collations);
  store_le(&header[kKeyTypesAt], changes.key_types);
  store_le(&header[kCountAt], uint64_t{changes.hashes.size()});
  store_le(&header[kItemsAt], changes.items);
  for (const auto& [at, mark] : {std::pair(kFromAt, &changes.from), {kToAt, &changes.to}}) {
    const std::vector<std::byte> bytes = encode_mark(*mark);
    std::copy(bytes.begin(), bytes.end(), &header[at]);
  }
  BitWriter stream;
  stream.start(header);
  uint64_t last = 0;
  for (const auto& [hash, net] : changes.hashes) {
    put_net(stream, (hash - last) >> hash_shift(width), rice, net, mostly_removed);
    last = hash;
  }
  return stream.finish();
}

void finish_changes_front(std::span<std::byte> front, uint64_t image_bytes, uint64_t shape) {
  store_le(&front[kImageBytesAt], image_bytes);
  store_le(&front[kShapeAt], shape);
}

Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit) {
  std::vector<std::byte> bytes = encode_changes_front(changes);
  if (bytes.size() + kCrcBytes > limit) {
    return invalid("changes of " + std::to_string(bytes.size() + kCrcBytes) + " bytes, at most " +
                   std::to_string(limit) + " are possible");
  }
  uint64_t shape = changes.shape;
  std::vector<std::byte> image;
  if (changes.pieces) {
    CUCKOO_ASSIGN_OR_RETURN(
        image, encode_image(header_of_pieces(changes), pieces_for_shape(changes, shape),
                            limit - bytes.size() - kCrcBytes));
  }
  finish_changes_front(bytes, image.size(), shape);
  bytes.insert(bytes.end(), image.begin(), image.end());
  append_crc(bytes);
  return bytes;
}

namespace {

// The fields of the header. `changes` has no hashes and no pieces yet.
struct ChangesHeader {
  FilterChanges changes;
  uint64_t count = 0;
  uint64_t image_bytes = 0;
  uint8_t rice = 0;
  bool mostly_removed = false;
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
  CUCKOO_TRY(check_both_marks(changes.from, changes.to));
  changes.items = load_le<uint64_t>(&front[kItemsAt]);
  changes.keys = {load_le<uint8_t>(&front[kKeyColumnsAt]), load_le<uint32_t>(&front[kAffinitiesAt]),
                  load_le<uint16_t>(&front[kCollationsAt])};
  changes.key_types = load_le<uint64_t>(&front[kKeyTypesAt]);
  changes.shape = load_le<uint64_t>(&front[kShapeAt]);
  header.rice = load_le<uint8_t>(&front[kRiceAt]);
  const auto flags = load_le<uint8_t>(&front[kFlagsAt]);
  header.mostly_removed = (flags & kMostlyRemoved) != 0;
  header.count = load_le<uint64_t>(&front[kCountAt]);
  header.image_bytes = load_le<uint64_t>(&front[kImageBytesAt]);
  if (changes.items > kMaxImageItems || !check_keys(changes.keys, changes.key_types).ok() ||
      flags > kMostlyRemoved || header.rice != rice_parameter(changes.from.width, header.count) ||
      !all_zero(front.subspan(kZeroAt, kCountAt - kZeroAt))) {
    return corrupt("changes with a header that can't be");
  }
  if (header.image_bytes > size - kHeaderBytes - kCrcBytes) {
    return corrupt("changes with " + std::to_string(header.image_bytes) + " bytes of segments");
  }
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
  const uint64_t image_at = bytes.size() - kCrcBytes - header.image_bytes;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> stream,
                          bytes.read(kHeaderBytes, image_at - kHeaderBytes, buffer));
  CUCKOO_TRY(decode_stream(stream, header.count, header.mostly_removed, header.rice, changes));
  CUCKOO_TRY(decode_pieces(bytes.range(image_at, header.image_bytes), page_bytes, poll, changes));
  return changes;
}

uint64_t shape_of(uint64_t prefix, unsigned depth, const GeometryWords& words) noexcept {
  return chain_with(chain_with(chain_with(prefix + depth, words.size), words.shape), words.detail);
}

bool looks_like_changes(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kMagic);
}

LargeVector<ChangedHash> net_changes(const EntryList& entries, HashWidth width, bool multiset) {
  const std::vector<NetHash> sums =
      sums_of(entries, entries.size(), width, 0, multiset).value();  // without a poll it goes on
  LargeVector<ChangedHash> changed;
  changed.reserve(sums.size());
  for (const auto& [hash, net] : sums) {
    changed.emplace_back(hash, net);
  }
  return changed;
}

}  // namespace cuckoo::segments
