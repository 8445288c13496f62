// The entries of a checkpoint's index in a slot cache, which never changes. Stores of one process
// whose entries are equal share one.
//
// Invariants
//   I1  of() gives equal entries once: it compares all entries, and does not rely on their hash.
//       There are three exceptions: an index that is being made or destroyed meanwhile, and one
//       whose hash a different index has that was there before.
//   I2  nothing of an index is written after its constructor, and it exists as long as a holder.
//
// Threads: any thread may call any function. A lock of the process is held while the list of shared
// indexes is read or written, but not while entries are. Fork: as SQLite's allocator, see
// core/base/shared_buffer.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "core/flash/slot_cache.hpp"
#include "core/flash/stored_index.hpp"

namespace cuckoo::core {

class LoadedIndex : public std::enable_shared_from_this<LoadedIndex> {
 public:
  // Returns the index of these entries, which ascend. O(entries).
  static std::shared_ptr<const LoadedIndex> of(const SlotCacheOptions& options,
                                               const FlashIndexEntries& entries);

  // Call of() instead.
  LoadedIndex(const SlotCacheOptions& options, const FlashIndexEntries& entries, uint64_t hash);
  ~LoadedIndex();
  LoadedIndex(const LoadedIndex&) = delete;
  LoadedIndex& operator=(const LoadedIndex&) = delete;

  const SlotCache& slots() const noexcept { return slots_; }

 private:
  SlotCache slots_;
  const uint64_t hash_;
  // The links of the list of shared indexes, under the lock of the process.
  LoadedIndex* next_ = nullptr;
  LoadedIndex** link_ = nullptr;  // the pointer to this one; null: not in the list
};

}  // namespace cuckoo::core
