// The headers of a message (core/segments/image.hpp) and of its pieces. Their fields describe the
// bytes that follow. Nothing is believed: every number is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/segments/image.hpp"

namespace cuckoo::segments {

inline constexpr size_t kMessageHeaderBytes = 184;  // of any message
inline constexpr size_t kPieceHeaderBytes = 64;
inline constexpr size_t kImageCrcBytes = 4;  // after each piece, and at the end
inline constexpr size_t kOverflowEntryBytes = 16;
inline constexpr size_t kCountOfEntryBytes = 8;       // of changes
inline constexpr size_t kBlockLengthBytes = 4;        // before each block of hashes
inline constexpr uint32_t kWindowMagic = 0x57494B43;  // "CKIW": core/segments/window_message.hpp
inline constexpr size_t kLeastPieceBytes = kPieceHeaderBytes + kImageCrcBytes;

std::string grouped(uint64_t number);  // 4512 -> "4,512"

// The header of a piece, and the layout that follows from it.
struct PieceHeader {
  uint64_t prefix = 0;
  unsigned depth = 0;
  uint64_t capacity = 0;
  uint64_t items = 0;
  uint64_t occupied = 0;
  GeometryWords geometry;
  uint64_t overflow_cells = 0;
  uint64_t hash_count = 0;
  uint64_t hash_bytes = 0;
  CellLayout layout;

  // A piece without an occupied cell has no cells.
  uint64_t cell_bytes() const noexcept {
    return occupied == 0 ? 0 : layout.total_bytes(kImagePageBytes);
  }
  // Returns the length of the piece, with header and CRC.
  uint64_t bytes() const noexcept {
    return kLeastPieceBytes + cell_bytes() + kOverflowEntryBytes * overflow_cells + hash_bytes;
  }
};

// Check the headers alone. The piece's layout must be that of its geometry.
Status check_message_header(const MessageHeader& header);
Status check_piece_header(const MessageHeader& image, const PieceHeader& piece);

std::vector<std::byte> encode_message_header(const MessageHeader& header, uint64_t length);
// `to` must have kPieceHeaderBytes.
void put_piece_header(const PieceHeader& header, std::byte* to) noexcept;

// The bytes are the first kMessageHeaderBytes of a message of `length` bytes, or all if it has
// fewer.
Result<MessageHeader> parse_message_header(std::span<const std::byte> bytes, uint64_t length);
// The bytes are the first kPieceHeaderBytes of the `length` bytes from the piece's header to the
// image's CRC. The piece of the result fits these.
Result<PieceHeader> parse_piece_header(const MessageHeader& image, std::span<const std::byte> bytes,
                                       uint64_t length);

// Returns kCorrupt if the piece's cells can't hold so many items.
Status check_piece_items(const Piece& piece);
// Checks the hashes of a piece that is read or written: they ascend, and add up to its items.
Status check_hashes(const MessageHeader& image, const Piece& piece);

}  // namespace cuckoo::segments
