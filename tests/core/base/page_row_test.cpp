#include "core/base/page_row.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::base_page_row_test {
namespace {

Bytes content_of(size_t size, uint64_t seed) {
  Bytes content(size);
  for (size_t i = 0; i < size; ++i) {
    content[i] = static_cast<std::byte>(nth_word(seed, i));
  }
  return content;
}

bool decodes(const Bytes& row, int64_t id, uint64_t seed) {
  const Result<std::span<const std::byte>> content = decode_page_row(row, id, seed);
  if (!content.ok()) {
    EXPECT_EQ(content.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(content.error().message.empty());
  }
  return content.ok();
}

TEST(PageRow, round_trip_gives_the_content_back) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{kPageBytes}}) {
    for (const int64_t id : {int64_t{0}, int64_t{1} << 40, INT64_MAX, int64_t{-1}}) {
      const Bytes content = content_of(size, size);
      const Bytes row = encode_page_row(content, id, 42);
      ASSERT_EQ(row.size(), size + kPageCrcBytes);
      const std::span<const std::byte> back = must(decode_page_row(row, id, 42));
      EXPECT_EQ(back.data(), row.data()) << "a view into the row";
      EXPECT_TRUE(std::equal(content.begin(), content.end(), back.begin(), back.end()));
    }
  }
}

TEST(PageRow, another_id_or_seed_is_found) {
  const Bytes row = encode_page_row(content_of(128, 1), 5, 42);
  EXPECT_TRUE(decodes(row, 5, 42));
  EXPECT_FALSE(decodes(row, 6, 42));
  EXPECT_FALSE(decodes(row, -5, 42));
  EXPECT_FALSE(decodes(row, 5 + (int64_t{1} << 40), 42));
  EXPECT_FALSE(decodes(row, 5, 43));
  EXPECT_FALSE(decodes(row, 5, 42 + (uint64_t{1} << 63)));
  EXPECT_FALSE(decodes(row, 42, 5));
}

TEST(PageRow, every_changed_bit_is_found) {
  Bytes row = encode_page_row(content_of(96, 2), 7, 9);
  for (size_t bit = 0; bit < 8 * row.size(); ++bit) {
    row[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decodes(row, 7, 9)) << "bit " << bit;
    row[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(PageRow, every_other_length_is_found) {
  const Bytes row = encode_page_row(content_of(96, 3), 7, 9);
  for (size_t size = 0; size < row.size(); ++size) {
    EXPECT_FALSE(decodes(Bytes(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(size)), 7, 9))
        << size << " bytes";
  }
  Bytes longer = row;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decodes(longer, 7, 9));
}

// Nobody may change the format by accident: another format needs a new record version.
TEST(PageRow, stored_bytes_are_what_they_always_were) {
  const Bytes row = encode_page_row(content_of(8, 0), 0x0102030405060708, 0x1112131415161718);
  EXPECT_EQ(load_le<uint32_t>(&row[8]), 0x61ACC1D5u);
}

}  // namespace
}  // namespace cuckoo::base_page_row_test
