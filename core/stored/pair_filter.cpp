#include "core/stored/pair_filter.hpp"

#include "core/filter/legacy_bloom.hpp"

namespace cuckoo {

Status PairFilter::load(const HashPair& pair) {
  uint64_t indexes[Filter::kMaxPlaces];
  return filter_.load_pages({indexes, pairs_of(filter_.base()).pages_of_pair(pair, indexes)});
}

Result<bool> PairFilter::contains(const HashPair& pair) {
  Filter::Answer answer = pairs_of(filter_.base()).probe_pair(pair);
  if (answer == Filter::Answer::kNotLoaded) {
    CUCKOO_TRY(load(pair));
    answer = pairs_of(filter_.base()).probe_pair(pair);
  }
  return answer == Filter::Answer::kPresent;
}

Status PairFilter::insert(const HashPair& pair) {
  CUCKOO_TRY(load(pair));
  if (pairs_of(filter_.base()).probe_pair(pair) == Filter::Answer::kPresent) {
    return {};
  }
  const uint64_t words[] = {pair.h1, pair.h2};
  return filter_.insert_unlogged(words,
                                 [&](Filter& filter) { pairs_of(filter).insert_pair(pair); });
}

}  // namespace cuckoo
