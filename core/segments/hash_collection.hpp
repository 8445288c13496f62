// Collects the hashes of many keys, such as those of a column, to make a filter of them at once.
//
// Invariants
//   I1  the result of build() depends on the multiset of hashes alone, not on their order.
//   I2  the filter is cut as CREATE would cut one of that capacity (core/segments/filter_file.hpp).
//       So two of one capacity have the same segments. With growth, a segment that gets more keys
//       than its share is made larger, or split. Without growth, the copies that its cells don't
//       take go to its overflow table.
//
// Memory: 8 bytes a hash, and about 10 MB if they are many; as much again if most of them are
// equal, and while make_unique() and compact() run; 24 bytes for a hash that comes with many copies
// at once, however many. The hashes are kept in parts, so that few are copied when more come.
// Pieces are made one at a time, while their hashes are in the processor's cache.
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

// How much a hash collection holds.
struct HashCounts {
  uint64_t items = 0;     // with all copies
  uint64_t distinct = 0;  // hashes
  uint64_t entries = 0;   // slots they need where each item takes one; many copies count as one

  // Returns the capacity of a filter of that kind that holds them all.
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
  // Adds so many copies, 1 or more. The caller must keep the sum of all items below 2^62.
  void add(uint64_t hash, uint64_t copies);
  HashWidth width() const noexcept { return width_; }
  // Cuts all hashes, and those to come, to this width, which is at most the present one.
  void narrow(HashWidth width);
  void make_unique();  // each hash once
  // Makes the copies of a hash take the memory of at most three hashes, or drops them.
  Status compact(bool with_copies, const Poll& poll);
  // Returns how many words of 8 bytes the hashes and their copies take.
  uint64_t words() const noexcept;

  Result<HashCounts> count(const Poll& poll = nullptr);
  // Returns the hashes that count() or build() sorted. Valid until something is added. With copies,
  // each hash comes with its count; without, it counts once.
  HashSource hashes(bool with_copies) const;

  // Says how the filter is cut, and what happens if there are more keys than its capacity.
  enum class Growth {
    kOff,      // as with growth = off; kFull
    kOffRoom,  // likewise; it is made for all of them
    kOn,       // as with growth = on; it is made for all of them
  };
  enum class Hashes : bool { kLeftOut, kKept };
  // Makes a filter of that capacity; if it is 0, for as many keys as there are. The contents are
  // read from this collection when they are asked for, so it must stay as it is.
  Result<Contents> build(const FilterSpec& spec, uint64_t capacity, Growth growth,
                         uint32_t page_bytes, const Poll& poll = nullptr,
                         Hashes hashes = Hashes::kKept);

  // A piece that is not filled yet. Its prefix follows from the depths of the pieces before it.
  struct Cut {
    unsigned depth = 0;
    uint64_t capacity = 0;
    GeometryWords geometry;

    friend bool operator==(const Cut&, const Cut&) = default;
  };
  // Makes a filter as build() does, but of these pieces, however many hashes each gets.
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
  void finish_parts();            // then all hashes are in parts_, or all in last_
  Status sort(const Poll& poll);  // likewise, and they are sorted; each hash of more_ once
  // Visits distinct hashes with their counts, ascending, until the visitor fails. Needs sort().
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
  std::vector<Copies> more_;  // further copies of hashes above
  bool sorted_ = true;
  std::optional<HashCounts> counts_;  // of the sorted hashes, if they were counted
};

}  // namespace cuckoo::segments
