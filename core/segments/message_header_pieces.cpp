// The headers of the pieces of a message, and what must be so of a piece.
#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/message_header.hpp"
#include "core/segments/segment_header.hpp"

namespace cuckoo::segments {
namespace {

// Offsets of the fields of a piece's header.
constexpr size_t kPieceDepthAt = 0;
constexpr size_t kPieceDetailAt = 1;
constexpr size_t kPieceShapeAt = 2;
constexpr size_t kPieceOverflowCellsAt = 4;
constexpr size_t kPieceCapacityAt = 8;
constexpr size_t kPieceItemsAt = 16;
constexpr size_t kPieceOccupiedAt = 24;
constexpr size_t kPieceSizeAt = 32;
constexpr size_t kPieceHashCountAt = 40;
constexpr size_t kPieceHashBytesAt = 48;
constexpr size_t kPiecePrefixAt = 56;
static_assert(kPiecePrefixAt + 8 == kPieceHeaderBytes);

// No segment has a larger share, not even of 2^40 keys and with its deviations.
constexpr uint64_t kMostPieceCapacity = 2 * kMaxCapacity;
// A piece without cells may have so many pages. It takes 8 bytes of memory for each 512 pages. The
// largest share, 2^24 keys of 64 bytes, has half as many.
constexpr uint64_t kMostEmptyPages = uint64_t{1} << 19;

}  // namespace

Status check_piece_header(const MessageHeader& image, const PieceHeader& piece) {
  if (piece.depth > kMaxDepth) {
    return corrupt("piece of " + std::to_string(piece.depth) + " bits, expected at most " +
                   std::to_string(kMaxDepth));
  }
  const CellLayout& layout = piece.layout;
  if (piece.capacity < 1 || piece.capacity > kMostPieceCapacity ||
      layout.units * layout.unit_bits < piece.capacity / 2) {
    return corrupt("piece of capacity " + grouped(piece.capacity) + ", expected 1 or more, for " +
                   grouped(layout.units) + " " + unit_name(image.spec.kind));
  }
  if (piece.items > kMaxImageItems) {
    return corrupt("piece of " + grouped(piece.items) + " items, expected at most 2^62");
  }
  const uint64_t cells = cell_slots(image.spec.kind, layout);
  if (piece.occupied > cells) {
    return corrupt("piece with " + grouped(piece.occupied) + " cells in use, expected at most " +
                   grouped(cells));
  }
  if (piece.occupied == 0 && layout.page_count(kImagePageBytes) > kMostEmptyPages) {
    return corrupt("empty piece of " + grouped(layout.units) + " " + unit_name(image.spec.kind) +
                   ", which are too many");
  }
  if (!image.with_hashes && (piece.hash_count != 0 || piece.hash_bytes != 0)) {
    return corrupt("piece with hashes in an image without any");
  }
  if (image.with_hashes && piece.hash_count == 0 &&
      (piece.occupied > 0 || piece.overflow_cells > 0)) {
    return corrupt("piece without its hashes in an image that has them");
  }
  return {};
}

void put_piece_header(const PieceHeader& header, std::byte* to) noexcept {
  store_le(to + kPieceDepthAt, static_cast<uint8_t>(header.depth));
  store_le(to + kPieceDetailAt, static_cast<uint8_t>(header.geometry.detail));
  store_le(to + kPieceShapeAt, static_cast<uint16_t>(header.geometry.shape));
  store_le(to + kPieceOverflowCellsAt, static_cast<uint32_t>(header.overflow_cells));
  store_le(to + kPieceCapacityAt, header.capacity);
  store_le(to + kPieceItemsAt, header.items);
  store_le(to + kPieceOccupiedAt, header.occupied);
  store_le(to + kPieceSizeAt, header.geometry.size);
  store_le(to + kPieceHashCountAt, header.hash_count);
  store_le(to + kPieceHashBytesAt, header.hash_bytes);
  store_le(to + kPiecePrefixAt, header.prefix);
}

Result<PieceHeader> parse_piece_header(const MessageHeader& image, std::span<const std::byte> bytes,
                                       uint64_t length) {
  if (length < kLeastPieceBytes) {
    return corrupt("piece cut off: " + grouped(length) + " bytes, expected at least " +
                   grouped(kLeastPieceBytes));
  }
  const std::byte* const from = bytes.data();
  const auto word = [from](size_t at) { return load_le<uint64_t>(from + at); };
  PieceHeader piece;
  piece.depth = static_cast<uint8_t>(from[kPieceDepthAt]);
  piece.geometry = {word(kPieceSizeAt), load_le<uint16_t>(from + kPieceShapeAt),
                    static_cast<uint8_t>(from[kPieceDetailAt])};
  piece.overflow_cells = load_le<uint32_t>(from + kPieceOverflowCellsAt);
  piece.capacity = word(kPieceCapacityAt);
  piece.items = word(kPieceItemsAt);
  piece.occupied = word(kPieceOccupiedAt);
  piece.hash_count = word(kPieceHashCountAt);
  piece.hash_bytes = word(kPieceHashBytesAt);
  piece.prefix = word(kPiecePrefixAt);
  CUCKOO_ASSIGN_OR_RETURN(piece.layout, cell_layout(image.spec.kind, piece.geometry));
  CUCKOO_TRY(check_piece_header(image, piece));
  uint64_t room = length - kLeastPieceBytes;
  if (piece.cell_bytes() > room) {
    return corrupt("piece with " + grouped(piece.cell_bytes()) +
                   " bytes of cells, expected at most " + grouped(room));
  }
  room -= piece.cell_bytes();
  if (piece.overflow_cells > room / kOverflowEntryBytes) {
    return corrupt("piece with " + grouped(piece.overflow_cells) +
                   " overflow entries, expected at most " + grouped(room / kOverflowEntryBytes));
  }
  room -= piece.overflow_cells * kOverflowEntryBytes;
  if (piece.hash_bytes > room || piece.hash_count / 4 > piece.hash_bytes) {
    return corrupt("piece with " + grouped(piece.hash_count) + " hashes in " +
                   grouped(piece.hash_bytes) + " bytes, expected at most " + grouped(room) +
                   " bytes and at most four hashes a byte");
  }
  return piece;
}

Status PrefixWalk::pass(uint64_t prefix, unsigned depth) {
  const uint64_t share = depth == 0 ? 0 : uint64_t{1} << (64 - depth);  // 0: all
  if (complete_ || (prefix & (share - 1)) != 0 || prefix < next_ || (!gaps_ && prefix != next_)) {
    return corrupt("pieces that do not follow one another");
  }
  next_ = prefix + share;
  complete_ = next_ == 0;
  return {};
}

Status check_piece_items(const Piece& piece) {
  const Filter& filter = *piece.filter;
  if (const auto held = filter.counted_items(); held.value_or(piece.items) != piece.items) {
    return corrupt("piece of " + grouped(piece.items) + " items, expected " + grouped(*held) +
                   ", as its buckets and overflow entries hold");
  }
  // Keys of a set that wait beside the filter count too, up to its capacity.
  if (const uint64_t most = std::max(filter.most_items(), piece.capacity); piece.items > most) {
    return corrupt("piece of " + grouped(piece.items) + " items, expected at most " +
                   grouped(most) + " in " + grouped(filter.bits()) + " bits");
  }
  return {};
}

Status check_hashes(const MessageHeader& image, const Piece& piece) {
  const bool multiset = is_multiset(image.spec.kind);
  const uint64_t last_in_piece =
      piece.depth == 0 ? ~uint64_t{0} : piece.prefix | (~uint64_t{0} >> piece.depth);
  uint64_t left = multiset ? piece.items : piece.hashes.size();
  for (size_t i = 0; i < piece.hashes.size(); ++i) {
    const auto [hash, net] = piece.hashes[i];
    if (logged_hash(hash, image.width) != hash) {
      return corrupt("hash with more than " + std::to_string(static_cast<int>(image.width)) +
                     " bits");
    }
    if (hash < piece.prefix || hash > last_in_piece ||
        (i > 0 && hash <= piece.hashes[i - 1].hash)) {
      return corrupt("hashes that do not ascend within their piece");
    }
    if (net < 1 || static_cast<uint64_t>(net) > left || (!multiset && net != 1)) {
      return corrupt("hash that is there " + std::to_string(net) + " times, expected " +
                     (multiset ? "1 to " + grouped(left) + ", as many as there are items left"
                               : "once in a set"));
    }
    left -= static_cast<uint64_t>(net);
  }
  return left == 0 ? Status()
                   : corrupt("piece with hashes of " + grouped(piece.items - left) +
                             " items, expected " + grouped(piece.items));
}

}  // namespace cuckoo::segments
