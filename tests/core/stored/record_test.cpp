#include "core/stored/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/sizing.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::nth_word;
using test::with_crc;

constexpr size_t kFields = 32;
constexpr size_t kBytes = 8 + 8 * kFields + 4;

FilterRecord example() {
  FilterRecord record;
  record.options_digest = 0x0102030405060708;
  record.epoch = 3;
  record.capacity = 1000;
  record.geometry = {263, 19, 7};
  record.start_chain = 0xABCDEF;
  record.start_position = 2;
  record.start_items = 1;
  record.first_row = 3ULL << 40;
  record.compacted_entries = 12;
  record.dead = 4;
  record.fold_position = 20;
  record.fold_chain = 77;
  record.fold_items = 15;
  record.fold_row = (3ULL << 40) + 2;
  record.end_position = 30;
  record.end_chain = 78;
  record.end_items = 17;
  record.end_row = (3ULL << 40) + 3;
  record.base_id = 97;
  record.occupied = 12;
  record.cells_digest = 99;
  record.overflow_cells = 2;
  record.overflow_items = 3;
  record.overflow_digest = 98;
  record.page_rows = 1;
  record.page_id_sum = 3ULL << 40;
  record.hashless = 1;
  record.rotation = 9;
  record.older = 6;
  record.key_types = 21;
  return record;
}

// As a table of format 1 has it.
FilterRecord first_version() {
  FilterRecord record = example();
  record.version = 1;
  record.key_types = 0;
  return record;
}

std::string refusal(const Bytes& bytes) {
  const Result<FilterRecord> decoded = decode_record(bytes);
  if (decoded.ok()) {
    return "";
  }
  EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(decoded.error().message.empty());
  return decoded.error().message;
}

TEST(FilterRecord, round_trip_gives_every_field_back) {
  for (const FilterRecord& record : {example(), first_version()}) {
    const Result<FilterRecord> back = decode_record(encode_record(record));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back.value(), record);
  }
}

TEST(FilterRecord, round_trip_of_extreme_numbers) {
  FilterRecord record = example();
  record.options_digest = record.start_chain = record.fold_chain = record.end_chain = UINT64_MAX;
  record.cells_digest = record.overflow_digest = record.page_id_sum = UINT64_MAX;
  record.geometry = {UINT64_MAX, UINT64_MAX, UINT64_MAX};  // no business of the record
  record.capacity = kMaxCapacity;
  record.epoch = kMaxEpoch;
  record.occupied = record.fold_items = record.rotation = UINT64_MAX;
  record.older = kMaxGenerations - 1;
  record.end_position = record.end_items = record.dead = UINT64_MAX;
  record.end_row = (1ULL << 62) - 1;
  const Result<FilterRecord> back = decode_record(encode_record(record));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), record);
}

TEST(FilterRecord, stored_bytes_are_what_they_always_were) {
  const Bytes bytes = encode_record(example());
  ASSERT_EQ(bytes.size(), kBytes);
  EXPECT_EQ(load_le<uint32_t>(&bytes[0]), 0x52464B43u);  // "CKFR"
  EXPECT_EQ(load_le<uint32_t>(&bytes[4]), 2u);
  const uint64_t fields[] = {0x0102030405060708,
                             3,
                             1000,
                             263,
                             19,
                             7,
                             0xABCDEF,
                             2,
                             1,
                             3ULL << 40,
                             12,
                             4,
                             20,
                             77,
                             15,
                             (3ULL << 40) + 2,
                             30,
                             78,
                             17,
                             (3ULL << 40) + 3,
                             97,
                             12,
                             99,
                             2,
                             3,
                             98,
                             1,
                             3ULL << 40,
                             1,
                             9,
                             6,
                             21};
  ASSERT_EQ(std::size(fields), kFields);
  for (size_t i = 0; i < kFields; ++i) {
    EXPECT_EQ(load_le<uint64_t>(&bytes[8 + 8 * i]), fields[i]) << "field " << i;
  }
  EXPECT_EQ(load_le<uint32_t>(&bytes[kBytes - 4]), 0x92AE9492u);
}

TEST(FilterRecord, stored_bytes_of_the_first_version_are_what_they_always_were) {
  const Bytes first = encode_record(first_version());
  const Bytes second = encode_record(example());
  ASSERT_EQ(first.size(), kBytes - 8);
  EXPECT_EQ(load_le<uint32_t>(&first[4]), 1u);
  EXPECT_TRUE(std::equal(first.begin() + 8, first.end() - 4, second.begin() + 8));
  EXPECT_EQ(load_le<uint32_t>(&first[first.size() - 4]), 0xA69A19C3u);
}

TEST(FilterRecord, first_row_id_keeps_generations_apart) {
  EXPECT_EQ(first_row_id(0), 0);
  EXPECT_EQ(first_row_id(1), int64_t{1} << 40);
  EXPECT_EQ(first_row_id(kMaxEpoch), ((int64_t{1} << 22) - 1) << 40);
  EXPECT_GT(first_row_id(kMaxEpoch), first_row_id(kMaxEpoch - 1));
  EXPECT_LT(first_row_id(kMaxEpoch) + (int64_t{1} << 40) - 1, int64_t{1} << 62);
}

// Equal ids stand for equal pages: whatever makes them other pages makes another id.
TEST(FilterRecord, base_id_depends_on_generation_capacity_geometry_and_chain_alone) {
  const uint64_t id = first_base_id(example());
  const std::function<void(FilterRecord&)> kChanges[] = {
      [](FilterRecord& r) { ++r.epoch; },
      [](FilterRecord& r) { ++r.capacity; },
      [](FilterRecord& r) { ++r.geometry.size; },
      [](FilterRecord& r) { ++r.geometry.shape; },
      [](FilterRecord& r) { ++r.geometry.detail; },
      [](FilterRecord& r) { ++r.fold_chain; },
      [](FilterRecord& r) { std::swap(r.geometry.size, r.geometry.shape); },
  };
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    FilterRecord record = example();
    kChanges[i](record);
    EXPECT_NE(first_base_id(record), id) << "change " << i;
  }
  FilterRecord other = example();
  other.end_chain = other.fold_items = other.page_rows = other.rotation = 77;
  EXPECT_EQ(first_base_id(other), id);
}

TEST(FilterRecord, every_changed_bit_is_found) {
  Bytes bytes = encode_record(example());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(refusal(bytes), "") << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(FilterRecord, every_other_length_is_found) {
  const Bytes bytes = encode_record(example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(cut), "") << size;
    if (size >= 4) {
      EXPECT_NE(refusal(with_crc(cut)), "") << size;
    }
  }
  Bytes longer = bytes;
  longer.resize(bytes.size() + 8);
  EXPECT_NE(refusal(with_crc(longer)), "");
}

TEST(FilterRecord, newer_format_is_named) {
  Bytes bytes = encode_record(example());
  store_le(&bytes[4], uint32_t{3});
  const std::string message = refusal(with_crc(bytes));
  EXPECT_NE(message.find("format 3"), std::string::npos) << message;
}

TEST(FilterRecord, numbers_that_do_not_fit_together_are_refused) {
  const struct {
    const char* what;
    std::function<void(FilterRecord&)> change;
  } kChanges[] = {
      {"no capacity", [](FilterRecord& r) { r.capacity = 0; }},
      {"capacity too large", [](FilterRecord& r) { r.capacity = kMaxCapacity + 1; }},
      {"epoch too large", [](FilterRecord& r) { r.epoch = kMaxEpoch + 1; }},
      {"row id too large", [](FilterRecord& r) { r.end_row = 1ULL << 62; }},
      {"start behind fold", [](FilterRecord& r) { r.start_position = r.fold_position + 1; }},
      {"fold behind end", [](FilterRecord& r) { r.fold_position = r.end_position + 1; }},
      {"first row behind fold", [](FilterRecord& r) { r.first_row = r.fold_row + 1; }},
      {"fold row behind end", [](FilterRecord& r) { r.fold_row = r.end_row + 1; }},
      {"more cells than items", [](FilterRecord& r) { r.overflow_cells = r.overflow_items + 1; }},
      {"hashless is neither yes nor no", [](FilterRecord& r) { r.hashless = 2; }},
      {"hashless cut to 32 bits", [](FilterRecord& r) { r.hashless = 1ULL << 32; }},
      {"too many generations",
       [](FilterRecord& r) {
         r.older = kMaxGenerations;
         r.rotation = 1000;
       }},
      {"more types of keys than there are", [](FilterRecord& r) { r.key_types = 256; }},
      {"more generations than there were", [](FilterRecord& r) { r.older = r.rotation + 1; }},
  };
  for (const auto& [what, change] : kChanges) {
    FilterRecord record = example();
    change(record);
    EXPECT_NE(refusal(encode_record(record)), "") << what;
  }
}

TEST(FilterRecord, random_bytes_are_refused_without_a_crash) {
  for (uint64_t i = 0; i < 20000; ++i) {
    Bytes bytes(i % 3 == 0 ? kBytes : nth_word(1, i) % 300);
    for (size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] = static_cast<std::byte>(nth_word(i + 2, at));
    }
    if (i % 2 == 0 && bytes.size() >= 12) {
      store_le(&bytes[0], uint32_t{0x52464B43});
      store_le(&bytes[4], static_cast<uint32_t>(1 + i % 4 / 2));
      bytes = with_crc(std::move(bytes));
    }
    EXPECT_NE(refusal(bytes), "") << i;
  }
}

}  // namespace
}  // namespace cuckoo
