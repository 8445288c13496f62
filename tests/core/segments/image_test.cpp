#include "core/segments/image.hpp"

#include "tests/core/segments/image_samples.hpp"
#include "tests/support/sample_bytes.hpp"

namespace cuckoo::segments::segments_image_test {
namespace {

using test::source_path;

constexpr uint64_t kNoLimit = UINT64_MAX;

std::vector<NetHash> hashes_of(const Bytes& bytes) {
  std::vector<NetHash> hashes;
  expect_ok(read_image(bytes, true, kImagePageBytes, [&](Piece&& piece) -> Status {
    hashes.insert(hashes.end(), piece.hashes.begin(), piece.hashes.end());
    return {};
  }));
  return hashes;
}

void expect_same_header(const MessageHeader& a, const MessageHeader& b) {
  EXPECT_EQ(a.spec.kind, b.spec.kind);
  EXPECT_EQ(a.spec.rate, b.spec.rate);
  EXPECT_EQ(a.spec.fingerprint_bits, b.spec.fingerprint_bits);
  EXPECT_EQ(a.spec.bits_per_key, b.spec.bits_per_key);
  EXPECT_EQ(a.spec.hashes, b.spec.hashes);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.key_types, b.key_types);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.capacity, b.capacity);
  EXPECT_EQ(a.items, b.items);
  EXPECT_EQ(a.with_hashes, b.with_hashes);
  EXPECT_EQ(a.hash_count, b.hash_count);
  EXPECT_EQ(a.pieces, b.pieces);
  EXPECT_EQ(a.mark, b.mark);
}

// ---- round trips

TEST(Image, I1_round_trip_gives_header_answers_hashes_and_bytes_back) {
  for (const PiecesSample& sample : pieces_samples()) {
    SCOPED_TRACE(sample.name);
    BuiltPieces built = build_pieces(sample);
    const Bytes bytes = pieces_image(sample);
    EXPECT_TRUE(looks_like_image(bytes));
    expect_same_header(must(decode_image_header(bytes)), built.header);
    const Image image = must(decode_image(bytes));
    expect_same_header(image.header, built.header);
    PieceSet expected;
    ASSERT_TRUE(expected.take(std::move(built.pieces)).ok());
    for (uint64_t i = 0; i < 1000; ++i) {
      const Filter::Answer answer = answer_of(expected, i, sample.width);
      EXPECT_EQ(answer_of(image.pieces, i, sample.width), answer) << i;
      EXPECT_TRUE(i >= sample.keys || answer == Filter::Answer::kPresent) << i;
    }
    if (sample.with_hashes) {
      EXPECT_EQ(hashes_of(bytes), sample_entries(sample));
    }
    EXPECT_EQ(must(encode_pieces_again(bytes)), bytes);
  }
}

TEST(Image, I1_image_does_not_depend_on_the_page_size) {
  const PiecesSample samples[] = {
      {"cuckoo", {FilterKind::kCuckoo, 0.01}, 20000, 15000},
      {"wide", {FilterKind::kCuckoo, 1e-7}, 3000, 3000, HashWidth::k63Bits, true, {1, 1}},
      {"bloom", {FilterKind::kBloom, 0.01}, 20000, 9000, HashWidth::k47Bits, true, {2, 2, 1}},
      {"blocked", {FilterKind::kBlockedBloom, 0.001}, 9000, 9000},
      {"counting", {FilterKind::kCountingBloom, 0.01}, 3000, 2000},
  };
  for (const PiecesSample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const Bytes bytes = pieces_image(sample);
    for (const uint32_t page_bytes : {64U, 448U, 960U, 4032U}) {
      EXPECT_EQ(must(encode_pieces(build_pieces(sample, page_bytes))), bytes) << page_bytes;
      EXPECT_EQ(must(encode_pieces_again(bytes, page_bytes)), bytes) << page_bytes;
    }
  }
}

TEST(Image, a_piece_comes_in_the_pages_that_were_asked_for) {
  const Bytes bytes =
      pieces_image({"", {FilterKind::kCuckoo, 0.01}, 3000, 6000, HashWidth::k47Bits, true, {1, 1}});
  size_t pieces = 0;
  expect_ok(read_image(bytes, false, 448, [&](Piece&& piece) -> Status {
    ++pieces;
    EXPECT_EQ(piece.filter->pages().page_bytes(), 448U);
    EXPECT_TRUE(piece.hashes.empty());
    EXPECT_TRUE(piece.filter->check().ok());
    for (uint64_t page = 0; page < piece.filter->pages().page_count(); ++page) {
      EXPECT_NE(piece.filter->pages().find(page), nullptr);
    }
    EXPECT_EQ(piece.filter->pages().dirty().size(), piece.filter->pages().backed_count());
    return {};
  }));
  EXPECT_EQ(pieces, 2U);
}

TEST(Image, pages_that_are_absent_are_zeros_and_an_empty_piece_has_no_cells) {
  const PiecesSample sample = {
      "", {FilterKind::kBloom, 0.01}, 20000, 0, HashWidth::k47Bits, false, {1, 1}};
  BuiltPieces built = build_pieces(sample);
  const Bytes bytes = pieces_image(sample);
  EXPECT_EQ(bytes.size(), 184U + 2 * 68U + 4U);
  built.pieces[0].filter = make_filter(sample.spec, sample.capacity, 64).value();
  EXPECT_EQ(encode_pieces(built).value(), bytes);
  // One key is in a page alone.
  built.pieces[0].filter->pages().complete();
  built.pieces[0].filter->insert_batch(std::vector<uint64_t>{0});
  built.pieces[0].items = built.header.items = 1;
  EXPECT_EQ(must(decode_image(encode_pieces(built).value())).pieces.probe(0),
            Filter::Answer::kPresent);
}

TEST(Image, I3_empty_pieces_take_little_memory_whatever_they_are_made_for) {
  PiecesSample sample = {"", {FilterKind::kCuckoo, 0.001}, uint64_t{1} << 24, 0};
  sample.depths.assign(256, 8);
  const Bytes bytes = pieces_image(sample);
  EXPECT_EQ(bytes.size(), 184U + 256 * 68U + 4U);
  EXPECT_LT(must(decode_image(bytes)).pieces.memory_bytes(), 100 * bytes.size());
  sample.capacity = uint64_t{1} << 33;
  sample.depths = {0};
  EXPECT_TRUE(fails(encode_pieces(build_pieces(sample)), ErrorCode::kInvalid, "empty piece of"));
}

TEST(Image, a_rate_that_means_nothing_is_not_stored) {
  BuiltPieces built = build_pieces(pieces_named("cuckoo_bits"));
  const Bytes bytes = encode_pieces(built).value();
  built.header.spec.rate = 0.125;
  EXPECT_EQ(encode_pieces(built).value(), bytes);
}

TEST(Image, the_writer_counts_pieces_hashes_and_a_multisets_items) {
  for (const char* name : {"cuckoo_pieces_hashes", "bloom_pieces_hashes"}) {
    BuiltPieces built = build_pieces(pieces_named(name));
    const Bytes bytes = encode_pieces(built).value();
    built.header.pieces = 77;
    built.header.hash_count = 0;
    built.header.items += is_multiset(built.header.spec.kind) ? 5 : 0;
    EXPECT_EQ(encode_pieces(built).value(), bytes);
  }
}

// Keys that seemed to be present when they came leave a set with other items than its pieces have.
TEST(Image, a_sets_items_are_those_it_was_told) {
  BuiltPieces built = build_pieces(pieces_named("bloom_pieces_hashes"));
  built.header.items -= 3;
  EXPECT_EQ(must(decode_image_header(must(encode_pieces(built)))).items, built.header.items);
}

TEST(Image, hashes_fill_many_blocks) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
      const PiecesSample sample = {"", {kind, 0.01}, 12000, 20000, width, true, {1, 1}};
      const Bytes bytes = pieces_image(sample);
      EXPECT_EQ(hashes_of(bytes), sample_entries(sample));
      EXPECT_EQ(encode_pieces_again(bytes).value(), bytes);
    }
  }
}

TEST(Image, hashes_at_the_ends_of_their_range) {
  BuiltPieces built =
      build_pieces({"", {FilterKind::kCuckoo, 0.01}, 10, 0, HashWidth::k47Bits, true, {1, 1}});
  const uint64_t last = logged_hash(UINT64_MAX, HashWidth::k47Bits);
  constexpr int64_t kHalf = static_cast<int64_t>(kMaxImageItems / 2) - 1;
  const NetHash ends[] = {{0, kHalf}, {last, kHalf}};
  for (size_t i = 0; i < 2; ++i) {
    Piece& piece = built.pieces[i];
    const auto builder = piece.filter->builder(1, Filter::Digest::kNone);
    builder->insert(ends[i].hash << 1, static_cast<uint64_t>(ends[i].net));
    builder->finish();
    piece.items = static_cast<uint64_t>(ends[i].net);
    piece.hashes = {ends[i]};
  }
  const Bytes image = must(encode_pieces(built));
  EXPECT_EQ(hashes_of(image), std::vector<NetHash>(ends, ends + 2));
  EXPECT_EQ(encode_pieces_again(image).value(), image);
}

TEST(Image, sink_and_poll_can_end_the_reading) {
  const Bytes bytes = pieces_image(pieces_named("cuckoo_pieces_hashes"));
  const Error stop{ErrorCode::kInterrupted, "stop", 0};
  size_t seen = 0;
  const auto third = [&](Piece&&) { return ++seen == 3 ? Status(stop) : Status(); };
  EXPECT_TRUE(fails(read_image(bytes, true, kImagePageBytes, third), ErrorCode::kInterrupted));
  EXPECT_EQ(seen, 3U);
  seen = 0;
  const auto count = [&](Piece&&) -> Status { return ++seen, Status(); };
  const auto poll = [&] { return seen == 2 ? Status(stop) : Status(); };
  EXPECT_TRUE(
      fails(read_image(bytes, true, kImagePageBytes, count, poll), ErrorCode::kInterrupted));
  EXPECT_EQ(seen, 2U);
}

TEST(Image, without_hashes_says_so) {
  const auto ignore = [](Piece&&) { return Status(); };
  EXPECT_TRUE(
      fails_saying(read_image(pieces_image(pieces_named("cuckoo")), true, kImagePageBytes, ignore),
                   ErrorCode::kInvalid, "image without hashes"));
}

// ---- what is not encoded

TEST(Image, limit_counts_every_byte) {
  for (const char* name : {"cuckoo", "cuckoo_hashes", "bloom_pieces_hashes", "cuckoo_pieces"}) {
    const BuiltPieces built = build_pieces(pieces_named(name));
    const size_t size = encode_pieces(built).value().size();
    EXPECT_TRUE(encode_pieces(built, size).ok()) << name;
    for (const uint64_t limit : {uint64_t{0}, uint64_t{100}, uint64_t{size - 1}}) {
      EXPECT_TRUE(fails(encode_pieces(built, limit), ErrorCode::kInvalid)) << name;
    }
    EXPECT_TRUE(fails(encode_pieces(built, size - 1), ErrorCode::kInvalid,
                      " bytes, at most " + std::to_string(size - 1) + " are possible; "));
  }
}

TEST(Image, its_length_is_told_before_it_is_made) {
  for (const FilterKind kind :
       {FilterKind::kCuckoo, FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    FilterOptions options;
    options.spec = spec_of(kind);
    options.growth = false;
    options.page_bytes = kImagePageBytes;
    options.capacity = 10000;
    const uint64_t told = must(image_bytes(options));
    const PiecesSample sample = {"", options.spec, 10000, 10000, HashWidth::k47Bits, true};
    BuiltPieces built = build_pieces(sample);
    const uint64_t with_hashes = encode_pieces(built).value().size();
    built.header.with_hashes = false;
    const uint64_t overflow = 16 * built.pieces[0].filter->overflow().cells();
    const uint64_t length = encode_pieces(built).value().size();
    EXPECT_EQ(told + overflow, length);
    const auto fits = [&](uint64_t hashes, uint64_t limit) {
      return check_image_bytes(options.spec, options.width, 10000, false, hashes, limit);
    };
    EXPECT_TRUE(fits(0, told).ok());
    EXPECT_TRUE(fails(fits(0, told - 1), ErrorCode::kInvalid, "makes it shorter"));
    EXPECT_TRUE(fits(10000, with_hashes).ok()) << "no list is shorter than said";
    EXPECT_FALSE(fits(10000, told + (with_hashes - length) * 3 / 4).ok());
    EXPECT_TRUE(fails(fits(10000, told), ErrorCode::kInvalid, "without its hashes it has"));
  }
  EXPECT_FALSE(check_image_bytes(spec_of(FilterKind::kCuckoo), HashWidth::k47Bits,
                                 uint64_t{1} << 40, false, 0, 1'000'000'000)
                   .ok());
  EXPECT_FALSE(
      check_image_bytes(spec_of(FilterKind::kCuckoo), HashWidth::k47Bits, 0, false, 0, kNoLimit)
          .ok());
}

TEST(Image, wrong_hashes_are_not_encoded) {
  const struct {
    const char* what;
    const char* name;
    std::function<void(Piece&)> change;
    const char* message;
  } kCases[] = {
      {"not ascending", "cuckoo_hashes", [](Piece& p) { std::swap(p.hashes[3], p.hashes[4]); },
       "hashes that do not ascend"},
      {"twice", "cuckoo_hashes", [](Piece& p) { p.hashes[3].hash = p.hashes[4].hash; },
       "hashes that do not ascend"},
      {"too many bits", "cuckoo_hashes", [](Piece& p) { p.hashes[3].hash |= 1; },
       "hash with more than 47 bits"},
      {"of another piece", "cuckoo_pieces_hashes",
       [](Piece& p) { p.hashes.back().hash = UINT64_MAX << 17; },
       "hashes that do not ascend within their piece"},
      {"count 0", "cuckoo_hashes", [](Piece& p) { p.hashes[3].net = 0; },
       "hash that is there 0 times, expected 1 to"},
      {"removed", "cuckoo_hashes", [](Piece& p) { p.hashes[3].net = -1; },
       "hash that is there -1 times, expected 1 to"},
      {"set with count 2", "bloom_hashes", [](Piece& p) { p.hashes[3].net = 2; },
       "hash that is there 2 times, expected once in a set"},
      {"too many items", "cuckoo_hashes", [](Piece& p) { ++p.hashes[3].net; },
       "as many as there are items left"},
      {"too few items", "cuckoo_hashes", [](Piece& p) { p.hashes.pop_back(); },
       "piece with hashes of"},
      {"none", "bloom_hashes", [](Piece& p) { p.hashes.clear(); }, "piece without its hashes"},
  };
  for (const auto& [what, name, change, message] : kCases) {
    BuiltPieces built = build_pieces(pieces_named(name));
    change(built.pieces[0]);
    EXPECT_TRUE(fails(encode_pieces(built), ErrorCode::kInvalid, message)) << what;
  }
}

TEST(Image, pieces_that_do_not_follow_one_another_are_not_encoded) {
  BuiltPieces built = build_pieces(pieces_named("cuckoo_pieces"));
  MessageWriter writer(built.header, kNoLimit);
  EXPECT_FALSE(writer.add(built.pieces[1]).ok());
  ASSERT_TRUE(writer.add(built.pieces[0]).ok());
  EXPECT_FALSE(writer.add(built.pieces[0]).ok());
  EXPECT_FALSE(writer.complete());
  const auto only_one = [&](const PieceSink& sink) { return sink(std::move(built.pieces[0])); };
  EXPECT_TRUE(fails_saying(encode_image(built.header, only_one, kNoLimit), ErrorCode::kInvalid,
                           "image of pieces that leave out a prefix"));
}

TEST(Image, one_item_more_or_less_than_the_cells_hold_is_not_encoded) {
  for (const int more : {1, -1}) {
    BuiltPieces built = build_pieces(pieces_named("cuckoo"));
    built.pieces[0].items += static_cast<uint64_t>(more);
    EXPECT_EQ(encode_pieces(built).error().code, ErrorCode::kInvalid);
  }
}

TEST(Image, overflow_that_no_reader_takes_is_not_encoded) {
  BuiltPieces built = build_pieces(pieces_named("counting"));
  OverflowTable& overflow = built.pieces[0].filter->overflow();
  const uint64_t cell = overflow.counts().front().cell;
  overflow.add(cell, kMaxImageItems - overflow.items());
  EXPECT_TRUE(encode_pieces(built).ok());
  EXPECT_TRUE(decode_image(encode_pieces(built).value()).ok());
  overflow.add(cell);
  EXPECT_EQ(encode_pieces(built).error().code, ErrorCode::kInvalid);
}

TEST(Image, failure_of_the_source_is_handed_on) {
  const BuiltPieces built = build_pieces(pieces_named("cuckoo"));
  const auto failing = [](const PieceSink&) -> Status {
    return Error{ErrorCode::kStorage, "disk I/O error", 10};
  };
  const Result<Bytes> refused = encode_image(built.header, failing, kNoLimit);
  EXPECT_TRUE(fails(refused, ErrorCode::kStorage));
  EXPECT_EQ(refused.error().storage_code, 10);
}

TEST(Image, headers_out_of_range_are_not_encoded) {
  for (const BadHeader& bad : bad_headers()) {
    BuiltPieces built = build_pieces(pieces_named(bad.name));
    ASSERT_TRUE(encode_pieces(built).ok());
    bad.change(built.header);
    EXPECT_TRUE(fails(encode_pieces(built), ErrorCode::kInvalid)) << bad.what;
  }
  BuiltPieces built = build_pieces(pieces_named("cuckoo"));
  built.header.spec.kind = FilterKind::kBloom;
  EXPECT_EQ(encode_pieces(built).error().message, "image of kind 2, expected 1");
  built = build_pieces(pieces_named("legacy"));
  built.header.with_hashes = true;
  EXPECT_EQ(encode_pieces(built).error().message,
            "image of a murmur2 filter with hashes, expected none");
}

// ---- stored images

std::filesystem::path golden_path(const std::string& name) {
  return source_path("tests/golden/images") / (name + ".image");
}

// The image has ann and flo once, and eve twelve times.
Bytes example_image() {
  BuiltPieces built;
  built.header.spec = {FilterKind::kCuckoo, 0.03};
  built.header.keys = {1, 1, 0};
  built.header.key_types = 4;
  built.header.seed = 1;
  built.header.capacity = 4;
  built.header.with_hashes = true;
  built.pieces.resize(1);
  Piece& piece = built.pieces[0];
  piece.capacity = 4;
  piece.items = 14;
  piece.hashes = {{0x4B6A749287720000, 1}, {0xC391B69EEFD40000, 12}, {0xDAC6F29FB25A0000, 1}};
  piece.filter = make_filter(built.header.spec, 4, kImagePageBytes).value();
  piece.filter->pages().complete();
  const auto builder = piece.filter->builder(3, Filter::Digest::kNone);
  for (const auto& [hash, net] : piece.hashes) {
    builder->insert(hash, static_cast<uint64_t>(net));
  }
  builder->finish();
  return encode_pieces(built).value();
}

TEST(Image, example_has_the_bytes_it_always_had) {
  const Bytes bytes = example_image();
  EXPECT_EQ(test::read_bytes(golden_path("example")), bytes);
  const Image image = must(decode_image(bytes));
  EXPECT_EQ(image.pieces.filter_of(0).count(0xC391B69EEFD40000), 12U);
  EXPECT_EQ(image.pieces.probe(0xDAC6F29FB25A0000), Filter::Answer::kPresent);
  EXPECT_EQ(image.pieces.probe(0x4B6A749287720000), Filter::Answer::kPresent);
  EXPECT_EQ(image.pieces.probe(0x0123456789AA0000), Filter::Answer::kAbsent);
}

// The round trip above reads the same bytes.
TEST(Image, stored_images_are_written_alike) {
  for (const PiecesSample& sample : pieces_samples()) {
    SCOPED_TRACE(sample.name);
    EXPECT_EQ(test::read_bytes(golden_path(sample.name)), pieces_image(sample));
  }
}

// Writes the files that the tests above read. To be run when a sample is added, with
// --gtest_also_run_disabled_tests; files that exist are kept.
TEST(Image, DISABLED_write_files) {
  const auto write = [](const std::string& name, const Bytes& bytes) {
    if (!std::filesystem::exists(golden_path(name))) {
      test::write_bytes(golden_path(name), bytes);
    }
  };
  for (const PiecesSample& sample : pieces_samples()) {
    write(sample.name, pieces_image(sample));
  }
  write("example", example_image());
}

}  // namespace
}  // namespace cuckoo::segments::segments_image_test
