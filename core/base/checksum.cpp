#include "core/base/checksum.hpp"

#include <array>

#include "core/base/bytes.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CUCKOO_CRC32C_INSTRUCTION 1
#include <nmmintrin.h>
#endif

namespace cuckoo {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed

// [k][byte] is the effect of a byte that is followed by k further bytes.
using Slices = std::array<std::array<uint32_t, 256>, 8>;

constexpr Slices make_slices() {
  Slices slices{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    slices[0][byte] = crc;
  }
  for (size_t k = 1; k < slices.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = slices[k - 1][byte];
      slices[k][byte] = (before >> 8) ^ slices[0][before & 0xFF];
    }
  }
  return slices;
}

constexpr Slices kSlices = make_slices();

#ifdef CUCKOO_CRC32C_INSTRUCTION

// The instruction takes 3 cycles and a new one can start each cycle, so three streams run side by
// side. With streams of 320 bytes a round takes 960, so a page of kPageBytes takes 4 rounds. What
// is left, and a record of a flash store, which has 496 bytes by default, takes a round of shorter
// streams.
constexpr size_t kLongStreamBytes = 320;
constexpr size_t kShortStreamBytes = 160;
constexpr size_t kShortestStreamBytes = 64;

// [k][byte] is the effect of byte k of a checksum when a stream of zero bytes follows. The checksum
// is linear, so the XOR of its four bytes' effects is the new checksum.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr Shift make_shift(size_t stream_bytes) {
  std::array<uint32_t, 32> bits{};
  for (size_t bit = 0; bit < bits.size(); ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < stream_bytes; ++i) {
      crc = (crc >> 8) ^ kSlices[0][crc & 0xFF];
    }
    bits[bit] = crc;
  }
  Shift shift{};
  for (size_t k = 0; k < shift.size(); ++k) {
    for (size_t byte = 1; byte < 256; ++byte) {
      const auto lowest = static_cast<size_t>(std::countr_zero(byte));
      shift[k][byte] = shift[k][byte & (byte - 1)] ^ bits[8 * k + lowest];
    }
  }
  return shift;
}

template <size_t kStreamBytes>
constexpr Shift kShift = make_shift(kStreamBytes);

template <size_t kStreamBytes>
uint32_t behind_stream(uint64_t sum) noexcept {
  constexpr const Shift& shift = kShift<kStreamBytes>;
  const auto crc = static_cast<uint32_t>(sum);
  return shift[0][crc & 0xFF] ^ shift[1][(crc >> 8) & 0xFF] ^ shift[2][(crc >> 16) & 0xFF] ^
         shift[3][crc >> 24];
}

// Takes rounds of three such streams, as many as there are.
template <size_t kStreamBytes>
__attribute__((target("sse4.2,crc32"))) uint64_t take_rounds(const std::byte*& at, size_t& left,
                                                             uint64_t sum) noexcept {
  for (; left >= 3 * kStreamBytes; left -= 3 * kStreamBytes, at += 3 * kStreamBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kStreamBytes; i += 8) {
      sum = _mm_crc32_u64(sum, load_le<uint64_t>(at + i));
      second = _mm_crc32_u64(second, load_le<uint64_t>(at + kStreamBytes + i));
      third = _mm_crc32_u64(third, load_le<uint64_t>(at + 2 * kStreamBytes + i));
    }
    sum = behind_stream<kStreamBytes>(sum) ^ second;
    sum = behind_stream<kStreamBytes>(sum) ^ third;
  }
  return sum;
}

__attribute__((target("sse4.2,crc32"))) uint32_t crc32c_instruction(
    std::span<const std::byte> bytes, uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  uint64_t sum = ~crc;
  sum = take_rounds<kLongStreamBytes>(at, left, sum);
  sum = take_rounds<kShortStreamBytes>(at, left, sum);
  sum = take_rounds<kShortestStreamBytes>(at, left, sum);
  for (; left >= 8; left -= 8, at += 8) {
    sum = _mm_crc32_u64(sum, load_le<uint64_t>(at));
  }
  auto last = static_cast<uint32_t>(sum);
  if (left >= 4) {
    last = _mm_crc32_u32(last, load_le<uint32_t>(at));
    left -= 4;
    at += 4;
  }
  for (; left > 0; --left, ++at) {
    last = _mm_crc32_u8(last, static_cast<uint8_t>(*at));
  }
  return ~last;
}

#endif  // CUCKOO_CRC32C_INSTRUCTION

}  // namespace

uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  crc = ~crc;
  for (; left >= 8; left -= 8, at += 8) {
    const uint64_t word = load_le<uint64_t>(at) ^ crc;
    crc = kSlices[7][word & 0xFF] ^ kSlices[6][(word >> 8) & 0xFF] ^
          kSlices[5][(word >> 16) & 0xFF] ^ kSlices[4][(word >> 24) & 0xFF] ^
          kSlices[3][(word >> 32) & 0xFF] ^ kSlices[2][(word >> 40) & 0xFF] ^
          kSlices[1][(word >> 48) & 0xFF] ^ kSlices[0][word >> 56];
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kSlices[0][(crc ^ static_cast<uint32_t>(*at)) & 0xFF];
  }
  return ~crc;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) noexcept {
#ifdef CUCKOO_CRC32C_INSTRUCTION
  if (__builtin_cpu_supports("sse4.2")) {
    return crc32c_instruction(bytes, crc);
  }
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace cuckoo
