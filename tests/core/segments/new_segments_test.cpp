#include "core/segments/new_segments.hpp"

#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_new_segments_test {
namespace {

FilterOptions options_of(uint64_t capacity) {
  return test::small_segments(FilterKind::kCuckoo, true, capacity);
}

SegmentMaker maker_of(const FilterOptions& options) {
  return {.options = &options, .limits = segment_limits(options).value(), .keeps_hashes = true};
}

// An empty piece, as CREATE makes it, of that depth.
Piece empty_piece(const FilterOptions& options, uint64_t index, unsigned depth) {
  const SegmentLimits limits = segment_limits(options).value();
  Piece piece;
  piece.prefix = depth == 0 ? 0 : index << (64 - depth);
  piece.depth = depth;
  piece.capacity = limits.share;
  piece.filter = options.make_filter_for(limits.share).value();
  piece.filter->pages().complete();
  return piece;
}

std::vector<NetHash> hashes_of(uint64_t count, uint64_t prefix = 0, unsigned depth = 0) {
  std::vector<NetHash> hashes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t hash = logged_hash(prefix | nth_key(i) >> depth, HashWidth::k47Bits);
    hashes.push_back({hash, 1});
  }
  std::sort(hashes.begin(), hashes.end(),
            [](const NetHash& a, const NetHash& b) { return a.hash < b.hash; });
  return hashes;
}

TEST(NewSegments, that_are_as_create_makes_them_need_no_header) {
  const FilterOptions options = options_of(uint64_t{1} << 40);
  const SegmentLimits limits = segment_limits(options).value();
  ASSERT_EQ(limits.depth, kMostFirstDepth);
  NewSegments next(maker_of(options));
  for (uint64_t i = 0; i < uint64_t{1} << limits.depth; ++i) {
    expect_ok(next.cut({}));
  }
  expect_ok(next.finish());
  EXPECT_EQ(next.next_number(), 1);
  EXPECT_EQ(next.first_depth(), limits.depth);
  EXPECT_TRUE(next.empty());
  EXPECT_EQ(next.directory().size(), uint64_t{1} << limits.depth);
  EXPECT_EQ(next.directory().leaf(0).segment, nullptr);
}

// Slots of a directory are those of CREATE first, in their order, and all others behind them.
TEST(NewSegments, that_are_deeper_have_slots_behind_those_of_create) {
  const FilterOptions options = options_of(4000);
  const SegmentLimits limits = segment_limits(options).value();
  ASSERT_EQ(limits.depth, 1);
  SegmentMaker maker = maker_of(options);
  maker.number = 7;
  maker.position = 5;
  NewSegments next(maker);
  expect_ok(next.cut(hashes_of(3 * limits.keys, 0, 1)));
  expect_ok(next.cut({}));
  expect_ok(next.finish());
  EXPECT_EQ(next.first_depth(), 1);
  EXPECT_EQ(next.items(), 3 * limits.keys);
  EXPECT_FALSE(next.empty());
  Directory& directory = next.directory();
  ASSERT_GT(directory.size(), 4);
  EXPECT_EQ(directory.leaf(0).prefix, 0);
  EXPECT_EQ(directory.leaf(0).segment->header().number, 7);
  EXPECT_EQ(directory.leaf(0).segment->header().folded_to, 5);
  EXPECT_EQ(directory.leaf(1).prefix, uint64_t{1} << 63);
  EXPECT_EQ(directory.leaf(1).segment, nullptr);
  EXPECT_EQ(directory.leaf(2).segment->header().number, 8);
  EXPECT_EQ(next.next_number(), 7 + directory.size() - 1);
  for (size_t i = 2; i < directory.size(); ++i) {
    EXPECT_GT(directory.leaf(i).depth, 1);
    EXPECT_LE(directory.leaf(i).segment->header().items, limits.keys);
  }
}

TEST(NewSegments, some_of_which_are_larger_than_a_share_all_have_headers) {
  const FilterOptions options = options_of(16000);
  const SegmentLimits limits = segment_limits(options).value();
  ASSERT_GE(limits.depth, 3);
  NewSegments next(maker_of(options));
  expect_ok(next.take(empty_piece(options, 0, 1)));
  for (uint64_t i = 1 << (limits.depth - 1); i < uint64_t{1} << limits.depth; ++i) {
    expect_ok(next.take(empty_piece(options, i, limits.depth)));
  }
  expect_ok(next.finish());
  EXPECT_EQ(next.first_depth(), 0);
  EXPECT_EQ(next.next_number(), 1 + next.directory().size());
  for (size_t i = 0; i < next.directory().size(); ++i) {
    ASSERT_NE(next.directory().leaf(i).segment, nullptr);
    EXPECT_NE(next.directory().leaf(i).segment->header().number, 0);
  }
}

TEST(NewSegments, end_where_there_are_no_more_numbers) {
  const FilterOptions options = options_of(100);
  const SegmentLimits limits = segment_limits(options).value();
  SegmentMaker maker = maker_of(options);
  maker.number = kMaxSegmentNumber;
  NewSegments next(maker);
  EXPECT_TRUE(fails(next.cut(hashes_of(3 * limits.keys)), ErrorCode::kFull));
  NewSegments last(maker);
  expect_ok(last.cut(hashes_of(10)));
  expect_ok(last.finish());
}

// Even pieces that begin well may be too deep; filter_file_replace_test.cpp has the other errors.
TEST(NewSegments, are_refused_where_they_are_too_deep) {
  const FilterOptions options = options_of(100);
  NewSegments next(maker_of(options));
  for (unsigned depth = kMaxDepth; depth > 0; --depth) {
    if (depth == kMaxDepth) {
      expect_ok(next.take(empty_piece(options, 0, depth)));
    }
    expect_ok(next.take(empty_piece(options, 1, depth)));
  }
  const Status status = next.finish();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("30 bits deep"), std::string::npos);
}

}  // namespace
}  // namespace cuckoo::segments::segments_new_segments_test
