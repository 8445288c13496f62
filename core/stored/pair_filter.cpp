#include "core/stored/pair_filter.hpp"

#include <cassert>

namespace cuckoo {

const BloomFilter& PairFilter::pages() const noexcept {
  assert(filter_.base().kind() == FilterKind::kLegacyBloom);
  return static_cast<const BloomFilter&>(filter_.base());
}

Status PairFilter::load(const HashPair& pair) {
  uint64_t indexes[Filter::kMaxPlaces];
  return filter_.load_pages({indexes, pages().pages_of_pair(pair, indexes)});
}

Result<bool> PairFilter::contains(const HashPair& pair) {
  Filter::Answer answer = pages().probe_pair(pair);
  if (answer == Filter::Answer::kNotLoaded) {
    CUCKOO_TRY(load(pair));
    answer = pages().probe_pair(pair);
  }
  return answer == Filter::Answer::kPresent;
}

Status PairFilter::insert(const HashPair& pair) {
  CUCKOO_TRY(load(pair));
  if (pages().probe_pair(pair) == Filter::Answer::kPresent) {
    return {};
  }
  const uint64_t words[] = {pair.h1, pair.h2};
  return filter_.insert_unlogged(
      words, [&](Filter& filter) { static_cast<BloomFilter&>(filter).insert_pair(pair); });
}

}  // namespace cuckoo
