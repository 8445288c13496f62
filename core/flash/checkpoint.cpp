#include "core/flash/checkpoint.hpp"

#include <string>

namespace cuckoo::core {
namespace {

constexpr uint8_t kFailing = 16;

class Writer {
 public:
  void byte(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) {
      byte(static_cast<uint8_t>(value) | 128);
    }
    byte(static_cast<uint8_t>(value));
  }
  template <class Unsigned>
  void fixed(Unsigned value) {
    bytes_.resize(bytes_.size() + sizeof value);
    store_le(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void difference(uint64_t value, uint64_t before) {
    const auto difference = static_cast<int64_t>(value - before);
    varint(static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63));
  }
  void stream(const FlashStream& stream) {
    varint((uint64_t{stream.block} + 1) & 0xFFFFFFFF);
    varint(stream.offset);
    varint((uint64_t{stream.next} + 1) & 0xFFFFFFFF);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }

 private:
  std::vector<std::byte> bytes_;
};

// Gives zeros after the end of the bytes. good() is false from then on, and also after a number
// that Writer would have written in other bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (at_ == bytes_.size()) {
      short_ = true;
      return 0;
    }
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  uint64_t varint() {
    if (at_ < bytes_.size() && static_cast<uint8_t>(bytes_[at_]) < 128) [[likely]] {
      return static_cast<uint64_t>(bytes_[at_++]);
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= static_cast<uint64_t>(next & 127) << shift;
      if (next < 128) {  // as Writer writes it: no byte too many, no bit beyond the 64
        short_ = short_ || (next == 0 && shift > 0) || (shift == 63 && next > 1);
        return value;
      }
    }
    short_ = true;
    return 0;
  }
  // Reads a number of at most `limit`; a larger one means that the bytes are wrong.
  uint64_t varint(uint64_t limit) {
    const uint64_t value = varint();
    short_ = short_ || value > limit;
    return short_ ? 0 : value;
  }
  // Reads a number of at most `limit`, which is stored as a difference.
  uint64_t differing(uint64_t before, uint64_t limit) {
    const uint64_t read = varint();
    const uint64_t value = before + (read >> 1 ^ (0 - (read & 1)));
    short_ = short_ || value > limit;
    return short_ ? 0 : value;
  }
  template <class Unsigned>
  Unsigned fixed() {
    if (bytes_.size() - at_ < sizeof(Unsigned)) {
      short_ = true;
      return 0;
    }
    const auto value = load_le<Unsigned>(&bytes_[at_]);
    at_ += sizeof(Unsigned);
    return value;
  }
  FlashStream stream(const FlashGeometry& geometry) {
    FlashStream stream;
    stream.block = static_cast<uint32_t>(varint(geometry.blocks)) - 1;
    stream.offset = static_cast<uint32_t>(varint(geometry.units_per_block()));
    stream.next = static_cast<uint32_t>(varint(geometry.blocks)) - 1;
    return stream;
  }
  bool good() const { return !short_; }
  std::span<const std::byte> rest() const { return bytes_.subspan(at_); }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool short_ = false;
};

// Checks that each piece is in a block of the checkpoint, and has no more than a block holds.
Status decode_pieces(Reader& in, const FlashGeometry& geometry, FlashCheckpoint& out) {
  constexpr uint32_t kLeastEntryBytes = 2;
  const Error broken = corrupt("the checkpoint's table of pieces is broken");
  const uint64_t pieces = in.varint(geometry.blocks);
  if (!in.good() || pieces > in.rest().size()) {
    return broken;
  }
  out.pieces.reserve(pieces);
  for (uint64_t i = 0; i < pieces && in.good(); ++i) {
    FlashIndexPiece piece;
    piece.block = static_cast<uint32_t>(in.varint(geometry.blocks - 1));
    piece.first_hash = in.fixed<uint32_t>();
    piece.entries = static_cast<uint32_t>(in.varint(geometry.block_bytes() / kLeastEntryBytes));
    if (piece.entries == 0 || piece.block >= out.blocks.size() ||
        out.blocks[piece.block].kind != FlashBlockKind::kCheckpoint ||
        (i > 0 && piece.first_hash < out.pieces.back().first_hash)) {
      return broken;
    }
    out.pieces.push_back(piece);
  }
  return in.good() ? Status() : Status(broken);
}

}  // namespace

std::vector<std::byte> encode_flash_checkpoint(const FlashCheckpoint& checkpoint,
                                               const FlashGeometry& geometry) {
  Writer out;
  out.reserve(256 + checkpoint.blocks.size() * 16 + checkpoint.rest.size() * 8);
  out.byte(kFlashFormatVersion);
  out.varint(checkpoint.next_lsn);
  out.varint(checkpoint.heads);
  out.varint(checkpoint.charged_units);
  out.varint(checkpoint.next_sequence);
  out.fixed(checkpoint.state);
  out.stream(checkpoint.hot);
  out.stream(checkpoint.cold);
  out.varint(checkpoint.user_bytes);
  out.varint(checkpoint.programmed_bytes);
  out.varint(checkpoint.erases);
  out.varint(checkpoint.collections);
  out.varint(checkpoint.checkpoints);
  out.varint(checkpoint.blocks.size());
  FlashBlock block_before;
  for (const FlashBlock& block : checkpoint.blocks) {
    out.byte(static_cast<uint8_t>(block.kind) | (block.failing ? kFailing : 0));
    out.varint(block.erase_count);
    out.varint(geometry.units_per_block() - block.used_units);
    out.varint(block.used_units - block.live_units);
    out.difference(block.sequence, block_before.sequence);
    out.difference(block.newest_lsn, block_before.newest_lsn);
    block_before = block;
  }
  out.varint(checkpoint.pieces.size());
  for (const FlashIndexPiece& piece : checkpoint.pieces) {
    out.varint(piece.block);
    out.fixed(piece.first_hash);
    out.varint(piece.entries);
  }
  out.varint(checkpoint.rest.size());
  std::vector<std::byte> bytes = out.take();
  encode_flash_index(checkpoint.rest, SIZE_MAX, bytes);
  return bytes;
}

Result<FlashCheckpoint> decode_flash_checkpoint(std::span<const std::byte> bytes,
                                                const FlashGeometry& geometry) {
  Reader in(bytes);
  FlashCheckpoint out;
  const uint8_t version = in.byte();
  if (in.good() && version != kFlashFormatVersion) {
    return corrupt("the checkpoint has format version " + std::to_string(version) +
                   "; this library reads version " + std::to_string(kFlashFormatVersion));
  }
  out.next_lsn = in.varint(kMaxLsn);
  out.heads = in.varint(geometry.units());
  out.charged_units = in.varint(geometry.units() * 4);
  out.next_sequence = in.varint();
  out.state = in.fixed<uint64_t>();
  out.hot = in.stream(geometry);
  out.cold = in.stream(geometry);
  for (uint64_t* counter :
       {&out.user_bytes, &out.programmed_bytes, &out.erases, &out.collections, &out.checkpoints}) {
    *counter = in.varint();
  }
  const uint64_t blocks = in.varint(geometry.blocks);
  // Nothing is allocated for more than the bytes can hold.
  if (!in.good() || out.next_sequence == 0 || blocks > bytes.size()) {
    return corrupt("the checkpoint's head is broken");
  }
  out.blocks.reserve(blocks);
  FlashBlock block;
  for (uint64_t i = 0; i < blocks && in.good(); ++i) {
    const uint8_t kind = in.byte();
    block.kind = static_cast<FlashBlockKind>(kind & ~kFailing);
    block.failing = (kind & kFailing) != 0;
    block.erase_count = static_cast<uint32_t>(in.varint(0xFFFFFFFF));
    const uint32_t units = geometry.units_per_block();
    block.used_units = units - static_cast<uint32_t>(in.varint(units));
    block.live_units = block.used_units - static_cast<uint32_t>(in.varint(block.used_units));
    block.sequence = in.differing(block.sequence, out.next_sequence - 1);
    block.newest_lsn = in.differing(block.newest_lsn, kMaxLsn);
    if (!in.good() || (kind & ~kFailing) > static_cast<uint8_t>(FlashBlockKind::kBad)) {
      return corrupt("the checkpoint's state of erase block " + std::to_string(i) + " is broken");
    }
    out.blocks.push_back(block);
  }
  CUCKOO_TRY(decode_pieces(in, geometry, out));
  const uint64_t rest = in.varint(geometry.units());
  if (!in.good()) {
    return corrupt("the checkpoint's table of pieces is broken");
  }
  CUCKOO_ASSIGN_OR_RETURN(const size_t used,
                          decode_flash_index(in.rest(), rest, geometry, out.rest));
  if (used != in.rest().size() ||
      (rest > 0 && !out.pieces.empty() && out.rest.front().second < out.pieces.back().first_hash)) {
    return corrupt("the checkpoint's index is broken");
  }
  return out;
}

}  // namespace cuckoo::core
