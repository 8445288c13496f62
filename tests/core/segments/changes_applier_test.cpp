// How a copy applies the changes of its origin, for every kind. What changes are, and which are
// refused, is in filter_file_changes_test.cpp; failures are in faults_test.cpp.
#include "core/segments/changes_applier.hpp"

#include "tests/core/segments/copies.hpp"

namespace cuckoo::segments::segments_changes_applier_test {
namespace {

class AppliedChanges : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }
  static FilterOptions options(bool growth = true, uint64_t capacity = 4000) {
    return test::options_for({GetParam(), growth}, capacity, 1e-5, 448);
  }
};

INSTANTIATE_EACH(Kinds, AppliedChanges, test::kLoggedKinds);

// Marks name contents. A copy without hashes may have a mark, but other segments. Then it goes on
// with its own.
TEST_P(AppliedChanges, I2_lead_every_copy_to_the_mark_whatever_its_segments) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 100);
  const std::unique_ptr<Site> fixed = copy_of(origin, counts, options(false, 500));
  const std::unique_ptr<Site> image = test::image_of(origin, options(false, 500));
  const std::unique_ptr<Site> hashed = copy_of(origin, counts, options(true, 500));
  add_to(origin, counts, 100, 110);
  for (const Site* copy : {fixed.get(), image.get(), hashed.get()}) {
    EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
    EXPECT_EQ(copy->mark(), origin.mark());
    test::expect_all(*copy->file, 110);
    expect_ok(test::commit(*copy->file));
    copy->expect_good();
  }
}

// The changes may bring only the first segments of the hash space, or only the last ones.
TEST_P(AppliedChanges, bring_segments_of_a_part_of_the_hash_space) {
  constexpr uint64_t base = 12000;
  const uint32_t page_bytes = GetParam() == FilterKind::kCountingBloom ? 448 : 64;
  const FilterOptions grown = test::options_for({GetParam(), true}, 100, 0.01, page_bytes);
  const FilterOptions fixed = test::options_for({GetParam(), false}, 100, 0.01, page_bytes);
  for (const bool at_the_end : {false, true}) {
    Site origin(grown);
    expect_ok(test::add_and_commit(*origin.file, 0, base));
    expect_ok(test::add_and_commit(*origin.file, base, base + 10));  // the position moves on
    const std::unique_ptr<Site> copy = test::image_of(origin, fixed);
    std::vector<uint64_t> keys;
    for (uint64_t i = base + 10; keys.size() < base; ++i) {
      if ((nth_key(i) >> 63 != 0) == at_the_end) {
        keys.push_back(nth_key(i));
        expect_ok(origin->insert(keys.back()));
        if (keys.size() % 1000 == 0) {
          origin.commit();
        }
      }
    }
    const FilterChanges changes = origin.changes_since(copy->mark());
    std::vector<Piece> pieces;
    expect_ok(changes.pieces([&](Piece&& piece) -> Status {
      pieces.push_back(std::move(piece));
      return {};
    }));
    ASSERT_GT(pieces.size(), 1u);
    ASSERT_LT(pieces.size(), origin->segments());
    EXPECT_TRUE(copy->apply(changes));
    EXPECT_EQ(copy->mark(), origin.mark());
    EXPECT_EQ((*copy)->items(), origin->items());
    copy->commit();
    copy->expect_good();
    test::expect_all(*copy->file, base + 10);
    for (const uint64_t key : keys) {
      ASSERT_TRUE(copy->has(key));
    }
  }
}

// A remove of what was never added takes an entry that shares its cells. The copies have other
// cells, so a copy may find no such entry. It loses nothing by that, and keeps up.
TEST_P(AppliedChanges, survive_removes_of_what_was_never_added) {
  if (!multiset()) {
    return;
  }
  FilterOptions rough = test::options_for({GetParam(), true}, 600, 0.2, 448);
  Site origin(rough);
  Counts counts;
  add_to(origin, counts, 0, 300);
  FilterOptions fixed = rough;
  fixed.growth = false;
  fixed.capacity = 5000;
  FilterOptions fine = rough;
  fine.spec.rate = 1e-5;
  const std::unique_ptr<Site> copies[] = {
      copy_of(origin, counts, rough), test::image_of(origin, fixed), copy_of(origin, counts, fine)};
  Site backup(origin.storage.rows, rough);
  std::mt19937_64 random(3);
  uint64_t foreign = 0;
  uint64_t added = 300;
  for (int day = 0; day < 40; ++day) {
    for (int i = 0; i < 40; ++i) {
      if (random() % 4 != 0) {
        expect_ok(origin->insert(nth_key(added++)));
      } else {
        foreign += origin->remove(nth_key(1'000'000 + random() % 5000)).value() ? 1 : 0;
      }
    }
    origin.commit();
    for (Site* copy : {copies[0].get(), copies[1].get(), copies[2].get(), &backup}) {
      copy->apply(origin.changes_since(copy->mark()));
      copy->commit();
      copy->expect_good();
      ASSERT_EQ(copy->mark(), origin.mark());
    }
  }
  EXPECT_GT(foreign, 10u);
  EXPECT_EQ((*copies[2])->items(), added) << "almost nothing shares cells there: all were dropped";
  for (uint64_t i = 0; i < added; ++i) {
    ASSERT_TRUE(copies[2]->has(nth_key(i)));
  }
}

// The log has such a key as a remove and an add. Where the key was absent, one copy is left.
TEST_P(AppliedChanges, bring_what_was_removed_before_it_was_added) {
  if (!multiset()) {
    return;
  }
  const FilterOptions rough = test::options_for({GetParam(), true}, 600, 0.25, 448);
  FilterOptions fine = rough;
  fine.spec.rate = 1e-5;
  Counts counts;
  Site origin(rough);
  add_to(origin, counts, 0, 550);
  const std::unique_ptr<Site> copies[] = {
      copy_of(origin, counts, rough), copy_of(origin, counts, fine), test::image_of(origin, rough)};
  Site backup(origin.storage.rows, rough);
  std::vector<uint64_t> keys;
  for (uint64_t i = 1'000'000; keys.size() < 40; ++i) {
    if (origin->remove(nth_key(i)).value()) {
      keys.push_back(nth_key(i));
      expect_ok(origin->insert(nth_key(i)));
    }
  }
  origin.commit();
  for (Site* copy : {copies[0].get(), copies[1].get(), copies[2].get(), &backup}) {
    EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
    EXPECT_EQ((*copy)->items(), copy == copies[1].get() ? 590 : 550);
    copy->commit();
    copy->expect_good();
    if ((*copy)->keeps_hashes()) {
      expect_ok((*copy)->rebuild(2000));
      copy->commit();
      copy->expect_good();
      EXPECT_EQ((*copy)->items(), 590);
    }
    test::expect_all(*copy->file, 550);
    for (const uint64_t key : keys) {
      ASSERT_TRUE(copy->has(key));
    }
  }
}

// The origin removes keys that were never added, but share cells with keys that the same changes
// add. In the end the twin has the origin's cells.
TEST_P(AppliedChanges, remove_again_what_is_found_once_the_adds_are_in) {
  if (!multiset()) {
    return;
  }
  const FilterOptions rough = test::options_for({GetParam(), false}, 600, 0.25, 448);
  Site origin(rough);
  Site twin(rough);
  const FilterMark empty = twin.mark();
  ASSERT_EQ(origin.mark(), empty);
  expect_ok(test::add_and_commit(*origin.file, 0, 520));
  uint64_t foreign = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    foreign += origin->remove(nth_key(1'000'000 + i)).value() ? 1 : 0;
  }
  ASSERT_GT(foreign, 10u);
  origin.commit();
  EXPECT_TRUE(twin.apply(origin.changes_since(empty)));
  EXPECT_EQ(twin->items(), 520 - foreign);
  twin.commit();
  twin.expect_good();
}

// The first copy is large and keeps hashes, so it makes no segment anew. The second one is small
// and keeps none. Then it follows the first one alone.
TEST_P(AppliedChanges, I3_bring_a_copy_of_a_copy_segments_in_place_of_those_of_the_origin) {
  Counts counts;
  Site origin(options(true, 60));
  add_to(origin, counts, 0, 50);
  const std::unique_ptr<Site> large = copy_of(origin, counts, options(true, 5000));
  const std::unique_ptr<Site> small = test::image_of(origin, options(false, 1));
  add_to(origin, counts, 50, 55);
  for (const Site* const copy : {large.get(), small.get()}) {
    EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
    expect_ok(test::commit(*copy->file));
  }
  uint64_t with_pieces = 0;
  for (uint64_t keys = 55; keys < 3055; keys += 500) {
    add_to(origin, counts, keys, keys + 500);
    EXPECT_TRUE(large->apply(origin.changes_since(large->mark())));
    large->commit();
    large->expect_good();
    const FilterChanges changes = large->changes_since(small->mark());
    with_pieces += changes.pieces ? 1 : 0;
    EXPECT_TRUE(small->apply(changes));
    EXPECT_EQ(small->mark(), origin.mark());
    small->commit();
    small->expect_good();
  }
  EXPECT_GT(with_pieces, 1u);
  test::expect_all(*small->file, 3055);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < 50000; ++i) {
    wrong += small->has(nth_key(1'000'000 + i)) ? 1 : 0;
  }
  EXPECT_LE(wrong, 5u);
}

// A set drops a key that seems present, if no remake needs it. Here a copy of other cells needs it.
TEST_P(AppliedChanges, of_a_copy_have_what_only_seemed_present_there) {
  if (multiset()) {
    return;
  }
  const FilterOptions rough = test::options_for({GetParam(), false}, 700, 0.25, 448);
  const FilterOptions fine = test::options_for({GetParam(), true}, 100, 1e-6, 448);
  Site origin(rough);
  const std::unique_ptr<Site> relay = test::image_of(origin, rough);
  const std::unique_ptr<Site> last = copy_of(origin, {}, fine);
  expect_ok(test::add_and_commit(*relay->file, 0, 500));  // it goes its own way
  EXPECT_TRUE(last->apply(relay->changes_since(last->mark())));
  expect_ok(test::add_and_commit(*relay->file, 500, 600));
  expect_ok(test::add_and_commit(*relay->file, 600, 700));
  EXPECT_LT((*relay)->items(), 698u);
  Site backup(relay->storage.rows, relay->options);
  EXPECT_TRUE(last->apply(backup.changes_since(last->mark())));
  EXPECT_EQ((*last)->items(), (*relay)->items()) << "as the relay counted";
  test::expect_all(*last->file, 700);
}

TEST_P(AppliedChanges, neither_growth_off_nor_the_capacity_stands_in_the_way) {
  Counts counts;
  Site origin(options());
  add_to(origin, counts, 0, 100);
  const std::unique_ptr<Site> copy = test::image_of(origin, options(false, 500));
  for (uint64_t keys = 100; keys < 2000; keys += 400) {
    add_to(origin, counts, keys, keys + 400);
    EXPECT_TRUE(copy->apply(origin.changes_since(copy->mark())));
  }
  EXPECT_EQ((*copy)->items(), origin->items());
  test::expect_all(*copy->file, 2000);
  copy->commit();
  copy->expect_good();
  EXPECT_FALSE((*copy)->keeps_hashes());
  Site opened(copy->storage.rows, copy->options);
  EXPECT_EQ(opened.mark(), origin.mark());
}

}  // namespace
}  // namespace cuckoo::segments::segments_changes_applier_test
