// A filter that lives in storage: base pages (core/stored/stored_pages.hpp) + a log of hashes + the
// log's tail in memory (core/stored/log_tail.hpp).
//
// Why a log: writing a filter's random pages at every commit is what makes filters on disk slow. An
// add or remove is appended to the log; the pages are brought up to date ("folded") only when the
// tail is long. The hashes that are kept also let the filter grow, shrink and repair itself
// exactly, without the keys.
//
// State                 log:  start ........ F ............ N        F: folded into the pages
//                                            |--- tail ---|         N: its end
// A hash is present when its own net count in the tail is above 0, or when the base counts more
// copies of its cells than the tail holds pending removes for them.
//
// A multiset (cuckoo, counting Bloom) logs every add and remove. A set (the other Bloom filters)
// logs an add unless the same hash is in the tail already, and its items are the adds that were not
// maybe-present: a number of its own, which log rows and record carry.
// A filter without hashes (growth off, or its pages were imported) can't be made anew: its log is
// cut at each fold, and full is an error.
//
// Invariants
//   I1  never a false negative: a hash added more often than removed is present, unless somebody
//       removed a hash that was never added and shares its cell.
//   I2  a remove is accepted only if the hash is present; so pending removes of a cell never exceed
//       the base's count, and a fold never meets a remove without a fingerprint.
//   I3  items() of a multiset = adds - accepted removes = what a fold would leave in base and
//       overflow table.
//   I4  storage after flush() holds all; memory is a cache of it: refresh() of the record rebuilds
//       it.
//   I5  what is folded when depends on the entries and the calls only, never on time: the same
//       calls give the same bytes.
//   I6  with hashes: the log from its start folds to the base (equal digests, or equal pages where
//       they are canonical) at any time.
//   I7  an operation that fails with kInvalid or kFull left the items as they were. So did one that
//       met kCorrupt before it changed pages or storage. A failure in the middle of that, of
//       whatever kind, poisons the filter: every call fails until forget(). When memory runs out
//       (std::bad_alloc) in an add, a remove or a replace(), that may be done in part: forget()
//       comes next.
//   I8  what waits (insert_soon()) is settled without storage, a fold or an error, but for memory.
//   I9  what is not made yet is never stored: pages that lag behind, adds that stand in no row or
//       wait. flush() makes it first; writing without that is refused (kInvalid).
//
// Fold: removes first, then adds, each in hash order; when the tail holds fold_threshold() entries.
// A transaction that folded once adds much at once: there the tail may grow to three times as many
// entries as the filter has items, 2^23 at most (2^20 of a set, whose tail is always indexed), so
// that the pages are gone over, and made anew, few times; and what is left is folded at its end.
// Adds are put into a multiset's index when somebody asks for it: a bulk load never does. Where it
// pays they are folded, in log order, by a BulkInserter that stays until the next flush. The pages
// are made of it then, or when somebody asks, which ends nothing (I5): so the tail is folded
// whenever that pays, too. Of each add to a set it must be known whether it is new: there some
// dozens wait, and their places in index and pages are on their way from memory meanwhile.
// Rebuild: the log is read, but for a tail of adds alone, which are in memory; entries cancel in
// log order with a floor at zero (a remove that no add precedes was of a key never added: dropping
// it repairs what it broke), and a new epoch of pages and a compacted log is written. A fold
// becomes a rebuild when the filter would be too full (a cuckoo filter: its entries exceed the
// capacity, a cell of the overflow table being one; a Bloom filter: see Filter::full), to 1.5 times
// what is in it, or when more than half of the log is dead.
// Steps: a large filter for which a fold may become a rebuild makes the next epoch in 256 steps
// while the tail fills (core/stored/next_epoch.hpp). At the fold that epoch takes its place, with
// the tail behind it; what is left of the epoch before is erased in steps, too. So its longest
// insert does a fold's work, not a rebuild's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/changes.hpp"
#include "core/stored/contents.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/log_tail.hpp"
#include "core/stored/mark.hpp"
#include "core/stored/next_epoch.hpp"
#include "core/stored/poison.hpp"
#include "core/stored/record.hpp"
#include "core/stored/replay.hpp"
#include "core/stored/storage.hpp"
#include "core/stored/stored_pages.hpp"

namespace cuckoo {

class LoggedFilter {
 public:
  LoggedFilter(const FilterOptions& options, FilterStorage& storage);

  const FilterOptions& options() const noexcept { return options_; }

  // An empty filter, not yet flushed.
  Status create() { return create(0, 0, 0, options_.seed); }
  // … a sliding window's next generation, behind a log that ended with `chain`.
  Status create(uint64_t epoch, uint64_t rotation, uint64_t older, uint64_t chain);
  // Brings memory to what that stored record says: keeps what is still valid, applies new log rows,
  // drops the rest. Cheap when nothing changed.
  Status refresh(std::span<const std::byte> bytes);
  // Memory no longer follows storage (a roll-back to a savepoint): refresh() comes before any other
  // call.
  void forget() noexcept;
  bool usable() const noexcept { return valid_ && !poison_.poisoned(); }
  bool poisoned() const noexcept { return poison_.poisoned(); }

  // Writes all that is pending; nothing when nothing is.
  bool pending() const noexcept { return dirty_ || waits(); }
  Status flush();
  // What flush() would write goes to another storage, and stays pending here. The record is written
  // in any case.
  Status write_pending_to(FilterStorage& storage) const;
  // At the end of a transaction that folded: folds the remainder too.
  Status fold_rest();
  // The transaction's end: what is flushed is durable now, or everything since its start is gone.
  void committed() noexcept {
    folded_in_transaction_ = base_changed_ = false;
    set_next_work();
  }
  void rolled_back() noexcept {
    forget();
    base_changed_ = false;
  }

  // usable() is a precondition of all below.
  Status load(uint64_t hash) { return pages_.load(hash, record_); }  // the hash's pages
  Status load_pages(std::span<const uint64_t> indexes) { return pages_.load(indexes, record_); }
  using Answer = Filter::Answer;
  // kNotLoaded: load() it and ask again.
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    if (!ready_) [[unlikely]] {
      get_ready();
    }
    return probe_ready(hash);
  }
  // Loads the hash's pages if they are needed.
  Result<bool> load_and_probe(uint64_t hash);
  // These two need the hash's pages in memory.
  bool contains(uint64_t hash) { return probe(hash) == Answer::kPresent; }
  uint64_t count(uint64_t hash);

  Status insert(uint64_t hash);
  // The same; but to a set whose pages are all in memory the add may wait, and a multiset's pages
  // may lag behind what is folded. Whatever is called behind it, but for another one, probe() and
  // what asks by it, pending(), flush(), fold() and forget(), needs settle() first.
  Status insert_soon(uint64_t hash);
  // insert_soon() where that needs nothing but memory and can't fail otherwise; else false, and
  // nothing was done.
  [[gnu::always_inline]] bool insert_at_once(uint64_t hash) {
    if (!plain_adds_ || work_due() || items() >= item_limit_) {
      return false;
    }
    append_add(hash);
    return true;
  }
  // What waits is added (I8), and the pages are up to date. When memory runs out (std::bad_alloc)
  // all of it still waits, or is to be stored; what was added already is found then.
  void settle();
  // One occurrence; false when it is definitely absent. Loads the pages itself. Multisets only.
  Result<bool> remove(uint64_t hash);
  // What becomes of a hash that is present, or seems to be.
  enum class IfPresent {
    kAdd,     // it is there once more
    kLeave,   // it is left as it is
    kRefuse,  // nothing changes
  };
  // False: it is present, and was not added. Loads the pages itself.
  Result<bool> insert_new(uint64_t hash);
  enum class Replaced { kDone, kNoSuch, kRefused };
  // One occurrence of `from` becomes one of `to`. Whether `to` is present is told without it.
  Result<Replaced> replace(uint64_t from, uint64_t to, IfPresent if_present = IfPresent::kAdd);
  // One item that goes into the pages at once (core/stored/pair_filter.hpp): for a filter without a
  // log, whose pages are in memory. Equal words, equal changes.
  Status insert_unlogged(std::span<const uint64_t> words,
                         const std::function<void(Filter&)>& insert);
  Status clear();
  // With hashes: a new epoch from the log, for at least `capacity` items and never fewer than
  // there are.
  Status rebuild(uint64_t capacity);
  // Adds all of another filter of the same kind, geometry and page size, whose hashes are not
  // known. Without hashes of its own, or empty. kFull of a cuckoo filter comes before any work.
  Status unite(const Filter& other, uint64_t items);
  // Could so many items be added? kFull if not; a set says it when they are.
  Status expect_room(uint64_t items) const;
  // Everything is replaced: contents, geometry and options.
  Status import(const FilterOptions& options, FilterContents contents);
  // A copy as it is now, tail included, and its hashes if they are asked for. In memory only; the
  // hashes are read from this filter's storage, so before the filter changes. With hashes, or if
  // the tail would make it too full, it is made anew from them, which repairs as a rebuild does.
  Result<FilterContents> contents(bool with_hashes);
  // The hashes alone; as there, read from storage. kInvalid when it keeps none.
  Result<HashSource> hashes();
  // Its mark as it is now (core/stored/mark.hpp). None in an older format, in a sliding window, in
  // a filter of pairs, and where contents came without hashes and without a mark.
  Result<std::optional<FilterMark>> mark();
  // What was added and removed since then. kInvalid when that was never its mark, or its log
  // doesn't go back to it.
  Result<FilterChanges> changes_since(const FilterMark& from);
  // Its mark was the changes' first one and is their second one; false: it was that already.
  // kInvalid with any other, kFull when it can't hold what they leave: nothing was changed.
  Result<bool> apply(const FilterChanges& changes);
  // Erases its rows; the filter is fit for nothing but destruction afterwards.
  Status erase_epoch();
  // Folds what is in the tail.
  Status fold();
  // Everything in storage against every invariant and counter. Nothing may be pending:
  // FilterWindow::check() does without that.
  Status check();

  // Keys of these types are among those added; once known they stay until clear() or import().
  // Nothing in a table of format 1.
  void note_key_types(uint64_t types) noexcept {
    if (options_.format > 1 && (types & ~record_.key_types) != 0) {
      record_.key_types |= types;
      dirty_ = true;
    }
  }
  uint64_t key_types() const noexcept { return record_.key_types; }

  uint64_t items() const noexcept { return tail_.items(); }
  uint64_t capacity() const noexcept { return record_.capacity; }
  const Filter& base() const noexcept { return pages_.filter(); }
  bool keeps_hashes() const noexcept { return options_.growth && record_.hashless == 0; }
  bool multiset() const noexcept { return options_.multiset(); }
  // The false positive rate that was asked for, and the estimate as it is now.
  double target_rate() const noexcept;
  double rate_now() const noexcept;
  double load_factor() const noexcept;
  uint64_t log_entries() const noexcept { return tail_.position() - record_.start_position; }
  uint64_t tail_entries() const noexcept { return tail_.position() - record_.fold_position; }
  uint64_t fold_threshold() const noexcept { return fold_threshold_; }
  size_t memory_bytes() const noexcept;
  const FilterRecord& record() const noexcept { return record_; }
  // Rows in storage as of the last flush.
  uint64_t stored_rows() const noexcept {
    return record_.page_rows + (record_.end_row - record_.first_row);
  }

  // What stands in storage of other epochs, and how many rows that are, about.
  Result<EpochProgress> progress();
  Result<uint64_t> rows_of_other_epochs();

  // The newest generation of a window, with others before it: what stands of their epochs, all up
  // to this one, is not its own.
  void set_generation_before(uint64_t epoch) noexcept { first_own_epoch_ = epoch + 1; }
  // Of those next to the present one. What was made of the next one is lost.
  Status erase_other_epochs();
  // What stands of the next epoch is what steps leave there: they are made again. Not of an older
  // generation.
  Status check_next_epoch();

 private:
  // A tail takes 8 bytes an entry, or 24 when it is indexed, as a set's always is; and 6 of rows.
  static constexpr uint64_t kMaxBulkEntries = uint64_t{1} << 23;
  static constexpr uint64_t kMaxBulkSetEntries = uint64_t{1} << 20;

  // Which entries of the log.
  enum class Extent { kAll, kFolded };

  Status full_error() const;
  bool slot_per_item() const noexcept { return traits_of(options_.spec.kind).slot_per_item; }
  uint64_t item_limit() const noexcept;
  void set_limits() noexcept;

  [[gnu::always_inline]] Answer probe_ready(uint64_t hash) {
    if (tail_.net(hash) > 0) {
      return Answer::kPresent;
    }
    const Answer answer = pages_.probe(hash);
    if (tail_.pending_removes().empty()) [[likely]] {
      return answer;  // no branch on the answer: half of the time it would be mispredicted
    }
    if (answer != Answer::kPresent) {
      return answer;
    }
    return base().count(hash, tail_.pending_removes()) > 0 ? Answer::kPresent : Answer::kAbsent;
  }
  void get_ready();

  void put_back(uint64_t hash);
  Status insert_into_multiset(uint64_t hash);
  Status insert_into_set(uint64_t hash);
  void add_to_set(uint64_t hash, bool present);
  bool may_wait() const noexcept;
  bool waits() const noexcept { return !multiset() && !tail_.indexed(); }
  Status make_room();
  void append_add(uint64_t hash) {  // to a multiset
    ready_ = false;
    tail_.add(hash);
    dirty_ = true;
  }

  bool fold_due() const noexcept {
    return tail_entries() >= (folded_in_transaction_ ? bulk_threshold_ : fold_threshold_);
  }
  Status fold_soon();
  Status fold_into_pages(const NetEntries& entries);
  Status begin_fold();
  void finish_fold(const NetEntries::Applied& applied);
  bool folds_in_bulk();
  Status fold_in_bulk();
  void store_bulk();
  void close_bulk();
  void drop_bulk() noexcept {
    bulk_.reset();
    lags_ = false;
  }
  bool outgrown() const noexcept;
  bool must_compact() const noexcept;
  void note_fold() noexcept;
  bool work_due() const noexcept { return tail_entries() >= next_work_; }
  Status work();
  Status write_to(FilterStorage& storage, FilterRecord& record) const;
  Status forget_folded_log(FilterStorage& storage, FilterRecord& record) const;

  LogExtent log_extent(Extent which) const noexcept;
  Result<uint64_t> next_epoch() const;
  Status replay_into_epoch(uint64_t capacity, bool grow,
                           std::optional<LargeVector<uint64_t>> tail = std::nullopt);
  uint64_t capacity_for(uint64_t needed, uint64_t capacity, bool grow) const noexcept;
  uint64_t needed_capacity(const LogReplay& replay) const noexcept;
  bool compaction_due(uint64_t length, uint64_t dead) const noexcept;

  bool makes_steps() const noexcept;
  int64_t first_own_row() const noexcept;
  bool could_outgrow(uint64_t adds) const noexcept;
  uint64_t tail_growth();
  uint64_t next_capacity();
  uint64_t next_entries() const noexcept;
  bool compaction_was_due() const noexcept;
  bool compaction_waits() const noexcept;
  void set_steps() noexcept;
  void set_next_work() noexcept;
  void set_next_work_behind(uint64_t entries) noexcept;
  uint64_t steps_at(uint64_t entries) const noexcept;
  Status step();
  Result<std::unique_ptr<NextEpoch>> begin_next_epoch(const EpochProgress& progress,
                                                      FilterStorage& storage);
  Status make_step(uint64_t step);
  Result<std::unique_ptr<NextEpoch>> make_next_epoch(uint64_t step, const EpochProgress& progress);
  Status cut_over();
  Status become(NextEpoch& next, std::span<const uint64_t> tail, uint64_t items);
  Status write_epoch(FilterContents contents, uint64_t epoch, FilterBuilder* builder);
  Status write_hashes(const FilterContents& contents, FilterRecord& next, FilterBuilder* builder);
  Status replace_contents(const FilterOptions& options, FilterContents contents, uint64_t epoch);
  Status more_than_fit(uint64_t items) const;
  Result<uint64_t> unite_pages(const Filter& other, uint64_t items);
  // What a change of all pages left: its items, by how much the digest grew, and what stands for it
  // in base_id.
  struct ChangedPages {
    uint64_t items = 0;
    uint64_t digest = 0;
    uint64_t id = 0;
  };
  Status change_pages(const std::function<Result<ChangedPages>(Filter& base)>& change);
  FilterRecord empty_record(const Filter& base, uint64_t capacity, uint64_t epoch,
                            uint64_t chain) const noexcept;
  void adopt(const FilterRecord& record, std::unique_ptr<Filter> base) noexcept;
  void start_epoch(const FilterRecord& record, std::unique_ptr<Filter> base) noexcept;
  Result<std::unique_ptr<Filter>> copy_with_tail();
  Status expect_hashes() const;
  Result<std::shared_ptr<LogReplay>> replay_with_tail();
  Status remake(FilterContents& contents, bool outgrown);

  bool keeps_marks() const noexcept;
  bool follows(const FilterMark& mark) const noexcept;
  FilterMark own_mark() const noexcept;
  Result<std::optional<MarkedPlaces>> places();
  Status take_mark(const FilterMark& mark);
  using Entries = LargeVector<uint64_t>;
  Result<std::optional<Entries>> entries_behind(uint64_t position, uint64_t chain);
  Result<int64_t> row_of(uint64_t position);
  Status log_changes(const FilterChanges& changes);
  Status log_additions(const FilterChanges& changes);
  Status fold_changes(const FilterChanges& changes);

  Status check_places();
  Status check_log(uint64_t& digest);
  Status check_pages_against_log(const Filter& copy);
  Status check_tail(const Filter& copy);

  FilterOptions options_;
  FilterStorage& storage_;

  bool valid_ = false;       // tail_ and pages_ follow record_
  bool base_valid_ = false;  // pages_ are what storage holds for record_'s fold
  Poison poison_;            // I7
  bool dirty_ = false;       // something is not flushed, but for what waits
  bool folded_in_transaction_ = false;
  bool base_changed_ = false;  // in this transaction, also before the last roll-back to a savepoint

  FilterRecord record_;  // as stored, but for what is pending: see flush()
  StoredPages pages_;
  LogTail tail_;
  bool ready_ = false;  // for probe(): nothing waits, in tail_ or here, and the pages don't lag
  std::unique_ptr<BulkInserter> bulk_;  // of the base; from a fold until the next flush
  bool lags_ = false;                   // bulk_ has what the pages lack
  // Its next epoch may be made in steps, until the next fold; the one before may have to be erased,
  // as nothing was folded yet. Both follow from the record.
  bool makes_next_ = false;
  bool erases_old_ = false;
  std::unique_ptr<NextEpoch> next_;  // what of it is in memory; null: nothing
  uint64_t steps_ = 0;               // that were due here since the fold with this base_id
  uint64_t steps_of_ = 0;
  uint64_t next_work_ = 0;  // entries of the tail at which work() is due
  uint64_t fold_threshold_ = 0;
  uint64_t bulk_threshold_ = 0;  // instead, in a transaction that folded already
  uint64_t item_limit_ = 0;
  bool plain_adds_ = false;  // to a multiset: until that limit nothing is asked of the pages
  uint64_t first_own_epoch_ = kMaxEpoch + 1;  // where there are older generations
};

}  // namespace cuckoo
