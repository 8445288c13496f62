// What overflows when a cuckoo filter's keys come several times each, and what the search for a
// place may cost then.
#include "core/filter/cuckoo_filter.hpp"
#include "tests/core/filter/cuckoo_samples.hpp"
#include "tests/core/filter/kinds.hpp"

namespace cuckoo::filter_cuckoo_overflow_test {
namespace {

TEST(CuckooOverflow, keys_with_copies_overflow_where_there_is_no_room_and_nowhere_else) {
  // For each number of copies, the most entries that may overflow, as a part of all: what searches
  // of 20,000 nodes leave without a place, and 1 % more.
  const double most[] = {0, 0.0001, 0.0477, 0.1188, 0.1367, 0.1728, 0.1441, 0.1281, 0.1076};
  for (uint64_t copies = 1; copies <= 8; ++copies) {
    constexpr uint64_t kKeys = 20000;
    CuckooFilter filter = cuckoo_for(kKeys * copies, 0.001);
    for (uint64_t i = 0; i < kKeys * copies; ++i) {
      filter.insert(nth_hash(21, i * 7919 % (kKeys * copies) / copies));
    }
    const auto cells = static_cast<double>(filter.overflow().cells());
    EXPECT_LE(cells, most[copies] * static_cast<double>(kKeys * copies)) << copies;
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_GE(filter.count(nth_hash(21, i)), copies) << i;
    }
    expect_good(filter, std::to_string(copies) + " copies");
  }
}

TEST(CuckooOverflow, keys_counted_in_the_overflow_table_take_no_room_from_others) {
  constexpr uint64_t kKeys = 100000;
  constexpr uint64_t kCounted = 3000;
  CuckooFilter filter = cuckoo_for(kKeys, 0.001);
  const std::unique_ptr<FilterBuilder> builder = filter.builder(kKeys, Filter::Digest::kSum);
  for (uint64_t i = 0; i < kCounted; ++i) {
    builder->insert(nth_hash(22, i), 1000);
  }
  for (uint64_t i = kCounted; i < kCounted + kKeys; ++i) {
    builder->insert(nth_hash(22, i), 1);
  }
  builder->finish();
  EXPECT_LE(filter.overflow().cells(), kCounted + kKeys / 1000);
  expect_good(filter, "counted");
}

// An entry that goes to the overflow table decides where the next ones go, so none may overtake it.
TEST(CuckooOverflow, a_builder_leaves_what_single_inserts_leave) {
  constexpr uint64_t kKeys = 8000;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto copies_of = [seed](uint64_t i) { return 5 + nth_hash(25 + seed, i) % 6; };
    const auto hash_of = [seed](uint64_t i) { return nth_hash(40 + seed, i); };
    for (const bool array : {false, true}) {
      CuckooFilter built = cuckoo_for(7 * kKeys, 0.25);  // many share their cells
      CuckooFilter single = cuckoo_for(7 * kKeys, 0.25);
      const std::unique_ptr<FilterBuilder> builder =
          built.builder(array ? built.fewest_bulk_inserts() : 0, Filter::Digest::kNone);
      for (uint64_t i = 0; i < kKeys; ++i) {
        const uint64_t hash = hash_of(i);
        builder->insert(hash, copies_of(i));
        if (copies_of(i) > kMaxCopiesInBuckets) {
          single.overflow().add(single.cell(hash), copies_of(i));
          continue;
        }
        for (uint64_t copy = 0; copy < copies_of(i); ++copy) {
          single.insert(hash);
        }
      }
      builder->finish();
      EXPECT_TRUE(test::equal_cells(built, single)) << "seed " << seed << ", array " << array;
      expect_good(built, "built");
    }
  }
}

// If millions of entries find no room, a long search for each of them takes minutes.
TEST(CuckooOverflow, searches_are_given_up_soon_where_many_found_nothing) {
  constexpr uint64_t kKeys = 20000;
  constexpr uint64_t kCopies = 4;
  CuckooFilter filter = cuckoo_for(kKeys * kCopies, 0.001);
  size_t longest = 0;
  for (uint64_t i = 0; i < kKeys * kCopies; ++i) {
    filter.insert(nth_hash(23, i % kKeys));
    if (filter.overflow().cells() > 5000) {
      longest = std::max(longest, filter.last_search());
    }
  }
  EXPECT_GT(longest, 200u);
  EXPECT_LT(longest, 256u + kBucketSlots);
}

}  // namespace
}  // namespace cuckoo::filter_cuckoo_overflow_test
