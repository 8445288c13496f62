// The changes of a filter: its adds and removes between two of its marks, as one BLOB. They bring a
// copy that has the first mark to the second one.
//
// The adds and removes are the entries of the log between the marks, in their order. The copy
// appends the same entries to its own log. So it has the second mark then, without being told.
//
// A copy without hashes can't make a segment anew when the segment is full. So the changes include
// the segments that the filter made anew since the first mark, as they are now.
//
// Layout (little-endian; FORMAT.md, "Changes")
//   changes = header entries counts image CRC     CRC-32C of all before it
//   header  = 128 bytes: the key domain, how many entries and counts, the final items, the image's
//             length, both marks
//   entries = as a row of the log has them (core/segments/log_row.hpp)
//   counts  = (index of an entry, occurrences) …  4 bytes each, ascending
//   image   = the segments that were made anew (core/segments/image.hpp), if there are any
//
// Invariants
//   I1  equal changes have equal bytes: decode then encode gives them back.
//   I2  nothing is believed: every field and all entries are checked before any of it is used.
//       The entries lead from the first mark's chain value to that of the second one.
//   I3  no allocation is larger than the BLOB's length justifies.
//
// Errors: kCorrupt for bytes that are no changes; the text says what was wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/image.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/stored/key_form.hpp"

namespace cuckoo::segments {

struct FilterChanges {
  FilterMark from;
  FilterMark to;
  bool unique = false;  // each hash is there once: a multiset with unique = on
  // The entries are not those of the log, but one for each hash of a filter that was empty at the
  // first mark, ascending.
  bool whole = false;
  uint64_t items = 0;  // of the filter at the second mark
  // The key domain, as in an image's header.
  KeyForm keys;
  uint64_t key_types = 0;
  EntryList entries;  // in a set each is an add of one
  // The segments that were made anew, without hashes, ascending by prefix. Null if there are none.
  PieceSource pieces;
  PieceRange range;  // of the pieces, if the filter is a stored one
  // The filter's, for the image of the pieces.
  FilterSpec spec;
  uint64_t capacity = 1;

  uint64_t entry_bits() const noexcept;  // that the entries take
};

// Returns at most `limit` bytes, else kInvalid.
Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit);
// Decodes all except the pieces. These are read and verified when they are asked for, so the bytes
// must stay until then. The pieces get pages of `page_bytes`.
Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll = nullptr);
// Decodes the header alone. `front` are the first bytes of changes of `size` bytes. The result has
// neither entries nor pieces.
Result<FilterChanges> decode_changes_header(std::span<const std::byte> front, uint64_t size);
// Returns whether the bytes begin like changes of any version.
bool looks_like_changes(std::span<const std::byte> bytes) noexcept;

// The steps of encode_changes(). The first one returns header, entries and counts. The image that
// comes after them has so many bytes. The second one returns the header of that image.
std::vector<std::byte> encode_changes_front(const FilterChanges& changes);
void put_image_bytes(std::span<std::byte> front, uint64_t image_bytes);
ImageHeader header_of_pieces(const FilterChanges& changes);

}  // namespace cuckoo::segments
