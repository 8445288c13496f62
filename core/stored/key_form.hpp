// The number of columns of a filter's key, and the affinity and the collation of each, which
// changed it before the key was hashed. The numbers are those of ext. core only stores and compares
// them, and checks their range.
//
// Layout, little-endian: affinities have 4 bits a column, collations 2, types (the kinds of values
// that were hashed) 8, the first column in the lowest. Bits above the last column are zero.
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

// Returns kCorrupt for a form that no filter has, or for types of more columns than it has. The
// text begins with "keys of".
Status check_keys(const KeyForm& form, uint64_t types);

}  // namespace cuckoo
