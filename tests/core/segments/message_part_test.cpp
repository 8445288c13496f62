#include "core/segments/message_part.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_message_part_test {
namespace {

MessagePart sample_part(const Bytes& slice, uint64_t total, uint64_t slice_bytes, uint64_t index) {
  return {{77, total, slice_bytes}, index, slice};
}

Bytes sample_slice(size_t size) {
  Bytes slice(size);
  for (size_t i = 0; i < size; ++i) {
    slice[i] = static_cast<std::byte>(i * 7);
  }
  return slice;
}

std::string refusal(std::span<const std::byte> bytes) {
  return refusal_of(decode_part(bytes), ErrorCode::kCorrupt);
}

TEST(MessagePart, I1_round_trip) {
  for (const auto& [size, index] : {std::pair(1024, 0), {1024, 1}, {5, 2}}) {
    const Bytes slice = sample_slice(static_cast<size_t>(size));
    const Bytes bytes = encode_part(sample_part(slice, 2053, 1024, static_cast<uint64_t>(index)));
    EXPECT_EQ(bytes.size(), slice.size() + kPartOverheadBytes);
    EXPECT_TRUE(looks_like_part(bytes));
    const MessagePart again = must(decode_part(bytes));
    EXPECT_EQ(again.cut, (MessageCut{77, 2053, 1024}));
    EXPECT_EQ(again.index, static_cast<uint64_t>(index));
    EXPECT_EQ(encode_part(again), bytes);
    EXPECT_EQ(part_name(again.cut, again.index), "part " + std::to_string(index + 1) + " of 3");
  }
}

TEST(MessagePart, I2_every_changed_byte_and_every_cut_is_found) {
  const Bytes slice = sample_slice(30);
  expect_every_damage_refused(encode_part(sample_part(slice, 30, 1024, 0)), refusal);
}

TEST(MessagePart, I2_wrong_fields_are_refused_behind_a_right_checksum) {
  const Bytes slice = sample_slice(30);
  const Bytes bytes = encode_part(sample_part(slice, 30, 1024, 0));
  const auto changed = [&bytes](size_t at, unsigned value) {
    Bytes other = bytes;
    other[at] = static_cast<std::byte>(value);
    return refusal(with_crc(other));
  };
  const std::string header = "a part of a message with a header that can't be";
  const std::string cut = "a part of a message of ";
  EXPECT_EQ(changed(0, 'X'), "bytes that are no part of a message, expected CKPT at the start");
  EXPECT_EQ(changed(4, 2), "a part of a message of format 2, this version reads format 3");
  EXPECT_EQ(changed(5, 1), header) << "zeros";
  EXPECT_EQ(changed(16, 31), header) << "total bytes";
  EXPECT_EQ(changed(16, 0).substr(0, cut.size()), cut) << "total bytes";
  EXPECT_EQ(changed(23, 1).substr(0, cut.size()), cut) << "total bytes";
  EXPECT_EQ(changed(25, 0).substr(0, cut.size()), cut) << "slice bytes";
  EXPECT_EQ(changed(32, 1), header) << "index";
  EXPECT_EQ(changed(39, 255), header) << "index";
  EXPECT_EQ(changed(8, 78), "") << "another id names another message";
}

}  // namespace
}  // namespace cuckoo::segments::segments_message_part_test
