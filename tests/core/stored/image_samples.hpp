// Filters to make images of: every kind, small ones and some of several pages. Their hashes are
// fixed, so that the files in tests/golden and tests/fuzz/corpus can be made again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/mix.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/stored/image.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {

using ImageBytes = Bytes;
using CountedHashes = std::vector<std::pair<uint64_t, uint64_t>>;

struct ImageSample {
  const char* name;  // of the files, too
  FilterSpec spec;
  uint64_t capacity = 0;
  uint64_t keys = 0;  // distinct hashes
  HashWidth width = HashWidth::k47Bits;
  bool with_hashes = false;
  uint32_t version = 1;
};

// One of each kind, and the ways to ask for one, in the first version; then what came with the
// second, and the third.
inline const std::vector<ImageSample>& image_samples() {
  static const std::vector<ImageSample> samples = {
      {"cuckoo", {FilterKind::kCuckoo, 0.01}, 30, 20},
      {"cuckoo_empty", {FilterKind::kCuckoo, 0.01}, 1, 0},
      {"cuckoo_bits", {FilterKind::kCuckoo, 0, 12}, 40, 40, HashWidth::k63Bits},
      {"cuckoo_hashes", {FilterKind::kCuckoo, 0.001}, 50, 30, HashWidth::k47Bits, true},
      {"cuckoo_hashes_63", {FilterKind::kCuckoo, 1e-6}, 20, 20, HashWidth::k63Bits, true},
      {"cuckoo_hashes_none", {FilterKind::kCuckoo, 0.1}, 5, 0, HashWidth::k47Bits, true},
      {"bloom", {FilterKind::kBloom, 0.01}, 60, 50},
      {"bloom_bits", {FilterKind::kBloom, 0, 0, 10.5, 7}, 30, 30},
      {"bloom_hashes", {FilterKind::kBloom, 0.02}, 40, 40, HashWidth::k63Bits, true},
      {"blocked", {FilterKind::kBlockedBloom, 0.001}, 70, 60},
      {"blocked_hashes", {FilterKind::kBlockedBloom, 0.01}, 100, 50, HashWidth::k47Bits, true},
      {"counting", {FilterKind::kCountingBloom, 0.05}, 30, 30},
      {"legacy", {FilterKind::kLegacyBloom, 0.01}, 50, 40},
      {"counting_hashes", {FilterKind::kCountingBloom, 0.1}, 30, 20, HashWidth::k63Bits, true},
      {"cuckoo_nocase", {FilterKind::kCuckoo, 0.01}, 30, 20, HashWidth::k47Bits, false, 2},
      {"cuckoo_nocase_hashes", {FilterKind::kCuckoo, 0.001}, 50, 30, HashWidth::k47Bits, true, 2},
      {"bloom_nocase_hashes", {FilterKind::kBloom, 0.02}, 40, 40, HashWidth::k63Bits, true, 2},
      {"cuckoo_marked", {FilterKind::kCuckoo, 0.01}, 30, 20, HashWidth::k47Bits, false, 3},
      {"bloom_marked_hashes", {FilterKind::kBloom, 0.02}, 40, 40, HashWidth::k63Bits, true, 3},
  };
  return samples;
}

inline const ImageSample& sample_named(const std::string& name) {
  const std::vector<ImageSample>& samples = image_samples();
  const auto found = std::find_if(samples.begin(), samples.end(),
                                  [&](const ImageSample& sample) { return sample.name == name; });
  EXPECT_NE(found, samples.end()) << name;
  return *found;
}

inline uint64_t sample_hash(uint64_t i, HashWidth width) noexcept { return nth_hash(0, i, width); }

// A legacy filter's key has two hashes.
inline HashPair sample_pair(uint64_t i) noexcept {
  const uint64_t h1 = sample_hash(i, HashWidth::k63Bits);
  return {h1, mix64(h1)};
}

inline Filter::Answer answer(const Filter& filter, uint64_t i, HashWidth width) {
  return filter.kind() == FilterKind::kLegacyBloom ? pairs_of(filter).probe_pair(sample_pair(i))
                                                   : filter.probe(sample_hash(i, width));
}

// Ascending; a multiset has some of them often enough to overflow.
inline CountedHashes sample_hashes(const ImageSample& sample) {
  CountedHashes hashes;
  for (uint64_t i = 0; i < sample.keys; ++i) {
    const uint64_t copies = i % 16 == 3 ? 40 : i % 16 == 5 ? 3 : 1;
    hashes.emplace_back(sample_hash(i, sample.width), is_multiset(sample.spec.kind) ? copies : 1);
  }
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

inline void add_pages(Filter& filter) {
  for (uint64_t page = 0; page < filter.pages().page_count(); ++page) {
    if (filter.pages().find(page) == nullptr) {
      filter.pages().add(page, false);
    }
  }
}

// Of a filter that might have such an image.
inline FilterMark sample_mark(const ImageHeader& header) {
  FilterMark mark;
  mark.kind = header.spec.kind;
  mark.width = header.width;
  mark.seed = header.seed;
  mark.capacity = header.capacity;
  mark.geometry = header.geometry;
  mark.epoch = 2;
  mark.position = 77;
  mark.chain = nth_word(5, 5);
  return mark;
}

struct BuiltSample {
  ImageHeader header;
  std::unique_ptr<Filter> filter;
  CountedHashes hashes;
};

inline BuiltSample build_sample(const ImageSample& sample, uint32_t page_bytes = kImagePageBytes) {
  BuiltSample built;
  Result<std::unique_ptr<Filter>> made = make_filter(sample.spec, sample.capacity, page_bytes);
  EXPECT_TRUE(made.ok()) << sample.name << ": " << made.error().message;
  if (!made.ok()) {
    return built;
  }
  built.filter = std::move(made.value());
  built.hashes = sample_hashes(sample);
  add_pages(*built.filter);
  uint64_t items = 0;
  if (is_multiset(sample.spec.kind)) {
    const std::unique_ptr<FilterBuilder> builder =
        built.filter->builder(sample.keys, Filter::Digest::kNone);
    for (const auto& [hash, count] : built.hashes) {
      builder->insert(hash, count);
      items += count;
    }
    builder->finish();
  } else if (sample.spec.kind == FilterKind::kLegacyBloom) {
    for (uint64_t i = 0; i < sample.keys; ++i) {
      items += pairs_of(*built.filter).insert_pair(sample_pair(i)) ? 0 : 1;
    }
  } else {
    for (const auto& [hash, count] : built.hashes) {
      items += 1 - built.filter->insert_batch({&hash, 1});
    }
  }
  built.header.version = sample.version;
  if (sample.version > 1) {
    built.header.collation = 1;
    built.header.key_types = 4 | 16;
  }
  built.header.spec = sample.spec;
  built.header.width = sample.width;
  built.header.key_affinity = 2;
  built.header.seed = 0x0123456789ABCDEF;
  built.header.capacity = sample.capacity;
  built.header.geometry = built.filter->words();
  built.header.items = items;
  built.header.occupied = built.filter->occupied();
  if (sample.version == kMarkedImageVersion) {
    built.header.mark = sample_mark(built.header);
  }
  built.header.with_hashes = sample.with_hashes;
  built.header.hash_count = sample.with_hashes ? built.hashes.size() : 0;
  return built;
}

inline HashSource source_of(const CountedHashes& hashes) {
  return [&hashes](const CountedHashSink& sink) -> Status {
    for (const auto& [hash, count] : hashes) {
      CUCKOO_TRY(sink(hash, count));
    }
    return {};
  };
}

inline Result<ImageBytes> encode(const BuiltSample& built, uint64_t limit = 1'000'000'000) {
  const HashSource hashes = source_of(built.hashes);
  return encode_image(built.header, *built.filter, built.header.with_hashes ? &hashes : nullptr,
                      limit);
}

inline ImageBytes sample_image(const ImageSample& sample) {
  Result<ImageBytes> image = encode(build_sample(sample));
  EXPECT_TRUE(image.ok()) << sample.name << ": " << image.error().message;
  return image.ok() ? image.value() : ImageBytes();
}

// What another encoder of the same image must write: decoded and encoded again.
inline Result<ImageBytes> encode_again(const ImageBytes& bytes) {
  Result<Image> image = decode_image(bytes);
  if (!image.ok()) {
    return image.take_status();
  }
  CountedHashes hashes;
  const ImageHeader& header = image.value().header;
  if (header.with_hashes) {
    CUCKOO_TRY(read_image_hashes(bytes, [&](uint64_t hash, uint64_t count) -> Status {
      hashes.emplace_back(hash, count);
      return {};
    }));
  }
  const HashSource source = source_of(hashes);
  return encode_image(header, *image.value().filter, header.with_hashes ? &source : nullptr,
                      UINT64_MAX);
}

// A sink that looks at no hash.
inline Status nothing(uint64_t, uint64_t) { return {}; }

// A header that neither is encoded nor decoded: a sample's, changed.
struct HeaderCase {
  const char* what;
  const char* name;
  std::function<void(ImageHeader&)> change;
};

inline const std::vector<HeaderCase>& header_cases() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<HeaderCase> cases = {
      {"no rate", "cuckoo", [](ImageHeader& h) { h.spec.rate = 0; }},
      {"negative rate", "cuckoo", [](ImageHeader& h) { h.spec.rate = -0.01; }},
      {"large rate", "bloom", [](ImageHeader& h) { h.spec.rate = 0.26; }},
      {"tiny rate", "bloom", [](ImageHeader& h) { h.spec.rate = 1e-12; }},
      {"rate is NaN", "bloom", [](ImageHeader& h) { h.spec.rate = kNaN; }},
      {"3 fingerprint bits", "cuckoo_bits", [](ImageHeader& h) { h.spec.fingerprint_bits = 3; }},
      {"33 fingerprint bits", "cuckoo_bits", [](ImageHeader& h) { h.spec.fingerprint_bits = 33; }},
      {"65540 fingerprint bits", "cuckoo_bits",
       [](ImageHeader& h) { h.spec.fingerprint_bits = 65540; }},
      {"fingerprint bits of a Bloom filter", "bloom",
       [](ImageHeader& h) { h.spec.fingerprint_bits = 8; }},
      {"129 bits per key", "bloom_bits", [](ImageHeader& h) { h.spec.bits_per_key = 129; }},
      {"half a bit per key", "bloom_bits", [](ImageHeader& h) { h.spec.bits_per_key = 0.5; }},
      {"bits per key are NaN", "bloom_bits", [](ImageHeader& h) { h.spec.bits_per_key = kNaN; }},
      {"bits per key are -0", "bloom", [](ImageHeader& h) { h.spec.bits_per_key = -0.0; }},
      {"bits per key of a cuckoo filter", "cuckoo",
       [](ImageHeader& h) { h.spec.bits_per_key = 8; }},
      {"65 hashes", "bloom_bits", [](ImageHeader& h) { h.spec.hashes = 65; }},
      {"65537 hashes", "bloom_bits", [](ImageHeader& h) { h.spec.hashes = 65537; }},
      {"hashes of a cuckoo filter", "cuckoo", [](ImageHeader& h) { h.spec.hashes = 1; }},
      {"width", "cuckoo", [](ImageHeader& h) { h.width = static_cast<HashWidth>(48); }},
      {"affinity", "cuckoo", [](ImageHeader& h) { h.key_affinity = 5; }},
      {"version", "cuckoo", [](ImageHeader& h) { h.version = 4; }},
      {"no mark in version 3", "cuckoo", [](ImageHeader& h) { h.version = 3; }},
      {"a mark in version 2", "cuckoo_marked", [](ImageHeader& h) { h.version = 2; }},
      {"mark of another kind", "cuckoo_marked",
       [](ImageHeader& h) { h.mark->kind = FilterKind::kBloom; }},
      {"mark of another width", "cuckoo_marked",
       [](ImageHeader& h) { h.mark->width = HashWidth::k63Bits; }},
      {"mark of another seed", "cuckoo_marked", [](ImageHeader& h) { ++h.mark->seed; }},
      {"no version", "cuckoo", [](ImageHeader& h) { h.version = 0; }},
      {"collation in version 1", "cuckoo", [](ImageHeader& h) { h.collation = 1; }},
      {"types of keys in version 1", "cuckoo", [](ImageHeader& h) { h.key_types = 1; }},
      {"collation", "cuckoo_nocase", [](ImageHeader& h) { h.collation = 3; }},
      {"no capacity", "cuckoo", [](ImageHeader& h) { h.capacity = 0; }},
      {"capacity", "cuckoo", [](ImageHeader& h) { h.capacity = (uint64_t{1} << 40) + 1; }},
      {"too many items", "bloom", [](ImageHeader& h) { h.items = kMaxImageItems + 1; }},
      {"one item more", "cuckoo", [](ImageHeader& h) { ++h.items; }},
      {"one item less", "cuckoo", [](ImageHeader& h) { --h.items; }},
  };
  return cases;
}

// The bytes of FORMAT.md's block of that language: two digits each, comments behind a bar.
inline ImageBytes documented_bytes(const std::string& language) {
  std::ifstream file(source_path("docs/FORMAT.md"));
  EXPECT_TRUE(file.is_open());
  ImageBytes bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```" + language;
    } else if (inside) {
      std::istringstream words(line.substr(0, line.find('|')));
      for (std::string word; words >> word;) {
        bytes.push_back(static_cast<std::byte>(std::stoi(word, nullptr, 16)));
      }
    }
  }
  return bytes;
}

inline std::optional<ImageBytes> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    return std::nullopt;
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return ImageBytes(first, first + text.size());
}

inline void write_bytes(const std::filesystem::path& path, const ImageBytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace cuckoo::test
