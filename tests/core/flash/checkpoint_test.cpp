#include "core/flash/checkpoint.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo {
namespace flash_checkpoint_test {
namespace {

FlashCheckpoint sample() {
  FlashCheckpoint checkpoint;
  checkpoint.next_lsn = 300;  // AC 02
  checkpoint.heads = 2;
  checkpoint.charged_units = 5;
  checkpoint.next_sequence = 9;
  checkpoint.state = 0x1112131415161718;
  checkpoint.hot = {1, 12, kNoBlock};
  checkpoint.cold = {kNoBlock, 0, 2};
  checkpoint.user_bytes = 1;
  checkpoint.programmed_bytes = 128;  // 80 01
  checkpoint.erases = 3;
  checkpoint.collections = 0;
  checkpoint.checkpoints = 4;
  FlashBlock block;
  block.kind = FlashBlockKind::kData;
  block.failing = true;
  block.erase_count = 6;
  block.used_units = 20;
  block.live_units = 7;
  block.sequence = 8;
  block.newest_lsn = 299;  // AB 02
  checkpoint.blocks = {FlashBlock{}, block};
  FlashBlock index;
  index.kind = FlashBlockKind::kCheckpoint;
  index.used_units = 256;
  index.sequence = 7;
  checkpoint.blocks.push_back(index);
  checkpoint.pieces = {{2, 0x01020304, 300}};
  checkpoint.rest = {{40, 0xA1A2A3A4}, {200, 0xA1A2A424}};  // 80 01 further
  return checkpoint;
}

Bytes sample_bytes() {
  Bytes out;
  for (const int value : {2,    0xAC, 2,    2,    5,    9,                 // version, numbers
                          0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // state
                          2,    12,   0,    0,    0,    3,                 // streams
                          1,    0x80, 1,    3,    0,    4,                 // figures
                          3,                                               // blocks
                          0,    0,    0x80, 2,    0,    0,    0,           // one that is free
                          18,   6,    0xEC, 1,    13,   16,   0xD6, 4,     // data, failing
                          3,    0,    0,    0x80, 2,    1,    0xD5, 4,  // sequence - 1, LSN - 299
                          1,    2,    4,    3,    2,    1,    0xAC, 2,  // one piece
                          2,    0xA4, 0xC7, 0x8A, 0x8D, 10,   40,   0x80, 1, 0xC8, 1}) {
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

TEST(FlashCheckpoint, has_these_bytes) {
  EXPECT_EQ(encode_flash_checkpoint(sample(), FlashGeometry{}), sample_bytes());
}

TEST(FlashCheckpoint, is_read_as_it_was_written) {
  const FlashCheckpoint found = must(decode_flash_checkpoint(sample_bytes(), FlashGeometry{}));
  EXPECT_EQ(encode_flash_checkpoint(found, FlashGeometry{}), sample_bytes());
}

TEST(FlashCheckpoint, too_short_or_too_long_is_refused) {
  Bytes bytes = sample_bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(fails(decode_flash_checkpoint(std::span(bytes).first(length), FlashGeometry{}),
                      ErrorCode::kCorrupt))
        << length;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_flash_checkpoint(bytes, FlashGeometry{}).ok());
}

TEST(FlashCheckpoint, another_version_is_named) {
  Bytes bytes = sample_bytes();
  bytes[0] = std::byte{3};
  EXPECT_TRUE(fails_saying(decode_flash_checkpoint(bytes, FlashGeometry{}), ErrorCode::kCorrupt,
                           "the checkpoint has format version 3; this library reads version 2"));
}

TEST(FlashCheckpoint, what_this_geometry_can_not_have_is_refused) {
  FlashGeometry small;
  small.sector_size_bytes = 512;
  small.sectors_per_block = 1;
  small.blocks = 16;  // 512 units of 16 bytes
  const auto refused = [&](auto change) {
    FlashCheckpoint checkpoint = sample();
    checkpoint.blocks[2].used_units = 32;
    checkpoint.pieces[0].entries = 256;
    change(checkpoint);
    const auto bytes = encode_flash_checkpoint(checkpoint, small);
    return fails(decode_flash_checkpoint(bytes, small), ErrorCode::kCorrupt);
  };
  EXPECT_FALSE(refused([](FlashCheckpoint&) {}));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.blocks.resize(18); }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.blocks[1].used_units = 33; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.blocks[1].live_units = 33; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.blocks[1].sequence = 9; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.blocks[1].kind = FlashBlockKind{6}; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.hot.block = 16; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.hot.offset = 33; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.heads = 513; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.next_lsn = kMaxLsn + 1; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.rest[1].first = 512; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.rest[1].first = 1; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.rest[1] = c.rest[0]; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces[0].block = 16; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces[0].block = 1; })) << "it holds data";
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces[0].entries = 0; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces[0].entries = 257; }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces.push_back({2, 0x01020303, 1}); }));
  EXPECT_TRUE(refused([](FlashCheckpoint& c) { c.pieces[0].first_hash = 0xA1A2A3A5; }));
}

// If bytes can be read as a checkpoint, then writing that checkpoint gives the same bytes.
TEST(FlashCheckpoint, no_other_bytes_say_the_same) {
  const Bytes own = sample_bytes();
  const auto expect_own = [](const Bytes& bytes) {
    const Result<FlashCheckpoint> read = decode_flash_checkpoint(bytes, FlashGeometry{});
    if (read.ok()) {
      EXPECT_EQ(encode_flash_checkpoint(read.value(), FlashGeometry{}), bytes);
    }
    return read.ok();
  };
  int read = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      Bytes other = own;
      other[i] = static_cast<std::byte>(value);
      read += expect_own(other) ? 1 : 0;
    }
    Bytes longer = own;  // a number in a byte more than it takes
    longer[i] |= std::byte{0x80};
    longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::byte{0});
    read += expect_own(longer) ? 1 : 0;
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace flash_checkpoint_test
}  // namespace cuckoo
