// The entries of a segment that are in the log and not in its pages yet.
//
// They are kept in a list, in the order in which they came, until index() sums them by hash. A
// probe calls it; a load never probes. Further occurrences of an entry are kept in a list of their
// own, so that entries that count once, which are most, take no room for a count. Adds of a hash
// after a remove that no pending add precedes are rare, and are kept apart, too.
//
// Invariants
//   I1  when indexed(): net(hash) is the hash's adds minus its removes. added(hash) is the number
//       of its adds that no remove took back (core/segments/hash_sum.hpp). In a set both are 1 if
//       the hash is there.
//   I2  when indexed(): removes() of a cell is the number of pending removes, of all hashes of that
//       cell, that no pending add makes up for.
//   I3  if memory runs out (std::bad_alloc), it holds the entries that it held before.
//   I4  sorted() does not depend on whether index() was called: a probe changes no stored byte.
//   I5  uncounted adds are adds to a set of which it is not known yet whether they were present
//       when they came. While there are any, the list has no others. index() or sorted() probes for
//       each, and counts each different hash that is in no page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/segments/hash_sum.hpp"
#include "core/segments/run.hpp"
#include "core/stored/hash_tail.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// Returns the different hashes of the entries, ascending. They must have their first `depth` bits
// in common.
LargeVector<uint64_t> different_hashes(std::span<const uint64_t> entries, HashWidth width,
                                       unsigned depth);

// An entry is a logged hash, with the lowest bit set for a remove (core/stored/log_entry.hpp).
class Pending {
 public:
  explicit Pending(bool multiset) noexcept : multiset_(multiset) {}

  bool empty() const noexcept { return entries_ == 0; }
  uint64_t entries() const noexcept { return entries_; }
  int64_t items() const noexcept { return items_; }  // adds minus removes

  void expect(size_t entries) { list_.reserve(list_.size() + entries); }  // so many will come
  void append(uint64_t entry) {
    list_.push_back(entry);
    ++entries_;
    items_ += (entry & kRemoveBit) == 0 ? 1 : -1;
  }
  // Appends an entry of so many occurrences; in a set it counts once. Strong guarantee.
  void append(uint64_t entry, uint64_t copies) {
    if (copies == 1) [[likely]] {
      append(entry);
      return;
    }
    make_room_for_one(more_);
    append(entry);
    more_.push_back({list_.size() - 1, copies - 1});
    const auto more = static_cast<int64_t>(copies - 1);
    items_ += (entry & kRemoveBit) == 0 ? more : -more;
  }
  // Appends an add to a set, which index() or sorted() is to count. All pages of the filter must be
  // in memory until then.
  void append_uncounted(uint64_t hash) {  // indexed(), or there are uncounted ones already
    append(hash);
    uncounted_ = true;
  }
  bool uncounted() const noexcept { return uncounted_; }
  // Returns how many of the uncounted adds were not present, and forgets that number.
  uint64_t take_fresh() noexcept { return std::exchange(fresh_, 0); }
  bool indexed() const noexcept { return list_.empty(); }
  // `filter` knows which cells a hash of the segment has. Writes nothing when indexed().
  void index(const Filter& filter, unsigned depth);

  // Call these only if indexed().
  int64_t net(uint64_t hash) const noexcept { return nets_.net(hash); }
  uint64_t added(uint64_t hash) const noexcept {
    return static_cast<uint64_t>(sum(hash, nets_.net(hash)).added());
  }
  const PendingRemoves& removes() const noexcept { return removed_cells_; }

  // Returns how many different hashes the entries have.
  uint64_t hashes(HashWidth width, unsigned depth) const;

  // Returns all entries, ascending and summed by hash: one entry, two if the hash was removed
  // before it was added, or none. If the poll stops it, nothing has changed.
  Result<std::vector<NetHash>> sorted(HashWidth width, const Filter& filter, unsigned depth,
                                      const Poll& poll = nullptr);
  void clear() noexcept;
  size_t memory_bytes() const noexcept;

 private:
  HashSum sum(uint64_t hash, int64_t net) const noexcept {
    const int64_t again = added_again_.net(hash);
    const int64_t added = again > 0 ? again : std::max<int64_t>(net, 0);
    return {added - net, added};
  }
  void apply(uint64_t entry, uint64_t copies, const Filter& filter, unsigned depth);
  Result<std::vector<NetHash>> sorted_list(HashWidth width, unsigned depth, const Poll& poll) const;
  void pend_removes(uint64_t hash, const Filter& filter, unsigned depth, uint64_t more);

  bool multiset_;
  bool uncounted_ = false;  // I5
  uint64_t fresh_ = 0;
  uint64_t entries_ = 0;
  int64_t items_ = 0;
  LargeVector<uint64_t> list_;    // not in nets_ yet
  std::vector<MoreCopies> more_;  // of these, ascending
  HashTail nets_;
  HashTail added_again_;  // added(), where there is a remove that came before
  PendingRemoves removed_cells_;
};

}  // namespace cuckoo::segments
