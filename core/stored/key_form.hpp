// Of how many columns a filter's key is, and how each was made ready before the key was hashed: its
// affinity and its collation. Numbers of ext, which core stores, compares and checks for
// their range, and has no other use for.
//
// Layout, little-endian: affinities have 4 bits a column, collations 2, types 8, the first column
// in the lowest. What is above the last column is zero.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"

namespace cuckoo {

struct KeyForm {
  static constexpr unsigned kMaxColumns = 8;
  static constexpr unsigned kMaxAffinity = 4;
  static constexpr unsigned kMaxCollation = 2;

  uint8_t columns = 1;  // 1 … kMaxColumns
  uint32_t affinities = 0;
  uint16_t collations = 0;

  unsigned affinity(unsigned column) const noexcept { return affinities >> 4 * column & 0xF; }
  unsigned collation(unsigned column) const noexcept { return collations >> 2 * column & 3U; }

  friend bool operator==(const KeyForm&, const KeyForm&) = default;
};

// kCorrupt for a form that no filter has, or for types of more columns than it has; the text begins
// with "keys of".
Status check_keys(const KeyForm& form, uint64_t types);

}  // namespace cuckoo
