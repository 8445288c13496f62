#include "core/segments/staged_message.hpp"

#include "tests/core/segments/memory_blocks.hpp"

namespace cuckoo::segments::segments_staged_message_test {
namespace {

constexpr uint32_t kChunkBytes = 448;

// A message of random bytes, cut.
class Staged : public testing::Test {
 protected:
  void cut(uint64_t total, uint64_t slice) {
    std::mt19937_64 random(total);
    message_.resize(total);
    for (std::byte& byte : message_) {
      byte = static_cast<std::byte>(random());
    }
    cut_ = {random(), total, slice};
  }
  MessagePart part(uint64_t index) const {
    return {cut_, index,
            std::span(message_).subspan(index * cut_.slice_bytes,
                                        static_cast<size_t>(cut_.bytes_of(index)))};
  }
  StagedMessage staged() { return {Blocks(blocks_, 5), kChunkBytes}; }
  std::optional<StagedMessage::Standing> standing() { return must(staged().standing()); }
  void add_all_but_the_last() {
    for (uint64_t i = 0; i + 1 < cut_.parts(); ++i) {
      ASSERT_TRUE(StagedMessage::expect_next(standing(), part(i)).ok());
      ASSERT_TRUE(staged().add(part(i)).ok());
      ASSERT_EQ(standing()->came, i + 1);
      ASSERT_EQ(standing()->cut, cut_);
    }
  }

  test::MemoryBlocks blocks_;
  Bytes message_;
  MessageCut cut_;
};

TEST_F(Staged, gives_back_every_range_of_the_message) {
  for (const auto& [total, slice] :
       {std::pair<uint64_t, uint64_t>(5000, 1024), {4096, 1024}, {2000, 1999}, {9000, 1344}}) {
    cut(total, slice);
    add_all_but_the_last();
    const MessageBytes bytes = staged().message(part(cut_.parts() - 1));
    ASSERT_EQ(bytes.size(), total);
    std::mt19937_64 random(slice);
    Bytes buffer;
    for (int i = 0; i < 500; ++i) {
      const uint64_t at = i == 0 ? 0 : random() % total;
      const uint64_t length = i == 0 ? total : random() % (total - at + 1);
      const auto expected = std::span(message_).subspan(at, length);
      ASSERT_TRUE(std::ranges::equal(must(bytes.read(at, length, buffer)), expected))
          << at << " " << length;
      const auto part_read = bytes.range(at, length).read(length / 2, length - length / 2, buffer);
      ASSERT_TRUE(std::ranges::equal(part_read.value(), expected.subspan(length / 2)));
    }
    ASSERT_TRUE(staged().erase().ok());
    EXPECT_TRUE(blocks_.rows.empty());
    EXPECT_FALSE(standing());
  }
}

TEST_F(Staged, takes_only_the_part_that_comes_next) {
  cut(5000, 1024);
  const auto refusal = [this](const MessagePart& part) {
    return message_of(StagedMessage::expect_next(standing(), part));
  };
  EXPECT_EQ(refusal(part(1)),
            "part 2 of 5, expected part 1; all parts come in their order, within one transaction");
  ASSERT_TRUE(staged().add(part(0)).ok());
  EXPECT_EQ(refusal(part(0)), "part 1 of 5, expected part 2");
  EXPECT_EQ(refusal(part(2)), "part 3 of 5, expected part 2");
  EXPECT_EQ(refusal(part(1)), "");
  MessagePart other = part(1);
  ++other.cut.id;
  EXPECT_EQ(refusal(other),
            "a part of another message; expected part 2 of 5 of the one that was begun, or "
            "ROLLBACK");
}

TEST_F(Staged, I2_a_damaged_a_missing_and_a_swapped_block_are_found) {
  cut(5000, 1024);
  add_all_but_the_last();
  const MessageBytes bytes = staged().message(part(4));
  Bytes buffer;
  for (const auto& [id, content] : std::map(blocks_.rows)) {
    const bool names = id == kStagedBlock;
    const auto found = [&] {
      return names ? !staged().standing().ok() : !bytes.read(0, bytes.size(), buffer).ok();
    };
    ASSERT_FALSE(found());
    for (size_t at = 0; at < content.size(); at += 7) {
      Bytes damaged = content;
      damaged[at] ^= std::byte{1};
      ASSERT_TRUE(blocks_.write(id, damaged, true).ok());
      EXPECT_TRUE(found()) << id << " " << at;
    }
    if (!names) {
      ASSERT_TRUE(blocks_.erase(id, id).ok());
      EXPECT_TRUE(found()) << id;
    }
    ASSERT_TRUE(blocks_.write(id, content, names).ok());
  }
  // These blocks have right checksums, but wrong contents.
  const Blocks own(blocks_, 5);
  ASSERT_TRUE(own.write(kFirstStagedBlock, std::span(message_).first(100), true).ok());
  EXPECT_FALSE(bytes.read(0, 50, buffer).ok());
  for (const size_t size : {0, 39, 40, 41}) {
    ASSERT_TRUE(own.write(kStagedBlock, Bytes(size), true).ok());
    EXPECT_FALSE(staged().standing().ok()) << size;
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_staged_message_test
