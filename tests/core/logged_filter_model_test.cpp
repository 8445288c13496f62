// Random scripts over a LoggedFilter, checked against maps after each step.
//
// The model knows what a filter must answer exactly, not only approximately: it counts cells where
// the filter does, not hashes, and follows folds and rebuilds by watching the filter's record. So a
// lost key, an impossible "maybe" and a wrong count are all failures.
//
// A script has three connections on one storage. Each transaction is done by one of them: it
// refreshes, adds, removes (keys it owns; in some scripts also keys that nobody added), flushes,
// marks and undoes savepoints, clears, rebuilds, and then commits or rolls back. Now and then the
// storage is replaced by a backup.
// tests/model_seeds.hpp has the variables that choose scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

#include "core/logged_filter.hpp"
#include "tests/core/memory_storage.hpp"
#include "tests/model_seeds.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_word;
using test::StoredRows;

constexpr uint64_t kDefaultScripts = 200;

using Counts = std::unordered_map<uint64_t, uint64_t>;

uint64_t lookup(const Counts& counts, uint64_t key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

class Model {
 public:
  void start(const LoggedFilter& filter) {
    *this = Model();
    follow(filter);
  }

  // Catches up with a fold or a rebuild that the filter did before its last entry.
  void follow(const LoggedFilter& filter) {
    const FilterRecord& record = filter.record();
    if (cells_ == nullptr || record.generation != generation_) {
      rebuild(filter.geometry());
    } else if (record.fold_position != fold_position_) {
      fold();
    }
    generation_ = record.generation;
    fold_position_ = record.fold_position;
  }

  uint64_t count(uint64_t hash) const {
    const uint64_t cell = cells_->cell(hash);
    const auto net = tail_.find(hash);
    const uint64_t own = net != tail_.end() && net->second > 0 ? net->second : 0;
    return own + lookup(base_, cell) - lookup(pending_, cell);
  }
  bool contains(uint64_t hash) const { return count(hash) > 0; }
  // I1: added more often than removed by those who may, and nobody took its cell's fingerprints.
  bool must_contain(uint64_t hash) const {
    return lookup(owned_, hash) > 0 && lookup(taken_, cells_->cell(hash)) == 0;
  }
  uint64_t owned(uint64_t hash) const { return lookup(owned_, hash); }
  uint64_t items() const { return items_; }
  uint64_t tail_entries() const { return tail_entries_; }

  void added(uint64_t hash) {
    ++owned_[hash];
    ++kept_[hash];
    ++items_;
    ++tail_entries_;
    if (tail_[hash]++ < 0) {
      --pending_[cells_->cell(hash)];
    }
  }

  void removed(uint64_t hash) {
    if (owned(hash) == 0) {
      ++taken_[cells_->cell(hash)];
    } else {
      --owned_[hash];
    }
    uint64_t& kept = kept_[hash];
    kept -= kept > 0 ? 1 : 0;
    --items_;
    ++tail_entries_;
    if (tail_[hash]-- <= 0) {
      ++pending_[cells_->cell(hash)];
    }
  }

  // The owner of a key that somebody took found nothing to remove.
  void disowned(uint64_t hash) { --owned_[hash]; }

 private:
  void fold() {
    for (const auto& [hash, net] : tail_) {
      base_[cells_->cell(hash)] += static_cast<uint64_t>(net);
    }
    forget_tail();
  }

  void rebuild(const CuckooGeometry& geometry) {
    cells_ = std::make_shared<const CuckooFilter>(geometry);
    base_.clear();
    taken_.clear();
    items_ = 0;
    for (const auto& [hash, count] : kept_) {
      base_[cells_->cell(hash)] += count;
      items_ += count;
    }
    forget_tail();
  }

  void forget_tail() {
    tail_.clear();
    pending_.clear();
    tail_entries_ = 0;
  }

  std::shared_ptr<const CuckooFilter> cells_;  // for its geometry only; holds nothing
  uint64_t generation_ = 0;
  uint64_t fold_position_ = 0;
  uint64_t items_ = 0;
  uint64_t tail_entries_ = 0;
  Counts owned_;    // hash -> adds minus removes by those who added
  Counts kept_;     // hash -> count by the log's rule, a floor at zero
  Counts base_;     // cell -> count as folded
  Counts pending_;  // cell -> removes in the tail
  Counts taken_;    // cell -> removes of keys that nobody owned, since the last rebuild
  std::unordered_map<uint64_t, int64_t> tail_;  // hash -> net
};

// ---- one script

class Script {
 public:
  explicit Script(uint64_t seed) : seed_(seed) {
    constexpr uint64_t kCapacities[] = {1, 3, 10, 100, 1000, 5000};
    constexpr double kRates[] = {0.25, 0.01, 0.001, 1e-6};
    constexpr uint32_t kBits[] = {4, 5, 8, 13, 16, 24};
    constexpr uint32_t kPageBytes[] = {64, 128, 448};
    options_.capacity = kCapacities[random(6)];
    options_.rate = kRates[random(4)];
    options_.fingerprint_bits = random(5) == 0 ? kBits[random(6)] : 0;
    options_.growth = random(4) != 0;
    options_.width = random(2) == 0 ? HashWidth::k47Bits : HashWidth::k63Bits;
    options_.page_bytes = kPageBytes[random(3)];
    options_.seed = nth_word(seed_, 1 << 30);
    options_.digest = nth_word(seed_, 1 << 29);
    honest_ = random(3) != 0;
    const uint64_t distinct =
        options_.growth ? 20 + random(options_.capacity * 4) : 2 + random(options_.capacity * 2);
    universe_ = {0, logged_hash(UINT64_MAX, options_.width)};
    for (uint64_t i = 0; i < distinct; ++i) {
      universe_.push_back(logged_hash(nth_word(seed_ ^ 0xABCDEF, i), options_.width));
    }
  }

  std::string description() const {
    return "capacity " + std::to_string(options_.capacity) + ", rate " +
           std::to_string(options_.rate) + ", bits " + std::to_string(options_.fingerprint_bits) +
           (options_.growth ? ", growth" : ", no growth") + ", page " +
           std::to_string(options_.page_bytes) + ", width " +
           std::to_string(static_cast<int>(options_.width)) + (honest_ ? ", honest" : "") +
           ", transaction " + std::to_string(transaction_) +
           "; CUCKOO_SEED=" + std::to_string(seed_) + " replays it";
  }

  void run() {
    create();
    const uint64_t transactions = 10 + random(30);
    for (; transaction_ < transactions && !failed(); ++transaction_) {
      transaction();
    }
  }

 private:
  static bool failed() { return ::testing::Test::HasFailure(); }
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  uint64_t any_hash() { return universe_[random(universe_.size())]; }
  static uint64_t burst_of(uint64_t draw) {
    constexpr uint64_t kBursts[] = {1, 5, 30, 200, 900};
    return 1 + (draw >> 8) % kBursts[draw % 5];
  }

  void create() {
    for (auto& connection : connections_) {
      connection = std::make_unique<LoggedFilter>(options_, storage_);
    }
    LoggedFilter& first = *connections_[0];
    const Status status = first.create();
    ASSERT_TRUE(status.ok()) << message_of(status);
    model_.start(first);
    ASSERT_TRUE(first.flush().ok());
    first.committed();
  }

  void refresh(LoggedFilter& filter) {
    const Status status = filter.refresh(storage_.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    expect_same(filter, 10);
  }

  // The filter answers as the model does, for everything or for a sample.
  void expect_same(LoggedFilter& filter, uint64_t samples) {
    ASSERT_EQ(filter.items(), model_.items());
    ASSERT_EQ(filter.tail_entries(), model_.tail_entries());
    const bool all = samples >= universe_.size();
    for (uint64_t i = 0; i < (all ? universe_.size() : samples); ++i) {
      expect_same_answer(filter, all ? universe_[i] : any_hash());
      expect_same_answer(filter, logged_hash(nth_word(seed_ + 99, draws_++), options_.width));
    }
  }

  void expect_same_answer(LoggedFilter& filter, uint64_t hash) {
    ASSERT_TRUE(filter.load(hash).ok());
    ASSERT_NE(filter.probe(hash), LoggedFilter::Answer::kNotLoaded);
    ASSERT_EQ(filter.count(hash), model_.count(hash)) << hash;
    ASSERT_EQ(filter.contains(hash), model_.contains(hash)) << hash;
    ASSERT_TRUE(!model_.must_contain(hash) || filter.contains(hash)) << "I1, hash " << hash;
  }

  void insert(LoggedFilter& filter, uint64_t hash) {
    const FilterRecord before = filter.record();
    const Status status = filter.insert(hash);
    if (!options_.growth && model_.items() >= options_.capacity) {
      ASSERT_FALSE(status.ok());
      ASSERT_EQ(status.error().code, ErrorCode::kFull);
      ASSERT_EQ(filter.record(), before) << "I7";
      return;
    }
    ASSERT_TRUE(status.ok()) << message_of(status);
    model_.follow(filter);
    model_.added(hash);
    ASSERT_TRUE(filter.load(hash).ok() && filter.contains(hash));
  }

  void remove(LoggedFilter& filter, uint64_t hash) {
    const bool owned = model_.owned(hash) > 0;
    if (honest_ && !owned) {
      return;
    }
    const bool must = model_.must_contain(hash);
    const bool present = model_.contains(hash);
    const Result<bool> removed = filter.remove(hash);
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    if (present) {
      model_.follow(filter);
    }
    ASSERT_EQ(removed.value(), present && model_.contains(hash)) << hash;
    if (removed.value()) {
      model_.removed(hash);
    } else {
      ASSERT_FALSE(must) << "I1, hash " << hash;
      if (owned) {
        model_.disowned(hash);
      }
    }
    ASSERT_EQ(filter.items(), model_.items());
  }

  void step(LoggedFilter& filter) {
    const uint64_t burst = burst_of(random(uint64_t{1} << 40));
    switch (random(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        for (uint64_t i = 0; i < burst && !failed(); ++i) {
          insert(filter, any_hash());
        }
        break;
      case 4:
      case 5:
      case 6:
        for (uint64_t i = 0; i < burst && !failed(); ++i) {
          remove(filter, any_hash());
        }
        break;
      case 7:
        same_hash_again_and_again(filter, burst);
        break;
      case 8:
        ASSERT_TRUE(filter.flush().ok());
        break;
      case 9:
        savepoint(filter);
        break;
      case 10:
        change_generation(filter);
        break;
      default:  // an update: one out, one in
        for (uint64_t i = 0; i < burst && !failed(); ++i) {
          remove(filter, any_hash());
          insert(filter, any_hash());
        }
    }
    expect_same(filter, 6);
  }

  void same_hash_again_and_again(LoggedFilter& filter, uint64_t times) {
    const uint64_t hash = any_hash();
    const bool out = random(2) == 0;
    for (uint64_t i = 0; i < times && !failed(); ++i) {
      insert(filter, hash);
    }
    for (uint64_t i = 0; out && i < times && !failed(); ++i) {
      remove(filter, hash);
    }
  }

  void savepoint(LoggedFilter& filter) {
    ASSERT_TRUE(filter.flush().ok());
    const StoredRows mark = storage_.snapshot();
    const Model before = model_;
    for (uint64_t i = 0; i < burst_of(random(uint64_t{1} << 40)) && !failed(); ++i) {
      random(3) == 0 ? remove(filter, any_hash()) : insert(filter, any_hash());
    }
    if (random(3) == 0) {
      ASSERT_TRUE(filter.flush().ok());
    }
    if (!failed() && random(2) == 0) {
      storage_.restore(mark);
      model_ = before;
      filter.forget();
      refresh(filter);
    }
  }

  void change_generation(LoggedFilter& filter) {
    const uint64_t draw = random(8);
    if (draw == 0) {
      ASSERT_TRUE(filter.clear().ok());
      model_.start(filter);
      ASSERT_EQ(filter.capacity(), options_.capacity);
      return;
    }
    const uint64_t capacity = 1 + random(draw < 4 ? 2 * filter.capacity() : options_.capacity);
    const Status status = filter.rebuild(capacity);
    if (!options_.growth) {
      ASSERT_FALSE(status.ok());
      ASSERT_EQ(status.error().code, ErrorCode::kInvalid);
      return;
    }
    ASSERT_TRUE(status.ok()) << message_of(status);
    model_.follow(filter);
    ASSERT_GE(filter.capacity(), capacity);
    ASSERT_EQ(filter.tail_entries(), 0u);
  }

  // Nobody is told that a backup was restored: refresh() has to notice.
  void take_or_restore_backup() {
    const uint64_t draw = random(12);
    if (draw < 2 || transaction_ == 0) {
      backup_ = storage_.snapshot();
      model_at_backup_ = model_;
    } else if (draw == 2) {
      storage_.restore(backup_);
      model_ = model_at_backup_;
    }
  }

  void transaction() {
    take_or_restore_backup();
    LoggedFilter& filter = *connections_[random(connections_.size())];
    refresh(filter);
    const StoredRows before = storage_.snapshot();
    const Model model_before = model_;
    for (uint64_t steps = 1 + random(6); steps > 0 && !failed(); --steps) {
      step(filter);
    }
    if (failed()) {
      return;
    }
    if (random(5) == 0) {
      if (random(2) == 0) {
        ASSERT_TRUE(filter.settle().ok());
        ASSERT_TRUE(filter.flush().ok());
      }
      storage_.restore(before);
      model_ = model_before;
      filter.forget();
      ASSERT_FALSE(filter.usable());
      refresh(filter);
    } else {
      commit(filter);
    }
    refresh(*connections_[random(connections_.size())]);
    if (random(5) == 0) {
      LoggedFilter fresh(options_, storage_);
      refresh(fresh);
      expect_same(fresh, universe_.size());
    }
  }

  void commit(LoggedFilter& filter) {
    ASSERT_TRUE(filter.settle().ok());
    model_.follow(filter);
    ASSERT_TRUE(filter.flush().ok());
    filter.committed();
    const StoredRows stored = storage_.snapshot();
    ASSERT_TRUE(filter.settle().ok() && filter.flush().ok());
    ASSERT_EQ(difference(stored, storage_.rows), "") << "nothing was pending";
    const Result<FilterRecord> record = decode_record(storage_.rows.record);
    ASSERT_TRUE(record.ok()) << record.error().message;
    ASSERT_EQ(record.value(), filter.record());
    ASSERT_EQ(storage_.rows.pages.size() + storage_.rows.log.size(), filter.stored_rows());
    if (options_.capacity < 1000 || random(3) == 0) {
      const Status status = filter.check();
      ASSERT_TRUE(status.ok()) << message_of(status);
      ASSERT_EQ(difference(stored, storage_.rows), "") << "check() only reads";
    }
    expect_same(filter, 20);
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  uint64_t transaction_ = 0;
  bool honest_ = true;
  FilterOptions options_;
  std::vector<uint64_t> universe_;
  MemoryStorage storage_;
  std::array<std::unique_ptr<LoggedFilter>, 3> connections_;
  Model model_;
  StoredRows backup_;
  Model model_at_backup_;
};

TEST(LoggedFilterModel, random_scripts_answer_as_the_model_does) {
  const test::ModelSeeds seeds(kDefaultScripts);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Script script(seed);
    script.run();
    ASSERT_FALSE(HasFailure()) << script.description();
  }
}

}  // namespace
}  // namespace cuckoo
