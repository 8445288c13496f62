// Says where in the log a key may be: a multimap of 32-bit key hashes to 32-bit positions, exact
// for the entries that it holds. Two keys may have one hash. So a position is a "probably" that
// only the key in the log confirms: n / 2^32 wrong positions per look-up at n entries.
//
// Layout
//   slot      hash (32 bits), position (32 bits, in program units, never 0); (0, 0): empty
//   bucket    `ways` slots; (2, 4) has buckets of 32 bytes, two to a cache line
//   stash     ordered set of hash·2^32 + position: the entries that found no slot
//   m = mix64(hash xor seed); m' = mix64(m + kGoldenStep)
//   bucket i = high(32 bits of m or m' · buckets). So there may be any number of buckets. A slot
//   has all that it takes to find its entry's buckets, so relocating and growing never read the
//   log.
//
// Invariants
//   I1  a slot is empty, both words 0, or its position is not 0. No stash entry's position is 0.
//   I2  an entry in a slot is in one of its `hashes` buckets.
//   I3  table_.occupied = slots that are not empty; size() = that + entries of the stash.
//   I4  no entry (hash, position) is there twice.
//   I5  an insert always succeeds, or throws and leaves all entries as they were. Entries move only
//       along a path that was found as a whole, from the free end backwards.
//
// Operations
//   find      `hashes` buckets, then the stash if there is any: 2 cache lines for (2, 4)
//   insert    first a free slot in a bucket; then the shortest relocation path, searched breadth
//             first over at most kMaxSearchNodes nodes; then, if the load is above 0.6 × the proved
//             limit of (hashes, ways), growth to 5/4; then the stash. An entry goes to the stash at
//             once if growth can't help it, because half of its slots hold its own hash, or the
//             stash does.
//   remove    O(1); a stash entry of the same hash takes the slot.
//   growth    fills a new array with the entries of the old one and of the stash. For example, an
//             entry that is in the second of its old buckets goes to the second of its new ones, if
//             there is room. Bucket numbers grow in proportion, so both arrays are gone through
//             from front to back.
// The shortest path visits no bucket twice, because without the part between two visits it would be
// shorter, and a breadth-first search would have found that path before. So every slot on it is
// moved once.
//
// Limits: 2^32 buckets; if a table of that size is full, entries go to the stash.
// Errors: std::bad_alloc; then the entries are the same as before.
// Reference: Fountoulakis, Khosla, Panagiotou: "The Multiple-Orientability Thresholds for Random
// Hypergraphs", SODA 2011 (the limits). Erlingsson, Manasse, McSherry: "A Cool and Practical
// Alternative to Traditional Hash Tables", WDAS 2006 (buckets with several ways).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/mix.hpp"
#include "core/base/result.hpp"

namespace cuckoo::core {

struct SlotCacheOptions {
  unsigned hashes = 2;  // buckets that an entry may be in: 2 … 4
  unsigned ways = 4;    // slots in a bucket: 1 … 8
  uint64_t seed = 0;    // random, so that an attacker can't choose keys that collide

  // Returns how full a table with these options gets, if it has more than a few buckets.
  double load_limit() const noexcept;
  friend bool operator==(const SlotCacheOptions&, const SlotCacheOptions&) = default;
};

class SlotCache {
 public:
  explicit SlotCache(const SlotCacheOptions& options);
  SlotCache copy() const;  // the same entries in the same slots
  SlotCache(SlotCache&&) noexcept =
      default;  // a moved-from cache can only be assigned or destroyed
  SlotCache& operator=(SlotCache&&) noexcept = default;

  // Calls visit(position) for every entry with exactly this hash, buckets before the stash, until
  // visit returns true. Returns whether it did. visit must not change the cache.
  template <class Visit>
  bool find(uint32_t hash, Visit&& visit) const;
  bool contains(uint32_t hash, uint32_t position) const noexcept;
  // Returns whether all of these (position, hash) are there.
  bool contains_all(std::span<const std::pair<uint32_t, uint32_t>> entries) const noexcept;
  // Fetches the memory that find() and insert() read first.
  void prefetch(uint32_t hash) const noexcept { prefetch(table_, hash); }
  // The entry must not be there yet; position is not 0.
  void insert(uint32_t hash, uint32_t position);
  // Inserts (position, hash), distinct and not there yet. Faster than one by one, because the
  // buckets of the next entries are fetched ahead.
  void insert_all(std::span<const std::pair<uint32_t, uint32_t>> entries);
  // Replaces the position in its slot. `to` must not be there under this hash. False: `from` is not
  // there.
  bool replace(uint32_t hash, uint32_t from, uint32_t to) noexcept;
  bool remove(uint32_t hash, uint32_t position) noexcept;
  template <class Visit>
  void for_each(Visit&& visit) const;  // visit(hash, position), in any order

  // Show where entries are, for a picture. Slot i is slot i % ways of bucket i / ways.
  struct Entry {
    uint32_t hash = 0;
    uint32_t position = 0;  // 0: the slot is empty
  };
  Entry at(uint64_t slot) const noexcept {
    return {table_.slots[slot].hash, table_.slots[slot].position};
  }
  // Returns the buckets in which an entry of that hash may be, without the stash.
  std::vector<uint32_t> buckets_of(uint32_t hash) const;

  void reserve(uint64_t entries);  // so many will fit without growth, almost surely
  void clear() noexcept;           // keeps the memory

  const SlotCacheOptions& options() const noexcept { return options_; }
  uint64_t size() const noexcept { return table_.occupied + stash_.size(); }
  uint64_t slots() const noexcept { return table_.buckets * options_.ways; }
  double load_factor() const noexcept;  // of the slots, without the stash
  uint64_t stash_size() const noexcept { return stash_.size(); }
  uint64_t relocations() const noexcept { return relocations_; }
  uint64_t expansions() const noexcept { return expansions_; }
  double load_at_last_expansion() const noexcept { return load_at_last_expansion_; }  // 0: none
  size_t memory_bytes() const noexcept;

  Status check() const;  // I1 … I4. O(slots).

 private:
  friend class SlotCacheTestPeer;

  static constexpr unsigned kMaxHashes = 4;
  static constexpr unsigned kMaxWays = 8;
  static constexpr uint64_t kFirstBuckets = 8;
  static constexpr uint64_t kMaxBuckets = uint64_t{1} << 32;
  // So many are enough for a load of .96 at (2, 4). With three times as many it is .97. But then
  // inserts into a growing cache take a third more time, and an entry takes only 0.07 bytes less.
  static constexpr size_t kMaxSearchNodes = 600;
  static constexpr uint16_t kNoParent = 0xFFFF;

  struct Slot {
    uint32_t hash = 0;
    uint32_t position = 0;
  };
  struct Table {
    std::vector<Slot> memory;
    Slot* slots = nullptr;  // in memory, at the start of a cache line
    uint64_t buckets = 0;
    uint64_t occupied = 0;
  };
  // A bucket that the search reached. The entry in slot `way` of nodes[parent] may move to it.
  struct Node {
    uint32_t bucket;
    uint16_t parent;
    uint16_t way;
  };
  // Buckets in the order in which they were reached. The last ones may be beyond the limit.
  struct Search {
    uint32_t count = 0;
    Node nodes[kMaxSearchNodes + kMaxWays * kMaxHashes];
  };
  using Stash = std::set<uint64_t>;

  static uint64_t packed(uint32_t hash, uint32_t position) noexcept {
    return uint64_t{hash} << 32 | position;
  }
  static Slot unpacked(uint64_t entry) noexcept {
    return {static_cast<uint32_t>(entry >> 32), static_cast<uint32_t>(entry)};
  }
  uint64_t mix(uint32_t hash) const noexcept { return mix64(hash ^ options_.seed); }
  static uint32_t scale(uint64_t half, uint64_t buckets) noexcept {
    return static_cast<uint32_t>((half * buckets) >> 32);
  }
  struct Buckets {
    uint32_t at[kMaxHashes];
  };
  // Returns the `hashes` buckets of an entry. Two of them can be equal.
  Buckets buckets_of(uint32_t hash, uint64_t buckets) const noexcept;
  Slot* bucket(const Table& table, uint64_t index) const noexcept {
    return table.slots + index * options_.ways;
  }
  static bool four_hold(const Slot* slot, uint32_t hash) noexcept {
    return ((slot[0].hash == hash) | (slot[1].hash == hash) | (slot[2].hash == hash) |
            (slot[3].hash == hash)) != 0;
  }
  template <class Visit>
  static bool visit_bucket(const Slot* slots, unsigned ways, uint32_t hash, Visit&& visit);
  template <class Visit>
  bool visit_all(uint32_t hash, Visit&& visit) const;
  template <class Visit>
  bool visit_stash(uint32_t hash, Visit&& visit) const;

  Slot* find_slot(uint32_t hash, uint32_t position) const noexcept;
  Slot* empty_slot(const Table& table, uint64_t index) const noexcept;
  Stash::const_iterator first_in_stash(uint32_t hash) const noexcept;
  bool stash_has(uint32_t hash) const noexcept;
  bool growth_helps(uint32_t hash) const noexcept;

  Table make_table(uint64_t buckets) const;
  void prefetch(const Table& table, uint32_t hash) const noexcept;
  bool place(Table& table, Slot entry) const noexcept;
  bool place_in(Table& table, uint64_t index, Slot entry) const noexcept;
  bool place_as_before(Table& next, Slot entry, uint64_t index) const noexcept;
  bool relocate(Table& table, Slot entry) noexcept;
  bool expand(const Table& table, Search& search, uint32_t parent) const noexcept;
  void move_along(Table& table, const Search& search, Slot entry) noexcept;
  void rehash(uint64_t buckets);
  Status check_slot(uint64_t index) const;

  SlotCacheOptions options_;
  bool two_by_four_ = false;
  Table table_;
  Stash stash_;
  uint64_t relocations_ = 0;
  uint64_t expansions_ = 0;
  double load_at_last_expansion_ = 0;
};

inline SlotCache::Buckets SlotCache::buckets_of(uint32_t hash, uint64_t buckets) const noexcept {
  const uint64_t first = mix(hash);
  Buckets all{{scale(first & 0xFFFFFFFF, buckets), scale(first >> 32, buckets), 0, 0}};
  if (options_.hashes > 2) {
    const uint64_t second = mix64(first + kGoldenStep);
    all.at[2] = scale(second & 0xFFFFFFFF, buckets);
    all.at[3] = scale(second >> 32, buckets);
  }
  return all;
}

template <class Visit>
bool SlotCache::find(uint32_t hash, Visit&& visit) const {
  if (two_by_four_) [[likely]] {
    const uint64_t mixed = mix(hash);
    const Slot* const one = table_.slots + uint64_t{4} * scale(mixed & 0xFFFFFFFF, table_.buckets);
    const Slot* const two = table_.slots + uint64_t{4} * scale(mixed >> 32, table_.buckets);
    // Compares both buckets without a branch between them.
    const int held =
        static_cast<int>(four_hold(one, hash)) | static_cast<int>(four_hold(two, hash));
    if (held != 0 &&
        (visit_bucket(one, 4, hash, visit) || (two != one && visit_bucket(two, 4, hash, visit)))) {
      return true;
    }
    return !stash_.empty() && visit_stash(hash, visit);
  }
  return visit_all(hash, visit);
}

template <class Visit>
bool SlotCache::visit_bucket(const Slot* slots, unsigned ways, uint32_t hash, Visit&& visit) {
  for (unsigned way = 0; way < ways; ++way) {
    if (slots[way].hash == hash && slots[way].position != 0 && visit(slots[way].position)) {
      return true;
    }
  }
  return false;
}

template <class Visit>
bool SlotCache::visit_all(uint32_t hash, Visit&& visit) const {
  const Buckets buckets = buckets_of(hash, table_.buckets);
  for (unsigned i = 0; i < options_.hashes; ++i) {
    bool again = false;
    for (unsigned before = 0; before < i; ++before) {
      again |= buckets.at[before] == buckets.at[i];
    }
    if (!again && visit_bucket(bucket(table_, buckets.at[i]), options_.ways, hash, visit)) {
      return true;
    }
  }
  return !stash_.empty() && visit_stash(hash, visit);
}

template <class Visit>
bool SlotCache::visit_stash(uint32_t hash, Visit&& visit) const {
  for (auto at = first_in_stash(hash); at != stash_.end() && unpacked(*at).hash == hash; ++at) {
    if (visit(unpacked(*at).position)) {
      return true;
    }
  }
  return false;
}

template <class Visit>
void SlotCache::for_each(Visit&& visit) const {
  for (uint64_t i = 0; i < slots(); ++i) {
    if (const Slot& slot = table_.slots[i]; slot.position != 0) {
      visit(slot.hash, slot.position);
    }
  }
  for (const uint64_t entry : stash_) {
    visit(unpacked(entry).hash, unpacked(entry).position);
  }
}

}  // namespace cuckoo::core
