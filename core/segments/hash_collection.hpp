// The hashes of many keys, from which a filter is made at once: what a column of keys becomes.
//
// Invariants
//   I1  what build() gives follows from the multiset of hashes alone, not from their order.
//   I2  the filter is cut as CREATE would cut one of that capacity (core/segments/filter_file.hpp).
//       So two of one capacity have the same segments. Where growth is on, a segment that gets more
//       keys than its share is made larger, or split; else what its cells don't take goes to its
//       overflow table.
//
// Memory: 8 bytes a hash, and some 10 MB where they are many; as much again where most of them are
// equal, and while make_unique() and compact() run; 24 bytes a hash that comes with many copies at
// once, however many. They stand in parts, so that few are copied when more come. Pieces are made
// one at a time, while their hashes are in the processor's cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/segments/contents.hpp"
#include "core/stored/hash_sort.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// What a hash collection holds.
struct HashCounts {
  uint64_t items = 0;     // with all copies
  uint64_t distinct = 0;  // hashes
  uint64_t entries = 0;   // the places they take where each item takes a slot

  // The capacity of a filter of that kind that holds them all.
  uint64_t capacity(FilterKind kind) const noexcept {
    return std::max<uint64_t>(traits_of(kind).slot_per_item ? entries : distinct, 1);
  }
};

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
  // So many copies, 1 or more. The sum of all items is the caller's care: it stays below 2^62.
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

  // How the filter is cut, and what becomes of more keys than its capacity.
  enum class Growth {
    kOff,      // as with growth = off; kFull
    kOffRoom,  // likewise; it is made for all of them
    kOn,       // as with growth = on; it is made for all of them
  };
  enum class Hashes : bool { kLeftOut, kKept };
  // A filter of that capacity; 0: for as many as there are. The contents are read from this
  // collection when they are asked for: it must stay as it is.
  Result<Contents> build(const FilterSpec& spec, uint64_t capacity, Growth growth,
                         uint32_t page_bytes, const Poll& poll = nullptr,
                         Hashes hashes = Hashes::kKept);

  // A piece that is not filled yet. Its prefix follows from the depths of those before.
  struct Cut {
    unsigned depth = 0;
    uint64_t capacity = 0;
    GeometryWords geometry;

    friend bool operator==(const Cut&, const Cut&) = default;
  };
  // A filter of these pieces, whatever they get, as from build().
  Result<Contents> build_like(FilterKind kind, const std::vector<Cut>& cuts, uint32_t page_bytes,
                              const Poll& poll = nullptr, Hashes hashes = Hashes::kKept);

 private:
  static constexpr size_t kPartHashes = size_t{1} << 19;  // 4 MB

  static constexpr uint64_t kMostWords = 3;  // of one hash when its copies come at once

  struct Copies {
    uint64_t hash;
    uint64_t count;
  };
  class PieceBuilder;

  void finish_part();
  void finish_parts();            // all are in parts_ or in last_
  Status sort(const Poll& poll);  // and so they are then; each hash of more_ once
  // Ascending distinct hashes with their counts, until the visitor fails. Sorted before.
  template <class Visitor>
  Status for_each_distinct(Visitor&& visit) const;
  Status split_full(const FilterSpec& spec, uint64_t limit, uint32_t page_bytes, const Poll& poll,
                    std::vector<Cut>& cuts) const;
  Result<std::vector<HashCounts>> count_pieces(const std::vector<Cut>& cuts,
                                               const Poll& poll) const;
  Contents contents(FilterKind kind, const std::vector<Cut>& cuts, uint32_t page_bytes,
                    const Poll& poll, Hashes hashes, const HashCounts& counts) const;

  HashWidth width_;
  HashParts parts_;  // before the last one
  LargeVector<uint64_t> last_;
  std::vector<Copies> more_;  // of hashes above, in addition
  bool sorted_ = true;
  std::optional<HashCounts> counts_;  // of what is sorted, if it was counted
};

}  // namespace cuckoo::segments
