// The tail of a filter's log: the entries that are not folded into its pages yet, and the rows they
// stand in, written or not.
//
// Entries are summed by their hash. The last adds may wait in a list: a multiset's until somebody
// asks (index()), which a bulk load never does, and the last of those are in no row before
// put_rows(): a load that makes its filter anew needs none. A set's until it is known whether they
// are new (LoggedFilter::settle()); they are in no row yet, and no items.
//
// Invariants
//   I1  when indexed(): net(hash) is the hash's adds minus its removes in the tail; for a set, 1
//       when it is there.
//   I2  when indexed(): pending_removes() of a cell is the number of removes in the tail, of all
//       hashes of that cell, that no add in the tail makes up for.
//   I3  items() is what the filter holds behind the tail's last entry; what waits in a set is none.
//   I4  rows have ascending ids without a gap. All but the last are full.
//   I5  when memory runs out (std::bad_alloc), the tail holds the entries that it held before.
//   I6  entries that stand in no row yet are never taken for written ones: position() and chain()
//       count them in, and write_to() refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/hash_tail.hpp"
#include "core/stored/log.hpp"
#include "core/stored/record.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

// What a fold does to the pages: hashes in ascending order, each as often as it is to be removed or
// added.
struct NetEntries {
  LargeVector<uint64_t> removes;
  LargeVector<uint64_t> adds;

  struct Applied {
    uint64_t present = 0;  // adds that found their cells there already
    uint64_t digest = 0;   // by which the filter's digest changed
  };
  Result<Applied> apply_to(Filter& filter) const;
};

// `base` is the filter whose pages the tail isn't in yet: it knows which cells a hash has.
class LogTail {
 public:
  explicit LogTail(const FilterOptions& options);

  // Empty, behind what the record says is folded.
  void start(const FilterRecord& record) noexcept;

  // Entries.
  bool indexed() const noexcept { return waiting_.empty(); }
  void index(const Filter& base);                                        // a multiset's
  int32_t net(uint64_t hash) const noexcept { return nets_.net(hash); }  // indexed()
  const PendingRemoves& pending_removes() const noexcept { return pending_removes_; }
  uint64_t removes() const noexcept { return removes_; }  // remove entries
  NetEntries net_entries(const Filter& base);
  uint64_t items() const noexcept { return items_; }

  // The adds that wait, in order: of a set, and of a multiset those that are not indexed. All of
  // them: nothing else is in the tail.
  bool all_waits() const noexcept { return nets_.empty(); }
  std::span<const uint64_t> waiting() const noexcept { return waiting_; }
  void wait(uint64_t hash);
  void forget_waiting() noexcept {
    waiting_.clear();
    unrowed_ = 0;
  }

  // To a multiset.
  void add(uint64_t hash) {
    if (unrowed_ >= most_unrowed_) {
      put_rows();
    }
    waiting_.push_back(hash);
    ++unrowed_;
    ++items_;
  }
  void add_to_set(uint64_t hash, bool is_new);     // is_new: it is one item more
  void remove(uint64_t hash, const Filter& base);  // from a multiset

  // Behind the last entry, in a row or not.
  uint64_t position() const noexcept { return row_position() + unrowed_; }
  uint64_t chain() const;

  // Rows. Of a multiset's adds put_rows() comes before all of these but last_row().
  // When memory runs out (std::bad_alloc) some of them are put.
  void put_rows();
  // From now on, until start(): a row at a time, while the adds are in the processor's cache.
  void put_rows_soon() noexcept { most_unrowed_ = row_entries(); }
  bool has_rows() const noexcept { return unrowed_ == 0; }
  uint64_t row_entries() const noexcept { return row_.capacity(); }  // of a full one
  int64_t last_row() const noexcept { return row_id_; }  // the one that is appended to: maybe empty
  uint64_t end_row() const noexcept {                    // the first id that no row has used
    return static_cast<uint64_t>(row_id_) + (row_.entries() > 0 ? 1 : 0);
  }
  // What is not written, to any storage. It counts as not written until note_written(). kInvalid,
  // and nothing is written, where rows are missing (I6).
  Status write_to(FilterStorage& storage) const;
  void note_written() noexcept;
  Status write(FilterStorage& storage) {
    CUCKOO_TRY(write_to(storage));
    note_written();
    return {};
  }
  // What is not written will never be: start() comes before any other call.
  void forget_unwritten() noexcept;
  // Applies the stored rows behind the last entry; the record says where they end. indexed() comes
  // before. After a failure the tail is fit for start() only.
  Status follow(FilterStorage& storage, const FilterRecord& record, const Filter& base);
  // The log's rows from that one on, in or before the tail, stored or not written yet.
  using Rows = std::map<int64_t, std::vector<std::byte>>;
  Result<Rows> rows_from(FilterStorage& storage, int64_t first) const;
  // All entries in log order, from storage or not written yet. What storage lost is told.
  Result<std::vector<uint64_t>> entries_in_order(FilterStorage& storage) const;

  size_t memory_bytes() const noexcept;

 private:
  struct FullRow {
    int64_t id;
    std::vector<std::byte> bytes;
    bool stored;
  };

  void apply(uint64_t entry, const Filter& base);
  void pend_remove(uint64_t hash, const Filter& base, bool more);
  // A place in a row for one more entry.
  void make_room() {
    if (row_.full()) [[unlikely]] {
      begin_row();
    }
  }
  void begin_row();
  uint64_t row_position() const noexcept { return row_.header().position + row_.entries(); }
  void append(uint64_t entry) noexcept {  // make_room() came before
    row_.append(entry);
    row_dirty_ = true;
  }
  Status take_items(uint64_t items);
  Status follow_row(int64_t id, std::span<const std::byte> bytes, const Filter& base);

  HashWidth width_;
  size_t row_bytes_;
  bool multiset_;

  HashTail nets_;
  LargeVector<uint64_t> waiting_;  // the last adds, in order, that are not in nets_ yet
  uint64_t unrowed_ = 0;           // so many of them, the last, are in no row yet: a multiset's
  uint64_t most_unrowed_ = UINT64_MAX;
  PendingRemoves pending_removes_;
  uint64_t removes_ = 0;
  uint64_t items_ = 0;

  int64_t first_row_ = 0;
  LogRowHeader first_;              // what the first row's header begins with
  std::vector<FullRow> unwritten_;  // full rows before the last one
  RawRowBuilder row_;               // the last one
  int64_t row_id_ = 0;
  bool row_stored_ = false;
  bool row_dirty_ = false;  // it has entries that storage lacks
};

}  // namespace cuckoo
