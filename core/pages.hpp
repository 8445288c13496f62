// The pages of one structure that are in memory: fixed size, all-zero until something is written,
// loaded one at a time at first touch.
//
// Layout
//   table_[i / 512] -> chunk of 512 pointers -> page i: page_bytes bytes of content, then
//   kSlackBytes bytes that stay zero, so that an unaligned wide load at the last bit of the content
//   never leaves the page's memory.
// The marks (dirty, stored) are bit maps in the chunk: marking a page touches no line of the page.
// A chunk without any page is one shared chunk of null pointers: find() needs no branch for it.
//
// Invariants
//   I1  find(i) is null, or points to page_bytes + kSlackBytes readable bytes.
//   I2  the slack is zero.
//   I3  a page is in dirty() exactly when mark_dirty() was called since it was added or since
//       clear_dirty(); each page stands there once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cuckoo {

class PageSet {
 public:
  static constexpr size_t kSlackBytes = 32;

  // page_count >= 1; page_bytes a multiple of 64, at least 64. O(page_count / 512).
  PageSet(uint64_t page_count, uint32_t page_bytes);
  PageSet(PageSet&&) noexcept = default;  // a moved-from set can only be assigned or destroyed
  PageSet& operator=(PageSet&&) noexcept = default;

  uint64_t page_count() const noexcept { return page_count_; }
  uint32_t page_bytes() const noexcept { return page_bytes_; }

  // The page's content, or null when it is not in memory. index < page_count().
  const std::byte* find(uint64_t index) const noexcept {
    return table_[index >> kChunkShift]->pages[index & (kChunkPages - 1)];
  }
  std::byte* find(uint64_t index) noexcept {
    return table_[index >> kChunkShift]->pages[index & (kChunkPages - 1)];
  }

  // Adds an all-zero page that is not in memory yet, and returns it. `stored`: a row for it exists.
  // When memory runs out (std::bad_alloc) no page was added.
  std::byte* add(uint64_t index, bool stored);

  // The page must be in memory. Throws (std::bad_alloc) before the page is marked.
  void mark_dirty(uint64_t index) {
    if ((table_[index >> kChunkShift]->dirty[mark_word(index)] & mark_bit(index)) == 0) {
      add_dirty(index);
    }
  }
  const std::vector<uint64_t>& dirty() const noexcept { return dirty_; }
  void clear_dirty() noexcept;  // every page that was dirty now counts as stored

  bool stored(uint64_t index) const noexcept;  // the page must be in memory

  uint64_t loaded_count() const noexcept { return loaded_count_; }
  size_t memory_bytes() const noexcept;

 private:
  static constexpr unsigned kChunkShift = 9;
  static constexpr size_t kChunkPages = size_t{1} << kChunkShift;
  struct Chunk {
    std::byte* pages[kChunkPages] = {};
    uint64_t dirty[kChunkPages / 64] = {};
    uint64_t stored[kChunkPages / 64] = {};
  };
  struct OwnedChunk : Chunk {
    OwnedChunk() noexcept = default;
    OwnedChunk(const OwnedChunk&) = delete;
    OwnedChunk& operator=(const OwnedChunk&) = delete;
    ~OwnedChunk();  // frees the pages
  };
  static const Chunk kNoPages;

  static size_t mark_word(uint64_t index) noexcept { return (index & (kChunkPages - 1)) / 64; }
  static uint64_t mark_bit(uint64_t index) noexcept { return uint64_t{1} << (index % 64); }
  // A page of it is in memory, so it is not kNoPages.
  Chunk& owned_chunk(uint64_t index) noexcept;
  void add_dirty(uint64_t index);

  uint64_t page_count_;
  uint32_t page_bytes_;
  uint64_t loaded_count_ = 0;
  std::vector<const Chunk*> table_;  // &kNoPages or one of chunks_
  std::vector<std::unique_ptr<OwnedChunk>> chunks_;
  std::vector<uint64_t> dirty_;
};

}  // namespace cuckoo
