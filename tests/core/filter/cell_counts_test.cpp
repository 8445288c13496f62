#include "core/filter/cell_counts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/core/base/unmix64.hpp"

namespace cuckoo::filter_cell_counts_test {
namespace {

TEST(CellCounts, I1_I2_behaves_as_a_map_without_zeros) {
  for (const uint64_t range : {uint64_t{5}, uint64_t{400}, ~uint64_t{0}}) {
    CellCounts counts;
    std::map<uint64_t, uint64_t> model;
    std::mt19937_64 random(range);
    for (int step = 0; step < 20000; ++step) {
      const auto near = model.lower_bound(random());
      const uint64_t cell =
          random() % 2 == 0 && near != model.end() ? near->first : random() % range;
      const uint64_t count = random() % 3;
      counts.make_room();
      counts.set(cell, count);
      model.erase(cell);
      if (count != 0) {
        model[cell] = count;
      }
      ASSERT_EQ(counts.count(cell), count);
      ASSERT_EQ(counts.size(), model.size());
      if (step % 500 == 0) {
        ASSERT_TRUE(counts.good());
        std::map<uint64_t, uint64_t> all;
        counts.for_each([&all](uint64_t one, uint64_t held) { all[one] += held; });
        ASSERT_EQ(all, model);
      }
    }
  }
}

TEST(CellCounts, I3_what_there_is_room_for_takes_no_memory) {
  CellCounts counts;
  EXPECT_EQ(counts.memory_bytes(), 0u);
  counts.make_room(100);
  const size_t bytes = counts.memory_bytes();
  for (uint64_t cell = 0; cell < 100; ++cell) {
    counts.add(cell, cell + 1);
    counts.add(cell, 1);
  }
  EXPECT_EQ(counts.memory_bytes(), bytes);
  EXPECT_EQ(counts.count(99), 101u);
  counts.add(99, ~uint64_t{0});
  EXPECT_EQ(counts.count(99), 100u);
  counts.clear();
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts.count(5), 0u);
}

TEST(CellCounts, I4_cells_that_were_made_to_crowd_do_not) {
  CellCounts counts;
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t cell = test::unmix64(i << 32);
    counts.make_room();
    counts.set(cell, 1);
    ASSERT_LT(counts.distance(cell), 200u) << i;
  }
}

}  // namespace
}  // namespace cuckoo::filter_cell_counts_test
