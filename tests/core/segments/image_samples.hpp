// Filters to make images of: every kind, of one piece and of several. Their hashes are fixed, so
// that the files in tests/golden and tests/fuzz/corpus can be made again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/mix.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_header.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

struct PiecesSample {
  const char* name;  // of the files, too
  FilterSpec spec;
  uint64_t capacity = 0;  // of each piece
  uint64_t keys = 0;      // distinct hashes
  HashWidth width = HashWidth::k47Bits;
  bool with_hashes = false;
  std::vector<unsigned> depths = {0};
  bool marked = false;
};

// One of each kind, and the ways to ask for one; then what is cut into pieces.
inline const std::vector<PiecesSample>& pieces_samples() {
  constexpr HashWidth k47 = HashWidth::k47Bits;
  constexpr HashWidth k63 = HashWidth::k63Bits;
  static const std::vector<PiecesSample> samples = {
      {"cuckoo", {FilterKind::kCuckoo, 0.01}, 30, 20},
      {"cuckoo_empty", {FilterKind::kCuckoo, 0.01}, 1, 0},
      {"cuckoo_bits", {FilterKind::kCuckoo, 0, 12}, 40, 40, k63},
      {"cuckoo_hashes", {FilterKind::kCuckoo, 0.001}, 50, 30, k47, true},
      {"cuckoo_hashes_63", {FilterKind::kCuckoo, 1e-6}, 20, 20, k63, true},
      {"cuckoo_hashes_none", {FilterKind::kCuckoo, 0.1}, 5, 0, k47, true},
      {"bloom", {FilterKind::kBloom, 0.01}, 60, 50},
      {"bloom_bits", {FilterKind::kBloom, 0, 0, 10.5, 7}, 30, 30},
      {"bloom_hashes", {FilterKind::kBloom, 0.02}, 40, 40, k63, true},
      {"blocked", {FilterKind::kBlockedBloom, 0.001}, 70, 60},
      {"blocked_hashes", {FilterKind::kBlockedBloom, 0.01}, 100, 50, k47, true},
      {"counting", {FilterKind::kCountingBloom, 0.05}, 30, 30},
      {"counting_hashes", {FilterKind::kCountingBloom, 0.1}, 30, 20, k63, true},
      {"legacy", {FilterKind::kLegacyBloom, 0.01}, 50, 40},
      {"cuckoo_marked", {FilterKind::kCuckoo, 0.01}, 30, 20, k47, false, {0}, true},
      {"cuckoo_pieces", {FilterKind::kCuckoo, 0.01}, 20, 50, k47, false, {1, 3, 3, 2}, true},
      {"cuckoo_pieces_hashes", {FilterKind::kCuckoo, 0.001}, 20, 60, k47, true, {2, 2, 2, 2}},
      {"bloom_pieces_hashes", {FilterKind::kBloom, 0.02}, 20, 50, k63, true, {2, 2, 1}, true},
      {"counting_pieces", {FilterKind::kCountingBloom, 0.05}, 20, 40, k47, false, {1, 1}},
      {"blocked_pieces", {FilterKind::kBlockedBloom, 0.01}, 50, 2, k47, true, {2, 2, 2, 2}},
  };
  return samples;
}

inline const PiecesSample& pieces_named(const std::string& name) {
  const std::vector<PiecesSample>& samples = pieces_samples();
  const auto found = std::find_if(samples.begin(), samples.end(),
                                  [&](const PiecesSample& sample) { return sample.name == name; });
  EXPECT_NE(found, samples.end()) << name;
  return *found;
}

inline uint64_t piece_hash(uint64_t i, HashWidth width) noexcept { return nth_hash(0, i, width); }

// A legacy filter's key has two hashes.
inline HashPair piece_pair(uint64_t i) noexcept {
  const uint64_t h1 = piece_hash(i, HashWidth::k63Bits);
  return {h1, mix64(h1)};
}

inline Filter::Answer answer_of(const segments::PieceSet& pieces, uint64_t i, HashWidth width) {
  const Filter& filter = pieces.filter_of(0);
  return filter.kind() == FilterKind::kLegacyBloom ? pairs_of(filter).probe_pair(piece_pair(i))
                                                   : pieces.probe(piece_hash(i, width));
}

// The sample's entries, ascending. A multiset has some hashes often enough to overflow.
inline std::vector<segments::NetHash> sample_entries(const PiecesSample& sample) {
  std::vector<segments::NetHash> entries;
  for (uint64_t i = 0; i < sample.keys; ++i) {
    const int64_t copies = i % 16 == 3 ? 40 : i % 16 == 5 ? 3 : 1;
    entries.push_back({piece_hash(i, sample.width), is_multiset(sample.spec.kind) ? copies : 1});
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.hash < b.hash; });
  return entries;
}

struct BuiltPieces {
  segments::MessageHeader header;
  std::vector<segments::Piece> pieces;
};

inline uint64_t last_of_piece(uint64_t prefix, unsigned depth) noexcept {
  return depth == 0 ? ~uint64_t{0} : prefix | (~uint64_t{0} >> depth);
}

inline segments::Piece make_piece(const PiecesSample& sample, uint64_t prefix, unsigned depth,
                                  uint32_t page_bytes) {
  segments::Piece piece;
  piece.prefix = prefix;
  piece.depth = depth;
  piece.capacity = sample.capacity;
  piece.filter = make_filter(sample.spec, sample.capacity, page_bytes).value();
  piece.filter->pages().complete();
  if (sample.spec.kind == FilterKind::kLegacyBloom) {
    for (uint64_t i = 0; i < sample.keys; ++i) {
      piece.items += pairs_of(*piece.filter).insert_pair(piece_pair(i)) ? 0 : 1;
    }
    return piece;
  }
  const auto builder = piece.filter->builder(sample.keys, Filter::Digest::kNone);
  for (const segments::NetHash& entry : sample_entries(sample)) {
    if (entry.hash >= prefix && entry.hash <= last_of_piece(prefix, depth)) {
      piece.hashes.push_back(entry);
      builder->insert(entry.hash << depth, static_cast<uint64_t>(entry.net));
      piece.items += static_cast<uint64_t>(entry.net);
    }
  }
  builder->finish();
  return piece;
}

inline BuiltPieces build_pieces(const PiecesSample& sample,
                                uint32_t page_bytes = segments::kImagePageBytes) {
  BuiltPieces built;
  uint64_t prefix = 0;
  for (const unsigned depth : sample.depths) {
    built.pieces.push_back(make_piece(sample, prefix, depth, page_bytes));
    built.header.items += built.pieces.back().items;
    built.header.hash_count += sample.with_hashes ? built.pieces.back().hashes.size() : 0;
    prefix = last_of_piece(prefix, depth) + 1;
  }
  segments::MessageHeader& header = built.header;
  header.keys = {1, 2, 1};
  header.key_types = 4 | 16;
  header.spec = sample.spec;
  header.width = sample.width;
  header.seed = 0x0123456789ABCDEF;
  header.capacity = sample.capacity * sample.depths.size();
  header.pieces = sample.depths.size();
  header.with_hashes = sample.with_hashes;
  if (sample.marked) {
    header.mark =
        segments::FilterMark{header.spec.kind, header.width, header.seed, 77, nth_word(5, 5)};
  }
  return built;
}

inline Result<Bytes> encode_pieces(const BuiltPieces& built, uint64_t limit = 1'000'000'000) {
  segments::MessageWriter writer(built.header, limit);
  for (const segments::Piece& piece : built.pieces) {
    CUCKOO_TRY(writer.add(piece));
  }
  EXPECT_TRUE(writer.complete());
  return writer.finish();
}

inline Bytes pieces_image(const PiecesSample& sample) {
  return must(encode_pieces(build_pieces(sample)));
}

// What another encoder of the same image must write: decoded and encoded again.
inline Result<Bytes> encode_pieces_again(const Bytes& bytes,
                                         uint32_t page_bytes = segments::kImagePageBytes) {
  BuiltPieces built;
  CUCKOO_ASSIGN_OR_RETURN(built.header, segments::decode_image_header(bytes));
  CUCKOO_TRY(segments::read_image(bytes, built.header.with_hashes, page_bytes,
                                  [&](segments::Piece&& piece) -> Status {
                                    built.pieces.push_back(std::move(piece));
                                    return {};
                                  }));
  return encode_pieces(built, UINT64_MAX);
}

// Puts the checksums of all pieces and of the image right. Returns false if its frame leads
// nowhere.
inline bool put_crcs_right(Bytes& bytes) {
  constexpr size_t kHeader = segments::kMessageHeaderBytes;
  constexpr size_t kPiece = 64;
  if (bytes.size() < kHeader + kPiece + 8) {
    return false;
  }
  const Result<segments::MessageHeader> header = segments::decode_image_header(bytes);
  if (!header.ok()) {
    return false;
  }
  uint32_t crc = crc32c(std::span(bytes).first(kHeader));
  size_t at = kHeader;
  const size_t end = bytes.size() - 4;
  for (uint64_t i = 0; i < header.value().pieces; ++i) {
    if (end - at < kPiece + 4) {
      return false;
    }
    const auto size = load_le<uint64_t>(&bytes[at + 32]);
    const GeometryWords words{size, load_le<uint16_t>(&bytes[at + 2]),
                              static_cast<uint8_t>(bytes[at + 1])};
    const Result<CellLayout> layout = cell_layout(header.value().spec.kind, words);
    if (!layout.ok()) {
      return false;
    }
    const auto occupied = load_le<uint64_t>(&bytes[at + 24]);
    const auto hash_bytes = load_le<uint64_t>(&bytes[at + 48]);
    const uint64_t cells =
        occupied == 0 ? 0 : layout.value().total_bytes(segments::kImagePageBytes);
    if (cells > end || hash_bytes > end) {
      return false;
    }
    const uint64_t content =
        kPiece + cells + 16 * uint64_t{load_le<uint32_t>(&bytes[at + 4])} + hash_bytes;
    if (content + 4 > end - at) {
      return false;
    }
    store_le(&bytes[at + content], crc32c(std::span(bytes).subspan(at, content)));
    crc = crc32c(std::span(bytes).subspan(at + content, 4), crc);
    at += content + 4;
  }
  store_le(&bytes[end], crc);
  return at == end;
}

// A sample's header after a change. It can neither be encoded nor decoded.
struct BadHeader {
  const char* what;
  const char* name;
  std::function<void(segments::MessageHeader&)> change;
};

inline const std::vector<BadHeader>& bad_headers() {
  using segments::MessageHeader;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<BadHeader> cases = {
      {"no rate", "cuckoo", [](MessageHeader& h) { h.spec.rate = 0; }},
      {"negative rate", "cuckoo", [](MessageHeader& h) { h.spec.rate = -0.01; }},
      {"large rate", "bloom", [](MessageHeader& h) { h.spec.rate = 0.26; }},
      {"tiny rate", "bloom", [](MessageHeader& h) { h.spec.rate = 1e-12; }},
      {"rate is NaN", "bloom", [](MessageHeader& h) { h.spec.rate = kNaN; }},
      {"3 fingerprint bits", "cuckoo_bits", [](MessageHeader& h) { h.spec.fingerprint_bits = 3; }},
      {"33 fingerprint bits", "cuckoo_bits",
       [](MessageHeader& h) { h.spec.fingerprint_bits = 33; }},
      {"65540 fingerprint bits", "cuckoo_bits",
       [](MessageHeader& h) { h.spec.fingerprint_bits = 65540; }},
      {"fingerprint bits of a Bloom filter", "bloom",
       [](MessageHeader& h) { h.spec.fingerprint_bits = 8; }},
      {"129 bits per key", "bloom_bits", [](MessageHeader& h) { h.spec.bits_per_key = 129; }},
      {"half a bit per key", "bloom_bits", [](MessageHeader& h) { h.spec.bits_per_key = 0.5; }},
      {"bits per key are NaN", "bloom_bits", [](MessageHeader& h) { h.spec.bits_per_key = kNaN; }},
      {"bits per key are -0", "bloom", [](MessageHeader& h) { h.spec.bits_per_key = -0.0; }},
      {"bits per key of a cuckoo filter", "cuckoo",
       [](MessageHeader& h) { h.spec.bits_per_key = 8; }},
      {"65 hashes", "bloom_bits", [](MessageHeader& h) { h.spec.hashes = 65; }},
      {"65537 hashes", "bloom_bits", [](MessageHeader& h) { h.spec.hashes = 65537; }},
      {"hashes of a cuckoo filter", "cuckoo", [](MessageHeader& h) { h.spec.hashes = 1; }},
      {"width", "cuckoo", [](MessageHeader& h) { h.width = static_cast<HashWidth>(48); }},
      {"no key columns", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{0, 0, 0};
       }},
      {"nine key columns", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{9, 0, 0};
       }},
      {"affinity", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{1, 5, 0};
       }},
      {"affinity of the second column", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{2, 0x50, 0};
       }},
      {"affinity of a further column", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{2, 0x100, 0};
       }},
      {"types of a further column", "cuckoo", [](MessageHeader& h) { h.key_types = 256; }},
      {"mark of another kind", "cuckoo_marked",
       [](MessageHeader& h) { h.mark->kind = FilterKind::kBloom; }},
      {"mark of another width", "cuckoo_marked",
       [](MessageHeader& h) { h.mark->width = HashWidth::k63Bits; }},
      {"mark of another seed", "cuckoo_marked", [](MessageHeader& h) { ++h.mark->seed; }},
      {"collation", "cuckoo",
       [](MessageHeader& h) {
         h.keys = KeyForm{1, 0, 3};
       }},
      {"no capacity", "cuckoo", [](MessageHeader& h) { h.capacity = 0; }},
      {"capacity", "cuckoo", [](MessageHeader& h) { h.capacity = (uint64_t{1} << 40) + 1; }},
      {"too many items", "bloom", [](MessageHeader& h) { h.items = segments::kMaxImageItems + 1; }},
  };
  return cases;
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::answer_of;
using test::bad_headers;
using test::BadHeader;
using test::build_pieces;
using test::BuiltPieces;
using test::encode_pieces;
using test::encode_pieces_again;
using test::make_piece;
using test::piece_hash;
using test::pieces_image;
using test::pieces_named;
using test::pieces_samples;
using test::PiecesSample;
using test::put_crcs_right;
using test::sample_entries;

}  // namespace cuckoo::segments
