// Random lives of a filter, in which all meets that may happen to it: adds, removes, counts and
// asks, loads, folds, growth and splits, savepoints and roll-backs, other connections, backups that
// nobody is told of, images in its place and in addition. After a backup the same calls may come
// again with other keys: then as much happened as before, but another history.
//
// Every second life is a crowded one, in which hashes share cells more often than not: fingerprints
// have four bits, and half of the hashes have eight. Each life is led twice, by the same calls. In
// one of them somebody asks at random in between. It is led a third time by a filter that is never
// flushed, whose changes are in the cells at once.
#include "tests/core/segments/filled_file.hpp"
#include "tests/support/script.hpp"
#include "tests/support/steps.hpp"

namespace cuckoo::segments::segments_filter_lives_test {
namespace {

constexpr uint64_t kEnd = ~uint64_t{0};

FilterOptions options_of(const FilterCase& kind, uint64_t seed, bool crowded) {
  auto random = [draw = uint64_t{0}, seed](const auto& list) mutable {
    return list[nth_word(~seed, draw++) % std::size(list)];
  };
  constexpr uint64_t kFewKeys[] = {1, 40, 300, 2000};
  constexpr uint64_t kKeys[] = {1, 10, 1000, 5000, 40000};
  constexpr double kRates[] = {0.25, 0.01, 0.001, 1e-6};
  constexpr uint32_t kPages[] = {64, 128, 448, 4032};
  constexpr HashWidth kWidths[] = {HashWidth::k47Bits, HashWidth::k63Bits};
  const uint64_t capacity = crowded ? random(kFewKeys) : random(kKeys);
  const double rate = crowded ? 0.25 : random(kRates);
  FilterOptions options = options_for(kind, capacity, rate, random(kPages));
  options.width = crowded ? HashWidth::k47Bits : random(kWidths);
  options.spec.fingerprint_bits = crowded && kind.kind == FilterKind::kCuckoo ? 4 : 0;
  options.seed = seed;
  return options;
}

enum class Way : uint8_t { kQuiet, kAsked, kNow };

class Life {
 public:
  Life(const FilterCase& kind, uint64_t seed, Way way)
      : seed_(seed),
        crowded_(seed % 2 == 0),
        asks_(way == Way::kAsked),
        now_(way == Way::kNow),
        options_(options_of(kind, seed, crowded_)) {
    domain_ = crowded_          ? 30 + seed % 7 * 300
              : options_.growth ? 50 + nth_word(seed, kEnd) % 60000
                                : 2 + nth_word(seed, kEnd) % (options_.capacity * 2);
    for (std::unique_ptr<FilterFile>& file : files_) {
      file = std::make_unique<FilterFile>(options_, storage_);
    }
    if (now_) {
      files_[0] = std::make_unique<FilterFile>(options_, storage_, FilterFile::NeverFlushed{});
    }
    expect_ok(files_[0]->create());
    commit();
  }

  const MemoryBlocks::Rows& rows() const { return storage_.rows; }

  void step(uint64_t number) {
    step_ = number;
    draws_ = 0;
    since_backup_.push_back(number);
    if (!now_) {
      expect_ok(writer().refresh());
    }
    change();
    if (asks_ && writer().usable() && ask(3) == 0) {
      ask_something();
    }
  }
  // The transaction ends here.
  void commit() {
    if (now_) {
      return;
    }
    expect_ok(segments::commit(writer()));
    committed_ = {storage_.rows, counts_, stray_};
    savepoints_.clear();
    writer_ = random(std::size(files_));
    expect_ok(writer().refresh());
  }
  void expect_sound() {
    expect_exported();
    if (now_) {
      expect_settled();
      expect_all_there(writer(), counts_.size());
      return;
    }
    for (const std::unique_ptr<FilterFile>& file : files_) {
      expect_ok(file->refresh());
      expect_ok(file->check());
      expect_all_there(*file, crowded_ ? counts_.size() : 300);
      expect_ok(file->check());  // also of what is in memory now
    }
    OpenedFile opened(options_, storage_);
    EXPECT_EQ(opened.items(), writer().items());
    EXPECT_EQ(opened.key_types(), writer().key_types());
    expect_all_there(opened, 50);
  }

 private:
  struct State {
    MemoryBlocks::Rows rows;
    Counts counts;
    bool stray = false;
  };

  bool multiset() const { return options_.multiset(); }
  uint64_t random(uint64_t limit) { return nth_word(nth_word(seed_, step_), draws_++) % limit; }
  uint64_t ask(uint64_t limit) { return nth_word(~seed_, asked_++) % limit; }
  uint64_t hash_of(uint64_t word) const {
    if (!crowded_) {
      return nth_hash(seed_ + other_keys_, word % domain_, options_.width);
    }
    return word % 2 == 0 ? (word / 2 + other_keys_) % 256 << 56 : nth_key(word / 2 % domain_);
  }
  uint64_t some_hash() { return hash_of(random(kEnd)); }
  FilterFile& writer() { return *files_[writer_]; }
  bool may_be_full() { return !options_.growth || !writer().keeps_hashes(); }

  // --- changes

  // `added`: what an add of so many copies gave.
  void note(uint64_t hash, const Status& added, uint64_t copies = 1) {
    if (added.ok()) {
      counts_[hash] += copies;
      return;
    }
    EXPECT_TRUE(fails(added, ErrorCode::kFull));
    EXPECT_TRUE(crowded_ || may_be_full());
  }
  void settle(uint64_t hash) {
    if (now_) {
      expect_ok(writer().settle(hash));
    }
  }
  void add_some(uint64_t count) {
    const bool together = now_ && count > 100;
    for (; count > 0; --count) {
      const uint64_t hash = some_hash();
      note(hash, writer().insert(hash));
      if (!together) {
        settle(hash);
      }
    }
    if (together) {
      expect_ok(writer().fold_all());
    }
  }

  void change() {
    switch (random(20)) {
      case 0:
        add_some(random(crowded_ ? 200 : 3000));
        break;
      case 1:
        add_copies();
        break;
      case 2:
      case 3:
      case 4:
        for (uint64_t many = random(40); many > 0; --many) {
          remove_some();
        }
        break;
      case 5:
        remove_a_stranger();
        break;
      case 6:
        replace_some();
        break;
      case 7:
        save();
        break;
      case 8:
        roll_back();
        break;
      case 9:
      case 10:
        commit();
        break;
      case 11:
        change_seldom();
        break;
      case 12:
        add_if_new();
        break;
      case 13:
        restore();
        break;
      default:
        add_some(1 + random(3));
    }
  }
  void add_copies() {
    const uint64_t most = writer().items() + kMostCopies;
    if (options_.counts_copies() && most < options_.most_items_by_hashes() / 2) {
      const uint64_t hash = some_hash();
      const uint64_t copies = 1 + random(random(8) == 0 ? (crowded_ ? 300 : kMostCopies) : 14);
      note(hash, writer().insert_copies(hash, copies), copies);
      settle(hash);
    }
  }
  void add_if_new() {
    const uint64_t hash = some_hash();
    const Result<bool> added = writer().insert_new(hash);
    if (!added.ok()) {
      note(hash, added.error());
    } else if (added.value()) {
      EXPECT_FALSE(counts_.contains(hash)) << "S6";
      note(hash, {});
    }
    settle(hash);
  }
  Counts::iterator some_present() {
    const auto at = counts_.lower_bound(some_hash());
    return at != counts_.end() ? at : counts_.begin();
  }
  void take(Counts::iterator at, uint64_t copies) {
    at->second -= copies;
    if (at->second == 0) {
      counts_.erase(at);
    }
  }
  void remove_some() {
    if (multiset() && !counts_.empty()) {
      const auto at = some_present();
      const uint64_t copies =
          1 + random(std::min<uint64_t>(at->second, random(8) == 0 ? kMostCopies : 12));
      if (copies == 1) {
        ASSERT_TRUE(must(writer().remove(at->first))) << "S6";
      } else {
        ASSERT_EQ(must(writer().remove_copies(at->first, copies)), copies) << "S6";
      }
      settle(at->first);
      take(at, copies);
    }
  }
  // Removes a hash that was never added, and adds it again: nobody has lost anything then. A filter
  // that can't grow may refuse the add. When its segment is made anew, the filter has the hash.
  void remove_a_stranger() {
    const uint64_t hash = some_hash();
    if (multiset() && crowded_ && !may_be_full() && !counts_.contains(hash) &&
        must(writer().remove(hash))) {
      settle(hash);
      expect_ok(writer().insert(hash));
      settle(hash);
      stray_ = true;
    }
  }
  void replace_some() {
    using IfPresent = FilterFile::IfPresent;
    constexpr IfPresent kChoices[] = {IfPresent::kAdd, IfPresent::kLeave, IfPresent::kRefuse};
    if (!multiset() || counts_.empty()) {
      return;
    }
    const auto at = some_present();
    const uint64_t to = some_hash();
    const IfPresent if_present = kChoices[random(3)];
    const uint64_t items = writer().items();
    const Result<FilterFile::Replaced> replaced = writer().replace(at->first, to, if_present);
    settle(at->first);
    settle(to);
    if (!replaced.ok() || replaced.value() == FilterFile::Replaced::kRefused) {
      ASSERT_TRUE(replaced.ok() ? if_present == IfPresent::kRefuse
                                : replaced.error().code == ErrorCode::kFull);
      ASSERT_EQ(writer().items(), items);
      return;
    }
    ASSERT_EQ(replaced.value(), FilterFile::Replaced::kDone) << "S6";
    const bool added = writer().items() == items;
    ASSERT_TRUE(added || if_present == IfPresent::kLeave);
    take(at, 1);
    counts_[to] += added ? 1 : 0;
    if (counts_[to] == 0) {
      counts_.erase(to);
    }
  }
  void change_seldom() {
    if (now_) {
      if (random(4) == 0) {
        expect_ok(writer().clear());
        expect_ok(writer().fold_all());
        counts_.clear();
        stray_ = false;
      }
      return;
    }
    switch (random(7)) {
      case 0:
        if (writer().keeps_hashes()) {
          const uint64_t items = writer().items();
          expect_ok(writer().rebuild(1 + random(4 * options_.capacity)));
          EXPECT_TRUE(stray_ || writer().items() == items);
        }
        break;
      case 1:
        expect_ok(writer().clear());
        EXPECT_EQ(writer().items(), 0u);
        counts_.clear();
        stray_ = false;
        break;
      case 2:
        commit();
        reopen();
        break;
      case 3:
        import();
        break;
      case 4:
        unite();
        break;
      case 5:
        writer().note_key_types(1 + random(7));
        break;
      default:
        add_some(random(crowded_ ? 3000 : random(3) == 0 ? 40000 : 6000));
    }
  }
  // The contents of another filter, or its own, come in place of its own. They may come without
  // hashes.
  void import() {
    const bool own = random(2) == 0;
    const bool with_hashes = options_.growth && (!own || writer().keeps_hashes()) && random(8) != 0;
    FilledFile other(options_);
    other.counts = own ? counts_ : Counts();
    for (uint64_t i = own ? 0 : random(2000); i > 0 && other.file.items() < options_.capacity;
         --i) {
      const uint64_t hash = some_hash();
      if (other.file.insert(hash).ok()) {
        other.counts[hash] += 1;
      }
    }
    HeldPieces pieces((own ? writer() : other.file).contents(with_hashes));
    expect_ok(writer().import(options_, pieces.contents));
    EXPECT_EQ(writer().items(), pieces.contents.items);
    counts_ = other.counts;
    stray_ = own && stray_;
  }
  void unite() {
    if (!options_.growth) {
      HeldPieces pieces(writer().contents(false));
      const uint64_t items = writer().items();
      const Status united = writer().unite(pieces.contents);
      if (!united.ok()) {
        ASSERT_TRUE(fails(united, ErrorCode::kFull));
        ASSERT_EQ(writer().items(), items);
        return;
      }
      for (auto& entry : counts_) {
        entry.second *= 2;
      }
    }
  }

  // --- transactions
  void go_back_to(const State& state) {
    storage_.rows = state.rows;
    counts_ = state.counts;
    stray_ = state.stray;
  }
  void save() {
    if (!now_) {
      expect_ok(writer().flush());
      savepoints_.push_back({storage_.rows, counts_, stray_});
    }
  }
  void roll_back() {
    if (now_) {
      return;
    }
    const bool all = savepoints_.empty() || random(4) == 0;
    const size_t to = all ? 0 : random(savepoints_.size());
    if (all && random(2) == 0) {  // a COMMIT that fails
      expect_ok(writer().finish_load());
      expect_ok(random(2) == 0 ? writer().flush() : Status());
    }
    go_back_to(all ? State(committed_) : State(savepoints_[to]));
    savepoints_.resize(to);
    writer().forget();
    if (all) {
      writer().committed();
    }
    expect_ok(writer().refresh());
    if (random(2) == 0) {
      commit();  // the roll-back was the last thing before it
    }
  }
  void reopen() {
    std::unique_ptr<FilterFile>& file = files_[random(std::size(files_))];
    file = std::make_unique<FilterFile>(options_, storage_);
    expect_ok(file->refresh());
    expect_ok(writer().refresh());
  }
  // A backup is put back, or kept for later.
  void restore() {
    if (now_) {
      return;
    }
    commit();
    if (backup_.rows.empty() || random(2) == 0) {
      backup_ = committed_;
      since_backup_.clear();
      return;
    }
    go_back_to(backup_);
    committed_ = backup_;
    expect_ok(writer().refresh());
    const std::vector<uint64_t> again = std::exchange(since_backup_, {});
    if (!repeats_ && random(2) == 0) {
      repeats_ = true;
      other_keys_ = 1 - other_keys_;
      for (const uint64_t number : again) {
        step_ = number;
        draws_ = 0;
        change();
        expect_ok(writer().refresh());
      }
      commit();
      repeats_ = false;
    }
  }

  // --- asking
  void ask_something() {
    switch (ask(6)) {
      case 0:
        expect_all_there(writer(), 20);
        break;
      case 1:
        EXPECT_TRUE(!multiset() || stray_ || writer().items() == items_of(counts_));
        break;
      case 2:
        for (int i = 0; i < 20; ++i) {
          (void)must(writer().load_and_probe(hash_of(ask(kEnd))));
        }
        break;
      case 3: {
        FilterFile& other = *files_[ask(std::size(files_))];
        if (!writer().pending()) {
          expect_ok(other.refresh());
          expect_all_there(other, 20);
        }
        break;
      }
      case 4:
        if (!writer().pending()) {
          expect_ok(writer().check());
        }
        break;
      default:
        expect_contents();
    }
  }
  void expect_all_there(FilterFile& file, size_t most) {
    auto at = counts_.lower_bound(hash_of(ask(kEnd)));
    for (size_t asked = 0; asked < std::min(most, counts_.size()); ++asked, ++at) {
      at = at == counts_.end() ? counts_.begin() : at;
      ASSERT_TRUE(must(file.load_and_probe(at->first))) << "S6";
      ASSERT_GE(must(file.count(at->first)), multiset() ? at->second : 1) << "S6";
    }
  }
  // What it hands out is what is in it, however much pends.
  void expect_contents() {
    const bool with_hashes = writer().keeps_hashes() && ask(2) == 0;
    HeldPieces pieces(writer().contents(with_hashes));
    EXPECT_TRUE(stray_ || pieces.contents.items == writer().items());
    if (multiset() && !stray_) {
      EXPECT_EQ(pieces.items(), items_of(counts_));
    }
    expect_counts(pieces, counts_, multiset());
    if (with_hashes && !stray_) {
      EXPECT_EQ(pieces.contents.hash_count, counts_.size());
      Counts found;
      expect_ok(writer().for_each_hash([&](uint64_t hash, uint64_t count) -> Status {
        found[hash] = count;
        return {};
      }));
      EXPECT_EQ(found.size(), counts_.size());
      EXPECT_TRUE(!multiset() || found == counts_);
    }
  }

  // What it hands out is good for another filter, which imports, stores and checks all of it.
  void expect_exported() {
    FilterOptions options = options_;
    options.growth = writer().keeps_hashes();
    HeldPieces held(writer().contents(options.growth));
    StoredFile other(options);
    expect_ok(other.file.import(options, held.contents));
    EXPECT_EQ(other.file.items(), held.contents.items);
    other.commit_and_check();
    expect_all_there(other.file, 50);
  }
  // In a filter that is never flushed, nothing waits to be applied.
  void expect_settled() {
    const unsigned depth = writer().directory_depth();
    const Segment* last = nullptr;
    for (uint64_t i = 0; i < uint64_t{1} << depth; ++i) {
      const Directory::Leaf& leaf = writer().leaf_of(depth == 0 ? 0 : i << (64 - depth));
      Segment* const segment = leaf.segment.get();
      if (segment != nullptr && segment != last) {
        ASSERT_TRUE(leaf.is_current());
        ASSERT_FALSE(segment->outgrew());
        expect_ok(segment->check(Blocks(storage_, options_.seed), leaf.pending, options_.growth));
      }
      last = segment;
    }
  }

  const uint64_t seed_;
  const bool crowded_;
  const bool asks_;
  const bool now_;
  const FilterOptions options_;
  uint64_t domain_ = 0;
  uint64_t step_ = kEnd;
  uint64_t draws_ = 0;
  uint64_t asked_ = 0;
  uint64_t other_keys_ = 0;
  MemoryBlocks storage_;
  std::unique_ptr<FilterFile> files_[3];
  size_t writer_ = 0;
  Counts counts_;
  bool stray_ = false;  // it may have hashes that were removed before they were added
  State committed_;
  State backup_;
  std::vector<uint64_t> since_backup_;
  bool repeats_ = false;
  std::vector<State> savepoints_;
};

// The same life twice.
class Twins {
 public:
  Twins(const FilterCase& kind, uint64_t seed)
      : asked_(kind, seed, Way::kAsked), quiet_(kind, seed, Way::kQuiet) {}

  void step(uint64_t number) {
    asked_.step(number);
    quiet_.step(number);
    ASSERT_TRUE(asked_.rows() == quiet_.rows()) << "S5, step " << number;
    if (number % 60 == 59) {
      end();
    }
  }
  void end() {
    asked_.commit();
    quiet_.commit();
    ASSERT_TRUE(asked_.rows() == quiet_.rows()) << "S5";
    asked_.expect_sound();
  }

 private:
  Life asked_;
  Life quiet_;
};

class NowLife : public Life {
 public:
  NowLife(const FilterCase& kind, uint64_t seed) : Life(kind, seed, Way::kNow) {}

  void step(uint64_t number) {
    Life::step(number);
    if (number % 10 == 9) {
      end();
    }
  }
  void end() { expect_sound(); }
};

class FilterLives : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, FilterLives, test::all_cases());

TEST_P(FilterLives, S5_S6_lose_nothing_and_leave_the_same_bytes_whatever_is_asked) {
  test::for_each_seed(100, [](uint64_t seed) {
    test::take_steps<Twins>(seed % 2 == 0 ? 600 : 120, GetParam(), seed);
  });
}

TEST_P(FilterLives, S6_lose_nothing_in_memory_alone) {
  test::for_each_seed(30, [](uint64_t seed) {
    test::take_steps<NowLife>(seed % 2 == 0 ? 200 : 60, GetParam(), seed);
  });
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_lives_test
