// The keys with the highest counts of a filter that counts (option `top`): rows of its config,
// 'top:0' to 'top:<n - 1>', each with one key.
//
// The filter has no keys, so these rows are the only place that has them. Their counts are the
// filter's, and are asked for, never stored. In memory is what the rows say, and the counts as they
// were when they were asked.
//
// Invariants
//   I1  a key that was just added is kept if its count is higher than that of a kept key. This may
//       fail if a key of the same fingerprint as a kept one was removed, which lowers its count.
//   I2  memory has the keys of the rows, or nothing, and counts that were right when they were
//       asked. So forget() is called when the filter is read again, as it is after each roll-back,
//       and at any change but of one key.
//   I3  the rows are not trusted: a place beyond n, or one without a key, is damage.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/segments/filter_window.hpp"
#include "ext/filter/store.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

inline constexpr uint32_t kMostTopKeys = 1000;

class TopKeys {
 public:
  struct Kept {
    KeyCopy key;
    uint64_t hash = 0;
    uint64_t count = 0;  // 0: the place is free
  };

  explicit TopKeys(FilterStore& store) noexcept : store_(store) {}

  // Reads the rows and the counts, unless memory has them. `hash_of(key)` is as the filter hashes
  // it. kCorrupt: I3.
  template <class HashOf>
  Status load(segments::FilterWindow& filter, HashOf&& hash_of);
  // Call it after copies of a key were added or removed, and load() before that. Writes a row if
  // another key is kept now. Throws SqlError.
  Status note(segments::FilterWindow& filter, const KeyView& key, uint64_t hash);
  void erase();  // all rows; throws SqlError
  void forget() noexcept { loaded_ = false; }
  const std::vector<Kept>& kept() const noexcept { return kept_; }

 private:
  Status refuse(const std::string& key) const;
  Result<Kept*> find_lowest(segments::FilterWindow& filter);

  FilterStore& store_;
  bool loaded_ = false;
  std::vector<Kept> kept_;                         // as many as the option says
  std::unordered_map<uint64_t, size_t> place_of_;  // a hash's
  uint64_t least_ = 0;                             // no count in kept_ was lower
};

template <class HashOf>
Status TopKeys::load(segments::FilterWindow& filter, HashOf&& hash_of) {
  if (loaded_) {
    return {};
  }
  kept_.assign(filter.options().top, {});
  place_of_.clear();
  least_ = 0;
  std::string wrong;
  store_.read_top([&](const std::string& name, uint64_t place, const KeyView& key) {
    if (place >= kept_.size() || key.type == SQLITE_NULL) {
      wrong = name;
      return;
    }
    kept_[place].key.assign(key);
    kept_[place].hash = hash_of(key);
  });
  if (!wrong.empty()) {
    return refuse(wrong);
  }
  for (size_t place = 0; place < kept_.size(); ++place) {
    Kept& kept = kept_[place];
    if (kept.key.view().type != SQLITE_NULL && !place_of_.contains(kept.hash)) {
      CUCKOO_ASSIGN_OR_RETURN(kept.count, filter.count(kept.hash));
      if (kept.count > 0) {
        place_of_.emplace(kept.hash, place);
      }
    }
  }
  loaded_ = true;
  return {};
}

}  // namespace cuckoo
