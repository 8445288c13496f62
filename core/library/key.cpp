#include <cuckoo/key.hpp>

#include <span>
#include <string_view>

#include "core/base/key_hash.hpp"

namespace cuckoo {
inline namespace v1 {

uint64_t Key::types() const noexcept {
  constexpr uint64_t kInteger = 1, kReal = 2, kText = 4, kBlob = 8, kCased = 16, kPadded = 32;
  switch (kind_) {
    case Kind::kInteger:
      return kInteger;
    case Kind::kReal:
      return kReal;
    case Kind::kText: {
      const std::string_view text(static_cast<const char*>(bytes_), size_);
      unsigned cased = 0;  // of all characters, without a branch, so that a compiler uses vectors
      for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        cased |=
            static_cast<unsigned>(byte == 0) | static_cast<unsigned>(byte - unsigned{'A'} < 26U);
      }
      return kText | (cased != 0 ? kCased : 0) | (text.ends_with(' ') ? kPadded : 0);
    }
    case Kind::kBytes:
      return kBlob;
  }
  return 0;
}

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

Key::Value Key::value() const noexcept {
  switch (kind_) {
    case Kind::kInteger:
      return integer_;
    case Kind::kReal:
      return real_;
    case Kind::kText:
      return std::string_view(static_cast<const char*>(bytes_), size_);
    case Kind::kBytes:
      return std::span(static_cast<const std::byte*>(bytes_), size_);
  }
  return {};
}

}  // namespace v1
}  // namespace cuckoo
