// decode_image_header, read_image, decode_image. What is accepted is pieces that pass their own
// checks, answer, and make an image of the same bytes, from pages of another size too.
#include "core/segments/image.hpp"

#include <algorithm>

#include "core/base/mix.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/segments/message_header.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::segments {
namespace {

using test::Bytes;
using test::put_crc;

// Fields of the header and of a piece's (FORMAT.md, "Images and changes").
constexpr size_t kFlagsAt = 5;
constexpr size_t kLengthAt = 8;
constexpr size_t kItemsAt = 16;
constexpr size_t kHashCountAt = 24;
constexpr size_t kPiecesAt = 32;
constexpr size_t kKindAt = 56;
constexpr size_t kDetailAt = 1;
constexpr size_t kShapeAt = 2;
constexpr size_t kOverflowCellsAt = 4;
constexpr size_t kPieceItemsAt = 16;
constexpr size_t kOccupiedAt = 24;
constexpr size_t kSizeAt = 32;
constexpr size_t kPieceHashCountAt = 40;
constexpr size_t kHashBytesAt = 48;

// False: none, or wrong ones.
bool read_pieces(std::span<const std::byte> bytes, bool with_hashes, uint32_t page_bytes,
                 std::vector<Piece>& pieces) {
  const Status status = read_image(bytes, with_hashes, page_bytes, [&](Piece&& piece) -> Status {
    pieces.push_back(std::move(piece));
    return {};
  });
  REQUIRE(status.ok() || !status.error().message.empty());
  return status.ok();
}

Bytes encode(const MessageHeader& header, const std::vector<Piece>& pieces) {
  MessageWriter writer(header, UINT64_MAX);
  for (const Piece& piece : pieces) {
    REQUIRE(writer.add(piece).ok());
  }
  REQUIRE(writer.complete());
  return writer.finish();
}

void examine_pieces(const MessageHeader& header, const std::vector<Piece>& pieces) {
  REQUIRE(pieces.size() == header.pieces);
  uint64_t hashes = 0;
  for (const Piece& piece : pieces) {
    REQUIRE(piece.filter->check().ok());
    for (size_t i = 0; i < piece.hashes.size(); ++i) {
      const auto& [hash, net] = piece.hashes[i];
      REQUIRE(net >= 1 && (i == 0 || hash > piece.hashes[i - 1].hash));
      REQUIRE(piece.filter->probe(hash << piece.depth) == Filter::Answer::kPresent);
    }
    hashes += piece.hashes.size();
  }
  REQUIRE(hashes == 0 || hashes == header.hash_count);
}

void examine(std::span<const std::byte> bytes) {
  const Result<MessageHeader> header = decode_image_header(bytes);
  REQUIRE(!header.ok() || looks_like_image(bytes));
  Result<Image> image = decode_image(bytes);
  if (!image.ok()) {
    REQUIRE(!image.error().message.empty());
    std::vector<Piece> none;
    REQUIRE(!read_pieces(bytes, true, kImagePageBytes, none));
    return;
  }
  REQUIRE(header.ok());
  if (header.value().spec.kind != FilterKind::kLegacyBloom) {
    for (uint64_t i = 0; i < 16; ++i) {
      REQUIRE(image.value().pieces.probe(mix64(i)) != Filter::Answer::kNotLoaded);
    }
  }
  const bool with_hashes = header.value().with_hashes;
  std::vector<Piece> pieces;
  if (!read_pieces(bytes, with_hashes, kImagePageBytes, pieces)) {
    REQUIRE(with_hashes);
    return;
  }
  examine_pieces(header.value(), pieces);
  const Bytes again = encode(header.value(), pieces);
  if (!with_hashes) {  // blocks of hashes may be cut in other ways
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  std::vector<Piece> small_pages;
  REQUIRE(read_pieces(again, with_hashes, 448, small_pages));
  REQUIRE(encode(header.value(), small_pages) == again);
  for (size_t i = 0; i < pieces.size(); ++i) {
    REQUIRE(small_pages[i].hashes == pieces[i].hashes);
  }
}

// --- putting right what is not to be tested ------------------------------------------------------

uint64_t word(const Bytes& bytes, size_t at) { return load_le<uint64_t>(&bytes[at]); }

uint64_t bits_at(std::span<const std::byte> bytes, uint64_t bit, uint32_t count) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i, ++bit) {
    value |= (static_cast<uint64_t>(bytes[bit / 8]) >> (bit % 8) & 1) << i;
  }
  return value;
}

// Slots in use, set bits or counters above 0 of a filter of one page.
uint64_t count_occupied(FilterKind kind, const GeometryWords& words, const CellLayout& layout,
                        std::span<const std::byte> cells) {
  uint64_t occupied = 0;
  for (uint64_t unit = 0; unit < layout.units; ++unit) {
    const uint64_t bit = unit * layout.unit_bits;
    if (kind == FilterKind::kCuckoo) {
      const auto low_bits = static_cast<uint32_t>(words.detail);
      const uint32_t rank_bits = layout.unit_bits - 4 * low_bits;
      const uint32_t highs = rank_table()[bits_at(cells, bit + 4 * low_bits, rank_bits)];
      for (uint32_t slot = 0; slot < kBucketSlots; ++slot) {
        const uint64_t low = bits_at(cells, bit + slot * low_bits, low_bits);
        occupied += low != 0 || ((highs >> (8 * slot)) & 0xFF) != 0 ? 1 : 0;
      }
      continue;
    }
    const uint32_t step = kind == FilterKind::kCountingBloom ? 4 : 1;
    for (uint32_t at = 0; at < layout.unit_bits; at += step) {
      occupied += bits_at(cells, bit + at, step) != 0 ? 1 : 0;
    }
  }
  return occupied;
}

struct Frame {
  FilterKind kind;
  bool with_hashes;
  uint64_t items = 0;
  uint64_t hashes = 0;
};

// Makes its counters those of its cells and overflow entries, and its checksum right. Returns its
// length; 0: it has no frame.
size_t repair_piece(Bytes& bytes, size_t at, Frame& frame) {
  const size_t end = bytes.size() - kImageCrcBytes;
  if (end - at < kLeastPieceBytes) {
    return 0;
  }
  const GeometryWords words{word(bytes, at + kSizeAt), load_le<uint16_t>(&bytes[at + kShapeAt]),
                            std::to_integer<uint64_t>(bytes[at + kDetailAt])};
  const Result<CellLayout> layout = cell_layout(frame.kind, words);
  if (!layout.ok() || layout.value().page_count(kImagePageBytes) != 1) {
    return 0;
  }
  const size_t room = end - at - kLeastPieceBytes;
  const uint64_t cells =
      word(bytes, at + kOccupiedAt) == 0 ? 0 : layout.value().total_bytes(kImagePageBytes);
  const uint64_t entries = load_le<uint32_t>(&bytes[at + kOverflowCellsAt]);
  const uint64_t hash_bytes = word(bytes, at + kHashBytesAt);
  if (cells > room || hash_bytes > room || cells + hash_bytes + 16 * entries > room) {
    return 0;
  }
  const size_t cells_at = at + kPieceHeaderBytes;
  if (cells > 0) {
    const uint64_t occupied = count_occupied(frame.kind, words, layout.value(),
                                             std::span(bytes).subspan(cells_at, cells));
    if (occupied > 0) {
      store_le(&bytes[at + kOccupiedAt], occupied);
    }
  }
  if (frame.kind == FilterKind::kCuckoo) {
    uint64_t items = word(bytes, at + kOccupiedAt);
    for (uint64_t entry = 0; entry < entries; ++entry) {
      items += word(bytes, cells_at + cells + 16 * entry + 8);
    }
    store_le(&bytes[at + kPieceItemsAt], items);
  }
  frame.items += word(bytes, at + kPieceItemsAt);
  frame.hashes += word(bytes, at + kPieceHashCountAt);
  const size_t length = kLeastPieceBytes + cells + 16 * entries + hash_bytes;
  put_crc(std::span(bytes).subspan(at, length));
  return length;
}

// Pieces are taken until one has no frame; what is after them is cut off.
void repair(Bytes& bytes) {
  Frame frame{static_cast<FilterKind>(bytes[kKindAt]),
              (bytes[kFlagsAt] & std::byte{1}) != std::byte{0}};
  Bytes crcs;
  uint64_t pieces = 0;
  size_t at = kMessageHeaderBytes;
  for (size_t length = 0; (length = repair_piece(bytes, at, frame)) > 0; ++pieces) {
    at += length;
    const auto crc = bytes.begin() + static_cast<std::ptrdiff_t>(at - kImageCrcBytes);
    crcs.insert(crcs.end(), crc, crc + kImageCrcBytes);
  }
  bytes.resize(at + kImageCrcBytes);
  store_le(&bytes[kLengthAt], uint64_t{bytes.size()});
  store_le(&bytes[kPiecesAt], pieces);
  if (is_multiset(frame.kind)) {
    store_le(&bytes[kItemsAt], frame.items);
  }
  store_le(&bytes[kHashCountAt], frame.hashes);
  const uint32_t crc = crc32c(crcs, crc32c(std::span(bytes).first(kMessageHeaderBytes)));
  store_le(&bytes[at], crc);
}

}  // namespace
}  // namespace cuckoo::segments

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::segments;
  const std::span<const std::byte> input = cuckoo::test::as_input(data, size);
  examine(input);
  if (size >= kMessageHeaderBytes + kLeastPieceBytes + kImageCrcBytes) {
    cuckoo::test::Bytes bytes(input.begin(), input.end());
    repair(bytes);
    examine(bytes);
  }
  return 0;
}
