// The MD5 of ketama: a function that the caller gives. So a program that uses rings without ketama
// needs no library that computes digests; only system_md5() refers to one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace cuckoo::core {

inline constexpr size_t kMd5Bytes = 16;

// Writes the digest of the bytes. Returns false if there is no memory, or no MD5.
using Md5Function =
    std::function<bool(std::span<const std::byte> bytes, std::span<std::byte, kMd5Bytes> digest)>;

// Returns the MD5 of core/base/digest.hpp. It shares a context with its copies, so only one thread
// may use them at a time.
Md5Function system_md5();

}  // namespace cuckoo::core
