#include "ext/flash/digest.hpp"

#include <openssl/evp.h>

#include "ext/sqlite/error.hpp"

namespace cuckoo {

const char* digest_name(DigestKind kind) noexcept {
  return kind == DigestKind::kSha1 ? "sha1" : "sha256";
}

Digester::~Digester() {
  EVP_MD_CTX_free(context_);
  for (EVP_MD* algorithm : algorithms_) {
    EVP_MD_free(algorithm);
  }
}

std::span<const std::byte> Digester::compute(DigestKind kind, std::span<const std::byte> bytes) {
  EVP_MD*& algorithm = algorithms_[kind == DigestKind::kSha1 ? 0 : 1];
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
    throw SqlError(SQLITE_ERROR, std::string(digest_name(kind)) + " is not available in OpenSSL");
  }
  return {digest_, size};
}

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

// 16: no digit.
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
