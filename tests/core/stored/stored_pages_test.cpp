#include "core/stored/stored_pages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/shared_buffer.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::MemoryStorage;
using test::message_of;
using test::nth_hash;

// A filter's pages on a storage, written.
struct WrittenPages {
  WrittenPages(FilterKind kind, uint64_t hashes, uint64_t copies_of_first = 1)
      : options(test::options_for({kind, true}, 2000, 0.01, 128)), pages(storage) {
    Result<std::unique_ptr<Filter>> made = options.make_filter_for(options.capacity);
    EXPECT_TRUE(made.ok());
    record.epoch = 5;
    record.capacity = options.capacity;
    record.geometry = made.value()->words();
    pages.start(options, record, std::move(made.value()));
    std::vector<uint64_t> all(copies_of_first, nth_hash(0));
    for (uint64_t i = 1; i < hashes; ++i) {
      all.push_back(nth_hash(i));
    }
    (void)pages.filter().insert_batch(all);
    write();
  }

  void write() {
    const Status status = pages.write_to(storage, record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    pages.note_written();
    record.fold_items = record.occupied + record.overflow_items;  // of a cuckoo filter
  }

  FilterOptions options;
  MemoryStorage storage;
  FilterRecord record;
  StoredPages pages;
};

TEST(StoredPages, I1_are_read_as_they_were_written) {
  for (const FilterKind kind : test::kLoggedKinds) {
    WrittenPages written(kind, 1500, 40);
    const bool has_overflow = is_multiset(kind);
    EXPECT_EQ(written.record.overflow_cells > 0, has_overflow);
    EXPECT_EQ(written.record.page_rows, written.storage.rows.pages.size());
    StoredPages reader(written.storage);
    Status status = reader.open(written.options, written.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    for (uint64_t i = 0; i < 3000; ++i) {
      status = reader.load(nth_hash(i), written.record);
      ASSERT_TRUE(status.ok()) << message_of(status);
      ASSERT_EQ(reader.probe(nth_hash(i)), written.pages.probe(nth_hash(i))) << i;
    }
    Result<std::unique_ptr<Filter>> copy = reader.copy(written.record);
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    EXPECT_TRUE(equal_cells(*copy.value(), written.pages.filter()));
    EXPECT_EQ(copy.value()->occupied(), written.pages.filter().occupied());
    Result<std::unique_ptr<Filter>> again = written.pages.read_again(written.record);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(equal_cells(*again.value(), written.pages.filter()));
    EXPECT_TRUE(again.value()->check().ok());
  }
}

TEST(StoredPages, I4_are_shared_by_all_who_read_them_until_one_changes_them) {
  for (const FilterKind kind : test::kLoggedKinds) {
    WrittenPages written(kind, 1500);
    EXPECT_EQ(shared_buffers().buffers, 0u);
    StoredPages one(written.storage);
    StoredPages two(written.storage);
    for (StoredPages* each : {&one, &two}) {
      ASSERT_TRUE(each->open(written.options, written.record).ok());
      ASSERT_TRUE(each->load_all(written.record).ok());
    }
    const PageSet& pages = one.filter().pages();
    for (uint64_t i = pages.next_backed(0); i < pages.page_count(); i = pages.next_backed(i + 1)) {
      ASSERT_EQ(pages.find(i), two.filter().pages().find(i));
    }
    EXPECT_EQ(shared_buffers().holders, 2 * pages.backed_count());
    std::vector<uint64_t> more;
    for (uint64_t i = 5000; i < 5300; ++i) {
      more.push_back(nth_hash(i));
    }
    (void)one.filter().insert_batch(more);
    EXPECT_TRUE(equal_cells(two.filter(), written.pages.filter()));
    EXPECT_FALSE(equal_cells(two.filter(), one.filter()));
    for (const uint64_t hash : more) {
      EXPECT_EQ(one.probe(hash), Filter::Answer::kPresent);
    }
  }
  EXPECT_EQ(shared_buffers().buffers, 0u);
}

TEST(StoredPages, I4_a_damaged_page_is_not_shared) {
  WrittenPages written(FilterKind::kCuckoo, 1500);
  written.storage.rows.pages.begin()->second[3] ^= std::byte{1};
  StoredPages reader(written.storage);
  ASSERT_TRUE(reader.open(written.options, written.record).ok());
  const uint64_t index = 0;
  EXPECT_FALSE(reader.load({&index, 1}, written.record).ok());
  EXPECT_EQ(shared_buffers().buffers, 0u);
  const uint64_t good = 1;
  EXPECT_TRUE(reader.load({&good, 1}, written.record).ok());
  EXPECT_EQ(shared_buffers().buffers, 1u);
}

TEST(StoredPages, write_what_changed_and_no_more) {
  WrittenPages written(FilterKind::kCuckoo, 1000);
  written.storage.calls = {};
  written.write();
  EXPECT_EQ(written.storage.calls.writes, 0u);
  ASSERT_TRUE(written.pages.filter().remove(nth_hash(7)));
  written.write();
  EXPECT_EQ(written.storage.calls.writes, 1u);
  EXPECT_EQ(written.record.occupied, 999u);
}

TEST(StoredPages, I2_a_page_without_a_row_is_zero_but_a_lost_row_is_found) {
  WrittenPages written(FilterKind::kBloom, 1);  // most pages are empty
  const uint64_t count = written.pages.filter().pages().page_count();
  ASSERT_LT(written.record.page_rows, count / 2);
  StoredPages reader(written.storage);
  ASSERT_TRUE(reader.open(written.options, written.record).ok());
  Status status = reader.load_all(written.record);
  EXPECT_TRUE(status.ok()) << message_of(status);

  WrittenPages full(FilterKind::kBloom, 2000);
  ASSERT_EQ(full.record.page_rows, full.pages.filter().pages().page_count());
  const int64_t lost = full.storage.rows.pages.begin()->first;
  full.storage.rows.pages.erase(lost);
  StoredPages other(full.storage);
  ASSERT_TRUE(other.open(full.options, full.record).ok());
  const uint64_t index = 0;
  status = other.load({&index, 1}, full.record);
  EXPECT_NE(message_of(status).find("is missing"), std::string::npos) << message_of(status);
  status = other.load_all(full.record);
  EXPECT_NE(message_of(status).find("some are missing"), std::string::npos) << message_of(status);
  EXPECT_FALSE(full.pages.read_again(full.record).ok());
}

TEST(StoredPages, a_record_that_does_not_add_up_is_refused) {
  const WrittenPages written(FilterKind::kCuckoo, 500, 40);
  MemoryStorage storage = written.storage;
  StoredPages reader(storage);
  const auto message = [&](auto&& change) {
    FilterRecord record = written.record;
    change(record);
    return message_of(reader.open(written.options, record));
  };
  EXPECT_EQ(message([](FilterRecord&) {}), "");
  EXPECT_NE(message([](FilterRecord& record) { record.geometry.size = uint64_t{1} << 60; }), "");
  EXPECT_NE(message([](FilterRecord& record) { record.geometry.shape = 17; }), "");
  EXPECT_NE(message([](FilterRecord& record) { ++record.fold_items; }), "");
  EXPECT_NE(message([](FilterRecord& record) { ++record.overflow_digest; }), "");
  EXPECT_NE(message([](FilterRecord& record) { ++record.overflow_cells; }), "");
}

TEST(StoredPages, erase_leaves_nothing_of_the_generation) {
  WrittenPages written(FilterKind::kCuckoo, 1500, 40);
  EXPECT_FALSE(written.storage.rows.items.empty());
  const Status status = written.pages.erase(written.record);
  ASSERT_TRUE(status.ok()) << message_of(status);
  EXPECT_TRUE(written.storage.rows.pages.empty());
  EXPECT_TRUE(written.storage.rows.items.empty());
}

}  // namespace
}  // namespace cuckoo
