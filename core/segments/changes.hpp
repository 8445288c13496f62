// What was added to a filter and removed from it between two of its marks, as one BLOB: for copies
// of it that have the first mark and are to have the second.
//
// A copy without hashes can't make a segment anew when that is full. So the segments that the
// filter made anew since the first mark come with the changes, as they are now.
//
// Layout (little-endian; FORMAT.md, "Changes")
//   changes = header stream image CRC     CRC-32C of all before it
//   header  = 128 bytes: whose they are, how many, the final items, the image's length, the shape,
//             both marks
//   stream  = ascending hashes as deltas (core/stored/rice.hpp), each with how often it was added,
//             or removed; twice, if it was removed and then added
//   image   = the segments that were made anew (core/segments/image.hpp), if there are any
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
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/image.hpp"
#include "core/segments/log.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/stored/key_form.hpp"

namespace cuckoo::segments {

// About so many bits a changed hash takes. An image takes those of its cells.
inline constexpr uint64_t kBitsOfChange = 40;

// (hash, how often it was added; removed below zero; not 0). A hash may be removed first and added
// later. Then it has two entries, the removes first (core/segments/hash_sum.hpp).
using ChangedHash = std::pair<uint64_t, int64_t>;
inline uint64_t removals_of(const ChangedHash& one) noexcept {
  return one.second < 0 ? 0 - static_cast<uint64_t>(one.second) : 0;
}
inline uint64_t additions_of(const ChangedHash& one) noexcept {
  return one.second > 0 ? static_cast<uint64_t>(one.second) : 0;
}

struct FilterChanges {
  FilterMark from;
  FilterMark to;
  uint64_t items = 0;  // of the filter in the end
  // What was hashed, as in an image's header.
  KeyForm keys;
  uint64_t key_types = 0;
  LargeVector<ChangedHash> hashes;  // ascending; of a set each once, added
  // The segments that were made anew, without hashes, ascending by prefix. Null: none was.
  PieceSource pieces;
  PieceRange range;  // of them, where the filter is a stored one
  // The sum of shape_of() over all segments that the filter has then.
  uint64_t shape = 0;
  bool shape_lacks_pieces = false;  // encode_changes() adds theirs: it sees them
  // Of the filter, for those.
  FilterSpec spec;
  uint64_t capacity = 1;
};

// Stands for a segment's prefix and geometry. A copy without hashes whose segments have another sum
// has another geometry than the filter that it follows, and gets too full when that one grows.
uint64_t shape_of(uint64_t prefix, unsigned depth, const GeometryWords& words) noexcept;

// At most `limit` bytes, else kInvalid.
Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit);
// Its pieces are read and verified when they are asked for: the bytes must stay until then. The
// pieces get pages of `page_bytes`.
Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll = nullptr);
// Everything that can be said without reading beyond the header; `front` are the first bytes of
// changes that have `size`. Neither hashes nor pieces.
Result<FilterChanges> decode_changes_header(std::span<const std::byte> front, uint64_t size);
// Does it start like some? Of any version.
bool looks_like_changes(std::span<const std::byte> bytes) noexcept;

// Parts of encode_changes(): header and stream; what the header says of the image after them; the
// header of that image; and its pieces, which add what the shape lacks of them when they are asked
// for once.
std::vector<std::byte> encode_changes_front(const FilterChanges& changes);
void finish_changes_front(std::span<std::byte> front, uint64_t image_bytes, uint64_t shape);
ImageHeader header_of_pieces(const FilterChanges& changes);
PieceSource pieces_for_shape(const FilterChanges& changes, uint64_t& shape);

// What log entries come to, as FilterChanges::hashes has it. In a set each hash counts once.
LargeVector<ChangedHash> net_changes(const LogEntries& entries, bool multiset);

}  // namespace cuckoo::segments
