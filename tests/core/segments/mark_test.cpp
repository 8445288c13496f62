#include "core/segments/mark.hpp"

#include <set>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_mark_test {
namespace {

FilterMark sample_mark() {
  FilterMark mark;
  mark.kind = FilterKind::kBlockedBloom;
  mark.width = HashWidth::k63Bits;
  mark.seed = 0x0123456789ABCDEF;
  mark.position = 0x0123456789ABCDEF;
  mark.chain = 42;
  return mark;
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
  std::vector<FilterMark> others(5, mark);
  others[0].kind = FilterKind::kBloom;
  others[1].width = HashWidth::k47Bits;
  ++others[2].seed;
  ++others[3].position;
  ++others[4].chain;
  std::set<std::string> texts = {mark_text(mark)};
  for (const FilterMark& other : others) {
    texts.insert(mark_text(other));
    EXPECT_FALSE(other == mark);
    EXPECT_EQ(decode_mark(encode_mark(other)).value(), other);
  }
  EXPECT_EQ(texts.size(), 6U);
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
  EXPECT_EQ(refused(7, 1), expected);
  EXPECT_EQ(refused(23, 0x10), expected) << "a position that no log gets to";
}

}  // namespace
}  // namespace cuckoo::segments::segments_mark_test
