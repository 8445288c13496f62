#include "core/filter/bloom_sizing.hpp"

#include <cmath>
#include <limits>

#include "tests/core/filter/bloom_samples.hpp"

namespace cuckoo::filter_bloom_sizing_test {
namespace {

constexpr FilterKind kKinds[] = {FilterKind::kBloom, FilterKind::kBlockedBloom,
                                 FilterKind::kCountingBloom, FilterKind::kLegacyBloom};
constexpr double kRates[] = {0.25, 0.03, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-9, kMinRate};

double bits_per_key(const BloomGeometry& geometry, uint64_t capacity) {
  return static_cast<double>(geometry.cells()) / static_cast<double>(capacity);
}

double formula_bits(double rate) { return -std::log(rate) / (std::log(2.0) * std::log(2.0)); }

// ---- pages

TEST(BloomGeometry, pages_hold_all_cells_and_the_last_is_cut_to_its_content) {
  for (const FilterKind kind : kKinds) {
    for (const uint32_t page_bytes : {64u, 192u, 4032u, 8192u}) {
      for (const uint64_t size : {uint64_t{64}, uint64_t{128}, uint64_t{32256}, uint64_t{32320},
                                  uint64_t{1000000} * 64, (uint64_t{1} << 32) - 64}) {
        const BloomGeometry geometry{kind, size, 3, page_bytes};
        const uint64_t last = geometry.page_count() - 1;
        const uint64_t bits = geometry.cells() * geometry.cell_bits();
        ASSERT_EQ(geometry.cells_in_page(0),
                  std::min(bits, uint64_t{8} * page_bytes) / geometry.cell_bits());
        ASSERT_EQ(last * geometry.cells_per_page() + geometry.cells_in_page(last),
                  geometry.cells());
        ASSERT_EQ(last * page_bytes + geometry.content_bytes(last), (bits + 7) / 8);
        ASSERT_GE(geometry.content_bytes(last), 1u);
        ASSERT_LE(geometry.content_bytes(last), page_bytes);
      }
    }
  }
  EXPECT_EQ((BloomGeometry{FilterKind::kBloom, 13, 1, 64}.content_bytes(0)), 2u);
  EXPECT_EQ((BloomGeometry{FilterKind::kCountingBloom, 13, 1, 64}.content_bytes(0)), 7u);
  EXPECT_EQ((BloomGeometry{FilterKind::kBlockedBloom, 5, 1, 256}.content_bytes(1)), 64u);
  EXPECT_EQ((BloomGeometry{FilterKind::kBloom, uint64_t{1} << 47, 1, kPageBytes}.page_count()),
            4363141381u);  // ceil(2^47 / 32256)
}

TEST(BloomGeometry, segments_are_equal_but_for_one_block_and_never_empty) {
  for (const uint64_t blocks :
       {uint64_t{4}, uint64_t{5}, uint64_t{7}, uint64_t{1000}, uint64_t{1} << 38}) {
    for (uint32_t hashes = 1; hashes <= kMaxBlocksPerKey; ++hashes) {
      const BloomGeometry geometry{FilterKind::kBlockedBloom, blocks, hashes, kPageBytes};
      ASSERT_EQ(geometry.first_block(0), 0u);
      ASSERT_EQ(geometry.first_block(hashes), blocks);
      for (uint32_t i = 0; i < hashes; ++i) {
        const uint64_t length = geometry.first_block(i + 1) - geometry.first_block(i);
        ASSERT_GE(length, std::max<uint64_t>(1, blocks / hashes));
        ASSERT_LE(length, blocks / hashes + 1);
      }
    }
  }
}

// ---- rates against what they should be, computed in another way

// E[(X/m)^k] exactly, X being the cells that n·k throws into m cells reach.
double exact_standard_rate(uint64_t cells, uint32_t k, uint64_t keys) {
  std::vector<double> reached(cells + 1);
  reached[0] = 1;
  for (uint64_t i = 0; i < keys * k; ++i) {
    for (uint64_t x = cells; x >= 1; --x) {
      const double all = static_cast<double>(cells);
      reached[x] = reached[x] * static_cast<double>(x) / all +
                   reached[x - 1] * static_cast<double>(cells - x + 1) / all;
    }
    reached[0] = 0;
  }
  double rate = 0;
  for (uint64_t x = 0; x <= cells; ++x) {
    rate += reached[x] * std::pow(static_cast<double>(x) / static_cast<double>(cells), k);
  }
  return rate;
}

TEST(BloomRate, standard_is_the_exact_mean_over_filters) {
  const struct {
    uint64_t cells;
    uint32_t k;
    uint64_t keys;
    double tolerance;
  } cases[] = {{100, 7, 10, 0.01},
               {1000, 7, 100, 0.0005},
               {2900, 20, 100, 0.002},
               {1440, 1, 1000, 1e-6},
               {600, 4, 100, 0.001}};
  for (const auto& [cells, k, keys, tolerance] : cases) {
    const BloomGeometry geometry{FilterKind::kBloom, cells, k, kPageBytes};
    const double exact = exact_standard_rate(cells, k, keys);
    const double mean = bloom_rate(geometry, static_cast<double>(keys)).mean;
    EXPECT_NEAR(mean / exact, 1, tolerance) << cells << " " << k << " " << keys;
  }
}

TEST(BloomRate, standard_is_the_textbook_formula_for_many_keys) {
  for (const double keys : {1e6, 1e9, 1e12}) {
    for (const uint32_t k : {1u, 7u, 10u, 30u, 64u}) {
      for (const double bits : {5.0, 10.0, 50.0, 100.0}) {
        const auto cells = static_cast<uint64_t>(keys * bits);
        const BloomGeometry geometry{FilterKind::kCountingBloom, cells, k, kPageBytes};
        const long double y = static_cast<long double>(k) * static_cast<long double>(keys) /
                              static_cast<long double>(cells);
        const auto textbook = static_cast<double>(std::pow(-std::expm1(-y), k));
        ASSERT_NEAR(bloom_rate(geometry, keys).mean / textbook, 1, keys == 1e6 ? 2e-3 : 1e-8);
      }
    }
  }
}

// The mean over j of (1 - q^j)^8 with Binomial(n, 1/s) weights, by the binomial theorem.
long double closed_segment_rate(double keys, double blocks) {
  long double sum = 0;
  long double choose = 1;
  for (int t = 0; t <= 8; ++t) {
    const long double stays = std::pow(63.0L / 64, t);
    const long double term =
        choose * std::exp(static_cast<long double>(keys) *
                          std::log1p(-(1 - stays) / static_cast<long double>(blocks)));
    sum += t % 2 == 0 ? term : -term;
    choose = choose * (8 - t) / (t + 1);
  }
  return sum;
}

TEST(BloomRate, blocked_is_the_product_of_its_segments) {
  if (std::exp(1.0L) == static_cast<long double>(std::exp(1.0))) {
    GTEST_SKIP() << "this library computes long doubles as doubles";
  }
  for (const uint64_t blocks : {5u, 6u, 20u, 1001u, 1000000u}) {
    for (const double per_block : {5.0, 20.0, 50.0, 120.0}) {
      for (uint32_t b = 1; b <= kMaxBlocksPerKey; ++b) {
        const BloomGeometry geometry{FilterKind::kBlockedBloom, blocks, b, kPageBytes};
        const double keys = std::floor(per_block * static_cast<double>(blocks) / b);
        long double expected = 1;
        for (uint32_t i = 0; i < b; ++i) {
          const uint64_t length = geometry.first_block(i + 1) - geometry.first_block(i);
          expected *=
              length == 1
                  ? std::pow(-std::expm1(static_cast<long double>(keys) * std::log1p(-1.0L / 64)),
                             8)
                  : closed_segment_rate(keys, static_cast<double>(length));
        }
        ASSERT_NEAR(bloom_rate(geometry, keys).mean / static_cast<double>(expected), 1, 1e-6)
            << blocks << " blocks, " << b << " per key, " << keys << " keys";
      }
    }
  }
}

TEST(BloomRate, extremes) {
  for (const FilterKind kind : kKinds) {
    const BloomGeometry geometry{kind, 64, 4, kPageBytes};
    EXPECT_EQ(bloom_rate(geometry, 0).mean, 0);
    EXPECT_EQ(expected_cells(geometry, 0), 0);
    EXPECT_EQ(keys_for_cells(geometry, 0), 0);
    for (const double keys : {1e5, 1e9, 1e15, 1e18}) {
      EXPECT_NEAR(bloom_rate(geometry, keys).mean, 1, 1e-9) << keys;
      EXPECT_NEAR(expected_cells(geometry, keys), static_cast<double>(geometry.cells()), 1e-9);
    }
    EXPECT_TRUE(std::isfinite(keys_for_cells(geometry, geometry.cells())));
  }
  const BloomGeometry one{FilterKind::kBloom, 1, 1, kPageBytes};
  EXPECT_EQ(bloom_rate(one, 1).mean, 1);
  EXPECT_EQ(expected_cells(one, 1), 1);
}

TEST(BloomRate, cells_and_keys_are_inverse) {
  for (const FilterKind kind : kKinds) {
    for (const uint64_t capacity : {100u, 10000u, 1000000u}) {
      const BloomGeometry geometry = sized(kind, capacity, 0.001);
      for (const double part : {0.01, 0.3, 1.0, 2.0}) {
        const double keys = part * static_cast<double>(capacity);
        const auto cells = static_cast<uint64_t>(std::llround(expected_cells(geometry, keys)));
        EXPECT_NEAR(keys_for_cells(geometry, cells) / keys, 1, 0.02 / (part * capacity / 100));
      }
    }
  }
}

// ---- sizes

TEST(SizeBloom, holds_the_rate_and_no_smaller_one_does) {
  for (const FilterKind kind :
       {FilterKind::kBloom, FilterKind::kBlockedBloom, FilterKind::kCountingBloom}) {
    for (const uint64_t capacity :
         {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{10}, uint64_t{100}, uint64_t{1000},
          uint64_t{10007}, uint64_t{1000000}, uint64_t{1} << 30, uint64_t{1} << 40}) {
      for (const double rate : kRates) {
        const auto keys = static_cast<double>(capacity);
        if (keys / rate > 0x1p60) {
          continue;
        }
        BloomGeometry geometry = sized(kind, capacity, rate);
        const BloomRate held = bloom_rate(geometry, keys);
        ASSERT_LE(held.mean * (1 + held.deviation), rate);
        if (geometry.size > (geometry.blocked() ? geometry.hashes : 1)) {
          --geometry.size;
          const BloomRate smaller = bloom_rate(geometry, std::max(keys, kFewestSizedKeys));
          ASSERT_GT(smaller.mean * (1 + smaller.deviation), rate) << capacity << " at " << rate;
        }
      }
    }
  }
}

TEST(SizeBloom, bits_per_key) {
  for (const uint64_t capacity : {uint64_t{10000}, uint64_t{100000}, uint64_t{1000000},
                                  uint64_t{50000000}, uint64_t{1} << 34}) {
    const auto bits = [&](FilterKind kind, double rate) {
      return bits_per_key(sized(kind, capacity, rate), capacity);
    };
    for (const double rate : {0.25, 0.03, 0.01, 0.001, 1e-4, 1e-6}) {
      const double margin = 1 + 0.6 / std::sqrt(static_cast<double>(capacity));
      EXPECT_LE(bits(FilterKind::kBloom, rate), 1.0016 * margin * formula_bits(rate)) << rate;
      EXPECT_EQ(bits(FilterKind::kCountingBloom, rate), bits(FilterKind::kBloom, rate));
    }
    EXPECT_LE(bits(FilterKind::kBlockedBloom, 0.01), 10.2);
    EXPECT_LE(bits(FilterKind::kBlockedBloom, 0.001), 15.9);
    EXPECT_LE(bits(FilterKind::kBlockedBloom, 1e-4), 20.4);
    EXPECT_LE(bits(FilterKind::kBlockedBloom, 1e-6), 30.6);
  }
}

TEST(SizeBloom, hashes_and_blocks_per_key) {
  const auto hashes = [](FilterKind kind, double rate) {
    return sized(kind, 1000000, rate).hashes;
  };
  EXPECT_EQ(hashes(FilterKind::kBloom, 0.25), 2u);
  EXPECT_EQ(hashes(FilterKind::kBloom, 0.03), 5u);
  EXPECT_EQ(hashes(FilterKind::kBloom, 0.01), 7u);
  EXPECT_EQ(hashes(FilterKind::kBloom, 0.001), 10u);
  EXPECT_EQ(hashes(FilterKind::kCountingBloom, 1e-6), 20u);
  EXPECT_EQ(hashes(FilterKind::kBloom, kMinBloomRate), 36u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 0.25), 1u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 0.001), 1u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 5e-4), 2u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 1e-5), 2u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 1e-6), 3u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 1e-8), 3u);
  EXPECT_EQ(hashes(FilterKind::kBlockedBloom, 1e-9), 4u);
}

TEST(SizeBloom, given_hashes_hold_the_rate) {
  for (const uint32_t hashes : {1u, 2u, 5u, 10u, 40u, 64u}) {
    for (const double rate : {0.2, 0.01, 1e-4}) {
      for (const FilterKind kind :
           {FilterKind::kBloom, FilterKind::kCountingBloom, FilterKind::kLegacyBloom}) {
        const BloomGeometry geometry = size_bloom(kind, 10000, rate, hashes, kPageBytes).value();
        EXPECT_EQ(geometry.hashes, hashes);
        EXPECT_LE(bloom_rate(geometry, 10000).mean, rate);
        EXPECT_GE(geometry.size, sized(FilterKind::kBloom, 10000, rate).size);
      }
    }
  }
  // With one hash, a rate of 2^-30 takes 2^30 bits per key.
  EXPECT_TRUE(size_bloom(FilterKind::kBloom, 1000, kMinRate, 1, kPageBytes).ok());
  EXPECT_TRUE(fails_saying(
      size_bloom(FilterKind::kBloom, 1000000, kMinRate, 1, kPageBytes), ErrorCode::kInvalid,
      "capacity, fpr and hashes = 1 ask for too many bits, expected at most 2^47"));
}

TEST(SizeBloom, given_bits_per_key_are_taken) {
  const auto size = [](FilterKind kind, uint64_t capacity, double bits, uint32_t hashes) {
    return size_bloom_bits(kind, capacity, bits, hashes, kPageBytes).value();
  };
  EXPECT_EQ(size(FilterKind::kBloom, 1000, 10, 0),
            (BloomGeometry{FilterKind::kBloom, 10000, 7, kPageBytes}));
  EXPECT_EQ(size(FilterKind::kBloom, 3, 1.5, 0),
            (BloomGeometry{FilterKind::kBloom, 5, 1, kPageBytes}));
  EXPECT_EQ(size(FilterKind::kCountingBloom, 1000, 10, 3),
            (BloomGeometry{FilterKind::kCountingBloom, 10000, 3, kPageBytes}));
  EXPECT_EQ(size(FilterKind::kBloom, uint64_t{1} << 40, 128, 0),
            (BloomGeometry{FilterKind::kBloom, uint64_t{1} << 47, 64, kPageBytes}));
  EXPECT_EQ(size(FilterKind::kBlockedBloom, uint64_t{1} << 40, 128, 0).size, uint64_t{1} << 38);
  EXPECT_EQ(size(FilterKind::kBloom, 1, 1, 0),
            (BloomGeometry{FilterKind::kBloom, 1, 1, kPageBytes}));
}

TEST(SizeBloom, blocked_bits_per_key_get_the_blocks_per_key_with_the_smallest_rate) {
  for (const uint64_t capacity : {1u, 3u, 50u, 1000u, 100000u}) {
    for (const double bits : {1.0, 8.0, 12.0, 16.0, 24.0, 30.0, 45.0, 128.0}) {
      BloomGeometry geometry =
          size_bloom_bits(FilterKind::kBlockedBloom, capacity, bits, 0, kPageBytes).value();
      const auto keys = static_cast<double>(capacity);
      ASSERT_EQ(geometry.size, static_cast<uint64_t>(std::ceil(keys * bits / 512)));
      const double chosen = bloom_rate(geometry, keys).mean;
      for (geometry.hashes = 1;
           geometry.hashes <= std::min<uint64_t>(kMaxBlocksPerKey, geometry.size);
           ++geometry.hashes) {
        EXPECT_LE(chosen, bloom_rate(geometry, keys).mean) << capacity << " " << bits;
      }
    }
  }
  const auto blocks_per_key = [](double bits) {
    return size_bloom_bits(FilterKind::kBlockedBloom, 1000000, bits, 0, kPageBytes).value().hashes;
  };
  EXPECT_EQ(blocks_per_key(10), 1u);
  EXPECT_EQ(blocks_per_key(20), 2u);
  EXPECT_EQ(blocks_per_key(30), 3u);
  EXPECT_EQ(blocks_per_key(46), 4u);
}

TEST(SizeBloom, legacy_is_the_formula_of_the_files_writer) {
  // ceil(1000·4.6051702 / 0.480453) = 9586, less 50 and more 64; round(0.69314·9.6) = 7
  EXPECT_EQ(sized(FilterKind::kLegacyBloom, 1000, 0.01),
            (BloomGeometry{FilterKind::kLegacyBloom, 9600, 7, kPageBytes}));
  // ceil(3.4657 / 0.480453) = 8; round(0.69314·64 / 1) = 44
  EXPECT_EQ(sized(FilterKind::kLegacyBloom, 1, 0.0312),
            (BloomGeometry{FilterKind::kLegacyBloom, 64, 44, kPageBytes}));
  // 640 is a multiple of 64: 64 more all the same. round(0.69314·704/64) = 8
  EXPECT_EQ(size_bloom_bits(FilterKind::kLegacyBloom, 64, 10, 0, kPageBytes).value(),
            (BloomGeometry{FilterKind::kLegacyBloom, 704, 8, kPageBytes}));
  EXPECT_EQ(size_bloom_bits(FilterKind::kLegacyBloom, 64, 10, 3, kPageBytes).value(),
            (BloomGeometry{FilterKind::kLegacyBloom, 704, 3, kPageBytes}));
  EXPECT_TRUE(fails_saying(
      size_bloom_bits(FilterKind::kLegacyBloom, uint64_t{1} << 32, 1, 0, kPageBytes),
      ErrorCode::kInvalid,
      "a legacy filter of that capacity takes 4294967360 bits, expected less than 2^32"));
  EXPECT_FALSE(size_bloom(FilterKind::kLegacyBloom, 1000000000, 0.01, 0, kPageBytes).ok());
  EXPECT_FALSE(size_bloom(FilterKind::kLegacyBloom, uint64_t{1} << 39, 0.01, 9, kPageBytes).ok());
}

// On another machine, or after a change of the arithmetic, the same numbers must come out.
TEST(SizeBloom, I1_golden_sizes) {
  const struct {
    FilterKind kind;
    uint64_t capacity;
    double rate;
    uint64_t size;
    uint32_t hashes;
  } cases[] = {
      {FilterKind::kBloom, 1U, 0.01, 164U, 7},  // as for 16
      {FilterKind::kBloom, 16U, 0.01, 164U, 7},
      {FilterKind::kBloom, 100U, 1e-06, 2920U, 20},
      {FilterKind::kBloom, 1000U, 0.01, 9673U, 7},
      {FilterKind::kBloom, 12345U, 0.0001, 237079U, 13},
      {FilterKind::kBloom, 1000000U, 0.001, 14380672U, 10},
      {FilterKind::kBloom, 50000000U, 0.03, 364952697U, 5},
      {FilterKind::kBloom, 1099511627776U, 0.25, 3172521369034U, 2},
      {FilterKind::kBloom, 1099511627776U, 0.001, 15808384811677U, 10},
      {FilterKind::kBlockedBloom, 1U, 0.01, 1U, 1},
      {FilterKind::kBlockedBloom, 100U, 1e-06, 6U, 3},
      {FilterKind::kBlockedBloom, 1000U, 0.01, 20U, 1},
      {FilterKind::kBlockedBloom, 12345U, 0.0001, 489U, 2},
      {FilterKind::kBlockedBloom, 1000000U, 0.001, 30732U, 1},
      {FilterKind::kBlockedBloom, 50000000U, 0.03, 777143U, 1},
      {FilterKind::kBlockedBloom, 1099511627776U, 0.25, 9444179791U, 1},
      {FilterKind::kBlockedBloom, 1099511627776U, 0.001, 33768353137U, 1},
      {FilterKind::kLegacyBloom, 1U, 0.01, 64U, 44},
      {FilterKind::kLegacyBloom, 100U, 1e-06, 2880U, 20},
      {FilterKind::kLegacyBloom, 1000U, 0.01, 9600U, 7},
      {FilterKind::kLegacyBloom, 12345U, 0.0001, 236672U, 13},
      {FilterKind::kLegacyBloom, 1000000U, 0.001, 14377600U, 10},
      {FilterKind::kLegacyBloom, 50000000U, 0.03, 364922112U, 5},
  };
  for (const auto& [kind, capacity, rate, size, hashes] : cases) {
    EXPECT_EQ(sized(kind, capacity, rate), (BloomGeometry{kind, size, hashes, kPageBytes}))
        << capacity << " at " << rate;
    if (kind == FilterKind::kBloom) {  // as many counters as bits
      EXPECT_EQ(sized(FilterKind::kCountingBloom, capacity, rate),
                (BloomGeometry{FilterKind::kCountingBloom, size, hashes, kPageBytes}))
          << capacity << " at " << rate;
    }
  }
}

TEST(SizeBloom, refuses_a_cuckoo_filter) {
  EXPECT_TRUE(fails_saying(size_bloom(FilterKind::kCuckoo, 100, 0.01, 0, kPageBytes),
                           ErrorCode::kInvalid,
                           "filter kind is 1, expected a Bloom filter's, 2 to 5"));
}

TEST(SizeBloom, refuses_what_is_out_of_range_and_says_so) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const FilterKind kind : kKinds) {
    const auto by_rate = [&](uint64_t capacity, double rate, uint32_t hashes) {
      return refusal_of(size_bloom(kind, capacity, rate, hashes, kPageBytes), ErrorCode::kInvalid);
    };
    const auto by_bits = [&](uint64_t capacity, double bits, uint32_t hashes) {
      return refusal_of(size_bloom_bits(kind, capacity, bits, hashes, kPageBytes),
                        ErrorCode::kInvalid);
    };
    EXPECT_EQ(by_rate(0, 0.01, 0), "capacity is 0, expected 1 to 2^40");
    EXPECT_EQ(by_bits((uint64_t{1} << 40) + 1, 8, 0),
              "capacity is 1099511627777, expected 1 to 2^40");
    for (const double rate : {0.0, -0.1, 0.2500001, 1.0, nan, inf, -inf, kMinBloomRate / 1.01}) {
      EXPECT_NE(by_rate(100, rate, 0).find(", expected 2^-36 to 0.25"), std::string::npos) << rate;
    }
    for (const double bits : {0.0, 0.99, 128.01, -8.0, nan, inf, 1e300}) {
      EXPECT_NE(by_bits(100, bits, 0).find(", expected 1 to 128"), std::string::npos) << bits;
    }
    const bool blocked = kind == FilterKind::kBlockedBloom;
    const std::string refused =
        blocked ? " with layout = blocked, expected layout = standard" : ", expected 1 to 64";
    EXPECT_EQ(by_rate(100, 0.01, 65), "hashes is 65" + refused);
    EXPECT_EQ(by_bits(100, 10, 4000000000), "hashes is 4000000000" + refused);
    EXPECT_EQ(by_rate(100, 0.01, 7) == "", !blocked);
    EXPECT_EQ(by_rate(uint64_t{1} << 40, 0x1p-21, 0),
              "capacity = 1099511627776 and fpr = 4.76837e-07 ask for too many distinct hashes,"
              " expected capacity/fpr of at most 2^60");
    EXPECT_EQ(by_rate(1000, 0.25, 0), "");
    EXPECT_EQ(by_rate(1 << 20, kMinBloomRate, 0), "");
  }
}

// ---- stored geometries

TEST(StoredBloom, I2_refuses_every_other_one) {
  const auto error = [](FilterKind kind, GeometryWords words) {
    return refusal_of(stored_bloom(kind, words, kPageBytes), ErrorCode::kCorrupt);
  };
  constexpr uint64_t kAll = ~uint64_t{0};
  const auto standard = FilterKind::kBloom;
  const auto blocked = FilterKind::kBlockedBloom;
  const auto legacy = FilterKind::kLegacyBloom;
  EXPECT_EQ(error(standard, {100, 7, 0}), "");
  EXPECT_EQ(error(standard, {100, 0, 0}), "Bloom filter has 0 hashes, expected 1 to 64");
  EXPECT_EQ(error(standard, {100, (uint64_t{1} << 32) + 7, 0}),
            "Bloom filter has 4294967303 hashes, expected 1 to 64");
  EXPECT_EQ(error(standard, {0, 7, 0}), "Bloom filter has 0 cells, expected 1 to 140737488355328");
  EXPECT_EQ(error(FilterKind::kCountingBloom, {(uint64_t{1} << 47) + 1, 7, 0}),
            "Bloom filter has 140737488355329 cells, expected 1 to 140737488355328");
  EXPECT_EQ(error(standard, {kAll, 64, 0}).substr(0, 16), "Bloom filter has");
  EXPECT_EQ(error(standard, {100, 7, 1}), "Bloom filter has the third geometry word 1, expected 0");
  EXPECT_EQ(error(blocked, {100, 5, 0}), "Bloom filter has 5 blocks per key, expected 1 to 4");
  EXPECT_EQ(error(blocked, {3, 4, 0}), "Bloom filter has 3 blocks, expected 4 to 274877906944");
  EXPECT_EQ(error(blocked, {4, 4, 0}), "");
  EXPECT_EQ(error(blocked, {(uint64_t{1} << 38) + 1, 1, 0}),
            "Bloom filter has 274877906945 blocks, expected 1 to 274877906944");
  EXPECT_EQ(error(legacy, {65, 7, 0}),
            "legacy Bloom filter has 65 bits, expected a multiple of 64");
  EXPECT_EQ(error(legacy, {0, 7, 0}), "Bloom filter has 0 cells, expected 64 to 4294967232");
  EXPECT_EQ(error(legacy, {uint64_t{1} << 32, 7, 0}),
            "Bloom filter has 4294967296 cells, expected 64 to 4294967232");
  EXPECT_EQ(error(legacy, {(uint64_t{1} << 32) - 64, 7, 0}), "");
  for (const int kind : {0, 1, 6, 255}) {
    EXPECT_EQ(error(static_cast<FilterKind>(kind), {100, 4, 0}),
              "filter kind is " + std::to_string(kind) + ", expected a Bloom filter's, 2 to 5");
  }
}

// ---- full

// The expected number of cells in use after so many keys, rounded.
uint64_t cells_after(const BloomGeometry& geometry, double keys) {
  return static_cast<uint64_t>(std::llround(expected_cells(geometry, keys)));
}

TEST(CellsReach, is_the_keys_that_the_cells_stand_for) {
  std::mt19937_64 random(11);
  for (const FilterKind kind : kKinds) {
    for (const uint64_t capacity : {3u, 100u, 10000u, 1000000u}) {
      const BloomGeometry geometry = sized(kind, capacity, 0.01);
      for (int i = 0; i < 3000; ++i) {
        const uint64_t occupied = random() % (geometry.cells() + 1);
        const double keys = keys_for_cells(geometry, occupied);
        if (std::abs(keys / static_cast<double>(capacity) - 1) < 1e-9) {
          continue;  // equal but for rounding
        }
        ASSERT_EQ(cells_reach(geometry, occupied, capacity, 0),
                  keys > static_cast<double>(capacity))
            << occupied << " cells, capacity " << capacity;
      }
    }
  }
}

TEST(CellsReach, deviations_are_those_of_the_estimate) {
  for (const FilterKind kind : kKinds) {
    const BloomGeometry geometry = sized(kind, 100000, 0.01);
    EXPECT_FALSE(cells_reach(geometry, cells_after(geometry, 99990), 100000, 0));
    EXPECT_TRUE(cells_reach(geometry, cells_after(geometry, 100010), 100000, 0));
    EXPECT_FALSE(cells_reach(geometry, cells_after(geometry, 100010), 100000, kCertain));
    EXPECT_TRUE(cells_reach(geometry, cells_after(geometry, 101000), 100000, kCertain));
    EXPECT_FALSE(cells_reach(geometry, 0, 100000, 0));
  }
}

}  // namespace
}  // namespace cuckoo::filter_bloom_sizing_test
