#include "core/ring/ketama.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/base/bytes.hpp"

namespace cuckoo::core {

Result<std::shared_ptr<Ketama>> Ketama::make(KetamaDialect dialect, KetamaKeyHash key_hash,
                                             Md5Function md5) {
  std::array<std::byte, kMd5Bytes> digest{};
  if (!md5({}, digest)) {
    return invalid("ketama needs MD5: this build has no OpenSSL, or one without MD5");
  }
  return std::make_shared<Ketama>(dialect, key_hash, std::move(md5));
}

// make() has checked that MD5 works. So here MD5 fails only if memory runs out.
std::array<uint32_t, 4> Ketama::digest(std::span<const std::byte> bytes) const {
  std::array<std::byte, kMd5Bytes> digest;
  if (!md5_(bytes, digest)) {
    throw std::bad_alloc();
  }
  std::array<uint32_t, 4> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = load_le<uint32_t>(digest.data() + 4 * i);
  }
  return parts;
}

std::string ketama_label(KetamaDialect dialect, std::string_view name) {
  constexpr std::string_view kDefaultPort = ":11211";
  switch (dialect) {
    case KetamaDialect::kLibmemcached:
    case KetamaDialect::kConsistent:
      if (name.ends_with(kDefaultPort)) {
        name.remove_suffix(kDefaultPort.size());
      }
      break;
    case KetamaDialect::kSpy:
      return std::string("/").append(name);
    case KetamaDialect::kLibketama:
      break;
  }
  return std::string(name);
}

uint32_t ketama_hashes(KetamaDialect dialect, double weight, double total, size_t nodes) noexcept {
  constexpr uint32_t kConsistentHashes = 100;
  if (dialect == KetamaDialect::kConsistent) {
    return kConsistentHashes;
  }
  const float part = static_cast<float>(weight) / static_cast<float>(total);
  const auto count = static_cast<float>(nodes);
  if (dialect == KetamaDialect::kLibketama) {
    const double product = static_cast<double>(part) * 40.0 * static_cast<double>(count);
    return static_cast<uint32_t>(std::floor(static_cast<float>(product)));
  }
  constexpr float kPoints = 160;
  constexpr float kRounding = 0.0000000001F;
  const volatile float product = part * kPoints / 4 * count;  // rounded: no fused multiply-add
  return static_cast<uint32_t>(std::floor(product + kRounding));
}

}  // namespace cuckoo::core
