// A library with the operator new of ext/sqlite/allocation.cpp, and a function for a test of it.
// SQLite's allocator is one that gives no more than it promises: never a multiple of 16.
#include "tests/support/allocating.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <sqlite3ext.h>

namespace {

constexpr uintptr_t kPromised = 8;
constexpr uintptr_t kBoundary = 64;  // of none larger anything below is a multiple
int64_t given = 0;

void* give(sqlite3_uint64 bytes) {
  auto* const memory = static_cast<char*>(std::malloc(bytes + 2 * kBoundary));
  if (memory == nullptr) {
    return nullptr;
  }
  const uintptr_t over = reinterpret_cast<uintptr_t>(memory) % kBoundary;
  char* const found = memory + kBoundary - over + kPromised;
  reinterpret_cast<char**>(found)[-1] = memory;
  ++given;
  return found;
}

void take_back(void* found) {
  if (found != nullptr) {
    --given;
    std::free(static_cast<char**>(found)[-1]);
  }
}

constexpr sqlite3_api_routines make_routines() {
  sqlite3_api_routines routines{};
  routines.malloc64 = give;
  routines.free = take_back;
  return routines;
}
constexpr sqlite3_api_routines kRoutines = make_routines();

template <size_t kBytes>
struct alignas(kBytes) Aligned {
  unsigned char bytes[kBytes + 1];
};

template <class T>
bool is_aligned(const T* object) {
  return object != nullptr && reinterpret_cast<uintptr_t>(object) % alignof(T) == 0;
}

// True: every way to make a T gives its alignment.
template <class T>
bool aligns() {
  const std::unique_ptr<T> one(new T);
  const std::unique_ptr<T[]> some(new T[3]);
  const std::unique_ptr<T> without_exception(new (std::nothrow) T);
  const std::unique_ptr<T[]> some_without_exception(new (std::nothrow) T[3]);
  const std::shared_ptr<T> shared = std::make_shared<T>();
  const std::vector<T> values(5);
  return is_aligned(one.get()) && is_aligned(some.get()) && is_aligned(without_exception.get()) &&
         is_aligned(some_without_exception.get()) && is_aligned(shared.get()) &&
         is_aligned(values.data());
}

}  // namespace

const sqlite3_api_routines* sqlite3_api = nullptr;

extern "C" CUCKOO_ALLOCATING_EXPORT int cuckoo_allocating(int what) {
  sqlite3_api = &kRoutines;
  switch (what) {
    case 1:
      return aligns<Aligned<1>>();
    case 8:
      return aligns<Aligned<8>>();
    case 16:
      return aligns<Aligned<16>>() && aligns<long double>();
    case 32:
      return aligns<Aligned<32>>();
    case 64:
      return aligns<Aligned<64>>();
    default: {
      const std::unique_ptr<Aligned<8>> own(new Aligned<8>);
      return given == 1 && reinterpret_cast<uintptr_t>(own.get()) % kBoundary == kPromised;
    }
  }
}
