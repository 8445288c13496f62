// A load deals entries to their segments later than they come, and counts those of a set later,
// too. Nothing shows this.
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_file_load_test {
namespace {

constexpr uint64_t kAdds = 60000;

// More than a third of the adds are of keys that come more than once.
uint64_t added_key(uint64_t i) { return nth_key(nth_word(31, i) % (kAdds * 2)); }

struct Load {
  explicit Load(const FilterOptions& options) : file(options, storage) {
    expect_ok(file.create());
    expect_ok(test::commit(file));
    for (uint64_t i = 0; i < 900; ++i) {  // some are pending when the load begins
      expect_ok(file.insert(nth_key(i * 7)));
    }
    expect_ok(test::commit(file));
  }
  void run(uint64_t count, const std::function<void(uint64_t i)>& ask) {
    for (uint64_t i = 0; i < count; ++i) {
      ask(i);
      ASSERT_STATUS(file.insert(added_key(i)));
    }
  }

  MemoryBlocks storage;
  FilterFile file;
};

struct Size {
  uint64_t capacity;
  uint32_t page_bytes;
};

class SetLoads : public ::testing::TestWithParam<std::tuple<FilterKind, Size>> {
 protected:
  static FilterOptions options() {
    const auto& [kind, size] = GetParam();
    return test::options_for({kind, true}, size.capacity, 0.01, size.page_bytes);
  }
};

TEST_P(SetLoads, S5_S7_have_the_items_and_bytes_of_one_whose_adds_were_asked_for) {
  Load quiet(options());
  Load asked(options());
  constexpr uint64_t kFirst = 40000;  // nothing is folded from then on, which an ask would not see
  uint64_t items = 0;
  quiet.run(kAdds, [](uint64_t) {});
  asked.run(kAdds, [&](uint64_t i) {
    const bool present = must(asked.file.load_and_probe(added_key(i)));
    if (i == kFirst) {
      items = asked.file.items();
    } else if (i % 1000 == 0) {
      ASSERT_TRUE(asked.file.items() == items || i < kFirst) << i;
    }
    items += present ? 0 : 1;
  });
  EXPECT_EQ(quiet.file.items(), items);
  expect_ok(test::commit(quiet.file));
  expect_ok(test::commit(asked.file));
  EXPECT_TRUE(quiet.storage.rows == asked.storage.rows);
  EXPECT_EQ(quiet.file.items(), items);
  OpenedFile opened(options(), quiet.storage);
  EXPECT_EQ(opened.items(), items);
  expect_ok(opened.check());
  for (uint64_t i = 0; i < kAdds; ++i) {
    ASSERT_TRUE(must(opened.load_and_probe(added_key(i)))) << i;
  }
}

// A filter of several segments without growth takes exactly its capacity of keys, counted late or
// not.
TEST_P(SetLoads, that_are_refused_hold_what_they_would_if_each_add_had_been_asked_for) {
  FilterOptions fixed = options();
  fixed.growth = false;
  fixed.capacity = 150000;
  Load quiet(fixed);
  Load asked(fixed);
  ASSERT_GT(quiet.file.segments(), 1u);
  const auto add_all = [](FilterFile& file, bool asks) {
    std::vector<uint64_t> refused;
    for (uint64_t i = 0; i < 400000; ++i) {
      const uint64_t key = nth_key(nth_word(37, i) % 200000);
      const uint64_t before = asks ? file.items() : 0;
      const Status added = file.insert(key);
      EXPECT_TRUE(added.ok() || added.error().code == ErrorCode::kFull);
      EXPECT_TRUE(!asks || added.ok() || before == file.items());
      if (!added.ok()) {
        refused.push_back(i);
      }
    }
    return refused;
  };
  const std::vector<uint64_t> refused = add_all(quiet.file, false);
  EXPECT_GT(refused.size(), 1000u);
  EXPECT_TRUE(add_all(asked.file, true) == refused);
  EXPECT_EQ(quiet.file.items(), fixed.capacity);
  EXPECT_EQ(asked.file.items(), fixed.capacity);
  expect_ok(test::commit(quiet.file));
  expect_ok(test::commit(asked.file));
  EXPECT_TRUE(quiet.storage.rows == asked.storage.rows);
  expect_ok(quiet.file.check());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SetLoads,
    ::testing::Combine(::testing::Values(FilterKind::kBloom, FilterKind::kBlockedBloom),
                       ::testing::Values(Size{100, 64}, Size{100, 4096}, Size{200000, 4096})),
    [](const auto& info) {
      const Size size = std::get<1>(info.param);
      return name_of(std::get<0>(info.param)) + "_" + std::to_string(size.capacity) + "_" +
             std::to_string(size.page_bytes);
    });

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_load_test
