#include "core/segments/window_mark.hpp"

#include <functional>
#include <set>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_window_mark_test {
namespace {

WindowMark sample_mark() {
  WindowMark mark;
  mark.generations = 7;
  mark.held = 5;
  mark.rotation = 1000;
  mark.newest.kind = FilterKind::kBlockedBloom;
  mark.newest.seed = 0x0123456789ABCDEF;
  mark.newest.position = 77;
  mark.newest.chain = 42;
  return mark;
}

TEST(WindowMark, round_trip) {
  WindowMark unique = sample_mark();
  unique.newest.kind = FilterKind::kCuckoo;
  for (const WindowMark& mark : {WindowMark(), sample_mark(), unique}) {
    const Bytes bytes = encode_window_mark(mark);
    EXPECT_EQ(bytes.size(), kWindowMarkBytes);
    EXPECT_TRUE(looks_like_window_mark(bytes));
    EXPECT_EQ(must(decode_window_mark(bytes)), mark);
    EXPECT_FALSE(decode_mark(bytes).ok()) << "a single filter never had it";
  }
  EXPECT_FALSE(looks_like_window_mark(encode_mark(FilterMark())));
  EXPECT_EQ(mark_text(encode_window_mark(sample_mark())).substr(0, 10), "434b574d03");
}

TEST(WindowMark, every_field_counts) {
  std::set<Bytes> all = {encode_window_mark(sample_mark())};
  const std::vector<std::function<void(WindowMark&)>> changes = {
      [](WindowMark& mark) { ++mark.generations; }, [](WindowMark& mark) { ++mark.held; },
      [](WindowMark& mark) { ++mark.rotation; }, [](WindowMark& mark) { ++mark.newest.position; }};
  for (const auto& change : changes) {
    WindowMark other = sample_mark();
    change(other);
    all.insert(encode_window_mark(other));
  }
  EXPECT_EQ(all.size(), 1 + changes.size());
}

TEST(WindowMark, I2_no_bit_may_flip_and_no_byte_may_lack) {
  const Bytes bytes = encode_window_mark(sample_mark());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode_window_mark(flipped).ok()) << bit;
  }
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_window_mark(std::span(bytes).first(length)).ok()) << length;
  }
}

TEST(WindowMark, I2_impossible_numbers_are_refused) {
  const std::pair<std::function<void(Bytes&)>, const char*> edits[] = {
      {[](Bytes& bytes) { bytes[4] = std::byte{9}; }, "format 9"},
      {[](Bytes& bytes) { bytes[5] = std::byte{65}; }, "can't be"},  // generations
      {[](Bytes& bytes) { bytes[5] = bytes[6] = std::byte{1}; }, "can't be"},
      {[](Bytes& bytes) { bytes[6] = std::byte{0}; }, "can't be"},  // held
      {[](Bytes& bytes) { bytes[6] = std::byte{8}; }, "can't be"},
      {[](Bytes& bytes) { bytes[7] = std::byte{1}; }, "can't be"},           // zero
      {[](Bytes& bytes) { store_le(&bytes[8], uint64_t{3}); }, "can't be"},  // rotation
      {[](Bytes& bytes) { store_le(&bytes[8], uint64_t{1} << 61); }, "can't be"},
  };
  for (const auto& [edit, text] : edits) {
    Bytes bytes = encode_window_mark(sample_mark());
    edit(bytes);
    EXPECT_TRUE(fails(decode_window_mark(with_crc(bytes)), ErrorCode::kCorrupt, text));
  }
}

TEST(WindowMark, names_the_rotations_that_a_window_can_have) {
  EXPECT_TRUE(is_rotation(3, 1, 0));
  EXPECT_TRUE(is_rotation(3, 3, 2));
  EXPECT_TRUE(is_rotation(64, 64, uint64_t{1} << 60));
  EXPECT_FALSE(is_rotation(3, 3, 1));
  EXPECT_FALSE(is_rotation(3, 4, 9));
  EXPECT_FALSE(is_rotation(3, 0, 9));
  EXPECT_FALSE(is_rotation(65, 1, 9));
  EXPECT_FALSE(is_rotation(3, 1, (uint64_t{1} << 60) + 1));
}

}  // namespace
}  // namespace cuckoo::segments::segments_window_mark_test
