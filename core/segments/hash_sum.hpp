// Sums the adds and removes of one hash, in their order.
//
// For example, a hash is removed, and then added. If it was there once, it is there once again. If
// it was never there, the remove took the cell of another hash, and now it is there once. A plain
// sum would say 0 for that, and the hash would be lost. So the removes that no add comes before are
// counted apart.
//
// Invariants
//   I1  n occurrences become max(0, n - removed()) + added().
//   I2  net() is the sum: by so much the hash's cells change.
//   I3  entries() gives two entries at most, the removes first. Taken in that order, they make up
//       the same sum.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cuckoo::segments {

inline constexpr int64_t kMostNet = (int64_t{1} << 61) - 1;

// An entry of one hash in a run, or in a list of pending changes.
struct NetHash {
  uint64_t hash = 0;
  int64_t net = 0;  // not 0, from -kMostNet to kMostNet: added, or removed below zero

  friend bool operator==(const NetHash&, const NetHash&) = default;
};

class HashSum {
 public:
  HashSum() = default;
  HashSum(int64_t removed, int64_t added) noexcept : removed_(removed), added_(added) {}

  int64_t removed() const noexcept { return removed_; }
  int64_t added() const noexcept { return added_; }
  int64_t net() const noexcept { return added_ - removed_; }
  bool both() const noexcept { return removed_ > 0 && added_ > 0; }
  bool fits() const noexcept { return removed_ <= kMostNet && added_ <= kMostNet; }

  // Takes so many adds or, below zero, removes. Two numbers of at most kMostNet never overflow.
  void take(int64_t net) noexcept {
    if (net >= 0) {
      added_ += net;
      return;
    }
    const int64_t of_added = std::min(added_, -net);
    added_ -= of_added;
    removed_ += -net - of_added;
  }

  template <class Sink>
  void entries(uint64_t hash, Sink&& sink) const {
    if (removed_ > 0) {
      sink(NetHash{hash, -removed_});
    }
    if (added_ > 0) {
      sink(NetHash{hash, added_});
    }
  }

 private:
  int64_t removed_ = 0;
  int64_t added_ = 0;
};

}  // namespace cuckoo::segments
