// The pages of one structure that are in memory: fixed size, all-zero until something is written,
// loaded one at a time at first touch.
//
// Layout
//   table_[i / 512] -> chunk of 512 pointers -> page i: page_bytes bytes of content, then
//   kSlackBytes bytes that stay zero, so that an unaligned wide load at the last bit of the content
//   never leaves the page's memory.
//   list_[i] -> page i too, after make_list(). It takes one step less.
// The marks (dirty, stored, shared) are bit maps in the chunk: marking a page touches no line of
// the page.
//
// A page is absent, zero, or backed: by memory of this set's own, or by memory that is shared with
// all sets that have an equal page (core/base/shared_buffer.hpp). share() turns own memory into
// shared memory, and the first change makes it the set's own again.
//
// A page that is known to be all zero needs no memory of its own: it is the one zero page of all
// sets, which is never written. The first change gives it its own memory. So memory, and the time
// of a walk over all pages, depend on the pages that are stored, not on the capacity. For example,
// complete() makes a filter for 2^40 keys usable at once. All sets share two chunks without backed
// pages: one has 512 null pointers, the other has 512 pointers to the zero page. So find() needs no
// branch for either.
//
// Invariants
//   I1  find(i) is null, or points to page_bytes + kSlackBytes readable bytes.
//   I2  the slack is zero.
//   I3  a page is in dirty() exactly when mark_dirty() was called since it was added or since
//       clear_dirty(); each page is in it once.
//   I4  a dirty or stored page is backed. The zero page is neither, nor is it ever written. A dirty
//       page that is the set's own is open.
//   I5  a shared page is never written, because writable() or mark_dirty() come before every
//       change.
//   I6  list()[i] is find(i) at all times, if there is a list.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/page_size.hpp"

namespace cuckoo {

class PageSet {
 public:
  static constexpr size_t kSlackBytes = 32;
  // 512 KB of pointers, to 256 MB of pages. In larger filters a list saves no time, because a
  // look-up waits for memory anyway.
  static constexpr uint64_t kMaxListed = uint64_t{1} << 16;

  // page_count >= 1; is_page_size(page_bytes). O(page_count / 512).
  PageSet(uint64_t page_count, uint32_t page_bytes);
  PageSet(PageSet&&) noexcept = default;  // a moved-from set can only be assigned or destroyed
  PageSet& operator=(PageSet&&) noexcept = default;

  uint64_t page_count() const noexcept { return page_count_; }
  uint32_t page_bytes() const noexcept { return page_bytes_; }

  // Returns the page's content, or null if it is not in memory. index < page_count().
  const std::byte* find(uint64_t index) const noexcept {
    return table_[index >> kChunkShift]->pages[index & (kChunkPages - 1)];
  }
  // Returns the pointers that find() gives, by index; null without make_list().
  const std::byte* const* list() const noexcept { return list_.get(); }
  // Returns the content of a page with memory of the set's own: added, writable() or dirty.
  std::byte* owned(uint64_t index) noexcept {
    assert(owns(index));
    return const_cast<std::byte*>(find(index));
  }
  // Returns the first page from `index` on that is backed; page_count() if there is none. All
  // others are absent or zero. Skips 512 of them at a time.
  uint64_t next_backed(uint64_t index) const noexcept;

  // Adds an all-zero page that is not in memory yet, and returns it. `stored`: a row for it exists.
  // When memory runs out (std::bad_alloc), here and below, the pages are as they were.
  std::byte* add(uint64_t index, bool stored);
  // Makes the list(), unless there are more than kMaxListed pages. O(page_count).
  void make_list();
  void drop_list() noexcept { list_.reset(); }
  // Makes all pages that are not in memory zero pages. O(page_count / 512), but O(page_count) if
  // there is a list.
  void complete() noexcept;

  // Shares the memory of a page, which the set owns, with all equal pages until it is changed.
  void share(uint64_t index) noexcept;
  bool shared(uint64_t index) const noexcept {
    return (table_[index >> kChunkShift]->shared[mark_word(index)] & mark_bit(index)) != 0;
  }

  // Returns the page with memory of the set's own, whatever it was before. Does not mark it.
  std::byte* writable(uint64_t index) { return owns(index) ? owned(index) : own(index); }
  // Marks the page, and makes it writable(). It must be in memory. Throws (std::bad_alloc) before
  // the page is marked.
  void mark_dirty(uint64_t index) {
    if (!is_open(index)) {
      open(index);
    }
  }
  // Is it marked, and may it be written?
  bool is_open(uint64_t index) const noexcept {
    return (table_[index >> kChunkShift]->open[mark_word(index)] >> (index % 64) & 1) != 0;
  }
  const std::vector<uint64_t>& dirty() const noexcept { return dirty_; }
  void clear_dirty() noexcept;                // every page that was dirty now counts as stored
  void note_stored(uint64_t index) noexcept;  // a row for it exists; the page may be dirty

  bool stored(uint64_t index) const noexcept;  // the page must be in memory

  uint64_t backed_count() const noexcept { return backed_count_; }
  size_t memory_bytes() const noexcept;  // shared pages count in full
  // Returns memory_bytes() of a set that has read all of so many pages, none of them zero, without
  // a list.
  static uint64_t memory_bytes_for(uint64_t page_count, uint32_t page_bytes) noexcept;

 private:
  static constexpr unsigned kChunkShift = 9;
  static constexpr size_t kChunkPages = size_t{1} << kChunkShift;
  struct Chunk {
    const std::byte* pages[kChunkPages] = {};
    uint64_t dirty[kChunkPages / 64] = {};
    uint64_t open[kChunkPages / 64] = {};
    uint64_t stored[kChunkPages / 64] = {};
    uint64_t shared[kChunkPages / 64] = {};
  };
  struct OwnedChunk : Chunk {
    explicit OwnedChunk(const Chunk& shared) noexcept : Chunk(shared) {}
    OwnedChunk(const OwnedChunk&) = delete;
    OwnedChunk& operator=(const OwnedChunk&) = delete;
    ~OwnedChunk();  // frees the pages
  };
  static const Chunk kNoPages;
  static const Chunk kZeroPages;
  static const std::byte kZeroPage[kMaxPageBytes + kSlackBytes];

  static bool is_empty(const Chunk* chunk) noexcept {
    return chunk == &kNoPages || chunk == &kZeroPages;
  }
  bool backed(uint64_t index) const noexcept {
    return find(index) != nullptr && find(index) != kZeroPage;
  }
  bool owns(uint64_t index) const noexcept { return backed(index) && !shared(index); }
  static size_t mark_word(uint64_t index) noexcept { return (index & (kChunkPages - 1)) / 64; }
  static uint64_t mark_bit(uint64_t index) noexcept { return uint64_t{1} << (index % 64); }
  Chunk& owned_chunk(uint64_t index) noexcept;  // not an empty one
  Chunk& own_chunk(uint64_t index);
  void point_to(const std::byte* page, Chunk& chunk, uint64_t index) noexcept;
  std::byte* own(uint64_t index);
  void open(uint64_t index);

  uint64_t page_count_;
  uint32_t page_bytes_;
  uint64_t backed_count_ = 0;
  std::vector<const Chunk*> table_;  // &kNoPages, &kZeroPages or one of chunks_
  std::vector<std::unique_ptr<OwnedChunk>> chunks_;
  std::unique_ptr<const std::byte*[]> list_;
  std::vector<uint64_t> dirty_;
};

}  // namespace cuckoo
