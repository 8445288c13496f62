// LoggedFilters of every kind on a storage in memory: what the tests of kept filters share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/stored/contents.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

struct FilterCase {
  FilterKind kind;
  bool growth;

  bool multiset() const { return is_multiset(kind); }
};

inline const std::vector<FilterKind> kLoggedKinds = [] {
  std::vector<FilterKind> kinds(kFilterKinds.begin(), kFilterKinds.end());
  std::erase_if(kinds, [](FilterKind kind) { return traits_of(kind).pairs; });
  return kinds;
}();

inline std::string name_of(FilterKind kind) { return traits_of(kind).name; }
inline std::string name_of(const FilterCase& filter_case) {
  return name_of(filter_case.kind) + (filter_case.growth ? "_grows" : "_fixed");
}

inline std::vector<FilterCase> all_cases() {
  std::vector<FilterCase> cases;
  for (const FilterKind kind : kLoggedKinds) {
    cases.push_back({kind, false});
    cases.push_back({kind, true});
  }
  return cases;
}

using Wanted = bool (*)(const FilterCase&);
inline bool grows(const FilterCase& one) { return one.growth; }
inline bool is_fixed(const FilterCase& one) { return !one.growth; }
inline bool is_set(const FilterCase& one) { return !one.multiset(); }
inline bool is_counted(const FilterCase& one) { return one.multiset(); }

inline std::vector<FilterCase> cases_where(Wanted wanted) {
  std::vector<FilterCase> cases = all_cases();
  std::erase_if(cases, [wanted](const FilterCase& one) { return !wanted(one); });
  return cases;
}

inline FilterOptions options_for(const FilterCase& filter_case, uint64_t capacity,
                                 double rate = 0.01, uint32_t page_bytes = kSmallestPageBytes) {
  FilterOptions options;
  options.spec.kind = filter_case.kind;
  options.spec.rate = rate;
  options.capacity = capacity;
  options.growth = filter_case.growth;
  options.page_bytes = page_bytes;
  options.seed = 0x5EED;
  options.digest = 0xD16E57;
  return options;
}

// Tests of every kind: INSTANTIATE_TEST_SUITE_P(Kinds, Suite, ValuesIn(all_cases()), kCaseName).
class KindsTest : public ::testing::TestWithParam<FilterCase> {
 protected:
  static FilterOptions options(uint64_t capacity, double rate = 0.01,
                               uint32_t page_bytes = kSmallestPageBytes) {
    return options_for(GetParam(), capacity, rate, page_bytes);
  }
  static bool multiset() { return GetParam().multiset(); }
  static bool growth() { return GetParam().growth; }
  static bool is_cuckoo() { return GetParam().kind == FilterKind::kCuckoo; }
};
inline constexpr auto kCaseName = [](const auto& info) { return name_of(info.param); };

// The i-th key of a table.
inline uint64_t nth_hash(uint64_t i, HashWidth width = HashWidth::k47Bits) {
  return nth_hash(17, i, width);
}

// A storage with a filter on it, created and flushed.
struct StoredFilter {
  explicit StoredFilter(const FilterOptions& options) : filter(options, storage) {
    EXPECT_TRUE(filter.create().ok());
    commit();
  }

  void commit() {
    Status status = filter.fold_rest();
    EXPECT_TRUE(status.ok()) << message_of(status);
    status = filter.flush();
    EXPECT_TRUE(status.ok()) << message_of(status);
    filter.committed();
  }
  void roll_back(const StoredRows& snapshot) {
    storage.restore(snapshot);
    filter.forget();
    const Status status = filter.refresh(storage.rows.record);
    EXPECT_TRUE(status.ok()) << message_of(status);
  }
  uint64_t hash(uint64_t i) const { return nth_hash(i, filter.options().width); }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const Status status = filter.insert(hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  }
  void add_copies(uint64_t i, uint64_t copies) {
    for (uint64_t copy = 0; copy < copies; ++copy) {
      const Status status = filter.insert(hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  }
  bool remove(uint64_t hash) {
    const Result<bool> removed = filter.remove(hash);
    EXPECT_TRUE(removed.ok()) << removed.error().message;
    return removed.ok() && removed.value();
  }
  bool has(uint64_t hash) {
    EXPECT_TRUE(filter.load(hash).ok());
    return filter.contains(hash);
  }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += has(hash(i)) ? 0 : 1;
    }
    return missing;
  }
  // The share of hashes never added that the filter says "maybe" to.
  double measured_rate(uint64_t probes) {
    const uint64_t missed = missing(1000000000, 1000000000 + probes);
    return static_cast<double>(probes - missed) / static_cast<double>(probes);
  }
  void expect_good() {
    const Status status = filter.check();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }

  MemoryStorage storage;
  LoggedFilter filter;
};

// The answers for the hashes nth_hash(0 … probes - 1): equal answers, equal filters (nearly).
inline std::vector<uint64_t> answers_of(LoggedFilter& filter, uint64_t probes) {
  std::vector<uint64_t> answers = {filter.items()};
  for (uint64_t i = 0; i < probes; ++i) {
    const uint64_t hash = nth_hash(i, filter.options().width);
    EXPECT_TRUE(filter.load(hash).ok());
    answers.push_back(filter.count(hash));
    EXPECT_EQ(filter.contains(hash), answers.back() > 0) << "hash " << i;
  }
  return answers;
}

// A filter of those hashes, in memory.
inline FilterContents contents_of(const std::vector<uint64_t>& hashes, const FilterOptions& options,
                                  HashCollection& collection) {
  for (const uint64_t hash : hashes) {
    collection.add(hash);
  }
  Result<FilterContents> built = collection.build(options.generation_spec(), options.capacity,
                                                  HashCollection::Growth::kOn, options.page_bytes);
  EXPECT_TRUE(built.ok()) << built.error().message;
  return std::move(built.value());
}

}  // namespace cuckoo::test
