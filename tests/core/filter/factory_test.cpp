#include "core/filter/factory.hpp"

#include <cmath>
#include <limits>

#include "core/filter/bloom_filter.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/filter/sizing.hpp"
#include "tests/core/filter/kinds.hpp"

namespace cuckoo::filter_factory_test {
namespace {

bool is_logged(FilterKind kind) { return !traits_of(kind).pairs; }

// Expects a filter without any page in memory, and no number in it that leads out of bounds.
void expect_sound(const Filter& filter) {
  const PageSet& pages = filter.pages();
  ASSERT_GE(pages.page_count(), 1u);
  EXPECT_EQ(pages.backed_count(), 0u);
  EXPECT_EQ(filter.occupied(), 0u);
  EXPECT_TRUE(filter.overflow().empty());
  EXPECT_GT(filter.bits(), 0u);
  EXPECT_LE(filter.bits() / 8, pages.page_count() * pages.page_bytes());
  EXPECT_LE(filter.content_bytes(0), pages.page_bytes());
  const uint32_t last = filter.content_bytes(pages.page_count() - 1);
  EXPECT_GE(last, 1u);
  EXPECT_LE(last, pages.page_bytes());
  for (uint64_t i = 0; i < 20 && is_logged(filter.kind()); ++i) {
    const uint64_t hash = i == 0 ? 0 : i == 1 ? UINT64_MAX : nth_word(5, i);
    uint64_t places[Filter::kMaxPlaces];
    const size_t count = filter.pages_of(hash, places);
    ASSERT_GE(count, 1u);
    ASSERT_LE(count, Filter::kMaxPlaces);
    for (size_t at = 0; at < count; ++at) {
      ASSERT_LT(places[at], pages.page_count());
    }
    const size_t cells = filter.cells_of(hash, places);
    ASSERT_GE(cells, 1u);
    ASSERT_LE(cells, Filter::kMaxPlaces);
    EXPECT_EQ(filter.probe(hash), Filter::Answer::kNotLoaded);
  }
}

TEST(FilterFactory, made_of_a_spec_and_again_of_its_words) {
  for (const FilterKind kind : kFilterKinds) {
    for (const uint64_t capacity : {1u, 2u, 1000u, 100000u}) {
      for (const uint32_t page_bytes : {64u, 448u, 4032u}) {
        SCOPED_TRACE(name_of(kind) + ", capacity " + std::to_string(capacity));
        std::unique_ptr<Filter> made = must(make_filter(spec_of(kind), capacity, page_bytes));
        const Filter& filter = *made;
        EXPECT_EQ(filter.kind(), kind);
        EXPECT_EQ(filter.canonical(), kind != FilterKind::kCuckoo);
        EXPECT_EQ(filter.pages().page_bytes(), page_bytes);
        expect_sound(filter);
        const FilterSize size = must(filter_size(spec_of(kind), capacity, page_bytes));
        EXPECT_EQ(size.words, filter.words());
        EXPECT_EQ(size.bits, filter.bits());
        EXPECT_EQ(size.page_count, filter.pages().page_count());
        EXPECT_EQ(size.places_per_key, filter.places_per_key());
        EXPECT_LE(filter.rate(static_cast<double>(capacity)),
                  kind == FilterKind::kLegacyBloom ? 0.012 : 0.01);
        std::unique_ptr<Filter> again = must(make_filter(kind, filter.words(), page_bytes));
        EXPECT_EQ(again->kind(), kind);
        EXPECT_EQ(again->words(), filter.words());
        EXPECT_EQ(again->bits(), filter.bits());
        EXPECT_EQ(again->pages().page_count(), filter.pages().page_count());
        expect_sound(*again);
      }
    }
  }
}

TEST(FilterFactory, a_rate_gives_way_to_bits_and_hashes) {
  FilterSpec spec = spec_of(FilterKind::kCuckoo, std::nan(""));
  spec.fingerprint_bits = 12;
  const GeometryWords cuckoo = make_filter(spec, 1000, 448).value()->words();
  EXPECT_EQ((cuckoo.shape << cuckoo.detail) - 1, (uint64_t{1} << 12) - 1);
  for (const FilterKind kind : kFilterKinds) {
    if (kind == FilterKind::kCuckoo) {
      continue;
    }
    spec = spec_of(kind, std::nan(""));
    spec.bits_per_key = 10;
    SCOPED_TRACE(name_of(kind));
    const std::unique_ptr<Filter> by_bits = must(make_filter(spec, 1000, 448));
    const auto& geometry = static_cast<const BloomFilter&>(*by_bits).geometry();
    EXPECT_GE(geometry.cells(), 10000u);
    EXPECT_LE(geometry.cells(), 10000u + kBlockBits);
    if (kind == FilterKind::kBlockedBloom) {
      spec.hashes = 3;
      EXPECT_FALSE(make_filter(spec, 1000, 448).ok());
      continue;
    }
    spec.hashes = 3;
    EXPECT_EQ(make_filter(spec, 1000, 448).value()->words().shape, 3u);
    spec = spec_of(kind, 0.01);
    spec.hashes = 4;
    const std::unique_ptr<Filter> with_hashes = must(make_filter(spec, 1000, 448));
    EXPECT_EQ(with_hashes->words().shape, 4u);
    EXPECT_LE(with_hashes->rate(1000), 0.01);
  }
}

// ---- words from storage

// Giants that are valid are left out: a page table of 2^47 counters takes hundreds of megabytes.
bool is_giant(FilterKind kind, uint64_t size) {
  const unsigned limit = kind == FilterKind::kBlockedBloom ? 30 : 36;
  return size >> limit != 0 && size >> 48 == 0;
}

void expect_refused_or_sound(FilterKind kind, const GeometryWords& words) {
  if (is_giant(kind, words.size)) {
    return;
  }
  SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", " +
               std::to_string(words.size) + ", " + std::to_string(words.shape) + ", " +
               std::to_string(words.detail));
  Result<std::unique_ptr<Filter>> made = make_filter(kind, words, kPageBytes);
  if (!made.ok()) {
    EXPECT_FALSE(refusal_of(made, ErrorCode::kCorrupt).empty());
    return;
  }
  EXPECT_EQ(made.value()->words(), words) << "taken as they are or not at all";
  EXPECT_EQ(made.value()->kind(), kind);
  expect_sound(*made.value());
}

TEST(FilterFactory, hostile_words_are_refused_or_make_a_sound_filter) {
  std::vector<uint64_t> edges = {0, 1, 2, 3, 4, 7, 8, 16, 17, 19, 23, 28, 29, 31, 32, 63, 64, 65};
  for (unsigned bit = 10; bit < 64; bit += 3) {
    for (const int64_t off : {-1, 0, 1}) {
      edges.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(off));
    }
  }
  edges.insert(edges.end(), {kMaxCapacity, kMaxCapacity + 1, UINT32_MAX, uint64_t{1} << 32,
                             (uint64_t{1} << 32) + 16, kMaxBloomCells, kMaxBloomCells + 1,
                             kMaxLegacyBits, kMaxLegacyBits + 64, UINT64_MAX});
  for (const FilterKind kind : kFilterKinds) {
    for (const uint64_t shape : edges) {
      for (const uint64_t detail : edges) {
        expect_refused_or_sound(kind, {1000, shape, detail});
      }
    }
    const uint64_t good_shape = kind == FilterKind::kCuckoo ? 16 : 2;
    for (const uint64_t size : edges) {
      for (const uint64_t detail : {uint64_t{0}, uint64_t{8}, UINT64_MAX}) {
        expect_refused_or_sound(kind, {size, good_shape, detail});
      }
    }
  }
}

TEST(FilterFactory, random_words_are_refused_or_make_a_sound_filter) {
  uint64_t made = 0;
  for (uint64_t i = 0; i < 60000; ++i) {
    const auto word = [i](uint64_t number) {
      const uint64_t draw = nth_word(number, i);
      return draw >> (nth_word(number + 10, i) % 64);
    };
    const auto kind = static_cast<FilterKind>(nth_word(9, i) % 7);
    const GeometryWords words = {word(1) >> 20, word(2), nth_word(4, i) % 2 == 0 ? 0 : word(3)};
    expect_refused_or_sound(kind, words);
    made +=
        make_filter(kind, {words.size % 100000, words.shape % 70, words.detail % 40}, kPageBytes)
                .ok()
            ? 1
            : 0;
  }
  EXPECT_GT(made, 1000u);
}

TEST(FilterFactory, unknown_kinds_are_refused) {
  for (const int kind : {0, 6, 7, 77, 255}) {
    EXPECT_TRUE(
        fails(make_filter(static_cast<FilterKind>(kind), {1000, 4, 0}, 448), ErrorCode::kCorrupt))
        << kind;
  }
}

// These are the largest filters of every kind but the counting one. Only page tables are allocated.
TEST(FilterFactory, giants_are_made_without_their_pages) {
  for (const auto& [kind, words] :
       {std::pair(FilterKind::kCuckoo, GeometryWords{kMaxCapacity, 16, 0}),
        std::pair(FilterKind::kBloom, GeometryWords{kMaxBloomCells, 64, 0}),
        std::pair(FilterKind::kBlockedBloom, GeometryWords{kMaxBloomCells / kBlockBits, 4, 0}),
        std::pair(FilterKind::kLegacyBloom, GeometryWords{kMaxLegacyBits, 64, 0})}) {
    SCOPED_TRACE(name_of(kind));
    const std::unique_ptr<Filter> made = must(make_filter(kind, words, kPageBytes));
    expect_sound(*made);
    EXPECT_LT(made->pages().memory_bytes(), size_t{100} << 20);
  }
}

std::string spec_refusal(const FilterSpec& spec) { return message_of(check_spec(spec)); }

TEST(FilterSpec, rates_are_those_that_a_table_can_keep) {
  constexpr double kSubnormal = 1e-320;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const FilterKind kind : kFilterKinds) {
    const bool legacy = kind == FilterKind::kLegacyBloom;
    for (const double rate : {kMinRate, 0.001, kMaxRate}) {
      EXPECT_EQ(spec_refusal({kind, rate}), "");
    }
    for (const double rate : {0.0, -0.1, kSubnormal, 1.0, nan}) {
      EXPECT_NE(spec_refusal({kind, rate}).find("a false positive rate of"), std::string::npos);
    }
    // check_spec() accepts a rate outside of kMinRate … kMaxRate only for a legacy filter.
    for (const double rate : {std::numeric_limits<double>::min(), kMinRate / 1.01, 0.26, 0.999}) {
      EXPECT_EQ(spec_refusal({kind, rate}) == "", legacy) << rate;
    }
  }
}

TEST(FilterSpec, sizes_are_those_of_the_kind) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(spec_refusal({FilterKind::kCuckoo, 0, 4}), "");
  EXPECT_EQ(spec_refusal({FilterKind::kCuckoo, 0, 32}), "");
  EXPECT_EQ(spec_refusal({FilterKind::kBloom, 0, 0, 1, 64}), "");
  EXPECT_EQ(spec_refusal({FilterKind::kBloom, 0, 0, 128}), "");
  for (const FilterSpec& spec : {FilterSpec{FilterKind::kCuckoo, 0, 3},
                                 {FilterKind::kCuckoo, 0, 33},
                                 {FilterKind::kCuckoo, 0, 8, -0.0},
                                 {FilterKind::kCuckoo, 0.01, 0, 8},
                                 {FilterKind::kCuckoo, 0.01, 0, 0, 1},
                                 {FilterKind::kBloom, 0, 8},
                                 {FilterKind::kBloom, 0, 0, 0.99},
                                 {FilterKind::kBloom, 0, 0, 128.1},
                                 {FilterKind::kBloom, 0, 0, nan},
                                 {FilterKind::kBloom, 0.01, 0, -0.0},
                                 {FilterKind::kBloom, 0, 0, 8, 65},
                                 {static_cast<FilterKind>(0), 0.01},
                                 {static_cast<FilterKind>(6), 0.01}}) {
    EXPECT_NE(spec_refusal(spec), "") << static_cast<int>(spec.kind);
  }
}

}  // namespace
}  // namespace cuckoo::filter_factory_test
