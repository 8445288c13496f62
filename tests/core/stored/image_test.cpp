#include "core/stored/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "core/filter/cell_layout.hpp"
#include "tests/core/stored/image_samples.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo {
namespace {

using test::add_pages;
using test::answer;
using test::build_sample;
using test::BuiltSample;
using test::CountedHashes;
using test::documented_bytes;
using test::encode;
using test::encode_again;
using test::header_cases;
using test::HeaderCase;
using test::image_samples;
using test::ImageBytes;
using test::ImageSample;
using test::kSmallPageBytes;
using test::nothing;
using test::read_bytes;
using test::sample_hash;
using test::sample_image;
using test::sample_named;
using test::source_of;
using test::source_path;
using test::write_bytes;

CountedHashes hashes_of(const ImageBytes& bytes) {
  CountedHashes hashes;
  const Status status = read_image_hashes(bytes, [&](uint64_t hash, uint64_t count) -> Status {
    hashes.emplace_back(hash, count);
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
  return hashes;
}

void expect_same_header(const ImageHeader& a, const ImageHeader& b) {
  EXPECT_EQ(a.spec.kind, b.spec.kind);
  EXPECT_EQ(a.spec.rate, b.spec.rate);
  EXPECT_EQ(a.spec.fingerprint_bits, b.spec.fingerprint_bits);
  EXPECT_EQ(a.spec.bits_per_key, b.spec.bits_per_key);
  EXPECT_EQ(a.spec.hashes, b.spec.hashes);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.key_affinity, b.key_affinity);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.geometry, b.geometry);
  EXPECT_EQ(a.items, b.items);
  EXPECT_EQ(a.occupied, b.occupied);
  EXPECT_EQ(a.with_hashes, b.with_hashes);
  EXPECT_EQ(a.hash_count, b.hash_count);
  EXPECT_EQ(a.mark, b.mark);
}

// ---- round trips

TEST(FilterImage, I1_round_trip_gives_header_answers_hashes_and_bytes_back) {
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const BuiltSample built = build_sample(sample);
    const ImageBytes bytes = sample_image(sample);
    EXPECT_TRUE(looks_like_image(bytes));
    Result<ImageHeader> header = decode_image_header(bytes);
    ASSERT_TRUE(header.ok()) << header.error().message;
    expect_same_header(header.value(), built.header);
    Result<Image> image = decode_image(bytes);
    ASSERT_TRUE(image.ok()) << image.error().message;
    expect_same_header(image.value().header, built.header);
    const Filter& filter = *image.value().filter;
    EXPECT_EQ(filter.kind(), sample.spec.kind);
    EXPECT_EQ(filter.pages().page_bytes(), kImagePageBytes);
    for (uint64_t page = 0; page < filter.pages().page_count(); ++page) {
      ASSERT_NE(filter.pages().find(page), nullptr) << page;
    }
    EXPECT_EQ(filter.pages().backed_count(), filter.pages().dirty().size())
        << "zero pages are shared";
    for (uint64_t i = 0; i < 1000; ++i) {
      const Filter::Answer expected = answer(*built.filter, i, sample.width);
      EXPECT_EQ(answer(filter, i, sample.width), expected) << i;
      EXPECT_TRUE(i >= sample.keys || expected == Filter::Answer::kPresent) << i;
    }
    if (sample.with_hashes) {
      EXPECT_EQ(hashes_of(bytes), built.hashes);
    }
    Result<ImageBytes> again = encode_again(bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value(), bytes);
  }
}

// What an image will be long is known before there is anything in the filter.
TEST(FilterImage, bare_length_is_told_before_it_is_encoded) {
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const BuiltSample built = build_sample(sample);
    const uint64_t overflow_bytes = 16 * built.filter->overflow().cells();
    Result<ImageBytes> image =
        encode_image(built.header, *built.filter, nullptr, uint64_t{1} << 40);
    ASSERT_TRUE(image.ok()) << image.error().message;
    const uint64_t bare = bare_image_bytes(*built.filter);
    const uint64_t more = image_header_bytes(sample.version) - image_header_bytes(1);
    EXPECT_EQ(bare + more + overflow_bytes, image.value().size());
    EXPECT_TRUE(check_image_bytes(*built.filter, bare).ok());
    const Status longer = check_image_bytes(*built.filter, bare - 1);
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.error().code, ErrorCode::kInvalid);
    if (overflow_bytes + more == 0) {  // the same text
      image = encode_image(built.header, *built.filter, nullptr, bare - 1);
      ASSERT_FALSE(image.ok());
      EXPECT_EQ(image.error().message, longer.error().message);
    }
  }
}

TEST(FilterImage, I1_image_does_not_depend_on_the_page_size) {
  ImageSample samples[] = {
      {"cuckoo", {FilterKind::kCuckoo, 0.01}, 20000, 15000},
      {"cuckoo, wide", {FilterKind::kCuckoo, 1e-7}, 3000, 3000, HashWidth::k63Bits, true},
      {"bloom", {FilterKind::kBloom, 0.01}, 20000, 9000, HashWidth::k47Bits, true},
      {"blocked", {FilterKind::kBlockedBloom, 0.001}, 9000, 9000},
      {"counting", {FilterKind::kCountingBloom, 0.01}, 3000, 2000},
  };
  for (const ImageSample& sample : samples) {
    SCOPED_TRACE(sample.name);
    BuiltSample built = build_sample(sample);
    const Result<ImageBytes> image = encode(built);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_GT(built.filter->pages().page_count(), 2U);
    for (const uint32_t page_bytes : {64U, 448U, 960U, 4032U}) {
      const Filter& filter = *built.filter;
      Result<std::unique_ptr<Filter>> other =
          make_filter(filter.kind(), filter.words(), page_bytes);
      ASSERT_TRUE(other.ok()) << other.error().message;
      ASSERT_TRUE(copy_cells(filter, *other.value()).ok());
      built.filter = std::move(other.value());
      const Result<ImageBytes> same = encode(built);
      ASSERT_TRUE(same.ok()) << same.error().message;
      EXPECT_EQ(same.value(), image.value()) << page_bytes;
    }
    Result<Image> back = decode_image(image.value());
    ASSERT_TRUE(back.ok()) << back.error().message;
    built.filter = std::move(back.value().filter);
    EXPECT_EQ(encode(built).value(), image.value());
  }
}

TEST(FilterImage, absent_pages_are_written_as_zeros) {
  const ImageSample sample = {"", {FilterKind::kCuckoo, 0.01}, 20000, 0};
  BuiltSample built = build_sample(sample);
  const Result<ImageBytes> image = encode(built);
  built.filter =
      std::move(make_filter(FilterKind::kCuckoo, built.filter->words(), kImagePageBytes).value());
  EXPECT_EQ(encode(built).value(), image.value());
  built.filter =
      std::move(make_filter(FilterKind::kCuckoo, built.filter->words(), kSmallPageBytes).value());
  EXPECT_EQ(encode(built).value(), image.value());
}

TEST(FilterImage, I4_decoded_filter_is_like_one_just_built) {
  for (const char* name : {"cuckoo", "counting", "bloom"}) {
    SCOPED_TRACE(name);
    const Result<Image> image = decode_image(sample_image(sample_named(name)));
    ASSERT_TRUE(image.ok()) << image.error().message;
    Filter& filter = *image.value().filter;
    EXPECT_EQ(filter.pages().dirty().size(), 1U);
    EXPECT_FALSE(filter.pages().stored(0));
    EXPECT_EQ(filter.overflow().changed().size(), filter.overflow().cells());
    filter.insert_batch(std::vector<uint64_t>{sample_hash(1000, HashWidth::k47Bits)});
    EXPECT_TRUE(filter.check().ok());
    EXPECT_EQ(filter.probe(sample_hash(1000, HashWidth::k47Bits)), Filter::Answer::kPresent);
  }
}

TEST(FilterImage, a_rate_that_means_nothing_is_not_stored) {
  BuiltSample built = build_sample(sample_named("cuckoo_bits"));
  const ImageBytes bytes = encode(built).value();
  built.header.spec.rate = 0.125;
  EXPECT_EQ(encode(built).value(), bytes);
}

TEST(FilterImage, hashes_fill_many_rows) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
      const BuiltSample built = build_sample({"", {kind, 0.01}, 20000, 20000, width, true});
      const Result<ImageBytes> image = encode(built);
      ASSERT_TRUE(image.ok()) << image.error().message;
      EXPECT_EQ(hashes_of(image.value()), built.hashes);
      EXPECT_EQ(encode_again(image.value()).value(), image.value());
    }
  }
}

TEST(FilterImage, hashes_at_the_ends_of_their_range) {
  BuiltSample built = build_sample({"", {FilterKind::kCuckoo, 0.01}, 10, 0});
  built.header.with_hashes = true;
  const uint64_t last = logged_hash(UINT64_MAX, HashWidth::k47Bits);
  built.hashes = {{0, kMaxImageItems / 2}, {last, kMaxImageItems / 2}};
  const std::unique_ptr<FilterBuilder> builder = built.filter->builder(2, Filter::Digest::kSum);
  for (const auto& [hash, count] : built.hashes) {
    builder->insert(hash, count);
  }
  builder->finish();
  built.header.items = kMaxImageItems;
  built.header.hash_count = 2;
  const Result<ImageBytes> image = encode(built);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(hashes_of(image.value()), built.hashes);
  EXPECT_EQ(encode_again(image.value()).value(), image.value());
}

TEST(FilterImage, sink_that_fails_ends_the_reading) {
  const ImageBytes bytes = sample_image(sample_named("cuckoo_hashes"));
  size_t seen = 0;
  const Status status = read_image_hashes(bytes, [&](uint64_t, uint64_t) -> Status {
    return ++seen == 3 ? Status(Error{ErrorCode::kInterrupted, "stop", 0}) : Status();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(seen, 3U);
}

TEST(FilterImage, image_without_hashes_says_so) {
  const Status status = read_image_hashes(sample_image(sample_named("cuckoo")), nothing);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(status.error().message, "image without hashes");
}

// ---- what is not encoded

TEST(FilterImage, limit_counts_every_byte) {
  for (const char* name : {"cuckoo", "cuckoo_hashes", "bloom_hashes"}) {
    const BuiltSample built = build_sample(sample_named(name));
    const size_t size = encode(built).value().size();
    EXPECT_TRUE(encode(built, size).ok()) << name;
    for (const uint64_t limit : {uint64_t{0}, uint64_t{100}, uint64_t{size - 1}}) {
      const Result<ImageBytes> refused = encode(built, limit);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    }
    EXPECT_NE(encode(built, size - 1)
                  .error()
                  .message.find("image of " + std::to_string(size) + " bytes, at most " +
                                std::to_string(size - 1) + " are possible; "),
              std::string::npos)
        << encode(built, size - 1).error().message;
  }
}

TEST(FilterImage, too_long_image_is_refused_before_it_is_made) {
  BuiltSample built = build_sample({"", {FilterKind::kCuckoo, 0.01}, 1, 0});
  built.filter = std::move(make_filter(built.header.spec, uint64_t{1} << 36, kPageBytes).value());
  const Result<ImageBytes> refused = encode(built);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(" bytes, at most 1,000,000,000 are possible; "),
            std::string::npos)
      << refused.error().message;
}

TEST(FilterImage, no_list_of_hashes_is_shorter_than_said) {
  for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
    for (const uint64_t keys : {1u, 7u, 8u, 100u, 1023u, 1024u, 1025u, 20000u}) {
      BuiltSample built =
          build_sample({"", {FilterKind::kBloom, 0.01}, keys, keys, width, true, 2});
      const uint64_t bare = bare_image_bytes(*built.filter);
      const uint64_t hash_bytes = encode(built).value().size() - bare;
      const uint64_t least = least_hash_bytes(width, keys);
      EXPECT_LE(least, hash_bytes) << keys;
      EXPECT_TRUE(keys < 1000 || least > hash_bytes * 8 / 10) << keys;
      EXPECT_TRUE(check_image_bytes(*built.filter, bare + least, least).ok());
      const Status longer =
          check_image_bytes(*built.filter, bare + least - 1, least + (least == 0));
      ASSERT_FALSE(longer.ok());
      EXPECT_NE(longer.error().message.find(least == 0 ? "makes it shorter" : "without its hashes"),
                std::string::npos)
          << longer.error().message;
    }
  }
  EXPECT_EQ(least_hash_bytes(HashWidth::k47Bits, 0), 0u);
  EXPECT_GT(least_hash_bytes(HashWidth::k47Bits, uint64_t{1} << 62), 0u);
}

TEST(FilterImage, wrong_hashes_are_not_encoded) {
  const struct {
    const char* what;
    const char* name;
    std::function<void(BuiltSample&)> change;
    const char* message;
  } kCases[] = {
      {"not ascending", "cuckoo_hashes",
       [](BuiltSample& b) { std::swap(b.hashes[3], b.hashes[4]); }, "hashes that do not ascend"},
      {"twice", "cuckoo_hashes", [](BuiltSample& b) { b.hashes[3].first = b.hashes[4].first; },
       "hashes that do not ascend"},
      {"too many bits", "cuckoo_hashes", [](BuiltSample& b) { b.hashes[3].first |= 1; },
       "hash with more than 47 bits"},
      {"count 0", "cuckoo_hashes", [](BuiltSample& b) { b.hashes[3].second = 0; },
       "hash that is there 0 times, expected 1 to"},
      {"set with count 2", "bloom_hashes", [](BuiltSample& b) { b.hashes[3].second = 2; },
       "hash that is there 2 times, expected once in a set"},
      {"too many items", "cuckoo_hashes", [](BuiltSample& b) { ++b.hashes[3].second; },
       "as many as there are items left"},
      {"too few items", "cuckoo_hashes",
       [](BuiltSample& b) {
         b.hashes.pop_back();
         --b.header.hash_count;
       },
       "image with hashes of"},
      {"wrong number", "bloom_hashes", [](BuiltSample& b) { ++b.header.hash_count; },
       "image with 40 hashes, expected 41"},
  };
  for (const auto& [what, name, change, message] : kCases) {
    BuiltSample built = build_sample(sample_named(name));
    change(built);
    const Result<ImageBytes> refused = encode(built);
    ASSERT_FALSE(refused.ok()) << what;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << what;
    EXPECT_NE(refused.error().message.find(message), std::string::npos)
        << what << ": " << refused.error().message;
  }
}

TEST(FilterImage, overflow_that_no_reader_takes_is_not_encoded) {
  BuiltSample built = build_sample(sample_named("counting"));
  const uint64_t cell = built.filter->overflow().counts().front().cell;
  built.filter->overflow().add(cell, kMaxImageItems - built.filter->overflow().items());
  EXPECT_TRUE(encode(built).ok());
  EXPECT_TRUE(decode_image(encode(built).value()).ok());
  built.filter->overflow().add(cell);
  EXPECT_EQ(encode(built).error().code, ErrorCode::kInvalid);
}

TEST(FilterImage, failure_of_the_source_is_handed_on) {
  const BuiltSample built = build_sample(sample_named("cuckoo_hashes"));
  const HashSource broken = [](const CountedHashSink&) -> Status {
    return Error{ErrorCode::kStorage, "disk I/O error", 10};
  };
  const Result<ImageBytes> refused = encode_image(built.header, *built.filter, &broken, 1 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kStorage);
  EXPECT_EQ(refused.error().storage_code, 10);
}

TEST(FilterImage, headers_out_of_range_are_not_encoded) {
  for (const HeaderCase& header_case : header_cases()) {
    BuiltSample built = build_sample(sample_named(header_case.name));
    ASSERT_TRUE(encode(built).ok());
    header_case.change(built.header);
    const Result<ImageBytes> refused = encode(built);
    ASSERT_FALSE(refused.ok()) << header_case.what;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << header_case.what;
  }
  BuiltSample built = build_sample(sample_named("cuckoo"));
  built.header.spec.kind = FilterKind::kBloom;
  EXPECT_EQ(encode(built).error().message, "image of kind 2, expected 1");
}

// ---- stored images

std::filesystem::path golden_path(const std::string& name, uint32_t version) {
  return source_path("tests/golden") / (name + "-" + std::to_string(version) + ".image");
}

// docs/FORMAT.md, "Images": ann and flo once, eve twelve times.
ImageBytes example_image() {
  BuiltSample built;
  built.header.spec = {FilterKind::kCuckoo, 0.03};
  built.header.key_affinity = 1;
  built.header.key_types = 4;
  built.header.seed = 1;
  built.header.capacity = 4;
  built.header.items = 14;
  built.header.with_hashes = true;
  built.header.hash_count = 3;
  built.hashes = {{0x4B6A749287720000, 1}, {0xC391B69EEFD40000, 12}, {0xDAC6F29FB25A0000, 1}};
  built.filter = std::move(make_filter(built.header.spec, 4, kImagePageBytes).value());
  add_pages(*built.filter);
  const std::unique_ptr<FilterBuilder> builder = built.filter->builder(3, Filter::Digest::kSum);
  for (const auto& [hash, count] : built.hashes) {
    builder->insert(hash, count);
  }
  builder->finish();
  return encode(built).value();
}

TEST(FilterImage, example_has_the_bytes_it_always_had) {
  const ImageBytes bytes = example_image();
  EXPECT_EQ(bytes.size(), 226U);
  EXPECT_EQ(read_bytes(golden_path("example", 2)), bytes);
  const Result<Image> image = decode_image(bytes);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image.value().filter->count(0xC391B69EEFD40000, {}), 12U);
  EXPECT_EQ(image.value().filter->probe(0xDAC6F29FB25A0000), Filter::Answer::kPresent);
  EXPECT_EQ(image.value().filter->probe(0x4B6A749287720000), Filter::Answer::kPresent);
  EXPECT_EQ(image.value().filter->probe(0x0123456789AA0000), Filter::Answer::kAbsent);
  EXPECT_EQ(encode_again(bytes).value(), bytes);
}

// It said that its keys' type was NUMERIC, and no more.
TEST(FilterImage, example_of_the_first_version_is_read_and_written_alike) {
  const std::optional<ImageBytes> bytes = read_bytes(golden_path("example", 1));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->size(), 218U);
  const Result<Image> image = decode_image(*bytes);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image.value().header.key_affinity, 2);
  EXPECT_EQ(image.value().filter->count(0xC391B69EEFD40000, {}), 12U);
  EXPECT_EQ(encode_again(*bytes).value(), *bytes);
}

TEST(FilterImage, example_has_the_bytes_of_the_document) {
  EXPECT_EQ(documented_bytes("image"), example_image());
}

TEST(FilterImage, images_of_every_version_are_read_and_written_alike) {
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const std::optional<ImageBytes> bytes = read_bytes(golden_path(sample.name, sample.version));
    ASSERT_TRUE(bytes.has_value());
    Result<Image> image = decode_image(*bytes);
    ASSERT_TRUE(image.ok()) << image.error().message;
    const ImageHeader& header = image.value().header;
    EXPECT_EQ(header.spec.kind, sample.spec.kind);
    EXPECT_EQ(header.capacity, sample.capacity);
    EXPECT_EQ(header.seed, 0x0123456789ABCDEFU);
    EXPECT_EQ(header.version, sample.version);
    EXPECT_EQ(header.collation, sample.version == 1 ? 0 : 1);
    EXPECT_EQ(header.key_types, sample.version == 1 ? 0 : 20);
    EXPECT_EQ(header.with_hashes, sample.with_hashes);
    const Filter& filter = *image.value().filter;
    uint64_t present = 0;
    for (uint64_t i = 0; i < sample.keys + 1000; ++i) {
      const bool held = answer(filter, i, sample.width) == Filter::Answer::kPresent;
      EXPECT_TRUE(held || i >= sample.keys) << i;
      present += held ? 1 : 0;
    }
    EXPECT_LT(present, sample.keys + 200);
    if (is_multiset(sample.spec.kind)) {
      for (const auto& [hash, count] : test::sample_hashes(sample)) {
        EXPECT_GE(filter.count(hash, {}), count);
      }
    }
    if (sample.with_hashes) {
      EXPECT_EQ(hashes_of(*bytes), test::sample_hashes(sample));
    }
    Result<ImageBytes> again = encode_again(*bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value(), *bytes);
  }
}

// Writes the files that the test above reads, and seeds for tests/fuzz/filter_image_fuzz.cpp. To be
// run when a sample is added, with --gtest_also_run_disabled_tests; files that exist are kept.
TEST(FilterImage, DISABLED_write_files) {
  const auto write = [](const std::string& name, uint32_t version, const ImageBytes& bytes) {
    if (!std::filesystem::exists(golden_path(name, version))) {
      write_bytes(golden_path(name, version), bytes);
    }
    write_bytes(source_path("tests/fuzz/corpus/filter_image") / name, bytes);
  };
  for (const ImageSample& sample : image_samples()) {
    write(sample.name, sample.version, sample_image(sample));
  }
  write("example", 2, example_image());
}

}  // namespace
}  // namespace cuckoo
