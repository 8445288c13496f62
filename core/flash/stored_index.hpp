// The index of a checkpoint as it lies on the device: searched where it is, so that a first look-up
// reads a few pages and not all of it.
//
// Layout
//   entries ascend by (hash, position) and are cut into pieces, each in an erase block of its own.
//   What is left over for the last piece is in the checkpoint itself (checkpoint.hpp), which also
//   has the table of the pieces: where each is and the hash it begins with.
//
// Invariants
//   I1  a piece is verified whenever it is read: it is the one that the checkpoint wrote, its
//       entries ascend, and each is at a place where the device can have a record. Whether the
//       record is there is seen when it is read.
//   I2  nothing of it changes: what came and went since is FlashIndex's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/device.hpp"

namespace cuckoo {

using FlashIndexEntry = std::pair<uint32_t, uint32_t>;  // (position, hash)
using FlashIndexEntries = std::vector<FlashIndexEntry>;

struct FlashIndexPiece {
  uint32_t block = 0;
  uint32_t first_hash = 0;
  uint32_t entries = 0;  // 1 or more

  friend bool operator==(const FlashIndexPiece&, const FlashIndexPiece&) = default;
};

// By ascending position, and by digits: a checkpoint of a million entries spent most of its time in
// std::sort.
void sort_by_position(FlashIndexEntries& entries);
// What ascends by position, by ascending (hash, position).
void sort_by_hash(FlashIndexEntries& entries);

// Appends as many entries as `most_bytes` hold: of each two varints, the hash less the one before
// it (0 before the first) and the position. Returns how many.
size_t encode_flash_index(std::span<const FlashIndexEntry> entries, size_t most_bytes,
                          std::vector<std::byte>& out);
// Appends that many to `out`. Returns the bytes they took; kCorrupt: they are no such entries of a
// device with this geometry.
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
  // Appends the positions with that hash. Reads a piece, seldom two.
  Status find(uint32_t hash, std::vector<uint32_t>& positions);
  // All of it, by position. kCorrupt also when a position is there twice.
  Result<FlashIndexEntries> all();
  size_t memory_bytes() const noexcept;

 private:
  // Into piece_.
  Status read(size_t piece);

  FlashGeometry geometry_;
  std::vector<FlashIndexPiece> pieces_;
  FlashIndexEntries rest_;
  Read read_;
  uint64_t size_;
  std::vector<std::byte> value_;
  FlashIndexEntries piece_;
};

}  // namespace cuckoo
