// A filter of keys' hashes that lives in memory alone: a segments::FilterFile that is never
// flushed. It grows, folds and counts as a table's filter does; what it would write is dropped.
// The classes of <cuckoo/cuckoo_filter.hpp> and <cuckoo/bloom_filter.hpp> are made of it.
//
// Invariants
//   I1  between two changes every segment is in memory and every pending entry is indexed. So
//       contains(), count(), to_bytes() and the figures write nothing, and threads may call them at
//       the same time.
//   I2  the log holds fewer than kMostLogged entries between two changes, whatever was added: no
//       entry of it is read again once it is dealt to its segment.
//   I3  an operation that fails with kInvalid or kFull changed nothing. After std::bad_alloc in a
//       change, or a failure in the middle of one, the filter is broken(): contains() says yes to
//       everything, because a no could be wrong, and all else fails.
//   I4  nothing of an image is believed: of_image() verifies all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/block_storage.hpp"
#include "core/segments/filter_file.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo {

class MemoryFilter {
 public:
  // kInvalid when an option is out of its range.
  static Result<std::unique_ptr<MemoryFilter>> make(const FilterOptions& options);
  // … of what a program asks for; the seed is random unless it is given.
  static Result<std::unique_ptr<MemoryFilter>> make_for(FilterKind kind, uint64_t keys, double rate,
                                                        std::optional<uint64_t> seed, bool grows);
  // Of an image of one filter, whose kind is one of `kinds`. kCorrupt: bytes that are no image.
  // kInvalid: an image of what this class is not, and why.
  static Result<std::unique_ptr<MemoryFilter>> of_image(std::span<const std::byte> image,
                                                        std::span<const FilterKind> kinds);
  MemoryFilter(const MemoryFilter&) = delete;
  MemoryFilter& operator=(const MemoryFilter&) = delete;

  const FilterOptions& options() const noexcept { return file_->options(); }
  bool broken() const noexcept { return broken_ || file_->poisoned(); }
  Status usable() const;

  // --- asking
  bool contains(uint64_t hash) const noexcept {
    return broken() || file_->probe(logged(hash)) == segments::FilterFile::Answer::kPresent;
  }
  uint64_t count(uint64_t hash) const;
  uint64_t items() const noexcept { return items_; }
  uint64_t capacity() const { return file_->made_for(); }
  double target_rate() const noexcept { return file_->target_rate(); }
  double rate_now() const { return file_->rate_now(); }
  double load_factor() const { return file_->load_factor(); }
  size_t memory_bytes() const { return sizeof *this + sizeof *file_ + file_->memory_bytes(); }
  bool keeps_hashes() const noexcept { return file_->keeps_hashes(); }
  Result<std::vector<std::byte>> to_bytes(bool with_hashes) const;

  // --- changing
  Status insert(uint64_t hash, uint64_t copies = 1);
  // kFull: a multiset took none of them; a set, which can't count them before, the first ones.
  Status insert_all(std::span<const uint64_t> hashes);
  Result<bool> insert_new(uint64_t hash);
  Result<bool> remove(uint64_t hash);
  Status clear();
  // All that is in the other one, too. By hashes where both keep them; else cell by cell, which
  // takes filters of one geometry.
  Status merge(const MemoryFilter& other);
  void note_key_types(uint64_t types) noexcept { file_->note_key_types(types); }

 private:
  // Where blocks would be read and written. There are none, and none is written.
  class NoBlocks final : public segments::BlockStorage {
   public:
    Status read(int64_t, int64_t, const Visitor&) override { return {}; }
    Status write(int64_t, std::span<const std::byte>, bool) override {
      return Error{ErrorCode::kStorage, "a filter in memory is not stored"};
    }
    Status erase(int64_t, int64_t) override { return {}; }
    Status poll() override { return {}; }
  };

  static constexpr size_t kMostLogged = 4096;

  explicit MemoryFilter(const FilterOptions& options);
  uint64_t logged(uint64_t hash) const noexcept { return logged_hash(hash, width_); }
  template <class Change>
  auto changing(Change&& change);
  Status settle(uint64_t hash);
  Status settle_all();
  Status end_change();
  Status merge_hashes(const MemoryFilter& other);

  std::unique_ptr<NoBlocks> none_;
  std::unique_ptr<segments::FilterFile> file_;
  HashWidth width_;
  uint64_t items_ = 0;
  bool broken_ = false;
};

}  // namespace cuckoo
