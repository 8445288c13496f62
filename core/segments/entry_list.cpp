#include "core/segments/entry_list.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/segments/run.hpp"
#include "core/stored/hash_sort.hpp"

namespace cuckoo::segments {

void EntryList::append_copies(uint64_t entry, uint64_t copies) {
  Body& to = body();
  make_room_for_one(to.more);
  append(entry);
  to.more.push_back({to.entries.size() - 1, copies - 1});
  const auto further = static_cast<int64_t>(copies - 1);
  to.items += (entry & kRemoveBit) == 0 ? further : -further;
}

void EntryList::clear() noexcept {
  if (body_ != nullptr) {
    body_->entries.clear();
    body_->more.clear();
    body_->items = 0;
  }
}

bool EntryList::begins_with(const EntryList& other, size_t count) const noexcept {
  if (size() < count ||
      !std::equal(other.entries().begin(), other.entries().begin() + static_cast<ptrdiff_t>(count),
                  entries().begin())) {
    return false;
  }
  Copies copies(more());
  Copies others(other.more());
  for (size_t i = 0; !(more().empty() && other.more().empty()) && i < count; ++i) {
    if (copies.of(i) != others.of(i)) {
      return false;
    }
  }
  return true;
}

uint64_t EntryList::hash(uint64_t seed) const noexcept {
  std::byte bytes[512 * sizeof(uint64_t)];
  for (std::span<const uint64_t> rest = entries(); !rest.empty();) {
    size_t used = 0;
    for (; used < sizeof bytes && used / sizeof(uint64_t) < rest.size(); used += sizeof(uint64_t)) {
      store_le(&bytes[used], rest[used / sizeof(uint64_t)]);
    }
    seed = XXH3_64bits_withSeed(bytes, used, seed);
    rest = rest.subspan(used / sizeof(uint64_t));
  }
  for (const MoreCopies& one : more()) {
    seed = chain_with(chain_with(seed, one.at), one.more);
  }
  return seed;
}

size_t EntryList::memory_bytes() const noexcept {
  return body_ == nullptr ? 0
                          : sizeof *body_ + body_->entries.capacity() * sizeof(uint64_t) +
                                body_->more.capacity() * sizeof(MoreCopies);
}

// Entries that count once are sorted as words, which takes less time.
Result<std::vector<NetHash>> sums_of(const EntryList& list, size_t count, HashWidth width,
                                     unsigned depth, bool multiset, const Poll& poll) {
  constexpr size_t kHashesPerPoll = size_t{1} << 16;
  const std::span<const uint64_t> entries = list.entries().first(count);
  const auto net_of = [](uint64_t entry, int64_t copies) {
    return (entry & kRemoveBit) == 0 ? copies : -copies;
  };
  if (!list.more().empty()) {
    std::vector<NetHash> all;
    all.reserve(count);
    Copies copies(list.more());
    for (size_t i = 0; i < count; ++i) {
      all.push_back(
          {entries[i] & ~kRemoveBit, net_of(entries[i], static_cast<int64_t>(copies.of(i)))});
    }
    return sums_of(std::move(all), depth, multiset);
  }
  CUCKOO_ASSIGN_OR_RETURN(const LargeVector<uint64_t> words,
                          sorted_by_hash(entries, width, depth, poll));
  HashSums sums(multiset);
  sums.reserve(count);
  for (std::span<const uint64_t> rest = words; !rest.empty();) {
    const std::span<const uint64_t> part = rest.first(std::min(rest.size(), kHashesPerPoll));
    rest = rest.subspan(part.size());
    for (const uint64_t entry : part) {
      sums.add(entry & ~kRemoveBit, net_of(entry, 1));
    }
    if (!rest.empty()) {
      CUCKOO_TRY(check_interrupt(poll));
    }
  }
  return sums.take();
}

LargeVector<uint64_t> different_hashes(std::span<const uint64_t> entries, HashWidth width,
                                       unsigned depth) {
  LargeVector<uint64_t> hashes = sorted_by_hash(entries, width, depth, nullptr).value();
  for (uint64_t& hash : hashes) {
    hash &= ~kRemoveBit;
  }
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace cuckoo::segments
