// What was added to a filter and removed from it between two of its marks, as one BLOB: for copies
// of it that have the first mark and are to have the second.
//
// Layout (little-endian; FORMAT.md, "Changes")
//   changes = header stream CRC           CRC-32C of all before it
//   header  = 104 bytes: whose they are, how many, the final items, both marks
//   stream  = ascending hashes as deltas (core/stored/rice.hpp), each with how often it was added,
//             or removed, net
//
// Invariants
//   I1  equal changes have equal bytes: decode then encode gives them back.
//   I2  nothing is believed: every field and the whole stream are checked before any of it is used.
//   I3  no allocation is larger than what the BLOB's length justifies: 16 bytes for three bits.
//
// Size: with n changed keys of 47-bit hashes, log2(2^47 / n) + 1.6 bits each for the hash, 1 for
// most and 2 for the others' sign: 5 bytes at n = 1000, 4.5 at 10,000.
//
// Errors: kCorrupt for bytes that are no changes; the text says what was wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/segments/mark.hpp"

namespace cuckoo::segments {

// (hash, how often it was added; removed below zero; not 0)
using ChangedHash = std::pair<uint64_t, int64_t>;

struct FilterChanges {
  FilterMark from;
  FilterMark to;
  uint64_t items = 0;  // of the filter in the end
  // What was hashed, as in an image's header.
  uint8_t key_affinity = 0;
  uint8_t collation = 0;
  uint8_t key_types = 0;
  LargeVector<ChangedHash> hashes;  // ascending; of a set added once
};

std::vector<std::byte> encode_changes(const FilterChanges& changes);
Result<FilterChanges> decode_changes(std::span<const std::byte> bytes);
// Does it start like some? Of any version.
bool looks_like_changes(std::span<const std::byte> bytes) noexcept;

// The net changes of log entries, which are taken. In a set each hash counts once.
LargeVector<ChangedHash> net_changes(LargeVector<uint64_t> entries, HashWidth width, bool multiset);

}  // namespace cuckoo::segments
