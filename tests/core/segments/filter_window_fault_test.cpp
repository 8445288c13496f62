// Sliding windows where something goes wrong: storage that fails, blocks that are damaged or stray,
// hostile ones; roll-backs in the middle of a rotation; limits.
#include "tests/core/segments/stored_generations.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments {
namespace segments_filter_window_fault_test {
namespace {

constexpr uint64_t kGenerations = 3;

class FaultyWindowOfSegments : public ::testing::TestWithParam<FilterCase> {
 protected:
  FaultyWindowOfSegments() { fill(stored); }
  static FilterOptions options(uint64_t generations = kGenerations) {
    return test::generations_of(GetParam(), generations, 800, 0.05, 64);
  }

  // Full: each of three generations has pages, overflow cells (multisets) and pending entries.
  static void fill(StoredGenerations& stored) {
    for (uint64_t turn = 0; turn < kGenerations; ++turn) {
      if (turn > 0) {
        stored.rotate();
      }
      for (int copy = 0; copy < 30; ++copy) {
        stored.add(1000 * turn, 1000 * turn + 1);
      }
      stored.add(1000 * turn, 1000 * turn + 600);
    }
    stored.commit();
    stored.add_and_commit(2600, 2610);
    stored.expect_good();
  }

  StoredGenerations stored{options()};
};

INSTANTIATE_EACH(Kinds, FaultyWindowOfSegments, test::all_cases());

// ---- storage that fails

using Step = std::function<Status(FilterWindow&)>;

Step insert(uint64_t first, uint64_t count = 1) {
  return [first, count](FilterWindow& window) -> Status {
    for (uint64_t i = first; i < first + count; ++i) {
      CUCKOO_TRY(window.newest().insert(nth_hash(i)));
    }
    return {};
  };
}
Step rotate() {
  return [](FilterWindow& window) { return window.rotate(); };
}
Step clear() {
  return [](FilterWindow& window) { return window.clear(); };
}
Step flush() {
  return [](FilterWindow& window) { return window.flush(); };
}

std::vector<std::pair<const char*, std::vector<Step>>> all_work() {
  return {
      {"rotate", {rotate(), insert(1)}},
      {"add, rotate, add", {insert(3000, 100), rotate(), insert(3200), flush(), insert(3201, 9)}},
      {"rotate twice", {rotate(), insert(3000, 550), rotate(), insert(3600)}},
      {"rotate till all is forgotten", {rotate(), rotate(), rotate(), rotate(), insert(3000)}},
      {"clear", {insert(3000), clear(), insert(3001)}},
      {"clear, rotate", {clear(), insert(3001), rotate(), insert(3002), rotate()}},
      {"rotate, clear", {rotate(), insert(3000), flush(), clear(), insert(3002)}},
      {"rotate, clear, rotate", {rotate(), clear(), rotate(), insert(3002)}},
  };
}

Status run(FilterWindow& window, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    CUCKOO_TRY(step(window));
  }
  CUCKOO_TRY(window.finish_load());
  return window.flush();
}

void expect_poisoned(FilterWindow& window) {
  EXPECT_TRUE(window.poisoned());
  EXPECT_FALSE(window.usable());
  EXPECT_FALSE(window.flush().ok());
  EXPECT_FALSE(window.rotate().ok());
  EXPECT_FALSE(window.clear().ok());
  EXPECT_FALSE(window.refresh().ok());
  EXPECT_FALSE(window.check().ok());
}

TEST_P(FaultyWindowOfSegments, is_restored_by_a_rollback_after_any_call_failed) {
  const MemoryBlocks::Rows start = stored.storage.rows;
  const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3700);
  for (const auto& [name, steps] : all_work()) {
    stored.roll_back(start);
    ASSERT_TRUE(run(stored.window, steps).ok());
    stored.window.committed();
    stored.expect_good();
    const MemoryBlocks::Rows end = stored.storage.rows;
    for (uint64_t n = test::share_first() + 1; !HasFailure(); n += test::share_divisor()) {
      SCOPED_TRACE(std::string(name) + ", call " + std::to_string(n));
      stored.roll_back(start);
      const ErrorCode code = n % 2 == 0 ? ErrorCode::kStorage : ErrorCode::kInterrupted;
      stored.storage.fail_at(n, code);
      const Status status = run(stored.window, steps);
      if (stored.storage.fault_is_due()) {
        stored.storage.fail_at(0);
        EXPECT_GT(n, 3u);
        break;
      }
      ASSERT_TRUE(fails(status, code));
      if (!stored.window.usable()) {
        expect_poisoned(stored.window);
      }
      stored.storage.rows = start;
      stored.window.forget();
      stored.window.committed();
      ASSERT_FALSE(stored.window.poisoned());
      StoredGenerations::follow(stored.window);
      if (n % 5 == 0 || test::share_divisor() > 1) {
        ASSERT_EQ(answers_of(stored.window, 0, 3700), answers);
        stored.expect_good();
      }
      ASSERT_TRUE(stored.window.finish_load().ok() && stored.window.flush().ok());
      ASSERT_TRUE(start == stored.storage.rows) << "nothing is pending";
      stored.window.committed();
      ASSERT_STATUS(run(stored.window, steps));
      ASSERT_TRUE(end == stored.storage.rows);
    }
  }
}

TEST_P(FaultyWindowOfSegments, a_refresh_that_fails_can_be_repeated) {
  const MemoryBlocks::Rows start = stored.storage.rows;
  const std::vector<std::function<void()>> kWork = {
      [&] { stored.add(3000, 3010); },
      [&] { stored.rotate(); },
      [&] { stored.rotate(), stored.add(3000, 3600), stored.rotate(), stored.add(3700, 3710); },
      [&] { stored.clear(), stored.add(3000, 3010); },
  };
  for (size_t number = 0; number < kWork.size(); ++number) {
    stored.roll_back(start);
    kWork[number]();
    stored.commit();
    const MemoryBlocks::Rows end = stored.storage.rows;
    const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3750);
    for (uint64_t n = test::share_first() + 1;; n += test::share_divisor()) {
      SCOPED_TRACE("work " + std::to_string(number) + ", call " + std::to_string(n));
      FilterWindow follower(stored.options, stored.storage);
      stored.storage.rows = start;
      StoredGenerations::follow(follower);
      (void)answers_of(follower, 0, 3500);
      stored.storage.rows = end;
      stored.storage.fail_at(n);
      const Status status = follower.refresh();
      const bool failed = !stored.storage.fault_is_due();
      stored.storage.fail_at(0);
      ASSERT_EQ(status.ok(), !failed) << message_of(status);
      ASSERT_EQ(follower.usable(), !failed);
      StoredGenerations::follow(follower);
      ASSERT_EQ(answers_of(follower, 0, 3750), answers);
      ASSERT_TRUE(follower.check().ok());
      if (!failed) {
        break;
      }
    }
  }
}

TEST_P(FaultyWindowOfSegments, a_check_that_fails_changes_nothing) {
  const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3500);
  for (uint64_t n = test::share_first() + 1;; n += test::share_divisor()) {
    stored.storage.fail_at(n);
    const Status status = stored.window.check();
    if (stored.storage.fault_is_due()) {
      expect_ok(status);
      break;
    }
    ASSERT_TRUE(fails(status, ErrorCode::kStorage)) << n;
    EXPECT_TRUE(stored.window.usable());
  }
  stored.storage.fail_at(0);
  EXPECT_EQ(answers_of(stored.window, 0, 3500), answers);
}

// ---- roll-backs in the middle of a rotation

TEST_P(FaultyWindowOfSegments, a_rollback_around_a_rotation_restores_the_snapshot) {
  const MemoryBlocks::Rows start = stored.storage.rows;
  const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3500);
  const std::function<void()> kWork[] = {
      [&] { stored.rotate(); },
      [&] { stored.add(3000, 3030), stored.rotate(); },
      [&] { stored.rotate(), stored.add(3000, 3050); },
      [&] { stored.rotate(), stored.commit(), stored.rotate(); },
      [&] { stored.rotate(), stored.rotate(), stored.rotate(), stored.rotate(); },
      [&] { stored.clear(); },
      [&] { stored.rotate(), stored.clear(), stored.rotate(); },
  };
  for (size_t number = 0; number < std::size(kWork); ++number) {
    for (const bool flushed : {false, true}) {
      SCOPED_TRACE("work " + std::to_string(number));
      kWork[number]();
      ASSERT_TRUE(!flushed || stored.window.flush().ok());
      stored.roll_back(start);
      EXPECT_EQ(answers_of(stored.window, 0, 3500), answers);
      stored.commit();
      EXPECT_TRUE(start == stored.storage.rows);
      // The window rotates again, with another key, as if the first time had never been.
      stored.rotate();
      stored.add_and_commit(3400, 3401);
      stored.expect_good();
      EXPECT_EQ(stored.missing(3400, 3401), 0u);
      EXPECT_EQ(stored.missing(1000, 1600), 0u);
      EXPECT_EQ(stored.missing(2000, 2610), 0u);
      stored.roll_back(start);
    }
  }
}

// After a roll-back of its creation there is no window. It can be made again.
TEST_P(FaultyWindowOfSegments, a_creation_is_rolled_back_as_a_whole) {
  MemoryBlocks storage;
  FilterWindow window(options(), storage);
  for (const bool flushed : {false, true}) {
    ASSERT_TRUE(window.create().ok());
    ASSERT_TRUE(window.rotate().ok());
    ASSERT_TRUE(!flushed || window.flush().ok());
    storage.rows.clear();
    window.forget();
    EXPECT_TRUE(
        fails_saying(window.refresh(), ErrorCode::kCorrupt, "the window's block is missing"));
  }
  ASSERT_TRUE(window.create().ok());
  ASSERT_TRUE(window.flush().ok());
  EXPECT_STATUS(window.check());
}

// ---- damage

TEST_P(FaultyWindowOfSegments, check_finds_every_missing_and_every_stray_block) {
  const MemoryBlocks::Rows good = stored.storage.rows;
  uint64_t seen = 0;
  for (const auto& entry : good) {
    if (seen++ % test::share_divisor() != test::share_first()) {
      continue;
    }
    stored.storage.rows.erase(entry.first);
    EXPECT_TRUE(fails(stored.window.check(), ErrorCode::kCorrupt))
        << "missing: " << block_name(entry.first);
    stored.storage.rows = good;
  }
  const int64_t beyond = first_block_of(kGenerations);
  std::vector<int64_t> strays = {INT64_MIN, -1000, kWindowBlock - 1, beyond, beyond + 5, INT64_MAX};
  for (uint64_t slot = 0; slot < kGenerations; ++slot) {
    for (const int64_t id :
         {kFirstDirectoryBlock + 500, segment_block(900, 0), kFirstLogBlock - 1, kLastLogBlock}) {
      strays.push_back(first_block_of(slot) + id);
    }
  }
  for (const int64_t id : strays) {
    ASSERT_FALSE(good.contains(id));
    ASSERT_TRUE(Blocks(stored.storage, stored.options.seed).write(id, Bytes(40), false).ok());
    EXPECT_TRUE(fails(stored.window.check(), ErrorCode::kCorrupt)) << "stray: " << block_name(id);
    stored.storage.rows = good;
  }
  stored.expect_good();
}

// The window holds two of three generations. A block is in the slot that no generation holds.
TEST_P(FaultyWindowOfSegments, check_finds_blocks_of_a_slot_that_is_not_held) {
  StoredGenerations stored(options());
  stored.add(0, 600);
  stored.rotate();
  stored.add_and_commit(1000, 1600);
  stored.expect_good();
  ASSERT_TRUE(Blocks(stored.storage, stored.options.seed, 2).write(3, Bytes(40), false).ok());
  EXPECT_FALSE(stored.window.check().ok());
}

TEST_P(FaultyWindowOfSegments, a_single_generation_stores_nothing_of_its_own) {
  StoredGenerations stored(options(1));
  MemoryBlocks alone;
  FilterFile file(stored.options, alone);
  ASSERT_TRUE(file.create().ok() && file.flush().ok());
  stored.add_and_commit(0, 600);
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(file.insert(nth_hash(i)).ok());
  }
  ASSERT_TRUE(file.finish_load().ok() && file.flush().ok());
  EXPECT_TRUE(stored.storage.rows == alone.rows);
  const MemoryBlocks::Rows good = stored.storage.rows;
  for (const int64_t id : {INT64_MIN, kWindowBlock, first_block_of(1), INT64_MAX}) {
    ASSERT_TRUE(Blocks(stored.storage, stored.options.seed).write(id, Bytes(40), false).ok());
    EXPECT_FALSE(stored.window.check().ok()) << id;
    stored.storage.rows = good;
  }
  stored.expect_good();
}

TEST_P(FaultyWindowOfSegments, a_single_generation_does_not_rotate) {
  StoredGenerations stored(options(1));
  stored.add_and_commit(0, 100);
  const MemoryBlocks::Rows before = stored.storage.rows;
  EXPECT_TRUE(fails(stored.window.rotate(), ErrorCode::kInvalid));
  EXPECT_TRUE(stored.window.usable());
  stored.commit();
  EXPECT_TRUE(before == stored.storage.rows);
  stored.add_and_commit(100, 200);
  stored.expect_good();
  stored.roll_back(before);
  EXPECT_EQ(stored.missing(0, 100), 0u);
  stored.expect_good();
  EXPECT_EQ(stored.window.generation_items().size(), 1u);
}

TEST_P(FaultyWindowOfSegments, a_generation_that_was_forgotten_leaves_no_block) {
  const MemoryBlocks::Rows before = stored.storage.rows;
  stored.rotate();
  stored.commit();
  uint64_t left = 0;
  for (const auto& entry : stored.storage.rows) {
    left += entry.first >= 0 && entry.first >> kSlotBits == 0 ? 1 : 0;
  }
  EXPECT_EQ(left, 2u) << "a root and a row of the log";
  for (const int64_t id : differing(before, stored.storage.rows)) {
    // The generation that becomes old gets another root, and the end of its log names it.
    const int64_t own = id - first_block_of(static_cast<uint64_t>(id >> kSlotBits));
    EXPECT_TRUE(id == kWindowBlock || id >> kSlotBits == 0 || own == kRootBlock ||
                own >= kFirstLogBlock)
        << id;
  }
  stored.expect_good();
}

// A damaged block of any generation leads to an error, or to the right answers.
TEST_P(FaultyWindowOfSegments, damage_is_an_error_or_harmless) {
  const MemoryBlocks::Rows good = stored.storage.rows;
  const auto probe_all = [&](uint64_t& lost) -> Status {
    FilterWindow window(stored.options, stored.storage);
    CUCKOO_TRY(window.refresh());
    for (uint64_t i = 0; i < 2600; i += i % 1000 == 599 ? 401 : 1) {
      CUCKOO_ASSIGN_OR_RETURN(const bool present, window.load_and_probe(nth_hash(i)));
      lost += present ? 0 : 1;
    }
    return window.check();
  };
  const auto expect_found = [&](const std::string& name) {
    uint64_t lost = 0;
    EXPECT_TRUE(fails(probe_all(lost), ErrorCode::kCorrupt)) << name;
    EXPECT_EQ(lost, 0u) << name;
  };
  uint64_t lost = 0;
  ASSERT_TRUE(probe_all(lost).ok());
  ASSERT_EQ(lost, 0u);
  uint64_t number = 0;
  for (const auto& [id, block] : good) {
    if (id != kWindowBlock && ++number % test::share_divisor() != test::share_first()) {
      continue;
    }
    const bool one = id == kWindowBlock || id % first_block_of(1) == 0;
    for (size_t at = one ? 0 : number % block.size(); at < block.size();
         at += one ? 7 * test::share_divisor() : block.size()) {
      stored.storage.rows[id][at] ^= std::byte{0x81};
      expect_found(block_name(id));
      stored.storage.rows[id] = block;
    }
  }
  for (const auto& [id, block] : good) {  // the same block of another slot
    const int64_t other = (id + first_block_of(1)) % first_block_of(kGenerations);
    if (id != kWindowBlock && good.contains(other) &&
        ++number % test::share_divisor() == test::share_first()) {
      stored.storage.rows[id] = good.at(other);
      expect_found(block_name(id));
      stored.storage.rows[id] = block;
    }
  }
}

// I6: no block of an earlier time hides a key, also not the end of an older generation's log.
TEST_P(FaultyWindowOfSegments, I6_blocks_of_an_earlier_time_are_refused) {
  const MemoryBlocks::Rows before = stored.storage.rows;
  stored.add_and_commit(5000, 5010);
  const MemoryBlocks::Rows amid = stored.storage.rows;
  stored.add_and_commit(5010, 5020);
  stored.rotate();
  stored.add_and_commit(6000, 6010);
  const MemoryBlocks::Rows now = stored.storage.rows;
  const int64_t newest = std::prev(now.lower_bound(first_block_of(3 % kGenerations + 1)))->first;
  for (const MemoryBlocks::Rows& earlier : {before, amid}) {
    for (const auto& [id, row] : earlier) {
      const auto own = now.find(id);
      if (own == now.end() || own->second == row) {
        continue;
      }
      stored.storage.rows = now;
      stored.storage.rows[id] = row;
      FilterWindow window(stored.options, stored.storage);
      bool noticed = !window.refresh().ok();
      for (uint64_t i = 5000; !noticed && i < 5020; ++i) {
        const Result<bool> found = window.load_and_probe(nth_hash(i));
        noticed = !found.ok();
        ASSERT_TRUE(noticed || found.value()) << block_name(id) << " hides key " << i;
      }
      EXPECT_TRUE(noticed || !window.check().ok() || id == newest) << block_name(id);
    }
  }
  stored.storage.rows = now;
}

TEST_P(FaultyWindowOfSegments, hostile_numbers_are_refused) {
  const MemoryBlocks::Rows good = stored.storage.rows;
  const Blocks blocks(stored.storage, stored.options.seed);
  Bytes content;
  expect_ok(blocks.read_one(kWindowBlock, [&](int64_t, std::span<const std::byte> bytes) {
    content.assign(bytes.begin(), bytes.end());
    return Status();
  }));
  ASSERT_EQ(content.size(), 40u);
  const std::function<void(Bytes&)> kChanges[] = {
      [](Bytes& c) { c.clear(), c.resize(39); },
      [](Bytes& c) { c.resize(41); },
      [](Bytes& c) { c[0] ^= std::byte{1}; },
      [](Bytes& c) { c[4] = std::byte{2}; },
      [](Bytes& c) { store_le<uint64_t>(&c[8], 1); },  // fewer rotations than are held
      [](Bytes& c) { store_le<uint64_t>(&c[8], uint64_t{1} << 61); },
      [](Bytes& c) { store_le<uint64_t>(&c[8], UINT64_MAX); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], 0); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], kGenerations + 1); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], UINT64_MAX); },
      // Possible ones, but not those of this window: the newest generation names another block.
      [](Bytes& c) { store_le<uint64_t>(&c[8], 3); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], 1); },
      [](Bytes& c) { store_le<uint64_t>(&c[24], 99); },
      [](Bytes& c) { store_le<uint64_t>(&c[32], 99); },
  };
  for (const bool warm : {false, true}) {
    for (size_t number = 0; number < std::size(kChanges); ++number) {
      SCOPED_TRACE("change " + std::to_string(number) + (warm ? ", warm" : ""));
      FilterWindow window(stored.options, stored.storage);
      if (warm) {
        StoredGenerations::follow(window);
      }
      Bytes changed = content;
      kChanges[number](changed);
      ASSERT_TRUE(blocks.write(kWindowBlock, changed, true).ok());
      EXPECT_TRUE(fails(window.refresh(), ErrorCode::kCorrupt));
      EXPECT_FALSE(stored.window.check().ok());
      stored.storage.rows = good;
      StoredGenerations::follow(window);
      EXPECT_EQ(window.items(), stored.window.items());
      EXPECT_TRUE(window.check().ok());
    }
  }
}

}  // namespace
}  // namespace segments_filter_window_fault_test
}  // namespace cuckoo::segments
