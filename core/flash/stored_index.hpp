// The index of a checkpoint on the device. It is searched there, so that the first look-up reads a
// few pages and not the whole index.
//
// Layout
//   Entries ascend by (hash, position) and are cut into pieces, each in an erase block of its own.
//   The last entries, which fill no piece, are in the checkpoint itself (checkpoint.hpp). It also
//   has the table of the pieces: where each is, and the hash that it begins with.
//
// Invariants
//   I1  a piece is verified whenever it is read: it is the one that the checkpoint wrote, its
//       entries ascend, and each is at a place where the device can have a record. Only a read of
//       the record shows whether it is there.
//   I2  a stored index never changes. FlashIndex has the later changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/device.hpp"

namespace cuckoo::core {

using FlashIndexEntry = std::pair<uint32_t, uint32_t>;  // (position, hash)
using FlashIndexEntries = std::vector<FlashIndexEntry>;

struct FlashIndexPiece {
  uint32_t block = 0;
  uint32_t first_hash = 0;
  uint32_t entries = 0;  // 1 or more

  friend bool operator==(const FlashIndexPiece&, const FlashIndexPiece&) = default;
};

// Sorts by ascending position, and by digits, because a checkpoint of a million entries spent most
// of its time in std::sort.
void sort_by_position(FlashIndexEntries& entries);
// Sorts entries that ascend by position by ascending (hash, position).
void sort_by_hash(FlashIndexEntries& entries);

// Appends as many entries as fit `most_bytes`. Each takes two varints: the difference of its hash
// to the one before (0 before the first), and its position. Returns how many it appended.
size_t encode_flash_index(std::span<const FlashIndexEntry> entries, size_t most_bytes,
                          std::vector<std::byte>& out);
// Appends that many entries to `out`. Returns the bytes that they took. kCorrupt: the bytes are no
// such entries of a device with this geometry.
Result<size_t> decode_flash_index(std::span<const std::byte> bytes, uint64_t count,
                                  const FlashGeometry& geometry, FlashIndexEntries& out);

class StoredIndex {
 public:
  // Reads the value of a piece, verified to be the checkpoint's.
  using Read = std::function<Status(size_t piece, std::vector<std::byte>& value)>;

  // `rest` has the entries that are in no piece, because they come after the last one.
  StoredIndex(const FlashGeometry& geometry, std::vector<FlashIndexPiece> pieces,
              FlashIndexEntries rest, Read read);

  uint64_t size() const noexcept { return size_; }
  uint64_t searches() const noexcept { return searches_; }  // calls of find()
  // Appends the positions with that hash. Reads a piece, seldom two, and none if it is the one that
  // was read last.
  Status find(uint32_t hash, std::vector<uint32_t>& positions);
  // Returns all entries by position. kCorrupt also if a position is there twice.
  Result<FlashIndexEntries> all();
  size_t memory_bytes() const noexcept;

 private:
  static constexpr size_t kNoPiece = SIZE_MAX;

  // Reads a piece into piece_, if it is not there.
  Status read(size_t piece);

  FlashGeometry geometry_;
  std::vector<FlashIndexPiece> pieces_;
  FlashIndexEntries rest_;
  Read read_;
  uint64_t size_;
  std::vector<std::byte> value_;
  FlashIndexEntries piece_;
  size_t number_ = kNoPiece;  // of piece_
  uint64_t searches_ = 0;
};

}  // namespace cuckoo::core
