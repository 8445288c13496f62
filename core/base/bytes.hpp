// Little-endian loads and stores at any address, on a machine of any byte order, and other small
// functions of bytes and wide numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/base/uint128.hpp"

namespace cuckoo {

template <class Unsigned>
inline Unsigned load_le(const std::byte* from) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    Unsigned value;
    std::memcpy(&value, from, sizeof value);
    return value;
  } else {
    Unsigned value = 0;
    for (size_t i = 0; i < sizeof value; ++i) {
      value |= static_cast<Unsigned>(static_cast<Unsigned>(from[i]) << (8 * i));
    }
    return value;
  }
}

template <class Unsigned>
inline void store_le(std::byte* to, Unsigned value) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &value, sizeof value);
  } else {
    for (size_t i = 0; i < sizeof value; ++i) {
      to[i] = static_cast<std::byte>(value >> (8 * i));
    }
  }
}

// Load and store the lower 48 bits of a number, in 6 bytes.
inline uint64_t load_le48(const std::byte* from) noexcept {
  return load_le<uint32_t>(from) | uint64_t{load_le<uint16_t>(from + 4)} << 32;
}

inline void store_le48(std::byte* to, uint64_t value) noexcept {
  store_le(to, static_cast<uint32_t>(value));
  store_le(to + 4, static_cast<uint16_t>(value >> 32));
}

// Return the bits of a real, as they are stored. (std::bit_cast came late to Clang's library.)
inline uint64_t bits_of(double value) noexcept {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline double real_from_bits(uint64_t bits) noexcept {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Looks at 32 bytes at a time, because a loop that may end at each byte is slow.
inline bool all_zero(std::span<const std::byte> bytes) noexcept {
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) {
    const std::byte* const at = bytes.data();
    if ((load_le<uint64_t>(at) | load_le<uint64_t>(at + 8) | load_le<uint64_t>(at + 16) |
         load_le<uint64_t>(at + 24)) != 0) {
      return false;
    }
  }
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Returns the high 64 bits of a * b. So it maps a uniform 64-bit `a` to 0 … b-1 without a division
// (Lemire 2019).
inline uint64_t multiply_high(uint64_t a, uint64_t b) noexcept {
  return static_cast<uint64_t>((static_cast<uint128>(a) * b) >> 64);
}

constexpr uint128 low_bits_mask(uint32_t bits) noexcept {
  return bits >= 128 ? ~uint128{0} : (uint128{1} << bits) - 1;
}

}  // namespace cuckoo
