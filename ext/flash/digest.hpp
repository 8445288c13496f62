// SHA-1 and SHA-256 of values: content addresses.
//
// The algorithms are fetched once and one context is reused: an order of magnitude less than asking
// OpenSSL anew for every value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// OpenSSL's
struct evp_md_ctx_st;
struct evp_md_st;

namespace cuckoo {

enum class DigestKind : uint8_t { kSha1 = 1, kSha256 = 2 };

inline constexpr size_t kMaxDigestBytes = 32;

constexpr size_t digest_bytes(DigestKind kind) noexcept {
  return kind == DigestKind::kSha1 ? 20 : 32;
}
const char* digest_name(DigestKind kind) noexcept;

class Digester {
 public:
  Digester() noexcept = default;
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  // digest_bytes(kind) bytes, valid until the next call. Throws SqlError when OpenSSL lacks it.
  std::span<const std::byte> compute(DigestKind kind, std::span<const std::byte> bytes);

 private:
  evp_md_ctx_st* context_ = nullptr;
  evp_md_st* algorithms_[2] = {};
  std::byte digest_[kMaxDigestBytes] = {};
};

// Lower-case hex digits, and back: false when `text` is anything else.
std::string hex_of(std::span<const std::byte> bytes);
bool from_hex(std::span<const std::byte> text, std::byte* bytes) noexcept;

}  // namespace cuckoo
