#include "ext/filter/top_keys.hpp"

#include <algorithm>

#include "ext/sqlite/options.hpp"

namespace cuckoo {

Status TopKeys::refuse(const std::string& key) const {
  return corrupt("\"" + store_.table() + "_config\" has no valid key in its row " + printable(key));
}

Status TopKeys::note(segments::FilterWindow& filter, const KeyView& key, uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t count, filter.count(hash));
  if (const auto found = place_of_.find(hash); found != place_of_.end()) {
    kept_[found->second].count = count;
    least_ = std::min(least_, count);
    if (count == 0) {
      store_.erase_top(found->second);
      place_of_.erase(found);
    }
    return {};
  }
  if (count <= least_) {  // which is 0 if a place is free
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(Kept* const lowest, find_lowest(filter));
  least_ = lowest->count;
  if (count <= least_) {
    return {};
  }
  const auto place = static_cast<size_t>(lowest - kept_.data());
  loaded_ = false;  // unless all that follows goes well
  store_.write_top(place, key);
  if (lowest->count > 0) {
    place_of_.erase(lowest->hash);
  }
  lowest->key.assign(key);
  lowest->hash = hash;
  lowest->count = count;
  place_of_[hash] = place;
  loaded_ = true;
  return {};
}

// Asks for its count again, because another key of the same fingerprint may have come or gone.
Result<TopKeys::Kept*> TopKeys::find_lowest(segments::FilterWindow& filter) {
  while (true) {
    Kept& lowest = *std::min_element(
        kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.count < b.count; });
    if (lowest.count == 0) {
      return &lowest;
    }
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t count, filter.count(lowest.hash));
    if (count == lowest.count) {
      return &lowest;
    }
    lowest.count = count;
    if (count == 0) {
      place_of_.erase(lowest.hash);
    }
  }
}

void TopKeys::erase() {
  forget();
  store_.erase_top();
}

}  // namespace cuckoo
