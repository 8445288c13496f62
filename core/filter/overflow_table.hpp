// Exact counts of the cells that do not fit the pages: a cuckoo filter's entries without a bucket,
// and the part above 14 of a counting Bloom filter's counters. The counts are stored, as the pages
// are.
//
// Invariants
//   I1  every count is 1 or more; items() is their sum.
//   I2  digest() = sum over cells of mix64(mix64(cell + kGoldenStep) + count).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/cell_counts.hpp"

namespace cuckoo::core {

class OverflowTable {
 public:
  bool empty() const noexcept { return counts_.empty(); }
  uint64_t count(uint64_t cell) const noexcept { return counts_.count(cell); }
  void add(uint64_t cell, uint64_t count = 1);     // std::bad_alloc: nothing was added
  void make_room(size_t more);                     // for so many more cells
  bool remove(uint64_t cell, uint64_t count = 1);  // false, and no change, when there are fewer
  uint64_t cells() const noexcept { return counts_.size(); }
  uint64_t items() const noexcept { return items_; }
  uint64_t digest() const noexcept { return digest_; }
  struct CellCount {
    uint64_t cell;
    uint64_t count;
    bool operator==(const CellCount&) const = default;
  };
  std::vector<CellCount> counts() const;  // a copy, in order of the cells
  template <class Visitor>
  void for_each(Visitor&& visit) const {  // cell, count: in any order
    counts_.for_each(visit);
  }
  bool equals(const OverflowTable& other) const noexcept;

  // Returns the cells whose count changed since clear_changed(). They ascend, because they are
  // stored in order, so that the bytes are the same.
  std::vector<uint64_t> changed() const;
  void clear_changed() noexcept { changed_.clear(); }

  Status check() const;  // I1, I2

 private:
  void set(uint64_t cell, uint64_t before, uint64_t count) noexcept;

  CellCounts counts_;
  CellCounts changed_;  // cells with a count of 1
  uint64_t items_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace cuckoo::core
