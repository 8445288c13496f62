// Filters so large that they make their next epoch in steps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/stored/logged_filter.hpp"
#include "core/stored/next_epoch.hpp"
#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo::test {

class FilterSteps : public KindsTest {
 protected:
  static constexpr uint64_t kCapacity = 40000;
  static constexpr uint64_t kTransaction = 300;

  // Pages so large that there are a few more than 128: a tail is a tenth of what is in them.
  static FilterOptions steps_of(uint64_t capacity, double rate) {
    const bool counting = GetParam().kind == FilterKind::kCountingBloom;
    return options(capacity, rate, counting ? 1920 : 448);
  }
  static FilterOptions step_options() { return steps_of(kCapacity, 0.001); }

  static uint64_t rows_outside(const StoredRows& rows) {
    const uint64_t epoch = decode_record(rows.record).value().epoch;
    const auto outside = [epoch](const auto& row) {
      return row.first < first_row_id(epoch) || row.first >= first_row_id(epoch + 1);
    };
    return static_cast<uint64_t>(std::count_if(rows.log.begin(), rows.log.end(), outside) +
                                 std::count_if(rows.pages.begin(), rows.pages.end(), outside));
  }
  static std::optional<EpochProgress> progress_in(const StoredRows& rows) {
    if (rows.progress.empty()) {
      return std::nullopt;
    }
    const Result<EpochProgress> progress = decode_progress(rows.progress);
    EXPECT_TRUE(progress.ok()) << progress.error().message;
    return progress.value();
  }
  // Transactions of keys first … until the wish comes true after one; where it did.
  template <class Stored, class Wish>
  static uint64_t add_until(Stored& stored, uint64_t first, Wish&& wish) {
    uint64_t next = first;
    while (!::testing::Test::HasFailure() && next < first + 10 * kCapacity) {
      stored.add(next, next + kTransaction);
      next += kTransaction;
      stored.commit();
      if (wish(stored.storage.rows)) {
        return next;
      }
    }
    ADD_FAILURE() << "it never came so far";
    return next;
  }
  static bool has_pages(const StoredRows& rows) {
    const auto progress = progress_in(rows);
    return progress && progress->pages > 0;
  }
  static bool erases(const StoredRows& rows) {
    const auto progress = progress_in(rows);
    return progress && progress->old_log_rows > 0;
  }
  template <class Condition>
  static uint64_t add_while(StoredFilter& stored, uint64_t first, Condition&& condition) {
    return add_until(stored, first, [&](const StoredRows&) { return !condition(); });
  }
  // Takes them out one by one, whether or not they were ever added; how many it found.
  static uint64_t remove_all(StoredFilter& stored, uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t i = first; i < end; ++i) {
      found += stored.remove(stored.hash(i)) ? 1 : 0;
    }
    return found;
  }
  static void expect_good(MemoryStorage& storage, const FilterOptions& options) {
    FilterWindow window(options, storage);
    Status status = window.refresh(storage.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    status = window.check();
    ASSERT_TRUE(status.ok()) << message_of(status);
  }
};

}  // namespace cuckoo::test
