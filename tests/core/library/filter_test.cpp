// What both kinds of filters have in common, as a program uses them: <cuckoo/filter.hpp>.
#include <cuckoo/filter.hpp>

#include <cuckoo/bloom_filter.hpp>
#include <cuckoo/cuckoo_filter.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <list>
#include <random>
#include <type_traits>
#include <unordered_set>

#include "tests/support/allocations.hpp"
#include "tests/support/share.hpp"
#include "tests/support/status.hpp"
#include "tests/support/threads.hpp"

namespace library_filter_test {
namespace {

using cuckoo::BloomFilter;
using cuckoo::CuckooFilter;
using cuckoo::ErrorCode;

template <class Filter>
struct OptionsOf;
template <>
struct OptionsOf<CuckooFilter> {
  using Type = cuckoo::CuckooFilterOptions;
};
template <>
struct OptionsOf<BloomFilter> {
  using Type = cuckoo::BloomFilterOptions;
};

template <class Filter>
class MembershipFilter : public testing::Test {
 protected:
  using Options = typename OptionsOf<Filter>::Type;

  static Filter made(uint64_t keys, double rate = 0.001, bool grows = true, uint64_t seed = 1) {
    Options options;
    options.expected_keys = keys;
    options.rate = rate;
    options.grows = grows;
    options.seed = seed;
    return must(Filter::make(options));
  }
};
using Filters = testing::Types<CuckooFilter, BloomFilter>;
TYPED_TEST_SUITE(MembershipFilter, Filters);

std::vector<uint64_t> keys_from(uint64_t first, uint64_t end) {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < end; ++key) {
    keys.push_back(key);
  }
  return keys;
}

template <class Filter>
size_t missing(const Filter& filter, uint64_t first, uint64_t end) {
  size_t missing = 0;
  for (const bool found : filter.contains_each(keys_from(first, end))) {
    missing += found ? 0 : 1;
  }
  return missing;
}

// The most that rate_now() may be after so many keys. In a cuckoo filter it follows from the number
// of entries, and no segment has more than it was made for.
//
// In a Bloom filter it follows from the number of set bits, which differs by chance. With k =
// log2(1 / rate) hashes a key and half of m = n·k / ln 2 bits set, the part p of them that n keys
// set has the variance (1/2 - (1 + ln 2) / 4) / m, and the rate, p^k, a relative standard deviation
// of d = k·√variance / (1/2). The filter is sized so that mean·(1 + d) is the rate
// (core/filter/bloom_sizing.hpp). Four deviations above the mean are allowed.
template <class Filter>
double most_rate_now(double rate, uint64_t keys) {
  if (std::is_same_v<Filter, CuckooFilter>) {
    return rate;
  }
  const double k = std::log2(1 / rate);
  const double bits = static_cast<double>(keys) * k / std::log(2);
  const double d = k * std::sqrt((0.5 - (1 + std::log(2)) / 4) / bits) / 0.5;
  return rate * (1 + 4 * d) / (1 + d);
}

TYPED_TEST(MembershipFilter, is_empty_at_first) {
  const TypeParam filter = this->made(1000);
  EXPECT_TRUE(filter.empty());
  EXPECT_EQ(filter.size(), 0U);
  EXPECT_FALSE(filter.contains("apple"));
  EXPECT_TRUE(filter.contains_each(std::vector<int>()).empty());
  EXPECT_EQ(filter.rate_now(), 0);
  EXPECT_EQ(filter.rate(), 0.001);
  EXPECT_EQ(filter.seed(), 1U);
}

TYPED_TEST(MembershipFilter, keys_are_texts_numbers_and_bytes) {
  TypeParam filter = this->made(1000, 1e-9);
  const std::byte bytes[] = {std::byte{1}, std::byte{0}};
  ASSERT_TRUE(filter.add("apple").ok());
  ASSERT_TRUE(filter.add(42).ok());
  ASSERT_TRUE(filter.add(0.5).ok());
  ASSERT_TRUE(filter.add(std::span<const std::byte>(bytes)).ok());
  EXPECT_TRUE(filter.contains(std::string("apple")));
  EXPECT_TRUE(filter.contains(uint16_t{42}));
  EXPECT_TRUE(filter.contains(0.5F));
  EXPECT_TRUE(filter.contains(std::span<const std::byte>(bytes)));
  EXPECT_FALSE(filter.contains("42"));
  EXPECT_FALSE(filter.contains("Apple"));
  EXPECT_EQ(filter.size(), 4U);
}

TYPED_TEST(MembershipFilter, takes_any_range_of_keys) {
  TypeParam filter = this->made(1000, 1e-9);
  ASSERT_TRUE(filter.add_all(std::list<std::string>{"apple", "pear"}).ok());
  const char* const more[] = {"plum", "quince"};
  ASSERT_TRUE(filter.add_all(more).ok());
  EXPECT_EQ(filter.contains_each(std::vector<std::string>{"plum", "fig", "apple"}),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(filter.size(), 4U);
}

// One filter is made for ten keys, and another for all of them.
TYPED_TEST(MembershipFilter, has_the_rate_that_was_asked_for_at_any_size) {
  const uint64_t keys = std::max<uint64_t>(cuckoo::test::share(300'000), 30'000);
  for (const double rate : {0.03, 0.001}) {
    for (const uint64_t expected : {uint64_t{10}, keys}) {
      TypeParam filter = this->made(expected, rate);
      for (uint64_t i = 0; i < keys / 10; ++i) {
        ASSERT_TRUE(filter.add(i).ok());
      }
      ASSERT_TRUE(filter.add_all(keys_from(keys / 10, keys)).ok());
      EXPECT_EQ(missing(filter, 0, keys), 0U);
      const auto wrong = static_cast<double>(keys - missing(filter, keys, 2 * keys));
      const double most = rate * static_cast<double>(keys);
      EXPECT_LE(wrong, most + 4 * std::sqrt(most)) << rate << " " << expected;
      EXPECT_LE(filter.rate_now(), most_rate_now<TypeParam>(rate, keys));
      EXPECT_GE(filter.capacity(), keys * 9 / 10);
    }
  }
}

TYPED_TEST(MembershipFilter, takes_its_capacity_and_says_when_it_is_full) {
  TypeParam filter = this->made(5000, 0.001, false);
  EXPECT_FALSE(filter.grows());
  ASSERT_TRUE(filter.add_all(keys_from(0, 5000)).ok());
  uint64_t next = 5000;
  while (filter.add(next).ok()) {
    ASSERT_LT(++next, 6000U);
  }
  EXPECT_TRUE(fails(filter.add(next), ErrorCode::kFull, "capacity of 5000"));
  EXPECT_EQ(missing(filter, 0, next), 0U);
}

TYPED_TEST(MembershipFilter, add_new_says_what_is_new) {
  TypeParam filter = this->made(1000, 1e-9);
  EXPECT_TRUE(filter.add_new("apple").value());
  EXPECT_FALSE(filter.add_new("apple").value());
  EXPECT_EQ(filter.size(), 1U);
}

TYPED_TEST(MembershipFilter, clear_leaves_what_make_made) {
  TypeParam filter = this->made(1000);
  ASSERT_TRUE(filter.add_all(keys_from(0, 20'000)).ok());
  ASSERT_TRUE(filter.clear().ok());
  EXPECT_TRUE(filter.empty());
  EXPECT_EQ(missing(filter, 0, 20'000), 20'000U);
  EXPECT_EQ(filter.capacity(), 1000U);
  ASSERT_TRUE(filter.add(1).ok());
  EXPECT_TRUE(filter.contains(1));
}

TYPED_TEST(MembershipFilter, survives_as_bytes) {
  for (const bool grows : {true, false}) {
    TypeParam filter = this->made(20'000, 0.001, grows);
    for (uint64_t i = 0; i < 10'000; ++i) {
      ASSERT_TRUE(filter.add(i).ok());
    }
    const auto bytes = must(filter.to_bytes());
    TypeParam copy = must(TypeParam::from_bytes(bytes));
    EXPECT_EQ(missing(copy, 0, 10'000), 0U);
    EXPECT_EQ(copy.size(), filter.size());
    EXPECT_EQ(copy.seed(), filter.seed());
    EXPECT_EQ(copy.grows(), grows);
    EXPECT_EQ(copy.to_bytes().value(), bytes);
    const uint64_t keys = grows ? 100'000 : 19'000;
    ASSERT_TRUE(copy.add_all(keys_from(10'000, keys)).ok());
    EXPECT_EQ(missing(copy, 0, keys), 0U);
    EXPECT_LE(copy.rate_now(), most_rate_now<TypeParam>(0.001, keys));
  }
}

TYPED_TEST(MembershipFilter, without_hashes_its_bytes_are_fewer_and_it_does_not_grow) {
  TypeParam filter = this->made(1000);
  ASSERT_TRUE(filter.add_all(keys_from(0, 5000)).ok());
  const auto small = filter.to_bytes(cuckoo::SavedHashes::kNo);
  EXPECT_LT(2 * small.value().size(), filter.to_bytes().value().size());
  auto read = must(TypeParam::from_bytes(small.value()));
  EXPECT_FALSE(read.grows());
  EXPECT_EQ(missing(read, 0, 5000), 0U);
  EXPECT_EQ(read.add_all(keys_from(5000, 50'000)).error().code, ErrorCode::kFull);
  EXPECT_EQ(missing(read, 0, 5000), 0U);
}

TYPED_TEST(MembershipFilter, believes_no_damaged_bytes) {
  TypeParam filter = this->made(1000);
  ASSERT_TRUE(filter.add_all(keys_from(0, 900)).ok());
  const std::vector<std::byte> bytes = filter.to_bytes().value();
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    const auto read = TypeParam::from_bytes(damaged);
    ASSERT_FALSE(read.ok()) << at;
    EXPECT_FALSE(read.error().message.empty());
  }
  for (size_t length = 0; length < bytes.size(); length += 97) {
    EXPECT_FALSE(TypeParam::from_bytes(std::span(bytes).first(length)).ok()) << length;
  }
}

TYPED_TEST(MembershipFilter, merges_filters_of_any_size_that_grow) {
  TypeParam large = this->made(1000, 0.01);
  TypeParam small = this->made(100'000, 0.001);
  ASSERT_TRUE(large.add_all(keys_from(0, 30'000)).ok());
  ASSERT_TRUE(small.add_all(keys_from(30'000, 31'000)).ok());
  ASSERT_TRUE(large.merge(small).ok());
  EXPECT_EQ(missing(large, 0, 31'000), 0U);
  EXPECT_LE(large.rate_now(), most_rate_now<TypeParam>(0.01, 31'000));
  EXPECT_NEAR(static_cast<double>(large.size()), 31'000, 400);
  EXPECT_EQ(missing(small, 0, 30'000) > 29'000, true);
}

TYPED_TEST(MembershipFilter, merges_cells_of_filters_made_for_the_same) {
  TypeParam a = this->made(20'000, 0.001, false);
  TypeParam b = this->made(20'000, 0.001, false);
  ASSERT_TRUE(a.add_all(keys_from(0, 8000)).ok());
  ASSERT_TRUE(b.add_all(keys_from(8000, 16'000)).ok());
  ASSERT_TRUE(a.merge(b).ok());
  EXPECT_EQ(missing(a, 0, 16'000), 0U);
}

TYPED_TEST(MembershipFilter, refuses_to_merge_what_does_not_go_together) {
  TypeParam filter = this->made(1000, 0.001, false);
  const auto expect_refused = [&](const TypeParam& other, const char* why) {
    EXPECT_TRUE(fails(filter.merge(other), ErrorCode::kInvalid, why));
  };
  expect_refused(this->made(1000, 0.001, false, 2), "seed");
  expect_refused(this->made(2000, 0.001, false), "geometry");
  expect_refused(filter, "another filter");
  expect_refused(TypeParam(), "moved from");
}

TYPED_TEST(MembershipFilter, counts_the_keys_that_another_one_has_too) {
  TypeParam a = this->made(1000, 0.01);
  TypeParam b = this->made(100'000, 1e-6);
  ASSERT_TRUE(a.add_all(keys_from(0, 30'000)).ok());
  ASSERT_TRUE(a.add_all(keys_from(0, 100)).ok());  // each key counts once
  ASSERT_TRUE(b.add_all(keys_from(29'000, 40'000)).ok());
  EXPECT_EQ(must(a.overlap(b)), 1000U);
  EXPECT_EQ(must(b.overlap(a)), 1000U);
  EXPECT_EQ(must(a.overlap(a)), 30'000U);
  cuckoo::CuckooFilterOptions options;
  options.seed = 1;
  CuckooFilter other = must(CuckooFilter::make(options));
  EXPECT_EQ(must(a.overlap(other)), 0U);
  ASSERT_TRUE(other.add(uint64_t{7}).ok());
  EXPECT_EQ(must(a.overlap(other)), 1U);
  EXPECT_EQ(must(must(TypeParam::from_bytes(must(a.to_bytes()))).overlap(b)), 1000U);
}

TYPED_TEST(MembershipFilter, refuses_an_overlap_with_what_does_not_go_together) {
  TypeParam filter = this->made(1000);
  EXPECT_TRUE(fails(filter.overlap(this->made(1000, 0.001, true, 2)), ErrorCode::kInvalid, "seed"));
  EXPECT_TRUE(fails(filter.overlap(this->made(1000, 0.001, false)), ErrorCode::kInvalid, "hashes"));
  EXPECT_TRUE(fails(filter.overlap(TypeParam()), ErrorCode::kInvalid, "moved from"));
  const auto bare = must(TypeParam::from_bytes(must(filter.to_bytes(cuckoo::SavedHashes::kNo))));
  EXPECT_TRUE(fails(bare.overlap(filter), ErrorCode::kInvalid, "hashes"));
}

TYPED_TEST(MembershipFilter, options_out_of_range_are_refused) {
  for (const double rate : {0.0, 0.5, -1.0, std::nan("")}) {
    typename OptionsOf<TypeParam>::Type options;
    options.rate = rate;
    const cuckoo::Error error = TypeParam::make(options).error();
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << rate;
    EXPECT_NE(error.message.find("rate"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("fpr"), std::string::npos) << error.message;
  }
  for (const uint64_t keys : {uint64_t{0}, UINT64_MAX}) {
    typename OptionsOf<TypeParam>::Type options;
    options.expected_keys = keys;
    const cuckoo::Error error = TypeParam::make(options).error();
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << keys;
    EXPECT_NE(error.message.find("expected_keys"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("capacity"), std::string::npos) << error.message;
  }
}

TYPED_TEST(MembershipFilter, seeds_are_random) {
  EXPECT_NE(TypeParam::make().value().seed(), TypeParam::make().value().seed());
}

TYPED_TEST(MembershipFilter, one_that_was_moved_from_holds_nothing) {
  TypeParam from = this->made(1000);
  ASSERT_TRUE(from.add(1).ok());
  TypeParam to = std::move(from);
  EXPECT_TRUE(to.contains(1));
  for (TypeParam* const none : {&from, new TypeParam()}) {
    EXPECT_FALSE(none->contains(1));
    EXPECT_EQ(none->contains_each(std::vector<int>{1, 2}), (std::vector<bool>{false, false}));
    EXPECT_EQ(none->size(), 0U);
    EXPECT_EQ(none->capacity(), 0U);
    EXPECT_EQ(none->rate(), 0);
    EXPECT_EQ(none->rate_now(), 0);
    EXPECT_EQ(none->load_factor(), 0);
    EXPECT_GT(none->memory_bytes(), 0U);
    EXPECT_FALSE(none->grows());
    EXPECT_EQ(none->add(1).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none->add_all(std::vector<int>{1}).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none->add_new(1).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none->clear().error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none->merge(to).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(none->to_bytes().error().code, ErrorCode::kInvalid);
    if (none != &from) {
      delete none;
    }
  }
  from = std::move(to);
  EXPECT_TRUE(from.contains(1));
}

// A random life of a filter, beside a set of what must be there. A key is removed no more often
// than it was added.
template <class Filter>
class Life {
 public:
  Life(Filter filter, uint64_t seed) : random_(seed), filter_(std::move(filter)) {}

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      this->step();
      const uint64_t key = some_key();
      ASSERT_TRUE(!model_.contains(key) || filter_.contains(key)) << step;
    }
    const std::vector<uint64_t> keys(model_.begin(), model_.end());
    const std::vector<bool> found = filter_.contains_each(keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(found[i]) << keys[i];
      ASSERT_TRUE(filter_.contains(keys[i]));
    }
    size_t wrong = 0;
    for (uint64_t key = kKeys; key < 2 * kKeys; ++key) {
      wrong += filter_.contains(key) ? 1 : 0;
    }
    EXPECT_LE(wrong, 4U);  // at a rate of 1e-6
  }

 private:
  static constexpr uint64_t kKeys = 100'000;

  uint64_t some_key() { return random_() % kKeys; }
  uint64_t steps(uint64_t most) { return random_() % most; }

  // Adds the key to filter and model, if the model lacks it. So no key is there twice.
  template <class Add>
  void add(uint64_t key, Add&& add) {
    if (!model_.contains(key)) {
      const bool added = add(key);
      ASSERT_TRUE(added || !filter_.grows()) << key;
      if (added) {
        model_.insert(key);
      }
    }
  }
  void add_many(uint64_t count) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t key = some_key();
      if (model_.insert(key).second) {
        keys.push_back(key);
      }
    }
    if (!filter_.add_all(keys).ok()) {
      ASSERT_FALSE(filter_.grows());
      for (const uint64_t key : keys) {  // a Bloom filter may have some of them
        model_.erase(key);
      }
    }
  }
  void remove_some() {
    if constexpr (std::is_same_v<Filter, CuckooFilter>) {
      for (uint64_t left = steps(1000); left > 0 && !model_.empty(); --left) {
        const uint64_t key = *model_.begin();
        ASSERT_TRUE(filter_.remove(key).value());
        model_.erase(key);
      }
    }
  }
  void merge_some() {
    auto other = Filter::from_bytes(filter_.to_bytes().value());  // made alike
    ASSERT_TRUE(other.ok() && other.value().clear().ok());
    std::vector<uint64_t> keys;
    for (uint64_t i = steps(3000); i > 0; --i) {
      const uint64_t key = some_key();
      if (!model_.contains(key) && other.value().add(key).ok()) {
        keys.push_back(key);
      }
    }
    const cuckoo::Status merged = filter_.merge(other.value());
    ASSERT_TRUE(merged.ok() || !filter_.grows()) << merged.error().message;
    if (merged.ok()) {
      for (const uint64_t key : keys) {
        if (!model_.insert(key).second) {  // twice among them: it is there twice
          remove_one(key);
        }
      }
    }
  }
  // Adds a key so often that its copies go in one by one, or so often that they do not.
  void add_copies() {
    if constexpr (std::is_same_v<Filter, CuckooFilter>) {
      const uint64_t copies = 2 + steps(12);
      add(some_key(), [&](uint64_t key) {
        const uint64_t size = filter_.size();
        if (!filter_.add(key, copies).ok()) {
          EXPECT_EQ(filter_.size(), size);
          return false;
        }
        EXPECT_EQ(filter_.size(), size + copies);
        EXPECT_GE(filter_.count(key), copies);
        for (uint64_t left = copies; left > 1; --left) {
          remove_one(key);
        }
        return true;
      });
    }
  }
  void remove_one(uint64_t key) {
    if constexpr (std::is_same_v<Filter, CuckooFilter>) {
      ASSERT_TRUE(filter_.remove(key).value());
    }
  }

  void step() {
    switch (steps(12)) {
      case 0:
        add_many(steps(steps(4) == 0 ? 30'000 : 500));
        break;
      case 1:
      case 2:
        remove_some();
        break;
      case 3:
        merge_some();
        break;
      case 4: {
        auto read = must(Filter::from_bytes(filter_.to_bytes().value()));
        ASSERT_EQ(read.size(), filter_.size());
        filter_ = std::move(read);
        break;
      }
      case 5:
        if (steps(20) == 0) {
          ASSERT_TRUE(filter_.clear().ok());
          model_.clear();
        }
        break;
      case 6:
        for (int i = 0; i < 100; ++i) {
          add(some_key(), [this](uint64_t key) {
            const auto added = filter_.add_new(key);
            return added.ok() && added.value();
          });
        }
        break;
      case 7:
      case 8:
        for (int i = 0; i < 30; ++i) {
          add_copies();
        }
        break;
      default:
        for (uint64_t i = steps(2000); i > 0; --i) {
          add(some_key(), [this](uint64_t key) { return filter_.add(key).ok(); });
        }
    }
  }

  std::mt19937_64 random_;
  Filter filter_;
  std::unordered_set<uint64_t> model_;
};

TYPED_TEST(MembershipFilter, keeps_every_key_through_all_changes) {
  for (uint64_t seed = cuckoo::test::share_first(); seed < 12;
       seed += cuckoo::test::share_divisor()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool grows = seed % 2 == 0;
    const uint64_t keys = grows ? 10 + seed * 3000 : 20'000 + seed * 10'000;
    Life<TypeParam>(this->made(keys, 1e-6, grows), seed).run(60);
  }
}

// I1 of core/library/memory_filter.hpp; ThreadSanitizer sees the writes.
TYPED_TEST(MembershipFilter, threads_ask_at_the_same_time) {
  TypeParam filter = this->made(1000);
  ASSERT_TRUE(filter.add_all(keys_from(0, 20'000)).ok());
  for (uint64_t i = 20'000; i < 20'500; ++i) {
    ASSERT_TRUE(filter.add(i).ok());
  }
  const TypeParam& asked = filter;
  const std::vector<std::byte> bytes = asked.to_bytes().value();
  std::atomic<size_t> wrong{0};
  cuckoo::test::in_threads(4, [&](int) {
    wrong += missing(asked, 0, 20'500);
    wrong += asked.to_bytes().value() == bytes ? 0 : 1;
    wrong += asked.size() > 0 && asked.rate_now() > 0 && asked.memory_bytes() > 0 ? 0 : 1;
    wrong += asked.capacity() > 0 && asked.load_factor() > 0 ? 0 : 1;
    const std::vector<bool> found = asked.contains_each(keys_from(0, 20'500));
    wrong += static_cast<size_t>(std::count(found.begin(), found.end(), false));
    TypeParam own = this->made(1000);
    wrong += own.merge(asked).ok() ? missing(own, 0, 20'500) : 1;
    if constexpr (std::is_same_v<TypeParam, cuckoo::CuckooFilter>) {
      for (uint64_t key = 0; key < 20'500; ++key) {
        wrong += asked.count(key) > 0 ? 0 : 1;
      }
    }
  });
  EXPECT_EQ(wrong, 0U);
}

// Memory runs out at each allocation in turn. The filter has what was added before, or says that it
// is broken. It never says "no" to a key that it has.
TYPED_TEST(MembershipFilter, says_no_to_nothing_that_it_held_when_memory_ran_out) {
  size_t broken = 0;
  bool failed = true;
  for (int64_t allowed = 0; failed; ++allowed) {
    TypeParam filter = this->made(100);
    ASSERT_TRUE(filter.add_all(keys_from(0, 3000)).ok());
    const std::vector<uint64_t> more = keys_from(3000, 6000);
    failed = cuckoo::runs_out_of_memory(allowed,
                                        [&] { (void)filter.add_all(more), (void)filter.add(1); });
    EXPECT_EQ(missing(filter, 0, 3000), 0U) << allowed;
    const cuckoo::Status status = filter.add(6000);
    if (!status.ok()) {
      ++broken;
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      EXPECT_EQ(filter.to_bytes().error().code, ErrorCode::kCorrupt);
    } else {
      EXPECT_TRUE(filter.contains(6000));
    }
    allowed += allowed / 10;
  }
  EXPECT_GT(broken, 0U);
}

}  // namespace
}  // namespace library_filter_test
