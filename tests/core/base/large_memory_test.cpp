#include "core/base/large_memory.hpp"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

namespace cuckoo::base_large_memory_test {
namespace {

TEST(LargeMemory, I1_is_memory_whatever_its_size) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 19,
                             (size_t{1} << 19) + 1, (size_t{1} << 20) + 12345}) {
    LargeVector<uint64_t> numbers(count);
    EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end(), [](uint64_t n) { return n == 0; }));
    std::iota(numbers.begin(), numbers.end(), 7);
    numbers.insert(numbers.end(), 3, 1);
    LargeVector<uint64_t> copy = numbers;
    EXPECT_EQ(copy, numbers);
    EXPECT_EQ(copy.size(), count + 3);
    EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), uint64_t{0}),
              3 + count * uint64_t{7} + (count == 0 ? 0 : uint64_t{count} * (count - 1) / 2));
  }
}

TEST(LargeMemory, I1_leaves_errno_alone) {
  errno = ENOENT;
  prefer_large_pages(nullptr, size_t{1} << 23);  // nothing is there
  EXPECT_EQ(errno, ENOENT);
}

#if defined(__linux__)

// The flags of the mapping that holds the address; empty where the system does not tell.
std::string flags_at(uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0;
    uintptr_t end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> first >> dash >> end && dash == '-') {
      inside = first <= address && address < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

TEST(LargeMemory, asks_for_large_pages_inside_of_the_array_and_I2_nowhere_else) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system has no large pages";
  }
#if defined(CUCKOO_EMULATED)
  GTEST_SKIP() << "the emulator tells no flags";
#endif
  constexpr size_t kLargePage = size_t{1} << 21;
  constexpr size_t kBytes = 6 * kLargePage;
  void* const mapping =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  std::byte* const array = static_cast<std::byte*>(mapping) + 4096;
  prefer_large_pages(array, kBytes - 2 * 4096);
  const auto begin = reinterpret_cast<uintptr_t>(array);
  const uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (begin + kBytes - 2 * 4096) / kLargePage * kLargePage;
  if (!flags_at(first).empty()) {  // the system tells
    EXPECT_NE(flags_at(first).find(" hg "), std::string::npos);
    EXPECT_NE(flags_at(end - 1).find(" hg "), std::string::npos);
    EXPECT_EQ(flags_at(end).find(" hg "), std::string::npos);
    EXPECT_EQ(flags_at(first - 1).find(" hg "), std::string::npos);
  }
  EXPECT_EQ(munmap(mapping, kBytes), 0);
}

#endif

}  // namespace
}  // namespace cuckoo::base_large_memory_test
