// What filters in segments can be asked for, and when they are full.
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "tests/core/segments/filled_file.hpp"

namespace cuckoo::segments::segments_filter_file_limits_test {
namespace {

class FixedFileLimits : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_EACH(Kinds, FixedFileLimits, test::cases_where(test::is_fixed));

// Adds new keys until one is refused, and returns how many it took.
uint64_t fill(FilterFile& file, uint64_t first, uint64_t most, uint64_t commit_every) {
  for (uint64_t i = 0; i < most; ++i) {
    const Status status = file.insert(nth_key(first + i));
    if (!status.ok()) {
      EXPECT_TRUE(fails(status, ErrorCode::kFull, "is reached, and growth is off"));
      return i;
    }
    if (commit_every > 0 && i % commit_every == commit_every - 1) {
      expect_ok(test::commit(file));
    }
  }
  return most;
}

void expect_all(FilterFile& file, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) {
    ASSERT_TRUE(file.load_and_probe(nth_key(i)).value()) << i;
  }
}

TEST_P(FixedFileLimits, of_one_segment_take_as_many_distinct_keys_as_the_capacity) {
  for (const uint64_t capacity : {1, 2, 3, 10, 100, 1000}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      FilledFile filled(options_for(GetParam(), capacity));
      const uint64_t first = seed * 1000000;
      const uint64_t most = 3 * capacity + 20;
      const uint64_t fitted = fill(filled.file, first, most, seed % 2 == 0 ? 7 : 0);
      ASSERT_GE(fitted, capacity) << seed;
      ASSERT_LT(fitted, most);
      expect_all(filled.file, first, first + fitted);
      if (GetParam().kind == FilterKind::kCuckoo) {
        ASSERT_EQ(fitted, capacity);
      } else if (!filled.file.multiset()) {  // what looks present needs no room
        ASSERT_EQ(filled.file.items(), capacity);
      }
    }
  }
}

TEST_P(FixedFileLimits, of_several_segments_take_as_many_distinct_keys_as_the_capacity) {
  constexpr uint64_t kCapacity = 150000;
  for (const uint64_t commit_every : {0, 800}) {
    FilledFile filled(options_for(GetParam(), kCapacity, 0.01, 4032));
    ASSERT_GT(filled.file.segments(), 1);
    const uint64_t fitted = fill(filled.file, 0, 2 * kCapacity, commit_every);
    EXPECT_GE(fitted, kCapacity);
    EXPECT_LT(fitted, kCapacity * 11 / 10);
    if (GetParam().kind == FilterKind::kCuckoo) {
      EXPECT_EQ(fitted, kCapacity);
    } else if (!filled.file.multiset()) {
      EXPECT_EQ(filled.file.items(), kCapacity);
    }
    filled.commit();
    expect_all(filled.file, 0, fitted);
    EXPECT_LT(filled.file.rate_now(), 0.011);
    expect_ok(filled.file.check());
    // The same keys are refused again. This changes nothing.
    const uint64_t items = filled.file.items();
    (void)fill(filled.file, 5000000, 1000, 0);
    filled.commit();
    const auto rows = filled.storage.rows;
    (void)fill(filled.file, 5000000, 1000, 0);
    EXPECT_GE(filled.file.items(), items);
    EXPECT_FALSE(filled.file.pending());
    EXPECT_EQ(filled.storage.rows, rows);
  }
}

// At this rate one key in ten seems present when it comes, and a set does not count it as an item.
// By its items alone, a set would take 12 % more keys, and answer at a rate of 0.29.
TEST_P(FixedFileLimits, of_several_segments_keep_a_rate_at_which_many_keys_seem_present) {
  constexpr uint64_t kCapacity = 300000;
  constexpr double kRate = 0.25;
  for (const uint64_t commit_every : {0, 800, 100000}) {
    FilledFile filled(options_for(GetParam(), kCapacity, kRate, 4032));
    ASSERT_GT(filled.file.segments(), 2);
    const uint64_t fitted = fill(filled.file, 0, 2 * kCapacity, commit_every);
    EXPECT_GE(fitted, kCapacity) << commit_every;
    EXPECT_LT(fitted, kCapacity * 21 / 20) << commit_every;
    filled.commit();
    EXPECT_LT(filled.file.rate_now(), kRate * 1.04) << commit_every;
    expect_all(filled.file, 0, fitted);
    expect_ok(filled.file.check());
    // What is there already needs no room, however often it comes.
    for (uint64_t i = 0; i < fitted; ++i) {
      if (!filled.file.multiset()) {
        expect_ok(filled.file.insert(nth_key(i)));
      }
    }
    filled.commit();
    expect_ok(filled.file.check());
  }
}

// Copies are no keys. The filter may have so many that its items are above its capacity.
TEST(FixedCountingFileLimits, are_of_keys_and_not_of_copies) {
  for (const uint64_t capacity : {500, 150000}) {
    FilledFile filled(options_for({FilterKind::kCountingBloom, false}, capacity, 0.01, 4032));
    for (uint64_t i = 0; i < 2 * capacity; ++i) {
      expect_ok(filled.file.insert(nth_key(i % 3)));
    }
    EXPECT_GE(3 + fill(filled.file, 3, 2 * capacity, 500), capacity);
    expect_ok(filled.file.insert(nth_key(0)));
    filled.commit();
    expect_ok(filled.file.check());
  }
}

// All keys fall on one of the segments. It was not made for so many, and they fit all the same.
// A remove makes room, and the next add takes it: in the pages or beyond them.
TEST(FixedCountingFileLimits, hold_however_many_keys_come_and_go) {
  constexpr uint64_t kGone = 3000;
  constexpr uint64_t kProbes = 20000;
  for (const auto& [capacity, replaces] :
       {std::pair{uint64_t{100}, false}, {100, true}, {1000, false}, {1000, true}}) {
    FilledFile filled(options_for({FilterKind::kCountingBloom, false}, capacity));
    FilterFile& file = filled.file;
    const uint64_t fitted = fill(file, 0, 2 * capacity + 20, 0);
    std::deque<uint64_t> held(fitted);
    std::iota(held.begin(), held.end(), 0);
    for (uint64_t i = 0; i < kGone; ++i) {
      const uint64_t gone = held.front();
      held.pop_front();
      if (replaces) {
        const auto replaced =
            file.replace(nth_key(gone), nth_key(fitted + i), FilterFile::IfPresent::kAdd);
        held.push_back(replaced.ok() ? fitted + i : gone);
      } else {
        ASSERT_TRUE(file.remove(nth_key(gone)).value());
      }
      for (uint64_t more = kGone * (i + 1);
           held.size() <= 2 * capacity && file.insert(nth_key(more)).ok(); ++more) {
        held.push_back(more);
      }
      ASSERT_LE(held.size(), 2 * capacity) << i;
      if (i % 100 == 99) {
        expect_ok(test::commit(file));
      }
    }
    EXPECT_GE(held.size(), capacity * 3 / 4);
    for (const uint64_t i : held) {
      ASSERT_TRUE(file.load_and_probe(nth_key(i)).value()) << i;
    }
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kProbes; ++i) {
      wrong += file.load_and_probe(nth_key(i + 1'000'000'000)).value() ? 1 : 0;
    }
    EXPECT_LE(wrong, kProbes / 100 * 3) << capacity;
    expect_ok(file.check());
  }
}

TEST_P(FixedFileLimits, hold_whatever_the_shares_are) {
  constexpr uint64_t kCapacity = 140000;
  FilledFile filled(options_for(GetParam(), kCapacity, 0.01, 4032));
  ASSERT_EQ(filled.file.segments(), 2);
  const auto key = [](uint64_t i) { return nth_key(i) >> 1 >> 17 << 17; };
  constexpr uint64_t kKeys = 85000;  // 70,000 and some are a share
  for (uint64_t i = 0; i < kKeys; ++i) {
    expect_ok(filled.file.insert(key(i)));
  }
  filled.commit();
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(filled.file.load_and_probe(key(i)).value());
  }
  expect_ok(filled.file.check());
}

// --- what can be asked for at all

class FilterFileLimits : public test::KindsTest {
 protected:
  // All ways to size a filter, at their ends.
  static std::vector<FilterSpec> specs() {
    std::vector<FilterSpec> specs;
    FilterSpec spec;
    spec.kind = GetParam().kind;
    for (const double rate : {0.25, 1e-3, 1e-6, kMinRate}) {
      spec.rate = rate;
      specs.push_back(spec);
    }
    for (const uint32_t bits : {4U, 12U, 32U}) {
      spec.fingerprint_bits = is_cuckoo() ? bits : 0;
      spec.bits_per_key = is_cuckoo() ? 0 : bits;
      specs.push_back(spec);
    }
    spec.bits_per_key = is_cuckoo() ? 0 : 128;
    specs.push_back(spec);
    spec.bits_per_key = spec.fingerprint_bits = 0;
    for (const auto& [hashes, rate] : {std::pair(1U, 1e-3), {2U, 1e-6}, {64U, 0.25}}) {
      spec.hashes = is_cuckoo() || GetParam().kind == FilterKind::kBlockedBloom ? 0 : hashes;
      spec.rate = rate;
      specs.push_back(spec);
    }
    return specs;
  }
};
INSTANTIATE_EACH(Kinds, FilterFileLimits, test::all_cases());

class GrowingFileLimits : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, GrowingFileLimits, test::cases_where(test::grows));

TEST_P(FilterFileLimits, of_every_size_of_cell_take_the_capacity_and_grow) {
  for (const FilterSpec& spec : specs()) {
    SCOPED_TRACE("rate " + std::to_string(spec.rate) + ", bits " +
                 std::to_string(spec.fingerprint_bits) + " or " +
                 std::to_string(spec.bits_per_key) + ", hashes " + std::to_string(spec.hashes));
    constexpr uint64_t kCapacity = 3000;
    FilterOptions chosen = options(kCapacity);
    chosen.spec = spec;
    FilledFile filled(chosen);
    expect_ok(test::add(filled.file, 0, kCapacity));
    filled.commit();
    expect_all(filled.file, 0, kCapacity);
    const uint64_t end = growth() ? 4 * kCapacity : kCapacity;
    expect_ok(test::add(filled.file, kCapacity, end));
    filled.commit();
    OpenedFile opened(chosen, filled.storage);
    expect_all(opened, 0, end);
    expect_ok(opened.check());
  }
}

TEST_P(GrowingFileLimits, are_where_hashes_become_too_alike) {
  FilledFile filled(options(1000, kMinRate, kPageBytes));  // 2^46 · 2^-30 = 65,536 items
  expect_ok(test::add(filled.file, 0, 65536));
  EXPECT_EQ(filled.file.items(), 65536U);
  for (const bool committed : {false, true}) {
    EXPECT_TRUE(fails(filled.file.insert(nth_key(65536)), ErrorCode::kFull));
    EXPECT_EQ(filled.file.items(), 65536U);
    EXPECT_TRUE(committed || filled.file.pending());
    filled.commit();
  }
  expect_all(filled.file, 0, 65536);
  EXPECT_FALSE(filled.file.load_and_probe(nth_key(65536)).value());
  EXPECT_EQ(filled.file.insert(nth_key(0)).ok(), !multiset()) << "in a set it is there";
}

TEST_P(GrowingFileLimits, of_a_capacity_out_of_range_leave_a_rebuild_undone) {
  FilledFile filled(options(500, 1e-6));
  expect_ok(test::add(filled.file, 0, 300));
  filled.commit();
  const test::MemoryBlocks::Rows before = filled.storage.rows;
  for (const uint64_t capacity : {kMaxCapacity + 1, UINT64_MAX}) {
    EXPECT_TRUE(fails(filled.file.rebuild(capacity), ErrorCode::kInvalid));
    EXPECT_TRUE(filled.file.usable());
    EXPECT_FALSE(filled.file.pending());
  }
  expect_all(filled.file, 0, 300);
  filled.commit();
  EXPECT_EQ(filled.storage.rows, before);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_limits_test
