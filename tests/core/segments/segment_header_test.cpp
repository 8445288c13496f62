#include "core/segments/segment_header.hpp"

#include "core/segments/blocks.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_segment_header_test {
namespace {

SegmentHeader sample() {
  SegmentHeader header;
  header.prefix = uint64_t{0b1011} << 60;
  header.depth = 4;
  header.number = 77;
  header.capacity = 65536;
  header.size = 16900;
  header.folded_to = 123456789;
  header.base_id = 0xFEDCBA9876543210;
  header.digest = 0x0123456789ABCDEF;
  header.occupied = 60000;
  header.items = 60010;
  header.overflow_items = 10;
  header.overflow_digest = 42;
  header.sums_hash = 276;
  header.made_at = 4567;
  header.shape = 19;
  header.detail = 6;
  header.pages = 24;
  header.overflow_blocks = 1;
  header.run_blocks = 90;
  header.run_entries = 60500;
  header.dead = 300;
  return header;
}

Bytes encoded(const SegmentHeader& header) {
  Bytes bytes(kSegmentHeaderBytes, std::byte{0xEE});
  encode_segment_header(header, bytes);
  return bytes;
}

TEST(SegmentHeaders, decode_to_what_was_encoded) {
  EXPECT_EQ(must(decode_segment_header(encoded(sample()))), sample());
}

TEST(SegmentHeaders, one_that_is_not_there_reads_as_zeros_and_takes_a_pointer) {
  StoredHeader stored;
  EXPECT_LE(sizeof stored, sizeof(void*));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*stored, SegmentHeader{});
    EXPECT_EQ(stored.memory_bytes(), 0U);
    stored = sample();
    EXPECT_EQ(*stored, sample());
    SegmentHeader other = sample();
    ++other.number;
    stored = other;
    EXPECT_EQ(stored->number, sample().number + 1);
    EXPECT_EQ(stored.memory_bytes(), sizeof(SegmentHeader));
    stored = SegmentHeader{};
  }
}

TEST(SegmentHeaders, every_byte_counts) {
  const Bytes good = encoded(sample());
  for (size_t at = 0; at < good.size(); ++at) {
    for (const unsigned bit : {0u, 3u, 7u}) {
      Bytes bytes = good;
      bytes[at] ^= std::byte{1} << bit;
      const Result<SegmentHeader> decoded = decode_segment_header(bytes);
      EXPECT_FALSE(decoded.ok() && decoded.value() == sample()) << "byte " << at;
    }
  }
}

TEST(SegmentHeaders, a_prefix_has_no_bits_below_its_depth) {
  for (const unsigned depth : {0u, 1u, 29u, 30u}) {
    SegmentHeader header = sample();
    header.depth = static_cast<uint8_t>(depth);
    header.prefix = depth == 0 ? 0 : uint64_t{1} << (64 - depth);
    EXPECT_TRUE(decode_segment_header(encoded(header)).ok()) << depth;
    header.prefix += uint64_t{1} << (63 - depth);
    EXPECT_FALSE(decode_segment_header(encoded(header)).ok()) << depth;
  }
  SegmentHeader deep = sample();
  deep.depth = kMaxDepth + 1;
  EXPECT_FALSE(decode_segment_header(encoded(deep)).ok());
}

TEST(SegmentHeaders, numbers_out_of_range_are_corrupt) {
  const auto refused = [](auto&& change) {
    SegmentHeader header = sample();
    change(header);
    const Result<SegmentHeader> decoded = decode_segment_header(encoded(header));
    return !decoded.ok() && decoded.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_FALSE(refused([](SegmentHeader&) {}));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.number = 0; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.number = kMaxSegmentNumber + 1; }));
  EXPECT_FALSE(refused([](SegmentHeader& h) { h.number = kMaxSegmentNumber; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.capacity = 0; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.capacity = (uint64_t{1} << 40) + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.items = (uint64_t{1} << 62) + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.pages = (1u << 23) + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.run_blocks = (1u << 22) + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.overflow_blocks = (1u << 22) + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.dead = h.run_entries + 1; }));
  EXPECT_TRUE(refused([](SegmentHeader& h) { h.made_at = h.folded_to + 1; }));
  EXPECT_FALSE(refused([](SegmentHeader& h) { h.made_at = h.folded_to; }));
}

}  // namespace
}  // namespace cuckoo::segments::segments_segment_header_test
