// Images that were cut, changed or made up are refused. tests/fuzz/filter_image_fuzz.cpp shows that
// any others hold together.
#include "core/segments/message_header.hpp"
#include "tests/core/segments/image_samples.hpp"

namespace cuckoo::segments::segments_image_damage_test {
namespace {

constexpr size_t kHeader = 184;
constexpr size_t kPiece = 64;

std::string refusal(const Bytes& bytes) {
  return refusal_of(decode_image(bytes), ErrorCode::kCorrupt);
}

// Why the image is refused when its hashes are read, too, where there are some.
std::string hash_refusal(const Bytes& bytes) {
  const auto ignore = [](Piece&&) { return Status(); };
  return refusal_of(read_image(bytes, true, kImagePageBytes, ignore), ErrorCode::kCorrupt);
}

Bytes fixed(Bytes bytes) {
  store_le(&bytes[8], uint64_t{bytes.size()});
  EXPECT_TRUE(put_crcs_right(bytes));
  return bytes;
}

Bytes text_bytes(const std::string& text) {
  const std::span<const std::byte> bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

TEST(ImageDamage, bytes_that_are_no_image_are_told_apart) {
  EXPECT_FALSE(looks_like_image({}));
  EXPECT_FALSE(looks_like_image(text_bytes("CKI")));
  EXPECT_FALSE(looks_like_image(text_bytes("CKFRxxxx")));
  EXPECT_TRUE(looks_like_image(text_bytes("CKMS")));
  EXPECT_EQ(refusal({}), "image or changes cut off: 0 bytes, expected at least 188");
  EXPECT_EQ(refusal(text_bytes("CKMS")),
            "image or changes cut off: 4 bytes, expected at least 188");
  EXPECT_EQ(refusal(text_bytes("SQLite format 3")),
            "bytes that are no image or changes of a filter, expected CKMS at the start");
}

TEST(ImageDamage, older_and_newer_formats_are_named) {
  EXPECT_TRUE(looks_like_image(text_bytes("CKIM")));
  EXPECT_TRUE(looks_like_image(text_bytes("CKI3")));
  EXPECT_TRUE(looks_like_changes(text_bytes("CKCH")));
  for (const char* text : {"CKIM", "CKI3", "CKCH", "CKIM\1\0\0\0 and what follows"}) {
    EXPECT_EQ(refusal(text_bytes(text)),
              "image or changes made by a version before the first release: make them anew");
  }
  Bytes bytes = pieces_image(pieces_named("cuckoo"));
  store_le(&bytes[4], uint8_t{7});
  for (const size_t size : {bytes.size(), size_t{8}}) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(refusal(cut), "image or changes of format 7, this version reads format 4");
  }
}

TEST(ImageDamage, every_other_length_is_found) {
  for (const char* name : {"cuckoo_pieces_hashes", "bloom", "legacy"}) {
    const Bytes bytes = pieces_image(pieces_named(name));
    for (size_t size = 0; size < bytes.size(); ++size) {
      Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_NE(refusal(cut), "") << size;
      if (size >= kHeader) {  // also when the length and the last checksum lie
        store_le(&cut[8], uint64_t{size});
        ASSERT_NE(refusal(cut), "") << size;
      }
    }
    Bytes longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_EQ(refusal(longer), "image or changes too long: " + segments::grouped(longer.size()) +
                                   " bytes, expected " + segments::grouped(bytes.size()));
  }
}

TEST(ImageDamage, every_flipped_bit_is_found) {
  for (const char* name : {"cuckoo_pieces_hashes", "bloom_pieces_hashes", "cuckoo_marked"}) {
    const Bytes bytes = pieces_image(pieces_named(name));
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Bytes changed = bytes;
      changed[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_NE(refusal(changed), "") << name << ", bit " << bit;
    }
  }
}

// A sample's image with another number in it, under right checksums.
Bytes with_number(const char* name, size_t at, uint64_t value, size_t bytes) {
  Bytes changed = pieces_image(pieces_named(name));
  for (size_t i = 0; i < bytes; ++i) {
    changed[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  (void)put_crcs_right(changed);
  return changed;
}

TEST(ImageDamage, headers_out_of_range_are_refused) {
  const struct {
    const char* what;
    const char* name;
    size_t at;
    uint64_t value;
    size_t bytes;
  } kCases[] = {
      {"flags", "cuckoo", 5, 32, 1},
      {"a mark that is none", "cuckoo", 5, 8, 1},
      {"whole", "cuckoo", 5, 16, 1},
      {"each once of a set", "bloom", 5, 4, 1},
      {"hashes of a legacy filter", "legacy", 5, 1, 1},
      {"hashes that are not there", "cuckoo", 5, 1, 1},
      {"hashes that are there", "bloom_hashes", 5, 0, 1},
      {"mark without its flag", "cuckoo_marked", 5, 0, 1},
      {"fields", "cuckoo", 6, 20, 1},
      {"more fields", "cuckoo", 6, 22, 1},
      {"zero", "cuckoo", 7, 1, 1},
      {"items", "cuckoo", 16, 1, 8},
      {"items of a set", "bloom", 16, UINT64_MAX, 8},
      {"hash count", "bloom_hashes", 24, 41, 8},
      {"more hashes than bytes", "bloom_hashes", 24, UINT64_MAX, 8},
      {"no pieces", "cuckoo", 32, 0, 8},
      {"one piece more", "cuckoo", 32, 2, 8},
      {"one piece less", "cuckoo_pieces", 32, 3, 8},
      {"pieces", "cuckoo", 32, UINT64_MAX, 8},
      {"entries", "cuckoo", 40, 1, 8},
      {"counts", "cuckoo", 48, 1, 8},
      {"kind", "cuckoo", 56, 9, 8},
      {"large kind", "cuckoo", 56, 257, 8},
      {"width", "cuckoo", 64, 48, 8},
      {"capacity 0", "cuckoo", 80, 0, 8},
      {"capacity", "cuckoo", 80, (uint64_t{1} << 40) + 1, 8},
      {"capacity for which the cells are too few", "cuckoo", 80, 1 << 20, 8},
      {"no key columns", "cuckoo", 88, 0, 8},
      {"nine key columns", "cuckoo", 88, 9, 8},
      {"many key columns", "cuckoo", 88, 257, 8},
      {"affinity", "cuckoo", 96, 5, 8},
      {"affinity of a column that is not there", "cuckoo", 99, 0x10, 1},
      {"large affinities", "cuckoo", 96, (uint64_t{1} << 32) + 2, 8},
      {"collation", "cuckoo", 104, 3, 8},
      {"collation of a column that is not there", "cuckoo", 105, 0x40, 1},
      {"large collations", "cuckoo", 104, (1 << 16) + 1, 8},
      {"types of a column that is not there", "cuckoo", 113, 1, 1},
      {"fingerprint bits", "cuckoo_bits", 128, 33, 8},
      {"large fingerprint bits", "cuckoo_bits", 128, (uint64_t{1} << 32) + 8, 8},
      {"position where no mark is", "cuckoo", 152, 1, 8},
      {"chain value where no mark is", "cuckoo", 160, 1, 8},
      {"large position", "cuckoo_marked", 152, (uint64_t{1} << 59) + 1, 8},
      {"position before an image", "cuckoo", 168, 1, 8},
      {"chain value before an image", "cuckoo", 176, 1, 8},
  };
  for (const auto& [what, name, at, value, bytes] : kCases) {
    EXPECT_NE(refusal(with_number(name, at, value, bytes)), "") << what;
  }
}

TEST(ImageDamage, pieces_out_of_range_are_refused) {
  const struct {
    const char* what;
    size_t at;
    uint64_t value;
    size_t bytes;
  } kCases[] = {
      {"depth", 0, 31, 1},
      {"no depth", 0, 0, 1},
      {"another depth", 0, 2, 1},
      {"low bits", 1, 99, 1},
      {"radix", 2, 17, 2},
      {"overflow entries", 4, UINT32_MAX, 4},
      {"one overflow entry more", 4, 3, 4},
      {"no capacity", 8, 0, 8},
      {"capacity", 8, uint64_t{1} << 42, 8},
      {"items", 16, 3, 8},
      {"many items", 16, UINT64_MAX, 8},
      {"occupied", 24, 1, 8},
      {"much occupied", 24, UINT64_MAX, 8},
      {"nothing occupied", 24, 0, 8},
      {"no size", 32, 0, 8},
      {"size", 32, 99, 8},
      {"large size", 32, uint64_t{1} << 48, 8},
      {"hash count", 40, 1, 8},
      {"hash bytes", 48, 1, 8},
      {"many hash bytes", 48, UINT64_MAX, 8},
  };
  for (const auto& [what, at, value, bytes] : kCases) {
    EXPECT_NE(refusal(with_number("cuckoo_pieces", kHeader + at, value, bytes)), "") << what;
  }
}

// An attacker's 31 pieces would ask for a table of 2^30 entries.
TEST(ImageDamage, I3_pieces_that_are_too_deep_are_refused) {
  PiecesSample sample = {"", {FilterKind::kCuckoo, 0.01}, 1, 0};
  sample.depths.clear();
  for (unsigned depth = 1; depth < 30; ++depth) {
    sample.depths.push_back(depth);
  }
  sample.depths.push_back(29);
  EXPECT_EQ(refusal(pieces_image(sample)), "30 pieces, one of them 29 bits deep");
}

TEST(ImageDamage, counters_and_cells_are_checked) {
  for (const PiecesSample& sample : pieces_samples()) {
    SCOPED_TRACE(sample.name);
    const Bytes bytes = pieces_image(sample);
    const auto occupied = load_le<uint64_t>(&bytes[kHeader + 24]);
    if (occupied == 0) {
      continue;
    }
    Bytes copy = bytes;
    store_le(&copy[kHeader + 24], occupied + 1);
    EXPECT_NE(refusal(fixed(copy)), "");
    const GeometryWords words{load_le<uint64_t>(&bytes[kHeader + 32]),
                              load_le<uint16_t>(&bytes[kHeader + 2]),
                              static_cast<uint8_t>(bytes[kHeader + 1])};
    const size_t cells = cell_layout(sample.spec.kind, words).value().total_bytes(kImagePageBytes);
    for (size_t bit = 0; bit < 8 * cells; ++bit) {
      copy = bytes;
      copy[kHeader + kPiece + bit / 8] ^= std::byte{1} << (bit % 8);
      copy = fixed(std::move(copy));
      if (!is_multiset(sample.spec.kind)) {  // one bit more or less
        EXPECT_NE(refusal(copy), "") << bit;
      }
      if (sample.with_hashes) {
        EXPECT_NE(hash_refusal(copy), "") << bit;
      }
    }
  }
}

TEST(ImageDamage, overflow_entries_ascend_and_count) {
  for (const char* name : {"cuckoo", "counting"}) {
    const test::BuiltPieces built = build_pieces(pieces_named(name));
    const uint64_t cells = built.pieces[0].filter->overflow().cells();
    ASSERT_GE(cells, 1U);
    const Bytes bytes = encode_pieces(built).value();
    const size_t first = bytes.size() - 8 - 16 * cells;
    const auto changed = [&](size_t at, uint64_t value) {
      Bytes copy = bytes;
      store_le(&copy[first + at], value);
      return refusal(fixed(std::move(copy)));
    };
    EXPECT_NE(changed(16 * cells - 16, UINT64_MAX), "");
    EXPECT_NE(changed(8, 0).find("overflow entry 0 has count 0"), std::string::npos);
    EXPECT_NE(changed(8, UINT64_MAX).find("overflow entry 0 has count"), std::string::npos);
    if (cells > 1) {
      EXPECT_NE(changed(0, UINT64_MAX).find("overflow entry 1 is of cell"), std::string::npos);
    }
  }
}

// ---- hashes

// Blocks of an only piece's hashes, with their lengths in front.
std::vector<Bytes> blocks_of(const Bytes& image) {
  const auto bytes = load_le<uint64_t>(&image[kHeader + 48]);
  std::vector<Bytes> blocks;
  for (size_t at = image.size() - 8 - bytes; at < image.size() - 8;) {
    const size_t length = 4 + load_le<uint32_t>(&image[at]);
    blocks.emplace_back(image.begin() + static_cast<std::ptrdiff_t>(at),
                        image.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  return blocks;
}

Bytes with_blocks(Bytes image, const std::vector<Bytes>& blocks) {
  image.resize(image.size() - 8 - load_le<uint64_t>(&image[kHeader + 48]));
  const size_t start = image.size();
  for (const Bytes& block : blocks) {
    image.insert(image.end(), block.begin(), block.end());
  }
  store_le(&image[kHeader + 48], uint64_t{image.size() - start});
  image.resize(image.size() + 8);
  return fixed(std::move(image));
}

TEST(ImageDamage, blocks_of_hashes_must_follow_one_another) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    const Bytes image = pieces_image({"", {kind, 0.01}, 9000, 9000, HashWidth::k47Bits, true});
    const std::vector<Bytes> blocks = blocks_of(image);
    ASSERT_GE(blocks.size(), 4U);
    ASSERT_EQ(with_blocks(image, blocks), image);
    const auto changed = [&](auto&& change) {
      std::vector<Bytes> copy = blocks;
      change(copy);
      return hash_refusal(with_blocks(image, copy));
    };
    using Blocks = std::vector<Bytes>;
    EXPECT_NE(changed([](Blocks& b) { std::swap(b[1], b[2]); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.erase(b.begin() + 1); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.pop_back(); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.push_back(Bytes(b.back())); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.push_back(Bytes(b.front())); }), "");
    EXPECT_NE(changed([](Blocks& b) { b[1][4 + 11] = std::byte{1}; }), "") << "a run begins";
    EXPECT_NE(changed([](Blocks& b) { b[1].pop_back(); }), "");
    EXPECT_NE(changed([](Blocks& b) { store_le(b[1].data(), UINT32_MAX); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.back().resize(b.back().size() + 3); }), "");
    EXPECT_NE(changed([](Blocks& b) {
                b.emplace_back(2);
              }).find("2 bytes after the last block of hashes"),
              std::string::npos);
    EXPECT_NE(changed([](Blocks& b) { b.emplace_back(4); }), "");
    EXPECT_NE(changed([](Blocks& b) { b.clear(); }), "");
  }
}

// The checksums are right, and there are as many hashes as before.
TEST(ImageDamage, hashes_of_another_filter_are_found) {
  for (const char* name : {"cuckoo_hashes", "bloom_hashes", "counting_hashes", "blocked_hashes"}) {
    const PiecesSample& sample = pieces_named(name);
    size_t missed = 0;
    for (size_t i = 0; i < sample.keys; ++i) {
      test::BuiltPieces built = build_pieces(sample);
      std::vector<NetHash>& hashes = built.pieces[0].hashes;
      hashes[i].hash ^= uint64_t{1} << 63;
      std::sort(hashes.begin(), hashes.end(),
                [](const NetHash& a, const NetHash& b) { return a.hash < b.hash; });
      const std::string found = hash_refusal(encode_pieces(built).value());
      missed += found.empty() ? 1 : 0;
      EXPECT_TRUE(found.empty() || found.find("not those of the filter") != std::string::npos);
      if (is_multiset(sample.spec.kind)) {
        built = build_pieces(sample);
        std::vector<NetHash>& copies = built.pieces[0].hashes;
        ++copies[i].net;
        --std::max_element(copies.begin(), copies.end(), [](const NetHash& a, const NetHash& b) {
            return a.net < b.net;
          })->net;
        if (copies != build_pieces(sample).pieces[0].hashes) {
          ASSERT_NE(hash_refusal(encode_pieces(built).value()), "") << name << ", hash " << i;
        }
      }
    }
    EXPECT_LE(missed, sample.keys / 5) << name << ": the other hash has the same bucket pair";
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_image_damage_test
