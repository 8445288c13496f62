#include "core/segments/segment_maker.hpp"

#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_segment_maker_test {
namespace {

using Segments = std::vector<std::unique_ptr<Segment>>;

class OfSegmentMaker : public ::testing::Test {
 protected:
  // Hashes of the upper half.
  static std::vector<NetHash> hashes(uint64_t count) {
    std::vector<NetHash> hashes;
    for (uint64_t i = 0; i < count; ++i) {
      hashes.push_back({logged_hash(kRange.prefix | nth_key(i) >> 1, HashWidth::k47Bits), 1});
    }
    std::sort(hashes.begin(), hashes.end(),
              [](const NetHash& a, const NetHash& b) { return a.hash < b.hash; });
    return hashes;
  }
  SegmentMaker maker(bool keeps_hashes = true) const {
    SegmentMaker maker{&options_, segment_limits(options_).value(), keeps_hashes};
    maker.number = 7;
    maker.position = 5;
    return maker;
  }
  Segments make(SegmentMaker maker, const SegmentMaker::Range& range, uint64_t count) {
    Segments made = must(maker.make(range, hashes(count)));
    EXPECT_EQ(maker.number, 7 + made.size());
    return made;
  }

  static constexpr SegmentMaker::Range kRange{uint64_t{1} << 63, 1, 100, 6, false};
  FilterOptions options_ = test::small_segments(FilterKind::kCuckoo);
};

TEST_F(OfSegmentMaker, as_many_as_there_is_room_for_become_one_of_the_same_capacity) {
  const Segments made = make(maker(), kRange, 100);
  ASSERT_EQ(made.size(), 1U);
  const SegmentHeader& header = made[0]->header();
  EXPECT_EQ(header.prefix, kRange.prefix);
  EXPECT_EQ(header.depth, 1);
  EXPECT_EQ(header.number, 7U);
  EXPECT_EQ(header.capacity, 100U);
  EXPECT_EQ(header.items, 100U);
  EXPECT_EQ(header.run_entries, 100U);
  EXPECT_EQ(header.folded_to, 5U);
  EXPECT_EQ(header.made_at, 4U);
}

TEST_F(OfSegmentMaker, more_become_a_larger_one) {
  for (const uint64_t count : {101U, 50U}) {
    SegmentMaker::Range range = kRange;
    range.too_full = count < 100;
    const Segments made = make(maker(), range, count);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_GT(made[0]->header().capacity, count);
    EXPECT_NE(made[0]->header().capacity, 100U);
  }
}

TEST_F(OfSegmentMaker, more_than_one_may_hold_become_several_as_far_as_they_may_be_split) {
  const uint64_t most = maker().limits.keys;
  for (const unsigned bits : {0U, 1U, 6U}) {
    SegmentMaker::Range range = kRange;
    range.most_bits = bits;
    const Segments made = make(maker(), range, 3 * most);
    EXPECT_EQ(made.size(), size_t{1} << std::min(bits, 2U));
    uint64_t items = 0;
    uint64_t number = 7;
    uint64_t prefix = range.prefix;
    for (const std::unique_ptr<Segment>& segment : made) {
      const SegmentHeader& header = segment->header();
      EXPECT_EQ(header.prefix, prefix);
      EXPECT_EQ(header.number, number++);
      EXPECT_GE(header.capacity, header.items);
      prefix += uint64_t{1} << (64 - header.depth);
      items += header.items;
    }
    EXPECT_EQ(prefix, 0U) << "to the end";
    EXPECT_EQ(items, 3 * most);
  }
}

TEST_F(OfSegmentMaker, without_hashes_they_never_become_larger) {
  SegmentMaker::Range range = kRange;
  range.too_full = true;
  const Segments made = make(maker(false), range, 150);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0]->header().capacity, 100U);
  EXPECT_EQ(made[0]->header().run_entries, 0U);
}

TEST_F(OfSegmentMaker, I2_a_number_is_used_once_or_there_are_none_left) {
  SegmentMaker last = maker();
  last.number = kMaxSegmentNumber;
  const uint64_t most = last.limits.keys;
  EXPECT_EQ(last.make(kRange, hashes(3 * most)).error().code, ErrorCode::kFull);
  EXPECT_EQ(must(last.make_share(0, 0))->header().number, static_cast<uint64_t>(kMaxSegmentNumber));
  EXPECT_EQ(last.make_share(0, 0).error().code, ErrorCode::kFull);
  EXPECT_EQ(last.make(kRange, {}).error().code, ErrorCode::kFull);
  EXPECT_EQ(last.adopt({}).error().code, ErrorCode::kFull);
}

TEST_F(OfSegmentMaker, can_be_stopped_before_each_segment) {
  const uint64_t count = 3 * segment_limits(options_).value().keys;
  const uint64_t all = make(maker(), kRange, count).size();
  ASSERT_GT(all, 2U);
  for (uint64_t most = 0; most <= all; ++most) {
    uint64_t polls = 0;
    SegmentMaker stopped = maker();
    stopped.poll = [&]() -> Status {
      return ++polls <= most ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
    };
    const Result<Segments> made = stopped.make(kRange, hashes(count));
    EXPECT_EQ(made.ok(), most == all);
    EXPECT_EQ(polls, std::min(most + 1, all));
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_segment_maker_test
