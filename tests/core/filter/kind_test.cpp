#include "core/filter/kind.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace cuckoo::filter_kind_test {
namespace {

TEST(FilterKinds, are_numbered_from_1_without_a_gap) {
  for (size_t i = 0; i < kFilterKinds.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kFilterKinds[i]), i + 1);
    EXPECT_TRUE(is_kind(kFilterKinds[i]));
  }
  EXPECT_EQ(kFilterKinds.back(), FilterKind::kLegacyBloom);
  EXPECT_FALSE(is_kind(static_cast<FilterKind>(0)));
  EXPECT_FALSE(is_kind(static_cast<FilterKind>(kFilterKinds.size() + 1)));
  EXPECT_FALSE(is_kind(static_cast<FilterKind>(255)));
}

TEST(FilterKinds, have_names_of_their_own) {
  std::set<std::string> names;
  for (const FilterKind kind : kFilterKinds) {
    EXPECT_TRUE(names.insert(traits_of(kind).name).second) << traits_of(kind).name;
  }
}

TEST(FilterKinds, have_traits_that_fit_together) {
  for (const FilterKind kind : kFilterKinds) {
    const KindTraits traits = traits_of(kind);
    EXPECT_TRUE(traits.multiset || !traits.slot_per_item) << traits.name;
    EXPECT_TRUE(!traits.pairs || (traits.canonical && !traits.multiset)) << traits.name;
    EXPECT_EQ(is_multiset(kind), traits.multiset);
  }
}

}  // namespace
}  // namespace cuckoo::filter_kind_test
