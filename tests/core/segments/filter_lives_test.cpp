// Random lives of a filter, in which everything meets that its entries pass: adds, removes, counts
// and asks of few hashes, across folds, growth, splits, roll-backs, other connections and backups.
// The hashes share cells more often than not: fingerprints have four bits, and half of the hashes
// have eight.
//
// Each life is led twice, by the same calls. In one of them somebody asks at random in between.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments {
namespace segments_filter_lives_test {
namespace {

using test::expect_ok;
using test::message_of;
using test::nth_word;

class Life {
 public:
  Life(const FilterOptions& options, uint64_t seed, bool asks)
      : options_(options), seed_(seed), asks_(asks) {
    for (std::unique_ptr<FilterFile>& file : files_) {
      file = std::make_unique<FilterFile>(options_, storage_);
    }
    expect_ok(files_[0]->create());
    commit();
  }

  const MemoryBlocks::Rows& rows() const { return storage_.rows; }
  uint64_t items() { return writer().items(); }

  // The next call of the life, and all that is asked after it.
  void step() {
    expect_ok(writer().refresh());
    change();
    if (asks_ && usable() && ask(3) == 0) {
      ask_something();
    }
  }
  // The transaction ends here.
  void commit() {
    expect_ok(writer().finish_load());
    expect_ok(writer().flush());
    writer().committed();
    committed_ = {storage_.rows, counts_};
    savepoints_.clear();
    writer_ = random(std::size(files_));
    expect_ok(writer().refresh());
  }
  void expect_sound() {
    for (const std::unique_ptr<FilterFile>& file : files_) {
      expect_ok(file->refresh());
      expect_ok(file->check());
      expect_all_there(*file, counts_.size());
      expect_ok(file->check());  // also of what is in memory now
    }
  }

 private:
  struct State {
    MemoryBlocks::Rows rows;
    std::map<uint64_t, uint64_t> counts;
  };

  bool multiset() const { return options_.multiset(); }
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  uint64_t ask(uint64_t limit) { return nth_word(~seed_, asked_++) % limit; }
  uint64_t hash_of(uint64_t word) const {
    const uint64_t domain = 30 + seed_ % 7 * 300;
    return word % 2 == 0 ? word / 2 % 256 << 56 : test::nth_key(word / 2 % domain);
  }
  FilterFile& writer() { return *files_[writer_]; }
  bool usable() { return writer().usable(); }

  // --- changes
  void note(uint64_t hash, const Status& added, uint64_t copies = 1) {
    ASSERT_TRUE(added.ok() || added.error().code == ErrorCode::kFull) << message_of(added);
    if (added.ok()) {
      counts_[hash] += copies;
    }
  }
  void add(uint64_t hash) { note(hash, writer().insert(hash)); }

  void change() {
    switch (random(16)) {
      case 0:
        for (uint64_t many = random(200); many > 0; --many) {
          add(hash_of(random(~uint64_t{0})));
        }
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
      default:
        add(hash_of(random(~uint64_t{0})));
    }
  }
  void add_copies() {
    if (options_.counts_copies()) {
      const uint64_t hash = hash_of(random(~uint64_t{0}));
      const uint64_t copies = 1 + random(random(8) == 0 ? 300 : 14);
      note(hash, writer().insert_copies(hash, copies), copies);
    }
  }
  std::map<uint64_t, uint64_t>::iterator some_present() {
    auto at = counts_.lower_bound(hash_of(random(~uint64_t{0})));
    return at != counts_.end() ? at : counts_.begin();
  }
  void take(std::map<uint64_t, uint64_t>::iterator at, uint64_t copies) {
    at->second -= copies;
    if (at->second == 0) {
      counts_.erase(at);
    }
  }
  void remove_some() {
    if (multiset() && !counts_.empty()) {
      const auto at = some_present();
      const uint64_t copies = 1 + random(std::min<uint64_t>(at->second, 12));
      ASSERT_EQ(must(writer().remove_copies(at->first, copies)), copies) << "S6";
      take(at, copies);
    }
  }
  // Removes a hash that was never added, and adds it again: nobody has lost anything then. A filter
  // that can't grow may refuse the add.
  void remove_a_stranger() {
    const uint64_t hash = hash_of(random(~uint64_t{0}));
    if (multiset() && options_.growth && !counts_.contains(hash) && must(writer().remove(hash))) {
      expect_ok(writer().insert(hash));
    }
  }
  void replace_some() {
    if (multiset() && !counts_.empty()) {
      const auto at = some_present();
      const uint64_t to = hash_of(random(~uint64_t{0}));
      const Result<FilterFile::Replaced> replaced = writer().replace(at->first, to);
      if (!replaced.ok()) {
        ASSERT_EQ(replaced.error().code, ErrorCode::kFull);
        return;
      }
      ASSERT_EQ(replaced.value(), FilterFile::Replaced::kDone) << "S6";
      take(at, 1);
      ++counts_[to];
    }
  }
  void change_seldom() {
    switch (random(6)) {
      case 0:
        if (writer().keeps_hashes()) {
          expect_ok(writer().rebuild(1 + random(4 * options_.capacity)));
        }
        break;
      case 1:
        expect_ok(writer().clear());
        counts_.clear();
        break;
      case 2:
        commit();
        reopen();
        break;
      case 3:
        restore();
        break;
      default:
        for (uint64_t i = random(3000); i > 0; --i) {
          add(hash_of(random(~uint64_t{0})));
        }
    }
  }

  // --- transactions
  void save() {
    expect_ok(writer().flush());
    savepoints_.push_back({storage_.rows, counts_});
  }
  void roll_back() {
    const bool all = savepoints_.empty() || random(4) == 0;
    const size_t to = all ? 0 : random(savepoints_.size());
    const State state = all ? committed_ : savepoints_[to];
    storage_.rows = state.rows;
    counts_ = state.counts;
    savepoints_.resize(to);
    writer().forget();
    if (all) {
      writer().committed();
    }
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
    commit();
    if (backup_.rows.empty() || random(2) == 0) {
      backup_ = committed_;
      return;
    }
    committed_ = backup_;
    storage_.rows = backup_.rows;
    counts_ = backup_.counts;
    expect_ok(writer().refresh());
  }

  // --- asking
  void ask_something() {
    switch (ask(6)) {
      case 0:
        expect_all_there(writer(), 20);
        break;
      case 1:
        (void)writer().items();
        break;
      case 2:
        for (int i = 0; i < 20; ++i) {
          (void)must(writer().load_and_probe(hash_of(ask(~uint64_t{0}))));
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
        expect_all_there(writer(), 3);
    }
  }
  void expect_all_there(FilterFile& file, size_t most) {
    auto at = counts_.lower_bound(hash_of(ask(~uint64_t{0})));
    for (size_t asked = 0; asked < std::min(most, counts_.size()); ++asked, ++at) {
      at = at == counts_.end() ? counts_.begin() : at;
      ASSERT_TRUE(must(file.load_and_probe(at->first))) << "S6";
      ASSERT_GE(must(file.count(at->first)), multiset() ? at->second : 1) << "S6";
    }
  }

  FilterOptions options_;
  uint64_t seed_;
  bool asks_;
  uint64_t draws_ = 0;
  uint64_t asked_ = 0;
  MemoryBlocks storage_;
  std::unique_ptr<FilterFile> files_[2];
  size_t writer_ = 0;
  std::map<uint64_t, uint64_t> counts_;
  State committed_;
  State backup_;
  std::vector<State> savepoints_;
};

class FilterLives : public test::KindsTest {
 protected:
  static FilterOptions options_of(uint64_t seed) {
    constexpr uint64_t kCapacities[] = {1, 40, 300, 2000};
    constexpr uint32_t kPages[] = {64, 448, 4096};
    FilterOptions options = KindsTest::options(kCapacities[seed % 4], 0.25, kPages[seed / 4 % 3]);
    if (options.spec.kind == FilterKind::kCuckoo) {
      options.spec.fingerprint_bits = 4;
    }
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FilterLives, testing::ValuesIn(test::all_cases()), test::kCaseName);

TEST_P(FilterLives, S5_S6_lose_nothing_and_leave_the_same_bytes_whatever_is_asked) {
  test::for_each_seed(100, [](uint64_t seed) {
    Life asked(options_of(seed), seed, true);
    Life quiet(options_of(seed), seed, false);
    for (int i = 0; i < 600 && !HasFailure(); ++i) {
      asked.step();
      quiet.step();
      ASSERT_TRUE(asked.rows() == quiet.rows()) << "S5, step " << i;
      if (i % 60 == 59) {
        asked.commit();
        quiet.commit();
        ASSERT_TRUE(asked.rows() == quiet.rows()) << "S5, step " << i;
        asked.expect_sound();
      }
    }
  });
}

}  // namespace
}  // namespace segments_filter_lives_test
}  // namespace cuckoo::segments
