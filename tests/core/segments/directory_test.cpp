#include "core/segments/directory.hpp"

#include <set>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"

namespace cuckoo::segments::segments_directory_test {
namespace {

FilterOptions make_options() {
  FilterOptions options;
  options.page_bytes = 448;  // three headers a page
  options.seed = 9;
  return options;
}

SegmentHeader header_of(const Directory::Leaf& leaf, uint64_t number) {
  SegmentHeader header;
  header.prefix = leaf.prefix;
  header.depth = static_cast<uint8_t>(leaf.depth);
  header.number = number;
  header.capacity = 100;
  return header;
}

// S1, I1
void expect_partition(const Directory& directory) {
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t hash = nth_word(3, i);
    size_t found = 0;
    for (size_t at = 0; at < directory.size(); ++at) {
      const Directory::Leaf& leaf = directory.leaf(at);
      EXPECT_LE(leaf.depth, directory.depth());
      const bool has = leaf.depth == 0 || (hash ^ leaf.prefix) >> (64 - leaf.depth) == 0;
      EXPECT_EQ(has, directory.leaf_of(hash) == at);
      found += has ? 1 : 0;
    }
    EXPECT_EQ(found, 1u);
  }
}

class SegmentDirectory : public ::testing::Test {
 protected:
  // Gives each leaf a header and writes all pages.
  void store(unsigned first_depth) {
    root = {};
    root.capacity = 900;
    root.first_depth = first_depth;
    root.leaves = directory.size();
    const uint64_t per_page = Directory::leaves_per_page(options.page_bytes);
    Directory::WrittenLeaves fresh;
    for (size_t i = 0; i < directory.size(); ++i) {
      fresh.push_back({i, {header_of(directory.leaf(i), root.next_number++), {}}});
    }
    for (uint64_t page = 0; page * per_page < directory.size(); ++page) {
      const Bytes content = directory.encode_page(page, fresh);
      ASSERT_STATUS(
          blocks.write(kFirstDirectoryBlock + static_cast<int64_t>(page), content, false));
      root.pages_hash += Directory::hash_of_page(page, content);
    }
    for (const auto& [index, stored] : fresh) {
      directory.leaf(index).header = stored.header;
    }
  }
  // Nine leaves of different depths, stored.
  void store_sample() {
    directory.start(1);
    (void)directory.split(0, 2);
    (void)directory.split(3, 2);
    (void)directory.split(1, 1);
    store(1);
  }
  bool refused() {
    Directory other(options);
    const Status status = other.read(blocks, root, {}).take_status();
    EXPECT_TRUE(status.ok() || (fails(status, ErrorCode::kCorrupt) && other.size() == 0));
    return !status.ok();
  }
  // Writes a page whose slot i has header number i of these; An empty header {} becomes zeros.
  // Empty headers at the end are left out.
  void write_page(int64_t page, std::vector<SegmentHeader> headers) {
    while (headers.size() > 1 && headers.back().number == 0) {
      headers.pop_back();
    }
    Bytes content(headers.size() * kSegmentHeaderBytes);
    for (size_t i = 0; i < headers.size(); ++i) {
      if (headers[i].number != 0) {
        encode_segment_header(headers[i], std::span(content).subspan(i * kSegmentHeaderBytes));
      }
    }
    const int64_t id = kFirstDirectoryBlock + page;
    ASSERT_TRUE(blocks.write(id, content, storage.rows.contains(id)).ok());
    root.pages_hash = hash_of_pages();
  }
  uint64_t hash_of_pages() const {
    uint64_t sum = 0;
    expect_ok(blocks.read(kFirstDirectoryBlock, kFirstDirectoryBlock + kMaxDirectoryPages - 1,
                          [&](int64_t id, std::span<const std::byte> content) {
                            sum += Directory::hash_of_page(
                                static_cast<uint64_t>(id - kFirstDirectoryBlock), content);
                            return Status();
                          }));
    return sum;
  }

  const FilterOptions options = make_options();
  MemoryBlocks storage;
  const Blocks blocks{storage, options.seed};
  Directory directory{options};
  Root root;
};

TEST_F(SegmentDirectory, is_a_partition_at_any_first_depth) {
  for (const unsigned depth : {0u, 1u, 5u}) {
    directory.start(depth);
    EXPECT_EQ(directory.size(), size_t{1} << depth);
    expect_partition(directory);
  }
}

TEST_F(SegmentDirectory, is_a_partition_after_any_splits) {
  directory.start(0);
  for (uint64_t i = 0; i < 60; ++i) {
    const size_t index = nth_word(8, i) % directory.size();
    const unsigned bits = std::min(directory.most_bits(index), 1 + static_cast<unsigned>(i % 3));
    const uint64_t prefix = directory.leaf(index).prefix;
    const size_t before = directory.size();
    const std::vector<size_t> pieces = directory.split(index, bits);
    EXPECT_EQ(pieces.size(), size_t{1} << bits);
    EXPECT_EQ(pieces[0], index);
    EXPECT_EQ(directory.leaf(index).prefix, prefix);
    EXPECT_EQ(directory.size(), before + pieces.size() - 1);
    for (size_t piece = 1; piece < pieces.size(); ++piece) {
      EXPECT_GT(directory.leaf(pieces[piece]).prefix, directory.leaf(pieces[piece - 1]).prefix);
    }
  }
  expect_partition(directory);
}

TEST_F(SegmentDirectory, is_never_much_deeper_than_its_leaves_need) {
  directory.start(0);
  for (int i = 0; i < 200; ++i) {  // always the first: as if all keys began alike
    const unsigned bits = std::min(directory.most_bits(0), 1u);
    (void)directory.split(0, bits);
  }
  EXPECT_LE(directory.depth(), 12u);
  EXPECT_EQ(directory.most_bits(0), 0u);
  expect_partition(directory);
}

TEST_F(SegmentDirectory, I5_knows_the_leaf_with_the_oldest_pending_entry) {
  directory.start(3);
  EXPECT_EQ(directory.oldest(), Directory::Leaf::kNone);
  directory.append(5, 10, 2, 1);
  directory.append(2, 11, 2, 1);
  directory.append(5, 12, 2, 1);
  directory.append(7, 13, 2, 1);
  EXPECT_EQ(directory.oldest(), 5u);
  EXPECT_EQ(directory.leaf(5).first_pending, 10u);
  expect_ok(directory.check());
  directory.note_folded(2);
  directory.note_folded(2);
  directory.note_folded(5);
  EXPECT_EQ(directory.oldest(), 7u);
  directory.append(5, 14, 2, 1);
  directory.note_folded(7);
  EXPECT_EQ(directory.oldest(), 5u);
  expect_ok(directory.check());
  directory.leaf(7).pending.append(2);
  EXPECT_TRUE(fails(directory.check(), ErrorCode::kCorrupt, "(I5)")) << "it is not linked";
  directory.leaf(7).pending.clear();
  expect_ok(directory.check());
  directory.leaf(5).pending.append(2);
  EXPECT_TRUE(fails(directory.check(), ErrorCode::kCorrupt, "1 pending")) << "it is not counted";
  const std::vector<EntryList> lists = directory.take_pending();
  EXPECT_EQ(lists[5].size(), 2u);
  EXPECT_TRUE(lists[7].empty());
  EXPECT_EQ(directory.oldest(), Directory::Leaf::kNone);
}

TEST_F(SegmentDirectory, reads_back_what_was_stored) {
  store_sample();
  Directory other(options);
  ASSERT_TRUE(must(other.read(blocks, root, {})));
  ASSERT_EQ(other.size(), directory.size());
  EXPECT_EQ(other.depth(), directory.depth());
  for (size_t i = 0; i < other.size(); ++i) {
    EXPECT_EQ(*other.leaf(i).header, *directory.leaf(i).header);
    EXPECT_NE(other.page_hash(i / 3), 0u);
  }
  expect_partition(other);
}

TEST_F(SegmentDirectory, keeps_what_is_in_memory_of_leaves_that_did_not_change) {
  store_sample();
  Directory other(options);
  ASSERT_TRUE(other.read(blocks, root, {}).ok());
  for (const size_t i : {4u, 1u, 0u}) {
    for (size_t entry = 0; entry <= i; ++entry) {
      other.append(i, 100 - i + entry, 2 * entry, 1);
    }
  }
  EXPECT_EQ(other.pending_entries(), 8u);
  SegmentHeader changed = *other.leaf(4).header;
  changed.folded_to = 50;
  write_page(1, {*other.leaf(3).header, changed, *other.leaf(5).header});
  ASSERT_TRUE(must(other.read(blocks, root, {50, 0})));
  EXPECT_EQ(other.leaf(0).pending.size(), 1u);
  EXPECT_EQ(other.leaf(1).pending.size(), 2u);
  EXPECT_TRUE(other.leaf(4).pending.empty());
  EXPECT_EQ(other.oldest(), 1u) << "by position";
  expect_ok(other.check());
  EXPECT_EQ(other.pending_entries(), 3u);
  EXPECT_EQ(other.folded_to(), 50u);
}

// Memory saw a fold that was undone later. The entries of the fold are pending again, but memory
// has dropped them.
TEST_F(SegmentDirectory, says_when_a_leaf_lacks_entries_that_are_pending_again) {
  store_sample();
  Directory other(options);
  SegmentHeader header = *directory.leaf(4).header;
  for (const auto& [folded_to, known, complete] :
       {std::tuple(50, 0, true), {50, 50, true}, {90, 90, true}, {50, 90, false}, {50, 90, true}}) {
    header.folded_to = static_cast<uint64_t>(folded_to);
    write_page(1, {*directory.leaf(3).header, header, *directory.leaf(5).header});
    EXPECT_EQ(must(other.read(blocks, root, {static_cast<uint64_t>(known), 0})), complete)
        << folded_to << " " << known;
  }
  Directory untouched(options);
  root = {};
  root.first_depth = 1;
  root.leaves = 2;
  storage.rows.clear();
  untouched.start(1);
  EXPECT_TRUE(must(untouched.read(blocks, root, {90, 0}))) << "nothing was ever in its leaves";
  EXPECT_FALSE(must(untouched.read(blocks, root, {90, 50}))) << "or it was dropped since";
}

// A leaf without a header has no entries from before the root's folded_to, whatever became of it.
TEST_F(SegmentDirectory, forgets_entries_of_leaves_without_headers_that_were_folded) {
  for (const uint64_t folded_to : {0, 5, 6}) {
    Directory directory(options);
    directory.start(1);
    directory.append(1, 5, 2, 1);
    root = {};
    root.first_depth = 1;
    root.leaves = 2;
    root.folded_to = folded_to;
    ASSERT_TRUE(directory.read(blocks, root, {}).ok());
    EXPECT_EQ(directory.pending_entries(), folded_to == 6 ? 0 : 1);
    EXPECT_EQ(directory.oldest(), folded_to == 6 ? Directory::Leaf::kNone : 1);
    EXPECT_EQ(directory.leaf(1).pending.empty(), folded_to == 6);
  }
}

TEST_F(SegmentDirectory, takes_leaves_that_are_a_partition_and_no_others) {
  directory.start(0);
  const auto leaf_of = [](uint64_t index, unsigned depth) {
    Directory::Leaf leaf;
    leaf.prefix = depth == 0 ? 0 : index << (64 - depth);
    leaf.depth = depth;
    return leaf;
  };
  std::vector<Directory::Leaf> leaves;
  leaves.push_back(leaf_of(0, 1));
  leaves.push_back(leaf_of(2, 2));
  EXPECT_FALSE(directory.assign(std::move(leaves)).ok());
  EXPECT_EQ(directory.size(), 1);
  leaves.clear();
  leaves.push_back(leaf_of(1, 1));  // in any order
  leaves.push_back(leaf_of(1, 2));
  leaves.push_back(leaf_of(0, 2));
  ASSERT_TRUE(directory.assign(std::move(leaves)).ok());
  EXPECT_EQ(directory.size(), 3);
  expect_partition(directory);
  EXPECT_EQ(directory.page_hash(0), 0u);
}

TEST_F(SegmentDirectory, a_failed_read_changes_nothing) {
  store_sample();
  Directory other(options);
  ASSERT_TRUE(other.read(blocks, root, {}).ok());
  other.append(1, 7, 2, 1);
  storage.rows.erase(kFirstDirectoryBlock + 1);
  ASSERT_FALSE(other.read(blocks, root, {}).ok());
  EXPECT_EQ(other.size(), directory.size());
  EXPECT_EQ(other.oldest(), 1u);
  expect_partition(other);
}

TEST_F(SegmentDirectory, each_lost_page_is_found) {
  store_sample();
  const MemoryBlocks::Rows good = storage.rows;
  EXPECT_FALSE(refused());
  for (const auto& row : good) {
    storage.rows = good;
    storage.rows.erase(row.first);
    EXPECT_TRUE(refused()) << block_name(row.first);
  }
}

TEST_F(SegmentDirectory, headers_that_are_no_partition_are_corrupt) {
  store_sample();
  const std::vector<SegmentHeader> page = {*directory.leaf(0).header, *directory.leaf(1).header,
                                           *directory.leaf(2).header};
  const auto refused_with = [&](size_t slot, auto&& change) {
    std::vector<SegmentHeader> changed = page;
    change(changed[slot]);
    write_page(0, changed);
    return refused();
  };
  EXPECT_FALSE(refused_with(0, [](SegmentHeader&) {}));
  EXPECT_TRUE(refused_with(0, [](SegmentHeader& h) { ++h.depth; })) << "a gap";
  EXPECT_TRUE(refused_with(2, [](SegmentHeader& h) { --h.depth; })) << "an overlap";
  EXPECT_TRUE(refused_with(1, [](SegmentHeader& h) { h.prefix = 0; })) << "twice";
  EXPECT_TRUE(refused_with(1, [](SegmentHeader& h) { h = {}; })) << "none";
  EXPECT_TRUE(refused_with(2, [](SegmentHeader& h) { h.number = 1000; })) << "of the future";
}

TEST_F(SegmentDirectory, a_hostile_root_takes_little_memory_and_is_corrupt) {
  store_sample();
  const Root good = root;
  const auto refused_with = [&](auto&& change) {
    root = good;
    change(root);
    return !decode_root(encode_root(root)).ok() || refused();
  };
  EXPECT_FALSE(refused_with([](Root&) {}));
  EXPECT_TRUE(refused_with([](Root& r) { r.leaves = uint64_t{1} << 26; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.leaves = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.leaves = 8; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_depth = 17; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_depth = 16; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_depth = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { ++r.pages_hash; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.next_number = 0; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.next_number = 2; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.capacity = 0; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.folded_to = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_row = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_position = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.pending_row = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.pending_position = UINT64_MAX; }));
  EXPECT_TRUE(refused_with([](Root& r) { r.first_row = 1; })) << "behind the pending one";
  EXPECT_TRUE(refused_with([](Root& r) { r.first_position = 1; })) << "behind the pending one";
  EXPECT_TRUE(refused_with([](Root& r) { r.hashless = 2; }));
}

TEST_F(SegmentDirectory, a_page_far_away_is_corrupt) {
  store_sample();
  SegmentHeader header = *directory.leaf(0).header;
  write_page(kMaxDirectoryPages - 1, {header});
  EXPECT_TRUE(refused());
  root.leaves = uint64_t{1} << 26;
  EXPECT_TRUE(refused());
}

TEST(SegmentRoot, decodes_to_what_was_encoded) {
  Root root;
  root.options_digest = 1;
  root.directory_version = ~uint64_t{0};
  root.next_number = 3;
  root.first_depth = 2;
  root.capacity = 5;
  root.leaves = 6;
  root.pages_hash = 7;
  root.window_hash = 8;
  root.first_row = 9;
  root.first_position = 10;
  root.folded_to = 14;
  root.pending_row = 12;
  root.pending_position = 13;
  root.key_types = 11;
  root.hashless = 1;
  const Bytes content = encode_root(root);
  EXPECT_EQ(must(decode_root(content)), root);
  for (size_t bytes = 0; bytes < content.size(); ++bytes) {
    EXPECT_FALSE(decode_root(std::span(content).first(bytes)).ok());
  }
  for (size_t at = 0; at < 8; ++at) {
    Bytes changed = content;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(decode_root(changed).ok()) << "magic and version";
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_directory_test
