#include "core/filter/overflow_table.hpp"

#include "tests/support/core_samples.hpp"
#include "tests/support/names.hpp"

namespace cuckoo::filter_overflow_table_test {
namespace {

// Some runs have so few cells that most come again, others so many that the table grows.
class OverflowTableOf : public ::testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Cells, OverflowTableOf, ::testing::Values(3, 50, 3000, uint64_t{1} << 62),
                         test::kParameterName);

TEST_P(OverflowTableOf, I1_behaves_as_a_map_of_counts) {
  OverflowTable table;
  std::map<uint64_t, uint64_t> model;
  std::map<uint64_t, bool> touched;
  std::mt19937_64 random(23);
  uint64_t items = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool known = !model.empty() && random() % 2 == 0;
    const uint64_t drawn = random() % GetParam();
    const auto near = model.lower_bound(drawn);
    const uint64_t cell = known && near != model.end() ? near->first : drawn;
    if (random() % 2 == 0) {
      const uint64_t count = random() % 3;
      table.add(cell, count);
      if (count != 0) {
        model[cell] += count;
        touched[cell] = true;
      }
      items += count;
    } else {
      const auto found = model.find(cell);
      ASSERT_EQ(table.remove(cell), found != model.end());
      if (found != model.end()) {
        touched[cell] = true;
        --items;
        if (--found->second == 0) {
          model.erase(found);
        }
      }
    }
    ASSERT_EQ(table.items(), items);
    ASSERT_EQ(table.count(cell), model.contains(cell) ? model[cell] : 0);
    if (step % 100 == 0) {
      const auto same = [](const OverflowTable::CellCount& one, const auto& held) {
        return one.cell == held.first && one.count == held.second;
      };
      const std::vector<OverflowTable::CellCount> counts = table.counts();
      ASSERT_TRUE(std::equal(counts.begin(), counts.end(), model.begin(), model.end(), same));
      for (const auto& [number, count] : model) {
        ASSERT_EQ(table.count(number), count);
      }
      ASSERT_EQ(table.changed().size(), touched.size());
      ASSERT_TRUE(std::equal(touched.begin(), touched.end(), table.changed().begin(),
                             [](const auto& a, uint64_t b) { return a.first == b; }));
      OverflowTable rebuilt;
      for (const auto& [number, count] : model) {
        rebuilt.add(number, count);
      }
      ASSERT_EQ(rebuilt.digest(), table.digest());
      ASSERT_TRUE(rebuilt.equals(table) && table.equals(rebuilt));
      rebuilt.add(7);
      ASSERT_FALSE(rebuilt.equals(table) || table.equals(rebuilt));
      test::expect_good(table);
      table.clear_changed();
      touched.clear();
    }
  }
  EXPECT_EQ(table.cells(), model.size());
}

TEST(OverflowTable, I2_digest_tells_cells_and_counts_apart) {
  OverflowTable one, two, other;
  EXPECT_EQ(one.digest(), 0u);
  one.add(5);
  two.add(5, 2);
  other.add(6);
  EXPECT_NE(one.digest(), two.digest());
  EXPECT_NE(one.digest(), other.digest());
  one.remove(5);
  EXPECT_EQ(one.digest(), 0u);
  EXPECT_TRUE(one.empty());
}

}  // namespace
}  // namespace cuckoo::filter_overflow_table_test
