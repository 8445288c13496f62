// Sums the adds and removes of each hash, in their order.
//
// For example, a hash is removed, and then added. If it was there once, it is there once again. If
// it was never there, the remove took the cell of another hash, and now it is there once. A plain
// sum would say 0 for that, and the hash would be lost. So the removes that no add comes before are
// counted apart: they are `removed`, and the adds that no remove took back are `added`.
//
// Invariants
//   I1  n occurrences become max(0, n - removed) + added.
//   I2  added - removed is the sum: by so much the hash's cells change.
//   I3  a hash has two entries at most, the removes first. Taken in that order, they make up the
//       same sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cuckoo::segments {

inline constexpr int64_t kMostNet = (int64_t{1} << 61) - 1;

// An entry of one hash in a run.
struct NetHash {
  uint64_t hash = 0;
  int64_t net = 0;  // not 0, from -kMostNet to kMostNet: added, or removed below zero

  friend bool operator==(const NetHash&, const NetHash&) = default;
};

class HashSums {
 public:
  // `multiset`: hashes count. In a set each is there once, and nothing is removed.
  explicit HashSums(bool multiset) noexcept : multiset_(multiset) {}

  void reserve(size_t hashes) { sums_.reserve(hashes); }
  // The hash is not below those that came before, and its net is as that of a NetHash.
  void add(uint64_t hash, int64_t net) {
    if (sums_.empty() || sums_.back().hash != hash) [[likely]] {
      sums_.push_back({hash, multiset_ ? net : 1});
    } else if (multiset_) {
      add_again(hash, net);
    }
  }
  bool fits() const noexcept { return fits_; }  // no sum is beyond kMostNet
  std::vector<NetHash> take() noexcept { return std::move(sums_); }

 private:
  void add_again(uint64_t hash, int64_t net) {
    if (net < 0 && sums_.back().net > 0) {
      const int64_t taken_back = std::min(sums_.back().net, -net);
      sums_.back().net -= taken_back;
      net += taken_back;
      if (sums_.back().net == 0) {
        sums_.pop_back();
      }
      if (net == 0) {
        return;
      }
    }
    if (sums_.empty() || sums_.back().hash != hash || (sums_.back().net < 0 && net > 0)) {
      sums_.push_back({hash, net});
      return;
    }
    const int64_t sum = sums_.back().net + net;  // both are at most kMostNet, and of one sign
    fits_ = fits_ && sum <= kMostNet && sum >= -kMostNet;
    sums_.back().net = std::clamp(sum, -kMostNet, kMostNet);
  }

  bool multiset_;
  bool fits_ = true;
  std::vector<NetHash> sums_;
};

}  // namespace cuckoo::segments
