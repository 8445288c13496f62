#include "core/segments/mark.hpp"

#include <set>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments {
namespace segments_mark_test {
namespace {

FilterMark sample_mark() {
  FilterMark mark;
  mark.kind = FilterKind::kBlockedBloom;
  mark.width = HashWidth::k63Bits;
  mark.unique = true;
  mark.seed = 0x0123456789ABCDEF;
  mark.position = 0xFEDCBA9876543210;
  mark.chain = 42;
  return mark;
}

MarkedPlaces sample_places(size_t count) {
  MarkedPlaces places;
  for (uint64_t i = 0; i < count; ++i) {
    FilterMark mark = sample_mark();
    mark.position = i;
    places.places.push_back({mark, 10 * (i / 2), test::nth_word(2, i)});
  }
  return places;
}

TEST(SegmentMark, round_trip) {
  for (const FilterMark& mark : {FilterMark(), sample_mark()}) {
    const Bytes bytes = encode_mark(mark);
    EXPECT_EQ(bytes.size(), kMarkBytes);
    EXPECT_EQ(must(decode_mark(bytes)), mark);
    EXPECT_EQ(mark_text(mark).substr(0, 10), "434b4d4b03");
    EXPECT_EQ(mark_text(mark).size(), 2 * kMarkBytes);
  }
}

TEST(SegmentMark, every_field_counts) {
  const FilterMark mark = sample_mark();
  std::vector<FilterMark> others(6, mark);
  others[0].kind = FilterKind::kBloom;
  others[1].width = HashWidth::k47Bits;
  others[2].unique = false;
  ++others[3].seed;
  ++others[4].position;
  ++others[5].chain;
  std::set<std::string> texts = {mark_text(mark)};
  for (const FilterMark& other : others) {
    texts.insert(mark_text(other));
    EXPECT_FALSE(other == mark);
    EXPECT_EQ(decode_mark(encode_mark(other)).value(), other);
  }
  EXPECT_EQ(texts.size(), 7U);
}

TEST(SegmentMark, I3_every_changed_byte_is_found) {
  const Bytes bytes = encode_mark(sample_mark());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned bit : {1U, 128U}) {
      Bytes damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(bit);
      EXPECT_TRUE(fails(decode_mark(damaged), ErrorCode::kCorrupt)) << at;
    }
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_mark(std::span(bytes).first(size)).ok()) << size;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_mark(longer).ok());
}

TEST(SegmentMark, I3_what_no_filter_has_is_refused) {
  const auto refused = [](size_t at, unsigned value) {
    Bytes bytes = encode_mark(sample_mark());
    bytes[at] = static_cast<std::byte>(value);
    return refusal_of(decode_mark(with_crc(bytes)), ErrorCode::kCorrupt);
  };
  EXPECT_EQ(refused(4, 4), "mark of format 4, this version reads format 3");
  EXPECT_EQ(refused(4, 1),
            "mark of format 1, this version reads format 3; made by a version before the first"
            " release");
  const std::string expected = "mark of a filter that can't be";
  EXPECT_EQ(refused(5, 0), expected);
  EXPECT_EQ(refused(5, 5), expected) << "filters of pairs have none";
  EXPECT_EQ(refused(6, 48), expected);
  EXPECT_EQ(refused(7, 2), expected);
}

TEST(SegmentMarkedPlaces, round_trip_and_find) {
  for (const size_t count : {size_t{1}, size_t{2}, MarkedPlaces::kMost}) {
    const MarkedPlaces places = sample_places(count);
    const Bytes bytes = encode_places(places);
    const MarkedPlaces again = must(decode_places(bytes));
    ASSERT_EQ(again.places.size(), count);
    EXPECT_EQ(encode_places(again), bytes);
    for (const MarkedPlace& place : places.places) {
      const MarkedPlace* const found = again.find(place.mark);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->position, place.position);
      EXPECT_EQ(found->chain, place.chain);
    }
    FilterMark other = places.places.back().mark;
    ++other.chain;
    EXPECT_EQ(again.find(other), nullptr);
  }
}

TEST(SegmentMarkedPlaces, the_latest_of_equal_marks_is_found) {
  MarkedPlaces places = sample_places(3);
  places.places[0].mark = places.places[2].mark;
  EXPECT_EQ(places.find(places.places[0].mark), &places.places[2]);
}

TEST(SegmentMarkedPlaces, I3_what_are_none_is_refused) {
  const MarkedPlaces places = sample_places(3);
  const Bytes bytes = encode_places(places);
  for (size_t at = 0; at < 8 + kMarkBytes; ++at) {  // positions and chain values may be any
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{4};
    EXPECT_FALSE(decode_places(damaged).ok()) << at;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    const bool whole = size > 8 && (size - 8) % (kMarkBytes + 16) == 0;
    EXPECT_EQ(decode_places(std::span(bytes).first(size)).ok(), whole) << size;
  }
  EXPECT_FALSE(decode_places(encode_places(sample_places(MarkedPlaces::kMost + 1))).ok());
  MarkedPlaces wrong = places;
  wrong.places[1].position = 1000;
  EXPECT_EQ(decode_places(encode_places(wrong)).error().message,
            "marked places that do not ascend");
}

}  // namespace
}  // namespace segments_mark_test
}  // namespace cuckoo::segments
