// CuckooFilter: both ways to look a hash up give the same answers, and both ways to insert one
// leave the same bytes.
#include "core/filter/cuckoo_filter.hpp"
#include "tests/core/filter/cuckoo_samples.hpp"

namespace cuckoo::filter_cuckoo_shapes_test {
namespace {

using Answer = Filter::Answer;

// Asks one filter in both ways, and expects the same answers.
void expect_same_answers(CuckooFilter& filter, uint64_t seed, uint64_t hashes,
                         const std::string& what) {
  std::vector<Answer> answers;
  for (uint64_t i = 0; i < hashes; ++i) {
    answers.push_back(filter.probe(nth_hash(seed, i)));
  }
  filter.use_portable_code();
  for (uint64_t i = 0; i < hashes; ++i) {
    ASSERT_EQ(filter.probe(nth_hash(seed, i)), answers[i]) << what << ", hash " << i;
  }
}

TEST(CuckooProbe, I1_both_ways_agree_on_every_shape) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    for (const uint32_t page_bytes : {64u, 192u}) {
      CuckooFilter filter = whole_cuckoo({60, shape, page_bytes});
      insert_each(filter, hashes_of(1, 230));
      expect_each(filter, hashes_of(1, 230));
      expect_same_answers(filter, 1, 2000, name_of(shape));
    }
  }
}

TEST(CuckooFilter, I6_of_the_pages_is_checked) {
  CuckooFilter filter = cuckoo_for(5000, 0.001, 512);
  if (filter.pages().list() == nullptr) {
    GTEST_SKIP() << "no AVX2";
  }
  filter.insert(nth_hash(1, 1));
  EXPECT_TRUE(filter.check().ok());
  const std::byte*& listed = const_cast<const std::byte**>(filter.pages().list())[1];
  listed = filter.pages().find(0);
  EXPECT_EQ(filter.check().error().message, "page 1 is another one in the list of pages");
  listed = filter.pages().find(1);
}

TEST(CuckooProbe, both_ways_agree_on_pages_that_are_absent_or_zero) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    CuckooFilter filter({200, shape, 64});
    for (uint64_t page = 0; page < filter.pages().page_count(); ++page) {
      if (page % 3 != 2) {
        filter.pages().add(page, false);
      }
    }
    for (uint64_t i = 0; i < 300; ++i) {
      if (filter.probe(nth_hash(2, i)) != Answer::kNotLoaded) {
        filter.insert(nth_hash(2, i));
      }
    }
    expect_same_answers(filter, 2, 600, name_of(shape));
  }
}

TEST(CuckooProbe, both_ways_look_into_the_overflow_table) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    CuckooFilter filter = whole_cuckoo({3, shape, 192});
    insert_each(filter, hashes_of(3, 40));
    ASSERT_FALSE(filter.overflow().empty());
    expect_each(filter, hashes_of(3, 40));
    expect_same_answers(filter, 3, 1000, name_of(shape));
  }
}

// The first filter has as many pages as a PageSet lists, the second has one too many.
TEST(CuckooProbe, both_ways_agree_on_a_filter_of_many_pages) {
  const BucketShape shape = shape_of(16, 9);
  for (const uint64_t pages : {PageSet::kMaxListed, PageSet::kMaxListed + 1}) {
    CuckooGeometry geometry{1, shape, 64};
    geometry.buckets = pages * geometry.buckets_per_page();
    CuckooFilter filter(geometry);
    EXPECT_EQ(filter.pages().page_count(), pages);
    filter.pages().complete();
    insert_each(filter, hashes_of(4, 2000));
    expect_each(filter, hashes_of(4, 2000));
    expect_same_answers(filter, 4, 20'000, std::to_string(pages) + " pages");
  }
}

TEST(CuckooProbe, a_moved_filter_answers_as_before) {
  CuckooFilter first = whole_cuckoo({500, shape_of(19, 7), 192});
  insert_each(first, hashes_of(5, 1000));
  CuckooFilter filter = std::move(first);
  expect_each(filter, hashes_of(5, 1000));
  expect_same_answers(filter, 5, 3000, "moved");
}

// ---- inserting

void expect_same_filters(const CuckooFilter& one, const CuckooFilter& other,
                         const std::string& what) {
  ASSERT_EQ(image(one), image(other)) << what;
  ASSERT_EQ(one.occupied(), other.occupied()) << what;
  ASSERT_EQ(one.overflow().counts(), other.overflow().counts()) << what;
  ASSERT_EQ(one.pages().dirty(), other.pages().dirty()) << what;
}

// The test fills both from empty to beyond full, with copies, and removes some in between.
TEST(CuckooInsert, I1_both_ways_leave_the_same_bytes_in_every_shape) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    const CuckooGeometry geometry{60, shape, 192};
    CuckooFilter chosen(geometry);
    CuckooFilter portable(geometry);
    portable.use_portable_code();
    chosen.pages().complete();
    portable.pages().complete();
    for (uint64_t i = 0; i < 260; ++i) {
      const uint64_t hash = nth_hash(6, i % 7 == 0 ? i / 2 : i);
      ASSERT_EQ(chosen.insert(hash), portable.insert(hash)) << name_of(shape) << ", hash " << i;
      if (i % 5 == 0) {
        ASSERT_EQ(chosen.remove(nth_hash(6, i / 3)), portable.remove(nth_hash(6, i / 3)));
      }
      ASSERT_EQ(image(chosen), image(portable)) << name_of(shape) << ", hash " << i;
    }
    expect_same_filters(chosen, portable, name_of(shape));
    expect_good(chosen, name_of(shape));
  }
}

TEST(CuckooInsert, both_ways_leave_the_same_bytes_at_any_size) {
  for (const double rate : {0.1, 0.01, 0.001, 1e-4}) {
    for (const uint64_t capacity : {100u, 3000u, 20'000u}) {
      const CuckooGeometry geometry = size_cuckoo(capacity, rate, kPageBytes).value();
      CuckooFilter chosen(geometry);
      CuckooFilter batched(geometry);
      CuckooFilter portable(geometry);
      portable.use_portable_code();
      for (CuckooFilter* const filter : {&chosen, &batched, &portable}) {
        filter->pages().complete();
      }
      // Each batch is smaller than half of the buckets, so that it goes to the pages.
      const std::vector<uint64_t> hashes = hashes_of(7, capacity);
      for (size_t i = 0; i < hashes.size(); i += 10) {
        const auto batch = std::span(hashes).subspan(i, std::min<size_t>(10, hashes.size() - i));
        uint64_t present = 0;
        for (const uint64_t hash : batch) {
          present += chosen.insert(hash) ? 1 : 0;
          ASSERT_EQ(chosen.contains(hash), true);
        }
        ASSERT_EQ(batched.insert_batch(batch), present);
        ASSERT_EQ(portable.insert_batch(batch), present);
      }
      const std::string what = std::to_string(rate) + ", " + std::to_string(capacity);
      expect_same_filters(chosen, portable, what);
      expect_same_filters(batched, portable, what);
    }
  }
}

// The searches become longer and longer, up to the first one that is given up.
TEST(CuckooInsert, both_ways_move_along_the_same_paths_and_give_up_at_the_same_time) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    for (const uint64_t buckets : {1u, 2u, 3u, 4u, 7u, 20u, 100u, 301u}) {
      const CuckooGeometry geometry{buckets, shape, 192};
      CuckooFilter chosen(geometry);
      CuckooFilter portable(geometry);
      portable.use_portable_code();
      chosen.pages().complete();
      portable.pages().complete();
      uint64_t i = 0;
      for (; portable.overflow().empty(); ++i) {
        const uint64_t hash = nth_hash(buckets, i);
        ASSERT_EQ(chosen.insert(hash), portable.insert(hash)) << name_of(shape) << ", hash " << i;
        if (i % 50 == 0) {  // searches that come to pages that are not dirty
          ASSERT_EQ(chosen.pages().dirty(), portable.pages().dirty()) << name_of(shape);
          chosen.pages().clear_dirty();
          portable.pages().clear_dirty();
        }
      }
      const std::string what = name_of(shape) + ", " + std::to_string(buckets) + " buckets";
      EXPECT_EQ(chosen.last_search(), portable.last_search()) << what;
      EXPECT_GE(i, 2 * buckets) << what;
      expect_same_filters(chosen, portable, what);
    }
  }
}

// What a filter holds follows from its statements, whatever build ran them. Where a search leads
// and where it ends decides what is in the pages. The last hash of this test has the same bucket
// twice, and finds no room.
TEST(CuckooInsert, a_hash_of_one_bucket_searches_as_ever) {
  const BucketShape shape = shape_of(28, 7);
  for (const bool portable : {false, true}) {
    CuckooFilter filter({5, shape, 64});
    filter.pages().complete();
    if (portable) {
      filter.use_portable_code();
    }
    std::mt19937_64 random(539);
    uint64_t hash = 0;
    for (int i = 0; i < 20; ++i) {
      hash = random() & ~uint64_t{1};
      filter.insert(hash);
    }
    EXPECT_EQ(filter.locate(hash).bucket1, filter.locate(hash).bucket2);
    EXPECT_EQ(filter.occupied(), 19u);
    EXPECT_EQ(filter.overflow().cells(), 1u);
    EXPECT_EQ(filter.last_search(), 20u);
  }
}

// No insert leaves such buckets: their low parts have no order, and empty slots are between others.
// With `full`, most bits are random, and most slots are in use.
void expect_same_bytes_in_unsorted_buckets(bool full) {
  std::mt19937_64 random(8);
  for (const BucketShape& shape : all_bucket_shapes()) {
    const CuckooGeometry geometry{40, shape, 192};
    CuckooFilter chosen(geometry);
    CuckooFilter portable(geometry);
    portable.use_portable_code();
    for (uint64_t page = 0; page < geometry.page_count(); ++page) {
      std::byte* const one = chosen.pages().add(page, true);
      std::byte* const other = portable.pages().add(page, true);
      // Few bits are set, so that high parts are equal and slots are empty.
      const size_t size = geometry.content_bytes(page);
      for (size_t i = 0; i + 1 < size; ++i) {
        const uint64_t few = random() & random() & random();
        one[i] = other[i] = static_cast<std::byte>(full && i % 24 != 0 ? random() : few);
      }
      chosen.pages().mark_dirty(page);
      portable.pages().mark_dirty(page);
    }
    for (uint64_t i = 0; i < 100; ++i) {
      const uint64_t hash = nth_hash(9, i);
      ASSERT_EQ(chosen.insert(hash), portable.insert(hash)) << name_of(shape) << ", hash " << i;
      ASSERT_EQ(image(chosen), image(portable)) << name_of(shape) << ", hash " << i;
    }
    expect_same_filters(chosen, portable, name_of(shape));
  }
}

TEST(CuckooInsert, both_ways_leave_the_same_bytes_in_unsorted_buckets) {
  expect_same_bytes_in_unsorted_buckets(false);
  expect_same_bytes_in_unsorted_buckets(true);
}

}  // namespace
}  // namespace cuckoo::filter_cuckoo_shapes_test
