// Memory of large arrays: in pages of 2 MB where the system has them. To touch an array for the
// first time took an eighth of the time then; what comes later was as fast as in small pages.
//
// Invariants
//   I1  a wish: where it is not granted, or not known, memory is as usual.
//   I2  no more memory than the array's own bytes: pages that it fills only in part stay small.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cuckoo {

// Before the memory is touched for the first time. Linux; elsewhere nothing happens.
void prefer_large_pages(void* memory, size_t bytes) noexcept;

template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() noexcept = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) {
    T* const memory = std::allocator<T>().allocate(count);
    prefer_large_pages(memory, count * sizeof(T));
    return memory;
  }
  void deallocate(T* memory, size_t count) noexcept {
    std::allocator<T>().deallocate(memory, count);
  }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) noexcept { return true; }
};

template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace cuckoo
