// MD5, SHA-1 and SHA-256, and digests in hex.
//
// By EVP: the algorithms are fetched once and one context is reused, which takes a tenth of
// asking OpenSSL anew for every value. With CUCKOO_PORTABLE by OpenSSL's own functions of each
// algorithm: linked statically, EVP brings along all that OpenSSL can do, 3.8 MB instead of 50 kB.
// With CUCKOO_LIBMD by libmd, where there is no OpenSSL.
//
//   I1  digests are the published ones, in each of these builds.
//   I2  from_hex() undoes hex_of(), and takes nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// OpenSSL's
struct evp_md_ctx_st;
struct evp_md_st;

namespace cuckoo {

enum class DigestKind : uint8_t { kMd5 = 0, kSha1 = 1, kSha256 = 2 };

inline constexpr size_t kMaxDigestBytes = 32;

constexpr size_t digest_bytes(DigestKind kind) noexcept {
  return kind == DigestKind::kMd5 ? 16 : kind == DigestKind::kSha1 ? 20 : 32;
}
const char* digest_name(DigestKind kind) noexcept;

// Of any number of values, one after the other; one thread at a time.
class Digester {
 public:
  Digester() noexcept = default;
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  // digest_bytes(kind) bytes, valid until the next call; none when OpenSSL does not offer the
  // algorithm. Throws bad_alloc, but not for a kind that it has computed before.
  std::span<const std::byte> compute(DigestKind kind, std::span<const std::byte> bytes);

 private:
  [[maybe_unused]] evp_md_ctx_st* context_ = nullptr;  // EVP
  [[maybe_unused]] evp_md_st* algorithms_[3] = {};     // EVP; by DigestKind
  std::byte digest_[kMaxDigestBytes] = {};
};

// Lower-case hex digits, and back: false when `text` is anything else.
std::string hex_of(std::span<const std::byte> bytes);
bool from_hex(std::span<const std::byte> text, std::byte* bytes) noexcept;

}  // namespace cuckoo
