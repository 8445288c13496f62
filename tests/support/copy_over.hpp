// Copies a file in another one's place. MinGW-w64's copy_file() does not know overwrite_existing.
#pragma once

#include <filesystem>

namespace cuckoo::test {

inline void copy_over(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove(to);
  std::filesystem::copy_file(from, to);
}

}  // namespace cuckoo::test
