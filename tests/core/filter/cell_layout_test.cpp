#include "core/filter/cell_layout.hpp"

#include "core/filter/sizing.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::filter_cell_layout_test {
namespace {

struct Sample {
  const char* name;
  FilterSpec spec;
  uint64_t capacity = 0;
  uint64_t keys = 0;  // different ones
};

uint64_t sample_hash(uint64_t i) { return nth_hash(0, i, HashWidth::k47Bits); }

void add_pages(Filter& filter) {
  for (uint64_t page = 0; page < filter.pages().page_count(); ++page) {
    if (filter.pages().find(page) == nullptr) {
      filter.pages().add(page, false);
    }
  }
}

// A multiset gets copies of some hashes, so that it has an overflow table.
std::unique_ptr<Filter> build_sample(const Sample& sample) {
  std::unique_ptr<Filter> made = must(make_filter(sample.spec, sample.capacity, kPageBytes));
  Filter& filter = *made;
  add_pages(filter);
  const std::unique_ptr<FilterBuilder> builder = filter.builder(sample.keys, Filter::Digest::kNone);
  for (uint64_t i = 0; i < sample.keys; ++i) {
    const uint64_t copies = i % 16 == 3 ? 40 : i % 16 == 5 ? 3 : 1;
    builder->insert(sample_hash(i), is_multiset(sample.spec.kind) ? copies : 1);
  }
  builder->finish();
  return made;
}

// These samples have several pages of kPageBytes bytes each, and buckets of many widths.
const std::vector<Sample>& large_samples() {
  static const std::vector<Sample> samples = {
      {"cuckoo", {FilterKind::kCuckoo, 0.01}, 20000, 15000},
      {"cuckoo of 12 bits a bucket", {FilterKind::kCuckoo, 0, 4}, 30000, 29000},
      {"cuckoo of 23-bit fingerprints", {FilterKind::kCuckoo, 0, 23}, 9000, 9000},
      {"cuckoo of 32-bit fingerprints", {FilterKind::kCuckoo, 0, 32}, 5000, 4000},
      {"cuckoo of 128 bits a bucket", {FilterKind::kCuckoo, kMinRate}, 3000, 3000},
      {"bloom", {FilterKind::kBloom, 0.01}, 20000, 9000},
      {"blocked", {FilterKind::kBlockedBloom, 0.001}, 9000, 9000},
      {"counting", {FilterKind::kCountingBloom, 0.01}, 3000, 2000},
  };
  return samples;
}

std::unique_ptr<Filter> empty_like(const Filter& filter, uint32_t page_bytes) {
  return must(make_filter(filter.kind(), filter.words(), page_bytes));
}

std::unique_ptr<Filter> copy_of(const Filter& from, uint32_t page_bytes) {
  std::unique_ptr<Filter> to = empty_like(from, page_bytes);
  EXPECT_STATUS(copy_cells(from, *to));
  return to;
}

void expect_same_pages(const Filter& a, const Filter& b) {
  ASSERT_EQ(a.pages().page_count(), b.pages().page_count());
  for (uint64_t page = 0; page < a.pages().page_count(); ++page) {
    const std::byte* const left = a.pages().find(page);
    const std::byte* const right = b.pages().find(page);
    ASSERT_TRUE(left != nullptr && right != nullptr) << page;
    const size_t bytes = a.pages().page_bytes() + PageSet::kSlackBytes;
    EXPECT_TRUE(std::equal(left, left + bytes, right)) << page;
  }
  EXPECT_EQ(a.overflow().counts(), b.overflow().counts());
  EXPECT_EQ(a.occupied(), b.occupied());
}

TEST(CellLayout, pages_are_those_of_the_filter) {
  for (const Sample& sample : large_samples()) {
    for (const uint32_t page_bytes : {64U, kSmallestPageBytes, kSmallPageBytes, kPageBytes}) {
      SCOPED_TRACE(sample.name + std::string(" in ") + std::to_string(page_bytes));
      std::unique_ptr<Filter> made = must(make_filter(sample.spec, sample.capacity, page_bytes));
      const Filter& filter = *made;
      const CellLayout layout = must(cell_layout(filter));
      EXPECT_EQ(layout, cell_layout(filter.kind(), filter.words()).value());
      ASSERT_EQ(layout.page_count(page_bytes), filter.pages().page_count());
      uint64_t total = 0;
      for (uint64_t page = 0; page < filter.pages().page_count(); ++page) {
        ASSERT_EQ(layout.content_bytes(page, page_bytes), filter.content_bytes(page));
        total += filter.content_bytes(page);
      }
      EXPECT_EQ(layout.total_bytes(page_bytes), total);
      EXPECT_EQ(layout.units * layout.unit_bits, filter.bits());
    }
  }
}

TEST(CellLayout, words_that_are_no_geometry_are_refused) {
  const auto refused = [](FilterKind kind, uint64_t size, uint64_t shape, uint64_t detail) {
    return fails(cell_layout(kind, {size, shape, detail}), ErrorCode::kCorrupt);
  };
  EXPECT_FALSE(refused(FilterKind::kCuckoo, 1, 16, 0));
  EXPECT_FALSE(refused(FilterKind::kCuckoo, uint64_t{1} << 48, 16, 29));
  EXPECT_FALSE(refused(FilterKind::kBlockedBloom, uint64_t{1} << 48, 1, 0));
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom, FilterKind::kBlockedBloom,
                                FilterKind::kCountingBloom, FilterKind::kLegacyBloom}) {
    EXPECT_TRUE(refused(kind, 0, 16, 0));
    EXPECT_TRUE(refused(kind, (uint64_t{1} << 48) + 1, 16, 0));
    EXPECT_TRUE(refused(kind, UINT64_MAX, 16, 0));
  }
  EXPECT_TRUE(refused(FilterKind::kCuckoo, 1, 17, 0));
  EXPECT_TRUE(refused(FilterKind::kCuckoo, 1, (uint64_t{1} << 32) + 16, 0));
  EXPECT_TRUE(refused(FilterKind::kCuckoo, 1, 16, kMaxLowBits + 1));
  EXPECT_TRUE(refused(FilterKind::kCuckoo, 1, 16, uint64_t{1} << 32));
  EXPECT_TRUE(refused(FilterKind::kCuckoo, 1, 28, kMaxLowBits));
}

TEST(CellLayout, total_bytes_of_giants_do_not_wrap) {
  const CellLayout widest{uint64_t{1} << 48, 512};
  EXPECT_EQ(widest.total_bytes(kPageBytes), (uint64_t{1} << 48) * 64);
  const CellLayout buckets{uint64_t{1} << 40, 27};
  const uint64_t per_page = 8 * kPageBytes / 27;
  EXPECT_EQ(buckets.total_bytes(kPageBytes),
            (buckets.units / per_page) * ((per_page * 27 + 7) / 8) +
                ((buckets.units % per_page) * 27 + 7) / 8);
}

TEST(CopyCells, copies_answer_the_same_in_pages_of_any_size) {
  for (const Sample& sample : large_samples()) {
    SCOPED_TRACE(sample.name);
    const std::unique_ptr<Filter> built = build_sample(sample);
    ASSERT_NE(built, nullptr);
    const Filter& first = *built;
    EXPECT_GT(first.pages().page_count(), 2U);
    for (const uint32_t page_bytes : {64U, kSmallestPageBytes, kSmallPageBytes, kPageBytes}) {
      SCOPED_TRACE(page_bytes);
      const std::unique_ptr<Filter> copy = copy_of(first, page_bytes);
      ASSERT_STATUS(copy->check());
      EXPECT_EQ(copy->digest(), first.digest());
      for (uint64_t i = 0; i < sample.keys + 5000; ++i) {
        const uint64_t hash = sample_hash(i);
        ASSERT_EQ(copy->probe(hash), first.probe(hash)) << i;
        if (i < sample.keys) {
          ASSERT_EQ(copy->probe(hash), Filter::Answer::kPresent) << i;
        }
      }
      const std::unique_ptr<Filter> back = copy_of(*copy, kPageBytes);
      expect_same_pages(first, *back);
      const std::unique_ptr<Filter> other = copy_of(*copy, kSmallPageBytes);
      expect_same_pages(*copy_of(first, kSmallPageBytes), *other);
    }
  }
}

TEST(CopyCells, a_copy_is_to_be_stored_and_a_zero_page_is_not) {
  const Sample sample = {"", {FilterKind::kCuckoo, 0.001}, 20000, 2};
  const std::unique_ptr<Filter> built = build_sample(sample);
  const std::unique_ptr<Filter> copy = copy_of(*built, 448);
  EXPECT_EQ(copy->pages().backed_count(), copy->pages().page_count());
  size_t full = 0;
  for (uint64_t page = 0; page < copy->pages().page_count(); ++page) {
    const std::byte* const bytes = copy->pages().find(page);
    const bool zero =
        std::all_of(bytes, bytes + 448, [](std::byte byte) { return byte == std::byte{0}; });
    const std::vector<uint64_t>& dirty = copy->pages().dirty();
    EXPECT_EQ(std::find(dirty.begin(), dirty.end(), page) == dirty.end(), zero) << page;
    EXPECT_FALSE(copy->pages().stored(page));
    full += zero ? 0 : 1;
  }
  EXPECT_GE(full, 1U);
  EXPECT_LE(full, 4U);
}

TEST(CopyCells, absent_pages_are_zero_and_stay_absent) {
  const Sample sample = {"", {FilterKind::kCuckoo, 0.001}, 20000, 0};
  const std::unique_ptr<Filter> empty = build_sample(sample);
  std::unique_ptr<Filter> from = empty_like(*empty, kPageBytes);
  const std::unique_ptr<Filter> nothing = copy_of(*from, kSmallPageBytes);
  EXPECT_EQ(nothing->pages().backed_count(), 0U);
  from->pages().add(1, true);
  const std::unique_ptr<Filter> some = copy_of(*from, kSmallPageBytes);
  EXPECT_GE(some->pages().backed_count(), 4U);
  EXPECT_LE(some->pages().backed_count(), 6U);
  EXPECT_TRUE(some->pages().dirty().empty());
  const std::unique_ptr<Filter> same = copy_of(*from, kPageBytes);
  EXPECT_EQ(same->pages().backed_count(), 1U);
  std::unique_ptr<Filter> late = empty_like(*empty, kSmallPageBytes);
  late->pages().add(3, true);  // the last that is a part of page 0
  EXPECT_NE(copy_of(*late, kPageBytes)->pages().find(0), nullptr);
}

TEST(CopyCells, in_pages_of_its_own_size_a_filter_stays_as_it_is) {
  const std::unique_ptr<Filter> built = build_sample({"", {FilterKind::kBloom, 0.01}, 3000, 2000});
  std::unique_ptr<Filter> filter = copy_of(*built, 448);
  const Filter* const same = filter.get();
  std::unique_ptr<Filter> kept = must(in_pages_of(448, std::move(filter)));
  EXPECT_EQ(kept.get(), same);
  expect_same_pages(*copy_of(*built, kSmallPageBytes),
                    *must(in_pages_of(kSmallPageBytes, std::move(kept))));
}

TEST(CopyCells, of_a_giant_with_little_in_it_take_little) {
  FilterSpec spec;
  std::unique_ptr<Filter> giant = make_filter(spec, uint64_t{1} << 36, kPageBytes).value();
  giant->pages().complete();
  const uint64_t hash = sample_hash(1);
  (void)giant->insert_batch({&hash, 1});
  const std::unique_ptr<Filter> copy = copy_of(*giant, kSmallPageBytes);
  EXPECT_LE(copy->pages().backed_count(), 6U);
  EXPECT_EQ(copy->digest(), giant->digest());
  copy->pages().complete();
  EXPECT_EQ(copy->probe(hash), Filter::Answer::kPresent);
  EXPECT_TRUE(copy->check().ok());
}

TEST(CopyCells, overflow_entries_count_as_changed) {
  const std::unique_ptr<Filter> built = build_sample({"", {FilterKind::kCuckoo, 0.01}, 30, 20});
  ASSERT_FALSE(built->overflow().empty());
  const std::unique_ptr<Filter> copy = copy_of(*built, 448);
  EXPECT_EQ(copy->overflow().counts(), built->overflow().counts());
  EXPECT_EQ(copy->overflow().changed().size(), copy->overflow().cells());
  EXPECT_EQ(copy->overflow().digest(), built->overflow().digest());
}

TEST(CopyCells, another_geometry_is_refused) {
  const std::unique_ptr<Filter> small = build_sample({"", {FilterKind::kCuckoo, 0.01}, 30, 20});
  const std::unique_ptr<Filter> large = build_sample({"", {FilterKind::kCuckoo, 0.01}, 40, 0});
  const std::unique_ptr<Filter> wide = build_sample({"", {FilterKind::kCuckoo, 0.001}, 30, 0});
  for (Filter* const to : {large.get(), wide.get()}) {
    EXPECT_TRUE(fails(copy_cells(*small, *to), ErrorCode::kInvalid));
    EXPECT_EQ(to->occupied(), 0U);
  }
}

}  // namespace
}  // namespace cuckoo::filter_cell_layout_test
