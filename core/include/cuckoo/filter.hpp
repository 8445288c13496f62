// The common part of cuckoo::CuckooFilter and cuckoo::BloomFilter: a set of keys in little memory.
// contains() answers "no", which is always right, or "yes", which is wrong at a rate that you
// choose.
//
// Growth. A filter that grows takes any number of keys at its rate. It is made of segments, small
// filters for a share of the keys each. A segment that gets full is split, whatever the size of the
// whole filter. For that, the filter keeps the keys' hashes, compressed, beside the cells: 30 to 35
// bits a key. A filter that does not grow has only the cells, and returns kFull.
//
// Hashes. Keys are hashed by XXH3 with the filter's seed, which is random unless you give it. So an
// attacker can't choose keys that collide.
//
// Bytes. to_bytes() gives the image that filter_export() gives in SQL. from_bytes() takes an image
// of either, on any machine. Every later version reads it (docs/guarantees.md).
//
// Errors
//   kInvalid  an argument, or a filter that does not go with this one; nothing changed
//   kFull     no room; nothing changed, except what add_all() says
//   kCorrupt  from_bytes(): the bytes are no image, or damaged
// The functions throw only std::bad_alloc. If memory runs out in a change, the filter's contents
// are lost. Then contains() says yes to every key, because "no" might be wrong. Changes and
// to_bytes() return kCorrupt, count() returns 1, and the figures mean nothing. A filter that was
// moved from, or that neither make() nor from_bytes() made, is empty and refuses keys (kInvalid).
//
// Threads. Many threads may call const functions at once while none calls another function.
//
// References: contains() and the other functions return copies, so nothing is invalidated.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include <cuckoo/key.hpp>
#include <cuckoo/result.hpp>

namespace cuckoo {
class MemoryFilter;
}

namespace cuckoo {
inline namespace v1 {

// A range of keys, over which for (const auto& key : keys) can go: a std::vector of strings or
// integers, an array, a view.
template <class Range>
concept KeyRange = std::ranges::input_range<const Range> &&
    std::constructible_from<Key, std::ranges::range_reference_t<const Range>>;

enum class SavedHashes : bool {
  kNo,   // only the cells: a fourth of the bytes, but a filter made of them can't grow
  kYes,  // the cells and the hashes
};

class MembershipFilter {
 public:
  // --- asking

  // Returns whether the key is probably there. False: it definitely is not. O(1), 10 to 100 ns.
  bool contains(const Key& key) const noexcept;
  // Does the same for each key, in their order. Several look-ups are under way at a time. So it
  // takes less time if the filter is larger than the processor's cache.
  template <KeyRange Range>
  std::vector<bool> contains_each(const Range& keys) const;

  // Returns how many keys it holds: adds less removes. A Bloom filter leaves out keys that seemed
  // present when they came. O(1), as are all figures below unless they say something else.
  uint64_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  // Returns how many keys it is made for. The number grows if the filter does.
  uint64_t capacity() const;
  bool grows() const noexcept;
  // Returns the rate of wrong yeses that was asked for.
  double rate() const noexcept;
  // Returns the rate as it is now, computed from the cells in use. O(segments).
  double rate_now() const;
  // Returns the part of the cells that is in use, 0 to 1. O(segments).
  double load_factor() const;
  // Returns the bytes of all memory that it has taken. O(segments).
  size_t memory_bytes() const;
  uint64_t seed() const noexcept;
  // Returns how many keys are in both filters, each counted once. The other one may be of another
  // class, size and rate. kInvalid: one of them keeps no hashes, as it does not grow, or they have
  // different seeds. O(size of both).
  Result<uint64_t> overlap(const MembershipFilter& other) const;

  // --- changing

  // Adds a key. kFull: it does not grow, and is full. O(1). If it grows, that is amortized: one add
  // in some thousands rebuilds a segment, which takes a millisecond.
  Status add(const Key& key);
  // Adds many keys at once. If the filter grows and the keys are many for its size, this takes a
  // third of the time: 4,096 are many, and 131,072 in a filter of tens of millions of keys.
  // kFull: a cuckoo filter took none of them, a Bloom filter took the first ones, as size() tells.
  template <KeyRange Range>
  Status add_all(const Range& keys);
  // Adds the key unless it seems present. Returns whether it was added. Some new keys are not
  // added, because they seem present: a part of them as large as rate().
  Result<bool> add_new(const Key& key);
  // Removes all keys. Afterwards the filter is as make() made it.
  Status clear();

  // --- as bytes

  // Returns an image of it. O(size() + segments). kYes adds the hashes, if it has them. Without
  // them from_bytes() gives a filter that does not grow.
  Result<std::vector<std::byte>> to_bytes(SavedHashes hashes = SavedHashes::kYes) const;

 protected:
  MembershipFilter() noexcept;
  explicit MembershipFilter(std::unique_ptr<MemoryFilter>&& filter) noexcept;
  MembershipFilter(MembershipFilter&&) noexcept;
  MembershipFilter& operator=(MembershipFilter&&) noexcept;
  ~MembershipFilter();

  Result<MemoryFilter*> held();
  Status merge_from(const MembershipFilter& other);

  std::unique_ptr<MemoryFilter> filter_;

 private:
  static constexpr size_t kHashesAtOnce = 1024;

  void contains_hashes(std::span<const uint64_t> hashes, std::vector<bool>& found) const;
  Status add_hashes(std::span<const uint64_t> hashes, uint64_t types);
};

template <KeyRange Range>
std::vector<bool> MembershipFilter::contains_each(const Range& keys) const {
  std::vector<bool> found;
  if constexpr (std::ranges::sized_range<const Range>) {
    found.reserve(static_cast<size_t>(std::ranges::size(keys)));
  }
  std::array<uint64_t, kHashesAtOnce> hashes;
  const uint64_t seed = this->seed();
  size_t count = 0;
  for (auto&& key : keys) {
    hashes[count++] = Key(key).hash(seed);
    if (count == hashes.size()) {
      contains_hashes(hashes, found);
      count = 0;
    }
  }
  contains_hashes(std::span(hashes).first(count), found);
  return found;
}

template <KeyRange Range>
Status MembershipFilter::add_all(const Range& keys) {
  std::vector<uint64_t> hashes;
  if constexpr (std::ranges::sized_range<const Range>) {
    hashes.reserve(static_cast<size_t>(std::ranges::size(keys)));
  }
  const uint64_t seed = this->seed();
  uint64_t types = 0;
  for (auto&& key : keys) {
    const Key made(key);
    types |= made.types();
    hashes.push_back(made.hash(seed));
  }
  return add_hashes(hashes, types);
}

}  // namespace v1
}  // namespace cuckoo
