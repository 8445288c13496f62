// In the loadable module, operator new takes its memory from SQLite's allocator, so SQLite's memory
// limits and statistics count it. An application keeps its own operator new, because the module
// exports only its entry point and links the C++ runtime in.
//
// Invariant: operator new aligns to 8 bytes and no more. sqlite3_malloc64() promises no more,
// because an SQLite that is compiled without malloc_usable_size() puts the size, 8 bytes, before
// each allocation. Compilers assume 16, so CMakeLists.txt tells them to assume 8. Types that need
// more than 8 come to the aligned operator new: with libc++, a class that has a std::function in
// it.
//
// Nothing in the module allocates before the entry point has the routine table, because no static
// object has a constructor that does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "ext/sqlite/api.hpp"

namespace {

constexpr std::size_t kAlignment = 8;
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ <= kAlignment,
              "the compiler counts on more than SQLite's allocator promises");

void* allocate(std::size_t bytes) noexcept {
  return sqlite3_api == nullptr ? nullptr : sqlite3_malloc64(bytes == 0 ? 1 : bytes);
}

// Aligns as asked, to 8 at least. In front of the returned address, stores the address that SQLite
// gave.
void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
  static_assert(sizeof(void*) <= kAlignment);
  const std::size_t boundary = std::max(static_cast<std::size_t>(alignment), kAlignment);
  if (bytes > SIZE_MAX - boundary) {
    return nullptr;
  }
  void* const memory = allocate(bytes + boundary);
  if (memory == nullptr) {
    return nullptr;
  }
  // SQLite gives a multiple of 8. So the next boundary is 8 to `boundary` bytes further on.
  const std::size_t skipped = boundary - reinterpret_cast<std::uintptr_t>(memory) % boundary;
  char* const aligned = static_cast<char*>(memory) + skipped;
  std::memcpy(aligned - sizeof(memory), &memory, sizeof(memory));
  return aligned;
}

void* or_throw(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    sqlite3_free(memory);
  }
}

void release_aligned(void* aligned) noexcept {
  if (aligned != nullptr) {
    void* memory = nullptr;
    std::memcpy(&memory, static_cast<char*>(aligned) - sizeof(memory), sizeof(memory));
    release(memory);
  }
}

}  // namespace

void* operator new(std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(allocate(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(allocate(bytes, alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void* memory, std::align_val_t) noexcept { release_aligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release_aligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release_aligned(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release_aligned(memory);
}
