// The entries of a log of hashes.
//
// An entry is a 64-bit word: a logged hash, whose low bits are zero, with bit 0 set for a remove.
// It counts for one occurrence, or for as many as the count says that comes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

inline constexpr uint64_t kRemoveBit = 1;

// The most occurrences of one entry.
inline constexpr uint64_t kMostCopies = uint64_t{1} << 31;

// The occurrences of an entry of a list beyond the first one.
struct MoreCopies {
  size_t at = 0;      // its index in the list
  uint64_t more = 0;  // 1 or more
};

// Makes room, so that the next push_back() needs no memory.
inline void make_room_for_one(std::vector<MoreCopies>& list) {
  if (list.size() == list.capacity()) {
    list.reserve(2 * list.size() + 8);
  }
}

// Says how many occurrences an entry of a list has. Ask for the entries in ascending order.
class Copies {
 public:
  explicit Copies(std::span<const MoreCopies> more) noexcept : more_(more) {}

  uint64_t of(size_t index) noexcept {
    while (!more_.empty() && more_.front().at < index) {
      more_ = more_.subspan(1);
    }
    return !more_.empty() && more_.front().at == index ? 1 + more_.front().more : 1;
  }

 private:
  std::span<const MoreCopies> more_;
};

// Calls visit(part) for parts of at most kMostCopies that add up to `copies`, until it fails.
template <class Visit>
Status for_each_part(uint64_t copies, Visit&& visit) {
  while (copies > 0) {
    const uint64_t part = copies < kMostCopies ? copies : kMostCopies;
    CUCKOO_TRY(visit(part));
    copies -= part;
  }
  return {};
}

// Packs an entry into 6 bytes: a 47-bit hash leaves bit 16 to the remove bit.
inline uint64_t pack_raw47(uint64_t entry) noexcept { return (entry >> 16) | (entry & kRemoveBit); }

// Returns the hash of a history that goes on with that word.
inline uint64_t chain_with(uint64_t chain, uint64_t word) noexcept {
  std::byte bytes[8];
  store_le(bytes, word);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, chain);
}

// … with an entry of a log.
inline uint64_t chain_with_entry(uint64_t chain, uint64_t entry, uint64_t copies) noexcept {
  chain = chain_with(chain, entry);
  return copies == 1 ? chain : chain_with(chain, copies);
}

// (hash, count >= 1)
using CountedHash = std::pair<uint64_t, uint64_t>;
using CountedHashSink = std::function<Status(uint64_t hash, uint64_t count)>;
// Gives ascending hashes, each once, to the sink. Ends with the sink's failure.
using HashSource = std::function<Status(const CountedHashSink& sink)>;

}  // namespace cuckoo
