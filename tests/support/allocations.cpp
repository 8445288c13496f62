#include "tests/support/allocations.hpp"

#include <cstddef>
#include <cstdlib>

namespace cuckoo {
thread_local int64_t allocations_left = -1;
}  // namespace cuckoo

namespace {

void* allocate(size_t size) {
  if (cuckoo::allocations_left == 0) {
    return nullptr;
  }
  cuckoo::allocations_left -= cuckoo::allocations_left > 0 ? 1 : 0;
  return std::malloc(size != 0 ? size : 1);
}

}  // namespace

// The operators of the whole test program. They fail when allocations_left says so. Memory from any
// form of new may reach the plain operator delete. So all forms are defined here: for one that is
// left out, a sanitizer would bring its own.
void* operator new(size_t size) {
  if (void* const memory = allocate(size); memory != nullptr) {
    return memory;
  }
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
// Not inlined, because GCC would warn that free() gets memory of operator new.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
