// Unsigned numbers of 128 bits: products of two words, and wide buckets. GCC and Clang have them on
// every 64-bit target; on others TwoWords takes their place.
//
//   I1  the operators of TwoWords give the same results as the built-in type, bit for bit. Reals
//       are within one unit in the last place.
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

namespace cuckoo {

class TwoWords {
 public:
  constexpr TwoWords(uint64_t low = 0) noexcept : low_(low) {}  // NOLINT: as built-in numbers do

  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr explicit operator Number() const noexcept {
    if constexpr (std::is_same_v<Number, bool>) {
      return (low_ | high_) != 0;
    } else if constexpr (std::is_floating_point_v<Number>) {
      return static_cast<Number>(high_) * static_cast<Number>(0x1p64) + static_cast<Number>(low_);
    } else {
      return static_cast<Number>(low_);
    }
  }

  friend constexpr bool operator==(TwoWords, TwoWords) noexcept = default;

  friend constexpr TwoWords operator~(TwoWords a) noexcept { return {~a.high_, ~a.low_}; }
  friend constexpr TwoWords operator|(TwoWords a, TwoWords b) noexcept {
    return {a.high_ | b.high_, a.low_ | b.low_};
  }
  friend constexpr TwoWords operator&(TwoWords a, TwoWords b) noexcept {
    return {a.high_ & b.high_, a.low_ & b.low_};
  }
  friend constexpr TwoWords operator<<(TwoWords a, uint32_t bits) noexcept {
    assert(bits < 128);
    return bits == 0   ? a
           : bits < 64 ? TwoWords(a.high_ << bits | a.low_ >> (64 - bits), a.low_ << bits)
                       : TwoWords(a.low_ << (bits - 64), 0);
  }
  friend constexpr TwoWords operator>>(TwoWords a, uint32_t bits) noexcept {
    assert(bits < 128);
    return bits == 0   ? a
           : bits < 64 ? TwoWords(a.high_ >> bits, a.low_ >> bits | a.high_ << (64 - bits))
                       : TwoWords(0, a.high_ >> (bits - 64));
  }
  friend constexpr TwoWords operator+(TwoWords a, TwoWords b) noexcept {
    const uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low};
  }
  friend constexpr TwoWords operator-(TwoWords a, TwoWords b) noexcept { return a + ~b + 1; }
  friend constexpr TwoWords operator*(TwoWords a, TwoWords b) noexcept {
    TwoWords product = product_of(a.low_, b.low_);
    product.high_ += a.high_ * b.low_ + a.low_ * b.high_;
    return product;
  }

  constexpr TwoWords& operator|=(TwoWords b) noexcept { return *this = *this | b; }
  constexpr TwoWords& operator<<=(uint32_t bits) noexcept { return *this = *this << bits; }
  constexpr TwoWords& operator>>=(uint32_t bits) noexcept { return *this = *this >> bits; }

 private:
  constexpr TwoWords(uint64_t high, uint64_t low) noexcept : low_(low), high_(high) {}

  // Multiplies by half words, because each product of two of them fits a word.
  static constexpr TwoWords product_of(uint64_t a, uint64_t b) noexcept {
    constexpr uint64_t kHalf = 0xFFFF'FFFF;
    const uint64_t low = (a & kHalf) * (b & kHalf);
    const uint64_t middle = (a >> 32) * (b & kHalf) + (low >> 32);
    const uint64_t other = (a & kHalf) * (b >> 32) + (middle & kHalf);
    return {(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32), other << 32 | (low & kHalf)};
  }

  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

#if defined(__SIZEOF_INT128__)
__extension__ using uint128 = unsigned __int128;
#else
using uint128 = TwoWords;
#endif

}  // namespace cuckoo
