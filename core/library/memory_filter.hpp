// A filter of keys' hashes in memory alone: a segments::FilterFile that is never flushed. It grows
// and counts as a table's filter does. But it writes no log, and a change is in the cells when it
// ends. The classes of <cuckoo/cuckoo_filter.hpp> and <cuckoo/bloom_filter.hpp> use it.
//
//   slots_:  leading bits of the hash  ->  the filter of its segment, and its depth
//
// Invariants
//   I1  between two changes all lists are applied, the log is empty, and every segment that holds
//       something is in memory. So contains(), count(), to_bytes() and the figures write nothing,
//       and threads may call them at the same time.
//   I2  between two changes slots_ has the segments of file_, unless it is broken(). Its depth is
//       that of the directory.
//   I3  an operation that fails with kInvalid or kFull changed nothing, except that insert_all() of
//       a set may have taken the first hashes. After std::bad_alloc in a change, or a failure in
//       the middle of one, the filter is broken(). Then contains() returns true for every hash,
//       because a false could be wrong. count() returns 1, and changes and to_bytes() fail.
//   I4  of_image() verifies an image as a whole, because nothing in it is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/filter/filter.hpp"
#include "core/segments/block_storage.hpp"
#include "core/segments/filter_file.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo {

class MemoryFilter {
 public:
  // Makes an empty filter. kInvalid: an option is out of its range.
  static Result<std::unique_ptr<MemoryFilter>> make(const FilterOptions& options);
  // Makes an empty filter for so many keys and a rate. The seed is random unless it is given.
  static Result<std::unique_ptr<MemoryFilter>> make_for(FilterKind kind, uint64_t keys, double rate,
                                                        std::optional<uint64_t> seed, bool grows);
  // Makes a filter of an image, whose kind is one of `kinds`. kCorrupt: the bytes are no image.
  // kInvalid: it is the image of a filter that this class can't be; the text says why.
  static Result<std::unique_ptr<MemoryFilter>> of_image(std::span<const std::byte> image,
                                                        std::span<const FilterKind> kinds);
  MemoryFilter(const MemoryFilter&) = delete;
  MemoryFilter& operator=(const MemoryFilter&) = delete;

  const FilterOptions& options() const noexcept { return file_->options(); }
  uint64_t seed() const noexcept { return seed_; }
  bool broken() const noexcept { return state_ == State::kBroken; }
  Status usable() const;

  // --- asking
  [[gnu::always_inline]] bool contains(uint64_t hash) const noexcept {
    const Slot& slot = slots_[slot_of(hash)];
    if (state_ == State::kCuckoo) [[likely]] {
      return slot.filter != nullptr &&
             slot.probe(*static_cast<const cuckoo::CuckooFilter*>(slot.filter),
                        rest_of(hash, slot)) == Filter::Answer::kPresent;
    }
    return otherwise_contains(hash);
  }
  // Appends the answer for each hash. Meanwhile it fetches the memory of the next ones.
  void contains_all(std::span<const uint64_t> hashes, std::vector<bool>& found) const;
  uint64_t count(uint64_t hash) const;
  uint64_t items() const noexcept { return items_; }
  uint64_t capacity() const { return file_->made_for(); }
  double target_rate() const noexcept { return file_->target_rate(); }
  double rate_now() const { return file_->rate_now(); }
  double load_factor() const { return file_->load_factor(); }
  size_t memory_bytes() const {
    return sizeof *this + sizeof *file_ + file_->memory_bytes() + slots_.capacity() * sizeof(Slot);
  }
  bool keeps_hashes() const noexcept { return file_->keeps_hashes(); }
  // Returns how many hashes both have.
  Result<uint64_t> overlap(const MemoryFilter& other) const;
  Result<std::vector<std::byte>> to_bytes(bool with_hashes) const;

  // --- changing
  Status insert(uint64_t hash, uint64_t copies = 1);
  // kFull: a multiset took none of them. A set may have taken the first ones, because it can't
  // count them before.
  Status insert_all(std::span<const uint64_t> hashes);
  Result<bool> insert_new(uint64_t hash);
  Result<bool> remove(uint64_t hash);
  Status clear();
  // Adds all that the other filter has: by hashes if both keep them, otherwise cell by cell. That
  // takes filters of one geometry.
  Status merge(const MemoryFilter& other);
  void note_key_types(uint64_t types) noexcept { file_->note_key_types(types); }

 private:
  // A storage without blocks, to which none can be written.
  class NoBlocks final : public segments::BlockStorage {
   public:
    Status read(int64_t, int64_t, const Visitor&) override { return {}; }
    Status write(int64_t, std::span<const std::byte>, bool) override {
      return Error{ErrorCode::kStorage, "a filter in memory is not stored"};
    }
    Status erase(int64_t, int64_t) override { return {}; }
    Status poll() override { return {}; }
  };

  static constexpr size_t kAhead = 12;  // keys whose memory is fetched at one time

  enum class State : uint8_t { kCuckoo, kBloom, kBroken };
  static State state_of(FilterKind kind) noexcept {
    return kind == FilterKind::kCuckoo ? State::kCuckoo : State::kBloom;
  }

  // The part of a leaf of the directory that a look-up needs. `filter` is null if the leaf has no
  // segment.
  struct Slot {
    const Filter* filter = nullptr;
    cuckoo::CuckooFilter::Probe probe = nullptr;  // of a cuckoo filter
    unsigned depth = 0;                           // of the leaf
  };

  explicit MemoryFilter(const FilterOptions& options);
  uint64_t logged(uint64_t hash) const noexcept { return hash & logged_bits_; }
  size_t slot_of(uint64_t hash) const noexcept {
    return static_cast<size_t>((hash >> 1) >> slot_shift_);
  }
  uint64_t rest_of(uint64_t hash, const Slot& slot) const noexcept {
    return logged(hash) << slot.depth;
  }
  // Fetches the memory that contains() and insert() will read. CuckooFilter::prefetch() says why it
  // is inlined.
  [[gnu::always_inline]] void prefetch(uint64_t hash) const noexcept {
    const Slot& slot = slots_[slot_of(hash)];
    if (broken() || slot.filter == nullptr) {
      return;
    }
    if (state_ == State::kCuckoo) {
      static_cast<const cuckoo::CuckooFilter*>(slot.filter)->prefetch(rest_of(hash, slot));
    } else {
      static_cast<const cuckoo::BloomFilter*>(slot.filter)->prefetch(rest_of(hash, slot));
    }
  }
  // As contains(), for a Bloom filter, or one that is broken. It is a function of its own, so that
  // a cuckoo filter's look-up saves no registers for it.
  bool otherwise_contains(uint64_t hash) const noexcept;
  template <class Change>
  auto changing(Change&& change);
  template <class Change>
  auto changing_all(Change&& change);
  template <class Change>
  auto changing_segment_of(uint64_t hash, Change&& change);
  void note_segments();
  void note_segments_of(uint64_t hash);
  Slot slot_now(size_t index) const;
  Status merge_hashes(const MemoryFilter& other);

  // The members that contains() needs.
  std::vector<Slot> slots_;
  unsigned slot_shift_ = 63;
  State state_;
  uint64_t logged_bits_;
  uint64_t seed_ = 0;

  std::unique_ptr<NoBlocks> none_;
  std::unique_ptr<segments::FilterFile> file_;
  uint64_t noted_ = 0;  // file_->next_number() of I2
  uint64_t items_ = 0;
};

}  // namespace cuckoo
