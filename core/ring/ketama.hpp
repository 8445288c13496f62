// The points of ketama, the consistent hash of memcached's clients, bit for bit: a node's label is
// hashed with MD5, and the 16 bytes are four points of 32 bits, little-endian. A key's place is the
// first of its own four; it belongs to the first point at or behind it.
//
// k = 0, 1, 2 … are a node's hashes, four points each. n nodes, w their weight, W the sum of all:
//   dialect       label of "host:port"              hashes of a node
//   libketama     "host:port-k"                     floorf(float(w)/float(W) · 40.0 · float(n)),
//                                                   the products in double
//   libmemcached  "host-k" for port 11211,          floor(float(w)/float(W) · 160 / 4 · float(n)
//                 else "host:port-k"                + 1e-10), all in float
//   spy           "/host:port-k"                    as libmemcached
// These are libketama; libmemcached with KETAMA_WEIGHTED; the same with its distribution
// KETAMA_SPY. Equal weights give 39 hashes, not 40, for some n (libketama: 61, 122, 237 …; the
// others: 25, 47, 50 …): the float below 1/n. spymemcached itself has 40 for equal weights, and no
// slash before an address: libketama's owners, but for those n. Whole weights up to 2^24 are floats
// themselves.
//
// Invariants
//   I1  a function of the set of nodes and the dialect: W is summed in the order of the names.
//   I2  a node may have no points: with a small weight among large ones its clients give it none.
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
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

enum class KetamaDialect : uint8_t { kLibketama, kLibmemcached, kSpy };

std::string ketama_label(KetamaDialect dialect, std::string_view name);
// How many hashes a node of that weight gets.
uint32_t ketama_hashes(KetamaDialect dialect, double weight, double total, size_t nodes) noexcept;

// MD5 as ketama uses it. Its digest's context is reused: one at a time may use it.
class Ketama {
 public:
  static Result<std::shared_ptr<Ketama>> make();  // fails where OpenSSL refuses MD5
  Ketama() noexcept = default;                    // for make()
  Ketama(const Ketama&) = delete;
  Ketama& operator=(const Ketama&) = delete;

  std::array<uint32_t, 4> digest(std::span<const std::byte> bytes) noexcept;
  uint32_t hash(std::span<const std::byte> key) noexcept { return digest(key)[0]; }
  // On a ring of 2^64 positions: 32 bits become the upper half.
  static uint64_t position(uint32_t hash) noexcept { return uint64_t{hash} << 32; }

  static constexpr uint32_t kPointsPerHash = 4;
  // Calls use(position) for each point of a node's hashes `first` to `end` - 1.
  template <class Use>
  void each_point(KetamaDialect dialect, std::string_view name, uint32_t first, uint32_t end,
                  Use&& use) {
    const std::string label = ketama_label(dialect, name) + "-";
    for (uint32_t k = first; k < end; ++k) {
      const std::string text = label + std::to_string(k);
      for (const uint32_t part : digest(bytes_of(text))) {
        use(position(part));
      }
    }
  }

 private:
  Digester md5_;
};

}  // namespace cuckoo
