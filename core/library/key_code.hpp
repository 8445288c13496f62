// The hash of a key as an inlined function, for where the library hashes one key at a time and
// speed counts.
#pragma once

#include <cstdint>

#include <cuckoo/key.hpp>

#include "core/base/key_hash.hpp"

namespace cuckoo {
inline namespace v1 {

class KeyCode {
 public:
  // Returns key.hash(seed). For an integer it is some ten instructions, for other keys a call.
  [[gnu::always_inline]] static uint64_t hash(const Key& key, uint64_t seed) noexcept {
    if (key.kind_ == Key::Kind::kInteger) [[likely]] {
      return hash_integer(key.integer_, seed);
    }
    return key.hash(seed);
  }
};

}  // namespace v1
}  // namespace cuckoo
