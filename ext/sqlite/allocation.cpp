// Everything the loadable module allocates goes through SQLite's allocator, so that its memory
// limits and statistics see it. Only in the module, where no symbol but the entry point is exported
// and libstdc++ is linked in: an application keeps its own operator new.
//
// Invariant: operator new aligns to 8 bytes and no more, because sqlite3_malloc64() promises no
// more: an SQLite that is compiled without malloc_usable_size() puts the size, 8 bytes, before each
// block. CMakeLists.txt tells the compiler so; by itself it counts on 16. The runtime's aligned
// operator new, which knows nothing of SQLite, allocates types that ask for more than 8.
//
// Nothing in the module allocates before the entry point has the routine table: there are no static
// objects with constructors that do.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "ext/sqlite/api.hpp"

static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ <= 8,
              "the compiler counts on more than SQLite's allocator promises");

namespace {

void* allocate(std::size_t bytes) noexcept {
  return sqlite3_api == nullptr ? nullptr : sqlite3_malloc64(bytes == 0 ? 1 : bytes);
}

void* allocate_or_throw(std::size_t bytes) {
  void* memory = allocate(bytes);
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

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
