// What a LoggedFilter of any kind must answer, exactly: no key is lost, no "maybe" comes from
// nowhere, no count is off.
//
// The model counts cells where the filter does, not hashes, in maps; it follows folds and rebuilds
// by watching the filter's record. The geometry is all it takes from the filter.
//
//   a hash's count = its own net adds since the last fold, if above 0
//                  + the least, over its cells, of folded copies less the removes since then
//   of a set       = 1 if it was added since the last fold, or all its cells are in use; else 0
// An epoch that was made in steps holds what was folded; the entries since then follow it, but for
// removes that find nothing there.
// With `unique` the log may have a hash twice all the same, where somebody removed what was never
// added: a rebuild and an export count it once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/stored/logged_filter.hpp"

namespace cuckoo::test {

class FilterModel {
 public:
  using Counts = std::unordered_map<uint64_t, uint64_t>;

  void start(const LoggedFilter& filter) {
    *this = FilterModel();
    follow(filter);
  }

  // Catches up with a fold or a rebuild that the filter did before its last entry.
  void follow(const LoggedFilter& filter) {
    const FilterRecord& record = filter.record();
    keeps_hashes_ = filter.keeps_hashes();
    unique_ = filter.options().unique;
    if (cells_ == nullptr || record.epoch != generation_) {
      const bool in_steps = filter.tail_entries() > 2;  // no other epoch begins with a tail
      in_steps ? cut_over(filter) : rebuild(filter);
    } else if (record.fold_position != fold_position_) {
      fold();
    }
    generation_ = record.epoch;
    fold_position_ = record.fold_position;
  }

  uint64_t count(uint64_t hash) const {
    const auto net = tail_.find(hash);
    const uint64_t own = net != tail_.end() && net->second > 0 ? net->second : 0;
    uint64_t least = UINT64_MAX;
    for (const uint64_t cell : cells_of(hash)) {
      least = std::min(least, lookup(base_, cell) - lookup(pending_, cell));
    }
    return multiset() ? own + least : std::min<uint64_t>(1, own + least);
  }
  bool contains(uint64_t hash) const { return count(hash) > 0; }
  // I1: added more often than removed by those who may, and nobody took a copy from its cells.
  bool must_contain(uint64_t hash) const {
    const std::vector<uint64_t> cells = cells_of(hash);
    return owned(hash) > 0 && std::none_of(cells.begin(), cells.end(), [this](uint64_t cell) {
             return lookup(taken_, cell) > 0;
           });
  }
  uint64_t owned(uint64_t hash) const { return lookup(owned_, hash); }
  uint64_t distinct() const { return owned_.size(); }
  uint64_t items() const { return items_; }
  uint64_t tail_entries() const { return tail_entries_; }
  bool multiset() const { return is_multiset(cells_->kind()); }
  // What a rebuild would find in the log: hash -> count.
  Counts kept() const { return unique_ ? each_once(kept_) : kept_; }
  bool keeps(uint64_t hash) const { return kept_.contains(hash); }

  // An insert that succeeded; `is_new`: of a set, that it was not maybe-present then.
  void added(uint64_t hash, bool is_new) {
    ++owned_[hash];
    if (!multiset()) {
      items_ += is_new ? 1 : 0;
      if (is_new || (keeps_hashes_ && !tail_.contains(hash))) {
        log({hash, Entry::kAdd});
      }
      return;
    }
    ++items_;
    log({hash, Entry::kAdd});
  }

  void removed(uint64_t hash) {
    const bool stranger = owned(hash) == 0;
    if (!stranger) {
      disowned(hash);
    }
    --items_;
    log({hash, stranger ? Entry::kStrangerRemoves : Entry::kRemove});
  }

  // The owner of a key that somebody took found nothing to remove.
  void disowned(uint64_t hash) {
    if (const auto owned = owned_.find(hash); --owned->second == 0) {
      owned_.erase(owned);
    }
  }

  // Other hashes without a log of their own were merged, or replaced everything. The filter was
  // flushed before.
  void united(const Counts& others, uint64_t items) {
    for (const auto& [hash, count] : others) {
      owned_[hash] += count;
      put(hash, count);
    }
    items_ = items;
    keeps_hashes_ = false;
    united_ = true;
  }
  // A merge of sets leaves an estimate of their items.
  bool estimated() const { return united_ && !multiset(); }
  void imported(const LoggedFilter& filter, const Counts& others) {
    *this = FilterModel();
    owned_ = filter.options().unique ? each_once(others) : others;
    for (const auto& [hash, count] : owned_) {
      kept_[hash] = filter.multiset() ? count : 1;
    }
    items_ = filter.items();
    follow(filter);
  }

  // What its cells hold when all is folded.
  FilterModel folded() const {
    FilterModel copy = *this;
    copy.fold();
    return copy;
  }

 private:
  struct Entry {
    enum Kind { kAdd, kRemove, kStrangerRemoves };  // a stranger never added it
    uint64_t hash;
    Kind kind;
  };

  // What an entry of the log does to all but the items.
  void log(const Entry& entry) {
    ++tail_entries_;
    entries_.push_back(entry);
    if (entry.kind == Entry::kAdd) {
      kept_[entry.hash] = multiset() ? kept_[entry.hash] + 1 : 1;
      if (!multiset()) {
        tail_[entry.hash] = 1;
      } else if (tail_[entry.hash]++ < 0) {
        pend(entry.hash, ~uint64_t{0});
      }
      return;
    }
    if (entry.kind == Entry::kStrangerRemoves) {
      for (const uint64_t cell : cells_of(entry.hash)) {
        ++taken_[cell];
      }
    }
    if (const auto kept = kept_.find(entry.hash); kept != kept_.end() && --kept->second == 0) {
      kept_.erase(kept);
    }
    if (tail_[entry.hash]-- <= 0) {
      pend(entry.hash, 1);
    }
  }

  static uint64_t lookup(const Counts& counts, uint64_t key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  }

  static Counts each_once(Counts counts) {
    for (auto& [hash, count] : counts) {
      count = 1;
    }
    return counts;
  }

  std::vector<uint64_t> cells_of(uint64_t hash) const {
    uint64_t cells[Filter::kMaxPlaces];
    return {cells, cells + cells_->cells_of(hash, cells)};
  }

  void pend(uint64_t hash, uint64_t removes) {
    for (const uint64_t cell : cells_of(hash)) {
      pending_[cell] += removes;
    }
  }

  void put(uint64_t hash, uint64_t copies) {
    for (const uint64_t cell : cells_of(hash)) {
      uint64_t& there = base_[cell];
      there = multiset() ? there + copies : 1;
    }
  }

  void fold() {
    for (const auto& [hash, net] : tail_) {
      put(hash, static_cast<uint64_t>(net));
    }
    forget_tail();
  }

  void rebuild(const LoggedFilter& filter) {
    Result<std::unique_ptr<Filter>> made =
        make_filter(filter.base().kind(), filter.base().words(), filter.options().page_bytes);
    cells_ = std::move(made.value());
    base_.clear();
    taken_.clear();
    if (unique_) {
      kept_ = each_once(kept_);
      owned_ = each_once(owned_);
    }
    uint64_t copies = 0;
    for (const auto& [hash, count] : kept_) {
      put(hash, count);
      copies += count;
    }
    items_ = multiset() ? copies : items_;
    forget_tail();
  }

  void cut_over(const LoggedFilter& filter) {
    const std::vector<Entry> entries = std::move(entries_);
    const uint64_t items = items_;
    kept_ = std::move(kept_at_fold_);
    rebuild(filter);
    for (const Entry& entry : entries) {
      const bool adds = entry.kind == Entry::kAdd;
      if (adds || count(entry.hash) > 0) {
        log(entry);
        items_ += adds ? 1 : ~uint64_t{0};
      }
    }
    items_ = multiset() ? items_ : items;
  }

  void forget_tail() {
    tail_.clear();
    pending_.clear();
    entries_.clear();
    tail_entries_ = 0;
    kept_at_fold_ = kept_;
  }

  std::shared_ptr<const Filter> cells_;  // for its geometry only; holds nothing
  bool keeps_hashes_ = true;
  bool unique_ = false;
  bool united_ = false;
  uint64_t generation_ = 0;
  uint64_t fold_position_ = 0;
  uint64_t items_ = 0;
  uint64_t tail_entries_ = 0;
  Counts owned_;  // hash -> adds minus removes by those who added
  Counts kept_;   // hash -> count by the log's rule, a floor at zero
  Counts kept_at_fold_;
  std::vector<Entry> entries_;  // since then
  Counts base_;                 // cell -> copies as folded; of a set 1 or none
  Counts pending_;              // cell -> removes in the tail
  Counts taken_;                // cell -> removes of keys that nobody owned, since the last rebuild
  std::unordered_map<uint64_t, int64_t> tail_;  // hash -> net; of a set 1
};

}  // namespace cuckoo::test
