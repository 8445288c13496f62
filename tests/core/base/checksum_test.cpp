#include "core/base/checksum.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::base_checksum_test {
namespace {

using Crc = uint32_t (*)(std::span<const std::byte>, uint32_t) noexcept;

// The definition, bit by bit.
uint32_t crc_by_bits(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    }
  }
  return ~crc;
}

std::vector<std::byte> random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

class Checksum : public testing::TestWithParam<Crc> {};

// The first sum is the usual check value of CRC-32C, and the second that of no bytes. The others
// are from RFC 3720, appendix B.4.
TEST_P(Checksum, known_messages_give_known_sums) {
  const Crc crc = GetParam();
  EXPECT_EQ(crc(bytes_of("123456789"), 0), 0xE3069283u);
  EXPECT_EQ(crc({}, 0), 0u);
  std::vector<std::byte> block(32, std::byte{0});
  EXPECT_EQ(crc(block, 0), 0x8A9136AAu);
  block.assign(32, std::byte{0xFF});
  EXPECT_EQ(crc(block, 0), 0x62A8AB43u);
  for (size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<std::byte>(i);
  }
  EXPECT_EQ(crc(block, 0), 0x46DD794Eu);
}

TEST_P(Checksum, any_length_and_alignment_equals_the_definition) {
  const std::vector<std::byte> bytes = random_bytes(4200, 1);
  std::vector<size_t> sizes{191,  192,  255,  256,  319,  320,  384,  479,  480,
                            492,  671,  672,  959,  960,  961,  967,  968,  1151,
                            1439, 1440, 1631, 1632, 1919, 1920, 2880, 4032, 4190};
  for (size_t size = 0; size < 70; ++size) {
    sizes.push_back(size);
  }
  for (const size_t size : sizes) {
    for (size_t start = 0; start < 10; ++start) {
      const std::span<const std::byte> part = std::span(bytes).subspan(start, size);
      ASSERT_EQ(GetParam()(part, 0), crc_by_bits(part)) << "start " << start << " size " << size;
    }
  }
}

TEST_P(Checksum, a_message_in_two_parts_equals_the_whole) {
  const std::vector<std::byte> bytes = random_bytes(3000, 2);
  const uint32_t whole = GetParam()(bytes, 0);
  for (size_t cut = 0; cut <= bytes.size(); cut += 7) {
    const uint32_t first = GetParam()(std::span(bytes).first(cut), 0);
    ASSERT_EQ(GetParam()(std::span(bytes).subspan(cut), first), whole) << "cut at " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, Checksum, testing::Values(&crc32c, &crc32c_portable),
                         [](const auto& info) { return info.index == 0 ? "fastest" : "portable"; });

}  // namespace
}  // namespace cuckoo::base_checksum_test
