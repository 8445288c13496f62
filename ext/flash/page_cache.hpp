// The pages of a flash_kv's device that are in memory, each as its row is stored. A page is found
// by its index from keep() on, until it is dropped, evicted or cleared. evict() forgets a clean
// page that was not used lately, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cuckoo {

// A page. Its row follows this header: the content, and room for the checksum, which is right while
// the page is clean.
struct FlashPage {
  static constexpr uint64_t kParity = ~uint64_t{0};  // its index

  uint64_t index;
  size_t place;  // in the cache
  bool stored;   // it has a row
  bool dirty;
  bool used;  // since the clock's hand came by

  std::byte* row() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// The memory of pages, in few large blocks, because single pages take far longer to touch for the
// first time (large_memory.hpp). A block has as many pages as all before it, up to 16 MB. Pages
// that were given back are taken again.
class FlashPageMemory {
 public:
  explicit FlashPageMemory(size_t row_bytes) noexcept
      : page_bytes_((sizeof(FlashPage) + row_bytes + alignof(FlashPage) - 1) / alignof(FlashPage) *
                    alignof(FlashPage)) {}
  void* take();
  void give_back(void* page) noexcept { free_ = new (page) Free{free_}; }
  void free_all() noexcept;                                       // none is in use
  size_t bytes() const noexcept { return taken_ * page_bytes_; }  // those given back count, too

 private:
  struct Free {
    Free* next;
  };
  size_t page_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;  // in the last block
  size_t left_ = 0;            // pages from there on
  size_t taken_ = 0;           // pages of all blocks
  Free* free_ = nullptr;
};

class FlashPageCache {
 public:
  struct GiveBack {
    FlashPageMemory* memory;
    void operator()(FlashPage* page) const noexcept { memory->give_back(page); }
  };
  using Owned = std::unique_ptr<FlashPage, GiveBack>;

  explicit FlashPageCache(size_t row_bytes) noexcept : memory_(row_bytes) {}
  void set_pages(uint64_t pages);  // every page must be among them, or the parity

  FlashPage* find(uint64_t index) noexcept {
    const Chunk* const chunk = chunk_of(index).get();
    return chunk == nullptr ? nullptr : chunk->pages[place_in_chunk(index)];
  }
  // Makes a page that is not in the cache yet, with a row of any bytes.
  Owned make(uint64_t index, bool stored);
  FlashPage* keep(Owned page);
  void drop(FlashPage* page) noexcept;
  void evict() noexcept;
  void clear() noexcept;

  std::span<FlashPage* const> pages() const noexcept { return resident_; }
  size_t memory_bytes() const noexcept;

 private:
  static constexpr unsigned kChunkShift = 9;
  struct Chunk {
    FlashPage* pages[size_t{1} << kChunkShift] = {};
  };
  // The parity is before all others here.
  std::unique_ptr<Chunk>& chunk_of(uint64_t index) noexcept {
    return chunks_[(index + 1) >> kChunkShift];
  }
  static size_t place_in_chunk(uint64_t index) noexcept {
    return (index + 1) & ((size_t{1} << kChunkShift) - 1);
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  FlashPageMemory memory_;
  std::vector<FlashPage*> resident_;
  size_t hand_ = 0;  // of the clock over resident_
};

}  // namespace cuckoo
