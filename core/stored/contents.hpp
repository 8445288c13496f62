// A whole filter in memory with what is known of its keys: what an import puts into a table, what
// an export takes out, and what a column of keys becomes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/hash_sort.hpp"
#include "core/stored/log.hpp"
#include "core/stored/mark.hpp"

namespace cuckoo {

struct FilterContents {
  std::unique_ptr<Filter> filter;
  uint64_t capacity = 0;
  uint64_t items = 0;
  HashSource hashes;  // null where they are not known
  uint64_t hash_count = 0;
  uint64_t key_types = 0;          // FilterRecord's
  std::optional<FilterMark> mark;  // whose contents they are, all of them
};

// Do both hold the same in all cells? Of one kind, geometry and page size; absent pages are zero.
bool equal_cells(const Filter& a, const Filter& b) noexcept;

// Puts all of the hashes, about so many, into an empty filter that becomes complete with them.
template <class Source>  // as HashSource
Status fill(Filter& filter, uint64_t hash_count, Source&& hashes) {
  filter.pages().complete();
  const std::unique_ptr<FilterBuilder> builder = filter.builder(hash_count, Filter::Digest::kNone);
  CUCKOO_TRY(hashes([&](uint64_t hash, uint64_t count) -> Status {
    builder->insert(hash, count);
    return {};
  }));
  builder->finish();
  return {};
}

// Are the contents' hashes what its filter was made of? kCorrupt if not. They are read once.
Status verify_hashes(const FilterContents& contents);

// The same hashes, with a poll every few of them.
HashSource polled(HashSource hashes, Poll poll);

// What a collection holds.
struct HashCounts {
  uint64_t items = 0;     // with all copies
  uint64_t distinct = 0;  // hashes
  uint64_t entries = 0;   // the places they take where each item takes a slot

  // The capacity of a filter of that kind that holds them all.
  uint64_t capacity(FilterKind kind) const noexcept {
    return std::max<uint64_t>(traits_of(kind).slot_per_item ? entries : distinct, 1);
  }
};

// Collects the hashes of keys and makes a filter of them. Memory: 8 bytes a hash, and some 10 MB
// where they are many; as much again where most of them are equal, and while make_unique() and
// compact() run; 24 bytes a hash that comes with many copies at once, however many. They stand in
// parts, so that few are copied when more come.
class HashCollection {
 public:
  explicit HashCollection(HashWidth width) noexcept : width_(width) {}

  void add(uint64_t hash) {
    if (last_.size() >= kPartHashes) {
      finish_part();
    }
    sorted_ = false;
    last_.push_back(logged_hash(hash, width_));
  }
  // So many copies, 1 or more. The sum of all items is the caller's care: it stays below 2^63.
  void add(uint64_t hash, uint64_t copies);
  HashWidth width() const noexcept { return width_; }
  // All of them, and those to come, lose their last bits. To no more than the width.
  void narrow(HashWidth width);
  void make_unique();  // each hash once
  // The copies of a hash take the place of at most three, or are dropped.
  Status compact(bool with_copies, const Poll& poll);
  // Hashes and copies as they are kept: 8 bytes each.
  uint64_t words() const noexcept;

  Result<HashCounts> count(const Poll& poll = nullptr);
  // What count() or build() sorted, until something is added. A set's hashes come once each.
  HashSource hashes(bool with_copies) const;

  enum class Growth { kOff, kOn };
  // A filter of that capacity; 0: for as many as there are. kFull when there are more, and with
  // kOn it is made for those. The contents' hashes are read from this collection: it must stay.
  Result<FilterContents> build(const FilterSpec& spec, uint64_t capacity, Growth growth,
                               uint32_t page_bytes, const Poll& poll = nullptr);

 private:
  static constexpr size_t kPartHashes = size_t{1} << 19;  // 4 MB

  static constexpr uint64_t kMostWords = 3;  // of one hash when its copies come at once

  struct Copies {
    uint64_t hash;
    uint64_t count;
  };

  void finish_part();
  void finish_parts();            // all are in parts_ or in last_
  Status sort(const Poll& poll);  // and so they are then; each hash of more_ once
  // Ascending distinct hashes with their counts, until the visitor fails. Sorted before.
  template <class Visitor>
  Status for_each_distinct(Visitor&& visit) const;

  HashWidth width_;
  HashParts parts_;  // before the last one
  LargeVector<uint64_t> last_;
  std::vector<Copies> more_;  // of hashes above, in addition
  bool sorted_ = true;
  std::optional<HashCounts> counts_;  // of what is sorted, if it was counted
};

}  // namespace cuckoo
