// What tests of core share: endless rows of hashes, filters with all their pages, and what becomes
// of a Status.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/mix.hpp"
#include "core/base/page_size.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/factory.hpp"
#include "core/stored/log_entry.hpp"
#include "tests/support/status.hpp"

namespace cuckoo::test {

using Bytes = std::vector<std::byte>;
using Counts = std::map<uint64_t, uint64_t>;  // hash -> count

// In database pages of 512 and of 1024 bytes.
inline constexpr uint32_t kSmallestPageBytes = page_bytes_in(512);
inline constexpr uint32_t kSmallPageBytes = page_bytes_in(1024);

// ---- suites on several kinds, devices …

// The name of a case: its own one, or what name_of() says.
inline constexpr auto kCaseName = [](const auto& info) -> std::string {
  if constexpr (requires { info.param.name; }) {
    return info.param.name;
  } else {
    return name_of(info.param);
  }
};
#define INSTANTIATE_EACH(prefix, Suite, cases) \
  INSTANTIATE_TEST_SUITE_P(prefix, Suite, ::testing::ValuesIn(cases), ::cuckoo::test::kCaseName)

// ---- words and hashes

// The i-th of an endless row of unrelated 64-bit words; every seed is another row.
inline uint64_t nth_word(uint64_t seed, uint64_t i) noexcept {
  return mix64(seed * 0xD1342543DE82EF95 + (i + 1) * kGoldenStep);
}

// … of logged hashes.
inline uint64_t nth_hash(uint64_t seed, uint64_t i, HashWidth width = HashWidth::k63Bits) noexcept {
  return logged_hash(nth_word(seed, i), width);
}

inline std::vector<uint64_t> hashes_of(uint64_t seed, uint64_t count) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t i = 0; i < count; ++i) {
    hashes[i] = nth_hash(seed, i);
  }
  return hashes;
}

// All that a source hands over.
inline Counts counts_of(const HashSource& hashes) {
  Counts counts;
  uint64_t last = 0;
  const Status status = hashes([&](uint64_t hash, uint64_t count) -> Status {
    EXPECT_TRUE(counts.empty() || hash > last) << "ascending, each once";
    EXPECT_GT(count, 0u);
    last = hash;
    counts[hash] = count;
    return {};
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return counts;
}

// ---- bytes

// With the checksum in the last 4 bytes put right, so that the checks after it are reached.
inline Bytes with_crc(Bytes bytes) {
  if (bytes.size() >= 4) {
    const size_t at = bytes.size() - 4;
    store_le(&bytes[at], crc32c(std::span(bytes).first(at)));
  }
  return bytes;
}

// `refusal` says why bytes are refused, "" where they are not: no byte may change, and none be cut.
template <class Refusal>
void expect_every_damage_refused(const Bytes& bytes, Refusal refusal) {
  ASSERT_EQ(refusal(bytes), "");
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{16};
    EXPECT_NE(refusal(damaged), "") << "byte " << at;
    EXPECT_NE(refusal(std::span(bytes).first(at)), "") << "cut to " << at;
  }
}

// ---- what went wrong

// For EXPECT_TRUE(status.ok()) << message_of(status).
inline std::string message_of(const Status& status) {
  return status.ok() ? std::string() : status.error().message;
}

template <class Checked>
void expect_good(const Checked& checked, const std::string& what = "") {
  const Status status = checked.check();
  EXPECT_TRUE(status.ok()) << what << ": " << message_of(status);
}

// ---- filters

inline FilterSpec spec_of(FilterKind kind, double rate = 0.01) {
  FilterSpec spec;
  spec.kind = kind;
  spec.rate = rate;
  return spec;
}

inline void add_all_pages(Filter& filter) {
  for (uint64_t i = 0; i < filter.pages().page_count(); ++i) {
    if (filter.pages().find(i) == nullptr) {
      filter.pages().add(i, false);
    }
  }
}

// Content of all pages; absent pages are zero.
inline Bytes image(const Filter& filter) {
  Bytes bytes;
  for (uint64_t i = 0; i < filter.pages().page_count(); ++i) {
    const std::byte* const page = filter.pages().find(i);
    if (page == nullptr) {
      bytes.resize(bytes.size() + filter.content_bytes(i));
    } else {
      bytes.insert(bytes.end(), page, page + filter.content_bytes(i));
    }
  }
  return bytes;
}

inline std::vector<uint64_t> cells_of(const Filter& filter, uint64_t hash) {
  uint64_t cells[Filter::kMaxPlaces];
  return {cells, cells + filter.cells_of(hash, cells)};
}

// ---- buckets

inline std::vector<BucketShape> all_bucket_shapes() {
  std::vector<BucketShape> shapes;
  for (uint32_t low_bits = 0; low_bits <= kMaxLowBits; ++low_bits) {
    for (const uint32_t radix : {16u, 19u, 23u, 28u}) {
      BucketShape shape;
      if (make_bucket_shape(radix, low_bits, shape)) {
        shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

// Empty slots, copies and the two ends come often.
inline BucketValues random_values(const BucketShape& shape, std::mt19937_64& random) {
  BucketValues values{};
  for (uint64_t& value : values) {
    const uint64_t choice = random() % 8;
    value = choice == 0   ? 0
            : choice == 1 ? values[0]
            : choice == 2 ? shape.fingerprints()
                          : 1 + random() % shape.fingerprints();
  }
  return values;
}

}  // namespace cuckoo::test

namespace cuckoo {

// The tests call them by these names.
using test::add_all_pages;
using test::all_bucket_shapes;
using test::Bytes;
using test::cells_of;
using test::Counts;
using test::counts_of;
using test::expect_every_damage_refused;
using test::expect_good;
using test::hashes_of;
using test::image;
using test::kCaseName;
using test::kSmallestPageBytes;
using test::kSmallPageBytes;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::random_values;
using test::spec_of;
using test::with_crc;

inline void PrintTo(FilterKind kind, std::ostream* out) { *out << traits_of(kind).name; }

}  // namespace cuckoo
