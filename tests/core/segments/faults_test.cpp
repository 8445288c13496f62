// Each call of the storage fails in turn, and each allocation, in each thing that a filter or a
// sliding window does.
//   - A statement that fails changed nothing, and may be repeated. Or it says that the filter is
//     poisoned, and so does each call after it.
//   - After a roll-back all is as before, and the same statements leave the bytes that they leave
//     without a failure (S5, S8).
//   - A question that fails changed nothing, and may be repeated.
#include "core/filter/legacy_bloom.hpp"
#include "tests/core/segments/copies.hpp"
#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/window_copies.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments::segments_faults_test {
namespace {

using Statement = std::function<Status(FilterWindow&)>;
using Stored = std::unique_ptr<StoredGenerations>;

// What is in storage, and what is done to it in one transaction.
struct Scene {
  Stored stored;
  std::vector<Statement> work;
};

struct Operation {
  const char* name;
  bool (*wanted)(const FilterCase&);
  bool warm;  // done by the connection that did what was before; otherwise by a new one
  Scene (*scene)(const FilterCase& kind);
};

// --- statements

std::vector<Statement> adds(uint64_t first, uint64_t count) {
  std::vector<Statement> work;
  for (uint64_t i = first; i < first + count; ++i) {
    work.push_back([i](FilterWindow& window) { return window.newest().insert(nth_hash(i)); });
  }
  return work;
}
std::vector<Statement> add(uint64_t i) { return adds(i, 1); }
std::vector<Statement> rotate() {
  return {[](FilterWindow& window) { return window.rotate(); }};
}
std::vector<Statement> clear() {
  return {[](FilterWindow& window) { return window.clear(); }};
}
std::vector<Statement> flush() {
  return {[](FilterWindow& window) { return window.flush(); }};
}
std::vector<Statement> all_of(const std::vector<std::vector<Statement>>& parts) {
  std::vector<Statement> all;
  for (const std::vector<Statement>& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// --- what is in storage before

// T is 504, and a row has four entries: there is a fold at 504, and growth at 1008.
Stored filter_of(const FilterCase& kind, uint64_t keys) {
  auto stored = std::make_unique<StoredGenerations>(
      test::small_segments(kind.kind, kind.growth, kind.growth ? 100 : 30000));
  for (uint64_t i = 0; i < keys; i += keys < 20000 ? 100 : keys) {
    stored->add_and_commit(i, std::min(keys, i + (keys < 20000 ? 100 : keys)));
  }
  return stored;
}

Scene filter_and_adds(const FilterCase& kind, uint64_t keys, uint64_t more) {
  return {filter_of(kind, keys), adds(keys, more)};
}

// Each of three generations has pages, overflow cells (multisets) and pending entries.
Stored window_of(const FilterCase& kind) {
  auto stored = std::make_unique<StoredGenerations>(test::generations_of(kind, 3, 800, 0.05, 64));
  for (uint64_t turn = 0; turn < 3; ++turn) {
    if (turn > 0) {
      stored->rotate();
    }
    for (int copy = 0; copy < 30; ++copy) {
      stored->add(1000 * turn, 1000 * turn + 1);
    }
    stored->add(1000 * turn, 1000 * turn + 600);
  }
  stored->commit();
  stored->add_and_commit(2600, 2610);
  return stored;
}

// Contents that can be read as long as the statement is kept.
std::shared_ptr<HeldPieces> pieces_of(const FilterCase& kind, uint64_t keys) {
  const Stored from = filter_of(kind, keys);
  return std::make_shared<HeldPieces>(from->window.newest().contents(kind.growth));
}

Scene import_of_a_filter(const FilterCase& kind) {
  const auto pieces = pieces_of(kind, 2150);
  return {filter_of(kind, 400), {[pieces](FilterWindow& window) {
            return window.newest().import(window.newest().options(), pieces->contents);
          }}};
}
Scene unite_of_a_filter(const FilterCase& kind) {
  const auto pieces = pieces_of(kind, 300);
  return {filter_of(kind, 4200),
          {[pieces](FilterWindow& window) { return window.newest().unite(pieces->contents); }}};
}
Scene rebuild_of_a_filter(const FilterCase& kind) {
  return {filter_of(kind, 5150),
          {[](FilterWindow& window) { return window.newest().rebuild(40000); }}};
}

// A copy gets changes with removes, also of what was never added.
Scene changes_of_a_filter(const FilterCase& kind) {
  FilterOptions of_copy = test::small_segments(kind.kind, kind.growth, 300);
  of_copy.spec.rate = kind.multiset() ? 0.01 : 1e-6;
  FilterOptions of_origin = of_copy;
  of_origin.growth = true;
  of_origin.digest ^= 1;
  Site origin(of_origin);
  Counts counts;
  add_to(origin, counts, 0, 800);
  const std::unique_ptr<Site> copy =
      kind.growth ? copy_of(origin, counts, of_copy) : test::image_of(origin, of_copy);
  for (uint64_t i = 0; kind.multiset() && i < 50; ++i) {
    EXPECT_TRUE(must(origin->remove(nth_key(i))));
  }
  for (uint64_t i = 0; kind.multiset() && i < 150; ++i) {
    (void)must(origin->remove(nth_key(100'000 + i)));
  }
  add_to(origin, counts, 800, 1000);
  const auto bytes = std::make_shared<Bytes>(
      test::encoded(must(origin->changes_since(copy->mark())).value_or(FilterChanges())));
  auto stored = std::make_unique<StoredGenerations>(copy->options);
  stored->roll_back(copy->storage.rows);
  return {std::move(stored), {[bytes](FilterWindow& window) -> Status {
            CUCKOO_ASSIGN_OR_RETURN(const FilterChanges changes, decode_changes(*bytes, 64));
            return window.newest().apply(changes).take_status();
          }}};
}

// A copy of a window gets the changes over two rotations, or the image of what the origin is then.
Scene message_of_a_window(const FilterCase& kind, bool image) {
  StoredGenerations origin(test::generations_of(kind, 3, 300, 1e-5, 448));
  for (uint64_t turn = 0; turn < 3; ++turn) {
    if (turn > 0) {
      origin.rotate();
    }
    origin.add_and_commit(1000 * turn, 1000 * turn + 200);
  }
  Stored copy = test::copy_of(origin.window, origin.options, false);
  origin.add(3000, 3050);
  origin.rotate();
  origin.add(3100, 3150);
  origin.rotate();
  origin.add_and_commit(4000, 4020);
  const auto bytes = std::make_shared<Bytes>(
      image ? test::image_of(origin.window)
            : test::changes_of(origin.window, test::mark_of(copy->window)).value_or(Bytes()));
  auto stored = std::make_unique<StoredGenerations>(copy->window.options());
  stored->roll_back(copy->storage.rows);
  return {std::move(stored),
          {[bytes](FilterWindow& window) { return test::take(window, *bytes); }}};
}

Scene pairs(const FilterCase& kind) {
  FilterOptions options = test::options_for(kind, 1000, 0.01, 64);
  options.width = HashWidth::k63Bits;
  Scene scene{std::make_unique<StoredGenerations>(options), {}};
  for (uint64_t i = 0; i < 300; ++i) {
    const HashPair pair = {nth_word(41, i), nth_word(43, i)};
    if (i < 290) {
      expect_ok(scene.stored->window.newest().insert_pair(pair));
    } else {
      scene.work.push_back(
          [pair](FilterWindow& window) { return window.newest().insert_pair(pair); });
    }
  }
  scene.stored->commit();
  return scene;
}

bool any(const FilterCase& kind) { return kind.kind != FilterKind::kLegacyBloom; }
bool of_pairs(const FilterCase& kind) { return !any(kind); }
bool fixed(const FilterCase& kind) { return any(kind) && !kind.growth; }

using Case = const FilterCase&;
template <std::vector<Statement> (*kWork)()>
Scene window_and(Case kind) {
  return {window_of(kind), kWork()};
}

const Operation kOperations[] = {
    {"few", any, false, [](Case kind) { return filter_and_adds(kind, 0, 3); }},
    {"few_more", any, false, [](Case kind) { return filter_and_adds(kind, 900, 3); }},
    {"first_turn", any, false, [](Case kind) { return filter_and_adds(kind, 450, 100); }},
    {"growth", any, true, [](Case kind) { return filter_and_adds(kind, 1000, 100); }},
    {"growth_opened", any, false, [](Case kind) { return filter_and_adds(kind, 1000, 100); }},
    {"load", any, false, [](Case kind) { return filter_and_adds(kind, 100, 20000); }},
    {"after_a_load", any, false, [](Case kind) { return filter_and_adds(kind, 20000, 1500); }},
    {"import", any, true, import_of_a_filter},
    {"unite", fixed, true, unite_of_a_filter},
    {"rebuild", test::grows, true, rebuild_of_a_filter},
    {"changes", any, false, changes_of_a_filter},
    {"changes_warm", any, true, changes_of_a_filter},
    {"pairs", of_pairs, true, pairs},
    {"rotate", any, true, window_and<[] {
       return all_of({rotate(), add(1)});
     }>},
    {"add_rotate_add", any, true, window_and<[] {
       return all_of({adds(3000, 100), rotate(), add(3200), flush(), adds(3201, 9)});
     }>},
    {"rotate_twice", any, true, window_and<[] {
       return all_of({rotate(), adds(3000, 550), rotate(), add(3600)});
     }>},
    {"rotate_till_all_is_forgotten", any, true, window_and<[] {
       return all_of({rotate(), rotate(), rotate(), rotate(), add(3000)});
     }>},
    {"clear", any, true, window_and<[] {
       return all_of({add(3000), clear(), add(3001)});
     }>},
    {"clear_rotate", any, true, window_and<[] {
       return all_of({clear(), add(3001), rotate(), add(3002), rotate()});
     }>},
    {"rotate_clear", any, true, window_and<[] {
       return all_of({rotate(), add(3000), flush(), clear(), add(3002)});
     }>},
    {"rotate_clear_rotate", any, true, window_and<[] {
       return all_of({rotate(), clear(), rotate(), add(3002)});
     }>},
    {"window_changes", any, false, [](Case kind) { return message_of_a_window(kind, false); }},
    {"window_image", any, false, [](Case kind) { return message_of_a_window(kind, true); }},
};

// --- the runner

std::vector<uint64_t> answers_of(FilterWindow& window) {
  std::vector<uint64_t> answers = window.generation_items();
  answers.push_back(window.newest().chain());
  if (window.options().spec.kind == FilterKind::kLegacyBloom) {
    for (uint64_t i = 0; i < 400; ++i) {
      answers.push_back(
          must(window.newest().contains_pair({nth_word(41, i), nth_word(43, i)})) ? 1 : 0);
    }
    return answers;
  }
  for (uint64_t i = 0; i < 21500; i += i < 6000 ? 3 : 41) {
    answers.push_back(must(window.count(nth_hash(i))));
  }
  for (uint64_t i = 0; i < 1000; i += 3) {
    answers.push_back(must(window.count(nth_key(i))));
  }
  return answers;
}

void expect_poisoned(FilterWindow& window) {
  EXPECT_TRUE(window.poisoned());
  EXPECT_FALSE(window.usable());
  EXPECT_FALSE(window.newest().insert(nth_hash(7)).ok() && window.newest().poisoned());
  EXPECT_FALSE(window.flush().ok());
  EXPECT_FALSE(window.clear().ok());
  EXPECT_FALSE(window.refresh().ok());
  EXPECT_FALSE(window.check().ok());
}

struct FaultCase {
  FilterCase kind;
  const Operation* operation;
};
std::string name_of(const FaultCase& one) { return name_of(one.kind) + "_" + one.operation->name; }

std::vector<FaultCase> fault_cases() {
  std::vector<FilterCase> kinds = test::all_cases();
  kinds.push_back({FilterKind::kLegacyBloom, false});
  std::vector<FaultCase> cases;
  for (const Operation& operation : kOperations) {
    for (const FilterCase& kind : kinds) {
      if (operation.wanted(kind)) {
        cases.push_back({kind, &operation});
      }
    }
  }
  return cases;
}

class Faults : public ::testing::TestWithParam<FaultCase> {
 protected:
  Faults() : scene_(GetParam().operation->scene(GetParam().kind)) {
    scene_.work.insert(scene_.work.begin(), [](FilterWindow& window) { return window.refresh(); });
    scene_.work.push_back([](FilterWindow& window) { return window.finish_load(); });
    scene_.work.push_back([](FilterWindow& window) { return window.flush(); });
    FilterWindow& window = scene_.stored->window;
    answers_before_ = answers_of(window);
    expect_ok(run(window));
    window.committed();
    after_ = storage().rows;
    answers_after_ = answers_of(window);
    EXPECT_NE(before_, after_);
  }

  MemoryBlocks& storage() { return scene_.stored->storage; }
  // A connection to what was before.
  FilterWindow& connection() {
    storage().rows = before_;
    if (GetParam().operation->warm) {
      scene_.stored->roll_back(before_);
      return scene_.stored->window;
    }
    opened_ = std::make_unique<FilterWindow>(scene_.stored->options, storage());
    return *opened_;
  }
  // Runs the statements from that one on; `at` is the one that failed.
  Status run(FilterWindow& window, size_t* at = nullptr) {
    size_t number = at == nullptr ? 0 : *at;
    for (; number < scene_.work.size(); ++number) {
      Status status = scene_.work[number](window);
      if (!status.ok()) {
        if (at != nullptr) {
          *at = number;
        }
        return status;
      }
    }
    return {};
  }
  // Calls the body for more and more n, until it returns false.
  static void for_each_n(const std::function<bool(uint64_t n, ErrorCode code)>& body) {
    const uint64_t step = test::share_divisor();
    for (uint64_t n = 1 + test::share_first(); !HasFailure(); n += step * (1 + n / 40)) {
      SCOPED_TRACE("call " + std::to_string(n));
      if (!body(n, n % 2 == 0 ? ErrorCode::kStorage : ErrorCode::kInterrupted)) {
        return;
      }
    }
  }
  // False: the work ended before that call.
  bool has_failed() {
    const bool due = storage().fault_is_due();
    storage().fail_at(0);
    return !due;
  }
  void expect_all_done() {
    EXPECT_EQ(storage().rows, after_) << "S5";
    FilterWindow opened(scene_.stored->window.options(), storage());
    expect_ok(opened.refresh());
    EXPECT_EQ(answers_of(opened), answers_after_);
    expect_ok(opened.check());
  }
  // Rolls back what the connection did, expects that nothing is left of it, and does it again.
  void roll_back_and_do_again(FilterWindow& window) {
    storage().rows = before_;
    window.forget();
    window.committed();
    ASSERT_FALSE(window.poisoned());
    FilterWindow fresh(scene_.stored->options, storage());
    FilterWindow& again = window.refresh().ok() ? window : fresh;  // an import has other options
    expect_ok(again.refresh());
    ASSERT_EQ(answers_of(again), answers_before_);
    expect_ok(again.check());
    expect_ok(again.finish_load());
    expect_ok(again.flush());
    ASSERT_EQ(storage().rows, before_) << "nothing is pending";
    again.committed();
    expect_ok(run(again));
    again.committed();
    ASSERT_EQ(storage().rows, after_) << "S5";
    ASSERT_EQ(answers_of(again), answers_after_);
  }

  Scene scene_;
  const MemoryBlocks::Rows before_ = scene_.stored->storage.rows;
  MemoryBlocks::Rows after_;
  std::vector<uint64_t> answers_before_;
  std::vector<uint64_t> answers_after_;
  std::unique_ptr<FilterWindow> opened_;
};

INSTANTIATE_EACH(Operations, Faults, fault_cases());

TEST_P(Faults, S8_a_statement_is_done_not_done_or_says_that_it_is_neither) {
  for_each_n([&](uint64_t n, ErrorCode code) {
    FilterWindow& window = connection();
    storage().fail_at(n, code);
    size_t at = 0;
    const Status status = run(window, &at);
    if (!has_failed()) {
      expect_all_done();
      return false;
    }
    EXPECT_TRUE(fails(status, code));
    if (window.poisoned()) {
      expect_poisoned(window);
    } else {
      EXPECT_TRUE(window.usable() || at == 0);
      expect_ok(run(window, &at));
      window.committed();
      expect_all_done();
    }
    return true;
  });
}

TEST_P(Faults, S5_S8_leave_nothing_after_a_roll_back) {
  for_each_n([&](uint64_t n, ErrorCode code) {
    FilterWindow& window = connection();
    storage().fail_at(n, code);
    const Status status = run(window);
    if (!has_failed()) {
      return false;
    }
    EXPECT_TRUE(fails(status, code));
    roll_back_and_do_again(window);
    return true;
  });
}

TEST_P(Faults, S8_of_memory_leave_nothing_after_a_roll_back) {
  for (int64_t left = static_cast<int64_t>(test::share_first()); !HasFailure();
       left += static_cast<int64_t>(test::share_divisor()) * (1 + left / 8)) {
    SCOPED_TRACE("allocation " + std::to_string(left));
    FilterWindow& window = connection();
    if (!runs_out_of_memory(left, [&] { (void)run(window); })) {
      break;
    }
    roll_back_and_do_again(window);
  }
}

// --- questions

using Question = Result<Bytes> (*)(FilterWindow& window, const Bytes& mark);

Result<Bytes> keys_of(FilterWindow& window, const Bytes&) {
  Bytes found;
  for (uint64_t i = 0; i < 21500; i += i < 3000 ? 31 : 311) {
    CUCKOO_ASSIGN_OR_RETURN(const bool present, window.load_and_probe(nth_hash(i)));
    found.push_back(std::byte{present});
  }
  return found;
}
Result<Bytes> check_of(FilterWindow& window, const Bytes&) {
  CUCKOO_TRY(window.check());
  return Bytes();
}
Result<Bytes> mark_of(FilterWindow& window, const Bytes&) {
  if (!window.single()) {
    CUCKOO_ASSIGN_OR_RETURN(const WindowMark mark, window.mark());
    return encode_window_mark(mark);
  }
  CUCKOO_ASSIGN_OR_RETURN(const auto mark, window.newest().mark());
  return encode_mark(*mark);
}
Result<Bytes> image_of(FilterWindow& window, const Bytes&) {
  if (!window.single()) {
    CUCKOO_ASSIGN_OR_RETURN(const WindowMessage message, window.contents(false));
    return encode_window_message(message, 1 << 30);
  }
  Bytes sums;
  CUCKOO_TRY(window.newest().for_each_piece(window.keeps_hashes(), [&](Piece&& piece) -> Status {
    sums.push_back(static_cast<std::byte>(piece.items + piece.hashes.size()));
    return {};
  }));
  return sums;
}
Result<Bytes> changes_of(FilterWindow& window, const Bytes& mark) {
  if (!window.single()) {
    const WindowMark from = must(decode_window_mark(mark));
    CUCKOO_ASSIGN_OR_RETURN(const auto changes, window.changes_since(from));
    return changes ? encode_window_message(*changes, 1 << 30) : Bytes();
  }
  CUCKOO_ASSIGN_OR_RETURN(const auto changes,
                          window.newest().changes_since(must(decode_mark(mark))));
  return changes ? encode_changes(*changes, 1 << 30) : Bytes();
}

// They are asked of a new connection, and of one that was there before the work.
TEST_P(Faults, a_question_that_fails_can_be_repeated) {
  if (GetParam().kind.kind == FilterKind::kLegacyBloom) {
    GTEST_SKIP() << "it has no keys with one hash, and no mark";
  }
  storage().rows = before_;
  FilterWindow first(scene_.stored->options, storage());
  expect_ok(first.refresh());
  const Bytes mark = must(mark_of(first, {}));
  for (const Question question : {keys_of, check_of, image_of, changes_of}) {
    const auto ask = [&](FilterWindow& window) -> Result<Bytes> {
      CUCKOO_TRY(window.refresh());
      return question(window, mark);
    };
    for (const bool follows : {false, true}) {
      const auto prepare = [&](FilterWindow& window) {
        storage().rows = before_;
        if (follows) {
          expect_ok(window.refresh());
          (void)must(keys_of(window, {}));
        }
        storage().rows = after_;
      };
      const FilterOptions& options = scene_.stored->window.options();
      if (follows && options.digest != scene_.stored->options.digest) {
        continue;  // after an import, the table has other options
      }
      FilterWindow good(options, storage());
      prepare(good);
      const Bytes expected = must(ask(good));
      for_each_n([&](uint64_t n, ErrorCode code) {
        FilterWindow window(options, storage());
        prepare(window);
        storage().fail_at(n, code);
        Result<Bytes> answer = ask(window);
        if (!has_failed()) {
          EXPECT_EQ(must(std::move(answer)), expected);
          return false;
        }
        EXPECT_TRUE(fails(answer, code));
        EXPECT_FALSE(window.poisoned());
        EXPECT_EQ(must(ask(window)), expected);
        EXPECT_FALSE(window.pending());
        return true;
      });
    }
  }
}

// create() itself writes nothing; its flush writes two blocks, of a window three.
TEST(FaultsOfCreation, leave_nothing) {
  for (const uint64_t generations : {1u, 3u}) {
    for (uint64_t n = 1;; ++n) {
      MemoryBlocks storage;
      FilterOptions options = test::small_segments(FilterKind::kCuckoo);
      options.generations = generations;
      FilterWindow window(options, storage);
      storage.fail_at(n);
      expect_ok(window.create());
      const bool failed = !window.flush().ok();
      if (storage.fault_is_due()) {
        EXPECT_EQ(n, generations == 1 ? 3u : 4u);
        break;
      }
      EXPECT_TRUE(failed && !window.usable());
      storage.rows.clear();
      window.forget();
      EXPECT_TRUE(fails(window.refresh(), ErrorCode::kCorrupt, "is missing"));
      expect_ok(window.create());
      expect_ok(window.flush());
      expect_ok(window.check());
    }
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_faults_test
