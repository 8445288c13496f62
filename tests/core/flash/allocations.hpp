// Memory that runs out when a test says so. The test program's operator new, in
// slot_cache_test.cpp, obeys it.
#pragma once

#include <cstdint>

namespace cuckoo {

// So many allocations of this thread succeed, then all fail; -1: no limit.
extern thread_local int64_t allocations_left;

}  // namespace cuckoo
