#include <cuckoo/key.hpp>

#include <span>

#include "core/base/key_hash.hpp"

namespace cuckoo::inline v1 {

uint64_t Key::hash(uint64_t seed) const noexcept {
  switch (kind_) {
    case Kind::kInteger:
      return hash_integer(integer_, seed);
    case Kind::kReal:
      return hash_real(real_, seed);
    case Kind::kText:
      return hash_bytes(KeyKind::kText, {static_cast<const std::byte*>(bytes_), size_}, seed);
    case Kind::kBytes:
      return hash_bytes(KeyKind::kBlob, {static_cast<const std::byte*>(bytes_), size_}, seed);
  }
  return 0;
}

}  // namespace cuckoo::inline v1
