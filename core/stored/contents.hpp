// A whole filter in memory with what is known of its keys: what an import puts into a table, what
// an export takes out, and what a column of keys becomes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/filter/filter.hpp"
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
  const std::unique_ptr<FilterBuilder> builder = filter.builder(hash_count);
  CUCKOO_TRY(hashes([&](uint64_t hash, uint64_t count) -> Status {
    builder->insert(hash, count);
    return {};
  }));
  builder->finish();
  return {};
}

// Are the contents' hashes what its filter was made of? kCorrupt if not.
Status verify_hashes(const FilterContents& contents);

// Collects the hashes of keys and makes a filter of them. Memory: 8 bytes a hash, as much again
// while they are sorted. They stand in parts, so that few are copied when more come.
class HashCollection {
 public:
  explicit HashCollection(HashWidth width) noexcept : width_(width) {}

  void add(uint64_t hash) {
    if (last_.size() >= kPartHashes) {
      finish_part();
    }
    last_.push_back(logged_hash(hash, width_));
  }
  HashWidth width() const noexcept { return width_; }
  void make_unique();  // each hash once

  enum class Growth { kOff, kOn };
  // A filter of that capacity; 0: for as many as there are. kFull when there are more, and with
  // kOn it is made for those. The contents' hashes are read from this collection: it must stay.
  Result<FilterContents> build(const FilterSpec& spec, uint64_t capacity, Growth growth,
                               uint32_t page_bytes, const Poll& poll = nullptr);

 private:
  static constexpr size_t kPartHashes = size_t{1} << 19;  // 4 MB

  void finish_part();
  void sort();  // all into last_
  // Ascending distinct hashes with their counts, until the visitor fails. Sorted before.
  template <class Visitor>
  Status for_each_distinct(Visitor&& visit) const;

  HashWidth width_;
  std::vector<LargeVector<uint64_t>> parts_;  // before the last one
  LargeVector<uint64_t> last_;
};

}  // namespace cuckoo
