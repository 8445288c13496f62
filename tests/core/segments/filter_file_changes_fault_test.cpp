// Each call of the storage, and each allocation, fails in turn while changes are made or applied.
#include "tests/core/segments/copies.hpp"
#include "tests/support/allocations.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_changes_fault_test {
namespace {

class FilterFileChangesFaults : public ::testing::TestWithParam<std::tuple<FilterKind, bool>> {
 protected:
  static bool multiset() { return is_multiset(std::get<0>(GetParam())); }

  void SetUp() override {
    const FilterOptions options = test::small_segments(std::get<0>(GetParam()));
    FilterOptions of_copy = options;
    of_copy.growth = std::get<1>(GetParam());
    of_copy.capacity = 300;
    of_copy.spec.rate = multiset() ? 0.01 : 1e-6;
    FilterOptions of_origin = of_copy;
    of_origin.growth = true;
    of_origin.digest ^= 1;
    origin = std::make_unique<Site>(of_origin);
    Counts counts;
    expect_ok(test::add_and_commit(*origin->file, 0, 800));
    for (uint64_t i = 0; i < 800; ++i) {
      counts[nth_key(i)] = 1;
    }
    copy = of_copy.growth ? copy_of(*origin, counts, of_copy) : test::image_of(*origin, of_copy);
    from = origin->mark();
    for (uint64_t i = 0; multiset() && i < 50; ++i) {
      ASSERT_TRUE((*origin)->remove(nth_key(i)).value());
    }
    // Removes of what was never added: the copy may not find them.
    for (uint64_t i = 0; multiset() && i < 150; ++i) {
      ASSERT_TRUE((*origin)->remove(nth_key(100'000 + i)).ok());
    }
    expect_ok(test::add_and_commit(*origin->file, 800, 1000));
    changes = origin->changes_since(from);
    before = copy->storage.rows;
  }
  void expect_all_changes() {
    EXPECT_EQ(copy->mark(), changes.to);
    uint64_t missing = 0;
    for (uint64_t i = 800; i < 1000; ++i) {
      missing += copy->has(nth_key(i)) ? 0 : 1;
    }
    EXPECT_LE(missing, multiset() ? 20u : 0u) << "but what a wrong remove took";
    copy->expect_good();
  }

  std::unique_ptr<Site> origin;
  std::unique_ptr<Site> copy;
  FilterMark from;
  FilterChanges changes;
  test::MemoryBlocks::Rows before;
};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileChangesFaults,
                         ::testing::Combine(::testing::ValuesIn(test::kLoggedKinds),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_grows" : "_fixed");
                         });

TEST_P(FilterFileChangesFaults, S8_apply_leaves_nothing_half_done) {
  copy->apply(changes);
  copy->commit();
  const test::MemoryBlocks::Rows after = copy->storage.rows;
  for (uint64_t n = 1; !HasFailure(); ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    copy->storage.rows = before;
    copy->reopen();
    const ErrorCode codes[] = {ErrorCode::kStorage, ErrorCode::kInterrupted};
    copy->storage.fail_at(n, codes[n % 2]);
    Status status = (*copy)->refresh();
    if (status.ok()) {
      status = (*copy)->apply(changes).take_status();
    }
    if (status.ok()) {
      status = test::commit(*copy->file);
    }
    if (copy->storage.fault_is_due()) {
      copy->storage.fail_at(0);
      break;
    }
    ASSERT_FALSE(status.ok());
    copy->roll_back(before);
    EXPECT_EQ(copy->mark(), from);
    EXPECT_TRUE(copy->apply(changes));
    copy->commit();
    EXPECT_TRUE(copy->storage.rows == after) << "S5";
  }
  expect_all_changes();
}

// The statement failed and the transaction goes on.
TEST_P(FilterFileChangesFaults, S8_apply_is_done_not_done_or_says_that_it_is_neither) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    copy->storage.rows = before;
    copy->reopen();
    expect_ok((*copy)->refresh());
    copy->storage.fail_at(n);
    const Result<bool> applied = (*copy)->apply(changes);
    if (copy->storage.fault_is_due()) {
      copy->storage.fail_at(0);
      break;
    }
    ASSERT_FALSE(applied.ok());
    if ((*copy)->poisoned()) {
      EXPECT_FALSE((*copy)->mark().ok());
      EXPECT_FALSE((*copy)->apply(changes).ok());
      EXPECT_FALSE((*copy)->flush().ok());
    } else {
      EXPECT_EQ(copy->mark(), from);
      EXPECT_FALSE((*copy)->pending());
      copy->expect_good();
    }
  }
  copy->commit();
  expect_all_changes();
}

TEST_P(FilterFileChangesFaults, changes_since_fails_or_is_whole_and_changes_nothing) {
  for (uint64_t n = 1;; ++n) {
    origin->reopen();
    expect_ok((*origin)->refresh());
    origin->storage.fail_at(n);
    const Result<std::optional<FilterChanges>> again = (*origin)->changes_since(from);
    const bool failed = !origin->storage.fault_is_due();
    origin->storage.fail_at(0);
    ASSERT_EQ(again.ok(), !failed);
    EXPECT_TRUE((*origin)->usable());
    EXPECT_FALSE((*origin)->pending());
    if (!failed) {
      EXPECT_EQ(test::encoded(*again.value()), test::encoded(changes));
      EXPECT_GT(n, 2u);
      break;
    }
  }
}

TEST_P(FilterFileChangesFaults, S8_without_memory_nothing_is_lost_after_a_roll_back) {
  int64_t left = 0;
  const auto apply = [&] { (void)(*copy)->apply(changes); };
  for (; runs_out_of_memory(left, apply); left += 1 + left / 8) {
    copy->roll_back(before);
    ASSERT_EQ(copy->mark(), from) << left;
  }
  EXPECT_GT(left, 10);
  copy->commit();
  expect_all_changes();
}

}  // namespace
}  // namespace segments_filter_file_changes_fault_test
}  // namespace cuckoo::segments
