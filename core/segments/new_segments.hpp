// Makes the segments that are to replace all others of a filter, of contents from outside or of its
// own hashes cut anew. It makes them beside the old ones, which stay as they are meanwhile.
//
// Invariants
//   S1  (core/segments/directory.hpp) they come ascending by prefix, each begins where the one
//       before it ends, and finish() fails unless they cover all hashes.
//   I1  an empty segment that CREATE would make takes no memory and no header: so a filter for
//       2^40 keys can be imported and rebuilt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/segment_maker.hpp"

namespace cuckoo::segments {

class NewSegments {
 public:
  // `once`: each hash of the pieces counts once, though they come without hashes.
  explicit NewSegments(const SegmentMaker& maker, bool once = false)
      : maker_(maker), once_(once), directory_(*maker.options) {}

  // Makes the next segment of this piece.
  Status take(Piece&& piece);
  // Makes the next segments of all hashes of the next share of limits().depth bits. A share with
  // more hashes than it has room for is made larger, or cut further.
  Status cut(std::span<const NetHash> entries);
  // Makes the directory of them.
  Status finish();

  const SegmentLimits& limits() const noexcept { return maker_.limits; }
  uint64_t count() const noexcept { return leaves_.size(); }
  uint64_t items() const noexcept { return items_; }  // of all of them
  bool empty() const noexcept { return empty_; }      // no cell is in use
  uint64_t id() const noexcept { return id_; }        // a hash of all that is in them
  // Valid after finish().
  uint64_t next_number() const noexcept { return maker_.number; }
  uint64_t position() const noexcept { return maker_.position; }
  unsigned first_depth() const noexcept { return first_depth_; }
  Directory& directory() noexcept { return directory_; }

 private:
  bool is_share(const Piece& piece) const;
  Status count_once(Piece& piece) const;
  Status cover(uint64_t prefix, unsigned depth);
  Status add(uint64_t prefix, unsigned depth, std::unique_ptr<Segment> segment);

  SegmentMaker maker_;
  bool once_;
  std::vector<Directory::Leaf> leaves_;  // ascending by prefix
  uint64_t covered_ = 0;                 // of the hash space, in units of 2^(64 - kMaxDepth)
  unsigned least_depth_ = kMaxDepth;
  uint64_t items_ = 0;
  bool empty_ = true;
  uint64_t id_ = 0;
  unsigned first_depth_ = 0;
  Directory directory_;
};

}  // namespace cuckoo::segments
