#include "core/base/large_memory.hpp"

#if defined(__linux__)
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#endif

namespace cuckoo {

#if defined(__linux__) && defined(MADV_HUGEPAGE)

void prefer_large_pages(void* memory, size_t bytes) noexcept {
  constexpr size_t kLargePage = size_t{1} << 21;
  constexpr size_t kWorthACall = 2 * kLargePage;
  if (bytes < kWorthACall) {
    return;
  }
  const size_t before =
      (kLargePage - reinterpret_cast<uintptr_t>(memory) % kLargePage) % kLargePage;
  const size_t inside = (bytes - before) / kLargePage * kLargePage;
  const int error = errno;
  (void)madvise(static_cast<std::byte*>(memory) + before, inside, MADV_HUGEPAGE);
  errno = error;
}

#else

void prefer_large_pages(void*, size_t) noexcept {}

#endif

}  // namespace cuckoo
