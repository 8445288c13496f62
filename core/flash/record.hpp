// The bytes of the flash log: block headers, records, marks. Pure functions over bytes.
//
// Block (units of the device's program unit)
//   unit 0   erase header, programmed right after a verified erase
//            0 1 0xE5 · 1 1 format version · 2 2 zero · 4 4 erase count · 8 4 zero · 12 4 CRC
//   unit 1   open header, programmed when a stream takes the block
//            0 1 purpose · 1 7 sequence · 8 4 next block of this stream, FFFFFFFF: none · 12 4 CRC
//   unit 2 … records and marks, one after the other, each starting at a unit
//
// Record: whole units. A mount reads only the bytes before the value, so these have a CRC of their
// own. The other CRC is in the last 4 bytes, because their unit is programmed last.
//   0   1  type
//   1   2  key bytes K (a part has none)
//   3   3  value bytes V in this record
//   6   6  LSN
//   12  4  first word    their meaning follows from the type: the table below
//   16  4  second word
//   20  4  head only: bytes of the whole value
//   …   K bytes of the key, 4 of the head's CRC, V of the value, then FF up to the CRC
// A drop names the parts of a value that the next record replaces or removes. Its value: the LSN of
// that value (6) ‖ the offset of the first of them (4) ‖ their positions (4 each), consecutive
// parts.
// Mark: one unit, 16 bytes of it: 0 1 type · 1 1 zero · 2 6 LSN · 8 4 first word · 12 4 CRC.
//
//   type                  LSN            first word               second word
//   put, head, tombstone  its own        replaced(), 0: none      replaced_value_bytes()
//   part                  its value's    0                        offset()
//   copies of these in    as before      copied_from()            part: offset(), others: 0
//     the cold stream
//   drop                  the next's     0                        replaced_value_bytes()
//   checkpoint            checkpoint()   block_before()           piece()
//   index                 checkpoint()   kNoBlock                 piece()
//   collect (mark)        the next one   victim()
//   collected (mark)      the next one   copies()
//   anchor (mark)         checkpoint()   last_block()
//
// The CRC is CRC-32C of the block's sequence (8) ‖ the offset in the block in units (4) ‖ the
// bytes before it. So a record of an earlier use of the block is never taken for a new one. In
// erase headers and open headers it is the CRC-32C of the block's number (4) ‖ the bytes before it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"

namespace cuckoo::core {

inline constexpr uint8_t kFlashFormatVersion = 2;
inline constexpr uint32_t kFlashHeaderUnits = 2;  // of a block
inline constexpr size_t kFlashMarkBytes = 16;
inline constexpr uint32_t kNoBlock = 0xFFFFFFFF;
inline constexpr uint64_t kMaxLsn = (uint64_t{1} << 48) - 2;

enum class FlashRecordType : uint8_t {
  kNone = 0,
  kPut = 1,         // key and value
  kHead = 2,        // key, length and beginning of a value that goes on in parts
  kPart = 3,        // more of the value of the same LSN
  kTombstone = 4,   // key
  kCheckpoint = 5,  // a piece of a checkpoint
  kDrop = 6,        // the parts of the value that the next record of this LSN replaces or removes
  kIndex = 7,       // a piece of a checkpoint's index
  kCollect = 8,     // mark: a collection begins
  kCollected = 9,   // mark: a collection is complete
  kAnchor = 10,     // mark: points to a checkpoint
};
inline constexpr uint8_t kLastOfBatch = 0x80;  // or-ed to the type

enum class FlashPurpose : uint8_t { kHot = 1, kCold = 2, kCheckpoint = 3, kAnchor = 4 };

class FlashRecordHeader {
 public:
  FlashRecordHeader() = default;
  static FlashRecordHeader part(uint64_t lsn, uint32_t offset, uint32_t value_bytes) noexcept {
    FlashRecordHeader header(FlashRecordType::kPart, lsn, 0, offset);
    header.value_bytes = value_bytes;
    return header;
  }
  // Returns the header of a drop, for parts of a value of `replaced_value_bytes` bytes.
  static FlashRecordHeader drop(uint64_t lsn, uint32_t replaced_value_bytes,
                                uint32_t value_bytes) noexcept {
    FlashRecordHeader header(FlashRecordType::kDrop, lsn, 0, replaced_value_bytes);
    header.value_bytes = value_bytes;
    return header;
  }
  static FlashRecordHeader checkpoint_piece(uint64_t checkpoint, uint32_t piece,
                                            uint32_t block_before) noexcept {
    return {FlashRecordType::kCheckpoint, checkpoint, block_before, piece};
  }
  static FlashRecordHeader index_piece(uint64_t checkpoint, uint32_t piece) noexcept {
    return {FlashRecordType::kIndex, checkpoint, kNoBlock, piece};
  }
  static FlashRecordHeader collect(uint64_t next_lsn, uint32_t victim) noexcept {
    return {FlashRecordType::kCollect, next_lsn, victim, 0};
  }
  static FlashRecordHeader collected(uint64_t next_lsn, uint32_t copies) noexcept {
    return {FlashRecordType::kCollected, next_lsn, copies, 0};
  }
  static FlashRecordHeader anchor(uint64_t checkpoint, uint32_t last_block) noexcept {
    return {FlashRecordType::kAnchor, checkpoint, last_block, 0};
  }

  FlashRecordType type = FlashRecordType::kNone;
  bool last_of_batch = false;
  uint16_t key_bytes = 0;
  uint32_t value_bytes = 0;  // in this record
  uint64_t lsn = 0;
  uint32_t total_value_bytes = 0;  // of the whole value

  // Names the entry that a put, head or tombstone replaces or removes.
  void set_replaced(uint32_t position, uint32_t value_bytes) noexcept {
    first_word_ = position;
    second_word_ = value_bytes;
  }
  // Makes it the header of a copy. A copy replaces its original, no older version of the key.
  void set_copied_from(uint32_t position) noexcept {
    first_word_ = position;
    second_word_ = type == FlashRecordType::kPart ? second_word_ : 0;
  }
  // The position of the entry that this record replaces or removes; 0: none. Hot records only.
  uint32_t replaced() const noexcept {
    assert(is_entry() || type == FlashRecordType::kTombstone);
    return first_word_;
  }
  // The bytes of that entry's whole value. A drop has them, too.
  uint32_t replaced_value_bytes() const noexcept {
    assert(is_entry() || type == FlashRecordType::kTombstone || type == FlashRecordType::kDrop);
    return second_word_;
  }
  // The position of the original. Cold records only.
  uint32_t copied_from() const noexcept {
    assert(is_entry() || type == FlashRecordType::kPart);
    return first_word_;
  }
  // Where in its value a part begins.
  uint32_t offset() const noexcept {
    assert(type == FlashRecordType::kPart);
    return second_word_;
  }
  // The number of the checkpoint that a piece belongs to, or that an anchor points to.
  uint64_t checkpoint() const noexcept {
    assert(is_piece() || type == FlashRecordType::kAnchor);
    return lsn;
  }
  // Which piece of the checkpoint, or of its index, it is: 0, 1, 2 …
  uint32_t piece() const noexcept {
    assert(is_piece());
    return second_word_;
  }
  // The block of the checkpoint's piece before this one; kNoBlock: it is the first.
  uint32_t block_before() const noexcept {
    assert(type == FlashRecordType::kCheckpoint);
    return first_word_;
  }
  uint32_t victim() const noexcept {
    assert(type == FlashRecordType::kCollect);
    return first_word_;
  }
  uint32_t copies() const noexcept {
    assert(type == FlashRecordType::kCollected);
    return first_word_;
  }
  uint32_t last_block() const noexcept {
    assert(type == FlashRecordType::kAnchor);
    return first_word_;
  }

  friend bool operator==(const FlashRecordHeader&, const FlashRecordHeader&) = default;
  bool is_mark() const noexcept { return type >= FlashRecordType::kCollect; }
  bool is_entry() const noexcept {
    return type == FlashRecordType::kPut || type == FlashRecordType::kHead;
  }
  bool is_part_of(uint64_t value_lsn, uint32_t value_offset) const noexcept {
    return type == FlashRecordType::kPart && lsn == value_lsn && offset() == value_offset;
  }
  bool is_piece() const noexcept {
    return type == FlashRecordType::kCheckpoint || type == FlashRecordType::kIndex;
  }
  // Before the key: 16 (mark), 20 or 24.
  size_t header_bytes() const noexcept {
    return is_mark() ? kFlashMarkBytes : type == FlashRecordType::kHead ? 24 : 20;
  }
  // Header, key and their CRC: the value begins there.
  size_t head_bytes() const noexcept {
    return is_mark() ? kFlashMarkBytes : header_bytes() + key_bytes + 4;
  }
  // Without the padding to whole units.
  size_t content_bytes() const noexcept {
    return is_mark() ? kFlashMarkBytes : head_bytes() + value_bytes + 4;
  }
  uint32_t units(uint32_t unit_bytes) const noexcept {
    return static_cast<uint32_t>((content_bytes() + unit_bytes - 1) / unit_bytes);
  }

 private:
  friend void encode_flash_record(const FlashRecordHeader& header, std::span<const std::byte> key,
                                  std::span<const std::byte> value, uint32_t unit_bytes,
                                  uint64_t sequence, uint32_t offset_units,
                                  std::vector<std::byte>& out);
  friend std::optional<FlashRecordHeader> decode_flash_record_header(
      std::span<const std::byte> bytes, uint64_t sequence, uint32_t offset_units);

  FlashRecordHeader(FlashRecordType type, uint64_t lsn, uint32_t first_word,
                    uint32_t second_word) noexcept
      : type(type), lsn(lsn), first_word_(first_word), second_word_(second_word) {}

  uint32_t first_word_ = 0;
  uint32_t second_word_ = 0;
};

inline constexpr size_t kMaxFlashRecordHeaderBytes = 24;
inline constexpr size_t kFlashRecordFixedBytes = 28;  // header and CRCs of all but heads
inline constexpr size_t kFlashHeadFixedBytes = 32;    // header and CRCs of a head

// Encodes a whole record, padded to units. key and value have the header's lengths.
void encode_flash_record(const FlashRecordHeader& header, std::span<const std::byte> key,
                         std::span<const std::byte> value, uint32_t unit_bytes, uint64_t sequence,
                         uint32_t offset_units, std::vector<std::byte>& out);

// Returns the header alone; nullopt: these bytes begin no record (erased, torn, of an unknown
// type). `bytes`: kMaxFlashRecordHeaderBytes, or fewer at the end of the block. Verifies a mark's
// CRC, but not a record's.
std::optional<FlashRecordHeader> decode_flash_record_header(std::span<const std::byte> bytes,
                                                            uint64_t sequence,
                                                            uint32_t offset_units);
// Returns whether the CRC in the last 4 bytes holds, for a whole record or its first head_bytes().
bool verify_flash_record(std::span<const std::byte> record, uint64_t sequence,
                         uint32_t offset_units);

// Returns whether a whole record's CRC holds, and encode_flash_record() would make the same bytes
// of its header, key and value. So all bytes without a meaning before its last CRC are FF.
bool verify_whole_flash_record(const FlashRecordHeader& header, std::span<const std::byte> record,
                               uint64_t sequence, uint32_t offset_units);

inline constexpr size_t kFlashDropHeaderBytes = 10;  // before the positions

// Return a record's key and value, as views of its bytes.
inline std::span<const std::byte> key_in(const FlashRecordHeader& header,
                                         std::span<const std::byte> record) {
  return record.subspan(header.header_bytes(), header.key_bytes);
}
inline std::span<const std::byte> value_in(const FlashRecordHeader& header,
                                           std::span<const std::byte> record) {
  return record.subspan(header.head_bytes(), header.value_bytes);
}

// How a key and a value are cut into records: a pure function of their lengths.
struct FlashPieces {
  FlashPieces(uint32_t piece_units, uint32_t unit_bytes) noexcept
      : piece_bytes(piece_units * unit_bytes), unit_bytes(unit_bytes) {}

  uint32_t piece_bytes;
  uint32_t unit_bytes;

  bool single(uint64_t key_bytes, uint64_t value_bytes) const noexcept {
    return value_bytes == 0 || kFlashRecordFixedBytes + key_bytes + value_bytes <= piece_bytes;
  }
  // Value bytes in the put or head.
  uint32_t first_bytes(uint64_t key_bytes, uint64_t value_bytes) const noexcept;
  uint32_t part_bytes() const noexcept {  // all but the last
    return piece_bytes - static_cast<uint32_t>(kFlashRecordFixedBytes);
  }
  uint64_t parts(uint64_t key_bytes, uint64_t value_bytes) const noexcept;
  uint32_t units(uint64_t content_bytes) const noexcept {
    return static_cast<uint32_t>((content_bytes + unit_bytes - 1) / unit_bytes);
  }
  uint32_t first_units(uint64_t key_bytes, uint64_t value_bytes) const noexcept;
  uint32_t part_units(uint64_t bytes) const noexcept {
    return units(kFlashRecordFixedBytes + bytes);
  }
  uint32_t positions_per_drop() const noexcept {
    return (part_bytes() - static_cast<uint32_t>(kFlashDropHeaderBytes)) / 4;
  }
  uint64_t drops(uint64_t parts) const noexcept {
    return (parts + positions_per_drop() - 1) / positions_per_drop();
  }
  uint64_t drop_units(uint64_t parts) const noexcept;  // of all of them
};

struct FlashOpenHeader {
  FlashPurpose purpose = FlashPurpose::kHot;
  uint64_t sequence = 0;
  uint32_t next = kNoBlock;
};

bool is_erased(std::span<const std::byte> bytes) noexcept;

void encode_erase_header(uint32_t block, uint32_t erase_count, std::span<std::byte> unit);
std::optional<uint32_t> decode_erase_header(uint32_t block, std::span<const std::byte> unit);
void encode_open_header(uint32_t block, const FlashOpenHeader& header, std::span<std::byte> unit);
std::optional<FlashOpenHeader> decode_open_header(uint32_t block, std::span<const std::byte> unit);

}  // namespace cuckoo::core
