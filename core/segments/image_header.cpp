#include "core/segments/image_header.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/front.hpp"
#include "core/segments/segment_header.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kImageMagic = 0x33494B43;     // "CKI3"
constexpr uint32_t kOldImageMagic = 0x4D494B43;  // "CKIM"
constexpr uint8_t kHasHashes = 1;                // flags
constexpr uint8_t kHasMark = 2;
constexpr uint8_t kPartial = 4;
constexpr uint8_t kEachOnce = 8;

// Offsets of the fields of an image's header.
constexpr size_t kImageLengthAt = 8;
constexpr size_t kImageKindAt = 16;
constexpr size_t kImageWidthAt = 17;
constexpr size_t kImageKeyColumnsAt = 18;
constexpr size_t kImageFlagsAt = 19;
constexpr size_t kImageFingerprintBitsAt = 20;
constexpr size_t kImageHashesAt = 22;
constexpr size_t kImageRateAt = 24;
constexpr size_t kImageBitsPerKeyAt = 32;
constexpr size_t kImageSeedAt = 40;
constexpr size_t kImageCapacityAt = 48;
constexpr size_t kImageItemsAt = 56;
constexpr size_t kImageHashCountAt = 64;
constexpr size_t kImagePiecesAt = 72;
constexpr size_t kImageAffinitiesAt = 80;
constexpr size_t kImageKeyTypesAt = 84;
constexpr size_t kImageCollationsAt = 92;
constexpr size_t kImageZeroAt = 94;
constexpr size_t kImageMarkAt = 100;
static_assert(kImageMarkAt + kMarkBytes == kImageHeaderBytes);

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

Status check_hashing(const ImageHeader& header) {
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

ImageHeader image_header(const FilterSpec& spec, HashWidth width, uint64_t seed,
                         const KeyForm& keys, uint64_t key_types) noexcept {
  ImageHeader header;
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

// --- the image's header --------------------------------------------------------------------------

Status check_image_header(const ImageHeader& header) {
  CUCKOO_TRY(check_spec_of_image(header.spec));
  CUCKOO_TRY(check_hashing(header));
  if (header.mark && (header.mark->kind != header.spec.kind || header.mark->width != header.width ||
                      header.mark->seed != header.seed)) {
    return corrupt("image with the mark of another filter");
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

void put_image_header(const ImageHeader& header, uint64_t length, std::byte* to) {
  put_front(kImageMagic, kImageVersion, {to, kImageHeaderBytes});
  store_le(to + kImageLengthAt, length);
  store_le(to + kImageKindAt, static_cast<uint8_t>(header.spec.kind));
  store_le(to + kImageWidthAt, static_cast<uint8_t>(header.width));
  store_le(to + kImageKeyColumnsAt, header.keys.columns);
  store_le(
      to + kImageFlagsAt,
      static_cast<uint8_t>((header.with_hashes ? kHasHashes : 0) | (header.mark ? kHasMark : 0) |
                           (header.partial ? kPartial : 0) | (header.unique ? kEachOnce : 0)));
  store_le(to + kImageFingerprintBitsAt, static_cast<uint16_t>(header.spec.fingerprint_bits));
  store_le(to + kImageHashesAt, static_cast<uint16_t>(header.spec.hashes));
  store_le(to + kImageRateAt, bits_of(header.spec.rate));
  store_le(to + kImageBitsPerKeyAt, bits_of(header.spec.bits_per_key));
  store_le(to + kImageSeedAt, header.seed);
  store_le(to + kImageCapacityAt, header.capacity);
  store_le(to + kImageItemsAt, header.items);
  store_le(to + kImageHashCountAt, header.hash_count);
  store_le(to + kImagePiecesAt, header.pieces);
  store_le(to + kImageAffinitiesAt, header.keys.affinities);
  store_le(to + kImageKeyTypesAt, header.key_types);
  store_le(to + kImageCollationsAt, header.keys.collations);
  if (header.mark) {
    const std::vector<std::byte> mark = encode_mark(*header.mark);
    std::copy(mark.begin(), mark.end(), to + kImageMarkAt);
  }
}

namespace {

// Checks magic, version and length.
Status check_frame(std::span<const std::byte> bytes, uint64_t size) {
  constexpr size_t kLeast = kImageHeaderBytes + kLeastPieceBytes + kImageCrcBytes;
  if (bytes.size() >= sizeof kImageMagic) {
    const auto magic = load_le<uint32_t>(bytes.data());
    if (magic == kOldImageMagic) {
      return corrupt("image made by a version before the first release: make it anew");
    }
    if (magic == kWindowMagic) {
      return corrupt(
          "image of a sliding window, expected that of one filter; its generations can't be told"
          " apart once they are merged");
    }
    if (magic != kImageMagic) {
      return corrupt("bytes that are no image of a filter, expected CKI3 at the start");
    }
  }
  if (bytes.size() >= kVersionAt + 4) {
    CUCKOO_TRY(expect_version("image", load_le<uint32_t>(&bytes[kVersionAt]), kImageVersion));
  }
  if (size < kLeast) {
    return corrupt("image cut off: " + grouped(size) + " bytes, expected at least " +
                   grouped(kLeast));
  }
  const auto length = load_le<uint64_t>(&bytes[kImageLengthAt]);
  if (length != size) {
    return corrupt((length > size ? "image cut off: " : "image too long: ") + grouped(size) +
                   " bytes, expected " + grouped(length));
  }
  return {};
}

// Reads the flags and, if there is one, the mark.
Status get_flags(std::span<const std::byte> bytes, ImageHeader& header) {
  const auto flags = static_cast<uint8_t>(bytes[kImageFlagsAt]);
  if (flags > (kHasHashes | kHasMark | kPartial | kEachOnce)) {
    return corrupt("image with flags " + std::to_string(flags) + ", expected 0 to 15");
  }
  header.partial = (flags & kPartial) != 0;
  header.unique = (flags & kEachOnce) != 0;
  header.with_hashes = (flags & kHasHashes) != 0;
  const bool marked = (flags & kHasMark) != 0;
  if (const size_t end = marked ? kImageMarkAt : kImageHeaderBytes;
      !all_zero(bytes.subspan(kImageZeroAt, end - kImageZeroAt))) {
    return corrupt("image with header bytes that have no meaning, expected zeros");
  }
  if (marked) {
    CUCKOO_ASSIGN_OR_RETURN(header.mark, decode_mark(bytes.subspan(kImageMarkAt, kMarkBytes)));
  }
  return {};
}

}  // namespace

Result<ImageHeader> parse_image_header(std::span<const std::byte> bytes, uint64_t length) {
  CUCKOO_TRY(check_frame(bytes, length));
  const std::byte* const from = bytes.data();
  const auto word = [from](size_t at) { return load_le<uint64_t>(from + at); };
  ImageHeader header;
  header.spec.kind = static_cast<FilterKind>(from[kImageKindAt]);
  header.width = static_cast<HashWidth>(from[kImageWidthAt]);
  header.keys = {static_cast<uint8_t>(from[kImageKeyColumnsAt]),
                 load_le<uint32_t>(from + kImageAffinitiesAt),
                 load_le<uint16_t>(from + kImageCollationsAt)};
  header.key_types = word(kImageKeyTypesAt);
  header.spec.fingerprint_bits = load_le<uint16_t>(from + kImageFingerprintBitsAt);
  header.spec.hashes = load_le<uint16_t>(from + kImageHashesAt);
  header.spec.rate = real_from_bits(word(kImageRateAt));
  header.spec.bits_per_key = real_from_bits(word(kImageBitsPerKeyAt));
  header.seed = word(kImageSeedAt);
  header.capacity = word(kImageCapacityAt);
  header.items = word(kImageItemsAt);
  header.hash_count = word(kImageHashCountAt);
  header.pieces = word(kImagePiecesAt);
  CUCKOO_TRY(get_flags(bytes, header));
  CUCKOO_TRY(check_image_header(header));
  const uint64_t room = length - kImageHeaderBytes - kImageCrcBytes;
  if (header.pieces == 0 || header.pieces > room / kLeastPieceBytes) {
    return corrupt("image of " + grouped(header.pieces) + " pieces, expected 1 to " +
                   grouped(room / kLeastPieceBytes));
  }
  // An entry takes two bits at least.
  if (header.hash_count / 4 > room) {
    return corrupt("image with " + grouped(header.hash_count) + " hashes in " + grouped(room) +
                   " bytes, expected at most four a byte");
  }
  return header;
}

bool looks_like_image(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kImageMagic) || has_magic(bytes, kOldImageMagic) ||
         has_magic(bytes, kWindowMagic);
}

namespace {

Result<ImageHeader> front_of(const MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> front,
                          bytes.front(kImageHeaderBytes, buffer));
  return parse_image_header(front, bytes.size());
}

}  // namespace

Result<ImageHeader> decode_image_header(const MessageBytes& bytes) {
  Result<ImageHeader> header = front_of(bytes);
  if (header.ok() && header.value().partial) {
    return corrupt("image of a part of a filter, expected a whole one");
  }
  return header;
}

Result<ImageHeader> decode_partial_header(const MessageBytes& bytes) {
  Result<ImageHeader> header = front_of(bytes);
  if (header.ok() && (!header.value().partial || header.value().with_hashes)) {
    return corrupt("image of a whole filter or with hashes, expected a part without them");
  }
  return header;
}

// --- a piece's header ----------------------------------------------------------------------------

Status check_piece_header(const ImageHeader& image, const PieceHeader& piece) {
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

Result<PieceHeader> parse_piece_header(const ImageHeader& image, std::span<const std::byte> bytes,
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

Status check_hashes(const ImageHeader& image, const Piece& piece) {
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
