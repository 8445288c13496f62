// How a HashRing of <cuckoo/hash_ring.hpp> places nodes and keys. Images have these values, and so
// has SQL: none of them changes.
#pragma once

#include <cstdint>

namespace cuckoo {

enum class RingAlgorithm : uint8_t { kRing, kKetama, kSlots };

// Whose points they are: libketama; libmemcached with KETAMA_WEIGHTED, and twemproxy; libmemcached
// with KETAMA_SPY; libmemcached's distribution CONSISTENT, which knows no weights.
enum class KetamaDialect : uint8_t { kLibketama, kLibmemcached, kSpy, kConsistent };

// How the clients hash a key. libketama knows kMd5 only, libmemcached alone knows kCrc32a.
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
