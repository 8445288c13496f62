#include "core/flash/checkpoint.hpp"

#include <string>

namespace cuckoo {
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

// Reads on as zeros behind the end, and remembers that.
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
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= static_cast<uint64_t>(next & 127) << shift;
      if (next < 128) {
        return value;
      }
    }
    short_ = true;
    return 0;
  }
  // At most `limit`; otherwise the bytes are wrong.
  uint64_t varint(uint64_t limit) {
    const uint64_t value = varint();
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
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool short_ = false;
};

}  // namespace

std::vector<std::byte> encode_flash_checkpoint(const FlashCheckpoint& checkpoint) {
  Writer out;
  out.reserve(256 + checkpoint.blocks.size() * 16 + checkpoint.entries.size() * 6);
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
  for (const FlashBlock& block : checkpoint.blocks) {
    out.byte(static_cast<uint8_t>(block.kind) | (block.failing ? kFailing : 0));
    out.varint(block.erase_count);
    out.varint(block.used_units);
    out.varint(block.live_units);
    out.varint(block.sequence);
    out.varint(block.newest_lsn);
  }
  out.varint(checkpoint.entries.size());
  uint32_t before = 0;
  for (const auto& [position, hash] : checkpoint.entries) {
    out.varint(position - before);
    out.fixed(hash);
    before = position;
  }
  return out.take();
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
  if (!in.good() || blocks > bytes.size()) {
    return corrupt("the checkpoint's head is broken");
  }
  out.blocks.reserve(blocks);
  for (uint64_t i = 0; i < blocks && in.good(); ++i) {
    FlashBlock block;
    const uint8_t kind = in.byte();
    block.kind = static_cast<FlashBlockKind>(kind & ~kFailing);
    block.failing = (kind & kFailing) != 0;
    block.erase_count = static_cast<uint32_t>(in.varint(0xFFFFFFFF));
    block.used_units = static_cast<uint32_t>(in.varint(geometry.units_per_block()));
    block.live_units = static_cast<uint32_t>(in.varint(geometry.units_per_block()));
    block.sequence = in.varint();
    block.newest_lsn = in.varint(kMaxLsn);
    if ((kind & ~kFailing) > static_cast<uint8_t>(FlashBlockKind::kBad) ||
        block.sequence >= out.next_sequence) {
      return corrupt("the checkpoint's state of erase block " + std::to_string(i) + " is broken");
    }
    out.blocks.push_back(block);
  }
  const uint64_t entries = in.varint(geometry.units());
  if (!in.good() || entries > bytes.size()) {
    return corrupt("the checkpoint's table of erase blocks is broken");
  }
  out.entries.reserve(entries);
  uint64_t position = 0;
  for (uint64_t i = 0; i < entries && in.good(); ++i) {
    const uint64_t distance = in.varint(geometry.units() - 1 - position);
    position += distance;
    const auto hash = in.fixed<uint32_t>();
    if (distance == 0) {
      return corrupt("the checkpoint's index is out of order");
    }
    out.entries.emplace_back(static_cast<uint32_t>(position), hash);
  }
  if (!in.good() || !in.at_end()) {
    return corrupt("the checkpoint's index is broken");
  }
  return out;
}

}  // namespace cuckoo
