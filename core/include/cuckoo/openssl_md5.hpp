// MD5 by OpenSSL, for a ring that places keys as memcached's clients do:
//
//   cuckoo::HashRing::make(
//       {.algorithm = cuckoo::RingAlgorithm::kKetama, .md5 = cuckoo::openssl_md5});
//
// A program that includes this header must be linked with OpenSSL, libcrypto 1.1.1 or newer. No
// other part of the library needs it.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <span>

namespace cuckoo {
inline namespace v1 {

// Writes the MD5. Returns false if there is no memory, or this OpenSSL has no MD5. Many threads may
// call it. O(bytes).
inline bool openssl_md5(std::span<const std::byte> bytes, std::span<std::byte, 16> digest) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  // Looked up once; it lives as long as the program.
  static const EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
#else
  const EVP_MD* const md5 = EVP_md5();
#endif
  unsigned size = 0;
  return md5 != nullptr &&
         EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                    &size, md5, nullptr) == 1 &&
         size == digest.size();
}

}  // namespace v1
}  // namespace cuckoo
