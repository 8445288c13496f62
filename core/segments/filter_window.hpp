// What a table holds: one filter, or a sliding window of N generations of which the newest takes
// the adds and a probe asks all.
//
// Invariants
//   I1  a key added to one of the generations still held is present.
//   I2  the rates of N generations add up to the rate asked: each is made for 1 - (1 - ε)^(1/N).
//   I3  nothing is removed from a window, because a remove could take a colliding entry out of
//       another generation's key. An older generation never changes; entries that were pending when
//       it became old are pending still.
//   I4  rotation r has slot r mod N, whose ids begin at slot · 2^56 (core/segments/blocks.hpp).
//       When a slot is used again its blocks are erased before.
//   I5  equal windows' blocks, equal older generations: it has a hash of all that ever happened to
//       them. So a connection that follows need not look at them.
//
// With N = 1 there is slot 0 alone, and nothing else is stored. With more, block -1 says which
// rotation is the newest, and how many are held:
//   0   4  magic "CKW3"         8   8  rotation         24  8  hash of the past (I5)
//   4   4  version 3           16   8  generations held
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/segments/block_storage.hpp"
#include "core/segments/filter_file.hpp"
#include "core/stored/poison.hpp"

namespace cuckoo::segments {

class FilterWindow {
 public:
  FilterWindow(const FilterOptions& options, BlockStorage& storage);

  const FilterOptions& options() const noexcept { return newest_->options(); }

  // As FilterFile's, for all generations.
  Status create();
  Status refresh();
  void forget() noexcept;
  bool usable() const noexcept { return !stale_ && !poison_.poisoned() && newest_->usable(); }
  bool poisoned() const noexcept;
  bool pending() const noexcept;
  Status flush();
  Status finish_load();
  void committed() noexcept;

  using Answer = FilterFile::Answer;
  Status load(uint64_t hash);
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    const Answer answer = newest_->probe(hash);
    if (older_.empty()) [[likely]] {
      return answer;
    }
    return answer == Answer::kAbsent ? probe_older(hash) : answer;
  }
  Result<bool> load_and_probe(uint64_t hash);
  Result<uint64_t> count(uint64_t hash);

  // Begins a new generation and forgets the oldest when there are N. kInvalid when N is 1. What was
  // pending before is written; the rotation itself is pending.
  Status rotate();
  Status clear();
  // Everything that storage holds after a flush(), as a connection that opens it then finds it.
  // Nothing is written, and nothing changes here.
  Status check() const;
  // What changes a filter changes the newest generation. import() is for a single one.
  FilterFile& newest() noexcept { return *newest_; }
  const FilterFile& newest() const noexcept { return *newest_; }

  std::vector<uint64_t> generation_items() const;  // newest first
  uint64_t items() const;
  uint64_t key_types() const noexcept;  // of all generations
  double target_rate() const noexcept;
  double rate_now() const;
  uint64_t log_entries() const noexcept;
  size_t memory_bytes() const;
  uint64_t stored_bytes() const;

 private:
  // What the window's block says.
  struct State {
    uint64_t rotation = 0;
    uint64_t held = 1;
    uint64_t past = 0;  // I5
    friend bool operator==(const State&, const State&) = default;
  };
  static std::vector<std::byte> encode(const State& state);
  Result<State> decode(std::span<const std::byte> content) const;

  bool single() const noexcept { return files_.size() == 1; }
  uint64_t slot_of(uint64_t rotation) const noexcept { return rotation % files_.size(); }
  FilterFile& in_slot(uint64_t slot);
  void arrange(const State& state);
  Answer probe_older(uint64_t hash);
  Status write_to(BlockStorage& storage) const;
  Status check_strays() const;
  template <class Number, class Figure>
  Number sum(Figure&& figure) const;

  BlockStorage& storage_;
  FilterOptions created_;                           // with which new generations are made
  std::vector<std::unique_ptr<FilterFile>> files_;  // by slot; those not held may be none
  FilterFile* newest_;
  std::vector<FilterFile*> older_;  // newest first
  State state_;
  bool state_changed_ = false;  // it is not flushed
  bool state_stored_ = false;
  bool stale_ = true;               // storage may hold other generations
  std::vector<uint64_t> to_erase_;  // slots, before anything is written
  Poison poison_;                   // by a write of the window's own
};

}  // namespace cuckoo::segments
