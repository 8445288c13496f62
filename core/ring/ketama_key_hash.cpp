#include "core/ring/ketama_key_hash.hpp"

#include <array>

namespace cuckoo::core {
namespace {

// Returns the byte sign-extended, as x86 does with a char.
uint32_t sign_extended(std::byte byte) noexcept {
  return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
}

// The lower 32 bits of a product or a XOR follow from the lower 32 bits of both sides. So FNV of 64
// bits is computed with the lower 32 bits alone.
struct Fnv {
  uint32_t basis;
  uint32_t prime;
};
constexpr Fnv kFnv64 = {0x84222325, 0x1B3};  // of 0xCBF29CE484222325 and 0x100000001B3
constexpr Fnv kFnv32 = {0x811C9DC5, 0x1000193};

uint32_t fnv1(const Fnv& fnv, std::span<const std::byte> key) noexcept {
  uint32_t hash = fnv.basis;
  for (const std::byte byte : key) {
    hash = (hash * fnv.prime) ^ sign_extended(byte);
  }
  return hash;
}

uint32_t fnv1a(const Fnv& fnv, std::span<const std::byte> key) noexcept {
  uint32_t hash = fnv.basis;
  for (const std::byte byte : key) {
    hash = (hash ^ sign_extended(byte)) * fnv.prime;
  }
  return hash;
}

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
    }
    table[i] = crc;
  }
  return table;
}();

uint32_t crc32(std::span<const std::byte> key) noexcept {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : key) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ std::to_integer<uint32_t>(byte)) & 0xFF];
  }
  return ~crc;
}

uint32_t one_at_a_time(std::span<const std::byte> key) noexcept {
  uint32_t hash = 0;
  for (const std::byte byte : key) {
    hash += sign_extended(byte);
    hash += hash << 10;
    hash ^= hash >> 6;
  }
  hash += hash << 3;
  hash ^= hash >> 11;
  hash += hash << 15;
  return hash;
}

}  // namespace

uint32_t ketama_key_hash(KetamaKeyHash kind, std::span<const std::byte> key) noexcept {
  switch (kind) {
    case KetamaKeyHash::kFnv1a64:
      return fnv1a(kFnv64, key);
    case KetamaKeyHash::kFnv164:
      return fnv1(kFnv64, key);
    case KetamaKeyHash::kFnv1a32:
      return fnv1a(kFnv32, key);
    case KetamaKeyHash::kFnv132:
      return fnv1(kFnv32, key);
    case KetamaKeyHash::kCrc32a:
      return crc32(key);
    case KetamaKeyHash::kOneAtATime:
      return one_at_a_time(key);
    case KetamaKeyHash::kMd5:
      break;
  }
  return 0;
}

}  // namespace cuckoo::core
