// The changes of a filter: its adds and removes between two of its marks, as one BLOB. They bring a
// copy that has the first mark to the second one.
//
// A copy without hashes can't make a segment anew when the segment is full. So the changes include
// the segments that the filter made anew since the first mark, as they are now.
//
// Layout (little-endian; FORMAT.md, "Changes")
//   changes = header stream image CRC     CRC-32C of all before it
//   header  = 128 bytes: the key domain, how many hashes, the final items, the image's length, the
//             shape, both marks
//   stream  = ascending hashes as deltas (core/stored/rice.hpp), each with how often it was added
//             or removed; a hash that was removed and then added comes twice
//   image   = the segments that were made anew (core/segments/image.hpp), if there are any
//
// Invariants
//   I1  equal changes have equal bytes: decode then encode gives them back.
//   I2  nothing is believed: every field and the whole stream are checked before any of it is used.
//   I3  no allocation is larger than the BLOB's length justifies: at most 16 bytes for each two
//       bits of the stream.
//
// Size: with n changed keys of 47-bit hashes, each takes log2(2^47 / n) + 1.6 bits for the hash,
// and 1 bit if it is of the more frequent kind (added or removed), 2 bits otherwise: 5 bytes for n
// of 1000, 4.5 for 10,000.
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

// About how many bits a changed hash takes. (An image takes the bits of all its cells.)
inline constexpr uint64_t kBitsOfChange = 40;

// (hash, net): how often the hash was added or, below zero, removed; not 0. A hash may be removed
// first and added later. Then it has two entries, the removes first (core/segments/hash_sum.hpp).
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
  uint64_t items = 0;  // of the filter at the second mark
  // The key domain, as in an image's header.
  KeyForm keys;
  uint64_t key_types = 0;
  LargeVector<ChangedHash> hashes;  // ascending; in a set each comes once, as an add
  // The segments that were made anew, without hashes, ascending by prefix. Null if there are none.
  PieceSource pieces;
  PieceRange range;  // of the pieces, if the filter is a stored one
  // The sum of shape_of() over all segments that the filter has at the second mark.
  uint64_t shape = 0;
  bool shape_lacks_pieces = false;  // then encode_changes() adds theirs, because it reads them
  // The filter's, for the image of the pieces.
  FilterSpec spec;
  uint64_t capacity = 1;
};

// Returns a hash of a segment's prefix and geometry. If the sum over the segments of a copy without
// hashes is not that of its origin, the copy has another geometry. Then it gets too full when the
// origin grows.
uint64_t shape_of(uint64_t prefix, unsigned depth, const GeometryWords& words) noexcept;

// Returns at most `limit` bytes, else kInvalid.
Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit);
// Decodes all except the pieces. These are read and verified when they are asked for, so the bytes
// must stay until then. The pieces get pages of `page_bytes`.
Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll = nullptr);
// Decodes the header alone. `front` are the first bytes of changes of `size` bytes. The result has
// neither hashes nor pieces.
Result<FilterChanges> decode_changes_header(std::span<const std::byte> front, uint64_t size);
// Returns whether the bytes begin like changes of any version.
bool looks_like_changes(std::span<const std::byte> bytes) noexcept;

// The steps of encode_changes(). The first one returns header and stream. The second one puts the
// length of the image after them, and the shape, into the header. The third one returns the header
// of that image. The fourth one returns its pieces: reading them once adds to `shape` what it lacks
// of them.
std::vector<std::byte> encode_changes_front(const FilterChanges& changes);
void finish_changes_front(std::span<std::byte> front, uint64_t image_bytes, uint64_t shape);
ImageHeader header_of_pieces(const FilterChanges& changes);
PieceSource pieces_for_shape(const FilterChanges& changes, uint64_t& shape);

// Sums log entries by hash, as FilterChanges::hashes has them. In a set each hash counts once.
LargeVector<ChangedHash> net_changes(const EntryList& entries, HashWidth width, bool multiset);

}  // namespace cuckoo::segments
