#include "core/segments/log_row.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments {
namespace segments_log_row_test {
namespace {

class SegmentLogRows : public ::testing::TestWithParam<HashWidth> {
 protected:
  static std::vector<uint64_t> entries(size_t count) {
    std::vector<uint64_t> entries;
    for (uint64_t i = 0; i < count; ++i) {
      entries.push_back(nth_hash(3, i, GetParam()) | (i % 3 == 0 ? kRemoveBit : 0));
    }
    return entries;
  }
  static LogHeader header(size_t count) {
    LogHeader header;
    header.chain = 0x1122334455667788;
    header.position = 1000;
    header.items = 900;
    header.directory_version = 0xABCDEF;
    header.entries = static_cast<uint16_t>(count);
    return header;
  }
};

TEST_P(SegmentLogRows, parse_to_what_was_encoded) {
  for (const size_t count : {0u, 1u, 2u, 500u}) {
    const std::vector<uint64_t> written = entries(count);
    const Bytes row = encode_log_row(header(count), written, GetParam());
    const LogRow parsed = must(segments::parse_log_row(row, GetParam()));
    EXPECT_EQ(parsed.header, header(count));
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(parsed.entry(i, GetParam()), written[i]) << i;
      EXPECT_EQ(parsed.chain_after(i, GetParam()),
                chain_over(header(0).chain, std::span(written).first(i), GetParam()));
    }
  }
}

TEST_P(SegmentLogRows, a_chain_value_stands_for_all_entries_and_what_was_before) {
  std::vector<uint64_t> written = entries(10);
  const uint64_t chain = chain_over(7, written, GetParam());
  EXPECT_NE(chain, chain_over(8, written, GetParam()));
  EXPECT_EQ(chain_over(7, {}, GetParam()), 7u);
  for (uint64_t& entry : written) {
    entry ^= kRemoveBit;
    EXPECT_NE(chain, chain_over(7, written, GetParam()));
    entry ^= kRemoveBit;
  }
}

TEST_P(SegmentLogRows, tell_counts_from_hashes) {
  std::vector<uint64_t> written = entries(9);
  written[2] = count_word(2, 0);
  written[4] = count_word(kMostCopies, 2);
  written[8] = count_word(0, 4);
  LogHeader first = header(9);
  first.last_count = 8;
  const Bytes row = encode_log_row(first, written, GetParam());
  const LogRow parsed = must(segments::parse_log_row(row, GetParam()));
  EXPECT_EQ(parsed.header, first);
  EXPECT_EQ(parsed.counts, (std::vector<uint16_t>{2, 4, 8}));
  EXPECT_EQ(counts_among(written, 8), parsed.counts);
  EXPECT_EQ(copies_of(parsed.count_word(4, GetParam())), kMostCopies);
  EXPECT_EQ(parsed.entry(7, GetParam()), written[7]);
  Bytes changed = row;
  const size_t link = kLogHeaderBytes + 4 * (row.size() - kLogHeaderBytes) / 9 + 4;
  for (const int before : {3, 4, 5, 9}) {  // in the place of its entry, itself, behind it
    changed[link] = static_cast<std::byte>(before);
    EXPECT_FALSE(segments::parse_log_row(changed, GetParam()).ok()) << before;
  }
  changed = row;
  changed[36] = std::byte{9};
  EXPECT_FALSE(segments::parse_log_row(changed, GetParam()).ok()) << "behind the last entry";
  constexpr uint16_t kLast[] = {0, 0, 0, 2, 2, 4, 4, 4, 4, 8};
  for (size_t i = 0; i <= 9; ++i) {
    EXPECT_EQ(parsed.chain_after(i, GetParam()),
              chain_over(first.chain, std::span(written).first(i), GetParam(), kLast[i]));
  }
}

TEST_P(SegmentLogRows, of_another_length_or_kind_are_corrupt) {
  const Bytes row = encode_log_row(header(20), entries(20), GetParam());
  for (size_t bytes = 0; bytes < row.size(); ++bytes) {
    EXPECT_FALSE(segments::parse_log_row(std::span(row).first(bytes), GetParam()).ok()) << bytes;
  }
  Bytes longer = row;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(segments::parse_log_row(longer, GetParam()).ok());
  const HashWidth other =
      GetParam() == HashWidth::k47Bits ? HashWidth::k63Bits : HashWidth::k47Bits;
  EXPECT_FALSE(segments::parse_log_row(row, other).ok());
  for (size_t at = 34; at < kLogHeaderBytes; ++at) {
    Bytes changed = row;
    changed[at] ^= std::byte{4};
    EXPECT_FALSE(segments::parse_log_row(changed, GetParam()).ok()) << at;
  }
}

TEST_P(SegmentLogRows, fit_their_bytes) {
  for (const size_t bytes : {64u, 448u, 4032u, 65472u}) {
    const size_t capacity = log_row_capacity(bytes, GetParam());
    const Bytes full = encode_log_row(header(capacity), entries(capacity), GetParam());
    EXPECT_LE(full.size(), bytes);
    EXPECT_LE(capacity, size_t{UINT16_MAX});
    const Bytes more = encode_log_row(header(capacity + 1), entries(capacity + 1), GetParam());
    EXPECT_GT(more.size(), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, SegmentLogRows,
                         ::testing::Values(HashWidth::k47Bits, HashWidth::k63Bits),
                         [](const auto& info) {
                           return std::to_string(static_cast<int>(info.param));
                         });

}  // namespace
}  // namespace segments_log_row_test
}  // namespace cuckoo::segments
