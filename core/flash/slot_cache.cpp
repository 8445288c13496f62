#include "core/flash/slot_cache.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <string>

#include "core/base/large_memory.hpp"

namespace cuckoo::core {
namespace {

// Below this part of the limit, a failed insert is only bad luck. So the cache does not grow then.
constexpr double kGrowAbove = 0.6;
// The buckets of an entry are fetched this many entries before its turn.
constexpr uint64_t kAhead = 16;
// A node of std::set: its colour, three pointers and the value; malloc adds 8 bytes.
constexpr size_t kStashNodeBytes = 48;

// The values are rounded down from the fixed point of Fountoulakis, Khosla and Panagiotou. A row is
// for hashes - 2, and a column for ways - 1.
constexpr double kLoadLimits[3][8] = {
    {0.5000, 0.8970, 0.9591, 0.9803, 0.9895, 0.9940, 0.9964, 0.9978},
    {0.9179, 0.9882, 0.9972, 0.9992, 0.9997, 0.9999, 0.9999, 0.9999},
    {0.9767, 0.9982, 0.9998, 0.9999, 0.9999, 0.9999, 0.9999, 0.9999},
};

// Returns the part of the limit that reserve() counts on. It is below 1, because the search for a
// path ends early. Measured at 1 M entries, by (hashes, ways): (2, 1) .88; (2, 2), (3, 1) and (4,
// 1) .957 and more; the others .974 and more.
double reachable(const SlotCacheOptions& options) noexcept {
  const unsigned slots = options.hashes * options.ways;
  return slots == 2 ? 0.87 : slots <= 4 ? 0.95 : 0.97;
}

std::string slot_text(uint32_t hash, uint32_t position) {
  std::string text = "(";
  text += std::to_string(hash) + ", " + std::to_string(position) + ")";
  return text;
}

}  // namespace

double SlotCacheOptions::load_limit() const noexcept { return kLoadLimits[hashes - 2][ways - 1]; }

SlotCache::SlotCache(const SlotCacheOptions& options)
    : options_(options), two_by_four_(options.hashes == 2 && options.ways == 4) {
  assert(options.hashes >= 2 && options.hashes <= kMaxHashes);
  assert(options.ways >= 1 && options.ways <= kMaxWays);
  table_ = make_table(kFirstBuckets);
}

// ---- one entry

bool SlotCache::contains(uint32_t hash, uint32_t position) const noexcept {
  return position != 0 && (find_slot(hash, position) != nullptr ||
                           (!stash_.empty() && stash_.contains(packed(hash, position))));
}

bool SlotCache::contains_all(
    std::span<const std::pair<uint32_t, uint32_t>> entries) const noexcept {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + kAhead < entries.size()) {
      prefetch(table_, entries[i + kAhead].second);
    }
    if (!contains(entries[i].second, entries[i].first)) {
      return false;
    }
  }
  return true;
}

void SlotCache::insert(uint32_t hash, uint32_t position) {
  assert(position != 0);
  const Slot entry{hash, position};
  // If the stash has an entry of this hash, the search failed once, and would fail again.
  while (!place(table_, entry) && (stash_has(hash) || !relocate(table_, entry))) {
    if (!growth_helps(hash)) {
      stash_.insert(packed(hash, position));
      return;
    }
    const double load = load_factor();
    rehash(std::min(table_.buckets + (table_.buckets + 3) / 4, kMaxBuckets));
    load_at_last_expansion_ = load;
    ++expansions_;
  }
}

void SlotCache::insert_all(std::span<const std::pair<uint32_t, uint32_t>> entries) {
  reserve(size() + entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + kAhead < entries.size()) {
      prefetch(table_, entries[i + kAhead].second);
    }
    insert(entries[i].second, entries[i].first);
  }
}

bool SlotCache::replace(uint32_t hash, uint32_t from, uint32_t to) noexcept {
  assert(to != 0);
  if (from == 0) {
    return false;
  }
  if (Slot* const slot = find_slot(hash, from); slot != nullptr) {
    slot->position = to;
    return true;
  }
  const auto found = stash_.find(packed(hash, from));
  if (found == stash_.end()) {
    return false;
  }
  auto node = stash_.extract(found);
  node.value() = packed(hash, to);
  stash_.insert(std::move(node));
  return true;
}

bool SlotCache::remove(uint32_t hash, uint32_t position) noexcept {
  if (position == 0) {
    return false;
  }
  Slot* const slot = find_slot(hash, position);
  if (slot == nullptr) {
    return stash_.erase(packed(hash, position)) != 0;
  }
  if (stash_has(hash)) {
    const auto heir = first_in_stash(hash);
    *slot = unpacked(*heir);
    stash_.erase(heir);
  } else {
    *slot = {};
    --table_.occupied;
  }
  return true;
}

SlotCache::Slot* SlotCache::find_slot(uint32_t hash, uint32_t position) const noexcept {
  const Buckets buckets = buckets_of(hash, table_.buckets);
  for (unsigned i = 0; i < options_.hashes; ++i) {
    Slot* const slots = bucket(table_, buckets.at[i]);
    for (unsigned way = 0; way < options_.ways; ++way) {
      if (slots[way].hash == hash && slots[way].position == position) {
        return slots + way;
      }
    }
  }
  return nullptr;
}

SlotCache::Slot* SlotCache::empty_slot(const Table& table, uint64_t index) const noexcept {
  Slot* const slots = bucket(table, index);
  if (two_by_four_) [[likely]] {  // most buckets of a search are full, so there is one branch
    const unsigned empty = static_cast<unsigned>(slots[0].position == 0) |
                           static_cast<unsigned>(slots[1].position == 0) << 1 |
                           static_cast<unsigned>(slots[2].position == 0) << 2 |
                           static_cast<unsigned>(slots[3].position == 0) << 3;
    return empty == 0 ? nullptr : slots + std::countr_zero(empty);
  }
  for (unsigned way = 0; way < options_.ways; ++way) {
    if (slots[way].position == 0) {
      return slots + way;
    }
  }
  return nullptr;
}

// Returns the first entry with this hash or a greater one, or the end of the stash.
SlotCache::Stash::const_iterator SlotCache::first_in_stash(uint32_t hash) const noexcept {
  return stash_.lower_bound(packed(hash, 0));
}

bool SlotCache::stash_has(uint32_t hash) const noexcept {
  if (stash_.empty()) {
    return false;
  }
  const auto at = first_in_stash(hash);
  return at != stash_.end() && unpacked(*at).hash == hash;
}

// Returns whether growth may help an entry that found no slot.
bool SlotCache::growth_helps(uint32_t hash) const noexcept {
  if (table_.buckets == kMaxBuckets || load_factor() <= kGrowAbove * options_.load_limit() ||
      stash_has(hash)) {
    return false;
  }
  unsigned copies = 0;
  visit_all(hash, [&](uint32_t) {
    ++copies;
    return false;
  });
  return 2 * copies < options_.hashes * options_.ways;
}

void SlotCache::prefetch(const Table& table, uint32_t hash) const noexcept {
  const Buckets buckets = buckets_of(hash, table.buckets);
  for (unsigned i = 0; i < options_.hashes; ++i) {
    __builtin_prefetch(bucket(table, buckets.at[i]));
  }
}

// ---- relocation

bool SlotCache::place(Table& table, Slot entry) const noexcept {
  const Buckets buckets = buckets_of(entry.hash, table.buckets);
  for (unsigned i = 0; i < options_.hashes; ++i) {
    if (place_in(table, buckets.at[i], entry)) {
      return true;
    }
  }
  return false;
}

bool SlotCache::place_in(Table& table, uint64_t index, Slot entry) const noexcept {
  Slot* const slot = empty_slot(table, index);
  if (slot == nullptr) {
    return false;
  }
  *slot = entry;
  ++table.occupied;
  return true;
}

// Places an entry of bucket `index` in `next`: in its second bucket there, if `index` is the second
// of its buckets now, or else in another one of its buckets.
bool SlotCache::place_as_before(Table& next, Slot entry, uint64_t index) const noexcept {
  const Buckets now = buckets_of(entry.hash, table_.buckets);
  const Buckets then = buckets_of(entry.hash, next.buckets);
  unsigned same = 0;
  while (same + 1 < options_.hashes && now.at[same] != index) {
    ++same;
  }
  bool placed = place_in(next, then.at[same], entry);
  for (unsigned i = 0; i < options_.hashes && !placed; ++i) {
    placed = i != same && place_in(next, then.at[i], entry);
  }
  return placed;
}

// Inserts an entry along a path to an empty slot. Returns false, and changes nothing, if it finds
// no path that is short enough.
bool SlotCache::relocate(Table& table, Slot entry) noexcept {
  const Buckets roots = buckets_of(entry.hash, table.buckets);
  Search search;
  for (unsigned i = 0; i < options_.hashes; ++i) {
    search.nodes[search.count++] = {roots.at[i], kNoParent, 0};
  }
  const uint64_t limit = std::min<uint64_t>(kMaxSearchNodes, 4 * table.buckets);
  for (uint32_t next = 0; next < search.count && search.count < limit; ++next) {
    if (expand(table, search, next)) {
      move_along(table, search, entry);
      ++table.occupied;
      return true;
    }
  }
  return false;
}

// Appends the buckets to which the entries of a full bucket may move. Returns true if the last one
// has an empty slot.
bool SlotCache::expand(const Table& table, Search& search, uint32_t parent) const noexcept {
  const Node node = search.nodes[parent];
  const Slot* const slots = bucket(table, node.bucket);
  Buckets others[kMaxWays];  // first all, so that their memory comes at one time
  const unsigned count = options_.hashes == 2 ? 1 : options_.hashes;
  for (unsigned way = 0; way < options_.ways; ++way) {
    Buckets& all = others[way] = buckets_of(slots[way].hash, table.buckets);
    all.at[0] ^= count == 1 ? all.at[1] ^ node.bucket : 0;  // of two buckets, only the other one
    for (unsigned i = 0; i < count; ++i) {
      __builtin_prefetch(bucket(table, all.at[i]));
    }
  }
  const uint32_t before = node.parent == kNoParent ? node.bucket : search.nodes[node.parent].bucket;
  for (unsigned way = 0; way < options_.ways; ++way) {
    if (way > 0 && slots[way].hash == slots[way - 1].hash) {
      continue;  // leads to the same buckets
    }
    for (unsigned i = 0; i < count; ++i) {
      const uint32_t other = others[way].at[i];
      const bool root = std::any_of(search.nodes, search.nodes + options_.hashes,
                                    [&](const Node& first) { return first.bucket == other; });
      if (root || other == node.bucket || other == before) {
        continue;
      }
      search.nodes[search.count++] = {other, static_cast<uint16_t>(parent),
                                      static_cast<uint16_t>(way)};
      if (empty_slot(table, other) != nullptr) {
        return true;
      }
    }
  }
  return false;
}

// Moves the entries from the free end backwards: each is written to its new slot before its old one
// is overwritten.
void SlotCache::move_along(Table& table, const Search& search, Slot entry) noexcept {
  const Node* node = &search.nodes[search.count - 1];
  Slot* free = empty_slot(table, node->bucket);
  for (; node->parent != kNoParent; ++relocations_) {
    const unsigned way = node->way;
    node = &search.nodes[node->parent];
    Slot* const moves = bucket(table, node->bucket) + way;
    *free = *moves;
    free = moves;
  }
  *free = entry;
}

// ---- the whole table

SlotCache::Table SlotCache::make_table(uint64_t buckets) const {
  constexpr size_t kSlotsPerLine = kCacheLineBytes / sizeof(Slot);
  Table table;
  table.memory.resize(buckets * options_.ways + kSlotsPerLine - 1);
  const auto start = reinterpret_cast<uintptr_t>(table.memory.data());
  const size_t skipped = (kCacheLineBytes - start % kCacheLineBytes) % kCacheLineBytes;
  table.slots = table.memory.data() + skipped / sizeof(Slot);
  table.buckets = buckets;
  return table;
}

SlotCache SlotCache::copy() const {
  SlotCache copied(options_);
  copied.table_ = make_table(table_.buckets);
  std::copy(table_.slots, table_.slots + slots(), copied.table_.slots);
  copied.table_.occupied = table_.occupied;
  copied.stash_ = stash_;
  copied.relocations_ = relocations_;
  copied.expansions_ = expansions_;
  copied.load_at_last_expansion_ = load_at_last_expansion_;
  return copied;
}

// Everything that may throw happens before the first change.
void SlotCache::rehash(uint64_t buckets) {
  Table table = make_table(buckets);
  Stash homeless;
  std::vector<uint64_t> placed;
  for (uint64_t i = 0; i < slots(); ++i) {
    const Slot entry = table_.slots[i];
    if (entry.position != 0 && !place_as_before(table, entry, i / options_.ways) &&
        !relocate(table, entry)) {
      homeless.insert(packed(entry.hash, entry.position));
    }
  }
  for (auto at = stash_.begin(); at != stash_.end();) {
    if (place(table, unpacked(*at)) || relocate(table, unpacked(*at))) {
      placed.push_back(*at);
      ++at;
    } else {  // the others of this hash find no place either
      at = stash_.upper_bound(packed(unpacked(*at).hash, ~uint32_t{0}));
    }
  }
  table_ = std::move(table);
  for (const uint64_t entry : placed) {
    stash_.erase(entry);
  }
  stash_.merge(homeless);
}

void SlotCache::reserve(uint64_t entries) {
  const double load = reachable(options_) * options_.load_limit();
  const double slots_needed = static_cast<double>(entries) / load;
  const double buckets = std::ceil(slots_needed / options_.ways);
  if (buckets > static_cast<double>(table_.buckets)) {
    rehash(static_cast<uint64_t>(std::min(buckets, static_cast<double>(kMaxBuckets))));
  }
}

void SlotCache::clear() noexcept {
  std::fill(table_.memory.begin(), table_.memory.end(), Slot{});
  table_.occupied = 0;
  stash_.clear();
}

double SlotCache::load_factor() const noexcept {
  return static_cast<double>(table_.occupied) / static_cast<double>(slots());
}

size_t SlotCache::memory_bytes() const noexcept {
  return table_.memory.capacity() * sizeof(Slot) + stash_.size() * kStashNodeBytes;
}

std::vector<uint32_t> SlotCache::buckets_of(uint32_t hash) const {
  const Buckets buckets = buckets_of(hash, table_.buckets);
  return {buckets.at, buckets.at + options_.hashes};
}

// ---- check

Status SlotCache::check_slot(uint64_t index) const {
  const Slot slot = table_.slots[index];
  const std::string what =
      "slot " + std::to_string(index) + " holds " + slot_text(slot.hash, slot.position);
  if (slot.position == 0) {
    return slot.hash == 0 ? Status() : corrupt(what + ", expected both 0 in an empty slot");
  }
  const Buckets buckets = buckets_of(slot.hash, table_.buckets);
  const uint64_t home = index / options_.ways;
  if (std::find(buckets.at, buckets.at + options_.hashes, home) == buckets.at + options_.hashes) {
    return corrupt(what + " in bucket " + std::to_string(home) + ", expected one of its buckets");
  }
  unsigned copies = 0;
  visit_all(slot.hash, [&](uint32_t position) {
    copies += position == slot.position ? 1 : 0;
    return copies > 1;
  });
  return copies == 1 ? Status() : corrupt(what + ", which is there twice");
}

Status SlotCache::check() const {
  uint64_t occupied = 0;
  for (uint64_t i = 0; i < slots(); ++i) {
    if (table_.slots[i].hash != 0 || table_.slots[i].position != 0) {
      CUCKOO_TRY(check_slot(i));
      ++occupied;
    }
  }
  if (occupied != table_.occupied) {
    return corrupt(std::to_string(occupied) + " slots hold an entry, expected " +
                   std::to_string(table_.occupied));
  }
  for (const uint64_t entry : stash_) {
    const Slot slot = unpacked(entry);
    if (slot.position == 0 || find_slot(slot.hash, slot.position) != nullptr) {
      return corrupt("the stash holds " + slot_text(slot.hash, slot.position) +
                     ", expected a position that is not 0 and in no slot");
    }
  }
  return {};
}

}  // namespace cuckoo::core
