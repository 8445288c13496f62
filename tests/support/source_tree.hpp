// Files of the source tree that tests read: golden files, documents, the seeds of fuzz targets.
#pragma once

#include <filesystem>
#include <string>

namespace cuckoo::test {

// A path below the root of the repository.
std::filesystem::path source_path(const std::string& path);

// Throws when it can't be opened.
std::string read_source(const std::string& path);

// One of tests/golden.
inline std::string golden(const std::string& name) { return read_source("tests/golden/" + name); }

}  // namespace cuckoo::test
