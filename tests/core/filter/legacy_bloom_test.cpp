#include "core/filter/legacy_bloom.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/core/filter/bloom_samples.hpp"

namespace cuckoo::filter_legacy_bloom_test {
namespace {

using Answer = Filter::Answer;

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// ---- the hash

// SMHasher's check of a 64-bit hash: keys {0, …, i - 1} with the seed 256 - i; its published value
// for MurmurHash64A is 0x1F0D3804.
TEST(Murmur, is_the_published_hash) {
  std::vector<std::byte> key;
  std::vector<std::byte> hashes(256 * 8);
  for (uint64_t i = 0; i < 256; ++i) {
    store_le(hashes.data() + 8 * i, murmur_hash_64a(key, 256 - i));
    key.push_back(static_cast<std::byte>(i));
  }
  EXPECT_EQ(static_cast<uint32_t>(murmur_hash_64a(hashes, 0)), 0x1F0D3804u);
}

// Another implementation (Python's integers) computed these pairs.
TEST(Murmur, golden_pairs) {
  const struct {
    std::string_view key;
    uint32_t seed;
    HashPair pair;
  } cases[] = {
      {"", 0, {0, 0}},
      {"", 1, {0xC6A4A7935BD064DC, 0x068A4CC873379EEF}},
      {"a", 0, {0x071717D2D36B6B11, 0xE867F80D5D117BB2}},
      {"abc", 0, {0x9CC9C33498A95EFB, 0xA9AEA91472C9D7A9}},
      {"abcdefgh", 0, {0xAFDB0257FF41AA98, 0x980290DE9F2077C9}},
      {"hello, world", 0x9747B28C, {0x6BE890F23BCE8167, 0x9ADC196B30A99F32}},
      {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
       0xFFFFFFFF,
       {0x2D60C88C2F2937DF, 0xC92BF099BA2260A0}},
      {"The quick brown fox jumps over the lazy dog", 0, {0x5589CA33042A861B, 0x4E46A6696978ACB8}},
  };
  for (const auto& [key, seed, pair] : cases) {
    const HashPair made = legacy_hash(bytes_of(key), seed);
    EXPECT_EQ(made.h1, pair.h1) << key;
    EXPECT_EQ(made.h2, pair.h2) << key;
  }
}

TEST(Murmur, reads_at_any_address) {
  const std::string key = "a key of more than sixteen bytes";
  const uint64_t expected = murmur_hash_64a(bytes_of(key), 5);
  for (size_t shift = 1; shift < 8; ++shift) {
    const std::string moved = std::string(shift, 'x') + key;
    EXPECT_EQ(murmur_hash_64a(bytes_of(moved).subspan(shift), 5), expected);
  }
}

// ---- the filter

TEST(LegacyBloom, sets_h1_plus_i_times_h2_mod_m) {
  const BloomGeometry geometry{FilterKind::kLegacyBloom, 64 * 1001, 11, 192};
  const auto filter = whole_filter(geometry);
  std::vector<bool> model(geometry.size);
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const HashPair pair{i == 0 ? ~uint64_t{0} : random(), i == 1 ? 0 : random()};
    bool all = true;
    std::vector<uint64_t> pages;
    for (uint64_t j = 0; j < 11; ++j) {
      const uint64_t bit = (pair.h1 + j * pair.h2) % geometry.size;
      all = all && model[bit];
      pages.push_back(bit / (192 * 8));
    }
    uint64_t found[Filter::kMaxPlaces];
    const size_t count = filter->pages_of_pair(pair, found);
    ASSERT_EQ(std::vector<uint64_t>(found, found + count), pages);
    ASSERT_EQ(filter->probe_pair(pair), all ? Answer::kPresent : Answer::kAbsent);
    if (i % 2 == 0) {
      ASSERT_EQ(filter->insert_pair(pair), all);
      for (uint64_t j = 0; j < 11; ++j) {
        model[(pair.h1 + j * pair.h2) % geometry.size] = true;
      }
      ASSERT_EQ(filter->probe_pair(pair), Answer::kPresent);
      ASSERT_TRUE(filter->insert_pair(pair));
    }
  }
  for (uint64_t bit = 0; bit < geometry.size; ++bit) {
    ASSERT_EQ(filter->copies(bit), model[bit] ? 1u : 0u);
  }
  EXPECT_EQ(filter->occupied(),
            static_cast<uint64_t>(std::count(model.begin(), model.end(), true)));
  expect_good(*filter);
}

TEST(LegacyBloom, asks_for_a_page_only_when_the_answer_needs_it) {
  const BloomGeometry geometry{FilterKind::kLegacyBloom, 64 * 1000, 5, 64};
  BloomFilter filter(geometry);
  const HashPair pair = legacy_hash(bytes_of("key"), 1);
  uint64_t pages[Filter::kMaxPlaces];
  const size_t count = filter.pages_of_pair(pair, pages);
  EXPECT_EQ(filter.probe_pair(pair), Answer::kNotLoaded);
  filter.pages().add(pages[0], false);
  EXPECT_EQ(filter.probe_pair(pair), Answer::kAbsent);  // its first bit is not set
  for (size_t i = 1; i < count; ++i) {
    if (filter.pages().find(pages[i]) == nullptr) {
      filter.pages().add(pages[i], false);
    }
  }
  EXPECT_FALSE(filter.insert_pair(pair));
  EXPECT_EQ(filter.probe_pair(pair), Answer::kPresent);
}

TEST(LegacyBloom, holds_the_rate) {
  for (const double rate : {0.03, 0.001}) {
    const auto filter = whole_filter(test::sized(FilterKind::kLegacyBloom, 20'000, rate));
    const auto key = [](char kind, int i) { return kind + std::to_string(i); };
    for (int i = 0; i < 20'000; ++i) {
      filter->insert_pair(legacy_hash(bytes_of(key('k', i)), 3));
    }
    int found = 0;
    const int probes = static_cast<int>(1000 / rate);
    for (int i = 0; i < probes; ++i) {
      found += filter->probe_pair(legacy_hash(bytes_of(key('s', i)), 3)) == Answer::kPresent;
    }
    EXPECT_NEAR(found / (rate * probes), 1, 0.15);
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(filter->probe_pair(legacy_hash(bytes_of(key('k', i)), 3)), Answer::kPresent);
    }
  }
}

// ---- the file

// n = 10, p = 0.01: ceil(95.85) = 96, less 32 and more 64 is m = 128; k = round(0.69314·12.8) = 9.
// The keys "one", "two", "three" and "", seed 7, by another implementation (Python's struct).
constexpr std::string_view kGolden =
    "424c4601"          // magic
    "07000000"          // seed
    "04000000"          // count
    "0a000000"          // n
    "7b14ae47e17a843f"  // p
    "80000000"          // m
    "09000000"          // k
    "000000000000000000000000000000000000000000000000"
    "00000000"  // CRC
    "10000000"  // bytes that follow
    "a2d404225840080701a0a11066080491";

std::vector<std::byte> golden() { return from_hex(kGolden); }

std::vector<std::byte> encoded(const LegacyFile& file) { return must(encode_legacy_file(file)); }

TEST(LegacyFile, is_written_byte_for_byte) {
  LegacyFile file;
  file.seed = 7;
  file.items = 4;
  file.capacity = 10;
  file.rate = 0.01;
  auto filter = whole_filter(test::sized(FilterKind::kLegacyBloom, 10, 0.01));
  for (const std::string_view key : {"one", "two", "three", ""}) {
    EXPECT_FALSE(filter->insert_pair(legacy_hash(bytes_of(key), 7)));
  }
  file.filter = std::move(filter);
  EXPECT_EQ(encoded(file), golden());
}

TEST(LegacyFile, is_read_as_it_was_written) {
  EXPECT_TRUE(looks_like_legacy_file(golden()));
  const LegacyFile file = must(decode_legacy_file(golden(), kPageBytes));
  EXPECT_EQ(file.seed, 7u);
  EXPECT_EQ(file.items, 4u);
  EXPECT_EQ(file.capacity, 10u);
  EXPECT_EQ(file.rate, 0.01);
  EXPECT_EQ(file.filter->kind(), FilterKind::kLegacyBloom);
  EXPECT_EQ(file.filter->words(), (GeometryWords{128, 9, 0}));
  expect_good(*file.filter);
  const auto& filter = static_cast<const BloomFilter&>(*file.filter);
  for (const std::string_view key : {"one", "two", "three", ""}) {
    EXPECT_EQ(filter.probe_pair(legacy_hash(bytes_of(key), 7)), Answer::kPresent);
  }
  int strangers = 0;
  for (int i = 0; i < 1000; ++i) {
    strangers += filter.probe_pair(legacy_hash(bytes_of(std::to_string(i)), 7)) == Answer::kPresent;
  }
  EXPECT_LT(strangers, 10);
  EXPECT_EQ(encoded(file), golden());
}

TEST(LegacyFile, goes_through_pages_of_any_size_and_absent_ones_are_zero) {
  for (const uint32_t page_bytes : {64u, 192u, kPageBytes}) {
    for (const uint64_t words : {1u, 8u, 9u, 24u, 1000u}) {
      LegacyFile file;
      file.capacity = 100;
      file.rate = 0.5;
      const BloomGeometry geometry{FilterKind::kLegacyBloom, 64 * words, 3, page_bytes};
      auto filter = std::make_unique<BloomFilter>(geometry);
      std::vector<std::byte> bits(8 * words);
      for (uint64_t page = 0; page < filter->pages().page_count(); page += 2) {
        filter->pages().add(page, false);
        std::byte* const bytes = filter->pages().writable(page);
        for (size_t i = 0; i < filter->content_bytes(page); ++i) {
          bytes[i] = bits[page * page_bytes + i] = static_cast<std::byte>(page * 31 + i * 7);
        }
      }
      file.filter = std::move(filter);
      const std::vector<std::byte> bytes = encoded(file);
      ASSERT_TRUE(std::equal(bytes.begin() + 64, bytes.end(), bits.begin(), bits.end()));
      LegacyFile decoded = must(decode_legacy_file(bytes, 128));
      EXPECT_EQ(image(*decoded.filter), bits);
      expect_good(*decoded.filter);
    }
  }
}

TEST(LegacyFile, ignores_what_is_reserved_and_takes_m_and_k_as_stored) {
  std::vector<std::byte> bytes = golden();
  std::fill(bytes.begin() + 32, bytes.begin() + 60, std::byte{0xAB});
  bytes[28] = std::byte{5};    // fewer hashes than the formula says
  bytes[12] = std::byte{200};  // for more keys
  LegacyFile decoded = must(decode_legacy_file(bytes, kPageBytes));
  EXPECT_EQ(decoded.filter->words(), (GeometryWords{128, 5, 0}));
  EXPECT_EQ(decoded.capacity, 200u);
}

TEST(LegacyFile, refuses_a_damaged_header_and_says_why) {
  const auto error = [](const std::vector<std::byte>& bytes) {
    return refusal_of(decode_legacy_file(bytes, kPageBytes), ErrorCode::kCorrupt);
  };
  const auto with = [](size_t at, uint32_t value) {
    std::vector<std::byte> bytes = golden();
    store_le(bytes.data() + at, value);
    return bytes;
  };
  const auto with_rate = [](double rate) {
    std::vector<std::byte> bytes = golden();
    store_le(bytes.data() + 16, bits_of(rate));
    return bytes;
  };
  EXPECT_EQ(error({}), "legacy filter file does not begin with 42 4C 46 01");
  EXPECT_EQ(error(with(0, 0x01464C43)), "legacy filter file does not begin with 42 4C 46 01");
  for (size_t length = 4; length < 64; ++length) {
    std::vector<std::byte> bytes = golden();
    bytes.resize(length);
    EXPECT_EQ(error(bytes),
              "legacy filter file has " + std::to_string(length) + " bytes, expected at least 64");
  }
  EXPECT_EQ(error(with(12, 0)), "legacy filter file is for 0 keys, expected at least 1");
  EXPECT_EQ(error(with(24, 0)), "Bloom filter has 0 cells, expected 64 to 4294967232");
  EXPECT_EQ(error(with(24, 127)), "legacy Bloom filter has 127 bits, expected a multiple of 64");
  EXPECT_EQ(error(with(24, 192)),
            "legacy filter file has 80 bytes and says 16 follow its header, expected 24 for 192"
            " bits");
  EXPECT_EQ(error(with(24, 0xFFFFFFC0)).substr(0, 30), "legacy filter file has 80 byte");
  EXPECT_EQ(error(with(28, 0)), "Bloom filter has 0 hashes, expected 1 to 64");
  EXPECT_EQ(error(with(28, 65)), "Bloom filter has 65 hashes, expected 1 to 64");
  EXPECT_EQ(error(with(60, 15)),
            "legacy filter file has 80 bytes and says 15 follow its header, expected 16 for 128"
            " bits");
  for (const int by : {-1, 1, 8}) {
    std::vector<std::byte> bytes = golden();
    bytes.resize(static_cast<size_t>(80 + by));
    EXPECT_NE(error(bytes).find("bytes and says 16 follow"), std::string::npos);
  }
  for (const double rate : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(), 1e-320,
                            std::numeric_limits<double>::denorm_min()}) {
    EXPECT_NE(error(with_rate(rate)).find("expected 2^-1022 or more and less than 1"),
              std::string::npos)
        << rate;
  }
  EXPECT_EQ(error(with_rate(0.999)), "");
  EXPECT_EQ(error(with_rate(std::numeric_limits<double>::min())), "");
}

TEST(LegacyFile, refuses_to_write_what_does_not_fit) {
  LegacyFile file;
  file.filter = whole_filter({FilterKind::kLegacyBloom, 64, 1, 64});
  const auto error = [&] { return refusal_of(encode_legacy_file(file), ErrorCode::kInvalid); };
  EXPECT_EQ(error(), "the legacy file's rate would be 0, expected 2^-1022 or more");
  file.rate = 1;  // of a hopeless filter: stored as a little less, so that it can be read
  EXPECT_TRUE(decode_legacy_file(encoded(file), 64).ok());
  file.capacity = uint64_t{1} << 32;
  EXPECT_EQ(error(), "the legacy file's n would be 4294967296, expected 1 to 2^32 - 1");
  file.capacity = UINT32_MAX;
  file.items = uint64_t{1} << 33;
  EXPECT_EQ(error(), "the legacy file's count would be 8589934592, expected 0 to 2^32 - 1");
  EXPECT_TRUE(check_legacy_file_bytes({800, 1, 0}, 164).ok());
  EXPECT_EQ(check_legacy_file_bytes({800, 1, 0}, 163).error().message,
            "the legacy file would have 164 bytes, at most 163 are possible");
}

}  // namespace
}  // namespace cuckoo::filter_legacy_bloom_test
