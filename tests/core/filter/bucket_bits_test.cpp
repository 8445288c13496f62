#include "core/filter/bucket_bits.hpp"

#include "core/base/pages.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::filter_bucket_bits_test {
namespace {

constexpr size_t kBucketPageBytes = 192;

BucketValues sorted(BucketValues values) {
  std::sort(values.begin(), values.end());
  return values;
}

// A page of buckets, and what was written to each.
struct Page {
  explicit Page(const BucketShape& shape)
      : bits(shape),
        bytes(kBucketPageBytes + PageSet::kSlackBytes),
        written(kBucketPageBytes * 8 / shape.bits()) {}

  void write(uint64_t bucket, const BucketValues& values) {
    bits.write(bytes.data(), bucket, values);
    written[bucket] = sorted(values);
  }
  BucketBits::Address at(uint64_t bucket) const { return bits.address(bytes.data(), bucket); }

  BucketBits bits;
  std::vector<std::byte> bytes;
  std::vector<BucketValues> written;
};

TEST(BucketBits, I1_I2_a_bucket_is_read_as_written_and_its_neighbours_stay) {
  std::mt19937_64 random(1);
  for (const BucketShape& shape : all_bucket_shapes()) {
    Page page(shape);
    for (uint64_t step = 0; step < 4 * page.written.size(); ++step) {
      page.write(random() % page.written.size(), random_values(shape, random));
      for (uint64_t bucket = 0; bucket < page.written.size(); ++bucket) {
        ASSERT_EQ(page.bits.read(page.at(bucket)), page.written[bucket])
            << shape.bits() << " bits, bucket " << bucket;
        ASSERT_EQ(page.bits.has_empty_slot(page.at(bucket)), page.written[bucket][0] == 0);
      }
    }
    EXPECT_TRUE(std::all_of(page.bytes.begin() + kBucketPageBytes, page.bytes.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }))
        << "the slack stays zero";
  }
}

TEST(BucketBits, hold_says_which_fingerprints_are_in_two_buckets) {
  std::mt19937_64 random(2);
  for (const BucketShape& shape : all_bucket_shapes()) {
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
}  // namespace cuckoo::filter_bucket_bits_test
