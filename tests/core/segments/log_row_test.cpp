#include "core/segments/log_row.hpp"

#include "tests/core/segments/log_rows.hpp"

namespace cuckoo::segments::segments_log_row_test {
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
  static constexpr LogHeader kHeader = {0x1122334455667788, 1000, 900, 0xABCDEF};
};

TEST_P(SegmentLogRows, parse_to_what_was_encoded) {
  const std::vector<MoreCopies> more = {{0, 1}, {7, kMostCopies - 1}, {8, 4}, {499, 1}};
  for (const size_t count : {0u, 1u, 2u, 8u, 500u}) {
    const std::vector<uint64_t> written = entries(count);
    const Bytes bytes = test::encoded_row(kHeader, written, GetParam(), more);
    const LogRow row = must(parse_log_row(bytes, GetParam()));
    EXPECT_EQ(row.header.chain, kHeader.chain);
    EXPECT_EQ(row.header.position, kHeader.position);
    EXPECT_EQ(row.header.items, kHeader.items);
    EXPECT_EQ(row.header.directory_version, kHeader.directory_version);
    ASSERT_EQ(row.size(), count);
    for (const size_t first : {size_t{0}, count / 2, count}) {
      LogCursor at(row, first);
      Copies copies(more);
      for (size_t i = first; i < count; ++i) {
        ASSERT_TRUE(at.next());
        EXPECT_EQ(at.index(), i);
        EXPECT_EQ(at.entry(), written[i]);
        EXPECT_EQ(at.copies(), copies.of(i)) << i;
      }
      EXPECT_FALSE(at.next());
    }
  }
}

// Readers compare what they know with the beginning of a row that got longer.
TEST_P(SegmentLogRows, I1_I4_have_the_chain_value_of_their_first_entries_however_they_came) {
  const std::vector<uint64_t> written = entries(20);
  const std::vector<MoreCopies> more = {{2, 1}, {3, 5}, {11, 2}};
  LogRowWriter grown(GetParam());
  grown.start(kHeader.position, kHeader.chain);
  for (size_t i = 0; i <= written.size(); ++i) {
    const std::vector<uint64_t> first(written.begin(),
                                      written.begin() + static_cast<std::ptrdiff_t>(i));
    const uint64_t chain = test::chain_over(kHeader.chain, first, GetParam(), more);
    EXPECT_EQ(grown.row().chain_after(), chain);
    EXPECT_EQ(grown.chain(), chain);
    const LogRowWriter whole = test::row_of(kHeader, written, GetParam(), more);
    EXPECT_EQ(whole.row().first(i).chain_after(), chain);
    LogRowWriter joined = test::row_of(kHeader, first, GetParam(), more);
    joined.append(whole.row(), i);
    EXPECT_EQ(joined.row().chain_after(), whole.row().chain_after());
    EXPECT_EQ(joined.chain(), whole.chain());
    if (i < written.size()) {
      grown.append(std::span(written).subspan(i, 1), i, more);
    }
  }
  grown.start(grown.end(), grown.chain());
  EXPECT_EQ(grown.header().position, kHeader.position + 20);
  EXPECT_EQ(grown.header().chain, test::chain_over(kHeader.chain, written, GetParam(), more));
  EXPECT_EQ(grown.chain(), grown.header().chain);
  EXPECT_EQ(grown.size(), 0u);
}

TEST_P(SegmentLogRows, I1_a_chain_value_stands_for_all_entries_their_counts_and_what_was_before) {
  std::vector<uint64_t> written = entries(10);
  const auto chain_over = [&](uint64_t chain, const std::vector<MoreCopies>& more = {}) {
    return test::chain_over(chain, written, GetParam(), more);
  };
  const uint64_t chain = chain_over(7);
  EXPECT_NE(chain, chain_over(8));
  EXPECT_NE(chain, chain_over(7, {{3, 1}}));
  EXPECT_NE(chain_over(7, {{3, 2}}), chain_over(7, {{3, 1}}));
  EXPECT_NE(chain_over(7, {{4, 1}}), chain_over(7, {{3, 1}}));
  for (uint64_t& entry : written) {
    entry ^= kRemoveBit;
    EXPECT_NE(chain, chain_over(7));
    entry ^= kRemoveBit;
  }
  written.clear();
  EXPECT_EQ(chain_over(7), 7u);
}

TEST_P(SegmentLogRows, with_counts_that_can_not_be_are_corrupt) {
  const auto text = [&](size_t index, uint64_t copies, size_t next) {
    const Bytes row =
        test::encoded_row(kHeader, entries(9), GetParam(), {{index, copies - 1}, {next, 1}});
    return message_of(parse_log_row(row, GetParam()).take_status());
  };
  EXPECT_EQ(text(2, 2, 3), "");
  EXPECT_EQ(text(0, kMostCopies, 8), "");
  EXPECT_EQ(text(2, 1, 3), "log row with a count of 1 for entry 2");
  EXPECT_EQ(text(2, 0, 3), "log row with a count of 0 for entry 2");
  EXPECT_EQ(text(2, kMostCopies + 1, 3), "log row with a count of 2147483649 for entry 2");
  EXPECT_EQ(text(2, 2, 2), "log row with a count of 2 for entry 2") << "twice";
  Bytes row = test::encoded_row(kHeader, entries(9), GetParam(), {{8, 1}});
  row[row.size() - kLogCountBytes] = std::byte{9};
  EXPECT_EQ(message_of(parse_log_row(row, GetParam()).take_status()),
            "log row with a count of 2 for entry 9");
}

TEST_P(SegmentLogRows, of_another_length_or_kind_are_corrupt) {
  const Bytes row = test::encoded_row(kHeader, entries(20), GetParam(), {{4, 1}});
  for (size_t bytes = 0; bytes < row.size(); ++bytes) {
    EXPECT_FALSE(parse_log_row(std::span(row).first(bytes), GetParam()).ok()) << bytes;
  }
  Bytes longer = row;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parse_log_row(longer, GetParam()).ok());
  const HashWidth other =
      GetParam() == HashWidth::k47Bits ? HashWidth::k63Bits : HashWidth::k47Bits;
  EXPECT_FALSE(parse_log_row(row, other).ok());
  for (size_t at = 32; at < kLogHeaderBytes; ++at) {
    Bytes changed = row;
    changed[at] ^= std::byte{4};
    EXPECT_FALSE(parse_log_row(changed, GetParam()).ok()) << at;
  }
}

TEST_P(SegmentLogRows, fit_their_bytes_unless_they_have_counts) {
  for (const size_t bytes : {64u, 448u, 4032u, 65472u}) {
    const size_t capacity = log_row_capacity(bytes, GetParam());
    EXPECT_LE(test::encoded_row(kHeader, entries(capacity), GetParam()).size(), bytes);
    EXPECT_LE(capacity, size_t{UINT16_MAX});
    EXPECT_GT(test::encoded_row(kHeader, entries(capacity + 1), GetParam()).size(), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, SegmentLogRows,
                         ::testing::Values(HashWidth::k47Bits, HashWidth::k63Bits),
                         [](const auto& info) {
                           return std::to_string(static_cast<int>(info.param));
                         });

}  // namespace
}  // namespace cuckoo::segments::segments_log_row_test
