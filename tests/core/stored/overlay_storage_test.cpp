#include "core/stored/overlay_storage.hpp"

#include <random>

#include "core/base/bytes.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::MemoryStorage;
using test::StoredRows;

Bytes some_bytes(uint64_t number) {
  return {std::byte{1}, static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)};
}

// All that reading gives.
StoredRows read_all(FilterStorage& storage, uint64_t epochs) {
  StoredRows rows;
  const auto into = [](std::map<int64_t, Bytes>& table) {
    return [&table](int64_t id, std::span<const std::byte> row) -> Status {
      EXPECT_TRUE(table.empty() || table.rbegin()->first < id) << "ascending, each once";
      table[id].assign(row.begin(), row.end());
      return {};
    };
  };
  EXPECT_TRUE(storage.read_pages(INT64_MIN, INT64_MAX, into(rows.pages)).ok());
  EXPECT_TRUE(storage.read_log(INT64_MIN, INT64_MAX, into(rows.log)).ok());
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_TRUE(storage
                    .read_items(epoch,
                                [&](uint64_t key, uint64_t value) -> Status {
                                  EXPECT_TRUE(rows.items.empty() ||
                                              rows.items.rbegin()->first < std::pair(epoch, key));
                                  rows.items[{epoch, key}] = value;
                                  return {};
                                })
                    .ok());
    EXPECT_TRUE(storage.read_older(epoch, rows.older[epoch]).ok());
  }
  EXPECT_TRUE(storage.read_places(rows.places).ok());
  EXPECT_TRUE(storage.read_progress(rows.progress).ok());
  const Result<uint64_t> items = storage.count_items();
  EXPECT_TRUE(items.ok() && items.value() == rows.items.size());
  return rows;
}

// The same change to all of them.
class Storages {
 public:
  static constexpr uint64_t kEpochs = 3;

  explicit Storages(uint64_t seed) : random_(seed) {}

  void change(std::vector<FilterStorage*> storages, const StoredRows& rows) {
    const auto id = static_cast<int64_t>(random_() % 40);
    const int64_t last = id + static_cast<int64_t>(random_() % 5);
    const uint64_t epoch = random_() % kEpochs;
    const uint64_t key = random_() % 10;
    const Bytes bytes = some_bytes(random_());
    const uint64_t what = random_() % 9;
    for (FilterStorage* storage : storages) {
      EXPECT_TRUE(apply(*storage, rows, what, id, last, epoch, key, bytes).ok());
    }
  }

 private:
  static Status apply(FilterStorage& to, const StoredRows& rows, uint64_t what, int64_t id,
                      int64_t last, uint64_t epoch, uint64_t key, const Bytes& bytes) {
    switch (what) {
      case 0:
      case 1:
        return to.write_page(id, bytes, rows.pages.count(id) != 0);
      case 2:
      case 3:
        return to.write_log(id, bytes, rows.log.count(id) != 0);
      case 4:
        return to.write_item(epoch, key, static_cast<uint64_t>(id) + 1);
      case 5:
        return to.erase_item(epoch, key);
      case 6:
        return last % 2 == 0 ? to.erase_pages(id, last) : to.erase_log(id, last);
      case 7:
        return key == 0 ? to.erase_items(epoch) : to.write_older(epoch, bytes);
      default:
        return key % 3 == 0   ? to.write_record(bytes)
               : key % 3 == 1 ? to.write_places(bytes)
                              : to.write_progress(bytes);
    }
  }

  std::mt19937_64 random_;
};

TEST(OverlayStorage, I1_I2_reads_what_was_written_and_writes_nothing_below) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Storages storages(seed);
    MemoryStorage below;
    MemoryStorage model;
    for (int i = 0; i < 60; ++i) {
      const StoredRows now = model.snapshot();
      storages.change({&below, &model}, now);
    }
    const StoredRows before = below.snapshot();
    OverlayStorage overlay(below);
    EXPECT_TRUE(overlay.record().empty());
    for (int i = 0; i < 60; ++i) {
      const StoredRows now = model.snapshot();
      storages.change({&overlay, &model}, now);
      ASSERT_EQ(
          difference(read_all(overlay, Storages::kEpochs), read_all(model, Storages::kEpochs)), "")
          << "seed " << seed << ", change " << i;
    }
    ASSERT_TRUE(overlay.record().empty() || equal_bytes(overlay.record(), model.rows.record));
    ASSERT_EQ(difference(before, below.rows), "");
  }
}

TEST(OverlayStorage, reads_a_part) {
  MemoryStorage below;
  for (int64_t id = 0; id < 10; id += 2) {
    ASSERT_TRUE(below.write_page(id, some_bytes(0), false).ok());
  }
  OverlayStorage overlay(below);
  for (const int64_t id : {1, 4, 9}) {
    ASSERT_TRUE(overlay.write_page(id, some_bytes(1), id == 4).ok());
  }
  ASSERT_TRUE(overlay.erase_pages(6, 6).ok());
  const auto ids_from = [&](int64_t first, int64_t last) {
    std::vector<int64_t> ids;
    EXPECT_TRUE(overlay
                    .read_pages(first, last,
                                [&](int64_t id, std::span<const std::byte>) {
                                  ids.push_back(id);
                                  return Status();
                                })
                    .ok());
    return ids;
  };
  EXPECT_EQ(ids_from(INT64_MIN, INT64_MAX), (std::vector<int64_t>{0, 1, 2, 4, 8, 9}));
  EXPECT_EQ(ids_from(1, 4), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(ids_from(4, 4), (std::vector<int64_t>{4}));
  EXPECT_EQ(ids_from(5, 7), (std::vector<int64_t>{}));
}

TEST(OverlayStorage, failures_of_the_storage_below_and_of_visitors_are_handed_on) {
  MemoryStorage below;
  ASSERT_TRUE(below.write_log(1, some_bytes(1), false).ok());
  ASSERT_TRUE(below.write_item(1, 1, 1).ok());
  OverlayStorage overlay(below);
  ASSERT_TRUE(overlay.write_log(2, some_bytes(2), false).ok());
  ASSERT_TRUE(overlay.write_item(1, 2, 1).ok());
  const auto fails = [&](const auto& call) {
    below.fail_at(1);
    EXPECT_FALSE(call().ok());
    below.fail_at(0);
  };
  const auto row = [](int64_t, std::span<const std::byte>) { return Status(); };
  const auto item = [](uint64_t, uint64_t) { return Status(); };
  fails([&] { return overlay.read_log(1, 2, row); });
  fails([&] { return overlay.read_pages(1, 2, row); });
  fails([&] { return overlay.read_items(1, item); });
  fails([&] { return overlay.count_items().take_status(); });
  fails([&] { return overlay.poll(); });
  for (const int64_t stop : {1, 2}) {
    const Status status = overlay.read_log(1, 2, [&](int64_t id, std::span<const std::byte>) {
      return id == stop ? Status(invalid("enough")) : Status();
    });
    EXPECT_FALSE(status.ok());
  }
}

}  // namespace
}  // namespace cuckoo
