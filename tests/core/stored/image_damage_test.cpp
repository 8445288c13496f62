// Images that were cut, changed or made up: refused, or a filter that holds together.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/mix.hpp"
#include "core/stored/image.hpp"
#include "tests/core/stored/image_samples.hpp"

namespace cuckoo {
namespace {

using test::answer;
using test::build_sample;
using test::BuiltSample;
using test::encode;
using test::encode_again;
using test::header_cases;
using test::HeaderCase;
using test::image_samples;
using test::ImageBytes;
using test::ImageSample;
using test::nothing;
using test::sample_image;
using test::sample_named;
using test::with_crc;

ImageBytes with_length_and_crc(ImageBytes bytes) {
  store_le(&bytes[8], uint64_t{bytes.size()});
  return with_crc(std::move(bytes));
}

template <class T>
std::string refusal_of(const Result<T>& result) {
  if (result.ok()) {
    return "";
  }
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt) << result.error().message;
  EXPECT_FALSE(result.error().message.empty());
  return result.error().message;
}

std::string refusal(const ImageBytes& bytes) { return refusal_of(decode_image(bytes)); }
std::string header_refusal(const ImageBytes& bytes) {
  return refusal_of(decode_image_header(bytes));
}

std::string hash_refusal(const ImageBytes& bytes) {
  const Status status = read_image_hashes(bytes, nothing);
  EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kCorrupt);
  return status.ok() ? "" : status.error().message;
}

TEST(FilterImageDamage, bytes_that_are_no_image_are_told_apart) {
  const auto bytes = [](const std::string& text) {
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    return ImageBytes(first, first + text.size());
  };
  EXPECT_FALSE(looks_like_image({}));
  EXPECT_FALSE(looks_like_image(bytes("CKI")));
  EXPECT_FALSE(looks_like_image(bytes("CKFRxxxx")));
  EXPECT_TRUE(looks_like_image(bytes("CKIM")));
  EXPECT_EQ(refusal({}), "image cut off: 0 bytes, expected at least 132");
  EXPECT_EQ(refusal(bytes("CKIM")), "image cut off: 4 bytes, expected at least 132");
  EXPECT_EQ(refusal(bytes("SQLite format 3")),
            "bytes that are no image of a filter, expected CKIM at the start");
}

TEST(FilterImageDamage, newer_format_is_named) {
  ImageBytes bytes = sample_image(sample_named("cuckoo"));
  store_le(&bytes[4], uint32_t{7});
  for (const size_t size : {bytes.size(), size_t{8}}) {
    const ImageBytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(refusal(cut), "image of format 7, this version reads formats 1 to 3");
  }
}

TEST(FilterImageDamage, every_other_length_is_found) {
  for (const ImageSample& sample : image_samples()) {
    const ImageBytes bytes = sample_image(sample);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const ImageBytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_NE(refusal(cut).find("image cut off"), std::string::npos) << size;
      EXPECT_NE(header_refusal(cut), "") << size;
      if (size >= 20) {
        EXPECT_NE(refusal(with_length_and_crc(cut)), "") << size;
      }
    }
    ImageBytes longer = bytes;
    for (int i = 0; i < 40; ++i) {
      longer.push_back(std::byte{0});
      EXPECT_NE(refusal(longer).find("image too long"), std::string::npos) << i;
      EXPECT_NE(refusal(with_length_and_crc(longer)), "") << i;
    }
  }
  ImageBytes bytes = sample_image({"", {FilterKind::kCuckoo, 0.001}, 2500, 0});
  const std::string expected = std::to_string(bytes.size()).insert(1, ",");
  bytes.resize(200);
  EXPECT_EQ(refusal(bytes), "image cut off: 200 bytes, expected " + expected);
}

TEST(FilterImageDamage, I2_every_changed_bit_is_found) {
  for (const ImageSample& sample : image_samples()) {
    ImageBytes bytes = sample_image(sample);
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(refusal(bytes), "") << sample.name << ", bit " << bit;
      EXPECT_FALSE(read_image_hashes(bytes, nothing).ok()) << sample.name << ", bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

// The header's numbers where they are stored, past what the encoder refuses.
TEST(FilterImageDamage, headers_out_of_range_are_not_decoded) {
  for (const HeaderCase& header_case : header_cases()) {
    const std::string what = header_case.what;
    if (what.find("65") == 0 || what.find("in version 1") != std::string::npos) {
      continue;  // doesn't fit its field
    }
    ImageBytes bytes = sample_image(sample_named(header_case.name));
    ImageHeader header = decode_image_header(bytes).value();
    header_case.change(header);
    store_le(&bytes[4], header.version);
    store_le(&bytes[17], static_cast<uint8_t>(header.width));
    store_le(&bytes[18], header.key_affinity);
    store_le(&bytes[20], static_cast<uint16_t>(header.spec.fingerprint_bits));
    store_le(&bytes[22], static_cast<uint16_t>(header.spec.hashes));
    store_le(&bytes[24], bits_of(header.spec.rate));
    store_le(&bytes[32], bits_of(header.spec.bits_per_key));
    store_le(&bytes[48], header.capacity);
    store_le(&bytes[80], header.items);
    if (what == "collation") {
      store_le(&bytes[128], header.collation);
    }
    if (header.mark && header.version == kMarkedImageVersion) {
      const ImageBytes mark = encode_mark(*header.mark);
      std::copy(mark.begin(), mark.end(), &bytes[136]);
    }
    EXPECT_NE(refusal(with_crc(bytes)), "") << what;
    if (what.find("one item") == std::string::npos) {
      EXPECT_NE(header_refusal(bytes), "") << what;
    }
  }
}

TEST(FilterImageDamage, header_bytes_without_a_meaning_are_zero) {
  for (size_t at = 130; at < image_header_bytes(2); ++at) {
    ImageBytes bytes = sample_image(sample_named("cuckoo_nocase"));
    bytes[at] = std::byte{1};
    EXPECT_NE(refusal(with_crc(bytes)).find("expected zeros"), std::string::npos) << at;
  }
  for (size_t at = 196; at < image_header_bytes(3); ++at) {
    ImageBytes bytes = sample_image(sample_named("cuckoo_marked"));
    bytes[at] = std::byte{1};
    EXPECT_NE(refusal(with_crc(bytes)).find("expected zeros"), std::string::npos) << at;
  }
}

TEST(FilterImageDamage, numbers_that_do_not_fit_together_are_refused) {
  const struct {
    const char* what;
    const char* name;
    size_t at;
    uint64_t value;  // a word, or its low byte at 16 … 19
    const char* message;
  } kCases[] = {
      {"kind 0", "cuckoo", 16, 0, "image of a filter of kind 0, expected 1 to 5"},
      {"kind 6", "cuckoo", 16, 6, "image of a filter of kind 6, expected 1 to 5"},
      {"flag 2", "cuckoo", 19, 2, "image with flags 2, expected 0 or 1"},
      {"flag 0", "cuckoo_hashes", 19, 0, "image without hashes that counts 30"},
      {"flag 1", "cuckoo", 19, 1, ""},  // an image of no hashes, but with items
      {"rate and bits", "cuckoo_bits", 24, bits_of(0.01), "expected one of the two"},
      {"tiny rate", "bloom", 24, bits_of(0x1p-33), "expected 2^-30 to 0.25"},
      {"subnormal rate", "legacy", 24, bits_of(1e-320), "expected 2^-1022 or more"},
      {"items", "bloom", 80, uint64_t{1} << 40, "items, expected at most"},
      {"items", "blocked", 80, uint64_t{1} << 40, "items, expected at most"},
      {"items", "legacy", 80, uint64_t{1} << 40, "items, expected at most"},
      {"items", "counting", 80, uint64_t{1} << 40, "items, expected at most"},
      {"no buckets", "cuckoo", 56, 0, "filter of 0 buckets"},
      {"more buckets", "cuckoo", 56, 1000, "bytes of cells, expected"},
      {"huge", "cuckoo", 56, uint64_t{1} << 40, "bytes of cells, expected"},
      {"endless", "cuckoo", 56, UINT64_MAX, "buckets, expected 1 to 2^48"},
      {"radix", "cuckoo", 64, 17, "radix 17"},
      {"low bits", "cuckoo", 72, 30, "30 low bits"},
      {"more low bits", "cuckoo", 72, 20, "bytes of cells, expected"},
      {"occupied", "cuckoo", 88, 1000, "image with 1,000 cells in use, expected at most 36"},
      {"cells", "cuckoo", 96, UINT64_MAX, "bytes of cells, expected"},
      {"overflow", "cuckoo", 104, UINT64_MAX, "overflow entries, expected at most"},
      {"overflow", "cuckoo", 104, uint64_t{1} << 60, "overflow entries, expected at most"},
      {"no overflow", "cuckoo", 104, 0, "bytes of hashes, expected"},
      {"hashes", "cuckoo", 112, 1, "image without hashes that counts 1"},
      {"hashes", "cuckoo_hashes", 112, UINT64_MAX, "expected at most four a byte"},
      {"hash bytes", "cuckoo_hashes", 120, UINT64_MAX, "bytes of hashes, expected"},
      {"hash bytes", "cuckoo", 120, 16, "bytes of hashes, expected"},
  };
  for (const auto& [what, name, at, value, message] : kCases) {
    ImageBytes bytes = sample_image(sample_named(name));
    if (at < 20) {
      bytes[at] = static_cast<std::byte>(value);
    } else {
      store_le(&bytes[at], value);
    }
    bytes = with_crc(std::move(bytes));
    const std::string refused = *message == '\0' ? hash_refusal(bytes) : refusal(bytes);
    EXPECT_NE(refused, "") << what;
    EXPECT_NE(refused.find(message), std::string::npos) << what << ": " << refused;
  }
}

TEST(FilterImageDamage, overflow_entries_are_checked) {
  const BuiltSample built = build_sample(sample_named("cuckoo"));
  ASSERT_GE(built.filter->overflow().cells(), 2U);
  const ImageBytes bytes = sample_image(sample_named("cuckoo"));
  const size_t first = bytes.size() - 4 - 16 * built.filter->overflow().cells();
  const auto changed = [&](size_t at, uint64_t value) {
    ImageBytes copy = bytes;
    store_le(&copy[first + at], value);
    return refusal(with_crc(std::move(copy)));
  };
  EXPECT_NE(changed(0, UINT64_MAX).find("overflow entry 1 is of cell"), std::string::npos);
  EXPECT_NE(changed(16, load_le<uint64_t>(&bytes[first])).find("overflow entry 1 is of cell"),
            std::string::npos);
  EXPECT_NE(changed(16 * built.filter->overflow().cells() - 16, UINT64_MAX), "");
  EXPECT_NE(changed(8, 0).find("overflow entry 0 has count 0"), std::string::npos);
  EXPECT_NE(changed(8, UINT64_MAX).find("overflow entry 0 has count"), std::string::npos);
  EXPECT_NE(changed(8, 1), "");
}

TEST(FilterImageDamage, counters_and_pages_are_checked) {
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const ImageBytes bytes = sample_image(sample);
    const ImageHeader header = decode_image_header(bytes).value();
    ImageBytes copy = bytes;
    store_le(&copy[88], header.occupied + 1);
    EXPECT_NE(refusal(with_crc(copy)), "");
    const auto cell_bytes = load_le<uint64_t>(&bytes[96]);
    for (size_t bit = 0; bit < 8 * cell_bytes; ++bit) {
      copy = bytes;
      copy[image_header_bytes(sample.version) + bit / 8] ^= std::byte{1} << (bit % 8);
      if (!is_multiset(sample.spec.kind)) {  // one bit more or less
        EXPECT_NE(refusal(with_crc(copy)), "") << bit;
      }
    }
  }
}

// Rows of hashes: cut into (start, length) with their lengths in front.
std::vector<ImageBytes> rows_of(const ImageBytes& image) {
  const auto bytes = load_le<uint64_t>(&image[120]);
  std::vector<ImageBytes> rows;
  for (size_t at = image.size() - 4 - bytes; at < image.size() - 4;) {
    const size_t length = 4 + load_le<uint32_t>(&image[at]);
    rows.emplace_back(image.begin() + static_cast<std::ptrdiff_t>(at),
                      image.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return rows;
}

ImageBytes with_rows(ImageBytes image, const std::vector<ImageBytes>& rows) {
  image.resize(image.size() - 4 - load_le<uint64_t>(&image[120]));
  const size_t start = image.size();
  for (const ImageBytes& row : rows) {
    image.insert(image.end(), row.begin(), row.end());
  }
  store_le(&image[120], uint64_t{image.size() - start});
  image.resize(image.size() + 4);
  return with_length_and_crc(std::move(image));
}

TEST(FilterImageDamage, rows_of_hashes_must_follow_each_other) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    const ImageBytes image =
        encode(build_sample({"", {kind, 0.01}, 9000, 9000, HashWidth::k47Bits, true})).value();
    std::vector<ImageBytes> rows = rows_of(image);
    ASSERT_GE(rows.size(), 4U);
    ASSERT_EQ(with_rows(image, rows), image);
    std::vector<ImageBytes> changed = rows;
    std::swap(changed[1], changed[2]);
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    changed.erase(changed.begin() + 1);
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    changed.pop_back();
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    changed.push_back(rows.back());
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    store_le(changed[1].data(), static_cast<uint32_t>(changed[1].size() - 3));
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    store_le(changed[1].data(), UINT32_MAX);
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    changed.back().resize(changed.back().size() + 3);
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
    changed = rows;
    changed.emplace_back(2);
    EXPECT_EQ(hash_refusal(with_rows(image, changed)), "2 bytes behind the last row of hashes");
    changed.back().resize(4);
    EXPECT_NE(hash_refusal(with_rows(image, changed)), "");
  }
}

// A row's own header, under right checksums.
TEST(FilterImageDamage, rows_of_hashes_are_numbered) {
  for (const char* name : {"cuckoo_hashes", "bloom_hashes"}) {
    const ImageBytes image = sample_image(sample_named(name));
    for (const size_t at : {0, 8, 16}) {  // chain value, position, items before
      std::vector<ImageBytes> rows = rows_of(image);
      ImageBytes row(rows[0].begin() + 4, rows[0].end());
      store_le(&row[at], load_le<uint64_t>(&row[at]) + 1);
      row = with_crc(std::move(row));
      std::copy(row.begin(), row.end(), rows[0].begin() + 4);
      EXPECT_EQ(hash_refusal(with_rows(image, rows)),
                "row of hashes that does not follow the one before it")
          << at;
    }
  }
}

TEST(FilterImageDamage, rows_of_hashes_have_the_length_of_a_page_row_at_most) {
  const BuiltSample built =
      build_sample({"", {FilterKind::kCuckoo, 0.01}, 2000, 2000, HashWidth::k47Bits, true});
  std::vector<ImageBytes> rows;
  CompactedRowWriter writer(HashWidth::k47Bits, 20000, built.hashes.size(), 0,
                            [&](std::span<const std::byte> bytes) {
                              rows.emplace_back(4);
                              store_le(rows.back().data(), static_cast<uint32_t>(bytes.size()));
                              rows.back().insert(rows.back().end(), bytes.begin(), bytes.end());
                              return Status();
                            });
  for (const auto& [hash, count] : built.hashes) {
    ASSERT_TRUE(writer.add(hash, count).ok());
  }
  ASSERT_TRUE(writer.finish().ok());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(hash_refusal(with_rows(encode(built).value(), rows)).find("expected at most 4,036"),
            std::string::npos);
}

TEST(FilterImageDamage, hashes_where_none_can_be_are_refused) {
  ImageBytes bytes = with_rows(sample_image(sample_named("cuckoo")), {ImageBytes(50)});
  EXPECT_EQ(refusal(bytes), "image without hashes that has 50 bytes of them");
  bytes = sample_image(sample_named("legacy"));
  bytes[19] = std::byte{1};
  EXPECT_EQ(refusal(with_crc(bytes)), "image of a murmur2 filter with hashes, expected none");
  BuiltSample legacy = build_sample(sample_named("legacy"));
  legacy.header.with_hashes = true;
  EXPECT_FALSE(encode(legacy).ok());
}

TEST(FilterImageDamage, raw_rows_are_no_list_of_hashes) {
  const ImageBytes image = sample_image(sample_named("cuckoo_hashes"));
  RawRowBuilder builder(HashWidth::k47Bits, kImageRowBytes);
  builder.start(0, 0, 0);
  for (const auto& [hash, count] : build_sample(sample_named("cuckoo_hashes")).hashes) {
    for (uint64_t i = 0; i < count; ++i) {
      builder.append(hash);
    }
  }
  ImageBytes row(4);
  const std::vector<std::byte> encoded = builder.encode();
  store_le(row.data(), static_cast<uint32_t>(encoded.size()));
  row.insert(row.end(), encoded.begin(), encoded.end());
  EXPECT_EQ(hash_refusal(with_rows(image, {row})), "row of hashes that is not a compacted one");
}

// What gets through the checks is a filter that holds together, and an image of it has these bytes.
void expect_refused_or_sound(const ImageBytes& bytes) {
  Result<Image> image = decode_image(bytes);
  (void)decode_image_header(bytes);
  const Status hashes = read_image_hashes(bytes, nothing);
  if (!image.ok()) {
    EXPECT_EQ(image.error().code, ErrorCode::kCorrupt) << image.error().message;
    return;
  }
  const Filter& filter = *image.value().filter;
  const Status status = filter.check();
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_NE(answer(filter, i, HashWidth::k63Bits), Filter::Answer::kNotLoaded);
  }
  if (hashes.ok() || !image.value().header.with_hashes) {
    Result<ImageBytes> again = encode_again(bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    if (!image.value().header.with_hashes) {  // rows may be cut in other ways
      EXPECT_EQ(again.value(), bytes);
    }
  }
}

TEST(FilterImageDamage, I2_I3_changed_fields_under_a_right_checksum_never_break_anything) {
  const uint64_t kWords[] = {0,
                             1,
                             2,
                             16,
                             28,
                             127,
                             kPageBytes,
                             1 << 20,
                             uint64_t{1} << 32,
                             uint64_t{1} << 40,
                             uint64_t{1} << 48,
                             uint64_t{1} << 61,
                             uint64_t{1} << 63,
                             UINT64_MAX};
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const ImageBytes bytes = sample_image(sample);
    for (size_t at = 8; at + 8 <= bytes.size() - 4; at += at < image_header_bytes(2) ? 1 : 5) {
      for (const uint64_t word : kWords) {
        ImageBytes changed = bytes;
        store_le(&changed[at], word);
        expect_refused_or_sound(with_crc(std::move(changed)));
      }
    }
  }
}

TEST(FilterImageDamage, I2_random_changes_under_a_right_checksum_never_break_anything) {
  uint64_t state = 1;
  const auto random = [&state](uint64_t below) {
    return mix64(state += 0x9E3779B97F4A7C15) % below;
  };
  for (const ImageSample& sample : image_samples()) {
    SCOPED_TRACE(sample.name);
    const ImageBytes bytes = sample_image(sample);
    for (int round = 0; round < 1500; ++round) {
      ImageBytes changed = bytes;
      for (uint64_t i = 0; i <= random(4); ++i) {
        const size_t at =
            8 + random(round % 2 == 0 ? image_header_bytes(1) - 8 : changed.size() - 12);
        changed[at] = round % 3 == 0 ? static_cast<std::byte>(random(256))
                                     : changed[at] ^ (std::byte{1} << random(8));
      }
      if (round % 5 == 0) {
        changed.resize(image_header_bytes(2) + 4 + random(changed.size()));
        store_le(&changed[8], uint64_t{changed.size()});
      }
      expect_refused_or_sound(with_crc(std::move(changed)));
    }
  }
}

}  // namespace
}  // namespace cuckoo
