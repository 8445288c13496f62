// Marks, images and changes of sliding windows: a copy becomes what its origin is, with all of its
// generations.
#include "tests/core/segments/window_copies.hpp"

namespace cuckoo::segments::segments_filter_window_changes_test {
namespace {

constexpr uint64_t kGenerations = 3;

class WindowChanges : public ::testing::TestWithParam<FilterCase> {
 protected:
  WindowChanges() { fill(origin); }
  static FilterOptions options(uint64_t generations = kGenerations) {
    FilterOptions options = test::generations_of(GetParam(), generations, 300, 1e-6, 448);
    options.spec.rate = 1e-5;
    return options;
  }
  static void fill(StoredGenerations& stored) {
    for (uint64_t turn = 0; turn < kGenerations; ++turn) {
      if (turn > 0) {
        stored.rotate();
      }
      stored.add_and_commit(1000 * turn, 1000 * turn + 200);
    }
  }
  static std::unique_ptr<StoredGenerations> copy(StoredGenerations& of) {
    return copy_of(of.window, options(2), false);
  }
  static void expect_same(StoredGenerations& copy, StoredGenerations& origin) {
    EXPECT_EQ(mark_of(copy.window), mark_of(origin.window));
    EXPECT_EQ(answers_of(copy.window, 0, 5000), answers_of(origin.window, 0, 5000));
    EXPECT_EQ(copy.window.options().generations, origin.window.options().generations);
  }

  StoredGenerations origin{options()};
};

INSTANTIATE_EACH(Kinds, WindowChanges, test::all_cases());

TEST_P(WindowChanges, are_short) {
  FilterOptions large = options();
  large.capacity = 20000;
  StoredGenerations origin(large);
  origin.add_and_commit(0, 15000);
  const auto copy = copy_of(origin.window, large, false);
  EXPECT_LT(changes_of(origin.window, mark_of(copy->window))->size(), 500U) << "nothing changed";
  origin.add_and_commit(15000, 15500);
  EXPECT_LT(changes_of(origin.window, mark_of(copy->window))->size(), 500U * 6 + 500);
  origin.rotate();
  origin.add_and_commit(16000, 16500);
  const Bytes rotated = *changes_of(origin.window, mark_of(copy->window));
  EXPECT_LT(rotated.size(), 1000U * 6 + 2000);
  origin.add_and_commit(17000, 19000);
  EXPECT_LT(changes_of(origin.window, mark_of(copy->window))->size(),
            image_of(origin.window).size());
  EXPECT_FALSE(follow_origin(*copy, origin.window));
  EXPECT_EQ(copy->missing(0, 15500) + copy->missing(16000, 16500), 0U);
}

TEST_P(WindowChanges, behind_counts_adds_and_rotations) {
  const WindowMark mark = mark_of(origin.window);
  const auto behind = [&](const WindowMark& since) {
    const Result<std::optional<uint64_t>> count = origin.window.changes_behind(since);
    EXPECT_TRUE(count.ok());
    return count.value();
  };
  EXPECT_EQ(behind(mark), 0U);
  origin.add(3000, 3007);
  EXPECT_EQ(behind(mark), 7U);
  origin.rotate();
  EXPECT_EQ(behind(mark), 8U);
  origin.add_and_commit(4000, 4005);
  EXPECT_EQ(behind(mark), 13U);
  WindowMark foreign = mark;
  ++foreign.newest.chain;
  EXPECT_EQ(behind(foreign), std::nullopt);
  foreign = mark_of(origin.window);
  ++foreign.rotation;
  EXPECT_EQ(behind(foreign), std::nullopt);
  origin.clear();
  EXPECT_EQ(behind(mark), std::nullopt);
}

// Windows whose newest generations are alike, but whose older ones are not, have other marks.
TEST_P(WindowChanges, I1_a_mark_names_the_older_generations_too) {
  StoredGenerations one(options());
  StoredGenerations other(options());
  EXPECT_EQ(mark_of(one.window), mark_of(other.window));
  one.add(0, 5);
  other.add(5, 10);
  for (StoredGenerations* each : {&one, &other}) {
    each->commit();
    each->rotate();
    each->commit();
  }
  EXPECT_NE(mark_of(one.window), mark_of(other.window));
  EXPECT_EQ(changes_of(one.window, mark_of(other.window)), std::nullopt);
  StoredGenerations third(options());
  third.add_and_commit(0, 5);
  third.rotate();
  third.commit();
  EXPECT_EQ(mark_of(one.window), mark_of(third.window));
}

TEST_P(WindowChanges, an_origin_that_begins_anew_answers_by_its_image) {
  const std::vector<std::function<void(StoredGenerations&)>> all = {
      [](StoredGenerations& origin) { origin.clear(); },
      [](StoredGenerations& origin) { origin.clear(), origin.rotate(), origin.rotate(); },
      [](StoredGenerations& origin) {
        StoredGenerations other(options(4));
        other.add_and_commit(3000, 3100);
        EXPECT_TRUE(take(origin.window, image_of(other.window)).ok());
      }};
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    StoredGenerations one(options());
    fill(one);
    const auto made = copy(one);
    all[i](one);
    one.commit();
    EXPECT_EQ(follow_origin(*made, one.window), i != 1) << "an image of each generation, then";
    expect_same(*made, one);
    EXPECT_EQ(mark_of(made->window), mark_of(one.window));
  }
}

TEST_P(WindowChanges, no_rotation_comes_after_the_last_one_that_has_a_number) {
  const Bytes bytes = image_of(origin.window);
  WindowMessage message = decode_window_message(bytes, 448, true).value();
  message.to.rotation = uint64_t{1} << 60;
  for (size_t i = 0; i < message.generations.size(); ++i) {
    message.generations[i].rotation = message.to.rotation - 2 + i;
  }
  StoredGenerations copy(options());
  ASSERT_TRUE(copy.window.import(test::options_of_copy(copy.window, message), message).ok());
  copy.commit();
  copy.expect_good();
  EXPECT_TRUE(fails(copy.window.rotate(), ErrorCode::kInvalid));
  EXPECT_FALSE(copy.window.pending());
  EXPECT_EQ(copy.missing(0, 200) + copy.missing(2000, 2200), 0U);
}

// What the reader of bytes refuses, the window refuses too.
TEST_P(WindowChanges, messages_that_contradict_themselves_are_refused) {
  const auto made = copy(origin);
  const WindowMark mark = mark_of(made->window);
  const Bytes image = image_of(origin.window);
  WindowMessage message = decode_window_message(image, 448, true).value();
  const FilterOptions right = test::options_of_copy(made->window, message);
  FilterOptions one = right;
  one.generations = 1;
  EXPECT_FALSE(made->window.import(one, message).ok());
  message.generations.pop_back();
  EXPECT_FALSE(made->window.import(right, message).ok());
  origin.rotate();
  origin.add_and_commit(4000, 4010);
  const Bytes bytes = *changes_of(origin.window, mark);
  WindowMessage changes = decode_window_message(bytes, 448, true).value();
  EXPECT_FALSE(made->window.import(right, changes).ok());
  changes.generations.erase(changes.generations.begin());
  EXPECT_FALSE(made->window.apply(changes).ok());
  changes = decode_window_message(bytes, 448, true).value();
  changes.generations.back().image.reset();
  EXPECT_FALSE(made->window.apply(changes).ok());
  EXPECT_EQ(mark_of(made->window), mark);
  EXPECT_FALSE(made->window.pending());
  EXPECT_FALSE(follow_origin(*made, origin.window));
  FilterOptions single = options(1);
  StoredGenerations filter(single);
  EXPECT_FALSE(filter.window.mark().ok());
  EXPECT_FALSE(filter.window.contents(false).ok());
  EXPECT_FALSE(filter.window.changes_since(mark).ok());
  EXPECT_FALSE(filter.window.changes_behind(mark).ok());
  EXPECT_FALSE(filter.window.apply(changes).ok());
}

// The headers of a section are right, but the rest is spoilt. The copy finds it in the middle of
// its work.
TEST_P(WindowChanges, S8_with_a_bad_piece_change_nothing) {
  const auto made = copy(origin);
  const WindowMark mark = mark_of(made->window);
  const MemoryBlocks::Rows rows = made->storage.rows;
  origin.rotate();
  origin.add_and_commit(3100, 3150);
  for (const Bytes& message : {*changes_of(origin.window, mark), image_of(origin.window)}) {
    for (size_t bit = 8 * 160; bit < 8 * message.size(); bit += 131) {
      Bytes flipped = message;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      const Status status = take(made->window, flipped);
      ASSERT_FALSE(status.ok()) << bit;
      ASSERT_NE(status.error().code, ErrorCode::kStorage);
      ASSERT_TRUE(made->window.usable());
      ASSERT_EQ(mark_of(made->window), mark);
      ASSERT_FALSE(made->window.pending());
    }
  }
  made->commit();
  EXPECT_TRUE(made->storage.rows == rows);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_window_changes_test
