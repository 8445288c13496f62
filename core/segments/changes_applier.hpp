// Brings a copy to a newer mark of its origin, by the changes from the copy's mark to the newer
// one.
//
// All entries go into the copy's log, in their order. So the copy has the newer mark then. A copy
// that keeps hashes grows by itself. A copy without hashes can't make a segment anew when the
// segment gets too full. So it takes over the segments that its origin made anew since then. These
// have their entries already.
//
// Invariants
//   I1  never a false negative: an add always goes into log and pages. A remove takes what it finds
//       in the copy's pages: its origin may have accepted it by chance, of a key that was never
//       added.
//   I2  the copy's log ends at the newer mark.
//   I3  copies of this copy get the segments that it took, or in their place its own: it notes that
//       these are as good as new.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  struct HashRange {
    uint64_t first;
    uint64_t last;
  };
  using HashRanges = std::vector<HashRange>;  // ascending

  static bool cover_all(const HashRanges& ranges) noexcept;
  static bool cover(const HashRanges& ranges, uint64_t hash) noexcept;
  bool fit(const HashRanges& ranges) const noexcept;
  Result<HashRanges> ranges_of(const FilterChanges& changes) const;
  Status append_all(const EntryList& entries, const HashRanges& replaced);
  Status append(uint64_t entry, uint64_t copies);
  Status take_all(const FilterChanges& changes);
  Status take(Piece&& piece);
  Status note_made(const HashRange& range);

  FilterFile& file_;
  FilterBlocks& blocks_;
  Turns& turns_;
};

}  // namespace cuckoo::segments
