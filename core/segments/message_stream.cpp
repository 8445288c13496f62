#include "core/segments/message_stream.hpp"

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

uint64_t id_of(std::span<const std::byte> front) noexcept {
  constexpr uint64_t kSeed = 0x54504B43;
  return XXH3_64bits_withSeed(front.data(), front.size(), kSeed);
}

}  // namespace

// Encodes all pieces once, because the headers count their bytes.
Status MessageStream::measure(const ImageHeader& header, const PieceSource& pieces) {
  ImageWriter writer = ImageWriter::of_pieces(header, kMostMessageBytes);
  CUCKOO_TRY(pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(writer.add(piece));
    writer.take_pieces();
    return {};
  }));
  if (!writer.complete()) {
    return invalid("image of pieces that leave out a prefix");
  }
  frame_ = writer.frame();
  writer_ = ImageWriter::of_pieces(header, kMostMessageBytes);
  pieces_done_ = false;
  return {};
}

Result<MessageStream> MessageStream::of_image(const ImageHeader& header, const Contents& contents) {
  MessageStream stream;
  CUCKOO_TRY(stream.measure(header, contents.pieces));
  stream.range_ = contents.range;
  stream.bytes_ = stream.frame_.bytes;
  stream.id_ = id_of(stream.frame_.header);
  stream.append(stream.frame_.header);
  return stream;
}

Result<MessageStream> MessageStream::of_changes(FilterChanges changes) {
  MessageStream stream;
  std::vector<std::byte> front = encode_changes_front(changes);
  changes.entries = {};
  if (changes.pieces) {
    CUCKOO_TRY(stream.measure(header_of_pieces(changes), changes.pieces));
    stream.range_ = changes.range;
  }
  put_image_bytes(front, stream.frame_.bytes);
  stream.bytes_ = front.size() + stream.frame_.bytes + kCrcBytes;
  stream.id_ = id_of(front);
  stream.crc_ = 0;
  stream.append(front);
  stream.append(stream.frame_.header);
  return stream;
}

MessageStream MessageStream::of_bytes(std::vector<std::byte> message) {
  MessageStream stream;
  stream.bytes_ = message.size();
  stream.id_ = id_of(message);
  stream.whole_ = std::move(message);
  return stream;
}

void MessageStream::append(std::span<const std::byte> bytes) {
  if (crc_) {
    crc_ = crc32c(bytes, *crc_);
  }
  made_ += bytes.size();
  ready_.insert(ready_.end(), bytes.begin(), bytes.end());
}

// Writes pieces until `enough` bytes are ready.
Status MessageStream::write_pieces(uint64_t enough) {
  bool last = true;
  CUCKOO_TRY(range_(
      next_prefix_,
      [&](Piece&& piece) -> Status {
        CUCKOO_TRY(writer_->add(piece));
        append(writer_->take_pieces());
        next_prefix_ = piece.depth == 0 ? 0 : piece.prefix + (uint64_t{1} << (64 - piece.depth));
        last = next_prefix_ == 0;
        return {};
      },
      [&] { return ready_.size() >= enough; }));
  pieces_done_ = last;
  return {};
}

// Appends the bytes after the pieces, when all pieces are made.
void MessageStream::append_end() {
  if (writer_) {
    append(frame_.crc);
  }
  if (crc_) {
    std::byte crc[kCrcBytes];
    store_le(&crc[0], *crc_);
    append(crc);
  }
}

Result<std::vector<std::byte>> MessageStream::next(uint64_t length) {
  const bool last = length >= bytes_ - handed_;
  length = std::min(length, bytes_ - handed_);
  if (!whole_.empty()) {
    const auto from = whole_.begin() + static_cast<ptrdiff_t>(handed_);
    handed_ += length;
    return std::vector<std::byte>(from, from + static_cast<ptrdiff_t>(length));
  }
  while (!pieces_done_ && (last ? made_ <= bytes_ : ready_.size() < length)) {
    CUCKOO_TRY(write_pieces(last ? ready_.size() + 1 : length));
  }
  if (pieces_done_ && !ended_ && (last || ready_.size() < length)) {
    ended_ = true;
    append_end();
  }
  const bool as_counted = made_ == bytes_ && (!writer_ || writer_->frame() == frame_);
  if (made_ > bytes_ || ready_.size() < length || (last && !as_counted)) {  // I2
    return invalid("the filter changed while its message was made; ask for it again");
  }
  const auto taken = static_cast<ptrdiff_t>(length);
  std::vector<std::byte> rest(ready_.begin() + taken, ready_.end());
  ready_.resize(static_cast<size_t>(length));
  handed_ += length;
  return std::exchange(ready_, std::move(rest));
}

}  // namespace cuckoo::segments
