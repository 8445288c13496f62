// The seeds of the fuzz targets in tests/fuzz: what is there must still get past the first checks,
// or a target starts from nothing.
#include <set>

#include "core/segments/changes.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/message_part.hpp"
#include "tests/core/segments/image_samples.hpp"
#include "tests/core/segments/log_rows.hpp"
#include "tests/core/segments/window_samples.hpp"
#include "tests/support/changes.hpp"
#include "tests/support/sample_bytes.hpp"

namespace cuckoo::segments::segments_fuzz_corpus_test {
namespace {

std::filesystem::path corpus(const char* target) {
  return test::source_path("tests/fuzz/corpus") / target;
}

std::map<std::string, Bytes> seeds_of(const char* target) {
  std::map<std::string, Bytes> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(corpus(target))) {
    seeds.emplace(entry.path().filename().string(), test::read_bytes(entry.path()).value());
  }
  return seeds;
}

void write_seed(const char* target, const std::string& name, std::span<const std::byte> bytes) {
  test::write_bytes(corpus(target) / name, {bytes.begin(), bytes.end()});
}

HashWidth width_of(std::byte choice) {
  return (choice & std::byte{1}) == std::byte{0} ? HashWidth::k47Bits : HashWidth::k63Bits;
}

std::byte choice_of(HashWidth width) { return std::byte{width == HashWidth::k63Bits}; }

constexpr HashWidth kWidths[] = {HashWidth::k47Bits, HashWidth::k63Bits};

std::string suffix_of(HashWidth width) { return width == HashWidth::k47Bits ? "_47" : "_63"; }

// Makes the prefix as the fuzz target does.
uint64_t prefix_of(unsigned depth) {
  return depth == 0 ? 0 : kGoldenStep >> (64 - depth) << (64 - depth);
}

TEST(FuzzCorpus, images_are_accepted) {
  const std::map<std::string, Bytes> seeds = seeds_of("filter_image");
  for (const auto& [name, bytes] : seeds) {
    EXPECT_STATUS(decode_image(bytes).take_status()) << name;
    EXPECT_LE(bytes.size(), 1500U) << name;
  }
  EXPECT_GE(seeds.size(), test::pieces_samples().size());
}

// The first byte is the width of the hashes.
TEST(FuzzCorpus, log_rows_are_accepted_and_of_every_width) {
  std::set<HashWidth> widths;
  for (const auto& [name, bytes] : seeds_of("log_row")) {
    ASSERT_FALSE(bytes.empty()) << name;
    ASSERT_STATUS(
        segments::parse_log_row(std::span(bytes).subspan(1), width_of(bytes[0])).take_status())
        << name;
    widths.insert(width_of(bytes[0]));
  }
  EXPECT_EQ(widths.size(), 2U);
}

// The first bytes are width and depth; each block stands behind its length.
TEST(FuzzCorpus, blocks_of_runs_are_accepted) {
  std::set<std::byte> choices;
  for (const auto& [name, bytes] : seeds_of("run_block")) {
    ASSERT_GT(bytes.size(), 4U) << name;
    const auto depth = std::to_integer<unsigned>(bytes[1]);
    std::vector<NetHash> entries;
    uint64_t previous = prefix_of(depth);
    for (size_t at = 2; at < bytes.size();) {
      const auto length = load_le<uint16_t>(&bytes[at]);
      ASSERT_LE(at + 2 + length, bytes.size()) << name;
      bool begins = false;
      ASSERT_STATUS(decode_run_block(std::span(bytes).subspan(at + 2, length), width_of(bytes[0]),
                                     depth, prefix_of(depth), previous, entries, begins))
          << name;
      at += 2 + length;
    }
    EXPECT_GT(entries.size(), 20U) << name;
    choices.insert(bytes[0]);
  }
  EXPECT_EQ(choices.size(), 2U);
}

TEST(FuzzCorpus, roots_and_headers_of_segments_are_accepted) {
  size_t roots = 0;
  size_t headers = 0;
  for (const auto& [name, bytes] : seeds_of("filter_directory")) {
    const size_t root_bytes = encode_root({}).size();
    if (name != "header") {
      ASSERT_GE(bytes.size(), root_bytes) << name;
      EXPECT_STATUS(decode_root(std::span(bytes).first(root_bytes)).take_status()) << name;
      ++roots;
    } else {
      ASSERT_EQ(bytes.size(), kSegmentHeaderBytes) << name;
      EXPECT_TRUE(decode_segment_header(bytes).ok()) << name;
      ++headers;
    }
  }
  EXPECT_GE(roots, 3U);
  EXPECT_GE(headers, 1U);
}

TEST(FuzzCorpus, edits_of_filters_are_of_each_kind) {
  std::set<int> kinds;
  for (const auto& [name, bytes] : seeds_of("filter_file")) {
    ASSERT_EQ(bytes.size() % 4, 1U) << name;
    kinds.insert(std::to_integer<int>(bytes[0]) % 4);
  }
  EXPECT_EQ(kinds.size(), 4U);
}

TEST(FuzzCorpus, legacy_files_are_accepted) {
  const std::map<std::string, Bytes> seeds = seeds_of("legacy_bloom");
  EXPECT_GE(seeds.size(), 2U);
  for (const auto& [name, bytes] : seeds) {
    EXPECT_STATUS(decode_legacy_file(bytes, kImagePageBytes).take_status()) << name;
  }
}

TEST(FuzzCorpus, changes_and_marks_are_accepted) {
  size_t changes = 0;
  size_t parts = 0;
  size_t others = 0;
  for (const auto& [name, bytes] : seeds_of("filter_changes")) {
    changes += decode_changes(bytes, kImagePageBytes).ok() ? 1 : 0;
    parts += decode_part(bytes).ok() ? 1 : 0;
    others += decode_mark(bytes).ok() ? 1 : 0;
  }
  EXPECT_GE(changes, 3U);
  EXPECT_GE(parts, 3U);
  EXPECT_EQ(others, 1U);
}

TEST(FuzzCorpus, messages_of_windows_are_accepted) {
  const std::map<std::string, Bytes> seeds = seeds_of("window_message");
  for (const auto& [name, bytes] : seeds) {
    EXPECT_TRUE(decode_window_message(bytes, kImagePageBytes, true).ok() ||
                decode_window_mark(bytes).ok())
        << name;
    EXPECT_LE(bytes.size(), 1500U) << name;
  }
  EXPECT_EQ(seeds.size(), test::window_samples().size() + 1);
}

// ---- writing them

void write_changes() {
  FilterMark mark{.seed = 3, .position = 9, .chain = nth_hash(0, 1, HashWidth::k63Bits)};
  write_seed("filter_changes", "mark", encode_mark(mark));
  for (const auto& [kind, width] : {std::pair(FilterKind::kCuckoo, HashWidth::k47Bits),
                                    {FilterKind::kCountingBloom, HashWidth::k63Bits},
                                    {FilterKind::kBloom, HashWidth::k47Bits}}) {
    FilterChanges changes;
    mark.kind = kind;
    mark.width = width;
    changes.from = changes.to = mark;
    changes.items = 100;
    for (uint64_t i = 0; i < 30; ++i) {
      const bool counts = is_multiset(kind);
      changes.entries.append(nth_hash(0, i, width) | (counts && i % 3 == 0 ? kRemoveBit : 0),
                             counts && i % 7 == 1 ? 99 : 1);
    }
    test::lead_to_mark(changes);
    const Bytes bytes = encode_changes(changes, 1 << 20).value();
    write_seed("filter_changes", traits_of(kind).name, bytes);
    write_seed("filter_changes", std::string("part_of_") + traits_of(kind).name,
               encode_part({{7, bytes.size(), 2048}, 0, bytes}));
  }
}

void write_log_row(HashWidth width) {
  std::vector<uint64_t> entries;
  for (uint64_t i = 0; i < 25; ++i) {
    entries.push_back(nth_hash(0, i / 2, width) | (i % 5 == 3 ? kRemoveBit : 0));
  }
  Bytes seed = {choice_of(width)};
  const Bytes row =
      test::encoded_row({1, 2, 3, 4}, entries, width, {{0, 4}, {7, kMostCopies - 1}, {24, 1}});
  seed.insert(seed.end(), row.begin(), row.end());
  write_seed("log_row", "row" + suffix_of(width), seed);
}

// Two runs, each of two blocks or more.
void write_runs(HashWidth width, unsigned depth) {
  Bytes seed = {choice_of(width), static_cast<std::byte>(depth)};
  for (uint64_t run = 0; run < 2; ++run) {
    std::map<uint64_t, int64_t> nets;
    for (uint64_t i = 0; i < 25; ++i) {
      const uint64_t rest = nth_hash(run, i, HashWidth::k63Bits) >> depth;
      nets[logged_hash(prefix_of(depth) | rest, width)] = run == 0 ? 1
                                                          : i % 7 == 3
                                                              ? static_cast<int64_t>(i * i * i * i)
                                                          : i % 5 == 2 ? -1
                                                                       : 1;
    }
    std::vector<NetHash> entries;
    for (const auto& [hash, net] : nets) {
      entries.push_back({hash, net});
    }
    ASSERT_TRUE(write_run(entries, width, depth, prefix_of(depth), 100,
                          [&](std::span<const std::byte> block) {
                            seed.resize(seed.size() + 2);
                            store_le(&seed[seed.size() - 2], static_cast<uint16_t>(block.size()));
                            seed.insert(seed.end(), block.begin(), block.end());
                            return Status();
                          })
                    .ok());
  }
  write_seed("run_block", "runs_" + std::to_string(depth) + suffix_of(width), seed);
}

// Segments of these depths, ascending by prefix, in pages of four.
void write_directory(const char* name, uint64_t first_depth, const std::vector<unsigned>& depths) {
  Root root;
  root.options_digest = 5;
  root.first_depth = first_depth;
  root.next_number = depths.size() + 1;
  root.capacity = 1000;
  root.leaves = std::max<uint64_t>(depths.size(), uint64_t{1} << first_depth);
  Bytes seed = encode_root(root);
  const size_t pages_at = seed.size();
  seed.resize(pages_at + (depths.size() + 3) / 4 * 4 * kSegmentHeaderBytes);
  uint64_t prefix = 0;
  for (size_t i = 0; i < depths.size(); ++i) {
    SegmentHeader header;
    header.prefix = prefix;
    header.depth = static_cast<uint8_t>(depths[i]);
    header.number = i + 1;
    header.capacity = 100;
    header.size = 33;
    header.items = 10 * i;
    const auto at =
        std::span(seed).subspan(pages_at + i * kSegmentHeaderBytes, kSegmentHeaderBytes);
    encode_segment_header(header, at);
    if (i == 1) {
      write_seed("filter_directory", "header", at);
    }
    prefix += depths[i] == 0 ? 0 : uint64_t{1} << (64 - depths[i]);
  }
  write_seed("filter_directory", name, seed);
}

void write_legacy_file(const char* name, uint64_t capacity, uint64_t keys) {
  LegacyFile file;
  file.seed = 77;
  file.items = keys;
  file.capacity = capacity;
  file.rate = 0.01;
  FilterSpec spec;
  spec.kind = FilterKind::kLegacyBloom;
  spec.rate = file.rate;
  file.filter = make_filter(spec, capacity, kImagePageBytes).value();
  file.filter->pages().complete();
  for (uint64_t i = 0; i < keys; ++i) {
    pairs_of(*file.filter).insert_pair(test::piece_pair(i));
  }
  write_seed("legacy_bloom", name, encode_legacy_file(file).value());
}

// To be run when a format has changed, with --gtest_also_run_disabled_tests.
TEST(FuzzCorpus, DISABLED_write_files) {
  write_changes();
  for (const HashWidth width : kWidths) {
    write_log_row(width);
    write_runs(width, 0);
    write_runs(width, 5);
  }
  write_directory("new", 2, {});
  write_directory("one", 0, {0});
  write_directory("several", 1, {2, 2, 1});
  write_directory("pages", 0, {3, 3, 2, 2, 3, 4, 4});
  for (int choice = 0; choice < 32; ++choice) {
    Bytes seed = {static_cast<std::byte>(choice)};
    if (choice % 4 == choice / 8) {  // some edits: a byte, a lost block, two that are swapped
      for (const int byte : {2, 20, 0, 200, 5, 255, 255, 0, 7, 254, 255, 9}) {
        seed.push_back(static_cast<std::byte>(byte));
      }
    }
    write_seed("filter_file", std::to_string(choice), seed);
  }
  for (const test::PiecesSample& sample : test::pieces_samples()) {
    write_seed("filter_image", sample.name, test::pieces_image(sample));
  }
  for (const auto& [name, bytes] : test::window_samples()) {
    write_seed("window_message", name, bytes);
  }
  write_seed("window_message", "mark", encode_window_mark({}));
  write_legacy_file("empty", 1, 0);
  write_legacy_file("some", 40, 30);
}

}  // namespace
}  // namespace cuckoo::segments::segments_fuzz_corpus_test
