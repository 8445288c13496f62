#include "core/filter/cuckoo_filter.hpp"

#include <chrono>
#include <memory>

#include "tests/core/filter/cuckoo_samples.hpp"

namespace cuckoo::filter_cuckoo_filter_test {
namespace {

constexpr double kRates[] = {0.25, 0.03, 0.01, 0.001, 1e-4, 1e-6, kMinRate};

// Every shape there is, with `buckets` buckets each. Pages are small, so that there are many.
std::vector<CuckooGeometry> all_geometries(uint64_t buckets) {
  std::vector<CuckooGeometry> geometries;
  for (const BucketShape& shape : all_bucket_shapes()) {
    geometries.push_back({buckets, shape, 192});
  }
  return geometries;
}

// ---- places

TEST(CuckooPlace, both_buckets_and_the_fingerprint_are_in_range_and_alternate) {
  for (const uint64_t buckets : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1000},
                                 (uint64_t{1} << 20) + 7, (uint64_t{1} << 30) - 1}) {
    for (const CuckooGeometry& geometry : all_geometries(buckets)) {
      CuckooGeometry large = geometry;
      large.page_bytes = kPageBytes;
      const CuckooFilter filter(large);
      const uint64_t fingerprints = geometry.shape.fingerprints();
      std::map<uint64_t, uint64_t> sums;  // fingerprint -> (bucket1 + bucket2) mod M
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t hash = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : nth_hash(buckets, i);
        const CuckooFilter::Place place = filter.locate(hash);
        ASSERT_LT(place.bucket1, buckets);
        ASSERT_LT(place.bucket2, buckets);
        ASSERT_GE(place.fingerprint, 1u);
        ASSERT_LE(place.fingerprint, fingerprints);
        const uint64_t sum = (place.bucket1 + place.bucket2) % buckets;
        ASSERT_EQ(sums.try_emplace(place.fingerprint, sum).first->second, sum);
        ASSERT_EQ(filter.cell(hash),
                  std::min(place.bucket1, place.bucket2) * fingerprints + place.fingerprint - 1);
      }
    }
  }
}

TEST(CuckooPlace, fingerprints_and_buckets_are_even) {
  const CuckooGeometry geometry{1000, shape_of(16, 0), kPageBytes};
  const CuckooFilter filter(geometry);
  constexpr int kHashes = 150'000;
  std::vector<int> per_fingerprint(16), per_bucket1(1000), per_bucket2(1000);
  for (int i = 0; i < kHashes; ++i) {
    const CuckooFilter::Place place = filter.locate(nth_hash(5, static_cast<uint64_t>(i)));
    ++per_fingerprint[place.fingerprint];
    ++per_bucket1[place.bucket1];
    ++per_bucket2[place.bucket2];
  }
  EXPECT_EQ(per_fingerprint[0], 0);
  for (size_t fingerprint = 1; fingerprint < 16; ++fingerprint) {
    EXPECT_NEAR(per_fingerprint[fingerprint], 10'000, 600);  // 6 sigma
  }
  for (size_t bucket = 0; bucket < 1000; ++bucket) {
    EXPECT_NEAR(per_bucket1[bucket], 150, 75);
    EXPECT_NEAR(per_bucket2[bucket], 150, 75);
  }
}

TEST(CuckooPlace, page_and_first_bit_equal_division_at_every_border) {
  for (const uint32_t page_bytes : {64u, 192u, 960u, 4032u}) {
    for (CuckooGeometry geometry : all_geometries(100'000)) {
      geometry.page_bytes = page_bytes;
      const CuckooFilter filter(geometry);
      const uint64_t per_page = geometry.buckets_per_page();
      const std::vector<std::byte> bytes(page_bytes);
      const auto expect_place = [&](uint64_t bucket, uint64_t page) {
        ASSERT_EQ(filter.page_of(bucket), page);
        const uint64_t bit = (bucket - page * per_page) * geometry.shape.bits();
        const uint64_t fraction = filter.page_place(bucket).fraction;
        const BucketBits::Address at = filter.address(bytes.data(), fraction);
        ASSERT_EQ(static_cast<uint64_t>(at.bytes - bytes.data()), bit / 8) << bucket;
        ASSERT_EQ(at.shift, bit % 8);
        if (geometry.shape.bits() % 8 == 0) {
          ASSERT_EQ(filter.address<true>(bytes.data(), fraction).bytes, at.bytes);
        }
      };
      const uint64_t last = ((uint64_t{1} << 40) - 1) / per_page;
      for (const uint64_t page : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{511}, last / 2,
                                  last / 3, last - 1, last}) {
        const uint64_t first = page * per_page;
        expect_place(first - 1, page - 1);
        expect_place(first, page);
        expect_place(first + per_page / 2, page);
      }
      expect_place((uint64_t{1} << 40) - 1, last);
    }
  }
}

// ---- every bucket shape

// ---- capacity

TEST(CuckooFilter, I4_fills_to_capacity_at_any_size_and_rate_without_a_false_negative) {
  for (const uint64_t capacity : {1u, 2u, 3u, 5u, 100u, 1000u, 3001u, 10007u, 100000u, 1000000u}) {
    for (const double rate : kRates) {
      if (capacity == 1000000 && rate != 0.25 && rate != 0.001 && rate != kMinRate) {
        continue;
      }
      CuckooFilter filter = cuckoo_for(capacity, rate);
      const std::vector<uint64_t> hashes = hashes_of(capacity, capacity);
      insert_each(filter, hashes);
      const std::string what = std::to_string(capacity) + " at " + std::to_string(rate);
      SCOPED_TRACE(what);
      EXPECT_EQ(filter.items(), capacity) << what;
      EXPECT_LE(filter.overflow().items(), capacity / 100 + 5) << what;
      expect_each(filter, hashes);
      expect_good(filter, what);
    }
  }
}

TEST(CuckooFilter, I4_churn_at_capacity_loses_nothing) {
  for (const uint64_t capacity : {1u, 3u, 100u, 1000u, 10007u}) {
    for (const double rate : {0.25, 0.01, 1e-6}) {
      const uint64_t seeds = capacity <= 100 ? 20 : 3;
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        CuckooFilter filter = cuckoo_for(capacity, rate);
        uint64_t oldest = 0;
        uint64_t newest = 0;
        for (; newest < capacity; ++newest) {
          filter.insert(nth_hash(seed, newest));
        }
        for (uint64_t step = 0; step < 5 * capacity; ++step) {
          ASSERT_TRUE(filter.remove(nth_hash(seed, oldest++))) << "seed " << seed;
          filter.insert(nth_hash(seed, newest++));
        }
        for (uint64_t i = oldest; i < newest; ++i) {
          ASSERT_TRUE(filter.contains(nth_hash(seed, i))) << "seed " << seed;
        }
        EXPECT_EQ(filter.items(), capacity);
        expect_good(filter, "churn, seed " + std::to_string(seed));
      }
    }
  }
}

TEST(CuckooFilter, design_load_is_reached_almost_without_overflow) {
  uint64_t failed = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CuckooFilter filter = cuckoo_for(1000, 0.001);
    insert_each(filter, hashes_of(seed, 1000));
    failed += filter.overflow().empty() ? 0 : 1;
  }
  EXPECT_LE(failed, 6u);  // of 300
}

// ---- false positives

double measured_rate(uint64_t capacity, double rate, uint64_t seeds, uint64_t probes) {
  uint64_t positives = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CuckooFilter filter = cuckoo_for(capacity, rate);
    insert_each(filter, hashes_of(seed, capacity));
    for (uint64_t i = 0; i < probes; ++i) {
      positives += filter.contains(nth_hash(seed, capacity + i)) ? 1 : 0;
    }
  }
  return static_cast<double>(positives) / static_cast<double>(seeds * probes);
}

TEST(CuckooFilter, measured_false_positive_rate_is_not_above_the_asked_one) {
  struct Row {
    uint64_t capacity, seeds, probes;
  };
  for (const double rate : {0.25, 0.03, 0.01, 0.001, 1e-4}) {
    for (const Row& row : {Row{100, 800, 20'000}, {1000, 200, 80'000}, {100'000, 8, 2'000'000}}) {
      const double measured = measured_rate(row.capacity, rate, row.seeds, row.probes);
      EXPECT_LE(measured, rate) << row.capacity << " keys";
      EXPECT_GE(measured, 0.6 * rate) << row.capacity << " keys: sized too generously";
    }
  }
}

TEST(CuckooFilter, measured_false_positive_rate_is_the_predicted_one) {
  for (const double rate : {0.25, 0.03, 0.01, 0.001}) {
    const double predicted = cuckoo_rate(cuckoo_for(100'000, rate).geometry(), 100'000);
    EXPECT_NEAR(measured_rate(100'000, rate, 4, 1'000'000), predicted, 0.04 * predicted);
  }
}

// ---- many copies of one key

TEST(CuckooFilter, a_million_copies_come_and_go_and_disturb_no_other_key) {
  CuckooFilter filter = cuckoo_for(1000, 0.001);
  const std::vector<uint64_t> others = hashes_of(4, 900);
  filter.insert_batch(others);
  const std::vector<std::byte> before = image(filter);
  const uint64_t digest_before = filter.digest();
  const uint64_t key = nth_hash(77, 1);
  const auto start = std::chrono::steady_clock::now();
  bool present = false;
  for (int i = 0; i < 1'000'000; ++i) {
    present = filter.insert(key);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 5.0);  // about 0.05 s; sanitizers and busy machines get room
  EXPECT_TRUE(present);
  EXPECT_EQ(filter.count(key), 1'000'000u);
  EXPECT_EQ(filter.items(), 1'000'900u);
  EXPECT_EQ(filter.overflow().cells(), 1u);
  expect_each(filter, others);
  expect_good(filter, "a million copies");
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(filter.remove(key));
  }
  EXPECT_EQ(filter.count(key), 0u);
  EXPECT_EQ(filter.items(), 900u);
  EXPECT_TRUE(filter.overflow().empty());
  EXPECT_EQ(filter.digest(), digest_before);
  EXPECT_EQ(image(filter).size(), before.size());
  expect_each(filter, others);
}

// ---- against a model: an exact count for each cell

void run_model(const CuckooGeometry& geometry, uint64_t seed, int steps, uint64_t keys) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + name_of(geometry.shape) + ", " +
               std::to_string(geometry.buckets) + " buckets");
  std::mt19937_64 random(seed);
  CuckooFilter filter = whole_cuckoo(geometry);
  std::map<uint64_t, uint64_t> model;
  uint64_t items = 0;
  uint64_t digest = 0;
  for (int step = 0; step < steps; ++step) {
    const uint64_t hash = nth_hash(seed, random() % 4 == 0 ? random() % 4 : random() % keys);
    const uint64_t cell = filter.cell(hash);
    uint64_t& expected = model[cell];
    // The test fills the filter for `keys` steps, then empties it for as many.
    const bool filling = (step / static_cast<int>(keys)) % 2 == 0;
    if (random() % 8 < (filling ? 6u : 2u)) {
      ASSERT_EQ(filter.insert(hash), expected != 0);
      ++expected;
      ++items;
      digest += mix64(cell);
    } else {
      ASSERT_EQ(filter.remove(hash), expected != 0);
      if (expected != 0) {
        --expected;
        --items;
        digest -= mix64(cell);
      }
    }
    ASSERT_EQ(filter.count(hash), expected);
    ASSERT_EQ(filter.contains(hash), expected != 0);
    ASSERT_EQ(filter.items(), items);
    if (step % 500 == 0) {
      ASSERT_TRUE(filter.check().ok()) << filter.check().error().message;
      ASSERT_EQ(filter.digest(), digest);
      for (uint64_t i = 0; i < keys; ++i) {
        const auto found = model.find(filter.cell(nth_hash(seed, i)));
        ASSERT_EQ(filter.count(nth_hash(seed, i)), found == model.end() ? 0 : found->second);
      }
    }
  }
  for (uint64_t i = 0; i < keys; ++i) {
    while (filter.remove(nth_hash(seed, i))) {
    }
  }
  EXPECT_EQ(filter.items(), 0u);
  EXPECT_EQ(filter.digest(), 0u);
  EXPECT_EQ(image(filter), Bytes(image(filter).size()));
}

TEST(CuckooFilter, I3_I5_behaves_as_an_exact_multiset_of_cells) {
  uint64_t seed = 1;
  for (const uint64_t buckets : {1u, 2u, 5u, 64u, 257u}) {
    for (const CuckooGeometry& geometry : all_geometries(buckets)) {
      run_model(geometry, seed++, 1500, 5 * buckets + 3);
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

// The first build uses an array of 16-bit slots, the second one of 32-bit slots, the third the
// pages.
TEST(CuckooFilter, I6_builds_leave_the_bytes_they_always_left) {
  constexpr uint64_t kKeys = 3000;
  std::vector<uint64_t> hashes = hashes_of(41, kKeys - 7);
  hashes.insert(hashes.end(), 7, hashes[100]);
  std::sort(hashes.begin(), hashes.end());
  const auto built = [&hashes](double rate, uint64_t expected) {
    CuckooFilter filter = cuckoo_for(kKeys, rate);
    const std::unique_ptr<FilterBuilder> builder = filter.builder(expected, Filter::Digest::kSum);
    for (const uint64_t hash : hashes) {
      builder->insert(hash, 1);
    }
    builder->finish();
    expect_good(filter);
    return crc32c(image(filter));
  };
  EXPECT_EQ(built(0.001, kKeys), 2952403456U);
  EXPECT_EQ(built(1e-6, kKeys), 448375662U);
  EXPECT_EQ(built(0.001, 1), 2952403456U);
}

// ---- batches

// Large batches go through an array of all buckets, with slots of 16 or 32 bits; small ones don't.
TEST(CuckooFilter, I7_batches_of_any_portions_leave_the_bytes_of_single_inserts) {
  constexpr uint64_t kCapacity = 3000;
  std::mt19937_64 random(4);
  for (const double rate : kRates) {
    for (const uint64_t keys : {0u, 1u, 31u, 32u, 33u, 3000u, 3500u, 6000u}) {
      std::vector<uint64_t> hashes = hashes_of(keys, keys);
      for (size_t i = 0; i + 10 < hashes.size(); i += 10) {
        hashes[i] = hashes[i / 2];
      }
      CuckooFilter single = cuckoo_for(kCapacity, rate);
      uint64_t present = 0;
      for (const uint64_t hash : hashes) {
        present += single.insert(hash) ? 1 : 0;
      }
      ASSERT_TRUE(keys < 6000 || single.overflow().cells() > 100) << "no entry finds a place";
      for (const uint64_t portion : {uint64_t{1}, uint64_t{300}, uint64_t{2000}, keys + 1}) {
        CuckooFilter batches = cuckoo_for(kCapacity, rate);
        uint64_t digest = 0;
        uint64_t found = 0;
        for (size_t at = 0; at < hashes.size();) {
          const size_t some = std::min<size_t>(1 + random() % portion, hashes.size() - at);
          found += batches.insert_batch(std::span(hashes).subspan(at, some), digest);
          at += some;
        }
        EXPECT_EQ(found, present);
        EXPECT_EQ(digest, single.digest());
        EXPECT_EQ(image(batches), image(single)) << rate << ", " << keys << ", " << portion;
        EXPECT_EQ(batches.overflow().counts(), single.overflow().counts());
        EXPECT_EQ(batches.items(), keys);
        EXPECT_TRUE(batches.check().ok());
      }
      for (const uint64_t expected : {uint64_t{0}, uint64_t{1} << 40}) {
        CuckooFilter built = cuckoo_for(kCapacity, rate);
        const std::unique_ptr<FilterBuilder> builder =
            built.builder(expected, Filter::Digest::kNone);
        for (const uint64_t hash : hashes) {
          builder->insert(hash, 1);
        }
        builder->finish();
        EXPECT_EQ(image(built), image(single));
        EXPECT_EQ(built.overflow().counts(), single.overflow().counts());
      }
    }
  }
}

// ---- pages

std::vector<uint64_t> changed_pages(const CuckooGeometry& geometry,
                                    const std::vector<std::byte>& before,
                                    const std::vector<std::byte>& after) {
  std::vector<uint64_t> changed;
  for (uint64_t at = 0, page = 0; page < geometry.page_count(); ++page) {
    const uint64_t size = geometry.content_bytes(page);
    if (!std::equal(&before[at], &before[at] + size, &after[at])) {
      changed.push_back(page);
    }
    at += size;
  }
  return changed;
}

TEST(CuckooFilter, insert_and_remove_mark_exactly_the_pages_they_change) {
  const CuckooGeometry geometry{2000, shape_of(19, 9), 64};
  CuckooFilter filter = whole_cuckoo(geometry);
  std::mt19937_64 random(3);
  for (int step = 0; step < 9000; ++step) {
    const std::vector<std::byte> before = step % 50 == 0 ? image(filter) : std::vector<std::byte>{};
    const uint64_t hash = nth_hash(6, random() % 7900);
    if (step % 5 == 4) {
      filter.remove(hash);
    } else {
      filter.insert(hash);
    }
    if (step % 50 == 0) {
      const std::vector<uint64_t> changed = changed_pages(geometry, before, image(filter));
      std::vector<uint64_t> dirty = filter.pages().dirty();
      std::sort(dirty.begin(), dirty.end());
      ASSERT_TRUE(std::includes(dirty.begin(), dirty.end(), changed.begin(), changed.end()));
      ASSERT_LE(dirty.size(), changed.size() + 1);  // a step that gave the bytes of before
    }
    filter.pages().clear_dirty();
  }
}

// This holds also for batches that go through the array of all buckets.
TEST(CuckooFilter, batches_mark_exactly_the_pages_they_change) {
  CuckooFilter filter = cuckoo_for(3000, 0.01, 64);
  filter.insert_batch(hashes_of(5, 1000));
  filter.pages().clear_dirty();
  const std::vector<uint64_t> copies(2000, nth_hash(6, 1));
  const std::vector<std::byte> before = image(filter);
  filter.insert_batch(copies);
  const std::vector<uint64_t> changed = changed_pages(filter.geometry(), before, image(filter));
  EXPECT_LT(changed.size(), filter.geometry().page_count() / 2);
  EXPECT_EQ(filter.pages().dirty(), changed);
}

TEST(CuckooPage, wrong_size_index_rank_and_padding_are_refused_with_a_reason) {
  const CuckooGeometry geometry{70, shape_of(28, 0),
                                64};  // 512 / 15 = 34 buckets of 15 bits, the last page has 2
  const auto message = [&](uint64_t index, const std::vector<std::byte>& bytes) {
    return refusal_of(CuckooFilter::validate_page(geometry, index, bytes), ErrorCode::kCorrupt);
  };
  std::vector<std::byte> full(64);
  std::vector<std::byte> last(4);
  EXPECT_EQ(message(0, full), "");
  EXPECT_EQ(message(2, last), "");
  EXPECT_EQ(message(3, last), "page number is 3, expected less than 3");
  EXPECT_EQ(message(2, full), "page 2 has 64 bytes, expected 4");
  EXPECT_EQ(message(0, last), "page 0 has 4 bytes, expected 64");
  EXPECT_EQ(message(0, {}), "page 0 has 0 bytes, expected 64");
  full[0] = full[1] = std::byte{0xFF};  // 2^15 - 1
  EXPECT_EQ(message(1, full), "page 1 holds a bucket with rank 32767, expected less than 31465");
  full[0] = full[1] = std::byte{0};
  full[63] = std::byte{0x40};  // 34 · 15 = 510
  EXPECT_EQ(message(1, full), "page 1 has bits after its last bucket, expected zeros");
  last[3] = std::byte{0x40};  // bit 30
  EXPECT_EQ(message(2, last), "page 2 has bits after its last bucket, expected zeros");
  last[3] = std::byte{0x3F};
  last[2] = last[1] = std::byte{0xFF};
  EXPECT_EQ(message(2, last), "page 2 holds a bucket with rank 32767, expected less than 31465");
}

TEST(CuckooPage, each_bucket_of_a_page_is_validated) {
  for (const CuckooGeometry& geometry : all_geometries(150)) {
    const BucketShape& shape = geometry.shape;
    for (uint64_t bucket = 0; bucket < geometry.buckets; ++bucket) {
      const uint64_t index = bucket / geometry.buckets_per_page();
      std::vector<std::byte> content(geometry.content_bytes(index));
      const uint64_t rank_at =
          bucket % geometry.buckets_per_page() * shape.bits() + 4 * shape.low_bits;
      const auto put_rank = [&](uint32_t rank) {
        for (uint32_t bit = 0; bit < shape.rank_bits; ++bit) {
          const uint64_t at = rank_at + bit;
          content[at / 8] &= ~(std::byte{1} << (at % 8));
          content[at / 8] |= std::byte{static_cast<unsigned char>(rank >> bit & 1)} << (at % 8);
        }
      };
      put_rank(shape.rank_count() - 1);
      ASSERT_TRUE(CuckooFilter::validate_page(geometry, index, content).ok());
      put_rank(shape.rank_count());
      ASSERT_FALSE(CuckooFilter::validate_page(geometry, index, content).ok());
    }
  }
}

// A page of random bits. With `ranks_in_range`, validate_page accepts it: every rank exists, but
// values need not be sorted.
std::vector<std::byte> random_page(const CuckooGeometry& geometry, uint64_t index,
                                   bool ranks_in_range, std::mt19937_64& random) {
  std::vector<std::byte> content(geometry.content_bytes(index));
  if (!ranks_in_range) {
    for (std::byte& byte : content) {
      byte = static_cast<std::byte>(random());
    }
    return content;
  }
  const BucketShape& shape = geometry.shape;
  const uint64_t first = index * geometry.buckets_per_page();
  const uint64_t buckets =
      std::min<uint64_t>(geometry.buckets_per_page(), geometry.buckets - first);
  for (uint64_t bucket = 0; bucket < buckets; ++bucket) {
    const uint32_t rank = static_cast<uint32_t>(random()) % shape.rank_count();
    for (uint64_t bit = 0; bit < shape.bits(); ++bit) {
      const uint64_t lows = 4 * shape.low_bits;
      const uint64_t value = bit < lows ? random() & 1 : (rank >> (bit - lows)) & 1;
      const uint64_t at = bucket * shape.bits() + bit;
      content[at / 8] |= std::byte{static_cast<unsigned char>(value)} << (at % 8);
    }
  }
  return content;
}

// Whatever a page holds, no operation may read or write outside of it (the sanitizers watch). On
// pages that validate_page accepts, every operation keeps its word.
TEST(CuckooPage, random_bytes_never_crash_an_operation) {
  std::mt19937_64 random(17);
  for (const CuckooGeometry& geometry : all_geometries(40)) {
    for (const bool ranks_in_range : {false, true}) {
      CuckooFilter filter(geometry);
      for (uint64_t i = 0; i < geometry.page_count(); ++i) {
        const std::vector<std::byte> content = random_page(geometry, i, ranks_in_range, random);
        const bool accepted = CuckooFilter::validate_page(geometry, i, content).ok();
        ASSERT_TRUE(accepted || !ranks_in_range);
        std::copy(content.begin(), content.end(), filter.pages().add(i, true));
      }
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t hash = nth_hash(41, i);
        filter.insert(hash);
        const bool found = filter.contains(hash);
        const bool removed = filter.remove(hash);
        ASSERT_TRUE((found && removed) || !ranks_in_range);
      }
      (void)filter.digest();
      (void)filter.check();
    }
  }
}

TEST(CuckooCheck, finds_a_wrong_count_an_unsorted_bucket_and_a_bad_overflow_cell) {
  const auto message = [](const CuckooFilter& filter) {
    return refusal_of(filter.check(), ErrorCode::kCorrupt);
  };
  const CuckooGeometry geometry{10, shape_of(16, 8), 64};
  CuckooFilter filter = whole_cuckoo(geometry);
  EXPECT_EQ(message(filter), "");
  filter.insert(nth_hash(1, 1));
  filter.set_occupied(2);
  EXPECT_EQ(message(filter), "buckets hold 1 items, expected 2");

  CuckooFilter unsorted = whole_cuckoo(geometry);
  unsorted.pages().writable(0)[0] = std::byte{9};  // low0 = 9, all others 0, one rank: 9 0 0 0
  unsorted.set_occupied(1);
  EXPECT_EQ(message(unsorted), "bucket 0 is not sorted");

  const uint64_t fingerprints = geometry.shape.fingerprints();
  CuckooFilter beyond = whole_cuckoo(geometry);
  beyond.overflow().add(10 * fingerprints);
  EXPECT_EQ(message(beyond), "overflow cell " + std::to_string(10 * fingerprints) +
                                 " is of bucket 10, expected less than 10");
  // The smaller bucket of a pair names the cell. An overflow cell of the larger one is an error.
  for (uint64_t i = 0; i < 20; ++i) {
    const CuckooFilter::Place place = filter.locate(nth_hash(2, i));
    CuckooFilter other = whole_cuckoo(geometry);
    other.overflow().add(std::max(place.bucket1, place.bucket2) * fingerprints + place.fingerprint -
                         1);
    EXPECT_EQ(message(other) == "", place.bucket1 == place.bucket2);
  }
}

}  // namespace
}  // namespace cuckoo::filter_cuckoo_filter_test
