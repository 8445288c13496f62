// Marks of a FilterFile: changes_since() and apply(), for every kind. Invariants of
// core/segments/mark.hpp.
#include <algorithm>
#include <map>
#include <random>

#include "core/segments/overlay_blocks.hpp"
#include "tests/core/segments/copies.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments::segments_filter_file_changes_test {
namespace {

// A copy of kCells is made of images without hashes, whatever its own capacity is.
enum class CopyKind : uint8_t { kBackup, kGrows, kRelayed, kCells, kRelayedCells };
constexpr CopyKind kCopyKinds[] = {CopyKind::kBackup, CopyKind::kGrows, CopyKind::kRelayed,
                                   CopyKind::kCells, CopyKind::kRelayedCells};

bool of_cells(CopyKind kind) { return kind == CopyKind::kCells || kind == CopyKind::kRelayedCells; }

// A random life of an origin and its copies. Messages are lost, doubled and late.
class LifeOfCopies {
 public:
  LifeOfCopies(FilterKind kind, uint64_t seed) : seed_(seed) {
    constexpr uint32_t kPageBytes[] = {64, 448, 4032};
    options_.spec.kind = kind;
    options_.spec.rate = is_multiset(kind) ? 0.01 : random(2) == 0 ? kHighRate : kLowRate;
    options_.capacity = 100 + random(3000);
    options_.growth = random(4) != 0;
    options_.unique = is_multiset(kind) && random(3) == 0;
    options_.width = random(2) == 0 ? HashWidth::k47Bits : HashWidth::k63Bits;
    options_.page_bytes = kPageBytes[random(3)];
    options_.seed = nth_word(seed, 1 << 30);
    options_.digest = nth_word(seed, 1 << 29);
    distinct_ = options_.growth ? 50 + random(random(2) == 0 ? 6000 : 60000)
                                : options_.capacity / (multiset() && !options_.unique ? 3 : 1);
  }
  std::string description() const {
    return name_of(options_.spec.kind) + ", capacity " + std::to_string(options_.capacity) +
           (options_.growth ? ", growth" : "") + (options_.unique ? ", unique" : "") + ", page " +
           std::to_string(options_.page_bytes) + ", seed " + std::to_string(seed_);
  }
  uint64_t applied() const { return applied_; }
  uint64_t with_segments() const { return with_segments_; }

  void run() {
    origin_ = std::make_unique<Site>(options_);
    for (uint64_t i = random(distinct_); i > 0; --i) {
      change(false);
    }
    origin_->commit();
    history_[mark_text(origin_->mark())] = counts_;
    for (size_t i = 0; i < std::size(kCopyKinds); ++i) {
      replace_copy(i);
    }
    for (uint64_t day = 0; day < 25 && !::testing::Test::HasFailure(); ++day) {
      transaction();
      for (size_t i = 0; i < std::size(kCopyKinds) && !::testing::Test::HasFailure(); ++i) {
        if (random(3) != 0) {
          bring_up_to_date(i);
        }
      }
    }
  }

 private:
  // At the high rate, many hashes of a set seem to be there before they come.
  static constexpr double kHighRate = 0.2;
  static constexpr double kLowRate = 1e-9;  // so that no copy counts fewer by chance

  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  bool multiset() const { return options_.multiset(); }
  // Do copies count the same items? Otherwise only images tell how many there are (S7).
  bool of_equal_items() const { return multiset() || options_.spec.rate == kLowRate; }
  bool lacks_hashes(CopyKind kind) const {
    return of_cells(kind) || (!of_equal_items() && !options_.growth && kind != CopyKind::kBackup);
  }
  uint64_t hash_of(uint64_t i) const {
    return logged_hash(nth_word(seed_ ^ 0xABCDEF, i), options_.width);
  }

  void change(bool remove) {
    const uint64_t hash = hash_of(random(distinct_));
    const auto owned = counts_.find(hash);
    if (remove) {
      if (owned != counts_.end()) {
        ASSERT_TRUE((*origin_)->remove(hash).value());
        if (--owned->second == 0) {
          counts_.erase(owned);
        }
      }
      return;
    }
    if (options_.unique && owned != counts_.end()) {
      return;
    }
    const Status added = (*origin_)->insert(hash);
    if (!added.ok()) {
      ASSERT_EQ(added.error().code, ErrorCode::kFull) << message_of(added);
      ASSERT_FALSE(options_.growth);
      return;
    }
    counts_[hash] = multiset() ? counts_[hash] + 1 : 1;
  }

  void transaction() {
    Site& origin = *origin_;
    if (random(4) == 0) {
      origin.reopen();
    }
    expect_ok(origin->refresh());
    const test::MemoryBlocks::Rows rows = origin.storage.rows;
    const FilterMark before = origin.mark();
    const Counts counts = counts_;
    if (random(25) == 0) {
      expect_ok(origin->clear());
      counts_.clear();
    } else if (random(12) == 0 && options_.growth) {
      expect_ok(origin->rebuild(1 + random(2 * distinct_)));
    }
    constexpr uint64_t kBursts[] = {0, 3, 100, 600, 25000};
    const uint64_t removes = random(6);  // of ten changes
    for (uint64_t i = random(1 + kBursts[random(random(4) == 0 ? 5 : 4)]); i > 0; --i) {
      change(multiset() && random(10) < removes);
      if (random(1000) == 0) {
        expect_ok(origin->flush());  // a savepoint
      }
    }
    if (random(5) == 0) {
      origin.roll_back(rows);
      counts_ = counts;
      ASSERT_EQ(origin.mark(), before);
      history_[mark_text(before)] = counts;
      return;
    }
    const FilterMark pending = origin.mark();
    origin.commit();
    ASSERT_EQ(origin.mark(), pending) << "folds and flushes are no change";
    history_[mark_text(pending)] = counts_;
  }

  FilterOptions options_of(CopyKind kind) {
    FilterOptions options = options_;
    if (kind != CopyKind::kBackup) {
      options.growth = !of_cells(kind) || random(2) == 0;
      options.capacity = 1 + random(2000);
      options.unique = options.unique && !of_cells(kind);  // none without hashes
      options.page_bytes = random(2) == 0 ? 64 : 448;
      options.digest = 77 + static_cast<uint64_t>(kind);
    }
    return options;
  }
  // Replaces the copy, as an image does.
  void replace_copy(size_t i) {
    const CopyKind kind = kCopyKinds[i];
    if (kind == CopyKind::kBackup) {
      copies_[i] = std::make_unique<Site>(origin_->storage.rows, options_);
    } else if (of_equal_items() && !of_cells(kind)) {
      copies_[i] = copy_of(*origin_, counts_, options_of(kind));
    } else {
      copies_[i] = std::make_unique<Site>(options_of(kind));
      test::take_image(*copies_[i], *origin_, !lacks_hashes(kind));
    }
    expect_equal(*copies_[i]);
  }

  // The relayed copies follow a copy, and all other copies follow the origin.
  void bring_up_to_date(size_t i) {
    const CopyKind kind = kCopyKinds[i];
    Site& from = kind == CopyKind::kRelayed        ? *copies_[random(2)]
                 : kind == CopyKind::kRelayedCells ? *copies_[3]
                                                   : *origin_;
    Site& copy = *copies_[i];
    if (random(4) == 0) {
      copy.reopen();
    }
    expect_ok(copy->refresh());
    const FilterMark theirs = copy.mark();
    const FilterMark now = from.mark();
    if (!from.leads_from(theirs)) {
      lacks_hashes(kind) ? test::take_image(copy, from) : replace_copy(i);
      return;
    }
    const FilterChanges changes = from.changes_since(theirs);
    with_segments_ += changes.pieces && lacks_hashes(kind) ? 1 : 0;
    ASSERT_EQ(changes.from, theirs);
    ASSERT_EQ(changes.to, now);
    expect_what_changed(changes);
    const test::MemoryBlocks::Rows rows = copy.storage.rows;
    ASSERT_EQ(copy.apply(changes), theirs != now);
    ASSERT_EQ(copy.mark(), now);
    ++applied_;
    if (random(6) == 0) {
      copy.roll_back(rows);
      ASSERT_EQ(copy.mark(), theirs);
      ASSERT_EQ(copy.apply(changes), theirs != now);
      ASSERT_EQ(copy.mark(), now);
    }
    ASSERT_FALSE(copy.apply(changes)) << "sent twice";
    copy.commit();
    ASSERT_EQ(copy.mark(), now);
    if (theirs != now) {
      ASSERT_TRUE(copy.leads_from(now));
      FilterChanges late = changes;
      late.to.position += 1;
      ASSERT_NE(copy.refusal(late, ErrorCode::kInvalid).find("it has mark " + mark_text(now)),
                std::string::npos);
    }
    if (now == origin_->mark()) {
      expect_equal(copy);
    }
  }

  // The changes must add up to what happened.
  void expect_what_changed(const FilterChanges& changes) {
    const auto then = history_.find(mark_text(changes.from));
    const auto since = history_.find(mark_text(changes.to));
    ASSERT_TRUE(then != history_.end() && since != history_.end());
    std::map<uint64_t, int64_t> nets;
    for (const auto& [hash, count] : since->second) {
      nets[hash] += static_cast<int64_t>(count);
    }
    for (const auto& [hash, count] : then->second) {
      nets[hash] -= static_cast<int64_t>(count);
    }
    std::erase_if(nets, [](const auto& one) { return one.second == 0; });
    if (!multiset()) {  // a hash that is added again may be among them
      for (const uint64_t hash : changes.entries.entries()) {
        ASSERT_TRUE(since->second.contains(hash));
        nets.erase(hash);
      }
      ASSERT_TRUE(nets.empty());
      return;
    }
    std::map<uint64_t, int64_t> told = test::nets_of(changes.entries);
    std::erase_if(told, [](const auto& one) { return one.second == 0; });
    ASSERT_EQ(told, nets);
  }

  void expect_equal(Site& copy) {
    ASSERT_EQ(copy->items(), (*origin_)->items());
    for (const auto& [hash, count] : counts_) {
      const Result<uint64_t> found = copy->count(hash);
      ASSERT_TRUE(found.ok());
      ASSERT_GE(found.value(), count) << "S6";
    }
    if (random(3) == 0) {
      copy.expect_good();
      origin_->expect_good();
      Site opened(copy.storage.rows, copy.options);
      ASSERT_EQ(opened.mark(), copy.mark());
      ASSERT_EQ(opened->items(), copy->items());
    }
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  FilterOptions options_;
  uint64_t distinct_ = 0;
  Counts counts_;
  std::map<std::string, Counts> history_;  // by mark
  std::unique_ptr<Site> origin_;
  std::unique_ptr<Site> copies_[std::size(kCopyKinds)];
  uint64_t applied_ = 0;
  uint64_t with_segments_ = 0;
};

class FilterFileChanges : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }
  static FilterOptions options(bool growth = true, uint64_t capacity = 4000) {
    return test::options_for({GetParam(), growth}, capacity, 1e-5, 448);
  }
};

INSTANTIATE_EACH(Kinds, FilterFileChanges, test::kLoggedKinds);

TEST_P(FilterFileChanges, I1_bring_every_copy_up_to_date) {
  uint64_t applied = 0;
  uint64_t with_segments = 0;
  const uint64_t lives = test::for_each_seed(6, [&](uint64_t seed) {
    LifeOfCopies life(GetParam(), seed);
    SCOPED_TRACE(life.description());
    life.run();
    applied += life.applied();
    with_segments += life.with_segments();
  });
  EXPECT_GE(applied, 10 * lives);
  if (lives >= 6) {
    EXPECT_GE(with_segments, 1U);
  }
}

// What the origin has not folded yet is beyond the copy's pages, too, though it keeps no hashes.
TEST_P(FilterFileChanges, I8_a_copy_of_cells_has_the_rate_of_an_origin_that_outgrew) {
  for (const bool growth : {false, true}) {
    Counts counts;
    Site origin(options(true, 60));
    add_to(origin, counts, 0, 50);
    const std::unique_ptr<Site> copy = image_of(origin, options(growth, 1));
    add_to(origin, counts, 50, 74);
    const FilterChanges changes = origin.changes_since(copy->mark());
    ASSERT_FALSE(changes.pieces) << "it folded nothing";
    EXPECT_TRUE(copy->apply(changes));
    const auto expect_rate = [&](Site& site) {
      for (uint64_t i = 0; i < 74; ++i) {
        ASSERT_TRUE(site.has(nth_key(i))) << i;
      }
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < 50000; ++i) {
        wrong += site.has(nth_key(1'000'000 + i)) ? 1 : 0;
      }
      EXPECT_LE(wrong, 5u);
    };
    expect_rate(*copy);
    copy->commit();
    copy->reopen();
    expect_ok((*copy)->refresh());
    expect_rate(*copy);
    const std::unique_ptr<Site> of_copy = image_of(*copy, options(growth, 1));
    expect_ok((*copy)->fold_all());  // now the pages are too full
    for (const Site* const site : {copy.get(), of_copy.get()}) {
      for (uint64_t i = 0; i < 74; ++i) {
        ASSERT_TRUE(site->has(nth_key(i))) << i;
      }
      EXPECT_EQ((*site)->items(), origin->items());
    }
    copy->commit();
    copy->expect_good();
  }
}

// A small origin may hold many more keys than it was made for before it is their segment's turn.
TEST_P(FilterFileChanges, bring_a_small_segment_that_outgrew_by_far) {
  Counts counts;
  Site origin(options(true, 5));
  add_to(origin, counts, 0, 4);
  const std::unique_ptr<Site> copy = image_of(origin, options(false, 1));
  for (uint64_t keys = 4; keys < 244; keys += 20) {
    add_to(origin, counts, keys, keys + 20);
    EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
    copy->commit();
    EXPECT_EQ(copy->mark(), origin.mark());
  }
  const std::unique_ptr<Site> of_copy = image_of(*copy, options(false, 1));
  for (const Site* const site : {copy.get(), of_copy.get()}) {
    test::expect_all(*site->file, 244);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 20000; ++i) {
      wrong += site->has(nth_key(1'000'000 + i)) ? 1 : 0;
    }
    EXPECT_LE(wrong, 20u);
    site->expect_good();
  }
}

// A message that has nothing to say is short, also just after a load made all segments.
TEST_P(FilterFileChanges, are_short_after_a_load) {
  Site origin(options(true, 1000));
  expect_ok(test::add_and_commit(*origin.file, 0, 30000));
  const FilterMark mark = origin.mark();
  EXPECT_EQ(encoded(*must(origin->changes_since(mark))).size(), 192u);
  expect_ok(test::add_and_commit(*origin.file, 30000, 30001));
  EXPECT_LE(encoded(*must(origin->changes_since(mark))).size(), 200u);
}

TEST_P(FilterFileChanges, I2_any_other_change_ends_a_taken_mark) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 100);
  for (const bool growth : {false, true}) {
    const std::unique_ptr<Site> copy = copy_of(origin, counts, options(growth, 5000));
    const FilterMark mark = copy->mark();
    const test::MemoryBlocks::Rows rows = copy->storage.rows;
    expect_ok((*copy)->insert(nth_key(200)));
    EXPECT_NE(copy->mark(), mark);
    copy->commit();
    EXPECT_NE(copy->mark(), mark);
    EXPECT_EQ(copy->changes_since(mark).entries.size(), 1u) << "it was that once";
    copy->roll_back(rows);
    EXPECT_EQ(copy->mark(), mark) << "what is rolled back is no change";
    expect_ok((*copy)->clear());
    EXPECT_NE(copy->mark(), mark);
    EXPECT_FALSE(copy->leads_from(mark));
    copy->commit();
    copy->expect_good();
    EXPECT_FALSE(copy->leads_from(mark));
    copy->roll_back(rows);
    EXPECT_EQ(copy->mark(), mark);
  }
}

TEST_P(FilterFileChanges, I2_equal_filters_that_were_cleared_have_other_marks) {
  Site one(options());
  Site other(options());
  EXPECT_EQ(one.mark(), other.mark()) << "both are empty";
  expect_ok(one->clear());
  EXPECT_NE(one.mark(), other.mark());
  FilterOptions named = options();
  named.digest ^= 1;
  EXPECT_NE(Site(named).mark(), other.mark());
}

TEST_P(FilterFileChanges, from_elsewhere_are_refused_with_both_names) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 100);
  const FilterMark old = origin.mark();
  const std::unique_ptr<Site> copy = copy_of(origin, counts, options());
  Site backup(origin.storage.rows, options());
  add_to(origin, counts, 100, 120);
  const FilterMark middle = origin.mark();
  add_to(origin, counts, 120, 140);
  const FilterMark late = origin.mark();
  const test::MemoryBlocks::Rows rows = copy->storage.rows;
  const std::string text = copy->refusal(origin.changes_since(middle), ErrorCode::kInvalid);
  EXPECT_EQ(text, "the changes lead from mark " + mark_text(middle) + " to mark " +
                      mark_text(late) + ", and it has mark " + mark_text(old) +
                      "; ask for the changes since its own mark");
  EXPECT_FALSE((*copy)->pending());
  EXPECT_TRUE(copy->storage.rows == rows);

  // The backup went on by itself.
  expect_ok(test::add_and_commit(*backup.file, 700, 740));
  EXPECT_FALSE(backup.leads_from(late));
  copy->apply(origin.changes_since(old));
  copy->refusal(backup.changes_since(old), ErrorCode::kInvalid);
}

// Some of these changes no decoder gives. Others can be decoded, but are false.
TEST_P(FilterFileChanges, that_can_not_be_are_refused) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 100);
  const std::unique_ptr<Site> copy = copy_of(origin, counts, options());
  const FilterMark old = origin.mark();
  add_to(origin, counts, 100, 120);
  FilterChanges changes = origin.changes_since(old);
  ++changes.to.seed;
  copy->refusal(changes, ErrorCode::kBadMessage);
  --changes.to.seed;
  if (multiset()) {
    for (uint64_t i = 0; i < 600; ++i) {
      changes.entries.append(~uint64_t{0xFFFFF}, kMostCopies);
    }
    const std::string text = copy->refusal(changes, ErrorCode::kFull);
    EXPECT_NE(text.find(" items, "), std::string::npos) << text;
  } else {
    changes.items = 121;
    EXPECT_EQ(copy->refusal(changes, ErrorCode::kInvalid),
              "the changes leave 121 items, expected 100 to 120");
    changes.items = 99;
    copy->refusal(changes, ErrorCode::kInvalid);
  }
  copy->expect_good();
}

// In a unique filter each key's count is exact.
TEST_P(FilterFileChanges, a_unique_copy_follows_unique_origins_only) {
  if (!multiset()) {
    return;
  }
  FilterOptions unique = options();
  unique.unique = true;
  for (const bool origin_is_unique : {false, true}) {
    Counts counts;
    Site origin(origin_is_unique ? unique : options());
    add_to(origin, counts, 0, 10);
    Site copy(unique);
    Contents contents = must(origin->contents(true));
    expect_ok(copy->import(unique, contents));
    copy.commit();
    EXPECT_EQ(copy.mark() == origin.mark(), origin_is_unique);
    const std::unique_ptr<Site> counting = copy_of(origin, counts, options());
    const FilterMark old = counting->mark();
    add_to(origin, counts, 10, 20);
    EXPECT_TRUE(counting->apply(origin.changes_since(old)));
    EXPECT_EQ(counting->mark(), origin.mark());
    if (origin_is_unique) {
      EXPECT_TRUE(copy.apply(origin.changes_since(old)));
      EXPECT_EQ(copy.mark(), origin.mark());
    } else {
      FilterChanges changes = counting->changes_since(old);
      changes.from = copy.mark();
      changes.to.position += 7;
      EXPECT_EQ(copy.refusal(changes, ErrorCode::kInvalid),
                "unique = on follows only what is unique, too");
    }
  }
}

TEST_P(FilterFileChanges, hand_over_the_types_of_keys) {
  Counts counts;
  Site origin(options());
  const std::unique_ptr<Site> copy = copy_of(origin, {}, options());
  add_to(origin, counts, 0, 10);
  origin->note_key_types(5);
  EXPECT_EQ(origin.changes_since(copy->mark()).key_types, 5u);
  EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
  EXPECT_EQ((*copy)->key_types(), 5u);
}

TEST_P(FilterFileChanges, a_taken_mark_is_seen_by_other_connections_and_in_what_would_be_written) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 10);
  const FilterMark old = origin.mark();
  const std::unique_ptr<Site> copy = copy_of(origin, counts, options());
  FilterFile other(copy->options, copy->storage);
  expect_ok(other.refresh());
  EXPECT_EQ(other.mark().value(), old);
  add_to(origin, counts, 10, 20);
  EXPECT_TRUE(copy->apply(origin.changes_since(old)));
  OverlayBlocks overlay(copy->storage);
  expect_ok((*copy)->write_pending_to(overlay));
  FilterFile shown(copy->options, overlay);
  expect_ok(shown.refresh());
  EXPECT_EQ(shown.mark().value(), origin.mark());
  expect_ok(shown.check());
  expect_ok(other.refresh());
  EXPECT_EQ(other.mark().value(), old) << "not written yet";
  copy->commit();
  expect_ok(other.refresh());
  EXPECT_EQ(other.mark().value(), origin.mark());
  EXPECT_EQ(other.changes_since(old).value()->entries.size(), 10u);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_changes_test
