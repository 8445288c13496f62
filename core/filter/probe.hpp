// The hot path of every probe: a predicted branch on the kind, then a direct call that can be
// inlined. Filter::probe() would be a virtual call instead.
#pragma once

#include <cstdint>

#include "core/filter/bloom_filter.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

// As Filter::probe().
[[gnu::always_inline]] inline Filter::Answer probe(const Filter& filter, uint64_t hash) noexcept {
  switch (filter.kind()) {
    case FilterKind::kCuckoo:
      return static_cast<const CuckooFilter&>(filter).probe(hash);
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      return static_cast<const BloomFilter&>(filter).probe(hash);
  }
  __builtin_unreachable();
}

}  // namespace cuckoo::core
