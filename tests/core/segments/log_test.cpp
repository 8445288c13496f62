#include "core/segments/log.hpp"

#include <optional>
#include <utility>

#include "tests/core/segments/log_rows.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/support/allocations.hpp"

namespace cuckoo::segments::segments_log_test {
namespace {

using Entries = std::vector<uint64_t>;

// A log on a storage, in rows of four entries.
class SegmentLog : public ::testing::Test {
 protected:
  static FilterOptions make_options() {
    FilterOptions options;
    options.page_bytes = 64;
    options.seed = 7;
    return options;
  }
  static uint64_t entry(uint64_t i) { return nth_hash(5, i, HashWidth::k47Bits) | (i % 4 == 3); }

  void append(Log& log, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      log.append(entry(log.position()));
    }
  }
  void flush(Log& log, uint64_t first = 0) {
    Result<Log::LastRow> written = log.write_to(blocks, first, items, version);
    ASSERT_STATUS(written.take_status());
    log.note_written(std::move(written.value()));
  }
  Result<bool> follow(Log& log, Entries& entries) {
    const uint64_t before = log.position();
    size_t found = 0;
    return log.follow(blocks, newest, [&](uint64_t position, uint64_t entry, uint64_t copies) {
      EXPECT_EQ(position, before + found++);
      EXPECT_EQ(copies, 1u);
      entries.push_back(entry);
    });
  }
  Status read(Log& log, Entries& entries, uint64_t row = 0, uint64_t position = 0) {
    return log.read(blocks, row, position, newest, [&](uint64_t at, uint64_t entry, uint64_t) {
      EXPECT_EQ(at, position + entries.size());
      entries.push_back(entry);
    });
  }
  Entries all_of(Log& log, uint64_t row = 0, uint64_t position = 0) {
    Entries entries;
    expect_ok(read(log, entries, row, position));
    return entries;
  }
  static Entries entries_between(uint64_t first, uint64_t end) {
    Entries entries;
    for (uint64_t i = first; i < end; ++i) {
      entries.push_back(entry(i));
    }
    return entries;
  }
  Log started() const {
    Log log(options);
    log.start(0, 0, options.seed);
    return log;
  }
  // A log that wrote so many entries elsewhere.
  Log written(uint64_t entries) {
    MemoryBlocks::Rows before = std::exchange(storage.rows, {});
    Log log = started();
    append(log, entries);
    flush(log);
    storage.rows = std::move(before);
    return log;
  }
  MemoryBlocks::Rows rows_of(uint64_t entries) {
    Log log = started();
    append(log, entries);
    flush(log);
    return storage.rows;
  }

  const FilterOptions options = make_options();
  MemoryBlocks storage;
  const Blocks blocks{storage, 7};
  LogHeader newest;
  uint64_t items = 11;
  uint64_t version = 22;
};

TEST_F(SegmentLog, reads_back_what_was_appended_in_any_portions) {
  for (const uint64_t portion : {1u, 2u, 3u, 4u, 5u, 9u, 100u}) {
    storage.rows.clear();
    Log log = started();
    ASSERT_EQ(log.row_entries(), 4u);
    for (uint64_t done = 0; done < 40; done += portion) {
      append(log, portion);
      flush(log);
      Log other(options);
      EXPECT_EQ(all_of(other), entries_between(0, log.position()));
      EXPECT_EQ(other.position(), log.position());
      EXPECT_EQ(other.chain(), log.chain());
      EXPECT_EQ(other.row(), log.row());
      EXPECT_EQ(newest.items, 11u);
      EXPECT_EQ(newest.directory_version, 22u);
    }
  }
}

TEST_F(SegmentLog, is_cut_into_the_same_rows_however_it_was_appended) {
  const MemoryBlocks::Rows at_once = rows_of(37);
  storage.rows.clear();
  Log log = started();
  for (uint64_t i = 0; i < 37; ++i) {
    append(log, 1);
    flush(log);
  }
  // Rows have the items and the version of their last write, which are equal here. The rest is
  // always equal.
  EXPECT_TRUE(storage.rows == at_once);
}

TEST_F(SegmentLog, a_small_append_writes_one_row) {
  Log log = started();
  append(log, 100);
  flush(log);
  for (uint64_t i = 0; i < 40; ++i) {
    const bool fills = (log.position() + 1) % 4 == 0;
    append(log, 1);
    storage.calls = {};
    flush(log);
    EXPECT_EQ(storage.calls.writes, fills ? 2u : 1u) << "I3: the row after a full one, too";
  }
}

TEST_F(SegmentLog, its_last_row_is_never_full) {
  for (uint64_t count = 0; count < 13; ++count) {
    storage.rows.clear();
    EXPECT_EQ(rows_of(count).size(), 1 + count / 4);
  }
}

TEST_F(SegmentLog, follows_another_connection) {
  Log one = started();
  flush(one);
  Log other(options);
  (void)all_of(other);
  for (uint64_t i = 0; i < 30; ++i) {
    Log& writer = i % 3 == 0 ? other : one;
    Log& reader = i % 3 == 0 ? one : other;
    append(writer, i % 7);
    flush(writer);
    Entries entries;
    const uint64_t before = reader.position();
    ASSERT_TRUE(must(follow(reader, entries)));
    EXPECT_EQ(entries, entries_between(before, before + i % 7));
    EXPECT_EQ(reader.chain(), writer.chain());
  }
}

TEST_F(SegmentLog, sees_another_history) {
  rows_of(6);
  const auto differs = [&] {
    Log copy = written(6);
    Entries entries;
    const bool followed = must(follow(copy, entries));
    EXPECT_TRUE(followed || entries.empty());
    return !followed;
  };
  EXPECT_FALSE(differs());
  storage.rows.clear();
  rows_of(8);
  EXPECT_FALSE(differs());
  storage.rows.clear();
  EXPECT_TRUE(differs()) << "no log at all";
  rows_of(5);
  EXPECT_TRUE(differs()) << "a shorter one";
  storage.rows.clear();
  Log other(options);
  other.start(0, 0, options.seed + 1);
  append(other, 6);
  flush(other);
  EXPECT_TRUE(differs()) << "another start";
  storage.rows.clear();
  other.start(0, 0, options.seed);
  append(other, 5);
  other.append(entry(77));
  flush(other);
  EXPECT_TRUE(differs()) << "another entry in the last row";
}

TEST_F(SegmentLog, begins_anew_after_a_load_with_the_same_chain) {
  Log log = started();
  append(log, 6);
  flush(log);
  append(log, 50);
  const uint64_t chain = log.chain();
  log.restart();
  EXPECT_EQ(log.position(), 56u);
  EXPECT_EQ(log.chain(), chain);
  storage.calls = {};
  ASSERT_TRUE(
      blocks.erase(kFirstLogBlock, kFirstLogBlock + static_cast<int64_t>(log.row()) - 1).ok());
  append(log, 2);
  flush(log, log.row());
  EXPECT_EQ(storage.calls.writes, 1u);
  EXPECT_EQ(storage.rows.size(), 1u);
  Log other(options);
  EXPECT_EQ(all_of(other, log.row(), 56), entries_between(56, 58));
  EXPECT_EQ(other.chain(), log.chain());
}

TEST_F(SegmentLog, has_another_history_once_it_goes_on_from_elsewhere) {
  Log log = started();
  append(log, 6);
  flush(log);
  Log other(options);
  Entries entries;
  ASSERT_TRUE(read(other, entries).ok());
  const uint64_t row = log.row();
  log.restart({3, 99});  // it may have been there before
  EXPECT_EQ(log.position(), 3u);
  EXPECT_EQ(log.chain(), 99u);
  EXPECT_EQ(log.row(), row + 1);
  ASSERT_TRUE(blocks.erase(kFirstLogBlock, kLastLogBlock).ok());
  flush(log, log.row());
  EXPECT_FALSE(must(follow(other, entries)));
}

TEST_F(SegmentLog, tells_the_entries_behind_each_place_it_ever_had) {
  std::vector<LogPlace> places;
  Log log = started();
  const auto behind = [&](const LogPlace& place, uint64_t row = 0, uint64_t position = 0) {
    EntryList found;
    const bool had = must(log.entries_behind(blocks, row, position, place, found));
    EXPECT_TRUE(found.empty() || had);
    EXPECT_TRUE(found.more().empty());
    return had ? std::optional(Entries(found.entries().begin(), found.entries().end()))
               : std::nullopt;
  };
  for (uint64_t i = 0; i < 27; ++i) {
    places.push_back({log.position(), log.chain()});
    for (const LogPlace& place : places) {
      EXPECT_EQ(behind(place), entries_between(place.position, log.position()));
      EXPECT_EQ(behind({place.position, place.chain + 1}), std::nullopt);
      EXPECT_EQ(behind({place.position + 1, place.chain}), std::nullopt);
    }
    append(log, 1);
    if (i % 7 == 3) {
      flush(log);
    }
  }
  EXPECT_EQ(behind({28, log.chain()}), std::nullopt) << "of the future";
  // The log's first rows are erased.
  ASSERT_TRUE(blocks.erase(kFirstLogBlock, kFirstLogBlock + 2).ok());
  for (const LogPlace& place : places) {
    EXPECT_EQ(behind(place, 3, 12).has_value(), place.position >= 12) << place.position;
  }
  ASSERT_TRUE(blocks.erase(kFirstLogBlock + 4, kFirstLogBlock + 4).ok());
  EntryList found;
  EXPECT_TRUE(fails(log.entries_behind(blocks, 3, 12, places[13], found), ErrorCode::kCorrupt));
}

// Entries have from one to kMostCopies copies. They come back wherever the rows of four cut them.
TEST_F(SegmentLog, counts_come_back_from_rows_of_any_portions_and_from_each_place) {
  constexpr uint64_t kCopies[] = {1, 2, kMostCopies, 1, 1, 7, 1, 3, 3, 3};
  const auto copies_of_entry = [&](uint64_t i) { return kCopies[(i * 7 + i / 10) % 10]; };
  struct Place {
    LogPlace at;
    uint64_t entries;
  };
  for (const uint64_t portion : {1u, 2u, 3u, 5u, 50u}) {
    storage.rows.clear();
    Log log = started();
    Log follower = started();
    uint64_t seen = 0;
    const auto take = [&](uint64_t, uint64_t found, uint64_t copies) {
      EXPECT_EQ(found, entry(seen));
      EXPECT_EQ(copies, copies_of_entry(seen)) << seen;
      ++seen;
    };
    std::vector<Place> places;
    for (uint64_t i = 0; i < 60; ++i) {
      places.push_back({{log.position(), log.chain()}, i});
      log.append(entry(i), copies_of_entry(i));
      EXPECT_EQ(log.position(), i + 1);
      if ((i + 1) % portion != 0) {
        continue;
      }
      flush(log);
      ASSERT_TRUE(follower.follow(blocks, newest, take).value());
      EXPECT_EQ(seen, i + 1);
      EXPECT_EQ(follower.chain(), log.chain());
      EXPECT_EQ(follower.position(), log.position());
    }
    flush(log);
    seen = 0;
    Log other(options);
    ASSERT_STATUS(other.read(blocks, 0, 0, newest, take));
    EXPECT_EQ(other.chain(), log.chain());
    log.append(entry(60), 9);  // is in no row
    for (const Place& place : places) {
      EntryList found;
      ASSERT_TRUE(log.entries_behind(blocks, 0, 0, place.at, found).value());
      ASSERT_EQ(found.size(), 61 - place.entries);
      auto more = found.more().begin();
      for (uint64_t i = place.entries; i <= 60; ++i) {
        EXPECT_EQ(found[i - place.entries], entry(i));
        const uint64_t copies = i == 60 ? 9 : copies_of_entry(i);
        if (copies > 1) {
          ASSERT_NE(more, found.more().end());
          EXPECT_EQ(found[more->at], entry(i));
          EXPECT_EQ((more++)->more, copies - 1);
        }
      }
      EXPECT_EQ(more, found.more().end());
    }
  }
}

// What was known of the row is not what it has now.
TEST_F(SegmentLog, sees_another_history_in_a_count) {
  rows_of(2);
  for (const std::vector<MoreCopies>& more : {std::vector<MoreCopies>{}, {{2, 5}}, {{1, 5}}}) {
    Log copy = written(2);
    Entries entries;
    const Bytes row =
        test::encoded_row({options.seed, 0, 0, 0}, entries_between(0, 3), options.width, more);
    expect_ok(blocks.write(kFirstLogBlock, row, true));
    const bool known = more.empty() || more[0].at == 2;
    EXPECT_EQ(must(copy.follow(blocks, newest,
                               [&](uint64_t, uint64_t entry, uint64_t copies) {
                                 entries.push_back(entry);
                                 EXPECT_EQ(copies, more.empty() ? 1u : 6u);
                               })),
              known);
    EXPECT_EQ(entries, known ? entries_between(2, 3) : Entries());
  }
}

TEST_F(SegmentLog, rows_before_the_first_needed_one_are_not_written) {
  Log log = started();
  append(log, 22);
  flush(log, 5);
  EXPECT_EQ(storage.rows.size(), 1u);
  Log other(options);
  (void)all_of(other, 5, 20);
  EXPECT_EQ(other.chain(), log.chain());
}

TEST_F(SegmentLog, each_lost_row_is_found) {
  const MemoryBlocks::Rows good = rows_of(18);
  ASSERT_EQ(good.size(), 5u);
  for (const auto& row : good) {
    storage.rows = good;
    storage.rows.erase(row.first);
    Log log(options);
    Entries entries;
    EXPECT_TRUE(fails(read(log, entries), ErrorCode::kCorrupt));
  }
}

TEST_F(SegmentLog, rows_that_do_not_follow_are_corrupt) {
  const MemoryBlocks::Rows good = rows_of(18);
  const auto refused = [&](int64_t id, const LogHeader& header, const Entries& entries) {
    storage.rows = good;
    expect_ok(blocks.write(id, test::encoded_row(header, entries, HashWidth::k47Bits),
                           good.contains(id)));
    Log log(options);
    Entries seen;
    return fails(read(log, seen), ErrorCode::kCorrupt);
  };
  LogHeader second;
  second.chain = test::chain_over(7, entries_between(0, 4), HashWidth::k47Bits);
  second.position = 4;
  const int64_t id = kFirstLogBlock + 1;
  EXPECT_FALSE(refused(id, second, entries_between(4, 8)));
  EXPECT_TRUE(refused(id, second, entries_between(4, 7))) << "not full";
  EXPECT_TRUE(refused(id, second, entries_between(4, 9))) << "more than full";
  EXPECT_TRUE(refused(id, second, entries_between(5, 9))) << "another chain value after it";
  LogHeader changed = second;
  ++changed.chain;
  EXPECT_TRUE(refused(id, changed, entries_between(4, 8)));
  changed = second;
  ++changed.position;
  EXPECT_TRUE(refused(id, changed, entries_between(4, 8)));
  LogHeader last;
  last.chain = test::chain_over(7, entries_between(0, 16), HashWidth::k47Bits);
  EXPECT_TRUE(refused(kFirstLogBlock + 6, last, {})) << "a row further on";
}

TEST_F(SegmentLog, a_row_that_goes_on_from_one_that_is_not_full_is_corrupt) {
  storage.rows.clear();
  LogHeader header;
  header.chain = 7;
  for (const uint64_t end : {4, 7, 9}) {
    const Entries entries = entries_between(header.position, end);
    expect_ok(blocks.write(kFirstLogBlock + static_cast<int64_t>(header.position / 3),
                           test::encoded_row(header, entries, HashWidth::k47Bits), false));
    header.chain = test::chain_over(header.chain, entries, HashWidth::k47Bits);
    header.position = end;
  }
  Log log(options);
  Entries entries;
  EXPECT_TRUE(fails(read(log, entries), ErrorCode::kCorrupt, "does not follow a full row"));
}

TEST_F(SegmentLog, of_a_set_removes_and_counts_nothing) {
  FilterOptions set = options;
  set.spec.kind = FilterKind::kBloom;
  for (const bool counts : {false, true}) {
    storage.rows.clear();
    Log written = started();
    if (counts) {
      written.append(entry(0), 5);
    } else {
      append(written, 6);
    }
    flush(written);
    Log log(set);
    Entries entries;
    EXPECT_TRUE(fails_saying(read(log, entries), ErrorCode::kCorrupt,
                             "row 0 of the log: removes a hash from a set, or counts it"));
  }
}

// An entry without its count would stand for one copy.
TEST_F(SegmentLog, takes_an_entry_with_its_count_or_no_part_of_it_when_memory_runs_out) {
  Log log(options);
  uint64_t failures = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t position = log.position();
    const uint64_t chain = log.chain();
    const auto append = [&] { log.append(entry(i), 5); };
    for (; runs_out_of_memory(failures % 2 == 0 ? 0 : 1, append); ++failures) {
      ASSERT_EQ(log.position(), position) << i;
      ASSERT_EQ(log.chain(), chain) << i;
    }
  }
  EXPECT_GT(failures, 4U);
}

}  // namespace
}  // namespace cuckoo::segments::segments_log_test
