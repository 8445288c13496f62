// The ways in which a HashRing of <cuckoo/hash_ring.hpp> places nodes and keys. These values never
// change, because images and SQL have them.
#pragma once

#include <cstdint>

namespace cuckoo {

enum class RingAlgorithm : uint8_t { kRing, kKetama, kSlots };

// The clients whose points these are: libketama; libmemcached with KETAMA_WEIGHTED, and twemproxy;
// libmemcached with KETAMA_SPY; libmemcached's distribution CONSISTENT, which knows no weights.
enum class KetamaDialect : uint8_t { kLibketama, kLibmemcached, kSpy, kConsistent };

// The hashes that the clients use for keys. libketama knows only kMd5, and only libmemcached knows
// kCrc32a.
enum class KetamaKeyHash : uint8_t {
  kMd5,
  kFnv1a64,
  kFnv164,
  kFnv1a32,
  kFnv132,
  kCrc32a,
  kOneAtATime,
};

}  // namespace cuckoo
