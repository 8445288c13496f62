#include "core/base/digest.hpp"

#if defined(CUCKOO_NO_OPENSSL)
#elif defined(CUCKOO_LIBMD)
#include <md5.h>
#include <sha1.h>
#include <sha2.h>
#elif defined(CUCKOO_PORTABLE)
#define OPENSSL_SUPPRESS_DEPRECATED  // in favour of EVP
#include <openssl/md5.h>
#include <openssl/sha.h>
#else
#include <openssl/evp.h>
#endif

#include <new>

namespace cuckoo {

const char* digest_name(DigestKind kind) noexcept {
  switch (kind) {
    case DigestKind::kMd5:
      return "md5";
    case DigestKind::kSha1:
      return "sha1";
    case DigestKind::kSha256:
      return "sha256";
  }
  return "?";
}

#if defined(CUCKOO_NO_OPENSSL)

Digester::~Digester() = default;

std::span<const std::byte> Digester::compute(DigestKind, std::span<const std::byte>) { return {}; }

#elif defined(CUCKOO_LIBMD) || defined(CUCKOO_PORTABLE)

namespace {

// These functions can't fail.
template <typename Context, auto kInit, auto kUpdate, auto kFinal>
void digest_with(std::span<const std::byte> bytes, std::byte* digest) noexcept {
  Context context;
  kInit(&context);
  kUpdate(&context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  kFinal(reinterpret_cast<unsigned char*>(digest), &context);
}

#if defined(CUCKOO_LIBMD)
constexpr auto kDigestMd5 = digest_with<MD5_CTX, MD5Init, MD5Update, MD5Final>;
constexpr auto kDigestSha1 = digest_with<SHA1_CTX, SHA1Init, SHA1Update, SHA1Final>;
constexpr auto kDigestSha256 = digest_with<SHA2_CTX, SHA256Init, SHA256Update, SHA256Final>;
#else
constexpr auto kDigestMd5 = digest_with<MD5_CTX, MD5_Init, MD5_Update, MD5_Final>;
constexpr auto kDigestSha1 = digest_with<SHA_CTX, SHA1_Init, SHA1_Update, SHA1_Final>;
constexpr auto kDigestSha256 = digest_with<SHA256_CTX, SHA256_Init, SHA256_Update, SHA256_Final>;
#endif

}  // namespace

Digester::~Digester() = default;

std::span<const std::byte> Digester::compute(DigestKind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case DigestKind::kMd5:
      kDigestMd5(bytes, digest_);
      break;
    case DigestKind::kSha1:
      kDigestSha1(bytes, digest_);
      break;
    case DigestKind::kSha256:
      kDigestSha256(bytes, digest_);
      break;
  }
  return {digest_, digest_bytes(kind)};
}

#else

Digester::~Digester() {
  EVP_MD_CTX_free(context_);
  for (EVP_MD* algorithm : algorithms_) {
    EVP_MD_free(algorithm);
  }
}

std::span<const std::byte> Digester::compute(DigestKind kind, std::span<const std::byte> bytes) {
  EVP_MD*& algorithm = algorithms_[static_cast<size_t>(kind)];
  if (context_ == nullptr && (context_ = EVP_MD_CTX_new()) == nullptr) {
    throw std::bad_alloc();
  }
  if (algorithm == nullptr) {
    algorithm = EVP_MD_fetch(nullptr, digest_name(kind), nullptr);
  }
  unsigned size = 0;
  if (algorithm == nullptr || EVP_DigestInit_ex2(context_, algorithm, nullptr) != 1 ||
      EVP_DigestUpdate(context_, bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(digest_), &size) != 1 ||
      size != digest_bytes(kind)) {
    return {};
  }
  return {digest_, size};
}

#endif

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * bytes.size(), '0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    text[2 * i] = kDigits[static_cast<unsigned>(bytes[i]) >> 4];
    text[2 * i + 1] = kDigits[static_cast<unsigned>(bytes[i]) & 15];
  }
  return text;
}

namespace {

// Returns the value of a hex digit, or 16 for any other byte.
unsigned value_of(std::byte digit) noexcept {
  const auto c = static_cast<unsigned char>(digit);
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

}  // namespace

bool from_hex(std::span<const std::byte> text, std::byte* bytes) noexcept {
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const unsigned high = value_of(text[i]);
    const unsigned low = value_of(text[i + 1]);
    if ((high | low) > 15) {
      return false;
    }
    bytes[i / 2] = static_cast<std::byte>(high << 4 | low);
  }
  return text.size() % 2 == 0;
}

}  // namespace cuckoo
