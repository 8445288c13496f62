// How marks, messages and records of the segments begin and end: a magic number, a version and, at
// the end of some, a checksum of all before it.
//
//   0  4  magic number
//   4  1  version; of roots, images and records 4 bytes
//   …
//   n  4  CRC-32C of bytes 0 … n-1; only marks, changes and parts of a message have it here
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/result.hpp"

namespace cuckoo::segments {

inline constexpr size_t kVersionAt = 4;
inline constexpr size_t kCrcBytes = 4;

template <class Version>
void put_front(uint32_t magic, Version version, std::span<std::byte> to) noexcept {
  store_le(&to[0], magic);
  store_le(&to[kVersionAt], version);
}

inline bool has_magic(std::span<const std::byte> bytes, uint32_t magic) noexcept {
  return bytes.size() >= sizeof magic && load_le<uint32_t>(bytes.data()) == magic;
}

// Returns whether the bytes begin with this magic number and version. They must be long enough.
template <class Version>
bool has_front(std::span<const std::byte> bytes, uint32_t magic, Version version) noexcept {
  return has_magic(bytes, magic) && load_le<Version>(&bytes[kVersionAt]) == version;
}

// `what` names the thing that has this version, such as "mark". `if_older` is added to the text if
// the version is an older one.
inline Status expect_version(const char* what, uint64_t version, uint64_t known,
                             const char* if_older = "") {
  if (version == known) {
    return {};
  }
  return corrupt(what + std::string(" of format ") + std::to_string(version) +
                 ", this version reads format " + std::to_string(known) +
                 (version < known ? if_older : ""));
}
inline constexpr char kMadeBeforeRelease[] = "; made by a version before the first release";

inline void append_crc(std::vector<std::byte>& bytes) {
  const uint32_t crc = crc32c(bytes);
  bytes.resize(bytes.size() + kCrcBytes);
  store_le(&bytes[bytes.size() - kCrcBytes], crc);
}

// Returns whether the bytes end with their checksum. They must be more than the checksum's.
inline bool has_crc(std::span<const std::byte> bytes) noexcept {
  const size_t crc_at = bytes.size() - kCrcBytes;
  return crc32c(bytes.first(crc_at)) == load_le<uint32_t>(&bytes[crc_at]);
}

}  // namespace cuckoo::segments
