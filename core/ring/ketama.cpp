#include "core/ring/ketama.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cmath>

#include "core/base/bytes.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kHashesPerNode = 40;

}  // namespace

struct Ketama::Md5 {
  EVP_MD* algorithm = nullptr;
  EVP_MD_CTX* context = nullptr;

  Md5() noexcept = default;
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;
  ~Md5() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
};

Ketama::Ketama(std::unique_ptr<Md5> md5) noexcept : md5_(std::move(md5)) {}

Ketama::~Ketama() = default;

Result<std::shared_ptr<Ketama>> Ketama::make() {
  auto md5 = std::make_unique<Md5>();
  md5->algorithm = EVP_MD_fetch(nullptr, "MD5", nullptr);
  md5->context = EVP_MD_CTX_new();
  if (md5->context == nullptr) {
    throw std::bad_alloc();
  }
  if (md5->algorithm == nullptr || EVP_DigestInit_ex(md5->context, md5->algorithm, nullptr) != 1) {
    return invalid("ketama needs MD5, which this system's OpenSSL does not offer");
  }
  return std::shared_ptr<Ketama>(new Ketama(std::move(md5)));
}

std::array<uint32_t, 4> Ketama::digest(std::span<const std::byte> bytes) noexcept {
  std::array<std::byte, EVP_MAX_MD_SIZE> digest{};
  // They fail where there is no such digest or no memory; make() has seen to both.
  EVP_DigestInit_ex(md5_->context, nullptr, nullptr);
  EVP_DigestUpdate(md5_->context, bytes.data(), bytes.size());
  EVP_DigestFinal_ex(md5_->context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  std::array<uint32_t, 4> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = load_le<uint32_t>(digest.data() + 4 * i);
  }
  return parts;
}

std::string ketama_label(KetamaDialect dialect, std::string_view name) {
  constexpr std::string_view kDefaultPort = ":11211";
  switch (dialect) {
    case KetamaDialect::kLibmemcached:
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

Result<std::vector<RingPoint>> Ketama::points(KetamaDialect dialect,
                                              std::span<const RingNode* const> nodes,
                                              const Poll& poll) {
  double total = 0;
  for (const RingNode* node : nodes) {
    total += node->weight;
  }
  std::vector<RingPoint> points;
  points.reserve(nodes.size() * kHashesPerNode * 4);
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    CUCKOO_TRY(check_interrupt(poll));
    const std::string label = ketama_label(dialect, nodes[rank]->name) + "-";
    const uint32_t hashes = ketama_hashes(dialect, nodes[rank]->weight, total, nodes.size());
    for (uint32_t k = 0; k < hashes; ++k) {
      const std::string text = label + std::to_string(k);
      for (const uint32_t part : digest(std::as_bytes(std::span(text)))) {
        points.push_back({position(part), static_cast<uint16_t>(rank)});
      }
    }
  }
  return points;
}

}  // namespace cuckoo
