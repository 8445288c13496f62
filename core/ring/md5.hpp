// MD5 as ketama asks for it: a function that is handed in. So a program that uses rings without
// ketama needs no library that computes digests; system_md5() alone refers to one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace cuckoo {

inline constexpr size_t kMd5Bytes = 16;

// Writes the digest of the bytes. False: it can't, for want of memory or of the algorithm.
using Md5Function =
    std::function<bool(std::span<const std::byte> bytes, std::span<std::byte, kMd5Bytes> digest)>;

// By core/base/digest.hpp. It reuses a context, and so do its copies: one at a time may use them.
Md5Function system_md5();

}  // namespace cuckoo
