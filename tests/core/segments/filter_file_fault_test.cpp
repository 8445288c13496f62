// Each call of the storage fails in turn, in each thing that a FilterFile does.
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_fault_test {
namespace {

struct Step {
  const char* name;
  uint64_t before;  // keys in storage, in transactions of 100
  uint64_t adds;
  bool opens;  // by a new connection, else by the one that added the others
};

// With T = 504 and rows of four entries: a fold at 504, a growth at 1008, splits in large loads.
constexpr Step kSteps[] = {
    {"small", 0, 3, false},
    {"small_opened", 900, 3, true},
    {"first_turn", 450, 100, true},
    {"growth", 1000, 100, false},
    {"growth_opened", 1000, 100, true},
    {"load", 100, 20000, true},
    {"more_after_a_load", 20000, 1500, true},
};

class FilterFileFaults : public ::testing::TestWithParam<std::tuple<FilterKind, bool, Step>> {
 protected:
  void SetUp() override {
    file = std::make_unique<FilterFile>(options, storage);
    expect_ok(file->create());
    expect_ok(test::commit(*file));
    if (step.before >= 20000) {
      expect_ok(test::add_and_commit(*file, 0, step.before));
    } else {
      for (uint64_t i = 0; i < step.before; i += 100) {
        expect_ok(test::add_and_commit(*file, i, std::min(i + 100, step.before)));
      }
    }
    before = storage.rows;
    expect_ok(test::add_and_commit(connection(), step.before, end));
    after = storage.rows;
  }
  FilterFile& connection() {
    storage.rows = before;
    if (step.opens || file == nullptr) {
      file = std::make_unique<FilterFile>(options, storage);
    }
    return *file;
  }
  // Calls the body with a connection for which the n-th call fails, for more and more n.
  void for_each_fault(const std::function<void(FilterFile& file)>& body) {
    for (uint64_t n = 1 + test::share_first(); !HasFailure();
         n += test::share_divisor() * (1 + n / 12)) {
      SCOPED_TRACE("call " + std::to_string(n));
      file.reset();
      FilterFile& faulty = connection();
      if (!step.opens) {
        expect_ok(faulty.refresh());
      }
      const ErrorCode codes[] = {ErrorCode::kStorage, ErrorCode::kInterrupted};
      storage.fail_at(n, codes[n % 2]);
      body(faulty);
      if (storage.fault_is_due()) {
        storage.fail_at(0);
        return;
      }
    }
  }

  const Step step = std::get<2>(GetParam());
  const uint64_t end = step.before + step.adds;
  const FilterOptions options = test::small_segments(
      std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<1>(GetParam()) ? 100 : 30000);
  MemoryBlocks storage;
  std::unique_ptr<FilterFile> file;
  MemoryBlocks::Rows before;
  MemoryBlocks::Rows after;
};

TEST_P(FilterFileFaults, leave_nothing_half_done_after_a_roll_back) {
  for_each_fault([&](FilterFile& faulty) {
    const Status status = test::add_and_commit(faulty, step.before, end);
    if (storage.fault_is_due()) {
      return;
    }
    ASSERT_FALSE(status.ok());
    storage.rows = before;
    faulty.forget();
    expect_ok(faulty.refresh());
    test::expect_all(faulty, step.before);
    expect_ok(test::add_and_commit(faulty, step.before, end));
    EXPECT_TRUE(storage.rows == after) << "S5";
  });
  test::expect_stored(storage, options, end);
}

// A row's failure may leave the transaction open. Then the rows that were accepted are there.
TEST_P(FilterFileFaults, leave_a_filter_that_is_usable_or_says_that_it_is_not) {
  for_each_fault([&](FilterFile& faulty) {
    if (!faulty.refresh().ok()) {
      return;
    }
    uint64_t accepted = step.before;
    while (accepted < end && faulty.insert(test::nth_key(accepted)).ok()) {
      ++accepted;
    }
    if (!faulty.usable()) {
      EXPECT_FALSE(faulty.insert(test::nth_key(accepted)).ok());
      EXPECT_FALSE(faulty.flush().ok());
      return;
    }
    const Status finished = faulty.finish_load();
    if (finished.ok() && !faulty.flush().ok() && faulty.usable()) {
      EXPECT_TRUE(storage.rows == before) << "it failed before it wrote";
    }
    if (faulty.usable() && !storage.fault_is_due()) {
      expect_ok(test::commit(faulty));
      test::expect_all(faulty, accepted);
      test::expect_stored(storage, options, accepted);
    }
  });
}

TEST_P(FilterFileFaults, in_asking_lose_nothing) {
  storage.rows = after;
  for (uint64_t n = 1;; n += 1 + n / 3) {
    FilterFile reader(options, storage);
    storage.fail_at(n);
    uint64_t failures = reader.refresh().ok() ? 0 : 1;
    if (failures > 0) {
      EXPECT_FALSE(reader.usable());
      expect_ok(reader.refresh());
    }
    for (uint64_t i = 0; i < end; i += 1 + end / 500) {
      Result<bool> found = reader.load_and_probe(test::nth_key(i));
      if (!found.ok()) {
        ++failures;
        found = reader.load_and_probe(test::nth_key(i));
      }
      ASSERT_TRUE(found.ok() && found.value());
    }
    if (storage.fault_is_due()) {
      storage.fail_at(0);
      EXPECT_EQ(failures, 0u);
      return;
    }
    EXPECT_EQ(failures, 1u);
  }
}

TEST_P(FilterFileFaults, in_following_lose_nothing) {
  for (uint64_t n = 1;; n += 1 + n / 3) {
    storage.rows = before;
    OpenedFile reader(options, storage);
    for (uint64_t i = 0; i < step.before; i += 1 + step.before / 50) {
      ASSERT_TRUE(reader.load_and_probe(test::nth_key(i)).ok());
    }
    storage.rows = after;
    storage.fail_at(n);
    const bool failed = !reader.refresh().ok();
    if (storage.fault_is_due()) {
      storage.fail_at(0);
      return;
    }
    ASSERT_TRUE(failed);
    EXPECT_FALSE(reader.usable());
    expect_ok(reader.refresh());
    for (uint64_t i = 0; i < end; i += 1 + end / 500) {
      ASSERT_TRUE(must(reader.load_and_probe(test::nth_key(i))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, FilterFileFaults,
                         ::testing::Combine(::testing::Values(FilterKind::kCuckoo,
                                                              FilterKind::kBloom,
                                                              FilterKind::kCountingBloom),
                                            ::testing::Bool(), ::testing::ValuesIn(kSteps)),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_grows_" : "_fixed_") +
                                  std::get<2>(info.param).name;
                         });

// create() itself writes nothing; its flush writes two blocks.
TEST(FilterFileCreation, fails_as_a_whole) {
  for (uint64_t n = 1;; ++n) {
    MemoryBlocks storage;
    FilterFile file(test::small_segments(FilterKind::kCuckoo), storage);
    storage.fail_at(n);
    expect_ok(file.create());
    const bool failed = !file.flush().ok();
    if (storage.fault_is_due()) {
      EXPECT_EQ(n, 3u);
      return;
    }
    EXPECT_TRUE(failed && !file.usable());
    storage.rows.clear();
    file.forget();
    EXPECT_FALSE(file.refresh().ok()) << "there is none";
    expect_ok(file.create());
    expect_ok(file.flush());
    test::expect_stored(storage, file.options(), 0);
  }
}

}  // namespace
}  // namespace segments_filter_file_fault_test
}  // namespace cuckoo::segments
