// What a table holds: one filter, or a sliding window of N generations of which the newest takes
// the adds and a probe asks all.
//
// Invariants
//   I1  a key added to one of the generations still held is present.
//   I2  the rates of N generations add up to the rate asked: each is made for 1 - (1 - ε)^(1/N).
//   I3  older generations have no tail and never change: nothing is removed from a window, because
//       a remove could take a colliding entry out of another generation's key.
//   I4  epochs, which name the ids of pages and log rows, ascend from generation to generation and
//       are never used twice. Steps (LoggedFilter) are made by the newest one alone, and none of
//       their rows is left when it is the newest no more.
//
// In storage the newest one's record is *the* record; it says how many older ones there are. Theirs
// stand in slots 0 … N - 1: rotation r in slot r mod N.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/stored/logged_filter.hpp"

namespace cuckoo {

class FilterWindow {
 public:
  FilterWindow(const FilterOptions& options, FilterStorage& storage);

  const FilterOptions& options() const noexcept { return newest_->options(); }

  // As LoggedFilter's, for all generations.
  Status create() { return newest_->create(); }
  Status refresh(std::span<const std::byte> bytes);
  void forget() noexcept;
  bool usable() const noexcept { return newest_->usable() && !stale_ && !poison_.poisoned(); }
  bool poisoned() const noexcept { return newest_->poisoned() || poison_.poisoned(); }
  bool pending() const noexcept { return newest_->pending(); }
  Status flush() { return poison_.poisoned() ? poison_.error() : newest_->flush(); }
  Status fold_rest() { return poison_.poisoned() ? poison_.error() : newest_->fold_rest(); }
  void committed() noexcept;
  void rolled_back() noexcept;

  using Answer = LoggedFilter::Answer;
  Status load(uint64_t hash);
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    const Answer answer = newest_->probe(hash);
    if (older_.empty()) [[likely]] {
      return answer;
    }
    return answer == Answer::kAbsent ? probe_older(hash) : answer;
  }
  bool contains(uint64_t hash) { return probe(hash) == Answer::kPresent; }
  uint64_t count(uint64_t hash);

  // Begins a new generation and forgets the oldest when there are N. kInvalid when N is 1.
  Status rotate();
  Status clear();
  // All that storage holds after a flush(), against every invariant and counter, as somebody who
  // opens it then finds it. Nothing is written, and nothing changes here.
  Status check() const;
  // What changes a filter changes the newest generation.
  LoggedFilter& newest() noexcept { return *newest_; }
  const LoggedFilter& newest() const noexcept { return *newest_; }

  std::vector<uint64_t> generation_items() const;  // newest first
  uint64_t items() const noexcept;
  uint64_t key_types() const noexcept;  // of all generations
  double target_rate() const noexcept;
  double rate_now() const noexcept;
  uint64_t log_entries() const noexcept;
  size_t memory_bytes() const noexcept;
  uint64_t stored_rows() const noexcept;

 private:
  using Generations = std::vector<std::unique_ptr<LoggedFilter>>;

  Answer probe_older(uint64_t hash);
  Status reload_older(const FilterRecord& newest);
  uint64_t slot_of(uint64_t rotation) const noexcept { return rotation % options().generations; }
  Status check_stored();
  Status check_strays();
  template <class Number, class Figure>
  Number sum(Figure&& figure) const noexcept;

  FilterStorage& storage_;
  std::unique_ptr<LoggedFilter> newest_;
  Generations older_;   // newest first
  bool stale_ = false;  // older_ may not be what storage holds
  Poison poison_;       // by a write of the window's own
};

}  // namespace cuckoo
