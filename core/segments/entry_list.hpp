// A list of entries of the log, in their order. A segment has one, of its entries that are not
// folded yet. The log has one, of the entries that are in no stored row yet. Most entries count
// once. The counts of the others are kept beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/segments/hash_sum.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// An entry is a logged hash, with the lowest bit set for a remove (core/stored/log_entry.hpp).
class EntryList {
 public:
  EntryList() = default;
  EntryList(EntryList&&) noexcept = default;
  EntryList& operator=(EntryList&&) noexcept = default;
  EntryList(const EntryList& other)
      : body_(other.body_ != nullptr ? std::make_unique<Body>(*other.body_) : nullptr) {}
  EntryList& operator=(const EntryList& other) { return *this = EntryList(other); }
  ~EntryList() = default;

  bool empty() const noexcept { return size() == 0; }
  size_t size() const noexcept { return body_ != nullptr ? body_->entries.size() : 0; }
  uint64_t operator[](size_t index) const noexcept { return body_->entries[index]; }
  std::span<const uint64_t> entries() const noexcept {
    return body_ != nullptr ? std::span<const uint64_t>(body_->entries)
                            : std::span<const uint64_t>();
  }
  // The further occurrences of some entries, ascending.
  std::span<const MoreCopies> more() const noexcept {
    return body_ != nullptr ? std::span<const MoreCopies>(body_->more)
                            : std::span<const MoreCopies>();
  }
  int64_t items() const noexcept { return body_ != nullptr ? body_->items : 0; }  // adds - removes

  // If one of these throws, nothing has changed.
  void reserve(size_t entries) { body().entries.reserve(entries); }
  void append(uint64_t entry) {
    Body& to = body();
    to.entries.push_back(entry);
    to.items += (entry & kRemoveBit) == 0 ? 1 : -1;
  }
  void append(uint64_t entry, uint64_t copies) {
    if (copies == 1) [[likely]] {
      append(entry);
    } else {
      append_copies(entry, copies);
    }
  }
  void clear() noexcept;  // keeps the memory

  // Returns a hash of the list and of `seed`.
  uint64_t hash(uint64_t seed) const noexcept;
  // Does it begin with the first `count` entries of the other list, which has as many?
  bool begins_with(const EntryList& other, size_t count) const noexcept;
  size_t memory_bytes() const noexcept;

 private:
  // Beside the list, because a directory has a list for each leaf, and most are empty.
  struct Body {
    LargeVector<uint64_t> entries;
    std::vector<MoreCopies> more;
    int64_t items = 0;
  };

  Body& body() {
    if (body_ == nullptr) [[unlikely]] {
      body_ = std::make_unique<Body>();
    }
    return *body_;
  }
  void append_copies(uint64_t entry, uint64_t copies);

  std::unique_ptr<Body> body_;  // nullptr: nothing was appended
};

// Returns the first `count` entries of the list, ascending and summed by hash (HashSums). The
// hashes must have their first `depth` bits in common. kInterrupted: the poll stopped it.
Result<std::vector<NetHash>> sums_of(const EntryList& list, size_t count, HashWidth width,
                                     unsigned depth, bool multiset, const Poll& poll = nullptr);
// Returns the different hashes of the entries, ascending. They must have their first `depth` bits
// in common.
LargeVector<uint64_t> different_hashes(std::span<const uint64_t> entries, HashWidth width,
                                       unsigned depth);

}  // namespace cuckoo::segments
