// The entries (position, hash) of a store's index, as a mount found them on the device. They never
// change. Stores of one process whose entries are equal share one LoadedIndex.
//
// The entries are a list at first, sorted by position. A store that searches it more than a few
// times calls slots(). This puts the entries into a slot cache, once for all stores that share
// them. The list is freed together with the last view that still has it.
//
// Invariants
//   I1  a view has either the list or the slots, and both have the same entries. The list ascends.
//   I2  share() gives equal entries once: it compares all entries, and does not rely on their hash.
//       There are two exceptions. An index that is just being destroyed is not shared any more. An
//       index is not shared either if a different one with the same hash is already there.
//   I3  the list and the slots of a view are never written, and exist as long as the view.
//
// Threads: any thread may call any function. A lock of the process is held while the list of shared
// indexes is read or written, and a lock of the index while a pointer is copied. No lock is held
// while entries are read. Fork: as SQLite's allocator, see core/base/shared_buffer.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/flash/slot_cache.hpp"

namespace cuckoo::core {

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

  // Returns an equal index that another store of this process has. If there is none, returns `own`,
  // and shares it from now on. Only the caller has `own`, and it is a list. O(entries).
  static std::shared_ptr<LoadedIndex> share(const std::shared_ptr<LoadedIndex>& own);

  // One of the two; the other is null.
  struct View {
    std::shared_ptr<const Entries> list;
    std::shared_ptr<const SlotCache> slots;
  };
  View view() const;
  // Fills the slots first, if the entries are a list. std::bad_alloc: nothing changed.
  std::shared_ptr<const SlotCache> slots();

  size_t size() const noexcept { return size_; }

 private:
  bool equals(const Entries& list) const;

  const SlotCacheOptions options_;
  const size_t size_;
  // The links of the list of shared indexes, under the lock of the process.
  uint64_t hash_ = 0;
  LoadedIndex* next_ = nullptr;
  LoadedIndex** link_ = nullptr;  // the pointer to this one; null: not in the list

  mutable std::mutex mutex_;
  View view_;
};

}  // namespace cuckoo::core
