#include "core/filter/sizing.hpp"

#include <cmath>
#include <limits>

#include "tests/support/status.hpp"

namespace cuckoo::filter_sizing_test {
namespace {

constexpr double kRates[] = {0.25, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6, 1e-8, kMinRate};
constexpr uint64_t kCapacities[] = {
    1, 2, 3, 5, 100, 1000, 3001, 10007, 1000000, 1050000, 3333333, uint64_t{1} << 30, 987654321};

CuckooGeometry sized(uint64_t capacity, double rate) {
  return must(size_cuckoo(capacity, rate, kPageBytes));
}

// The bits per key that the pages take, each page with its checksum.
double stored_bits_per_key(const CuckooGeometry& geometry, uint64_t capacity) {
  const uint64_t last = geometry.page_count() - 1;
  const uint64_t bytes = last * (geometry.content_bytes(0) + kPageCrcBytes) +
                         geometry.content_bytes(last) + kPageCrcBytes;
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(capacity);
}

TEST(CuckooSizing, bits_per_key_are_the_documented_ones) {
  struct Row {
    double rate, bits;
  };
  for (const Row& row : {Row{0.25, 4.12},
                         {0.03, 7.47},
                         {0.01, 9.02},
                         {1e-3, 12.37},
                         {1e-4, 15.98},
                         {1e-6, 22.68},
                         {kMinRate, 32.99}}) {
    const uint64_t capacity = 1'000'000'000;
    const CuckooGeometry geometry = sized(capacity, row.rate);
    const double bits = static_cast<double>(geometry.buckets) * geometry.shape.bits() / 1e9;
    EXPECT_NEAR(bits, row.bits, 0.0051) << row.rate;
  }
}

TEST(CuckooSizing, stored_size_is_near_the_formula_at_any_capacity) {
  for (const uint64_t capacity : {1000, 3001, 10007, 1000000, 1050000, 3333333}) {
    for (const double rate : kRates) {
      const double formula = (std::log2(1 / rate) + 1.96) / 0.97;
      const double limit = capacity == 1000 ? 1.12 : rate <= 0.01 ? 1.04 : 1.05;
      EXPECT_LE(stored_bits_per_key(sized(capacity, rate), capacity), formula * limit)
          << capacity << " " << rate;
    }
  }
}

TEST(CuckooSizing, the_rate_at_capacity_has_the_margin_and_no_narrower_shape_would_do) {
  for (const uint64_t capacity : kCapacities) {
    for (const double rate : kRates) {
      const CuckooGeometry geometry = sized(capacity, rate);
      const auto items = static_cast<double>(capacity);
      EXPECT_LE(cuckoo_rate(geometry, items), 0.985 * rate) << capacity << " " << rate;
      for (uint32_t low_bits = 0; low_bits <= kMaxLowBits; ++low_bits) {
        for (const uint32_t radix : {16u, 19u, 23u, 28u}) {
          CuckooGeometry other = geometry;
          if (make_bucket_shape(radix, low_bits, other.shape) &&
              other.shape.bits() < geometry.shape.bits()) {
            EXPECT_GT(cuckoo_rate(other, items), 0.985 * rate) << capacity << " " << rate;
          }
        }
      }
    }
  }
}

TEST(CuckooSizing, load_stays_at_or_below_the_design_load) {
  for (const uint64_t capacity : kCapacities) {
    const CuckooGeometry geometry = sized(capacity, 0.001);
    const double design = cuckoo_design_load(capacity);
    const auto items = static_cast<double>(capacity);
    EXPECT_GE(geometry.buckets, 1u);
    EXPECT_LE(items / (4.0 * static_cast<double>(geometry.buckets)), design);
    if (geometry.buckets > 1) {
      EXPECT_GT(items / (4.0 * static_cast<double>(geometry.buckets - 1)), design);
    }
  }
  EXPECT_DOUBLE_EQ(cuckoo_design_load(1), 0.47);
  EXPECT_DOUBLE_EQ(cuckoo_design_load(10000), 0.965);
}

TEST(CuckooSizing, pages_hold_all_buckets_and_nothing_else) {
  for (const uint64_t capacity : kCapacities) {
    for (const double rate : kRates) {
      const CuckooGeometry geometry = sized(capacity, rate);
      const uint64_t per_page = geometry.buckets_per_page();
      const uint64_t last = geometry.page_count() - 1;
      EXPECT_LE(per_page * geometry.shape.bits(), kPageBytes * 8u);
      EXPECT_LT(last * per_page, geometry.buckets);
      EXPECT_GE((last + 1) * per_page, geometry.buckets);
      EXPECT_LE(geometry.content_bytes(last), kPageBytes);
      EXPECT_EQ(geometry.content_bytes(last),
                ((geometry.buckets - last * per_page) * geometry.shape.bits() + 7) / 8);
      if (last > 0) {
        EXPECT_EQ(geometry.content_bytes(0), (per_page * geometry.shape.bits() + 7) / 8);
      }
    }
  }
}

TEST(CuckooSizing, rate_follows_the_formula_beyond_the_capacity_too) {
  const CuckooGeometry geometry = sized(1'000'000, 0.001);
  EXPECT_EQ(cuckoo_rate(geometry, 0), 0.0);
  const auto fingerprints = static_cast<double>(geometry.shape.fingerprints());
  for (const double items : {1e3, 1e6, 5e6}) {
    const double load = items / (4.0 * static_cast<double>(geometry.buckets));
    EXPECT_NEAR(cuckoo_rate(geometry, items), 1 - std::exp(-8 * load / fingerprints), 1e-6);
  }
}

TEST(CuckooSizing, the_limits_are_accepted) {
  EXPECT_EQ(sized(kMaxCapacity, 0.001).shape.bits(), 48u);
  EXPECT_EQ(sized(1, kMinRate).buckets, 1u);
  EXPECT_EQ(sized(1, kMaxRate).buckets, 1u);
  EXPECT_TRUE(size_cuckoo(uint64_t{1} << 30, kMinRate, kPageBytes).ok());  // 2^60 exactly
}

void expect_invalid(const Result<CuckooGeometry>& result, const std::string& message) {
  EXPECT_TRUE(fails_saying(result, ErrorCode::kInvalid, message));
}

TEST(CuckooSizing, values_out_of_range_are_refused_with_their_range) {
  expect_invalid(size_cuckoo(0, 0.01, kPageBytes), "capacity is 0, expected 1 to 2^40");
  expect_invalid(size_cuckoo(kMaxCapacity + 1, 0.01, kPageBytes),
                 "capacity is 1099511627777, expected 1 to 2^40");
  expect_invalid(size_cuckoo(10, 0.26, kPageBytes),
                 "false positive rate is 0.26, expected 2^-30 to 0.25");
  expect_invalid(size_cuckoo(10, 0, kPageBytes),
                 "false positive rate is 0, expected 2^-30 to 0.25");
  expect_invalid(size_cuckoo(10, -0.1, kPageBytes),
                 "false positive rate is -0.1, expected 2^-30 to 0.25");
  EXPECT_FALSE(size_cuckoo(10, std::numeric_limits<double>::quiet_NaN(), kPageBytes).ok());
  EXPECT_FALSE(size_cuckoo(10, std::numeric_limits<double>::infinity(), kPageBytes).ok());
  expect_invalid(
      size_cuckoo(kMaxCapacity, 1e-9, kPageBytes),
      "capacity = 1099511627776 and fpr = 1e-09 ask for too many distinct fingerprints, expected"
      " capacity/fpr of at most 2^60");
  expect_invalid(size_cuckoo_bits(0, 8, kPageBytes), "capacity is 0, expected 1 to 2^40");
  expect_invalid(size_cuckoo_bits(10, 3, kPageBytes), "fingerprint bits are 3, expected 4 to 32");
  expect_invalid(size_cuckoo_bits(10, 33, kPageBytes), "fingerprint bits are 33, expected 4 to 32");
  EXPECT_FALSE(size_cuckoo_bits(kMaxCapacity, 32, kPageBytes).ok());
}

TEST(CuckooSizing, fingerprint_bits_give_that_many_fingerprints) {
  for (uint32_t bits = 4; bits <= 32; ++bits) {
    const CuckooGeometry geometry = must(size_cuckoo_bits(1000, bits, kPageBytes));
    EXPECT_EQ(geometry.shape.fingerprints(), (uint64_t{1} << bits) - 1);
    EXPECT_EQ(geometry.buckets, sized(1000, 0.01).buckets);
  }
}

}  // namespace
}  // namespace cuckoo::filter_sizing_test
