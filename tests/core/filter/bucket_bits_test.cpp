#include "core/filter/bucket_bits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/base/pages.hpp"

namespace cuckoo {
namespace {

constexpr size_t kPageBytes = 192;

std::vector<BucketShape> all_shapes() {
  std::vector<BucketShape> shapes;
  for (uint32_t low_bits = 0; low_bits <= kMaxLowBits; ++low_bits) {
    for (const uint32_t radix : {16U, 19U, 23U, 28U}) {
      BucketShape shape;
      if (make_bucket_shape(radix, low_bits, shape)) {
        shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

// Empty slots and copies come often.
BucketValues random_values(const BucketShape& shape, std::mt19937_64& random) {
  BucketValues values{};
  for (uint64_t& value : values) {
    const uint64_t choice = random() % 8;
    value = choice < 2    ? 0
            : choice == 2 ? values[0]
            : choice == 3 ? shape.fingerprints()
                          : 1 + random() % shape.fingerprints();
  }
  return values;
}

BucketValues sorted(BucketValues values) {
  std::sort(values.begin(), values.end());
  return values;
}

// A page of buckets, and what was written to each.
struct Page {
  explicit Page(const BucketShape& shape)
      : bits(shape),
        bytes(kPageBytes + PageSet::kSlackBytes),
        written(kPageBytes * 8 / shape.bits()) {}

  void write(uint64_t bucket, const BucketValues& values) {
    bits.write(bytes.data(), bucket, values);
    written[bucket] = sorted(values);
  }
  BucketBits::Address at(uint64_t bucket) const { return bits.address(bytes.data(), bucket); }

  BucketBits bits;
  std::vector<std::byte> bytes;
  std::vector<BucketValues> written;
};

TEST(BucketBits, a_bucket_is_read_as_written_and_its_neighbours_stay) {
  std::mt19937_64 random(1);
  for (const BucketShape& shape : all_shapes()) {
    Page page(shape);
    for (uint64_t step = 0; step < 4 * page.written.size(); ++step) {
      page.write(random() % page.written.size(), random_values(shape, random));
      for (uint64_t bucket = 0; bucket < page.written.size(); ++bucket) {
        ASSERT_EQ(page.bits.read(page.at(bucket)), page.written[bucket])
            << shape.bits() << " bits, bucket " << bucket;
        ASSERT_EQ(page.bits.has_empty_slot(page.at(bucket)), page.written[bucket][0] == 0);
      }
    }
    EXPECT_TRUE(std::all_of(page.bytes.begin() + kPageBytes, page.bytes.end(), [](std::byte byte) {
      return byte == std::byte{0};
    })) << "the slack stays zero";
  }
}

TEST(BucketBits, hold_says_which_fingerprints_are_in_two_buckets) {
  std::mt19937_64 random(2);
  for (const BucketShape& shape : all_shapes()) {
    Page page(shape);
    for (uint64_t bucket = 0; bucket < page.written.size(); ++bucket) {
      page.write(bucket, random_values(shape, random));
    }
    for (int i = 0; i < 300; ++i) {
      const uint64_t one = random() % page.written.size();
      const uint64_t other = random() % page.written.size();
      const auto expect_agrees = [&](uint64_t fingerprint) {
        const auto in = [&](uint64_t bucket) {
          const BucketValues& values = page.written[bucket];
          return std::find(values.begin(), values.end(), fingerprint) != values.end();
        };
        ASSERT_EQ(page.bits.hold(page.at(one), page.at(other), fingerprint), in(one) || in(other))
            << shape.bits() << " bits, fingerprint " << fingerprint;
      };
      expect_agrees(1 + random() % shape.fingerprints());
      for (const uint64_t value : page.written[other]) {
        if (value != 0) {
          expect_agrees(value);
          expect_agrees(1 + value % shape.fingerprints());  // its neighbour
        }
      }
    }
  }
}

}  // namespace
}  // namespace cuckoo
