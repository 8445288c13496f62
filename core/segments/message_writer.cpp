// Images: writing, and how long they get.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_header.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {
namespace {

Status as_invalid(Status status) {
  if (!status.ok() && status.error().code == ErrorCode::kCorrupt) {
    return invalid(status.take_error().message);
  }
  return status;
}

Error too_long(const std::string& bytes, uint64_t limit, const std::string& way_out) {
  return invalid("image of " + bytes + " bytes, at most " + grouped(limit) + " are possible; " +
                 way_out);
}

constexpr char kShorter[] = "a smaller capacity or a higher rate makes it shorter";

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

// Returns a length that no list of so many hashes falls below. Each entry has one bit that ends its
// quotient. With fewer than 2^b hashes of w bits, it also has w - b - 1 bits of a hash.
uint64_t least_hash_bytes(HashWidth width, uint64_t count) noexcept {
  const auto bits = static_cast<uint64_t>(width);
  return count / 8 * (bits - std::min<uint64_t>(std::bit_width(count), bits));
}

}  // namespace

MessageWriter::MessageWriter(const MessageHeader& header, uint64_t limit,
                             std::span<const std::byte> entries)
    : header_(header), limit_(limit), prefixes_(header.from.has_value()) {
  if (header.spec.has_own_size()) {
    header_.spec.rate = 0;
  }
  header_.pieces = header_.hash_count = 0;
  bytes_.resize(kMessageHeaderBytes + entries.size());
  std::copy(entries.begin(), entries.end(), bytes_.begin() + kMessageHeaderBytes);
  if (header.from) {
    bytes_.resize(bytes_.size() + kImageCrcBytes);
    store_le(&bytes_[bytes_.size() - kImageCrcBytes], crc32c(entries));
    crcs_.assign(bytes_.end() - kImageCrcBytes, bytes_.end());
  }
  hashless_bytes_ = bytes_.size() + kImageCrcBytes;
}

MessageWriter MessageWriter::of_pieces(const MessageHeader& header, uint64_t limit,
                                       std::span<const std::byte> entries) {
  MessageWriter writer(header, limit, entries);
  writer.by_pieces_ = true;
  writer.taken_ = writer.bytes_.size();
  writer.bytes_.clear();
  return writer;
}

Status MessageWriter::begin() const {
  CUCKOO_TRY(as_invalid(check_message_header(header_)));
  return expect_room(0);
}

Status MessageWriter::check(const Piece& piece, const PieceHeader& found) const {
  const Filter& filter = *piece.filter;
  if (header_.pieces == 0) {
    CUCKOO_TRY(check_message_header(header_));
  }
  if (filter.kind() != header_.spec.kind) {
    return corrupt("image of kind " + std::to_string(static_cast<int>(header_.spec.kind)) +
                   ", expected " + std::to_string(static_cast<int>(filter.kind())));
  }
  if (filter.overflow().items() > kMaxImageItems || found.overflow_cells > UINT32_MAX) {
    return corrupt("image with " + grouped(filter.overflow().items()) +
                   " items of overflow entries, expected at most 2^62");
  }
  CUCKOO_TRY(check_piece_header(header_, found));
  CUCKOO_TRY(check_piece_items(piece));
  return header_.with_hashes ? check_hashes(header_, piece) : Status();
}

// Returns kInvalid unless `bytes` more bytes, and the image's CRC after them, fit the limit.
Status MessageWriter::expect_room(uint64_t bytes) const {
  const uint64_t length = this->length() + bytes + kImageCrcBytes;
  if (length <= limit_) {
    return {};
  }
  const std::string least = (complete() ? "" : "at least ") + grouped(length);
  return hashless_bytes_ + kImageCrcBytes <= limit_ && header_.with_hashes
             ? too_long(least, limit_, "without its hashes it is shorter")
             : too_long(least, limit_, kShorter);
}

// Reserves memory for the whole image, by the length of the first piece that holds something. All
// such pieces are about equally long.
void MessageWriter::reserve(const Piece& piece, uint64_t bytes) {
  if (!by_pieces_ && header_.pieces == 0 && piece.items > 0) {
    const uint64_t pieces =
        std::min<uint64_t>(uint64_t{1} << piece.depth, std::max<uint64_t>(header_.items, 1));
    const uint64_t about =
        bytes * pieces + bytes / 16 * pieces + (uint64_t{kLeastPieceBytes} << piece.depth);
    bytes_.reserve(static_cast<size_t>(std::min(bytes_.size() + about, limit_)));
  }
}

// Writes the hashes as blocks, with a length before each block.
Status MessageWriter::add_hashes(const Piece& piece) {
  return write_run(piece.hashes, header_.width, piece.depth, piece.prefix, kImagePageBytes,
                   [this](std::span<const std::byte> block) -> Status {
                     CUCKOO_TRY(expect_room(kBlockLengthBytes + block.size()));
                     const size_t at = bytes_.size();
                     bytes_.resize(at + kBlockLengthBytes);
                     store_le(&bytes_[at], static_cast<uint32_t>(block.size()));
                     bytes_.insert(bytes_.end(), block.begin(), block.end());
                     return {};
                   });
}

Status MessageWriter::add(const Piece& piece) {
  const Filter& filter = *piece.filter;
  PieceHeader header;
  header.prefix = piece.prefix;
  header.depth = piece.depth;
  header.capacity = piece.capacity;
  header.items = piece.items;
  header.occupied = filter.occupied();
  header.geometry = filter.words();
  header.overflow_cells = filter.overflow().cells();
  header.hash_count = header_.with_hashes ? piece.hashes.size() : 0;
  CUCKOO_ASSIGN_OR_RETURN(header.layout, cell_layout(filter));
  CUCKOO_TRY(as_invalid(check(piece, header)));
  hashless_bytes_ += header.bytes();
  CUCKOO_TRY(expect_room(header.bytes()));
  reserve(piece, header.bytes() + least_hash_bytes(header_.width, header.hash_count));
  const size_t begin = bytes_.size();
  bytes_.resize(begin + kPieceHeaderBytes);
  if (header.occupied > 0) {
    append_cells(filter, header.layout, bytes_);
  }
  append_overflow(filter.overflow(), bytes_);
  const size_t hashes_at = bytes_.size();
  CUCKOO_TRY(as_invalid(prefixes_.pass(piece.prefix, piece.depth)));
  if (header_.with_hashes) {
    CUCKOO_TRY(add_hashes(piece));
  }
  header.hash_bytes = bytes_.size() - hashes_at;
  put_piece_header(header, &bytes_[begin]);
  const uint32_t crc = crc32c(std::span(bytes_).subspan(begin));
  const size_t crc_at = bytes_.size();
  bytes_.resize(crc_at + kImageCrcBytes);
  store_le(&bytes_[crc_at], crc);
  crcs_.insert(crcs_.end(), bytes_.end() - kImageCrcBytes, bytes_.end());
  ++header_.pieces;
  header_.hash_count += header.hash_count;
  items_ += piece.items;
  bits_ += header.layout.units * header.layout.unit_bits;
  return items_ <= kMaxImageItems ? expect_room(0) : invalid("image of more than 2^62 items");
}

// A reader refuses an image of less than half a bit a key. So the capacity is lowered. A tiny
// filter has so few bits if it should have grown but did not, because it counted more items than it
// has hashes.
MessageFrame MessageWriter::frame() {
  if (!header_.from) {
    header_.capacity = std::min(header_.capacity, 2 * bits_);
    header_.items = is_multiset(header_.spec.kind) ? items_ : header_.items;
  }
  MessageFrame frame;
  frame.bytes = length() + kImageCrcBytes;
  frame.header = encode_message_header(header_, frame.bytes);
  frame.crc.resize(kImageCrcBytes);
  store_le(frame.crc.data(), crc32c(crcs_, crc32c(frame.header)));
  return frame;
}

std::vector<std::byte> MessageWriter::finish() {
  const MessageFrame frame = this->frame();
  std::copy(frame.header.begin(), frame.header.end(), bytes_.begin());
  bytes_.insert(bytes_.end(), frame.crc.begin(), frame.crc.end());
  return std::move(bytes_);
}

std::vector<std::byte> MessageWriter::take_pieces() {
  taken_ += bytes_.size();
  return std::exchange(bytes_, {});
}

Result<std::vector<std::byte>> encode_image(MessageHeader header, const PieceSource& pieces,
                                            uint64_t limit, std::span<const std::byte> entries) {
  MessageWriter writer(header, limit, entries);
  CUCKOO_TRY(writer.begin());
  CUCKOO_TRY(pieces ? pieces([&writer](Piece&& piece) { return writer.add(piece); }) : Status());
  return writer.complete()
             ? Result<std::vector<std::byte>>(writer.finish())
             : Result<std::vector<std::byte>>(invalid("image of pieces that leave out a prefix"));
}

Status expect_image_fits(uint64_t bytes, uint64_t limit) {
  return bytes <= limit ? Status() : too_long("at least " + grouped(bytes), limit, kShorter);
}

Status check_image_bytes(const FilterSpec& spec, HashWidth width, uint64_t capacity, bool growth,
                         uint64_t hash_count, uint64_t limit) {
  FilterOptions options;
  options.spec = spec;
  options.width = width;
  options.capacity = capacity;
  options.growth = growth;
  options.page_bytes = kImagePageBytes;
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t bytes, image_bytes(options));
  if (bytes > limit) {
    return too_long(grouped(bytes), limit, kShorter);
  }
  if (const uint64_t hash_bytes = least_hash_bytes(width, hash_count); hash_bytes > limit - bytes) {
    return too_long(grouped(bytes + hash_bytes), limit,
                    "without its hashes it has " + grouped(bytes));
  }
  return {};
}

Result<uint64_t> image_bytes(const FilterOptions& options) {
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, segment_limits(options));
  CUCKOO_ASSIGN_OR_RETURN(const FilterSize size,
                          filter_size(options.generation_spec(), limits.share, options.page_bytes));
  CUCKOO_ASSIGN_OR_RETURN(const CellLayout layout, cell_layout(options.spec.kind, size.words));
  const uint64_t piece = kLeastPieceBytes + layout.total_bytes(kImagePageBytes);
  return kMessageHeaderBytes + (piece << limits.depth) + kImageCrcBytes;
}

}  // namespace cuckoo::segments
