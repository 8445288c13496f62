// A hash table of a segment's pending entries (core/segments/pending.hpp): hash -> adds minus
// removes. Exact.
//
// Layout: open addressing, linear probing, two parallel arrays; a key is the hash with bit 0 set
// (logged hashes have it clear), 0 = free. The first slot is not the hash's leading bits, because a
// merge brings hashes in ascending order, and the first of them would crowd the first slots. One
// multiplication is not enough either, because some bits of the hash change the product only a
// little, whatever the salt is.
//
// Invariants
//   I1  at most half of the slots are used, so every probe ends.
//   I2  a key is there once; entries whose sum went back to zero stay until clear().
//   I3  at() throws (std::bad_alloc) only for a new hash, and then nothing has changed.
//   I4  a hash is within a few dozen slots of its first one, in whatever order hashes come, and
//       even if an attacker chose them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/large_memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/salt.hpp"

namespace cuckoo {

class HashTail {
 public:
  // Returns the adds minus the removes of that hash; 0 also if it was never seen.
  int64_t net(uint64_t hash) const noexcept {
    if (used_ == 0) {
      return 0;
    }
    const size_t i = find(hash);
    return keys_[i] == 0 ? 0 : nets_[i];
  }

  // Returns whether the hash was ever seen.
  bool has(uint64_t hash) const noexcept { return used_ != 0 && keys_[find(hash)] != 0; }

  // Returns the sum of that hash, for the caller to change. Adds it as 0 if it is not there.
  int64_t& at(uint64_t hash) {
    if (keys_.empty()) {
      grow();
    }
    size_t i = find(hash);
    if (keys_[i] != 0) {
      return nets_[i];
    }
    if (2 * (used_ + 1) > keys_.size()) {
      grow();
      i = find(hash);
    }
    keys_[i] = hash | 1;
    ++used_;
    return nets_[i];
  }

  // Fetches the memory that net() and at() will read. It is inlined, because GCC drops a call of a
  // function that only prefetches.
  [[gnu::always_inline]] void prefetch(uint64_t hash) const noexcept {
    if (!keys_.empty()) {
      const size_t i = slot(hash);
      __builtin_prefetch(&keys_[i], 1);
      __builtin_prefetch(&nets_[i], 1);
    }
  }

  // Returns how many slots of others a look-up passes.
  size_t distance(uint64_t hash) const noexcept {
    return keys_.empty() ? 0 : (find(hash) - slot(hash)) & mask_;
  }

  bool empty() const noexcept { return used_ == 0; }
  size_t size() const noexcept { return used_; }
  size_t memory_bytes() const noexcept {
    return keys_.size() * (sizeof(uint64_t) + sizeof(int64_t));
  }

  // Removes all hashes. Keeps the memory, unless the tail was very long.
  void clear() noexcept {
    constexpr size_t kMostKept = size_t{1} << 18;  // slots, 4 MB
    if (keys_.size() > kMostKept) {
      LargeVector<uint64_t>().swap(keys_);
      LargeVector<int64_t>().swap(nets_);
      used_ = 0;
    } else if (used_ != 0) {
      std::fill(keys_.begin(), keys_.end(), 0);
      std::fill(nets_.begin(), nets_.end(), 0);
      used_ = 0;
    }
  }

  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] != 0) {
        visitor(keys_[i] & ~uint64_t{1}, nets_[i]);
      }
    }
  }

 private:
  static constexpr size_t kFirstSlots = 64;

  size_t slot(uint64_t hash) const noexcept {  // also of its key
    return static_cast<size_t>(mix64((hash | 1) ^ salt_) >> shift_);
  }
  // Returns the hash's slot, or the free slot that it would take. There are slots.
  size_t find(uint64_t hash) const noexcept {
    size_t i = slot(hash);
    while (keys_[i] != 0 && keys_[i] != (hash | 1)) {
      i = (i + 1) & mask_;
    }
    return i;
  }

  void grow() {
    const size_t slots = std::max(kFirstSlots, keys_.size() * 2);
    LargeVector<uint64_t> keys(slots, 0);
    LargeVector<int64_t> nets(slots, 0);
    keys.swap(keys_);
    nets.swap(nets_);
    mask_ = slots - 1;
    shift_ = 64 - (static_cast<unsigned>(std::bit_width(slots)) - 1);
    for (size_t old = 0; old < keys.size(); ++old) {
      if (keys[old] == 0) {
        continue;
      }
      size_t i = slot(keys[old]);
      while (keys_[i] != 0) {
        i = (i + 1) & mask_;
      }
      keys_[i] = keys[old];
      nets_[i] = nets[old];
    }
  }

  LargeVector<uint64_t> keys_;
  LargeVector<int64_t> nets_;
  size_t used_ = 0;
  size_t mask_ = 0;
  unsigned shift_ = 63;
  uint64_t salt_ = process_salt();
};

}  // namespace cuckoo
