// The contents of a whole filter outside of its table, one segment at a time. An export gives them,
// an import takes them, and an aggregate makes them of its keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/run.hpp"

namespace cuckoo::segments {

// One segment. All its hashes begin with the first `depth` bits of `prefix`, and its filter is
// asked for hash << depth.
struct Piece {
  uint64_t prefix = 0;
  unsigned depth = 0;
  uint64_t capacity = 0;           // that the geometry was computed for
  uint64_t items = 0;              // in a set: adds that did not seem present when they came
  std::unique_ptr<Filter> filter;  // all its pages are in memory, or zero
  std::vector<NetHash> hashes;     // with the prefix, ascending, each 1 or more; empty: not known
};
using PieceSink = std::function<Status(Piece&& piece)>;
// Hands over all pieces, ascending by prefix. The prefixes partition the hash space. It may be
// called more than once, and hands over the same pieces each time.
using PieceSource = std::function<Status(const PieceSink& sink)>;
// Returns kBadMessage instead of kCorrupt: what storage holds is sound, so the message is not.
inline Status of_message(Status status) {
  return !status.ok() && status.error().code == ErrorCode::kCorrupt
             ? Status(bad_message(status.take_error().message))
             : std::move(status);
}
// Reads all pieces of a message, if there are any, which verifies them.
inline Status verify(const PieceSource& pieces) {
  return pieces ? of_message(pieces([](Piece&&) { return Status(); })) : Status();
}
// Hands over the same pieces, from that of `prefix` on, until enough() returns true after one.
using PieceRange = std::function<Status(uint64_t prefix, const PieceSink& sink,
                                        const std::function<bool()>& enough)>;

// What an image's header says of the contents, before their pieces are read.
struct ContentsHeader {
  uint64_t capacity = 0;  // of the whole filter
  uint64_t items = 0;     // in a multiset: the sum over the pieces
  bool with_hashes = false;
  uint64_t hash_count = 0;         // different ones, if they are known
  uint64_t key_types = 0;          // types of the keys that were hashed, a byte a column
  bool unique = false;             // each hash is there once: a multiset with unique = on
  std::optional<FilterMark> mark;  // that names exactly these contents

  void take(const ContentsHeader& from) { *this = from; }
};

struct Contents : ContentsHeader {
  PieceSource pieces;
  PieceRange range;  // of the pieces, if the filter is a stored one
};

}  // namespace cuckoo::segments
