// What cuckoo::CuckooFilter and cuckoo::BloomFilter have in common: a set of keys in little memory.
// contains() answers "no", which is always right, or "yes", which is wrong at a rate that was asked
// for.
//
// Growth. A filter that grows takes any number of keys at its rate. It is made of segments, small
// filters for a share of the keys each, and a segment that gets full is split, whatever the size of
// the whole. For that it keeps the keys' hashes, compressed, beside the cells: 30 to 35 bits a key.
// One that does not grow has the cells alone, and says kFull.
//
// Hashes. Keys are hashed by XXH3 with the filter's seed, which is random unless it is given: so
// nobody who chooses keys can choose those that collide.
//
// Bytes. to_bytes() gives the image that filter_export() gives in SQL, and from_bytes() takes it,
// on any machine and of either side. It is read by every later version (docs/guarantees.md).
//
// Errors
//   kInvalid  an argument, or a filter that does not go with this one; nothing changed
//   kFull     no room; nothing changed, but for what add_all() says
//   kCorrupt  from_bytes(): the bytes are no image, or damaged
// Nothing throws but std::bad_alloc. If memory runs out in a change, what the filter held is lost:
// then contains() says yes to every key, as "no" might be wrong, and all else answers kCorrupt. A
// filter that was moved from, or made by no make(), holds nothing and takes nothing.
//
// Threads. Functions that are const may be called by many threads at once while none calls another.
//
// References: what contains() and the others return is a copy; nothing is invalidated.
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

// Anything that for (const auto& key : keys) goes through and that gives keys: a std::vector of
// strings or integers, an array, a view.
template <class Range>
concept KeyRange = std::ranges::input_range<const Range> &&
    std::constructible_from<Key, std::ranges::range_reference_t<const Range>>;

enum class SavedHashes : bool {
  kNo,   // the cells alone: a fourth of the bytes, but what reads them can't grow
  kYes,  // all of it
};

class MembershipFilter {
 public:
  // --- asking

  // Is the key there? False: it definitely is not. O(1), 10 to 100 ns.
  bool contains(const Key& key) const noexcept;
  // The same for each key, in their order. Several look-ups are under way at a time, so where the
  // filter is larger than the processor's cache this takes a part of the time.
  template <KeyRange Range>
  std::vector<bool> contains_each(const Range& keys) const;

  // How many keys it holds: adds less removes. A Bloom filter leaves out those that seemed present
  // when they came. O(1), as are all figures below unless they say other.
  uint64_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  // How many keys it is made for. It grows with them, if it grows.
  uint64_t capacity() const;
  bool grows() const noexcept;
  // The rate of wrong yeses that was asked for.
  double rate() const noexcept;
  // The rate as it is now, computed from the cells in use. O(segments).
  double rate_now() const;
  // The part of the cells that is in use, 0 to 1. O(segments).
  double load_factor() const;
  // All memory that it has taken. O(segments).
  size_t memory_bytes() const;
  uint64_t seed() const noexcept;

  // --- changing

  // Adds a key. kFull: it does not grow, and is full. O(1). If it grows, that is amortized: one add
  // in some thousands rebuilds a segment, which takes a millisecond.
  Status add(const Key& key);
  // Adds many at once. If it grows and they are many for its size, this takes a third of the time:
  // 4,096 are, and in a filter of tens of millions of keys 131,072.
  // kFull: a cuckoo filter took none of them, a Bloom filter took the first ones, as size() tells.
  template <KeyRange Range>
  Status add_all(const Range& keys);
  // Adds the key unless it seems present; says whether it was added. Of new keys a part as large as
  // rate() is not added, because each of them seems present.
  Result<bool> add_new(const Key& key);
  // Removes all keys. The filter is as make() made it.
  Status clear();

  // --- as bytes

  // An image of it. O(size() + segments). With hashes, if it has them: else from_bytes() gives one
  // that does not grow.
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
