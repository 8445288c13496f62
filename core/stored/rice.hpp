// Writes and reads ascending hashes as a stream of bits: their differences, Golomb-Rice coded, and
// a count if a hash is there more than once (FORMAT.md, "Changes" and "Runs").
//
// A stream's lowest bit comes first; its last byte is filled up with zeros. A delta is the
// difference of two hashes without their low zero bits.
// Reference: Golomb 1966, Rice 1979; parameter for geometric deltas after Kiely 2004.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"

namespace cuckoo {

inline constexpr unsigned kUnaryLimit = 31;      // so many ones announce a delta of 64 plain bits
inline constexpr unsigned kMaxVarintGroups = 9;  // 63 bits: count - 2 <= 2^62 - 2
inline constexpr uint64_t kMaxHashCount = uint64_t{1} << 62;

// Returns how many low bits of a hash of that width are zero.
inline unsigned hash_shift(HashWidth width) noexcept { return 64 - static_cast<unsigned>(width); }

// Returns the best Rice parameter k for geometric deltas of so many hashes: 2^k nearest to
// mean·ln 2.
inline unsigned rice_parameter(HashWidth width, uint64_t expected) noexcept {
  const auto bits = static_cast<unsigned>(width);
  const unsigned log2_count = std::bit_width(std::max<uint64_t>(expected, 1)) - 1;
  if (log2_count >= bits) {
    return 0;
  }
  const uint64_t mean = (uint64_t{1} << bits) / std::max<uint64_t>(expected, 1);
  const uint64_t scaled = mean / 1000 * 693 + mean % 1000 * 693 / 1000;
  return scaled == 0 ? 0 : static_cast<unsigned>(std::bit_width(scaled) - 1);
}

inline unsigned varint_groups(uint64_t value) noexcept {
  unsigned groups = 1;
  while (value >>= 7) {
    ++groups;
  }
  return groups;
}

class BitWriter {
 public:
  // Appends the lowest `count` bits, at most 64. The others are zero.
  void put(uint64_t bits, unsigned count) {
    bit_count_ += count;
    pending_bits_ |= bits << pending_count_;
    pending_count_ += count;
    if (pending_count_ < 64) {
      return;
    }
    const size_t at = bytes_.size();
    bytes_.resize(at + 8);
    store_le(&bytes_[at], pending_bits_);
    pending_count_ -= 64;
    pending_bits_ = pending_count_ == 0 ? 0 : bits >> (count - pending_count_);
  }

  // Appends a delta, and after it up to two bits of `flags`.
  void put_delta(uint64_t delta, unsigned rice, uint64_t flags, unsigned flag_count) {
    const uint64_t quotient = delta >> rice;
    if (quotient >= kUnaryLimit) {
      put((uint64_t{1} << kUnaryLimit) - 1, kUnaryLimit);
      put(delta, 64);
      put(flags, flag_count);
      return;
    }
    const uint64_t low = delta & ((uint64_t{1} << rice) - 1);
    const uint64_t ones = (uint64_t{1} << quotient) - 1;
    const auto unary_bits = static_cast<unsigned>(quotient) + 1;
    if (unary_bits + rice + flag_count <= 64) {
      put(ones | (low | flags << rice) << unary_bits, unary_bits + rice + flag_count);
    } else {
      put(ones, unary_bits);
      put(low, rice);
      put(flags, flag_count);
    }
  }
  static size_t delta_bits(uint64_t delta, unsigned rice) noexcept {
    const uint64_t quotient = delta >> rice;
    return quotient >= kUnaryLimit ? kUnaryLimit + 64 : static_cast<size_t>(quotient) + 1 + rice;
  }

  // Appends a count from 2 to kMaxHashCount.
  void put_count(uint64_t count) {
    uint64_t rest = count - 2;
    const unsigned groups = varint_groups(rest);
    for (unsigned group = 0; group < groups; ++group, rest >>= 7) {
      put((rest & 0x7F) | (group + 1 < groups ? 0x80 : 0), 8);
    }
  }

  size_t bit_count() const noexcept { return bit_count_; }  // that were put since start()
  // Returns the bytes that start() was given, and the stream after them. start() comes before
  // anything else.
  const std::vector<std::byte>& finish() {
    const unsigned tail_bytes = (pending_count_ + 7) / 8;
    for (unsigned i = 0; i < tail_bytes; ++i) {
      bytes_.push_back(static_cast<std::byte>(pending_bits_ >> (8 * i)));
    }
    return bytes_;
  }
  void start(std::span<const std::byte> before = {}) {
    bytes_.assign(before.begin(), before.end());
    pending_bits_ = 0;
    pending_count_ = 0;
    bit_count_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  uint64_t pending_bits_ = 0;
  unsigned pending_count_ = 0;
  size_t bit_count_ = 0;
};

// After the end it reads zeros, and overrun() is true from then on.
class BitReader {
 public:
  static constexpr unsigned kWindowBits = 57;

  explicit BitReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  // Returns the next kWindowBits bits. The bits above them may be anything.
  uint64_t window() const noexcept {
    const size_t at = bit_ / 8;
    if (at + 8 <= bytes_.size()) [[likely]] {
      return load_le<uint64_t>(&bytes_[at]) >> (bit_ % 8);
    }
    uint64_t word = 0;
    for (size_t i = at; i < bytes_.size(); ++i) {
      word |= static_cast<uint64_t>(bytes_[i]) << (8 * (i - at));
    }
    return word >> (bit_ % 8);
  }
  void skip(unsigned count) noexcept { bit_ += count; }

  uint64_t take(unsigned count) noexcept {
    if (count > 32) {
      const uint64_t low = take(32);
      return low | take(count - 32) << 32;
    }
    const uint64_t value = window() & ((uint64_t{1} << count) - 1);
    skip(count);
    return value;
  }

  // Takes the ones before the next zero, and that zero, but at most `limit` ones. Returns the
  // number of ones.
  unsigned take_unary(unsigned limit) noexcept {
    const auto ones = std::min(static_cast<unsigned>(std::countr_one(window())), limit);
    skip(ones < limit ? ones + 1 : limit);
    return ones;
  }

  // Takes a delta. Returns false if it is above `most`, which no delta can be, or BitWriter would
  // have written it in another way.
  bool take_delta(unsigned rice, uint64_t most, uint64_t& delta) noexcept {
    const unsigned quotient = take_unary(kUnaryLimit);
    delta = take(quotient == kUnaryLimit ? 64 : rice);
    if (quotient != kUnaryLimit) {
      if (quotient > most >> rice) {
        return false;
      }
      delta |= uint64_t{quotient} << rice;
    } else if (delta >> rice < kUnaryLimit) {
      return false;
    }
    return delta <= most;
  }

  // Takes a count of 2 or more. Returns false if no count is written like that.
  bool take_count(uint64_t& count) noexcept {
    uint64_t rest = 0;
    for (unsigned group = 0;; ++group) {
      const uint64_t bits = take(8);
      if (group == kMaxVarintGroups || overrun()) {
        return false;
      }
      rest |= (bits & 0x7F) << (7 * group);
      if ((bits & 0x80) == 0) {
        count = rest + 2;
        return count <= kMaxHashCount && (bits != 0 || group == 0);  // no group too many
      }
    }
  }

  bool overrun() const noexcept { return bit_ > 8 * bytes_.size(); }
  // Returns true if only the zero bits are left that fill the last byte.
  bool at_end() const noexcept {
    return !overrun() && 8 * bytes_.size() - bit_ < 8 && window() == 0;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t bit_ = 0;
};

}  // namespace cuckoo
