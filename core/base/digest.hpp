// MD5, SHA-1 and SHA-256, and digests in hex.
//
// They are computed by OpenSSL's EVP. The algorithms are fetched once, and one context is reused.
// That takes a tenth of the time of a new context for every value. CUCKOO_PORTABLE uses OpenSSL's
// own functions of each algorithm instead, because EVP, linked statically, brings along all of
// OpenSSL: 3.8 MB instead of 50 kB. CUCKOO_LIBMD uses libmd, where there is no OpenSSL.
// CUCKOO_NO_OPENSSL uses neither: there are no digests then.
//
//   I1  digests are the published ones, in each of these builds, or none.
//   I2  from_hex() undoes hex_of(), and takes nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// Types of OpenSSL.
struct evp_md_ctx_st;
struct evp_md_st;

namespace cuckoo {

enum class DigestKind : uint8_t { kMd5 = 0, kSha1 = 1, kSha256 = 2 };

inline constexpr size_t kMaxDigestBytes = 32;

constexpr size_t digest_bytes(DigestKind kind) noexcept {
  return kind == DigestKind::kMd5 ? 16 : kind == DigestKind::kSha1 ? 20 : 32;
}
const char* digest_name(DigestKind kind) noexcept;

// Computes the digests of any number of values, one after the other; one thread at a time.
class Digester {
 public:
  Digester() noexcept = default;
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  // Returns digest_bytes(kind) bytes, valid until the next call, or none if OpenSSL does not offer
  // the algorithm or is left out. Throws bad_alloc, but not for a kind that it has computed before.
  std::span<const std::byte> compute(DigestKind kind, std::span<const std::byte> bytes);

 private:
  [[maybe_unused]] evp_md_ctx_st* context_ = nullptr;  // EVP
  [[maybe_unused]] evp_md_st* algorithms_[3] = {};     // EVP; by DigestKind
  std::byte digest_[kMaxDigestBytes] = {};
};

// Turn bytes into lower-case hex digits, and back. False: `text` is anything else.
std::string hex_of(std::span<const std::byte> bytes);
bool from_hex(std::span<const std::byte> text, std::byte* bytes) noexcept;

}  // namespace cuckoo
