#include "core/flash/stored_index.hpp"

#include <set>

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_stored_index_test {
namespace {

// Entries cut into pieces of so many bytes, read from memory.
struct Sample {
  Sample(FlashIndexEntries all, size_t piece_bytes) : entries(std::move(all)) {
    FlashIndexEntries by_hash = entries;
    sort_by_position(by_hash);
    sort_by_hash(by_hash);
    std::span<const FlashIndexEntry> rest = by_hash;
    while (true) {
      Bytes value;
      const size_t count = encode_flash_index(rest, piece_bytes, value);
      if (count == rest.size()) {
        break;
      }
      pieces.push_back({static_cast<uint32_t>(values.size()), rest.front().second,
                        static_cast<uint32_t>(count)});
      values.push_back(std::move(value));
      rest = rest.subspan(count);
    }
    left.assign(rest.begin(), rest.end());
  }

  StoredIndex stored() {
    return StoredIndex(FlashGeometry{}, pieces, left, [this](size_t piece, Bytes& value) {
      ++reads;
      value = values[piece];
      return Status();
    });
  }
  // Makes the piece one of a single entry, at this position.
  void place(size_t piece, uint32_t position) {
    const FlashIndexEntry entry{position, pieces[piece].first_hash};
    values[piece].clear();
    encode_flash_index({&entry, 1}, 100, values[piece]);
    pieces[piece].entries = 1;
  }
  std::set<uint32_t> positions(uint32_t hash) const {
    std::set<uint32_t> positions;
    for (const auto& [position, its_hash] : entries) {
      if (its_hash == hash) {
        positions.insert(position);
      }
    }
    return positions;
  }

  FlashIndexEntries entries;
  std::vector<FlashIndexPiece> pieces;
  std::vector<Bytes> values;
  FlashIndexEntries left;
  int reads = 0;
};

FlashIndexEntries random_entries(size_t count, uint32_t hashes) {
  std::mt19937 random(7);
  FlashIndexEntries entries;
  for (uint32_t i = 0; i < count; ++i) {
    entries.emplace_back(i * 3 + 2, hashes == 0 ? static_cast<uint32_t>(random())
                                                : static_cast<uint32_t>(random() % hashes) * 1000);
  }
  std::shuffle(entries.begin(), entries.end(), random);
  return entries;
}

TEST(StoredIndex, I1_finds_every_entry_and_no_other) {
  for (const auto& [count, hashes] :
       {std::pair<size_t, uint32_t>{0, 0}, {1, 0}, {70, 0}, {5000, 0}, {5000, 40}, {300, 1}}) {
    SCOPED_TRACE(count);
    Sample sample(random_entries(count, hashes), 100);
    StoredIndex stored = sample.stored();
    EXPECT_EQ(stored.size(), count);
    std::set<uint32_t> asked = {0, 1, 999, 1000, 0xFFFFFFFF};
    for (size_t i = 0; i < sample.entries.size(); i += 1 + count / 300) {
      asked.insert(sample.entries[i].second);
      asked.insert(sample.entries[i].second + 1);
    }
    for (const uint32_t hash : asked) {
      std::vector<uint32_t> found;
      ASSERT_STATUS(stored.find(hash, found));
      EXPECT_EQ(std::set<uint32_t>(found.begin(), found.end()), sample.positions(hash)) << hash;
      EXPECT_EQ(found.size(), sample.positions(hash).size()) << hash;
    }
    FlashIndexEntries all = must(stored.all());
    std::sort(sample.entries.begin(), sample.entries.end());
    EXPECT_EQ(all, sample.entries);
  }
}

TEST(StoredIndex, reads_one_piece_for_a_search) {
  Sample sample(random_entries(5000, 0), 100);
  ASSERT_GT(sample.pieces.size(), 200U);
  StoredIndex stored = sample.stored();
  std::vector<uint32_t> found;
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_STATUS(stored.find(sample.entries[i].second, found));
  }
  EXPECT_EQ(found.size(), 1000U);
  EXPECT_LT(sample.reads, 1100);
}

TEST(StoredIndex, I1_a_broken_piece_is_an_error) {
  using Change = void (*)(Sample&);
  for (const Change change :
       {Change{[](Sample& s) { s.values[1].pop_back(); }},
        Change{[](Sample& s) { s.values[1].push_back(std::byte{}); }},
        Change{[](Sample& s) { std::swap(s.values[0], s.values[1]); }},
        Change{[](Sample& s) { s.pieces[1].entries -= 1; }},
        Change{[](Sample& s) { s.pieces[1].entries = 1000000; }},
        Change{[](Sample& s) { s.pieces[1].first_hash += 1; }},
        Change{[](Sample& s) { s.pieces[2].first_hash = s.pieces[1].first_hash + 1; }},
        // a position: without an end, in a block's header, beyond the device
        Change{[](Sample& s) { s.values[1].back() = std::byte{0xFF}; }},
        Change{[](Sample& s) { s.place(1, 1); }}, Change{[](Sample& s) { s.place(1, 0x7FFFFFFF); }},
        // a hash that doesn't end
        Change{[](Sample& s) { std::fill_n(s.values[1].begin(), 6, std::byte{0xFF}); }}}) {
    Sample sample(random_entries(500, 0), 100);
    const uint32_t hash = sample.pieces[1].first_hash;
    change(sample);
    StoredIndex stored = sample.stored();
    std::vector<uint32_t> found;
    EXPECT_TRUE(fails(stored.find(hash + 5, found), ErrorCode::kCorrupt));
    EXPECT_FALSE(stored.all().ok());
  }
}

TEST(StoredIndex, I1_a_position_that_is_there_twice_is_an_error) {
  FlashIndexEntries entries = random_entries(500, 0);
  entries[3].first = entries[300].first;
  Sample sample(std::move(entries), 100);
  EXPECT_TRUE(fails(sample.stored().all(), ErrorCode::kCorrupt, "twice"));
}

// --- in a store ----------------------------------------------------------------------------------

std::string key(int i) { return "key " + std::to_string(i); }

// A store with 2000 keys, its index in pieces; then some changes, after the checkpoint or before
// another one.
struct Stored {
  explicit Stored(bool tail = true) : store(parts.device, kAtomicFlash) {
    EXPECT_STATUS(store.format());
    for (int i = 0; i < 2000; ++i) {
      EXPECT_STATUS(store.put(bytes_of(key(i)), bytes_of("value")));
      model[key(i)] = "value";
    }
    EXPECT_STATUS(store.checkpoint());
    for (int i = 0; i < 10; ++i) {
      EXPECT_STATUS(store.put(bytes_of(key(i)), bytes_of("new")));
      EXPECT_TRUE(store.remove(bytes_of(key(100 + i))).ok());
      model[key(i)] = "new";
      model.erase(key(100 + i));
    }
    if (!tail) {
      EXPECT_STATUS(store.checkpoint());
    }
  }
  FlashParts parts{kAtomicFlash, small_geometry(1024, 4, 64, 16)};
  FlashStore store;
  FlashModel model;
};

TEST(StoredIndexOfAStore, a_mount_reads_no_piece) {
  Stored written(false);
  FlashStore store(written.parts.device, kAtomicFlash);
  ASSERT_STATUS(store.mount());
  EXPECT_LT(store.last_mount_read_bytes(), 18000U) << "12,000 of it are the anchors' blocks";
  std::vector<std::byte> value;
  EXPECT_TRUE(store.get(bytes_of(key(500)), value).value());
  EXPECT_EQ(text_of(value), "value");
  EXPECT_EQ(difference(store, written.model), "");
  EXPECT_STATUS(store.check(no_poll));
}

TEST(StoredIndexOfAStore, what_was_replaced_and_removed_since_is_gone) {
  Stored written;
  FlashStore store(written.parts.device, kAtomicFlash);
  ASSERT_STATUS(store.mount());
  std::vector<std::byte> value;
  for (int i = 0; i < 120; ++i) {
    const bool there = store.get(bytes_of(key(i)), value).value();
    EXPECT_EQ(there, written.model.contains(key(i))) << i;
    if (there) {
      EXPECT_EQ(text_of(value), written.model[key(i)]);
    }
  }
}

// Some runs change more hashes than are fetched one by one. All changes are taken back.
TEST(StoredIndexOfAStore, changes_and_marks_work_before_and_after_all_is_loaded) {
  for (const int changes : {5, 30, 400}) {
    SCOPED_TRACE(changes);
    Stored written;
    FlashStore store(written.parts.device, kAtomicFlash);
    ASSERT_STATUS(store.mount());
    const FlashSimulator::State before = written.parts.device.snapshot();
    store.mark();
    for (int i = 0; i < changes; ++i) {
      ASSERT_STATUS(store.put(bytes_of(key(3 * i)), bytes_of("third")));
      ASSERT_TRUE(store.remove(bytes_of(key(3 * i + 1))).ok());
      ASSERT_STATUS(store.put(bytes_of("fresh " + std::to_string(i)), bytes_of("fourth")));
    }
    std::vector<std::byte> value;
    EXPECT_TRUE(store.get(bytes_of(key(0)), value).value());
    EXPECT_EQ(text_of(value), "third");
    EXPECT_FALSE(store.get(bytes_of(key(1)), value).value());
    store.undo_to(0);
    store.release(0);
    written.parts.device.restore(before);
    EXPECT_EQ(difference(store, written.model), "");
    EXPECT_STATUS(store.check(no_poll));
  }
}

TEST(StoredIndexOfAStore, damage_of_a_piece_is_found_when_it_is_read_and_by_a_check) {
  Stored written(false);
  FlashParts again(kAtomicFlash, small_geometry(1024, 4, 64, 16));
  again.device.restore(written.parts.device.snapshot());
  FlashStore probe(again.device, kAtomicFlash);
  ASSERT_STATUS(probe.mount());
  uint32_t damaged = 0;
  for (uint32_t block = 0; block < probe.blocks().touched(); ++block) {
    std::byte type{};
    ASSERT_STATUS(again.device.read(again.state.layout.block_address(block) + 32, {&type, 1}));
    if (probe.blocks().at(block).kind == FlashBlockKind::kCheckpoint && type == std::byte{7}) {
      again.device.flip_stored(again.state.layout.block_address(block) + 32 + 1000, 3);
      ++damaged;
    }
  }
  ASSERT_GE(damaged, 2U);
  FlashStore store(again.device, kAtomicFlash);
  ASSERT_STATUS(store.mount());
  EXPECT_TRUE(fails(store.find(bytes_of(key(500))), ErrorCode::kCorrupt, "of its index"));
  EXPECT_FALSE(store.check(no_poll).ok());
  EXPECT_FALSE(store.put(bytes_of(key(500)), bytes_of("x")).ok());
}

TEST(FlashIndex, I4_finds_what_is_stored_before_and_after_all_is_loaded) {
  Sample sample(random_entries(5000, 0), 100);
  FlashIndex index(SlotCacheOptions{.seed = 9});
  index.load(sample.stored());
  EXPECT_EQ(index.size(), 5000U);
  const auto [position, hash] = sample.entries[7];
  EXPECT_TRUE(remove(index, hash, position));
  EXPECT_FALSE(remove(index, hash, position));
  EXPECT_EQ(index.size(), 4999U);
  EXPECT_EQ(must(index.by_position()).size(), 4999U);
  for (size_t i = 0; i < 300; ++i) {  // more than are fetched one by one
    EXPECT_EQ(contains(index, sample.entries[i].second, sample.entries[i].first), i != 7) << i;
  }
  EXPECT_EQ(must(index.by_position()).size(), 4999U);
  EXPECT_STATUS(index.check());
}

}  // namespace
}  // namespace flash_stored_index_test
}  // namespace cuckoo
