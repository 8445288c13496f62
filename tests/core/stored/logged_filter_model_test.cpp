// Random scripts over LoggedFilters of every kind, checked against tests/core/stored/model.hpp
// after each step: a lost key, an impossible "maybe" and a wrong count are all failures.
//
// A script has three connections on one storage. Each transaction is done by one of them: it
// refreshes, adds, removes (keys it owns; in some scripts also keys that nobody added), flushes,
// marks and undoes savepoints, clears, rebuilds, imports, merges, and then commits or rolls back.
// In a third of the scripts a hash counts once, and is added only where it does not look present.
// Now and then the storage is replaced by a backup.
// tests/model_seeds.hpp has the variables that choose scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "core/stored/contents.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"
#include "tests/core/stored/model.hpp"
#include "tests/model_seeds.hpp"
#include "tests/slow.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::FilterModel;
using test::MemoryStorage;
using test::message_of;
using test::nth_word;
using test::StoredRows;

constexpr uint64_t kDefaultScripts = 80;      // of each kind
constexpr uint64_t kDefaultLargeScripts = 3;  // they take so much longer

class Script {
 public:
  enum class Size { kAny, kLarge };  // so large that epochs are made in steps

  Script(FilterKind kind, uint64_t seed, Size size) : seed_(seed), size_(size) {
    constexpr uint64_t kCapacities[] = {1, 3, 10, 100, 1000, 5000};
    constexpr double kRates[] = {0.25, 0.01, 0.001, 1e-6};
    constexpr uint32_t kBits[] = {4, 5, 8, 13, 16, 24};
    constexpr double kBitsPerKey[] = {1, 2.5, 8, 20};
    constexpr uint32_t kPageBytes[] = {64, 128, 448};
    options_.spec.kind = kind;
    options_.capacity = kCapacities[random(6)];
    options_.spec.rate = kRates[random(4)];
    if (random(5) == 0) {
      if (kind == FilterKind::kCuckoo) {
        options_.spec.fingerprint_bits = kBits[random(6)];
      } else {
        options_.spec.bits_per_key = kBitsPerKey[random(4)];
      }
    }
    if (kind != FilterKind::kCuckoo && kind != FilterKind::kBlockedBloom && random(5) == 0) {
      options_.spec.hashes = 1 + static_cast<uint32_t>(random(12));
    }
    options_.growth = random(4) != 0;
    const bool wide = options_.spec.bits_per_key != 0 || options_.spec.hashes != 0;
    options_.width = random(2) == 0 && !wide ? HashWidth::k47Bits : HashWidth::k63Bits;
    options_.page_bytes = kPageBytes[random(3)];
    options_.seed = nth_word(seed_, 1 << 30);
    options_.digest = nth_word(seed_, 1 << 29);
    options_.unique = nth_word(seed_, 1 << 28) % 3 == 0;
    honest_ = random(3) != 0;
    if (size == Size::kLarge) {
      options_.capacity = 8000 + random(6000);
      options_.spec.rate = random(2) == 0 ? 0.01 : 0.001;
      options_.spec.fingerprint_bits = 0;
      options_.spec.bits_per_key = 0;
      options_.growth = true;
      options_.page_bytes = 64;
    }
    uint64_t distinct =
        options_.growth ? 20 + random(options_.capacity * 4) : 2 + random(options_.capacity * 2);
    if (size == Size::kLarge) {
      distinct += 2 * options_.capacity;  // enough for a set to outgrow it
    }
    universe_ = {0, logged_hash(UINT64_MAX, options_.width)};
    for (uint64_t i = 0; i < distinct; ++i) {
      universe_.push_back(logged_hash(nth_word(seed_ ^ 0xABCDEF, i), options_.width));
    }
  }

  std::string description() const {
    const FilterSpec& spec = options_.spec;
    return test::name_of(spec.kind) + ", capacity " + std::to_string(options_.capacity) +
           ", rate " + std::to_string(spec.rate) + ", bits " +
           std::to_string(spec.fingerprint_bits) + ", bits per key " +
           std::to_string(spec.bits_per_key) + ", hashes " + std::to_string(spec.hashes) +
           (options_.growth ? ", growth" : ", no growth") + (options_.unique ? ", unique" : "") +
           ", page " + std::to_string(options_.page_bytes) + ", width " +
           std::to_string(static_cast<int>(options_.width)) + (honest_ ? ", honest" : "") +
           ", transaction " + std::to_string(transaction_) +
           "; CUCKOO_SEED=" + std::to_string(seed_) + " replays it";
  }

  uint64_t cut_overs() const { return cut_overs_; }

  void run() {
    create();
    const uint64_t transactions = size_ == Size::kLarge ? 30 + random(30) : 10 + random(30);
    for (; transaction_ < transactions && !failed(); ++transaction_) {
      transaction();
    }
  }

 private:
  static bool failed() { return ::testing::Test::HasFailure(); }
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  uint64_t any_hash() { return universe_[random(universe_.size())]; }
  uint64_t burst_of(uint64_t draw) const {
    constexpr uint64_t kBursts[] = {1, 5, 30, 200, 900};
    constexpr uint64_t kLargeBursts[] = {30, 200, 900, 2500, 2500};
    return 1 + (draw >> 8) % (size_ == Size::kLarge ? kLargeBursts : kBursts)[draw % 5];
  }
  bool is_cuckoo() const { return options_.spec.kind == FilterKind::kCuckoo; }

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

  // What is present, or seems to be, is left alone; but a merge adds what only seems so.
  bool insert_unless_present(LoggedFilter& filter, uint64_t hash, Status& status) {
    const bool present = model_.contains(hash);
    if (present && filter.keeps_hashes() && !model_.keeps(hash) && random(4) == 0) {
      status = filter.insert(hash);
      return true;
    }
    Result<bool> added = filter.insert_new(hash);
    if (!added.ok()) {
      status = added.take_status();
      return true;
    }
    EXPECT_EQ(added.value(), !present) << hash;
    return added.value();
  }

  void insert(LoggedFilter& filter, uint64_t hash) {
    const FilterRecord before = filter.record();
    const bool present = model_.contains(hash);
    Status status;
    if (!options_.unique) {
      status = filter.insert(hash);
    } else if (!insert_unless_present(filter, hash, status)) {
      ASSERT_EQ(filter.record(), before);
      expect_same_answer(filter, hash);
      return;
    }
    if (!status.ok()) {
      expect_rightly_full(filter, status, hash, present);
      return;
    }
    ASSERT_TRUE(filter.keeps_hashes() || !is_cuckoo() || model_.items() < filter.capacity());
    model_.follow(filter);
    bool is_new = !model_.contains(hash);
    if (!filter.keeps_hashes() && !present && !is_new) {
      // Absent, until a fold made it a false positive: before it was looked up (a long tail) or
      // after (to make room)?
      ASSERT_NE(filter.record().fold_position, before.fold_position);
      is_new = filter.items() == model_.items() + 1;
    }
    model_.added(hash, is_new);
    ASSERT_EQ(filter.items(), model_.items());
    ASSERT_TRUE(filter.load(hash).ok() && filter.contains(hash));
  }

  // What an estimated number of keys may be short of the capacity when it seems to reach it.
  static uint64_t noise(const LoggedFilter& filter, bool estimated) {
    const auto capacity = static_cast<double>(filter.capacity());
    return estimated ? static_cast<uint64_t>(3 + 3 * std::sqrt(capacity)) : 0;
  }

  // Full is: without hashes, and as many keys as the capacity. Nothing changes but that a Bloom
  // filter has folded its tail to be sure.
  void expect_rightly_full(LoggedFilter& filter, const Status& status, uint64_t hash,
                           bool present) {
    ASSERT_EQ(status.error().code, ErrorCode::kFull) << message_of(status);
    ASSERT_FALSE(filter.keeps_hashes());
    ASSERT_TRUE(filter.usable());
    if (is_cuckoo()) {
      ASSERT_GE(model_.items(), filter.capacity());
    } else {
      ASSERT_FALSE(present) << "what is there already needs no room";
      // How many keys a counting filter has is an estimate, too: it knows copies and cells.
      ASSERT_TRUE(!honest_ ||
                  model_.distinct() + noise(filter, model_.estimated() || model_.multiset()) >=
                      filter.capacity())
          << model_.distinct() << " keys of " << filter.capacity();
    }
    model_.follow(filter);
    ASSERT_EQ(filter.items(), model_.items());
    expect_same_answer(filter, hash);
  }

  void remove(LoggedFilter& filter, uint64_t hash) {
    const bool owned = model_.owned(hash) > 0;
    if (!filter.multiset() || (honest_ && !owned)) {
      return;
    }
    const bool must = model_.must_contain(hash);
    const bool present = model_.contains(hash) && model_.items() > 0;
    const Result<bool> removed = filter.remove(hash);
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    if (present) {
      model_.follow(filter);
    }
    ASSERT_EQ(removed.value(), present && model_.contains(hash)) << hash;
    if (removed.value()) {
      model_.removed(hash);
    } else {
      ASSERT_FALSE(must && model_.items() > 0) << "I1, hash " << hash;
      if (owned) {
        model_.disowned(hash);
      }
    }
    ASSERT_EQ(filter.items(), model_.items());
  }

  // Was `to` present without `from`, so that no copy of it was added? Then the model follows.
  bool stayed(LoggedFilter& filter, uint64_t from, uint64_t to, bool refused) {
    if (!options_.unique) {
      return false;
    }
    FilterModel model = model_;
    model.follow(filter);
    model.removed(from);
    const bool there = model.contains(to);
    if (refused) {
      EXPECT_TRUE(there) << to;
      model.added(from, true);
    } else if (!there || model.items() != filter.items() ||
               model.tail_entries() != filter.tail_entries()) {
      EXPECT_FALSE(there && model.tail_entries() + 1 == filter.tail_entries()) << to;
      return false;
    }
    model_ = std::move(model);
    EXPECT_EQ(filter.items(), model_.items());
    expect_same_answer(filter, from);
    expect_same_answer(filter, to);
    return true;
  }

  void replace(LoggedFilter& filter, uint64_t from, uint64_t to) {
    const bool owned = model_.owned(from) > 0;
    if (!filter.multiset() || !owned) {
      remove(filter, from);
      insert(filter, to);
      return;
    }
    const bool present = model_.contains(from) && model_.items() > 0;
    const FilterRecord before = filter.record();
    const uint64_t threshold = filter.fold_threshold();
    using Replaced = LoggedFilter::Replaced;
    using IfPresent = LoggedFilter::IfPresent;
    const IfPresent if_present = !options_.unique ? IfPresent::kAdd
                                 : random(2) == 0 ? IfPresent::kLeave
                                                  : IfPresent::kRefuse;
    const Result<Replaced> replaced = filter.replace(from, to, if_present);
    if (replaced.ok() && replaced.value() != Replaced::kNoSuch &&
        stayed(filter, from, to, replaced.value() == Replaced::kRefused)) {
      return;
    }
    if (replaced.ok() && replaced.value() == Replaced::kNoSuch) {
      ASSERT_FALSE(model_.must_contain(from) && model_.items() > 0) << "I1, hash " << from;
      if (present) {
        model_.follow(filter);
      }
      ASSERT_FALSE(model_.contains(from) && model_.items() > 0);
      model_.disowned(from);
      return;
    }
    const bool in_steps = filter.record().epoch != before.epoch && filter.tail_entries() > 2;
    const bool folded_between =
        in_steps ? model_.tail_entries() < threshold : filter.tail_entries() < 2;
    if (!folded_between) {
      model_.follow(filter);
    }
    ASSERT_TRUE(present && model_.contains(from));
    model_.removed(from);
    if (folded_between) {
      model_.follow(filter);
    }
    if (!replaced.ok()) {  // then it is where it was
      ASSERT_EQ(replaced.error().code, ErrorCode::kFull) << replaced.error().message;
      ASSERT_FALSE(filter.keeps_hashes());
    }
    model_.added(replaced.ok() ? to : from, true);
    ASSERT_EQ(filter.items(), model_.items());
    expect_same_answer(filter, from);
    expect_same_answer(filter, to);
  }

  void step(LoggedFilter& filter) {
    const uint64_t burst = burst_of(random(uint64_t{1} << 40));
    switch (random(13)) {
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
        if (size_ != Size::kLarge || random(4) == 0) {  // else none is old enough to grow
          change_generation(filter);
        }
        break;
      case 11:
        expect_contents(filter);
        break;
      default:  // an update: one out, one in; each takes a copy of the model
        for (uint64_t i = 0; i < (size_ == Size::kLarge ? 20 : burst) && !failed(); ++i) {
          replace(filter, any_hash(), any_hash());
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
    const FilterModel before = model_;
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
    const uint64_t draw = random(12);
    if (draw == 0) {
      ASSERT_TRUE(filter.clear().ok());
      model_.start(filter);
      ASSERT_EQ(filter.capacity(), options_.capacity);
      return;
    }
    if (draw < 4) {
      import_or_unite(filter, draw);
      return;
    }
    const uint64_t capacity = 1 + random(draw < 8 ? 2 * filter.capacity() : options_.capacity);
    const bool possible = filter.keeps_hashes();
    const Status status = filter.rebuild(capacity);
    if (!possible) {
      ASSERT_FALSE(status.ok());
      ASSERT_EQ(status.error().code, ErrorCode::kInvalid);
      return;
    }
    ASSERT_TRUE(status.ok()) << message_of(status);
    model_.follow(filter);
    ASSERT_GE(filter.capacity(), capacity);
    ASSERT_EQ(filter.tail_entries(), 0u);
  }

  // Some hashes of the universe and others; each up to three times.
  FilterModel::Counts any_counts() {
    FilterModel::Counts counts;
    for (uint64_t i = random(1 + std::min<uint64_t>(options_.capacity, 300)); i > 0; --i) {
      counts[any_hash()] += 1 + random(3) / 2;
    }
    return counts;
  }

  void import_or_unite(LoggedFilter& filter, uint64_t draw) {
    const FilterModel::Counts counts = any_counts();
    HashCollection collection(options_.width);
    for (const auto& [hash, count] : counts) {
      for (uint64_t i = 0; i < count; ++i) {
        collection.add(hash);
      }
    }
    if (options_.unique) {
      collection.make_unique();
    }
    const bool unites = draw == 3 && !(options_.unique && filter.multiset());
    const uint64_t capacity = unites ? filter.capacity() : random(2) * options_.capacity;
    Result<FilterContents> built = collection.build(
        options_.generation_spec(), capacity, HashCollection::Growth::kOn, options_.page_bytes);
    ASSERT_TRUE(built.ok()) << built.error().message;
    FilterContents& contents = built.value();
    if (unites) {
      unite(filter, contents, counts);
      return;
    }
    contents.hashes = draw == 1 ? nullptr : contents.hashes;
    const uint64_t items = contents.items;
    const Status status = filter.import(options_, std::move(contents));
    ASSERT_TRUE(status.ok()) << message_of(status);
    ASSERT_EQ(filter.items(), items);
    ASSERT_EQ(filter.keeps_hashes(), options_.growth && (draw != 1 || items == 0));
    model_.imported(filter, counts);
  }

  void unite(LoggedFilter& filter, const FilterContents& other, const FilterModel::Counts& counts) {
    ASSERT_TRUE(filter.flush().ok());
    const bool possible = !filter.keeps_hashes() || filter.items() == 0;
    const bool same = other.filter->words() == filter.base().words();
    const uint64_t before = model_.items();
    const Status status = filter.unite(*other.filter, other.items);
    if (status.ok()) {
      ASSERT_TRUE(possible && same);
      const uint64_t most = before + other.items;
      ASSERT_LE(filter.items(), most);
      ASSERT_GE(filter.items(), filter.multiset() ? most : std::max(before, other.items));
      model_.follow(filter);
      model_.united(counts, filter.items());
      return;
    }
    ASSERT_EQ(status.error().code, possible && same ? ErrorCode::kFull : ErrorCode::kInvalid);
    if (!filter.usable()) {  // what storage holds is as before
      refresh_after_refusal(filter);
    }
    if (honest_ && status.error().code == ErrorCode::kFull) {
      uint64_t held = is_cuckoo() ? before + other.items : model_.distinct();
      for (const auto& [hash, count] : counts) {
        held += is_cuckoo() || model_.owned(hash) > 0 ? 0 : 1;
      }
      ASSERT_GT(held + noise(filter, filter.multiset() && !is_cuckoo()), filter.capacity());
    }
  }

  void refresh_after_refusal(LoggedFilter& filter) {
    const Status status = filter.refresh(storage_.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    model_.follow(filter);  // the tail was folded
    expect_same(filter, 20);
  }

  // The copy answers as the filter will when it has folded its tail. One that is made anew from the
  // log has repaired what the remove of a key that was never added broke.
  void expect_contents(LoggedFilter& filter) {
    const bool with_hashes = filter.keeps_hashes() && random(2) == 0;
    Result<FilterContents> taken = filter.contents(with_hashes);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    FilterContents& contents = taken.value();
    ASSERT_TRUE(contents.filter->check().ok()) << message_of(contents.filter->check());
    ASSERT_GE(contents.capacity, filter.capacity());
    const bool anew = contents.hashes != nullptr;
    ASSERT_TRUE(anew ? filter.keeps_hashes() : !with_hashes);
    const FilterModel folded = model_.folded();
    const bool same = contents.filter->words() == filter.base().words();
    ASSERT_TRUE(same || anew);
    for (const uint64_t hash : universe_) {
      const bool has = contents.filter->probe(hash) == Filter::Answer::kPresent;
      ASSERT_TRUE(has || !model_.must_contain(hash)) << "I1, hash " << hash;
      ASSERT_TRUE(!same || (anew && !honest_) || has == folded.contains(hash)) << hash;
    }
    if (honest_ || !anew) {
      ASSERT_EQ(contents.items, model_.items());
    }
    if (!anew) {
      return;
    }
    FilterModel::Counts counts;
    uint64_t copies = 0;
    const Status status = contents.hashes([&](uint64_t hash, uint64_t count) -> Status {
      counts[hash] = count;
      copies += count;
      return {};
    });
    ASSERT_TRUE(status.ok()) << message_of(status);
    ASSERT_EQ(counts, model_.kept());
    ASSERT_EQ(contents.hash_count, counts.size());
    ASSERT_EQ(contents.items, filter.multiset() ? copies : model_.items());
    ASSERT_TRUE(verify_hashes(contents).ok());
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
    const FilterModel model_before = model_;
    for (uint64_t steps = 1 + random(6); steps > 0 && !failed(); --steps) {
      step(filter);
    }
    if (failed()) {
      return;
    }
    if (random(5) == 0) {
      if (random(2) == 0) {
        ASSERT_TRUE(filter.fold_rest().ok());
        ASSERT_TRUE(filter.flush().ok());
      }
      storage_.restore(before);
      model_ = model_before;
      random(2) == 0 ? filter.forget() : filter.rolled_back();
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
    ASSERT_TRUE(filter.fold_rest().ok());
    model_.follow(filter);
    ASSERT_TRUE(filter.flush().ok());
    filter.committed();
    const StoredRows stored = storage_.snapshot();
    ASSERT_TRUE(filter.fold_rest().ok() && filter.flush().ok());
    ASSERT_EQ(difference(stored, storage_.rows), "") << "nothing was pending";
    const Result<FilterRecord> record = decode_record(storage_.rows.record);
    ASSERT_TRUE(record.ok()) << record.error().message;
    ASSERT_EQ(record.value(), filter.record());
    ASSERT_EQ(rows_of_epoch(storage_.rows.pages) + rows_of_epoch(storage_.rows.log),
              filter.stored_rows());
    cut_overs_ += filter.tail_entries() > 2000 && filter.record().epoch != epoch_ ? 1 : 0;
    epoch_ = filter.record().epoch;
    ASSERT_EQ(storage_.rows.items.size(), filter.record().overflow_cells);
    if (options_.capacity < 1000 || random(3) == 0) {
      const Status status = filter.check();
      ASSERT_TRUE(status.ok()) << message_of(status);
      ASSERT_EQ(difference(stored, storage_.rows), "") << "check() only reads";
    }
    expect_same(filter, 20);
  }

  uint64_t rows_of_epoch(const std::map<int64_t, test::Bytes>& rows) const {
    const uint64_t epoch = decode_record(storage_.rows.record).value().epoch;
    return static_cast<uint64_t>(std::distance(rows.lower_bound(first_row_id(epoch)),
                                               rows.lower_bound(first_row_id(epoch + 1))));
  }

  uint64_t seed_;
  Size size_;
  uint64_t cut_overs_ = 0;  // epochs that were made in steps
  uint64_t epoch_ = 0;
  uint64_t draws_ = 0;
  uint64_t transaction_ = 0;
  bool honest_ = true;
  FilterOptions options_;
  std::vector<uint64_t> universe_;
  MemoryStorage storage_;
  std::array<std::unique_ptr<LoggedFilter>, 3> connections_;
  FilterModel model_;
  StoredRows backup_;
  FilterModel model_at_backup_;
};

class LoggedFilterModel : public ::testing::TestWithParam<FilterKind> {};

TEST_P(LoggedFilterModel, random_scripts_answer_as_the_model_does) {
  const test::ModelSeeds seeds(kDefaultScripts);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Script script(GetParam(), seed, Script::Size::kAny);
    script.run();
    ASSERT_FALSE(HasFailure()) << script.description();
  }
}

TEST_P(LoggedFilterModel, epochs_made_in_steps_answer_as_the_model_does) {
  const test::ModelSeeds seeds(kDefaultScripts);
  const uint64_t count =
      std::max<uint64_t>(1, seeds.count * kDefaultLargeScripts / kDefaultScripts);
  // Until one of them cuts over.
  const uint64_t most = test::kSlow || seeds.count == 1 ? count : 20 * count;
  uint64_t cut_overs = 0;
  for (uint64_t i = 0; i < count || (cut_overs == 0 && i < most); ++i) {
    const uint64_t seed = seeds.first + i;
    Script script(GetParam(), seed, Script::Size::kLarge);
    script.run();
    ASSERT_FALSE(HasFailure()) << script.description();
    cut_overs += script.cut_overs();
  }
  EXPECT_TRUE(cut_overs > 0 || most == count);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterModel, ::testing::ValuesIn(test::kLoggedKinds),
                         [](const auto& info) { return test::name_of(info.param); });

}  // namespace
}  // namespace cuckoo
