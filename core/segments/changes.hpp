// The changes of a filter: its adds and removes between two of its marks, as one BLOB. They bring a
// copy that has the first mark to the second one.
//
// The adds and removes are the entries of the log between the marks, in their order. The copy
// appends the same entries to its own log. So it has the second mark then, without being told.
//
// A copy without hashes can't make a segment anew when the segment is full. So the changes include
// the segments that the filter made anew since the first mark, as they are now.
//
// Layout (little-endian; FORMAT.md, "Images and changes"): a message (core/segments/image.hpp)
// whose header has both marks. Before its pieces, if there are any, come
//   entries = as a row of the log has them (core/segments/log_row.hpp)
//   counts  = (index of an entry, occurrences) …  4 bytes each, ascending
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
  uint64_t bytes = 0;  // about how long the message is; not of one that was read
};

// Returns at most `limit` bytes, else kInvalid.
Result<std::vector<std::byte>> encode_changes(const FilterChanges& changes, uint64_t limit);
// Decodes all except the pieces. These are read and verified when they are asked for, so the bytes
// must stay until then. The pieces get pages of `page_bytes`.
Result<FilterChanges> decode_changes(const MessageBytes& bytes, uint32_t page_bytes,
                                     const Poll& poll = nullptr);
// Returns what the header says. The result has neither entries nor pieces.
FilterChanges changes_of(const MessageHeader& header);

// The parts of encode_changes(): the header of the message, and its entries and counts.
MessageHeader header_of(const FilterChanges& changes);
std::vector<std::byte> encode_entries(const EntryList& entries, HashWidth width);

}  // namespace cuckoo::segments
