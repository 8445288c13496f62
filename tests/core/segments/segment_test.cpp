#include "core/segments/segment.hpp"

#include <set>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/support/sealed_blocks.hpp"

namespace cuckoo::segments::segments_segment_test {
namespace {

constexpr unsigned kDepth = 3;
constexpr uint64_t kPrefix = uint64_t{5} << 61;
constexpr uint64_t kNumber = 12;

uint64_t hash_of(uint64_t i) {
  return kPrefix | logged_hash(nth_word(4, i) >> kDepth, HashWidth::k47Bits);
}

// A segment and its list.
class ListedSegment {
 public:
  explicit ListedSegment(std::unique_ptr<Segment> segment) : segment_(std::move(segment)) {}

  Segment* operator->() { return segment_.get(); }
  Segment& operator*() { return *segment_; }
  EntryList& list() { return list_; }

  void append(uint64_t entry, uint64_t copies = 1) { list_.append(entry, copies); }
  void append_and_apply(const Blocks& blocks, uint64_t entry) {
    append(entry);
    expect_ok(apply(blocks));
  }
  Status apply(const Blocks& blocks, bool keeps_hashes = true) {
    CUCKOO_TRY(segment_->load_all(blocks));
    segment_->apply(list_, list_.size(), {.keeps_hashes = keeps_hashes});
    return {};
  }
  Status fold(const FilterOptions& options, const Blocks& blocks, uint64_t position,
              bool keeps_hashes = true) {
    CUCKOO_TRY(apply(blocks, keeps_hashes));
    CUCKOO_ASSIGN_OR_RETURN(
        const std::vector<NetHash> sums,
        sums_of(list_, list_.size(), options.width, segment_->header().depth, options.multiset()));
    CUCKOO_TRY(segment_->fold(blocks, list_, sums, position, keeps_hashes));
    list_ = {};
    return {};
  }
  bool present(const Blocks& blocks, uint64_t hash) {
    if (segment_->applied() < list_.size()) {
      expect_ok(apply(blocks));
    }
    Segment::Answer answer = segment_->probe(hash);
    if (answer == Segment::Answer::kNotLoaded) {
      expect_ok(segment_->load(blocks, hash));
      answer = segment_->probe(hash);
    }
    return answer == Segment::Answer::kPresent;
  }
  Result<std::vector<NetHash>> merged(const Blocks& blocks) {
    return segment_->merged(blocks, list_);
  }
  Status check(const Blocks& blocks, bool keeps_hashes) {
    return segment_->check(blocks, list_, keeps_hashes);
  }

 private:
  std::unique_ptr<Segment> segment_;
  EntryList list_;
};

class SegmentsOfKinds : public ::testing::TestWithParam<FilterKind> {
 protected:
  using Model = std::map<uint64_t, int64_t>;

  static FilterOptions make_options() {
    FilterOptions options{.spec = test::spec_of(GetParam()), .page_bytes = 448};
    return options;
  }
  bool multiset() const { return options.multiset(); }

  ListedSegment make(uint64_t capacity) {
    return ListedSegment(must(Segment::make(options, kPrefix, kDepth, kNumber, capacity)));
  }
  ListedSegment open(const SegmentHeader& header) {
    return ListedSegment(must(Segment::open(options, blocks, header)));
  }
  void change(ListedSegment& segment, uint64_t seed, uint64_t changes) {
    for (uint64_t i = 0; i < changes; ++i) {
      const uint64_t hash = hash_of(nth_word(seed, 2 * i) % 600);
      const bool remove = multiset() && model[hash] > 0 && nth_word(seed, 2 * i + 1) % 3 == 0;
      segment.append(hash | (remove ? kRemoveBit : 0));
      ++position;
      model[hash] = multiset() ? model[hash] + (remove ? -1 : 1) : 1;
    }
  }
  void fold(ListedSegment& segment, bool keeps_hashes = true) {
    ASSERT_STATUS(segment.fold(options, blocks, position, keeps_hashes));
    EXPECT_EQ(segment->header().folded_to, position);
  }
  SegmentHeader flush(ListedSegment& segment) {
    segment->note_written(must(segment->write_to(blocks)));
    return segment->header();
  }
  void expect_model(ListedSegment& segment) {
    for (const auto& [hash, count] : model) {
      if (count > 0) {
        ASSERT_TRUE(segment.present(blocks, hash));
        EXPECT_GE(segment->count(hash), multiset() ? static_cast<uint64_t>(count) : 1);
      }
    }
  }
  std::vector<NetHash> entries_of_model() const {
    std::vector<NetHash> entries;
    for (const auto& [hash, count] : model) {
      if (count > 0) {
        entries.push_back({hash, count});
      }
    }
    return entries;
  }
  int64_t items_of_model() const {
    int64_t items = 0;
    for (const auto& [hash, count] : model) {
      items += count;
    }
    return items;
  }
  // How many entries each stored run has.
  std::vector<uint64_t> stored_runs() {
    std::vector<uint64_t> runs;
    expect_ok(blocks.read(segment_block(kNumber, kFirstRunPart),
                          segment_block(kNumber, kFirstOverflowPart - 1),
                          [&runs](int64_t, std::span<const std::byte> block) -> Status {
                            CUCKOO_ASSIGN_OR_RETURN(const RunBlockHead head, run_block_head(block));
                            if (head.begins) {
                              runs.push_back(0);
                            }
                            runs.back() += head.entries;
                            return {};
                          }));
    return runs;
  }
  // Copies a block to a place where none is.
  void copy_block(int64_t from, int64_t to) {
    expect_ok(blocks.read_one(from, [&](int64_t, std::span<const std::byte> content) {
      return blocks.write(to, content, false);
    }));
  }
  // Appends another run after those that the header tells of.
  void append_run(SegmentHeader& header, std::span<const NetHash> entries) {
    expect_ok(write_run(
        entries, options.width, kDepth, kPrefix, 448, [&](std::span<const std::byte> block) {
          return blocks.write(segment_block(kNumber, kFirstRunPart + header.run_blocks++), block,
                              false);
        }));
    header = test::sealed(blocks, options, header);
  }
  // A segment of some folds, stored; and its header.
  SegmentHeader store_sample(uint64_t folds = 4, uint64_t capacity = 1000) {
    ListedSegment segment = make(capacity);
    for (uint64_t i = 0; i < folds; ++i) {
      change(segment, i, 200);
      fold(segment);
    }
    return flush(segment);
  }

  const FilterOptions options = make_options();
  MemoryBlocks storage;
  const Blocks blocks{storage, options.seed};
  Model model;
  uint64_t position = 100;
};

TEST_P(SegmentsOfKinds, hold_what_is_listed_and_what_was_folded_as_a_model_does) {
  ListedSegment segment = make(1000);
  for (uint64_t i = 0; i < 10; ++i) {
    change(segment, i, 150);
    expect_model(segment);
    fold(segment);
    expect_model(segment);
    if (i % 2 == 0) {
      const SegmentHeader header = flush(segment);
      ListedSegment opened = open(header);
      expect_model(opened);
      EXPECT_STATUS(opened.check(blocks, true));
    }
  }
  if (multiset()) {
    EXPECT_EQ(static_cast<int64_t>(segment->header().items), items_of_model());
  }
}

TEST_P(SegmentsOfKinds, made_anew_of_what_they_merge_hold_the_same) {
  ListedSegment segment = open(store_sample());
  change(segment, 9, 100);
  const std::vector<NetHash> entries = segment.merged(blocks).value();
  storage.rows.clear();
  ListedSegment made = make(2000);
  made->become(entries, position, 5, static_cast<uint64_t>(items_of_model()), true);
  const SegmentHeader header = flush(made);
  EXPECT_EQ(header.run_entries, entries.size());
  ListedSegment opened = open(header);
  expect_model(opened);
  EXPECT_STATUS(opened.check(blocks, true));
}

TEST_P(SegmentsOfKinds, with_another_history_have_another_base_id) {
  std::map<uint64_t, uint64_t> seen;
  for (const bool keeps_hashes : {true, false}) {
    for (uint64_t one = 0; one < 4; ++one) {
      for (uint64_t other = 0; other < 2; ++other) {
        ListedSegment segment = make(1000);
        for (const uint64_t i : {one, 10 + other}) {
          segment.append(hash_of(i));
          fold(segment, keeps_hashes);
        }
        ++seen[segment->header().base_id];
      }
      ListedSegment segment = make(1000);
      const NetHash entry{hash_of(one), 1};
      segment->become(std::span(&entry, 1), 50, 0, 1, keeps_hashes);
      ++seen[segment->header().base_id];
    }
  }
  EXPECT_EQ(seen.size(), 24u) << "I4";
  for (const bool keeps_hashes : {true, false}) {
    std::set<uint64_t> orders;
    for (uint64_t order = 0; order < 3; ++order) {
      ListedSegment segment = make(1000);
      for (uint64_t i = 0; i < 3; ++i) {
        segment.append(hash_of((i + order) % 3));
      }
      fold(segment, keeps_hashes);
      orders.insert(segment->header().base_id);
    }
    EXPECT_EQ(orders.size(), 3u) << "I4: pages follow from the order, too";
  }
}

TEST_P(SegmentsOfKinds, read_only_the_pages_that_a_hash_needs) {
  const SegmentHeader header = store_sample();
  ListedSegment segment = open(header);
  ASSERT_EQ(header.pages, segment->filter().pages().page_count());
  storage.calls = {};
  (void)segment.present(blocks, hash_of(1));
  EXPECT_LE(storage.calls.blocks_read, segment->filter().places_per_key());
  storage.calls = {};
  (void)segment.present(blocks, hash_of(1));
  EXPECT_EQ(storage.calls.reads, 0u);
}

TEST_P(SegmentsOfKinds, never_take_a_lost_page_for_an_empty_one) {
  for (const uint64_t capacity : {300u, 3000u, 100000u}) {  // all pages are there … few are
    storage.rows.clear();
    model.clear();
    const SegmentHeader header = store_sample(1, capacity);
    const MemoryBlocks::Rows good = storage.rows;
    for (const auto& row : good) {
      if (row.first >= segment_block(kNumber, kFirstRunPart)) {
        continue;
      }
      storage.rows = good;
      storage.rows.erase(row.first);
      ListedSegment segment = open(header);
      bool failed = false;
      for (const auto& [hash, count] : model) {
        failed = failed || !segment->load(blocks, hash).ok();
        ASSERT_TRUE(failed || count <= 0 || segment->probe(hash) == Segment::Answer::kPresent)
            << "I2";
      }
      EXPECT_TRUE(failed);
    }
  }
}

TEST_P(SegmentsOfKinds, a_check_finds_runs_that_are_not_in_the_pages) {
  ListedSegment segment = make(1000);
  change(segment, 1, 100);
  fold(segment);
  SegmentHeader header = flush(segment);
  segment.append(hash_of(100000));
  fold(segment);
  const SegmentHeader later = flush(segment);
  EXPECT_TRUE(open(later).check(blocks, true).ok());
  // The segment gets the pages from before the second fold, and the runs from after it.
  MemoryBlocks::Rows rows = storage.rows;
  storage.rows.clear();
  model.clear();
  position = 100;
  ListedSegment again = make(1000);
  change(again, 1, 100);
  fold(again);
  header = flush(again);
  for (uint32_t i = header.run_blocks; i < later.run_blocks; ++i) {
    const int64_t id = segment_block(kNumber, kFirstRunPart + i);
    storage.rows[id] = rows.at(id);
  }
  header.run_blocks = later.run_blocks;
  header.run_entries = later.run_entries;
  EXPECT_FALSE(open(test::sealed(blocks, options, header)).check(blocks, true).ok());
}

TEST_P(SegmentsOfKinds, a_hostile_header_is_corrupt_and_takes_little_memory) {
  const SegmentHeader good = store_sample();
  const auto opened = [&](auto&& change) {
    SegmentHeader header = good;
    change(header);
    auto made = Segment::open(options, blocks, header);
    EXPECT_TRUE(made.ok() || made.error().code == ErrorCode::kCorrupt);
    return made.ok();
  };
  EXPECT_TRUE(opened([](SegmentHeader&) {}));
  for (unsigned bit = 0; bit < 64; ++bit) {
    const uint64_t word = uint64_t{1} << bit;
    (void)opened([&](SegmentHeader& h) { h.size = word; });
    (void)opened([&](SegmentHeader& h) {
      h.size = word;
      h.capacity = uint64_t{1} << 40;
    });
    (void)opened([&](SegmentHeader& h) { h.shape = static_cast<uint32_t>(word); });
    (void)opened([&](SegmentHeader& h) { h.detail = static_cast<uint32_t>(word); });
  }
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.size = UINT64_MAX; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.size = uint64_t{1} << 60; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.size = 0; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.capacity = uint64_t{1} << 40; }))
      << "it would be made anew for so many";
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.occupied = uint64_t{1} << 50; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.pages = 1000; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.pages = 0; })) << "though there are some";
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.overflow_items = 1; }));
  EXPECT_FALSE(opened([](SegmentHeader& h) { h.overflow_blocks += 1; }));
}

TEST_P(SegmentsOfKinds, sums_in_runs_that_overflow_are_corrupt) {
  SegmentHeader header = store_sample();
  const NetHash large[] = {{hash_of(1), kMostNet}};
  for (uint32_t i = 0; i < 20; ++i) {
    append_run(header, large);
    ++header.run_entries;
  }
  ListedSegment segment = open(header);
  const Result<std::vector<NetHash>> merged = segment.merged(blocks);
  EXPECT_EQ(merged.ok(), !multiset());
  EXPECT_FALSE(segment.check(blocks, true).ok() && multiset());
}

TEST_P(SegmentsOfKinds, a_page_that_takes_a_missing_one_s_place_is_found) {
  ListedSegment segment = make(50000);  // most of its pages have no block
  change(segment, 1, 3);
  fold(segment);
  const SegmentHeader header = flush(segment);
  const int64_t from = storage.rows.lower_bound(segment_block(kNumber, 0))->first;
  ASSERT_LT(from, segment_block(kNumber, kFirstRunPart));
  int64_t to = from;
  while (storage.rows.contains(to)) {
    ++to;
  }
  copy_block(from, to);
  storage.rows.erase(from);
  EXPECT_TRUE(fails(open(header)->load_all(blocks), ErrorCode::kCorrupt, "of another time"));
}

TEST_P(SegmentsOfKinds, have_runs_that_get_shorter_and_few_of_them) {
  ListedSegment segment = make(100000);
  uint64_t key = 0;
  size_t most = 0;
  for (uint64_t i = 0; i < 150; ++i) {
    for (uint64_t added = 0; added < 40; ++added) {
      segment.append(hash_of(key++));
    }
    ++position;
    fold(segment);
    if (i % 3 != 0) {
      continue;  // the next fold merges runs that are not written yet
    }
    const SegmentHeader header = flush(segment);
    EXPECT_EQ(header.run_entries, key);
    const std::vector<uint64_t> runs = stored_runs();
    for (size_t at = 0; at + 1 < runs.size(); ++at) {
      EXPECT_GT(runs[at], 4 * runs[at + 1]) << "I6";
    }
    most = std::max(most, runs.size());
    EXPECT_TRUE(open(header).check(blocks, true).ok());
  }
  EXPECT_GE(most, 3u);
  EXPECT_LE(most, 5u) << "of some that are five times as long each, up to 6000 entries";
}

TEST_P(SegmentsOfKinds, I3_a_check_counts_what_was_applied_with_the_runs) {
  ListedSegment segment = make(1000);
  for (uint64_t i = 0; i < 300; ++i) {
    segment.append_and_apply(blocks, hash_of(i % 200));
    if (multiset() && i % 3 == 0) {
      segment.append_and_apply(blocks, hash_of(i % 200) | kRemoveBit);
    }
    if (i % 100 == 99) {
      expect_ok(segment.check(blocks, true));
      fold(segment);
      expect_ok(segment.check(blocks, true));
    }
  }
  segment.append_and_apply(blocks, hash_of(200));
  expect_ok(segment.check(blocks, true));
  segment.list() = {};  // what is in the pages, and in no run
  segment.list().append(hash_of(201));
  EXPECT_TRUE(fails(segment.check(blocks, true), ErrorCode::kCorrupt, "pages (I3)"));
}

// Whatever the portions are in which a list is applied, the pages are the same.
TEST_P(SegmentsOfKinds, I7_pages_follow_from_the_list_and_not_from_its_portions) {
  const SegmentHeader header = store_sample(2, 400);
  std::optional<ListedSegment> whole;
  for (const size_t portion : {100000u, 1u, 7u, 300u}) {
    ListedSegment segment = open(header);
    const Model before = model;
    change(segment, 77, 900);
    model = before;
    expect_ok(segment->load_all(blocks));
    uint64_t fresh = 0;
    while (segment->applied() < segment.list().size()) {
      const size_t end = std::min(segment.list().size(), segment->applied() + portion);
      fresh += segment->apply(segment.list(), end, {});
    }
    EXPECT_TRUE(segment->outgrew()) << "I8";
    if (whole) {
      expect_ok((*whole)->expect_same(*segment));
    } else {
      whole.emplace(std::move(segment));
    }
  }
}

TEST_P(SegmentsOfKinds, I7_a_check_finds_what_memory_has_and_the_log_has_not) {
  const SegmentHeader header = store_sample();
  ListedSegment segment = open(header);
  ListedSegment other = open(header);
  expect_ok(segment.apply(blocks));
  expect_ok(other.apply(blocks));
  expect_ok(segment->expect_same(*other));
  other.append(hash_of(1000));
  expect_ok(other.apply(blocks));
  EXPECT_TRUE(fails(segment->expect_same(*other), ErrorCode::kCorrupt));
  segment.append(hash_of(1001));
  expect_ok(segment.apply(blocks));
  EXPECT_TRUE(fails(segment->expect_same(*other), ErrorCode::kCorrupt, "(I7"));
}

TEST_P(SegmentsOfKinds, a_check_finds_a_run_that_was_not_merged) {
  ListedSegment segment = make(1000);
  for (uint64_t i = 0; i < 100; ++i) {
    segment.append(hash_of(i));
  }
  fold(segment);
  const SegmentHeader header = flush(segment);
  ASSERT_EQ(stored_runs(), std::vector<uint64_t>{100});
  // The same entries as two runs, the second of which has a fifth of them.
  std::vector<NetHash> entries = open(header).merged(blocks).value();
  ASSERT_EQ(entries.size(), 100u);
  const auto checked = [&](size_t first) {
    SegmentHeader two = header;
    expect_ok(
        blocks.erase(segment_block(kNumber, kFirstRunPart), segment_block(kNumber, kEndPart - 1)));
    two.run_blocks = 0;
    for (const auto& part : {std::span(entries).first(first), std::span(entries).subspan(first)}) {
      append_run(two, part);
    }
    return open(two).check(blocks, true);
  };
  EXPECT_TRUE(checked(81).ok());
  EXPECT_TRUE(fails(checked(80), ErrorCode::kCorrupt, "should have been merged"));
}

TEST_P(SegmentsOfKinds, whose_hashes_are_all_removed_have_no_run_left) {
  if (!multiset()) {
    return;
  }
  ListedSegment segment = make(1000);
  for (const uint64_t remove : {uint64_t{0}, kRemoveBit}) {
    for (uint64_t i = 0; i < 300; ++i) {
      segment.append(hash_of(i) | remove);
    }
    position += 300;
    fold(segment);
    const SegmentHeader header = flush(segment);
    EXPECT_EQ(header.run_entries, remove == 0 ? 300u : 0u);
    EXPECT_EQ(header.dead, 0u);
    EXPECT_EQ(stored_runs().size(), remove == 0 ? 1u : 0u);
    EXPECT_TRUE(open(header).check(blocks, true).ok());
  }
}

// A key that is added again and again, or comes and goes, leaves its count in one run.
TEST_P(SegmentsOfKinds, count_no_entry_as_dead_that_a_merge_dropped) {
  ListedSegment segment = make(1000);
  for (uint64_t i = 0; i < 20; ++i) {
    for (uint64_t key = 0; key < 50; ++key) {
      segment.append(hash_of(key) | (multiset() && i % 2 == 1 ? kRemoveBit : 0));
    }
    position += 50;
    fold(segment);
    const SegmentHeader header = flush(segment);
    EXPECT_LE(header.dead, header.run_entries);
    EXPECT_EQ(header.run_entries, multiset() && i % 2 == 1 ? 0u : 50u);
    EXPECT_TRUE(open(header).check(blocks, true).ok());
    EXPECT_EQ(must(open(header)->count_hashes(blocks, {})).hashes, header.run_entries);
  }
}

INSTANTIATE_EACH(Kinds, SegmentsOfKinds, test::kLoggedKinds);

class SegmentOverflow : public ::testing::Test {
 protected:
  // Stores a segment of 30 hashes, each of them 100 times, so that cells overflow.
  void SetUp() override {
    options.page_bytes = 64;
    ListedSegment segment(must(Segment::make(options, 0, 0, kNumber, 3000)));
    for (uint64_t i = 0; i < 3000; ++i) {
      segment.append(test::nth_hash(i % 30));
    }
    ASSERT_STATUS(segment.fold(options, blocks, 3000));
    segment->note_written(must(segment->write_to(blocks)));
    header = segment->header();
    ASSERT_GT(header.overflow_blocks, 2u);
  }

  FilterOptions options;
  MemoryBlocks storage;
  const Blocks blocks{storage, 0};
  SegmentHeader header;
};

TEST_F(SegmentOverflow, is_read_back_and_counted) {
  auto opened = must(Segment::open(options, blocks, header));
  EXPECT_EQ(opened->filter().overflow().items(), header.overflow_items);
  EXPECT_STATUS(opened->check(blocks, {}, true));
}

TEST_F(SegmentOverflow, shrinks_in_storage_as_in_memory) {
  ListedSegment segment(must(Segment::open(options, blocks, header)));
  for (uint64_t i = 0; i < 2950; ++i) {
    segment.append(test::nth_hash(i % 30) | kRemoveBit);
  }
  ASSERT_STATUS(segment.fold(options, blocks, 5950));
  segment->note_written(must(segment->write_to(blocks)));
  const SegmentHeader& later = segment->header();
  EXPECT_LT(later.overflow_blocks, header.overflow_blocks);
  EXPECT_EQ(static_cast<uint32_t>(
                std::distance(storage.rows.lower_bound(segment_block(kNumber, kFirstOverflowPart)),
                              storage.rows.lower_bound(segment_block(kNumber, kFirstSumsPart)))),
            later.overflow_blocks);
  EXPECT_STATUS(segment.check(blocks, true));
}

}  // namespace
}  // namespace cuckoo::segments::segments_segment_test
