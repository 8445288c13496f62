#include "core/segments/changes.hpp"

#include "tests/core/segments/copies.hpp"
#include "tests/support/changes.hpp"

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
  for (uint64_t i = 0; i < count; ++i) {
    const bool remove = removed > 0 && i % removed == 0;
    const uint64_t copies = i % 50 == 7 && is_multiset(kind) ? i : 1;
    changes.entries.append(nth_hash(9, i, width) | (remove ? kRemoveBit : 0), copies);
  }
  test::lead_to_mark(changes);
  return changes;
}

void expect_same(const FilterChanges& a, const FilterChanges& b) {
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.items, b.items);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.key_types, b.key_types);
  EXPECT_EQ(a.unique, b.unique);
  EXPECT_EQ(a.whole, b.whole);
  EXPECT_EQ(a.entries.size(), b.entries.size());
  EXPECT_TRUE(a.entries.begins_with(b.entries, b.entries.size()));
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
  changes.unique = true;
  for (const uint64_t hash : {uint64_t{0}, uint64_t{2}, uint64_t{1} << 63, ~uint64_t{1}}) {
    changes.entries.append(hash, kMostCopies);
    changes.entries.append(hash | kRemoveBit, kMostCopies);
  }
  test::lead_to_mark(changes);
  expect_same(must(decode_changes(encoded(changes), 448)), changes);
}

// What is promised: 6 bytes an add or remove, 8 with hashes of 63 bits, plus a header.
TEST(SegmentChanges, size) {
  for (const uint64_t count : {0, 1, 1000, 30000}) {
    for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
      const FilterChanges changes = sample_changes(count, width, 0, FilterKind::kBloom);
      const uint64_t bytes = width == HashWidth::k47Bits ? 6 : 8;
      EXPECT_EQ(encoded(changes).size(), bytes * count + 132);
      EXPECT_EQ(changes.entry_bits(), 8 * bytes * count);
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
            "changes of format 2, this version reads format 4; made by a version before the first "
            "release");
  const std::string header = "changes with a header that can't be";
  EXPECT_EQ(refusal(changed(5, 4)), header) << "flags";
  EXPECT_EQ(refusal(changed(6, 0)), header) << "no key columns";
  EXPECT_EQ(refusal(changed(6, 9)), header) << "nine key columns";
  EXPECT_EQ(refusal(changed(7, 1)), header) << "zeros";
  EXPECT_EQ(refusal(changed(8, 5)), header) << "affinity";
  EXPECT_EQ(refusal(changed(11, 1)), header) << "affinity of a column that is not there";
  EXPECT_EQ(refusal(changed(12, 3)), header) << "collation";
  EXPECT_EQ(refusal(changed(14, 1)), header) << "zeros";
  EXPECT_EQ(refusal(changed(50, 1)), header) << "types of a column that is not there";
  EXPECT_EQ(refusal(changed(31, 0x7F)), header) << "items";
  EXPECT_EQ(refusal(changed(16, 41)),
            "changes of 41 entries, 1 counts and 0 bytes of segments in 248 bytes");
  EXPECT_EQ(refusal(changed(40, 2)),
            "changes of 40 entries, 2 counts and 0 bytes of segments in 248 bytes");
  EXPECT_EQ(refusal(changed(32, 1)),
            "changes of 40 entries, 1 counts and 1 bytes of segments in 248 bytes");
  const std::string leads = "changes that do not lead from their first mark to their second one";
  EXPECT_EQ(refusal(changed(5, 2)), leads) << "no whole filter: it has removes";
  EXPECT_EQ(refusal(changed(128, 1)), leads) << "another entry";
  const size_t count_at = 128 + 6 * 40;
  EXPECT_EQ(refusal(changed(count_at, 8)), leads) << "the count is of another entry";
  EXPECT_EQ(refusal(changed(count_at, 40)), "changes with counts that do not ascend");
  EXPECT_EQ(refusal(changed(count_at + 4, 1)),
            "changes with an entry of 1 occurrences, expected 2 to 2^31");
  EXPECT_EQ(refusal(changed(count_at + 7, 0x81)),
            "changes with an entry of 2164260871 occurrences, expected 2 to 2^31");
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
  for (const auto& [bit, copies] : {std::pair(kRemoveBit, 1), {uint64_t{0}, 2}}) {
    FilterChanges other = sample_changes(4, HashWidth::k47Bits, 0, FilterKind::kBloom);
    other.entries.append(nth_hash(9, 5, HashWidth::k47Bits) | bit, copies);
    test::lead_to_mark(other);
    EXPECT_EQ(refusal(encoded(other)), "changes of a set with a hash that is not added once");
  }
  changes.unique = true;
  EXPECT_EQ(refusal(encoded(changes)), "changes with a header that can't be");
}

// The whole of a filter comes as its hashes: at most as many as its log has entries.
TEST(SegmentChanges, I2_whole_filters_ascend_and_come_from_their_beginning) {
  FilterChanges changes = sample_changes(0, HashWidth::k47Bits, 0);
  changes.whole = true;
  for (uint64_t hash = 1; hash < 20; ++hash) {
    changes.entries.append(hash << 40, hash);
  }
  test::lead_to_mark(changes);
  changes.to.position += 100;
  changes.to.chain ^= 5;
  expect_same(must(decode_changes(encoded(changes), 448)), changes);
  const std::string leads = "changes that do not lead from their first mark to their second one";
  changes.to.position -= 101;
  EXPECT_EQ(refusal(encoded(changes)), leads);
  changes.to.position = 1;
  EXPECT_EQ(refusal(encoded(changes)), leads);
  changes.to.position = 1000;
  changes.entries.append(uint64_t{1} << 40);
  EXPECT_EQ(refusal(encoded(changes)), leads);
}

// I3: a count that the bytes can't hold is refused before there is memory for it.
TEST(SegmentChanges, I3_count_follows_from_the_length) {
  Bytes bytes = encoded(sample_changes(0, HashWidth::k47Bits, 0));
  store_le(&bytes[16], uint64_t{1} << 47);
  EXPECT_EQ(refusal(with_crc(bytes)).substr(0, 11), "changes of ");
}

}  // namespace
}  // namespace segments_changes_test
}  // namespace cuckoo::segments
