// The keys of a stored filter of kind kLegacyBloom: pairs of hashes. It has no log and no tail; an
// insert changes the pages at once.
//
// Invariants
//   I1  a pair that was inserted is present.
//   I2  the filter's items are the pairs that were not maybe-present when they were inserted.
#pragma once

#include "core/base/result.hpp"
#include "core/filter/bloom_filter.hpp"
#include "core/stored/logged_filter.hpp"

namespace cuckoo {

class PairFilter {
 public:
  // Of that kind, and usable() at every call.
  explicit PairFilter(LoggedFilter& filter) noexcept : filter_(filter) {}

  Result<bool> contains(const HashPair& pair);
  Status insert(const HashPair& pair);

 private:
  Status load(const HashPair& pair);

  LoggedFilter& filter_;
};

}  // namespace cuckoo
