// Brings a copy to a newer mark of its origin, by the changes from the copy's mark to the newer
// one.
//
// A copy that keeps hashes repeats the adds and removes of its origin. A copy without hashes can't
// make a segment anew when the segment gets too full. So it takes over the segments that its origin
// made anew since then. In all other segments it adds and removes, whatever its own capacity.
//
// Invariants
//   I1  never a false negative: the adds go first, and a remove that still finds nothing is
//       dropped.
//   I2  the copy takes the mark only if its cells can follow the origin from there on: it keeps
//       hashes, or its segments have the same shape (core/segments/changes.hpp).
//   I3  all changed hashes are in the log afterwards, for copies of this copy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/filter_blocks.hpp"
#include "core/segments/turns.hpp"

namespace cuckoo::segments {

class FilterFile;

class ChangesApplier {
 public:
  // The blocks and the turns are the filter's.
  ChangesApplier(FilterFile& file, FilterBlocks& blocks, Turns& turns) noexcept
      : file_(file), blocks_(blocks), turns_(turns) {}

  // The filter must have their first mark. If it is stored, all of it must be written: after a
  // failure it must be read again. A filter that is not stored must be dropped after a failure.
  Status apply(const FilterChanges& changes);

 private:
  Result<bool> take_pieces(const FilterChanges& changes, LargeVector<ChangedHash>& rest);
  Status take_all(const FilterChanges& changes);
  Status take(Piece&& piece);
  Status add(uint64_t hash, uint64_t copies);
  Status add_all(std::span<const ChangedHash> hashes);
  Status remove_found(std::span<const ChangedHash> hashes);
  Status poll_at_times();

  FilterFile& file_;
  FilterBlocks& blocks_;
  Turns& turns_;
  uint64_t done_ = 0;  // adds and removes
};

}  // namespace cuckoo::segments
