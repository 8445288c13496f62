#include "core/segments/overlap.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/segments/filter_window.hpp"
#include "tests/core/segments/filled_file.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments::segments_overlap_test {
namespace {

using Hashes = std::set<uint64_t>;

// Hands over the hashes in portions, some of which are empty.
HashReader in_portions(const Hashes& hashes, uint64_t step) {
  return [&hashes, step](uint64_t from, std::vector<uint64_t>& to) -> Result<uint64_t> {
    const uint64_t next = from + std::min(step, ~from) + 1;  // 0: the end
    const auto first = hashes.lower_bound(from);
    std::copy(first, next == 0 ? hashes.end() : hashes.lower_bound(next), std::back_inserter(to));
    return next;
  };
}

std::vector<HashReader> readers_of(const std::vector<Hashes>& all, uint64_t step) {
  std::vector<HashReader> readers;
  for (const Hashes& one : all) {
    readers.push_back(in_portions(one, step));
  }
  return readers;
}

Hashes united(const std::vector<Hashes>& all, HashWidth width) {
  Hashes sum;
  for (const Hashes& one : all) {
    std::ranges::transform(one, std::inserter(sum, sum.end()),
                           [width](uint64_t hash) { return logged_hash(hash, width); });
  }
  return sum;
}

TEST(HashOverlap, is_that_of_sets) {
  test::for_each_seed(300, [](uint64_t seed) {
    test::Script script(seed);
    const auto some = [&script] {
      std::vector<Hashes> all(script.random(4));
      const uint64_t shift = script.random(64);  // close together, or far apart
      for (Hashes& one : all) {
        for (uint64_t count = script.random(60); count > 0; --count) {
          one.insert(script.one_in(20) ? ~uint64_t{0} : script.random(100) << shift);
        }
      }
      return all;
    };
    const std::vector<Hashes> a = some();
    const std::vector<Hashes> b = some();
    const HashWidth width = script.one_in(2) ? HashWidth::k47Bits : HashWidth::k63Bits;
    const Hashes in_a = united(a, width);
    const Hashes in_b = united(b, width);
    const auto shared =
        std::ranges::count_if(in_a, [&](uint64_t hash) { return in_b.contains(hash); });
    const auto readers_a = readers_of(a, ~uint64_t{0} >> script.random(5));
    const auto readers_b = readers_of(b, ~uint64_t{0} >> script.random(5));
    ASSERT_EQ(must(overlap(readers_a, readers_b, width)), static_cast<uint64_t>(shared));
  });
}

TEST(HashOverlap, ends_when_a_range_fails_or_the_poll_says_no) {
  const Hashes hashes = {1, 2, ~uint64_t{0}};
  const HashReader bad = [](uint64_t, std::vector<uint64_t>&) -> Result<uint64_t> {
    return corrupt("a bad block");
  };
  const std::vector<HashReader> good = {in_portions(hashes, ~uint64_t{0} >> 2)};
  EXPECT_TRUE(fails(overlap(good, {bad}, HashWidth::k63Bits), ErrorCode::kCorrupt, "a bad block"));
  EXPECT_TRUE(fails(overlap({bad}, good, HashWidth::k63Bits), ErrorCode::kCorrupt, "a bad block"));
  for (uint64_t polls = 1; polls < 8; ++polls) {
    uint64_t left = polls;
    const Poll poll = [&left]() -> Status {
      return --left == 0 ? Error{ErrorCode::kInterrupted, "stopped", 0} : Status();
    };
    EXPECT_TRUE(fails(overlap(good, good, HashWidth::k63Bits, poll), ErrorCode::kInterrupted));
  }
}

// It counts the keys that pend, and none that was removed. It changes nothing.
TEST(HashOverlap, is_that_of_filters_with_pending_changes) {
  FilledFile a(options_for({FilterKind::kCuckoo, true}, 3000, 0.01, 448));
  FilterOptions longer = options_for({FilterKind::kBloom, true}, 100, 1e-6, 448);
  longer.width = HashWidth::k63Bits;
  FilledFile b(longer);
  expect_ok(test::add(a.file, 0, 30'000));
  expect_ok(test::commit(a.file));
  expect_ok(test::add(b.file, 20'000, 45'000));
  expect_ok(test::commit(b.file));
  ASSERT_GT(a.file.segments(), 1u);
  const auto shared = [&] {
    return must(overlap({must(a.file.hash_reader())}, {must(b.file.hash_reader())},
                        a.file.options().width));
  };
  EXPECT_EQ(shared(), 10'000u);
  expect_ok(test::add(a.file, 30'000, 30'100));
  expect_ok(test::add(a.file, 25'000, 25'500));  // copies
  for (uint64_t i = 20'000; i < 20'050; ++i) {
    ASSERT_TRUE(must(a.file.remove(nth_key(i))));
  }
  EXPECT_EQ(shared(), 10'050u);
  EXPECT_TRUE(a.file.pending());
  expect_ok(test::commit(a.file));
  EXPECT_EQ(shared(), 10'050u);
  expect_ok(a.file.check());
}

TEST(HashOverlap, needs_hashes) {
  FilledFile fixed(options_for({FilterKind::kCuckoo, false}, 100));
  EXPECT_TRUE(fails(fixed.file.hash_reader(), ErrorCode::kInvalid, "keeps no hashes"));
}

}  // namespace
}  // namespace cuckoo::segments::segments_overlap_test
