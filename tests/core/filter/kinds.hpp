// Options of filters of every kind: what the tests of filters in storage share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/filter/filter.hpp"
#include "core/stored/filter_options.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::core {

inline std::string name_of(FilterKind kind) { return traits_of(kind).name; }

}  // namespace cuckoo::core

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

inline std::string name_of(const FilterCase& filter_case) {
  return name_of(filter_case.kind) + (filter_case.growth ? "_grows" : "_fixed");
}
inline void PrintTo(const FilterCase& filter_case, std::ostream* out) {
  *out << name_of(filter_case);
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

// Tests of every kind: INSTANTIATE_EACH(Kinds, Suite, test::all_cases()).
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

// The hash of a table's i-th key.
inline uint64_t nth_hash(uint64_t i, HashWidth width = HashWidth::k47Bits) {
  return nth_hash(17, i, width);
}

// Do both hold the same in all cells? They must have one kind, geometry and page size. Absent pages
// count as zeros.
inline bool equal_cells(const Filter& a, const Filter& b) {
  const auto byte_of = [](const Filter& filter, uint64_t page, size_t i) {
    const std::byte* const bytes = filter.pages().find(page);
    return bytes != nullptr ? bytes[i] : std::byte{0};
  };
  for (uint64_t page = 0; page < a.pages().page_count(); ++page) {
    for (size_t i = 0; i < a.content_bytes(page); ++i) {
      if (byte_of(a, page, i) != byte_of(b, page, i)) {
        return false;
      }
    }
  }
  return a.overflow().equals(b.overflow());
}

}  // namespace cuckoo::test

namespace cuckoo {

// The tests call them by these names.
using test::FilterCase;
using test::name_of;
using test::nth_hash;
using test::options_for;

}  // namespace cuckoo
