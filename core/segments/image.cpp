// Images: reading. Headers are in message_header.cpp, writing is in message_writer.cpp.
#include "core/segments/image.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/message_header.hpp"
#include "core/segments/segment.hpp"

namespace cuckoo::segments {
uint64_t MessageHeader::entry_bytes() const noexcept {
  return from ? entries * log_entry_bytes(width) + counts * kCountOfEntryBytes + kImageCrcBytes : 0;
}

namespace {

constexpr uint64_t kPagesPerPoll = 64;

Error in_piece(uint64_t index, Status status) {
  Error error = status.take_error();
  if (error.code == ErrorCode::kCorrupt) {
    error.message += ", in piece " + std::to_string(index + 1);
  }
  return error;
}

// The sums of the pieces' numbers.
struct Sums {
  uint64_t items = 0;
  uint64_t hashes = 0;
  uint64_t bits = 0;
};

Status check_sums(const MessageHeader& header, const Sums& sums) {
  if (!header.from && is_multiset(header.spec.kind) && sums.items != header.items) {
    return corrupt("image of " + grouped(header.items) + " items, expected " + grouped(sums.items) +
                   ", as its pieces have");
  }
  if (!header.from && sums.bits < header.capacity / 2) {
    return corrupt("image with a geometry too small for its capacity of " +
                   grouped(header.capacity));
  }
  if (sums.hashes != header.hash_count) {
    return corrupt("image of " + grouped(header.hash_count) + " hashes, expected " +
                   grouped(sums.hashes) + ", as its pieces have");
  }
  return {};
}

// Visits the headers of all pieces, each with its index and the offset at which its piece begins.
template <class Visitor>
Status for_each_header(const MessageHeader& header, const MessageBytes& bytes, Visitor&& visit) {
  const uint64_t end = bytes.size() - kImageCrcBytes;
  uint64_t at = kMessageHeaderBytes + header.entry_bytes();
  std::vector<std::byte> buffer;
  for (uint64_t index = 0; index < header.pieces; ++index) {
    CUCKOO_ASSIGN_OR_RETURN(
        const std::span<const std::byte> front,
        bytes.read(at, std::min<uint64_t>(kPieceHeaderBytes, end - at), buffer));
    Result<PieceHeader> piece = parse_piece_header(header, front, end - at);
    if (!piece.ok()) {
      return in_piece(index, piece.take_status());
    }
    CUCKOO_TRY(visit(index, piece.value(), at));
    at += piece.value().bytes();
  }
  return at == end ? Status()
                   : corrupt("image with " + grouped(end - at) +
                             " bytes after its last piece, expected none");
}

// Checks all headers together: the prefixes, the sums, the image's checksum.
Status check_headers(const MessageHeader& header, const MessageBytes& bytes, const Poll& poll) {
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(std::span<const std::byte> some,
                          bytes.read(0, kMessageHeaderBytes, buffer));
  uint32_t crc = crc32c(some);
  if (header.from) {
    CUCKOO_ASSIGN_OR_RETURN(some,
                            bytes.read(kMessageHeaderBytes + header.entry_bytes() - kImageCrcBytes,
                                       kImageCrcBytes, buffer));
    crc = crc32c(some, crc);
  }
  PrefixWalk prefixes(header.from.has_value());
  Sums sums;
  CUCKOO_TRY(for_each_header(
      header, bytes, [&](uint64_t, const PieceHeader& piece, uint64_t at) -> Status {
        CUCKOO_TRY(check_interrupt(poll));
        CUCKOO_ASSIGN_OR_RETURN(
            some, bytes.read(at + piece.bytes() - kImageCrcBytes, kImageCrcBytes, buffer));
        crc = crc32c(some, crc);
        sums.items += piece.items;
        sums.hashes += piece.hash_count;
        sums.bits += piece.layout.units * piece.layout.unit_bits;
        if (sums.items > kMaxImageItems) {
          return corrupt("image of more than 2^62 items");
        }
        return prefixes.pass(piece.prefix, piece.depth);
      }));
  if (!header.from && !prefixes.complete()) {
    return corrupt("image without its last pieces");
  }
  CUCKOO_TRY(check_sums(header, sums));
  CUCKOO_ASSIGN_OR_RETURN(some, bytes.read(bytes.size() - kImageCrcBytes, kImageCrcBytes, buffer));
  return crc == load_le<uint32_t>(some.data()) ? Status() : corrupt("image with a wrong checksum");
}

// --- the content of a piece ----------------------------------------------------------------------

// They are checked together with the rest of the filter.
Status read_cells(std::span<const std::byte> cells, const CellLayout& layout, Filter& filter,
                  const Poll& poll) {
  for (uint64_t index = 0; !cells.empty(); ++index) {
    if (index % kPagesPerPoll == 0) {
      CUCKOO_TRY(check_interrupt(poll));
    }
    const size_t content = layout.content_bytes(index, kImagePageBytes);
    const std::span<const std::byte> page = cells.first(content);
    if (!all_zero(page)) {
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
  overflow.make_room(bytes.size() / kOverflowEntryBytes);
  for (size_t at = 0; at < bytes.size(); at += kOverflowEntryBytes) {
    const auto cell = load_le<uint64_t>(&bytes[at]);
    const auto count = load_le<uint64_t>(&bytes[at + 8]);
    const auto wrong = [at](const std::string& what) {
      return corrupt("overflow entry " + std::to_string(at / kOverflowEntryBytes) + what);
    };
    if (at > 0 && cell <= last) {
      return wrong(" is of cell " + std::to_string(cell) + ", expected more than " +
                   std::to_string(last));
    }
    if (count == 0 || count > kMaxImageItems - overflow.items()) {
      return wrong(" has count " + grouped(count) + ", expected 1 to " +
                   grouped(kMaxImageItems - overflow.items()));
    }
    overflow.add(cell, count);
    last = cell;
  }
  return {};
}

Status read_hashes(const MessageHeader& image, std::span<const std::byte> bytes, Piece& piece,
                   uint64_t expected) {
  uint64_t previous = piece.prefix;
  piece.hashes.reserve(expected);  // at most four a byte
  for (bool first = true; !bytes.empty(); first = false) {
    if (bytes.size() < kBlockLengthBytes) {
      return corrupt(grouped(bytes.size()) + " bytes after the last block of hashes");
    }
    const uint64_t length = load_le<uint32_t>(bytes.data());
    const uint64_t most = std::min<uint64_t>(bytes.size() - kBlockLengthBytes, kImagePageBytes);
    if (length > most) {
      return corrupt("block of hashes of " + grouped(length) + " bytes, expected at most " +
                     grouped(most));
    }
    bool begins = false;
    CUCKOO_TRY(decode_run_block(bytes.subspan(kBlockLengthBytes, length), image.width, piece.depth,
                                piece.prefix, previous, piece.hashes, begins));
    if (begins != first) {
      return corrupt("block of hashes that does not follow the one before it");
    }
    bytes = bytes.subspan(kBlockLengthBytes + length);
  }
  if (piece.hashes.size() != expected) {
    return corrupt("piece with " + grouped(piece.hashes.size()) + " hashes, expected " +
                   grouped(expected));
  }
  return check_hashes(image, piece);
}

// Returns kCorrupt unless the hashes are those of the cells. Where equal hashes may leave different
// cells, it compares digests.
Status verify_hashes(const Piece& piece) {
  const Filter& filter = *piece.filter;
  bool equal = true;
  if (!filter.canonical()) {
    uint64_t digest = 0;
    for (const auto& [hash, net] : piece.hashes) {
      digest += static_cast<uint64_t>(net) * filter.digest_of(hash << piece.depth);
    }
    equal = digest == filter.digest();
  } else {
    CUCKOO_ASSIGN_OR_RETURN(const std::unique_ptr<Filter> made,
                            make_filter(filter.kind(), filter.words(), kImagePageBytes));
    made->pages().complete();
    fill(*made, piece.hashes, piece.depth);
    equal = equal_cells(*made, filter);
  }
  return equal ? Status() : corrupt("hashes that are not those of the filter beside them");
}

// Returns the piece with that header, verified, in pages of kImagePageBytes.
Result<Piece> read_piece(const MessageHeader& image, const PieceHeader& header,
                         std::span<const std::byte> bytes, bool with_hashes, const Poll& poll) {
  const std::span<const std::byte> content = bytes.first(bytes.size() - kImageCrcBytes);
  if (crc32c(content) != load_le<uint32_t>(&bytes[content.size()])) {
    return corrupt("image with a wrong checksum");
  }
  Piece piece;
  piece.prefix = header.prefix;
  piece.depth = header.depth;
  piece.capacity = header.capacity;
  piece.items = header.items;
  // The cells are all there, so the filter is no larger than they are.
  CUCKOO_ASSIGN_OR_RETURN(piece.filter,
                          make_filter(image.spec.kind, header.geometry, kImagePageBytes));
  Filter& filter = *piece.filter;
  if (Result<CellLayout> layout = cell_layout(filter); !layout.ok()) {
    return layout.take_status();
  }
  std::span<const std::byte> rest = content.subspan(kPieceHeaderBytes);
  const auto take = [&rest](uint64_t length) {
    const auto taken = rest.first(static_cast<size_t>(length));
    rest = rest.subspan(taken.size());
    return taken;
  };
  CUCKOO_TRY(read_cells(take(header.cell_bytes()), header.layout, filter, poll));
  CUCKOO_TRY(read_overflow(take(kOverflowEntryBytes * header.overflow_cells), filter.overflow()));
  filter.set_occupied(header.occupied);
  CUCKOO_TRY(check_piece_items(piece));
  CUCKOO_TRY(filter.check());
  if (with_hashes) {
    CUCKOO_TRY(read_hashes(image, rest, piece, header.hash_count));
    CUCKOO_TRY(verify_hashes(piece));
  }
  return piece;
}

}  // namespace

namespace {

Status read_pieces(const MessageHeader& header, const MessageBytes& bytes, bool with_hashes,
                   uint32_t page_bytes, const PieceSink& sink, const Poll& poll) {
  CUCKOO_TRY(check_headers(header, bytes, poll));
  std::vector<std::byte> buffer;
  return for_each_header(
      header, bytes, [&](uint64_t index, const PieceHeader& found, uint64_t at) -> Status {
        CUCKOO_TRY(check_interrupt(poll));
        CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> own,
                                bytes.read(at, found.bytes(), buffer));
        Result<Piece> read = read_piece(header, found, own, with_hashes, poll);
        if (!read.ok()) {
          return in_piece(index, read.take_status());
        }
        Piece& piece = read.value();
        CUCKOO_ASSIGN_OR_RETURN(piece.filter, in_pages_of(page_bytes, std::move(piece.filter)));
        piece.filter->pages().complete();
        return sink(std::move(piece));
      });
}

}  // namespace

Status read_image(const MessageBytes& bytes, bool with_hashes, uint32_t page_bytes,
                  const PieceSink& sink, const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const MessageHeader header, decode_image_header(bytes));
  if (with_hashes && !header.with_hashes) {
    return invalid("image without hashes");
  }
  return read_pieces(header, bytes, with_hashes, page_bytes, sink, poll);
}

Result<std::vector<std::byte>> read_entries(const MessageHeader& header, const MessageBytes& bytes,
                                            const Poll& poll) {
  CUCKOO_TRY(check_headers(header, bytes, poll));
  std::vector<std::byte> buffer;
  CUCKOO_ASSIGN_OR_RETURN(std::span<const std::byte> block,
                          bytes.read(kMessageHeaderBytes, header.entry_bytes(), buffer));
  const std::span<const std::byte> entries = block.first(block.size() - kImageCrcBytes);
  if (crc32c(entries) != load_le<uint32_t>(&block[entries.size()])) {
    return corrupt("changes with a wrong checksum");
  }
  return std::vector<std::byte>(entries.begin(), entries.end());
}

Status read_changed_pieces(const MessageBytes& bytes, uint32_t page_bytes, const PieceSink& sink,
                           const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const MessageHeader header, decode_changes_header(bytes));
  return read_pieces(header, bytes, false, page_bytes, sink, poll);
}

Result<Image> decode_image(std::span<const std::byte> bytes) {
  Image image;
  CUCKOO_ASSIGN_OR_RETURN(image.header, decode_image_header(bytes));
  std::vector<Piece> pieces;
  CUCKOO_TRY(read_image(bytes, false, kImagePageBytes, [&](Piece&& piece) -> Status {
    if (PageSet& pages = piece.filter->pages(); pages.backed_count() == 0) {
      pages.drop_list();  // I3: its length follows the geometry
    }
    pieces.push_back(std::move(piece));
    return {};
  }));
  CUCKOO_TRY(image.pieces.take(std::move(pieces)));
  return image;
}

}  // namespace cuckoo::segments
