// What the benchmarks of core share.
#pragma once

#include <cstdint>

#include "core/base/mix.hpp"
#include "core/base/page_size.hpp"

namespace cuckoo::bench {

inline uint64_t nth_hash(uint64_t i) noexcept { return mix64((i + 1) * kGoldenStep); }

}  // namespace cuckoo::bench
