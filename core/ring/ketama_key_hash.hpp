// The hashes by which memcached's clients find a key's place on ketama's ring, 32 bits each. They
// are bit for bit as twemproxy and libmemcached compute them on x86. There a byte above 127 is a
// negative number, and is added or combined as one (crc32a and md5 take it as it is). On ARM it is
// not negative, so clients that were compiled for ARM give such keys other places.
//
//   md5            the first four bytes, little-endian (Ketama::digest())
//   fnv1_64 etc.   FNV; those of 64 bits give the lower 32
//   crc32a         CRC-32, as zlib and Ethernet have it
//   one_at_a_time  Jenkins's hash, libmemcached's own default
// Their crc32 is left out, because it has 15 bits, with which ketama gave all of 10,000 keys to one
// of eight nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuckoo/ring_algorithm.hpp>

namespace cuckoo::core {

inline constexpr size_t kKetamaKeyHashes = static_cast<size_t>(KetamaKeyHash::kOneAtATime) + 1;

// Any but kMd5.
uint32_t ketama_key_hash(KetamaKeyHash kind, std::span<const std::byte> key) noexcept;

}  // namespace cuckoo::core
