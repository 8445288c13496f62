#include "core/library/memory_filter.hpp"

#include <array>

#include "core/base/mix.hpp"
#include "core/segments/image.hpp"
#include "tests/support/status.hpp"

namespace cuckoo::library_memory_filter_test {
namespace {

constexpr std::array kKinds = {FilterKind::kCuckoo};

std::unique_ptr<MemoryFilter> made(uint64_t keys, bool grows) {
  return MemoryFilter::make_for(FilterKind::kCuckoo, keys, 0.001, 1, grows).value();
}

TEST(MemoryFilter, I2_changes_leave_no_memory_behind) {
  for (const bool grows : {false, true}) {
    const std::unique_ptr<MemoryFilter> filter = made(20'000, grows);
    size_t most = 0;
    for (uint64_t round = 0; round < 12; ++round) {
      for (uint64_t i = 0; i < 20'000; ++i) {
        ASSERT_TRUE(filter->insert(mix64(round * 20'000 + i)).ok());
      }
      for (uint64_t i = 0; i < 20'000; ++i) {
        ASSERT_TRUE(filter->remove(mix64(round * 20'000 + i)).value());
      }
      if (round == 2) {
        most = filter->memory_bytes() + filter->memory_bytes() / 2;
      }
    }
    EXPECT_LT(filter->memory_bytes(), most) << grows;
    EXPECT_EQ(filter->items(), 0U);
  }
}

// If a table converted or folded its keys before it hashed them, its image is refused here.
TEST(MemoryFilter, takes_no_image_of_keys_that_a_table_changed) {
  const auto image_of = [](const KeyForm& keys) {
    segments::MessageHeader header = segments::image_header({}, HashWidth::k47Bits, 1, keys, 0);
    header.capacity = 1000;
    const segments::PieceSource empty = [](const segments::PieceSink& sink) -> Status {
      segments::Piece piece;
      piece.capacity = 1000;
      CUCKOO_ASSIGN_OR_RETURN(piece.filter, make_filter({}, 1000, segments::kImagePageBytes));
      return sink(std::move(piece));
    };
    return segments::encode_image(header, empty, 1 << 20).value();
  };
  EXPECT_TRUE(MemoryFilter::of_image(image_of({}), kKinds).ok());
  EXPECT_TRUE(fails_saying(MemoryFilter::of_image(image_of({.columns = 2}), kKinds),
                           ErrorCode::kInvalid,
                           "an image of keys of 2 columns, expected keys of one"));
  EXPECT_TRUE(
      fails(MemoryFilter::of_image(image_of({.collations = 1}), kKinds), ErrorCode::kInvalid));
}

TEST(MemoryFilter, I4_takes_nothing_that_is_no_image) {
  const std::byte bytes[200] = {};
  EXPECT_EQ(MemoryFilter::of_image({}, kKinds).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(MemoryFilter::of_image(bytes, kKinds).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace cuckoo::library_memory_filter_test
