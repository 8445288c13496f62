// What a filter in segments says of itself.
#include <cmath>

#include "tests/core/segments/filled_file.hpp"

namespace cuckoo::segments::segments_filter_file_figures_test {
namespace {

class FilterFileFigures : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_EACH(Kinds, FilterFileFigures, test::all_cases());

FilterOptions options_of(const FilterCase& one) {
  return small_segments(one.kind, one.growth, one.growth ? 100 : 150000);
}

TEST_P(FilterFileFigures, of_one_segment_are_those_of_its_filter) {
  FilterOptions options = options_of(GetParam());
  options.capacity = 1000;
  options.page_bytes = 4032;
  FilledFile filled(options);
  const auto filter = must(options.make_filter_for(1000));
  EXPECT_EQ(filled.file.bits(), filter->bits());
  EXPECT_EQ(filled.file.places_per_key(), filter->places_per_key());
  EXPECT_EQ(filled.file.fingerprint_bits(), filter->fingerprint_bits());
  EXPECT_EQ(filled.file.made_for(), 1000);
  EXPECT_EQ(filled.file.rate_now(), 0);
  EXPECT_EQ(filled.file.load_factor(), 0);
  EXPECT_EQ(filled.file.target_rate(), 0.01);
  for (uint64_t i = 0; i < 600; ++i) {
    filled.add(i);
  }
  filled.commit();  // a fold is its turn
  EXPECT_GT(filled.file.rate_now(), 0);
  EXPECT_GT(filled.file.load_factor(), 0.1);
  EXPECT_LT(filled.file.load_factor(), 1);
}

TEST_P(FilterFileFigures, are_the_same_whatever_is_in_memory_and_read_no_page) {
  FilledFile filled(options_of(GetParam()), 0, 30000);
  filled.commit();
  ASSERT_GT(filled.file.segments(), 1);
  OpenedFile file(filled.file.options(), filled.storage);
  filled.storage.calls = {};
  EXPECT_EQ(file.rate_now(), filled.file.rate_now());
  EXPECT_EQ(file.load_factor(), filled.file.load_factor());
  EXPECT_EQ(file.bits(), filled.file.bits());
  EXPECT_EQ(file.made_for(), filled.file.made_for());
  EXPECT_EQ(file.places_per_key(), filled.file.places_per_key());
  EXPECT_EQ(file.fingerprint_bits(), filled.file.fingerprint_bits());
  EXPECT_EQ(file.stored_bytes(), filled.file.stored_bytes());
  EXPECT_EQ(file.log_entries(), filled.file.log_entries());
  EXPECT_LE(filled.storage.calls.blocks_read, 12 * file.segments());  // cells that overflowed
  EXPECT_GT(file.rate_now(), 0);
  if (GetParam().growth) {
    EXPECT_GE(file.made_for(), filled.counts.size());
    EXPECT_EQ(file.capacity(), 100);
  } else {
    EXPECT_EQ(file.made_for(), 150000);
  }
}

TEST_P(FilterFileFigures, take_pending_copies_for_no_more_keys) {
  FilterOptions options = options_of(GetParam());
  options.capacity = 10;
  if (!GetParam().growth) {
    GTEST_SKIP() << "it refuses them";
  }
  FilledFile filled(options);
  for (uint64_t i = 0; i < 500; ++i) {
    filled.add(i % 2);
  }
  filled.commit();
  FilterFile opened(options, filled.storage);  // no segment is in memory
  for (FilterFile* const file : {&filled.file, &opened}) {
    expect_ok(file->refresh());
    EXPECT_EQ(file->made_for(), 10);
  }
  for (uint64_t i = 0; i < 30; ++i) {
    filled.add(i);
  }
  EXPECT_GE(filled.file.made_for(), 30);
  EXPECT_LE(filled.file.made_for(), 42);
}

TEST_P(FilterFileFigures, stored_bytes_are_about_those_of_the_blocks) {
  FilterOptions options = options_of(GetParam());
  options.page_bytes = 4032;
  FilledFile filled(options, 0, 30000);
  filled.commit();
  size_t bytes = 0;
  for (const auto& [id, block] : filled.storage.rows) {
    bytes += block.size();
  }
  const auto exact = static_cast<double>(bytes);
  EXPECT_NEAR(static_cast<double>(filled.file.stored_bytes()), exact, exact / 4);
}

TEST(FilterFileTarget, rate_follows_from_a_size_that_was_asked_for) {
  FilterOptions options = small_segments(FilterKind::kBloom, false, 1000);
  options.spec.bits_per_key = 10;
  FilledFile bloom(options);
  EXPECT_NEAR(bloom.file.target_rate(), 0.0082, 0.001);
  options = small_segments(FilterKind::kCuckoo, false, 1000000);
  options.page_bytes = 4032;
  options.spec.fingerprint_bits = 8;
  FilledFile cuckoo(options);
  EXPECT_NEAR(cuckoo.file.target_rate(), 0.03, 0.005);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_figures_test
