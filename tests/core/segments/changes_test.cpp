#include "core/segments/changes.hpp"

#include "core/stored/rice.hpp"
#include "tests/core/segments/copies.hpp"

namespace cuckoo::segments {
namespace segments_changes_test {
namespace {

FilterMark sample_mark(FilterKind kind, HashWidth width, uint64_t position) {
  FilterMark mark;
  mark.kind = kind;
  mark.width = width;
  mark.seed = 5;
  mark.position = position;
  mark.chain = test::nth_word(3, position);
  return mark;
}

// One in `removed` hashes is removed; every 50th comes several times.
FilterChanges sample_changes(uint64_t count, HashWidth width, uint64_t removed,
                             FilterKind kind = FilterKind::kCuckoo) {
  FilterChanges changes;
  changes.from = sample_mark(kind, width, 10);
  changes.to = sample_mark(kind, width, 10 + count);
  changes.items = 12345;
  changes.keys = {2, 0x21, 4};
  changes.key_types = 0x104;
  std::map<uint64_t, int64_t> nets;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t copies = i % 50 == 7 && is_multiset(kind) ? static_cast<int64_t>(i) : 1;
    nets[nth_hash(9, i, width)] = removed > 0 && i % removed == 0 ? -copies : copies;
  }
  changes.hashes.assign(nets.begin(), nets.end());
  return changes;
}

void expect_same(const FilterChanges& a, const FilterChanges& b) {
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.items, b.items);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.key_types, b.key_types);
  EXPECT_TRUE(a.hashes == b.hashes);
}

std::string refusal(std::span<const std::byte> bytes) {
  return refusal_of(decode_changes(bytes, 448), ErrorCode::kCorrupt);
}

TEST(SegmentChanges, round_trip) {
  for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
    for (const uint64_t count : {0, 1, 2, 13, 1000, 20000}) {
      for (const uint64_t removed : {0, 1, 2, 10}) {
        const FilterChanges changes = sample_changes(count, width, removed);
        const Bytes bytes = encoded(changes);
        EXPECT_TRUE(looks_like_changes(bytes));
        const FilterChanges again = must(decode_changes(bytes, 448));
        expect_same(again, changes);
        EXPECT_EQ(encoded(again), bytes) << "I1";
      }
    }
  }
}

TEST(SegmentChanges, extreme_hashes_and_counts) {
  FilterChanges changes = sample_changes(0, HashWidth::k63Bits, 0);
  constexpr auto kMost = static_cast<int64_t>(kMaxHashCount);
  changes.hashes = {{0, kMost}, {2, -kMost}, {uint64_t{1} << 63, 2}, {~uint64_t{1}, -1}};
  const Bytes bytes = encoded(changes);
  expect_same(must(decode_changes(bytes, 448)), changes);
}

// What is promised: 5 bytes a changed key from 1,000 on, two more with hashes of 63 bits, plus 200.
TEST(SegmentChanges, size) {
  for (const uint64_t count : {1000, 1024, 1500, 5000, 30000}) {
    for (const uint64_t removed : {0, 1, 2, 3, 10}) {
      for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
        FilterChanges changes = sample_changes(count, width, removed, FilterKind::kCuckoo);
        for (ChangedHash& one : changes.hashes) {
          one.second = one.second < 0 ? -1 : 1;
        }
        const uint64_t bytes = width == HashWidth::k47Bits ? 5 : 7;
        EXPECT_LE(encoded(changes).size(), bytes * count + 200) << count << "/" << removed;
      }
    }
  }
}

TEST(SegmentChanges, I2_every_changed_byte_and_every_cut_is_found) {
  expect_every_damage_refused(encoded(sample_changes(40, HashWidth::k47Bits, 3)), refusal);
}

// This is so behind a right checksum, too: only bytes that would be written are accepted.
TEST(SegmentChanges, I2_wrong_fields_are_refused) {
  const Bytes bytes = encoded(sample_changes(40, HashWidth::k47Bits, 3));
  const auto changed = [&bytes](size_t at, unsigned value) {
    Bytes other = bytes;
    other[at] = static_cast<std::byte>(value);
    return with_crc(other);
  };
  EXPECT_EQ(refusal(changed(0, 'X')),
            "bytes that are no changes of a filter, expected CKCH at the start");
  EXPECT_EQ(refusal(changed(4, 2)),
            "changes of format 2, this version reads format 3; made by a version before the first "
            "release");
  const std::string header = "changes with a header that can't be";
  EXPECT_EQ(refusal(changed(5, 3)), header) << "Rice parameter";
  EXPECT_EQ(refusal(changed(6, 4)), header) << "flags";
  EXPECT_EQ(refusal(changed(7, 0)), header) << "no key columns";
  EXPECT_EQ(refusal(changed(7, 9)), header) << "nine key columns";
  EXPECT_EQ(refusal(changed(8, 5)), header) << "affinity";
  EXPECT_EQ(refusal(changed(11, 1)), header) << "affinity of a column that is not there";
  EXPECT_EQ(refusal(changed(12, 3)), header) << "collation";
  EXPECT_EQ(refusal(changed(14, 1)), header) << "zeros";
  EXPECT_EQ(refusal(changed(50, 1)), header) << "types of a column that is not there";
  EXPECT_EQ(refusal(changed(31, 0x7F)), header) << "items";
  EXPECT_EQ(refusal(changed(16, 41)), "changes that end early, do not ascend or count too far");
  EXPECT_EQ(refusal(changed(16, 39)), "changes with bytes after the last hash");
  EXPECT_EQ(refusal(changed(56, 0)).substr(0, 22), "bytes that are no mark") << "the first one";
}

TEST(SegmentChanges, I2_marks_of_two_filters_are_refused) {
  FilterChanges changes = sample_changes(4, HashWidth::k47Bits, 3);
  ++changes.to.seed;
  EXPECT_EQ(refusal(encoded(changes)), "changes between marks of different filters");
}

TEST(SegmentChanges, I2_a_set_is_only_added_to_once) {
  FilterChanges changes = sample_changes(4, HashWidth::k47Bits, 0, FilterKind::kBloom);
  EXPECT_EQ(refusal(encoded(changes)), "");
  for (const int64_t net : {-1, 2}) {
    changes.hashes[2].second = net;
    EXPECT_EQ(refusal(encoded(changes)), "changes of a set with a hash that is not added once");
  }
}

TEST(SegmentChanges, I2_a_hash_stands_twice_where_it_was_removed_and_then_added) {
  for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
    FilterChanges changes = sample_changes(300, width, 3);
    const LargeVector<ChangedHash> once = std::move(changes.hashes);
    const auto with_twin = [&](int64_t first, const std::vector<int64_t>& nets) {
      changes.hashes.clear();
      for (size_t i = 0; i < once.size(); ++i) {
        changes.hashes.emplace_back(once[i].first, i == 100 ? first : once[i].second);
        for (const int64_t net : i == 100 ? nets : std::vector<int64_t>()) {
          changes.hashes.emplace_back(once[i].first, net);
        }
      }
      return encoded(changes);
    };
    for (const auto& [first, second] : {std::pair(-1, 1), std::pair(-7, 1), std::pair(-1, 9)}) {
      expect_same(must(decode_changes(with_twin(first, {second}), 448)), changes);
    }
    for (const auto& [first, others] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
             {1, {1}}, {1, {-1}}, {-1, {-1}}, {-1, {1, 1}}, {-1, {1, -1}}}) {
      EXPECT_EQ(refusal(with_twin(first, others)),
                "changes that end early, do not ascend or count too far");
    }
  }
}

// I3: a count that the bytes can't hold is refused before there is memory for it.
TEST(SegmentChanges, I3_count_follows_from_the_length) {
  Bytes bytes = encoded(sample_changes(0, HashWidth::k47Bits, 0));
  store_le(&bytes[16], uint64_t{1} << 47);
  bytes[5] = std::byte{0};
  EXPECT_EQ(refusal(with_crc(bytes)).substr(0, 11), "changes of ");
}

TEST(SegmentNetChanges, add_up) {
  const auto hash = [](uint64_t i) { return nth_hash(4, i, HashWidth::k47Bits); };
  EntryList entries;
  LargeVector<ChangedHash> expected;
  std::map<uint64_t, std::vector<int64_t>> changes;
  for (uint64_t i = 0; i < 500; ++i) {
    for (uint64_t copy = 0; copy < i % 4; ++copy) {
      const bool removed = (i + copy) % 3 == 0;
      const uint64_t copies = 1 + ((i + 2 * copy) % 5 << 29);
      entries.append(hash(i) | (removed ? kRemoveBit : 0), copies);
      const auto net = static_cast<int64_t>(copies);
      changes[hash(i)].push_back(removed ? -net : net);
    }
  }
  for (const auto& [key, nets] : changes) {
    HashSums sums(true);
    for (const int64_t net : nets) {
      sums.add(key, net);
    }
    for (const NetHash& entry : sums.take()) {
      expected.emplace_back(entry.hash, entry.net);
    }
  }
  EXPECT_GT(expected.size(), changes.size()) << "some were removed and then added";
  EXPECT_TRUE(net_changes(entries, HashWidth::k47Bits, true) == expected);
}

TEST(SegmentNetChanges, of_a_set_count_once) {
  EntryList entries;
  for (const uint64_t hash : {64u << 17, 32u << 17, 64u << 17}) {
    entries.append(hash);
  }
  const LargeVector<ChangedHash> changes = net_changes(entries, HashWidth::k47Bits, false);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], ChangedHash(32 << 17, 1));
  EXPECT_EQ(changes[1], ChangedHash(64 << 17, 1));
}

}  // namespace
}  // namespace segments_changes_test
}  // namespace cuckoo::segments
