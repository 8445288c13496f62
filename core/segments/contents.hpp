// A whole filter outside of its table, one segment at a time: what an export gives, what an import
// takes, and what the keys of an aggregate become.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  uint64_t capacity = 0;           // what the geometry was computed for
  uint64_t items = 0;              // of a set: the adds that were not present
  std::unique_ptr<Filter> filter;  // all its pages are in memory, or zero
  std::vector<NetHash> hashes;     // whole ones, ascending, each 1 or more; empty: not known
};
using PieceSink = std::function<Status(Piece&& piece)>;
// Hands over all pieces, ascending by prefix. The prefixes partition the hash space. May be called
// more than once, and gives the same then.
using PieceSource = std::function<Status(const PieceSink& sink)>;
// Hands over the same pieces from one on, that of `prefix`, until enough() says true after one.
using PieceRange = std::function<Status(uint64_t prefix, const PieceSink& sink,
                                        const std::function<bool()>& enough)>;

struct Contents {
  uint64_t capacity = 0;  // of the whole filter
  uint64_t items = 0;     // of a multiset: the sum of the pieces'
  bool with_hashes = false;
  uint64_t hash_count = 0;         // different ones, if they are known
  uint64_t key_types = 0;          // storage classes that were hashed into it, a byte a column
  std::optional<FilterMark> mark;  // whose contents these are, all of them
  PieceSource pieces;
  PieceRange range;  // of the pieces, where the filter is a stored one
};

}  // namespace cuckoo::segments
