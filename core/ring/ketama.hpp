// The points of ketama, the consistent hash of memcached's clients, bit for bit. A node's label is
// hashed with MD5, and the 16 bytes are four points of 32 bits, little-endian. A key's place is its
// hash by `key_hash`; with MD5 it is the first of the four numbers of the key's own MD5. The key
// belongs to the first point that is not before its place.
//
// k = 0, 1, 2 … are a node's hashes, four points each. n nodes, w their weight, W the sum of all:
//   dialect       label of "host:port"              hashes of a node
//   libketama     "host:port-k"                     floorf(float(w)/float(W) · 40.0 · float(n)),
//                                                   the products in double
//   libmemcached  "host-k" for port 11211,          floor(float(w)/float(W) · 160 / 4 · float(n)
//                 else "host:port-k"                + 1e-10), all in float
//   spy           "/host:port-k"                    as libmemcached
//   consistent    as libmemcached                   100 of one point, which is the label's hash by
//                                                   `key_hash`; weights do not count
// These are libketama; libmemcached with KETAMA_WEIGHTED, and twemproxy; libmemcached with
// KETAMA_WEIGHTED and the distribution KETAMA_SPY; its distribution CONSISTENT without weights.
// Equal weights give 39 hashes, not 40, for some n (libketama: 61, 122, 237 …; libmemcached, spy:
// 25, 47, 50 …), because w/W is then rounded to the float just below 1/n. The client spymemcached
// always has 40 hashes for equal weights, and no slash. So the dialect libketama has its owners,
// except for those n, and the dialect spy does not. Whole weights up to 2^24 are floats themselves.
//
// Invariants
//   I1  points depend only on the set of nodes, the dialect and the key hash. W is summed in the
//       order of the names.
//   I2  a node may have no points, because the clients give it none if its weight is small among
//       large ones.
//
// With unequal weights a change moves more keys than it must, as in those clients: each node's part
// of the points depends on the sum of all weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/ring/ketama_key_hash.hpp"
#include "core/ring/md5.hpp"

namespace cuckoo::core {

inline constexpr size_t kKetamaDialects = static_cast<size_t>(KetamaDialect::kConsistent) + 1;

std::string ketama_label(KetamaDialect dialect, std::string_view name);
// Returns how many hashes a node of that weight gets.
uint32_t ketama_hashes(KetamaDialect dialect, double weight, double total, size_t nodes) noexcept;

// The hashes of one dialect. As many threads may use it at a time as may use its MD5. A function
// that hashes throws std::bad_alloc if the MD5 fails.
class Ketama {
 public:
  // Fails where there is no MD5.
  static Result<std::shared_ptr<Ketama>> make(KetamaDialect dialect, KetamaKeyHash key_hash,
                                              Md5Function md5 = system_md5());
  Ketama(KetamaDialect dialect, KetamaKeyHash key_hash, Md5Function md5) noexcept  // for make()
      : dialect_(dialect), key_hash_(key_hash), md5_(std::move(md5)) {}
  Ketama(const Ketama&) = delete;
  Ketama& operator=(const Ketama&) = delete;

  std::array<uint32_t, 4> digest(std::span<const std::byte> bytes) const;
  uint32_t hash(std::span<const std::byte> key) const {
    return key_hash_ == KetamaKeyHash::kMd5 ? digest(key)[0] : ketama_key_hash(key_hash_, key);
  }
  // Returns the position on a ring of 2^64: the 32 bits become the upper half.
  static uint64_t position(uint32_t hash) noexcept { return uint64_t{hash} << 32; }

  static uint32_t points_per_hash(KetamaDialect dialect) noexcept {
    return dialect == KetamaDialect::kConsistent ? 1 : 4;
  }
  // Calls use(position) for each point of a node's hashes `first` to `end` - 1.
  template <class Use>
  void each_point(std::string_view name, uint32_t first, uint32_t end, Use&& use) const {
    const std::string label = ketama_label(dialect_, name) + "-";
    for (uint32_t k = first; k < end; ++k) {
      const std::string text = label + std::to_string(k);
      if (dialect_ == KetamaDialect::kConsistent) {
        use(position(hash(bytes_of(text))));
        continue;
      }
      for (const uint32_t part : digest(bytes_of(text))) {
        use(position(part));
      }
    }
  }

 private:
  KetamaDialect dialect_;
  KetamaKeyHash key_hash_;
  Md5Function md5_;
};

}  // namespace cuckoo::core
