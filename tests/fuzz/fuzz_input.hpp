// What all fuzz targets share. A target takes every input as it is, and with its checksums put
// right, so that what is after them is reached.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"

// Ends the process when the property doesn't hold: libFuzzer keeps the input.
#define REQUIRE(property)                                                           \
  do {                                                                              \
    if (!(property)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #property); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)

namespace cuckoo::test {

using Bytes = std::vector<std::byte>;
using CountedHashes = std::vector<std::pair<uint64_t, uint64_t>>;

inline std::span<const std::byte> as_input(const uint8_t* data, size_t size) noexcept {
  return std::as_bytes(std::span(data, size));
}

// Makes the last four bytes the CRC of those before; there are at least four.
inline void put_crc(std::span<std::byte> bytes) noexcept {
  const size_t at = bytes.size() - 4;
  store_le(bytes.data() + at, crc32c(bytes.first(at)));
}

}  // namespace cuckoo::test
