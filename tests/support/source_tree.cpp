#include "tests/support/source_tree.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cuckoo::test {

std::filesystem::path source_path(const std::string& path) {
  return std::filesystem::path(CUCKOO_SOURCE_DIR) / path;
}

std::string read_source(const std::string& path) {
  std::ifstream file(source_path(path), std::ios::binary);
  if (!file.is_open()) {
    throw std::runtime_error("no such file: " + path);
  }
  return (std::stringstream() << file.rdbuf()).str();
}

}  // namespace cuckoo::test
