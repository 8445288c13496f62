#include "core/stored/mark.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/core_samples.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::with_crc;

FilterMark sample_mark() {
  FilterMark mark;
  mark.kind = FilterKind::kBlockedBloom;
  mark.width = HashWidth::k63Bits;
  mark.unique = true;
  mark.seed = 0x0123456789ABCDEF;
  mark.capacity = uint64_t{1} << 40;
  mark.geometry = {12345678901, 4, 0};
  mark.epoch = kMaxEpoch;
  mark.position = 0xFEDCBA9876543210;
  mark.chain = 42;
  return mark;
}

MarkedPlaces sample_places(size_t count) {
  MarkedPlaces places;
  places.last = sample_mark();
  places.epoch = 7;
  places.base_id = 0xBA5E;
  for (uint64_t i = 0; i + 1 < count; ++i) {
    places.places.push_back({test::nth_word(1, i), 10 * (i / 2), test::nth_word(2, i)});
  }
  places.places.push_back({mark_id(places.last), 10 * count, 99});
  return places;
}

TEST(Mark, round_trip) {
  FilterMark least;
  least.capacity = 1;
  for (const FilterMark& mark : {least, sample_mark()}) {
    const Bytes bytes = encode_mark(mark);
    EXPECT_EQ(bytes.size(), kMarkBytes);
    const Result<FilterMark> again = decode_mark(bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value(), mark);
    EXPECT_EQ(mark_text(mark).substr(0, 10), "434b4d4b01");
    EXPECT_EQ(mark_text(mark).size(), 2 * kMarkBytes);
  }
}

// Each field makes it another one, in its bytes and in its id.
TEST(Mark, every_field_counts) {
  const FilterMark mark = sample_mark();
  std::vector<FilterMark> others(10, mark);
  others[0].kind = FilterKind::kBloom;
  others[1].width = HashWidth::k47Bits;
  others[2].unique = false;
  ++others[3].seed;
  --others[4].capacity;
  ++others[5].geometry.size;
  --others[6].geometry.shape;
  --others[7].epoch;
  ++others[8].position;
  ++others[9].chain;
  std::set<std::string> texts = {mark_text(mark)};
  std::set<uint64_t> ids = {mark_id(mark)};
  for (const FilterMark& other : others) {
    texts.insert(mark_text(other));
    ids.insert(mark_id(other));
    EXPECT_EQ(decode_mark(encode_mark(other)).value(), other);
  }
  EXPECT_EQ(texts.size(), 11U);
  EXPECT_EQ(ids.size(), 11U);
}

TEST(Mark, I4_every_changed_byte_is_found) {
  const Bytes bytes = encode_mark(sample_mark());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned bit : {1U, 128U}) {
      Bytes damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(bit);
      const Result<FilterMark> mark = decode_mark(damaged);
      ASSERT_FALSE(mark.ok()) << at;
      EXPECT_EQ(mark.error().code, ErrorCode::kCorrupt);
    }
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_mark(std::span(bytes).first(size)).ok()) << size;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_mark(longer).ok());
}

TEST(Mark, I4_what_no_filter_has_is_refused) {
  const auto refused = [](size_t at, unsigned value) {
    Bytes bytes = encode_mark(sample_mark());
    bytes[at] = static_cast<std::byte>(value);
    const Result<FilterMark> mark = decode_mark(with_crc(bytes));
    return mark.ok() ? "" : mark.error().message;
  };
  EXPECT_EQ(refused(4, 2), "mark of format 2, this version reads format 1");
  const std::string expected = "mark of a filter that can't be";
  EXPECT_EQ(refused(5, 0), expected);
  EXPECT_EQ(refused(5, 5), expected) << "filters of pairs have none";
  EXPECT_EQ(refused(6, 48), expected);
  EXPECT_EQ(refused(7, 2), expected);
  EXPECT_EQ(refused(23, 1), expected) << "capacity";
  EXPECT_EQ(refused(39, 1), expected) << "epoch";
}

TEST(MarkedPlaces, round_trip_and_find) {
  for (const size_t count : {size_t{1}, size_t{2}, MarkedPlaces::kMost}) {
    const MarkedPlaces places = sample_places(count);
    const Result<MarkedPlaces> again = decode_places(encode_places(places));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value().last, places.last);
    EXPECT_EQ(again.value().epoch, places.epoch);
    EXPECT_EQ(again.value().base_id, places.base_id);
    ASSERT_EQ(again.value().places.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(again.value().places[i].mark_id, places.places[i].mark_id);
      EXPECT_EQ(again.value().places[i].position, places.places[i].position);
      EXPECT_EQ(again.value().places[i].chain, places.places[i].chain);
    }
    const MarkedPlace* const last = again.value().find(places.last);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->chain, 99U);
    FilterMark other = places.last;
    ++other.chain;
    EXPECT_EQ(again.value().find(other), nullptr);
  }
}

TEST(MarkedPlaces, the_latest_of_equal_marks_is_found) {
  MarkedPlaces places = sample_places(3);
  places.places[0] = {mark_id(places.last), 0, 1};
  EXPECT_EQ(places.find(places.last)->chain, 99U);
}

TEST(MarkedPlaces, I4_damage_is_found) {
  const MarkedPlaces places = sample_places(3);
  const Bytes bytes = encode_places(places);
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{4};
    EXPECT_FALSE(decode_places(damaged).ok()) << at;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_places(std::span(bytes).first(size)).ok()) << size;
  }
  EXPECT_FALSE(decode_places(encode_places(sample_places(MarkedPlaces::kMost + 1))).ok());
  MarkedPlaces wrong = places;
  wrong.places[1].position = 1000;
  EXPECT_EQ(decode_places(encode_places(wrong)).error().message,
            "marked places that do not ascend");
  wrong = places;
  ++wrong.places[2].mark_id;
  EXPECT_EQ(decode_places(encode_places(wrong)).error().message,
            "marked places of which the last has another mark");
}

}  // namespace
}  // namespace cuckoo
