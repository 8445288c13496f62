// Makes a filter hold what another one holds: by the changes from the mark that both have to the
// other one's newest mark.
//
// A filter that keeps hashes adds and removes what the other one did. One without them can't make a
// segment anew when that gets too full. So it takes over the segments that the other filter made
// anew since then, and adds and removes in all others, whatever its own capacity.
//
// Invariants
//   I1  never a false negative: the adds go first, and what can't be removed then stays.
//   I2  the mark is taken only where the cells can follow the other filter's further: hashes are
//       kept, or the segments have the same shape (core/segments/changes.hpp).
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

  // The filter has their first mark, and nothing of it is unwritten. After a failure it must be
  // read again.
  Status apply(const FilterChanges& changes);

 private:
  Result<bool> take_pieces(const FilterChanges& changes, LargeVector<ChangedHash>& rest);
  Status take_all(const FilterChanges& changes);
  Status take(Piece&& piece);
  Status add(uint64_t hash, uint64_t copies);
  Status add_all(std::span<const ChangedHash> hashes);
  Result<std::vector<ChangedHash>> remove_found(std::span<const ChangedHash> hashes);
  Status poll_at_times();

  FilterFile& file_;
  FilterBlocks& blocks_;
  Turns& turns_;
  uint64_t done_ = 0;  // adds and removes
};

}  // namespace cuckoo::segments
