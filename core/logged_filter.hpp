// A deletable filter that lives in storage: base pages + a log of hashes + the log's tail in
// memory.
//
// Why a log: writing a filter's random pages at every commit is what makes filters on disk slow. An
// add or remove is appended to the log; the pages are brought up to date ("folded") only when the
// tail is long. The hashes that are kept also let the filter grow, shrink and repair itself
// exactly, without the keys.
//
// State                 log:  start ........ F ............ N        F: folded into the pages
//                                            |--- tail ---|         N: its end
// A hash is present when its own net count in the tail is above 0, or when the base counts more
// copies of its cell than the tail holds pending removes for that cell.
//
// Invariants
//   I1  never a false negative: a hash added more often than removed is present, unless somebody
//       removed a hash that was never added and shares its cell.
//   I2  a remove is accepted only if the hash is present; so pending removes of a cell never exceed
//       the base's count, and a fold never meets a remove without a fingerprint.
//   I3  items() = adds - accepted removes = what a fold would leave in base and overflow.
//   I4  storage after flush() holds all; memory is a cache of it: refresh() of the record rebuilds
//       it.
//   I5  what is folded when depends on the entries and the calls only, never on time: the same
//       calls give the same bytes.
//   I6  growth on: the log from its start folds to the base (equal digests) at any time.
//   I7  an operation that fails with kInvalid, kFull or kCorrupt changed nothing. After any other
//       failure in the middle of writing the filter is poisoned: every call fails until forget().
//
// Fold: removes first, then adds, each in hash order; when the tail holds fold_threshold() entries.
// A transaction that folded once adds much at once: there the tail may grow to as many entries as
// the filter has items, so that the pages are gone over few times, and what is left is folded at
// its end.
// Adds are put into the tail's index when somebody asks for it: a bulk load never does.
// Rebuild: the log is read, entries cancel in log order with a floor at zero (a remove that no add
// precedes was of a key never added: dropping it repairs what it broke), and a new generation of
// pages and a compacted log is written. A fold becomes a rebuild when the items outside the
// overflow table exceed the capacity (to 1.5 times those), or when more than half of the log is
// dead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/cuckoo_filter.hpp"
#include "core/filter_record.hpp"
#include "core/filter_storage.hpp"
#include "core/hash_log.hpp"
#include "core/hash_tail.hpp"
#include "core/log_replay.hpp"
#include "core/result.hpp"

namespace cuckoo {

// What CREATE chose; fixed for the table's life.
struct FilterOptions {
  uint64_t capacity = 1000;       // 1 … 2^40
  double rate = 0.001;            // 2^-30 … 0.25; without meaning when fingerprint_bits is set
  uint32_t fingerprint_bits = 0;  // 4 … 32, or 0: by rate
  bool growth = true;
  HashWidth width = HashWidth::k47Bits;
  uint64_t seed = 0;  // salts the checksums of the pages, starts the log's chain
  uint32_t page_bytes = 4032;
  uint64_t digest = 0;  // identifies the options in the record
};

class LoggedFilter {
 public:
  LoggedFilter(const FilterOptions& options, FilterStorage& storage);

  const FilterOptions& options() const noexcept { return options_; }

  // An empty filter, not yet flushed.
  Status create();
  // Brings memory to what that stored record says: keeps what is still valid, applies new log rows,
  // drops the rest. Cheap when nothing changed.
  Status refresh(std::span<const std::byte> bytes);
  // Memory no longer follows storage (a roll-back to a savepoint): refresh() comes before any other
  // call.
  void forget() noexcept;
  bool usable() const noexcept { return valid_ && !poisoned_; }

  // Writes all that is pending; nothing when nothing is.
  bool pending() const noexcept { return dirty_; }
  Status flush();
  // At the end of a transaction that folded: folds the remainder too.
  Status settle();
  // The transaction's end: what is flushed is durable now, or everything since its start is gone.
  void committed() noexcept { folded_in_transaction_ = base_changed_ = false; }
  void rolled_back() noexcept {
    forget();
    base_changed_ = false;
  }

  // usable() is a precondition of all below.
  Status load(uint64_t hash);  // the hash's two pages
  using Answer = CuckooFilter::Answer;
  // kNotLoaded: load() it and ask again.
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    if (!unindexed_.empty()) [[unlikely]] {
      index_tail();
    }
    if (!tail_.empty() && tail_.net(hash) > 0) {
      return Answer::kPresent;
    }
    const Answer answer = base_->probe(hash);
    if (pending_removes_.empty()) [[likely]] {
      return answer;  // no branch on the answer: half of the time it would be mispredicted
    }
    if (answer != Answer::kPresent) {
      return answer;
    }
    return base_->count(hash) > pending_removes(hash) ? Answer::kPresent : Answer::kAbsent;
  }
  // These two need the hash's pages in memory.
  bool contains(uint64_t hash) { return probe(hash) == Answer::kPresent; }
  uint64_t count(uint64_t hash);

  Status insert(uint64_t hash);
  // One occurrence; false when it is definitely absent. Loads the pages itself.
  Result<bool> remove(uint64_t hash);
  Status clear();
  // growth on: a new generation from the stored hashes, for at least `capacity` items and never
  // fewer than there are.
  Status rebuild(uint64_t capacity);
  // Everything in storage against every invariant and counter. Nothing may be pending.
  Status check();

  uint64_t items() const noexcept { return items_; }
  uint64_t capacity() const noexcept { return record_.capacity; }
  const CuckooGeometry& geometry() const noexcept { return base_->geometry(); }
  // The false positive rate that was asked for, and the estimate as it is now.
  double target_rate() const noexcept;
  double rate_now() const noexcept;
  double load_factor() const noexcept;
  uint64_t log_entries() const noexcept { return position() - record_.start_position; }
  uint64_t tail_entries() const noexcept { return position() - record_.fold_position; }
  uint64_t fold_threshold() const noexcept { return fold_threshold_; }
  size_t memory_bytes() const noexcept;
  const FilterRecord& record() const noexcept { return record_; }
  // Rows in storage as of the last flush.
  uint64_t stored_rows() const noexcept {
    return record_.page_rows + (record_.end_row - record_.first_row);
  }

 private:
  struct PendingRow {
    int64_t id;
    std::vector<std::byte> bytes;
    bool stored;
  };

  uint64_t position() const noexcept { return row_.header().position + row_.entries(); }
  uint64_t pending_removes(uint64_t hash) const noexcept;
  Status poison_error() const;
  int64_t page_id(uint64_t index) const noexcept;
  CuckooGeometry geometry_of(const FilterRecord& record) const noexcept;
  Result<CuckooGeometry> geometry_for(uint64_t capacity) const;
  uint64_t item_limit() const noexcept;
  void set_base(std::unique_ptr<CuckooFilter> base) noexcept;

  Status load_base(const FilterRecord& record);
  Status load_overflow(CuckooFilter& base, const FilterRecord& record);
  Status follow_log(const FilterRecord& record);
  Status follow_row(int64_t id, std::span<const std::byte> bytes);
  void reset_tail(const FilterRecord& record);
  void apply(uint64_t entry);
  void index_tail();
  void append(uint64_t entry);

  Status add_page(CuckooFilter& base, int64_t id, std::span<const std::byte> row) const;
  Status add_absent_pages(CuckooFilter& base) const;
  static void add_absent_pages(CuckooFilter& base, uint64_t hash);
  Status load_all();
  bool fold_due() const noexcept {
    return tail_entries() >= (folded_in_transaction_ ? bulk_threshold_ : fold_threshold_);
  }
  Status fold();
  Status fold_into_pages(const std::vector<uint64_t>& removes, const std::vector<uint64_t>& adds);
  bool must_grow(const std::vector<uint64_t>& removes, const std::vector<uint64_t>& adds) const;
  bool must_compact() const noexcept;
  void note_fold() noexcept;
  void start_row_behind_fold();
  Status write_rows();
  Status write_pages();

  LogExtent log_extent() const noexcept;
  Status write_generation(const LogReplay& replay, std::unique_ptr<CuckooFilter> base,
                          uint64_t capacity);
  Status erase_generation();

  Status check_log(uint64_t& digest);
  Status check_pages(CuckooFilter& copy);

  FilterOptions options_;
  FilterStorage& storage_;

  bool valid_ = false;       // tail_, row_, items_ and base_ follow record_
  bool base_valid_ = false;  // base_ is what storage holds for record_'s fold
  bool poisoned_ = false;    // I7
  bool dirty_ = false;       // something is not flushed
  bool folded_in_transaction_ = false;
  bool base_changed_ = false;  // in this transaction, also before the last roll-back to a savepoint

  FilterRecord record_;  // as stored, but for what is pending: see flush()
  std::unique_ptr<CuckooFilter> base_;
  bool all_loaded_ = false;  // every page of base_ is in memory
  uint64_t fold_threshold_ = 0;
  uint64_t bulk_threshold_ = 0;  // instead, in a transaction that folded already
  uint64_t item_limit_ = 0;

  HashTail tail_;
  std::vector<uint64_t> unindexed_;  // the last adds, in order, that are not in tail_ yet
  std::unordered_map<uint64_t, uint64_t> pending_removes_;  // cell -> removes in the tail
  uint64_t tail_removes_ = 0;                               // remove entries in the tail
  uint64_t items_ = 0;

  RawRowBuilder row_;  // the log's last row, id row_id_
  int64_t row_id_ = 0;
  bool row_stored_ = false;
  bool row_dirty_ = false;
  std::vector<PendingRow> pending_rows_;  // full rows before it that are not written yet
};

}  // namespace cuckoo
