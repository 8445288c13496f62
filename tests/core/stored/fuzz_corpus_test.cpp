// The seeds of the fuzz targets in tests/fuzz: what is there must still get past the first checks,
// or a target starts from nothing. Those of filter_image_fuzz come from image_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/filter/legacy_bloom.hpp"
#include "core/stored/changes.hpp"
#include "core/stored/log.hpp"
#include "core/stored/record.hpp"
#include "tests/core/stored/image_samples.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo {
namespace {

using test::read_bytes;
using test::sample_hash;
using test::write_bytes;
using Bytes = test::ImageBytes;

std::filesystem::path corpus(const char* target) {
  return test::source_path("tests/fuzz/corpus") / target;
}

std::map<std::string, Bytes> seeds_of(const char* target) {
  std::map<std::string, Bytes> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(corpus(target))) {
    seeds.emplace(entry.path().filename().string(), read_bytes(entry.path()).value());
  }
  return seeds;
}

TEST(FuzzCorpus, images_are_accepted) {
  size_t seeds = 0;
  for (const auto& [name, bytes] : seeds_of("filter_image")) {
    const Result<Image> image = decode_image(bytes);
    EXPECT_TRUE(image.ok()) << name << ": " << image.error().message;
    EXPECT_LE(bytes.size(), 1000U) << name;
    ++seeds;
  }
  EXPECT_GE(seeds, test::image_samples().size());
}

// The first byte is the width of the hashes.
TEST(FuzzCorpus, log_rows_are_accepted_and_of_every_kind) {
  std::set<LogRowKind> kinds;
  for (const auto& [name, bytes] : seeds_of("log_row")) {
    ASSERT_FALSE(bytes.empty()) << name;
    const HashWidth width = bytes[0] == std::byte{0} ? HashWidth::k47Bits : HashWidth::k63Bits;
    const Result<LogRow> row = parse_log_row(std::span(bytes).subspan(1), width);
    ASSERT_TRUE(row.ok()) << name << ": " << row.error().message;
    kinds.insert(row.value().header.kind);
  }
  EXPECT_EQ(kinds.size(), 4U);
}

TEST(FuzzCorpus, records_are_accepted) {
  const std::map<std::string, Bytes> seeds = seeds_of("filter_record");
  EXPECT_GE(seeds.size(), 2U);
  for (const auto& [name, bytes] : seeds) {
    const Result<FilterRecord> record = decode_record(bytes);
    EXPECT_TRUE(record.ok()) << name << ": " << record.error().message;
  }
}

TEST(FuzzCorpus, legacy_files_are_accepted) {
  const std::map<std::string, Bytes> seeds = seeds_of("legacy_bloom");
  EXPECT_GE(seeds.size(), 2U);
  for (const auto& [name, bytes] : seeds) {
    const Result<LegacyFile> file = decode_legacy_file(bytes, kImagePageBytes);
    EXPECT_TRUE(file.ok()) << name << ": " << file.error().message;
  }
}

TEST(FuzzCorpus, changes_and_marks_are_accepted) {
  size_t changes = 0;
  size_t others = 0;
  for (const auto& [name, bytes] : seeds_of("filter_changes")) {
    changes += decode_changes(bytes).ok() ? 1 : 0;
    others += decode_mark(bytes).ok() || decode_places(bytes).ok() ? 1 : 0;
  }
  EXPECT_GE(changes, 3U);
  EXPECT_EQ(others, 2U);
}

void write_changes() {
  FilterMark mark;
  mark.capacity = 1000;
  mark.geometry = {263, 19, 7};
  MarkedPlaces places;
  places.last = mark;
  places.places = {{1, 2, 3}, {mark_id(mark), 5, 6}};
  write_bytes(corpus("filter_changes") / "mark", encode_mark(mark));
  write_bytes(corpus("filter_changes") / "places", encode_places(places));
  for (const auto& [kind, width] : {std::pair(FilterKind::kCuckoo, HashWidth::k47Bits),
                                    {FilterKind::kCountingBloom, HashWidth::k63Bits},
                                    {FilterKind::kBloom, HashWidth::k47Bits}}) {
    FilterChanges changes;
    mark.kind = kind;
    mark.width = width;
    changes.from = changes.to = mark;
    changes.to.position = 30;
    std::map<uint64_t, int64_t> hashes;
    for (uint64_t i = 0; i < 30; ++i) {
      hashes[sample_hash(i, width)] = !is_multiset(kind) ? 1
                                      : i % 3 == 0       ? -1
                                      : i % 7 == 1       ? 99
                                                         : 1;
    }
    changes.hashes.assign(hashes.begin(), hashes.end());
    write_bytes(corpus("filter_changes") / traits_of(kind).name, encode_changes(changes));
  }
}

void write_log_rows(HashWidth width) {
  const std::string suffix = width == HashWidth::k47Bits ? "_47" : "_63";
  const auto write = [&](const std::string& name, std::span<const std::byte> row) {
    Bytes seed = {std::byte{width == HashWidth::k63Bits}};
    seed.insert(seed.end(), row.begin(), row.end());
    write_bytes(corpus("log_row") / (name + suffix), seed);
  };
  RawRowBuilder builder(width, 200);
  builder.start(1, 2, 3);
  while (!builder.full()) {
    const uint64_t i = builder.entries();
    builder.append(sample_hash(i / 2, width) | (i % 5 == 3 ? kRemoveBit : 0));
  }
  write("raw", builder.encode());
  std::map<uint64_t, uint64_t> hashes;
  for (uint64_t i = 0; i < 20; ++i) {
    hashes[sample_hash(i, width)] = i % 7 == 3 ? i * i * i * i : 1;
  }
  int row_number = 0;
  CompactedRowWriter writer(width, 150, hashes.size(), 7, [&](std::span<const std::byte> row) {
    write("compacted_" + std::to_string(row_number++), row);
    return Status();
  });
  for (const auto& [hash, count] : hashes) {
    ASSERT_TRUE(writer.add(hash, count).ok());
  }
  ASSERT_TRUE(writer.finish().ok());
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
  file.filter = std::move(make_filter(spec, capacity, kImagePageBytes).value());
  test::add_pages(*file.filter);
  for (uint64_t i = 0; i < keys; ++i) {
    pairs_of(*file.filter).insert_pair(test::sample_pair(i));
  }
  write_bytes(corpus("legacy_bloom") / name, encode_legacy_file(file).value());
}

// To be run when a format has changed, with --gtest_also_run_disabled_tests.
TEST(FuzzCorpus, DISABLED_write_files) {
  write_changes();
  write_log_rows(HashWidth::k47Bits);
  write_log_rows(HashWidth::k63Bits);
  write_legacy_file("empty", 1, 0);
  write_legacy_file("some", 40, 30);
  FilterRecord record;
  record.capacity = 1000;
  record.geometry = {263, 19, 7};
  write_bytes(corpus("filter_record") / "empty", encode_record(record));
  record.options_digest = 0x0102030405060708;
  record.epoch = 3;
  record.start_position = 2;
  record.first_row = 3ULL << 40;
  record.fold_position = 20;
  record.fold_items = 15;
  record.fold_row = (3ULL << 40) + 2;
  record.end_position = 30;
  record.end_items = 17;
  record.end_row = (3ULL << 40) + 3;
  record.occupied = 12;
  record.overflow_cells = 2;
  record.overflow_items = 3;
  write_bytes(corpus("filter_record") / "folded", encode_record(record));
}

}  // namespace
}  // namespace cuckoo
