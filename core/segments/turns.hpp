// When the segments of a filter are folded, and what becomes of one then. How it is folded is in
// core/segments/segment.hpp.
//
// When more than T / 2 entries pend for each segment, it is the turn of the segment of which an
// entry pends longest: finish() folds it. So each is folded after T entries of its own or so. If it
// is too full then, or much of its runs is dead, it is made anew, larger or as several, and no
// other segment changes. So a transaction of k rows does O(k) work, and the folding of one segment
// for each T of them, whatever the size of the filter.
//
// After a transaction has made a segment anew, it stops folding, unless more than 5/4 of the due
// entries are pending. The next transactions fold the rest. So it has no long commit when many get
// full at a time.
//
// A transaction that adds much is a load: its entries pend until its end, or until they take too
// much memory. Then fold_all() folds each segment once. One that gets too full is cut into as many
// as it takes. A load of more entries than the log keeps (I2) writes none of them to the log, which
// begins anew.
//
// Invariants
//   I1  whose turn it is follows from the pending entries, and whether a transaction is a load from
//       its own: never from time, or from what was asked.
//   I2  the log keeps the last R entries, unless it began anew behind them. R is S·T for S
//       segments, and with hashes at least a sixteenth of the items or of the capacity. Of the
//       first 2^18, and in a window of all, it is a quarter: so a mark of the recent past leads
//       somewhere, also in a young filter, and the log takes a constant share of a large one.
//   I3  at most 2^22 entries pend: 64 MB in memory.
//   I4  a failure after a segment began to change poisons the filter. After another failure nothing
//       changed, except that some entries may now be applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/filter_blocks.hpp"
#include "core/segments/segment.hpp"
#include "core/stored/poison.hpp"

namespace cuckoo::segments {

class Turns {
 public:
  // The blocks must stay where they are.
  explicit Turns(FilterBlocks& blocks) noexcept : blocks_(blocks) {}

  // A transaction begins, or goes on after a roll-back to a savepoint.
  void begin() noexcept {
    appended_ = 0;
    loading_ = false;
  }
  bool loading() const noexcept { return loading_; }

  // Comes before an entry is appended, and does what is due (I3). A filter that settles after each
  // change has no long lists.
  Status make_way() {
    if (appended_ > 0 && blocks_.directory().pending_entries() >= kMostPending) [[unlikely]] {
      return fold_all();
    }
    loading_ = loading_ || is_load(appended_);
    return {};
  }
  // Is a transaction of so many entries a load?
  bool is_load(uint64_t entries) const noexcept {
    return entries >= kFewestLoadEntries &&
           entries >= 2 * blocks_.directory().size() * blocks_.turn_entries();
  }
  // As that of FilterBlocks.
  void append(uint64_t entry, uint64_t copies = 1) {
    blocks_.append(entry, copies);
    ++appended_;
  }

  // Comes at the transaction's end: folds the segments whose turn it is, or what a load left. Does
  // nothing if no entry was appended since begin().
  Status finish();
  // Folds the segment of that leaf, or makes it anew.
  Status fold(size_t index);
  // … of the leaf of which an entry pends longest. There is one.
  Status fold_oldest();
  // Nothing is pending afterwards.
  Status fold_all();

  // Applies the list of that leaf, of a filter that is never flushed, and folds it if that is due
  // for its segment alone.
  Status settle(size_t index);

  uint64_t kept_entries() const;  // R
  // Nothing is pending. The entries of a large load would be erased soon: they are not written, and
  // the log begins anew.
  void restart_long_log();

 private:
  // When more pend, it is a segment's turn.
  uint64_t due() const noexcept {
    return (blocks_.directory().size() + 1) * blocks_.turn_entries() / 2;
  }

  static constexpr uint64_t kFewestLoadEntries = 16384;  // a transaction of more is a load
  static constexpr uint64_t kMostPending = uint64_t{1} << 22;

  Status remake(size_t index, std::vector<NetHash> sums, bool too_full);

  FilterBlocks& blocks_;
  uint64_t appended_ = 0;  // entries since begin()
  bool loading_ = false;   // no segment is folded in turn
};

}  // namespace cuckoo::segments
