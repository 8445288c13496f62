// Memory that runs out when a test says so: the operator new of the test program obeys
// allocations_left.
#pragma once

#include <cstdint>
#include <new>

namespace cuckoo {

// So many allocations of this thread succeed, then all fail; -1: no limit.
extern thread_local int64_t allocations_left;

// Does the work need more than so many allocations? Then it ended with std::bad_alloc.
template <class Work>
bool runs_out_of_memory(int64_t allowed, Work&& work) {
  bool failed = false;
  allocations_left = allowed;
  try {
    work();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  allocations_left = -1;
  return failed;
}

}  // namespace cuckoo
