// S3: how far back the log of a FilterFile reaches, and what of it is read and erased.
#include <algorithm>
#include <cmath>

#include "tests/core/segments/copies.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments::segments_filter_file_log_test {
namespace {

class FilterFileLog : public ::testing::TestWithParam<FilterKind> {
 protected:
  static uint64_t rows_of_log(const Site& site) {
    return static_cast<uint64_t>(
        std::distance(site.storage.rows.lower_bound(kFirstLogBlock), site.storage.rows.end()));
  }
  static uint64_t kept_entries(const Site& site) {
    return kept_entries_of(site->segments(), site->turn_entries(),
                           site->keeps_hashes() ? std::max(site->items(), site->capacity()) : 0,
                           false);
  }
};

INSTANTIATE_EACH(Kinds, FilterFileLog, test::kLoggedKinds);

TEST_P(FilterFileLog, S3_reaches_back_for_a_share_of_the_items_and_is_cut_behind_it) {
  for (const bool growth : {true, false}) {
    const FilterOptions options = test::options_for({GetParam(), growth}, 30'000, 1e-6, 448);
    const uint64_t row_entries = log_row_capacity(options.page_bytes, options.width);
    Site site(options);
    std::vector<FilterMark> marks;
    for (uint64_t keys = 0; keys < 25'000; keys += 100) {
      marks.push_back(site.mark());
      expect_ok(test::add_and_commit(*site.file, keys, keys + 100));
      const uint64_t kept = kept_entries(site);
      const uint64_t longest = kept + 3 * site->turn_entries() + 2 * row_entries + 100;
      EXPECT_LE(rows_of_log(site) * row_entries, longest) << keys;
      if (keys % (1100 * std::min<uint64_t>(test::share_divisor(), 4)) != 0) {
        continue;
      }
      for (const FilterMark& mark : marks) {
        const uint64_t behind = site.mark().position - mark.position;
        ASSERT_EQ(site.leads_from(mark), behind <= kept || site.leads_from(mark)) << behind;
        ASSERT_TRUE(behind <= longest || !site.leads_from(mark)) << behind;
      }
      site.expect_good();
      site.reopen();
      expect_ok(site->refresh());
      ASSERT_TRUE(site.leads_from(marks.back()));
    }
  }
}

// The connection reads the rest of the log when it is asked for changes.
TEST_P(FilterFileLog, S3_a_new_connection_reads_what_pends_alone) {
  const FilterOptions options = test::options_for({GetParam(), true}, 400'000, 0.001, 4032);
  Site site(options);
  expect_ok(test::add_and_commit(*site.file, 0, 400'000));
  const FilterMark mark = site.mark();
  const uint64_t load = std::max<uint64_t>(17'000, 2 * site->segments() * site->turn_entries());
  if (load >= kept_entries(site)) {
    return;  // a load of a counting Bloom filter, of many segments, is more than is kept
  }
  expect_ok(test::add_and_commit(*site.file, 400'000, 400'000 + load + 1));
  const uint64_t rows = rows_of_log(site);
  ASSERT_GT(rows, 20u);
  site.storage.calls = {};
  site.reopen();
  expect_ok(site->refresh());
  EXPECT_LE(site.storage.calls.blocks_read, 5u);
  site.storage.calls = {};
  EXPECT_EQ(site.changes_since(mark).entries.size(), load + 1);
  EXPECT_GE(site.storage.calls.blocks_read, rows - 1);
  site.expect_good();
}

TEST_P(FilterFileLog, S3_a_load_of_no_more_than_it_keeps_is_written_and_a_larger_one_is_not) {
  const FilterOptions options = test::options_for({GetParam(), true}, 400'000, 0.001, 4032);
  Site site(options);
  expect_ok(test::add_and_commit(*site.file, 0, 400'000));
  EXPECT_EQ(rows_of_log(site), 1u) << "a load";
  const uint64_t kept = kept_entries(site);
  ASSERT_GT(kept, 17'000u);
  const FilterMark mark = site.mark();
  expect_ok(test::add_and_commit(*site.file, 400'000, 400'000 + kept));
  EXPECT_EQ(site.changes_since(mark).entries.size(), kept);
  const FilterMark later = site.mark();
  expect_ok(test::add_and_commit(*site.file, 500'000, 500'000 + 3 * kept));
  EXPECT_EQ(rows_of_log(site), 1u);
  EXPECT_FALSE(site.leads_from(mark));
  EXPECT_FALSE(site.leads_from(later));
  const FilterMark last = site.mark();
  expect_ok(test::add_and_commit(*site.file, 900'000, 900'010));
  EXPECT_EQ(site.changes_since(last).entries.size(), 10u);
  site.expect_good();
}

TEST_P(FilterFileLog, lost_rows_that_are_kept_are_found) {
  const FilterOptions options = test::options_for({GetParam(), true}, 1000, 0.01, 448);
  Site site(options);
  for (uint64_t keys = 0; site.storage.rows.contains(kFirstLogBlock); keys += 1000) {
    ASSERT_LT(keys, 200'000u);
    expect_ok(test::add_and_commit(*site.file, keys, keys + 1000));
  }
  const test::MemoryBlocks::Rows good = site.storage.rows;
  const auto first = good.lower_bound(kFirstLogBlock);
  const uint64_t rows = rows_of_log(site);
  ASSERT_GT(rows, 5u);
  for (uint64_t i = 0; i < rows; i += std::clamp<uint64_t>(rows / 10, 1, rows - i)) {
    const int64_t id = first->first + static_cast<int64_t>(i);
    ASSERT_EQ(site.storage.rows.erase(id), 1u);
    EXPECT_FALSE(site->check().ok()) << block_name(id);
    site.storage.rows = good;
  }
  // A row that should have been erased is found, too.
  const Blocks blocks(site.storage, options.seed);
  expect_ok(blocks.write(first->first - 1, std::vector<std::byte>(100), false));
  EXPECT_TRUE(fails_saying(site->check(), ErrorCode::kCorrupt,
                           block_name(first->first - 1) + " is before the first row of the log"));
  site.storage.rows = good;
  site.expect_good();
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_log_test
