// The contents of a HashRing of <cuckoo/hash_ring.hpp>: core's HashRing, and the type of its keys.
//
// Invariants
//   I1  between two changes the ring is built(). So look-ups and figures write nothing, and threads
//       may call them at the same time.
//   I2  the type of the keys is none or TEXT, never a numeric one: from_bytes() refuses those.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/ring/hash_ring.hpp"
#include "core/ring/image.hpp"
#include "core/ring/mark.hpp"
#include "core/ring/moves.hpp"

namespace cuckoo {

class MemoryRing {
 public:
  using Digest = bool (*)(std::span<const std::byte>, std::span<std::byte, kMd5Bytes>);

  MemoryRing(std::shared_ptr<core::HashRing> ring, RingKeyType type, Digest digest) noexcept
      : ring_(std::move(ring)), key_type_(type), md5_(digest) {}
  MemoryRing(const MemoryRing& other)
      : ring_(std::make_shared<core::HashRing>(*other.ring_)),
        key_type_(other.key_type_),
        md5_(other.md5_) {}
  MemoryRing& operator=(const MemoryRing&) = delete;

  core::HashRing& ring() noexcept { return *ring_; }
  const core::HashRing& ring() const noexcept { return *ring_; }
  RingKeyType key_type() const noexcept { return key_type_; }
  bool has_text_keys() const noexcept { return key_type_ == RingKeyType::kText; }
  Digest md5() const noexcept { return md5_; }
  std::string check() const { return ring_->check(); }  // builds nothing, by I1

 private:
  std::shared_ptr<core::HashRing> ring_;
  RingKeyType key_type_;
  Digest md5_;
};

}  // namespace cuckoo
