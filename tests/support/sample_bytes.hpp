// Bytes of files, and of the blocks of docs/FORMAT.md.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "tests/support/core_samples.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {

// The bytes of FORMAT.md's block of that language: two digits each, comments after a bar.
inline Bytes documented_bytes(const std::string& language) {
  std::ifstream file(source_path("docs/FORMAT.md"));
  EXPECT_TRUE(file.is_open());
  Bytes bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```" + language;
    } else if (inside) {
      std::istringstream words(line.substr(0, line.find('|')));
      for (std::string word; words >> word;) {
        bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
      }
    }
  }
  return bytes;
}

inline std::optional<Bytes> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return std::nullopt;
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(first, first + text.size());
}

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace cuckoo::test
