#include "core/segments/changes.hpp"

#include "tests/core/segments/copies.hpp"
#include "tests/support/changes.hpp"

namespace cuckoo::segments::segments_changes_test {
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
  changes.spec.kind = kind;
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

// Makes the checksums of header and entries right. There are no pieces.
Bytes with_message_crcs(Bytes bytes) {
  const size_t end = bytes.size() - 8;
  store_le(&bytes[end], crc32c(std::span(bytes).subspan(184, end - 184)));
  const uint32_t crc =
      crc32c(std::span(bytes).subspan(end, 4), crc32c(std::span(bytes).first(184)));
  store_le(&bytes[end + 4], crc);
  return bytes;
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
      EXPECT_EQ(encoded(changes).size(), bytes * count + 192);
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
    return with_message_crcs(other);
  };
  const std::string leads = "changes that do not lead from their first mark to their second one";
  EXPECT_EQ(refusal(changed(0, 'X')),
            "bytes that are no image or changes of a filter, expected CKMS at the start");
  EXPECT_EQ(refusal(changed(4, 9)), "image or changes of format 9, this version reads format 4");
  EXPECT_EQ(refusal(changed(5, 2)), "message that is neither an image nor changes");
  EXPECT_EQ(refusal(changed(5, 8)), "message that is neither an image nor changes");
  EXPECT_EQ(refusal(changed(5, 11)), "message that is neither an image nor changes") << "hashes";
  EXPECT_EQ(refusal(changed(5, 26)), leads) << "no whole filter: it has removes";
  EXPECT_EQ(refusal(changed(40, 41)).substr(0, 11), "message of ") << "entries";
  EXPECT_EQ(refusal(changed(48, 41)), "message that is neither an image nor changes") << "counts";
  EXPECT_EQ(refusal(changed(152, 1)), leads) << "position";
  EXPECT_EQ(refusal(changed(160, 1)), leads) << "chain value";
  EXPECT_EQ(refusal(changed(168, 1)), leads) << "first position";
  EXPECT_EQ(refusal(changed(176, 1)), leads) << "first chain value";
  EXPECT_EQ(refusal(changed(184, 1)), leads) << "another entry";
  const size_t count_at = 184 + 6 * 40;
  EXPECT_EQ(refusal(changed(count_at, 8)), leads) << "the count is of another entry";
  EXPECT_EQ(refusal(changed(count_at, 40)), "changes with counts that do not ascend");
  EXPECT_EQ(refusal(changed(count_at + 4, 1)),
            "changes with an entry of 1 occurrences, expected 2 to 2^31");
  EXPECT_EQ(refusal(changed(count_at + 7, 0x81)),
            "changes with an entry of 2164260871 occurrences, expected 2 to 2^31");
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
  EXPECT_TRUE(fails(encode_changes(changes, 1 << 20), ErrorCode::kInvalid, "of a set that says"));
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
  store_le(&bytes[40], uint64_t{1} << 47);
  EXPECT_EQ(refusal(bytes).substr(0, 11), "message of ");
}

}  // namespace
}  // namespace cuckoo::segments::segments_changes_test
