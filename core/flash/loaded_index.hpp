// What a store found on its device when it was mounted: the entries (position, hash) of its index,
// which never change. Stores of one process that found the same hold it once.
//
// It is a list at first, by position. Who searches it more than a few times asks for the slots: it
// is put into a slot cache then, once for all who hold it, and the list goes with the last reader
// that still has it.
//
// Invariants
//   I1  list and slots hold the same entries; one of them is there. The list ascends.
//   I2  of those that share() returned, no two have the same entries: all of them are compared, no
//       hash is believed. (One may stand aside while an equal one is just being let go.)
//   I3  what a LoadedIndex::View holds is never written, and stays as long as the view.
//
// Threads: any function in any thread. A lock of the process is held while a list of pointers is
// read or written, one of the index while a pointer is copied; never while entries are read.
// Fork: as SQLite's allocator, see core/base/shared_buffer.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/flash/slot_cache.hpp"

namespace cuckoo {

class LoadedIndex : public std::enable_shared_from_this<LoadedIndex> {
 public:
  // (position, hash); no position is there twice.
  using Entry = std::pair<uint32_t, uint32_t>;
  using Entries = std::vector<Entry>;

  // `entries` ascend.
  LoadedIndex(const SlotCacheOptions& options, Entries entries);
  ~LoadedIndex();
  LoadedIndex(const LoadedIndex&) = delete;
  LoadedIndex& operator=(const LoadedIndex&) = delete;

  // The one that a store of this process has already and that equals `own`; else `own`, for those
  // that come. `own` is the caller's alone, and a list. O(entries).
  static std::shared_ptr<LoadedIndex> share(const std::shared_ptr<LoadedIndex>& own);

  // One of both.
  struct View {
    std::shared_ptr<const Entries> list;
    std::shared_ptr<const SlotCache> slots;
  };
  View view() const;
  // std::bad_alloc: nothing changed.
  std::shared_ptr<const SlotCache> slots();

  size_t size() const noexcept { return size_; }

 private:
  bool equals(const Entries& list) const;

  const SlotCacheOptions options_;
  const size_t size_;
  // What is shared stands in a list of the process, under its lock.
  uint64_t hash_ = 0;
  LoadedIndex* next_ = nullptr;
  LoadedIndex** link_ = nullptr;  // what points to this one; null: not in the list

  mutable std::mutex mutex_;
  View view_;
};

}  // namespace cuckoo
