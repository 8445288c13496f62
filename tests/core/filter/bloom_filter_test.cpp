#include "core/filter/bloom_filter.hpp"

#include <cmath>
#include <set>

#include "tests/core/filter/bloom_samples.hpp"

namespace cuckoo::filter_bloom_filter_test {
namespace {

using Answer = Filter::Answer;

constexpr FilterKind kHashedKinds[] = {FilterKind::kBloom, FilterKind::kBlockedBloom,
                                       FilterKind::kCountingBloom};

const char* name(FilterKind kind) {
  return kind == FilterKind::kBloom          ? "standard"
         : kind == FilterKind::kBlockedBloom ? "blocked"
                                             : "counting";
}

std::set<uint64_t> pages_of(const BloomFilter& filter, uint64_t hash) {
  uint64_t pages[Filter::kMaxPlaces];
  return {pages, pages + filter.pages_of(hash, pages)};
}

// ---- where a hash's cells are

// The formulas of core/filter/bloom_filter.hpp, as FORMAT.md has them, in the plainest arithmetic.
uint64_t scaled(uint64_t draw, uint64_t to) {
  return static_cast<uint64_t>(uint128{draw} * to >> 64);
}

std::vector<uint64_t> expected_cells_of(const BloomGeometry& geometry, uint64_t h) {
  constexpr uint64_t kG = 0x9E3779B97F4A7C15;
  std::vector<uint64_t> cells;
  if (geometry.blocked()) {
    uint64_t draw = h;
    for (uint64_t i = 0; i < geometry.hashes; ++i) {
      const uint64_t first = geometry.size * i / geometry.hashes;
      const uint64_t end = geometry.size * (i + 1) / geometry.hashes;
      const uint64_t block = first + scaled(draw, end - first);
      draw = mix64(h + (i + 1) * kG);
      for (uint64_t lane = 0; lane < 8; ++lane) {
        cells.push_back(512 * block + 64 * lane + draw / (uint64_t{1} << (6 * lane)) % 64);
      }
    }
    return cells;
  }
  for (uint64_t i = 0; i < geometry.hashes; ++i) {
    const uint64_t draw = mix64(h + (i / 2 + 1) * kG);
    const uint64_t turned = (draw << 32) | (draw >> 32);
    const uint64_t cell = scaled(i % 2 == 0 ? draw : turned, geometry.size);
    if (std::find(cells.begin(), cells.end(), cell) == cells.end()) {
      cells.push_back(cell);
    }
  }
  return cells;
}

TEST(BloomCells, follow_the_published_formulas_at_every_size) {
  const uint64_t sizes[] = {1,
                            2,
                            3,
                            64,
                            1000,
                            1000003,
                            (uint64_t{1} << 32) - 5,
                            uint64_t{1} << 32,
                            (uint64_t{1} << 33) + 12345,
                            (uint64_t{1} << 40) - 1};
  for (const FilterKind kind : kHashedKinds) {
    const bool blocked = kind == FilterKind::kBlockedBloom;
    for (const uint64_t size : sizes) {
      for (const uint32_t hashes : {1u, 2u, 3u, 4u, 7u, 20u, 63u, 64u}) {
        if (blocked && (hashes > 4 || size < hashes || size > uint64_t{1} << 33)) {
          continue;
        }
        const BloomGeometry geometry{kind, size, hashes, kPageBytes};
        const BloomFilter filter(geometry);
        for (uint64_t i = 0; i < 30; ++i) {
          const uint64_t hash = i == 0 ? 0 : i == 1 ? ~uint64_t{1} : nth_hash(size, i);
          const std::vector<uint64_t> cells = cells_of(filter, hash);
          ASSERT_EQ(cells, expected_cells_of(geometry, hash)) << name(kind) << " " << size;
          std::set<uint64_t> pages;
          for (const uint64_t cell : cells) {
            ASSERT_LT(cell, geometry.cells());
            pages.insert(cell / geometry.cells_per_page());
          }
          ASSERT_EQ(pages_of(filter, hash), pages);
        }
      }
    }
  }
}

// On-disk positions must never change: these are the numbers of format 1.
TEST(BloomCells, golden_values) {
  const auto cells = [](FilterKind kind, uint64_t size, uint32_t hashes, uint64_t hash) {
    return cells_of(BloomFilter({kind, size, hashes, kPageBytes}), hash);
  };
  using Cells = std::vector<uint64_t>;
  EXPECT_EQ(cells(FilterKind::kBloom, 9586U, 7, 0x0123456789ABCDEEU),
            (Cells{8692U, 7206U, 1190U, 3514U, 5445U, 4366U, 5754U}));
  EXPECT_EQ(cells(FilterKind::kBloom, 140737488355327U, 6, 0xFEDCBA9876540000U),
            (Cells{36441218454517U, 21945639280932U, 74333924487423U, 124246977430426U,
                   111722476043481U, 137275423024539U}));
  EXPECT_EQ(cells(FilterKind::kCountingBloom, 10U, 7, 0x8000000000000000U),
            (Cells{2U, 0U, 7U, 6U, 3U}));
  EXPECT_EQ(cells(FilterKind::kBlockedBloom, 489U, 1, 0x0123456789ABCDEEU),
            (Cells{1057U, 1104U, 1208U, 1245U, 1280U, 1391U, 1451U, 1531U}));
  EXPECT_EQ(cells(FilterKind::kBlockedBloom, 274877906944U, 3, 0xFEDCBA9876540000U),
            (Cells{46703996135441U,  46703996135536U,  46703996135603U,  46703996135674U,
                   46703996135719U,  46703996135756U,  46703996135868U,  46703996135888U,
                   59059568935976U,  59059568936007U,  59059568936080U,  59059568936128U,
                   59059568936226U,  59059568936271U,  59059568936357U,  59059568936411U,
                   118602967065638U, 118602967065702U, 118602967065789U, 118602967065836U,
                   118602967065913U, 118602967065979U, 118602967065999U, 118602967066101U}));
}

TEST(BloomCells, the_largest_filter_uses_all_of_its_cells) {
  for (const FilterKind kind : kHashedKinds) {
    const bool blocked = kind == FilterKind::kBlockedBloom;
    const BloomGeometry geometry{kind, blocked ? kMaxBloomCells / 512 : kMaxBloomCells,
                                 blocked ? 4u : 8u, kMaxPageBytes};
    const BloomFilter filter(geometry);
    uint64_t smallest = ~uint64_t{0};
    uint64_t largest = 0;
    uint64_t low_bits_seen = 0;
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t hash = nth_hash(9, i);
      for (const uint64_t cell : cells_of(filter, hash)) {
        ASSERT_LT(cell, uint64_t{1} << 47);
        ASSERT_EQ(filter.page_of(cell), cell / geometry.cells_per_page());
        smallest = std::min(smallest, cell);
        largest = std::max(largest, cell);
        low_bits_seen |= uint64_t{1} << (cell & 63);
      }
      for (const uint64_t page : pages_of(filter, hash)) {
        ASSERT_LT(page, geometry.page_count());
      }
    }
    EXPECT_LT(smallest, kMaxBloomCells / 1000) << name(kind);
    EXPECT_GT(largest, kMaxBloomCells / 1000 * 999) << name(kind);
    EXPECT_EQ(low_bits_seen, ~uint64_t{0}) << name(kind);
  }
}

TEST(BloomCells, page_of_equals_division_at_every_border) {
  for (const FilterKind kind : kHashedKinds) {
    for (uint32_t page_bytes = 64; page_bytes <= kMaxPageBytes; page_bytes += 64) {
      const BloomFilter filter({kind, 100, 1, page_bytes});
      const uint64_t per_page = filter.geometry().cells_per_page();
      const uint64_t last = (kMaxBloomCells - 1) / per_page;
      for (const uint64_t page : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{511}, last / 2,
                                  last / 3, last - 1, last}) {
        ASSERT_EQ(filter.page_of(page * per_page - 1), page - 1);
        ASSERT_EQ(filter.page_of(page * per_page), page);
        ASSERT_EQ(filter.page_of(page * per_page + per_page / 2), page);
      }
      ASSERT_EQ(filter.page_of(kMaxBloomCells - 1), last);
    }
  }
}

// Each cell is as likely as any other, also for hashes that have only 47 bits.
TEST(BloomCells, are_even) {
  for (const FilterKind kind : kHashedKinds) {
    const bool blocked = kind == FilterKind::kBlockedBloom;
    const BloomGeometry geometry{kind, blocked ? 6u : 3000u, blocked ? 3u : 7u, kPageBytes};
    const BloomFilter filter(geometry);
    std::vector<double> met(geometry.cells());
    double total = 0;
    for (uint64_t i = 0; i < 100'000; ++i) {
      for (const uint64_t cell : cells_of(filter, nth_hash(4, i) & ~uint64_t{0x1FFFF})) {
        ++met[cell];
        ++total;
      }
    }
    const double mean = total / static_cast<double>(met.size());
    double chi = 0;
    for (const double count : met) {
      chi += (count - mean) * (count - mean) / mean;
    }
    const auto cells = static_cast<double>(met.size());
    EXPECT_NEAR(chi, cells, 5 * std::sqrt(2 * cells)) << name(kind);
  }
}

// ---- one filter

TEST(BloomFilter, I1_I2_holds_what_was_inserted_at_any_size_and_rate) {
  for (const FilterKind kind : kHashedKinds) {
    for (const uint64_t capacity : {1u, 2u, 3u, 10u, 100u, 1000u, 10007u, 100000u}) {
      for (const double rate : {0.25, 0.01, 1e-4, 1e-6, kMinBloomRate}) {
        const auto filter = filter_for(kind, capacity, rate, capacity < 1000 ? 64 : kPageBytes);
        const std::string what = std::string(name(kind)) + " for " + std::to_string(capacity);
        const std::vector<uint64_t> hashes = hashes_of(capacity, capacity);
        uint64_t present = 0;
        for (const uint64_t hash : hashes) {
          const bool before = filter->probe(hash) == Answer::kPresent;
          ASSERT_EQ(filter->insert(hash), before) << what;
          present += before ? 1 : 0;
        }
        ASSERT_LE(static_cast<double>(present), 2 + 1.2 * rate * static_cast<double>(capacity));
        for (const uint64_t hash : hashes) {
          ASSERT_EQ(filter->probe(hash), Answer::kPresent) << what;
          ASSERT_EQ(filter->probe(hash), Answer::kPresent) << what;
          ASSERT_GE(filter->count(hash), 1u) << what;
        }
        expect_good(*filter, what);
      }
    }
  }
}

TEST(BloomFilter, probe_is_a_test_of_every_cell) {
  for (const FilterKind kind : kHashedKinds) {
    for (const double rate : {0.25, 0.1, 0.001}) {
      const auto filter = filter_for(kind, 200, rate, 64);
      std::set<uint64_t> used;
      for (uint64_t i = 0; i < 200; ++i) {
        filter->insert(nth_hash(1, i));
        const std::vector<uint64_t> cells = cells_of(*filter, nth_hash(1, i));
        used.insert(cells.begin(), cells.end());
      }
      ASSERT_EQ(filter->occupied(), used.size());
      for (uint64_t cell = 0; cell < filter->geometry().cells(); ++cell) {
        ASSERT_EQ(filter->copies(cell) != 0, used.contains(cell));
      }
      int positives = 0;
      for (uint64_t i = 0; i < 20'000; ++i) {
        const std::vector<uint64_t> cells = cells_of(*filter, nth_hash(2, i));
        const bool all = std::all_of(cells.begin(), cells.end(),
                                     [&](uint64_t cell) { return used.contains(cell); });
        ASSERT_EQ(filter->probe(nth_hash(2, i)), all ? Answer::kPresent : Answer::kAbsent);
        positives += all ? 1 : 0;
      }
      EXPECT_GT(positives, 5);
    }
  }
}

// ---- pages that are not in memory

// ---- rates

// Strangers found among `probes`.
uint64_t false_positives(const BloomFilter& filter, uint64_t seed, uint64_t probes) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < probes; ++i) {
    total += filter.probe(nth_hash(seed, i)) == Answer::kPresent ? 1 : 0;
  }
  return total;
}

// The measured rate, the formula's and the one that was asked for agree. Each measurement has 2000
// false positives or more, so its noise is at most 2.2 %.
TEST(BloomRates, a_million_keys) {
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    for (const double rate : {0.03, 0.01, 0.001, 1e-4}) {
      const auto filter = filter_for(kind, 1'000'000, rate);
      filter->insert_batch(hashes_of(1, 1'000'000));
      const auto probes = static_cast<uint64_t>(std::max(2500 / rate, 400'000.0));
      const double measured =
          static_cast<double>(false_positives(*filter, 2, probes)) / static_cast<double>(probes);
      const double formula = filter->rate(1e6);
      EXPECT_NEAR(measured / formula, 1, 0.05) << name(kind) << " " << rate;
      EXPECT_NEAR(filter->rate_now() / formula, 1, 0.02) << name(kind) << " " << rate;
      EXPECT_LE(formula, rate);
      EXPECT_GE(formula, 0.98 * rate) << "wastes memory";
      const double cells = expected_cells(filter->geometry(), 1e6);
      EXPECT_NEAR(static_cast<double>(filter->occupied()) / cells, 1, 0.001);
      EXPECT_NEAR(filter->load_factor(), cells / static_cast<double>(filter->geometry().cells()),
                  0.001);
    }
  }
}

// The rates are means over many small filters. Their cells are so few that hashes which depend on
// each other would show: plain double hashing gives 1000 keys at 1e-6 forty times the rate.
TEST(BloomRates, small_filters_hold_the_rate) {
  const struct {
    double rate;
    uint64_t probes;  // of all filters together
  } cases[] = {{0.25, 200'000}, {0.01, 1'000'000}, {0.001, 4'000'000}, {1e-4, 8'000'000}};
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    for (const uint64_t capacity : {100u, 1000u, 10'000u}) {
      for (const auto& [rate, probes] : cases) {
        const uint64_t filters = 200'000 / capacity;
        const BloomGeometry geometry = sized(kind, capacity, rate);
        const double formula = bloom_rate(geometry, static_cast<double>(capacity)).mean;
        uint64_t found = 0;
        for (uint64_t seed = 1; seed <= filters; ++seed) {
          const auto filter = whole_filter(geometry);
          filter->insert_batch(hashes_of(seed, capacity));
          found += false_positives(*filter, seed << 20, probes / filters);
        }
        const double measured = static_cast<double>(found) / static_cast<double>(probes);
        const double noise = 4 / std::sqrt(static_cast<double>(found));
        EXPECT_LE(measured, 1.1 * rate) << name(kind) << " " << capacity;
        EXPECT_NEAR(measured / formula, 1, 0.03 + noise)
            << name(kind) << " " << capacity << " at " << rate;
      }
    }
  }
}

TEST(BloomRates, small_filters_hold_one_in_a_million) {
  constexpr uint64_t kProbes = 20'000'000;
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    for (const uint64_t capacity : {100u, 1000u, 10'000u}) {
      constexpr uint64_t kFilters = 40;
      uint64_t found = 0;
      for (uint64_t seed = 1; seed <= kFilters; ++seed) {
        const auto filter = filter_for(kind, capacity, 1e-6);
        filter->insert_batch(hashes_of(seed, capacity));
        found += false_positives(*filter, seed << 20, kProbes / kFilters);
      }
      // At most 20 are expected. The limit is 22 and three standard deviations.
      EXPECT_LE(found, 36u) << name(kind) << " " << capacity;
    }
  }
}

// ---- full

TEST(BloomFilter, capacity_distinct_keys_always_fit_and_not_many_more) {
  for (const FilterKind kind : kHashedKinds) {
    for (const uint64_t capacity : {1u, 2u, 5u, 10u, 100u, 1000u, 20'000u}) {
      const uint64_t seeds = std::clamp<uint64_t>(100'000 / capacity, 3, 300);
      for (const double rate : {0.25, 0.01, 1e-6}) {
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
          const auto filter = filter_for(kind, capacity, rate);
          uint64_t items = 0;
          uint64_t keys = 0;
          const uint64_t most = capacity * 2 + 20;
          for (; keys < most && !filter->full(items, capacity); ++keys) {
            const bool present = filter->insert(nth_hash(seed, keys));
            items += present && !is_multiset(kind) ? 0 : 1;
          }
          ASSERT_GE(keys, capacity) << name(kind) << " seed " << seed;
          const double missed = rate * static_cast<double>(capacity) / 2;
          ASSERT_LE(static_cast<double>(keys), static_cast<double>(capacity) + missed + 10 +
                                                   5 * std::sqrt(static_cast<double>(capacity)))
              << name(kind) << " at " << rate << " seed " << seed;
        }
      }
    }
  }
}

// ---- union

// ---- checks

TEST(BloomFilter, I2_I3_check_finds_a_changed_bit_anywhere) {
  for (const FilterKind kind : kHashedKinds) {
    const auto filter = filter_for(kind, 150, 0.01, 128);
    filter->insert_batch(hashes_of(1, 100));
    expect_good(*filter);
    const PageSet& pages = filter->pages();
    for (uint64_t page = 0; page < pages.page_count(); ++page) {
      std::byte* const bytes = filter->pages().writable(page);
      for (size_t bit = 0; bit < 8 * (pages.page_bytes() + PageSet::kSlackBytes); ++bit) {
        const std::byte before = bytes[bit / 8];
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        // A counter may turn into another one: the overflow table and occupied() can't tell.
        const bool may_pass = kind == FilterKind::kCountingBloom &&
                              bit / 8 < filter->content_bytes(page) &&
                              (before & (std::byte{15} << (bit % 8 / 4 * 4))) != std::byte{0};
        if (!may_pass) {
          ASSERT_FALSE(filter->check().ok()) << name(kind) << " page " << page << " bit " << bit;
        }
        bytes[bit / 8] = before;
      }
    }
    expect_good(*filter);
    filter->set_occupied(filter->occupied() + 1);
    EXPECT_NE(message_of(filter->check()).find("cells in use, expected"), std::string::npos);
  }
}

TEST(BloomFilter, I3_validate_page_wants_the_size_and_zeros_after_the_last_cell) {
  const BloomFilter bits({FilterKind::kBloom, 8 * 128 + 11, 3, 128});
  const BloomFilter counters({FilterKind::kCountingBloom, 2 * 128 + 3, 3, 128});
  const BloomFilter blocks({FilterKind::kBlockedBloom, 3, 1, 128});
  std::vector<std::byte> page(128, std::byte{0xFF});
  const std::span<const std::byte> content(page);
  EXPECT_TRUE(bits.validate_page(0, content).ok());
  EXPECT_TRUE(counters.validate_page(0, content).ok());
  EXPECT_TRUE(blocks.validate_page(0, content).ok());
  EXPECT_TRUE(blocks.validate_page(1, content.first(64)).ok());
  EXPECT_EQ(message_of(bits.validate_page(1, content.first(3))), "page 1 has 3 bytes, expected 2");
  EXPECT_EQ(message_of(blocks.validate_page(1, content)), "page 1 has 128 bytes, expected 64");
  EXPECT_EQ(message_of(blocks.validate_page(2, content)), "page number is 2, expected less than 2");
  EXPECT_EQ(message_of(counters.validate_page(0, {})), "page 0 has 0 bytes, expected 128");
  const std::string behind = "page 1 has bits after its last cell, expected zeros";
  EXPECT_EQ(message_of(bits.validate_page(1, content.first(2))), behind);
  EXPECT_EQ(message_of(counters.validate_page(1, content.first(2))), behind);
  page[1] = std::byte{0x08};
  EXPECT_EQ(message_of(bits.validate_page(1, content.first(2))), behind);
  page[1] = std::byte{0x07};
  EXPECT_TRUE(bits.validate_page(1, content.first(2)).ok());
  EXPECT_TRUE(counters.validate_page(1, content.first(2)).ok());
  page[1] = std::byte{0x10};
  EXPECT_EQ(message_of(counters.validate_page(1, content.first(2))), behind);
}

TEST(BloomFilter, tells_its_size) {
  const BloomFilter bits({FilterKind::kBloom, 1000, 7, 64});
  EXPECT_EQ(bits.words(), (GeometryWords{1000, 7, 0}));
  EXPECT_EQ(bits.bits(), 1000u);
  EXPECT_EQ(bits.content_bytes(0), 64u);
  EXPECT_EQ(bits.content_bytes(1), 61u);
  const BloomFilter counters({FilterKind::kCountingBloom, 1000, 7, 64});
  EXPECT_EQ(counters.words(), (GeometryWords{1000, 7, 0}));
  EXPECT_EQ(counters.bits(), 4000u);
  EXPECT_EQ(counters.pages().page_count(), 8u);
  const BloomFilter blocks({FilterKind::kBlockedBloom, 10, 2, 64});
  EXPECT_EQ(blocks.words(), (GeometryWords{10, 2, 0}));
  EXPECT_EQ(blocks.bits(), 5120u);
  EXPECT_EQ(blocks.pages().page_count(), 10u);
  EXPECT_EQ(blocks.load_factor(), 0);
  EXPECT_EQ(blocks.rate_now(), 0);
  EXPECT_EQ(bits.rate_now(), 0);
}

}  // namespace
}  // namespace cuckoo::filter_bloom_filter_test
