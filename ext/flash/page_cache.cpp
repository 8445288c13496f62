#include "ext/flash/page_cache.hpp"

#include <algorithm>
#include <utility>

#include "core/base/large_memory.hpp"

namespace cuckoo {

void* FlashPageMemory::take() {
  constexpr size_t kLeastPages = 8;
  constexpr size_t kMostBytes = size_t{16} << 20;
  if (free_ != nullptr) {
    return std::exchange(free_, free_->next);
  }
  if (left_ == 0) {
    const size_t pages = std::max(kLeastPages, std::min(taken_, kMostBytes / page_bytes_));
    // Not make_unique(), which writes zeros.
    blocks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[pages * page_bytes_]));
    next_ = blocks_.back().get();
    left_ = pages;
    prefer_large_pages(next_, pages * page_bytes_);
  }
  --left_;
  ++taken_;
  return std::exchange(next_, next_ + page_bytes_);
}

void FlashPageMemory::free_all() noexcept {
  blocks_.clear();
  left_ = taken_ = 0;
  free_ = nullptr;
}

void FlashPageCache::set_pages(uint64_t pages) {
  chunks_.resize((pages >> kChunkShift) + 1);  // with room for the parity
}

size_t FlashPageCache::memory_bytes() const noexcept {
  size_t bytes =
      memory_.bytes() + resident_.size() * sizeof(void*) + chunks_.size() * sizeof(chunks_[0]);
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    bytes += chunk != nullptr ? sizeof(Chunk) : 0;
  }
  return bytes;
}

FlashPageCache::Owned FlashPageCache::make(uint64_t index, bool stored) {
  static_assert(alignof(FlashPage) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return {new (memory_.take()) FlashPage{index, 0, stored, false, true}, GiveBack{&memory_}};
}

FlashPage* FlashPageCache::keep(Owned page) {
  std::unique_ptr<Chunk>& chunk = chunk_of(page->index);
  if (chunk == nullptr) {
    chunk = std::make_unique<Chunk>();
  }
  page->place = resident_.size();
  resident_.push_back(page.get());
  FlashPage* const kept = page.release();
  chunk->pages[place_in_chunk(kept->index)] = kept;
  return kept;
}

void FlashPageCache::drop(FlashPage* page) noexcept {
  chunk_of(page->index)->pages[place_in_chunk(page->index)] = nullptr;
  const size_t place = page->place;
  std::swap(resident_[place], resident_.back());
  resident_[place]->place = place;
  resident_.pop_back();
  memory_.give_back(page);
}

void FlashPageCache::evict() noexcept {
  for (size_t steps = 2 * resident_.size(); steps > 0; --steps) {
    hand_ = hand_ + 1 < resident_.size() ? hand_ + 1 : 0;
    FlashPage* const page = resident_[hand_];
    if (!page->dirty && !std::exchange(page->used, false)) {
      drop(page);
      return;
    }
  }
}

void FlashPageCache::clear() noexcept {
  for (std::unique_ptr<Chunk>& chunk : chunks_) {
    chunk.reset();
  }
  resident_.clear();
  memory_.free_all();
  hand_ = 0;
}

}  // namespace cuckoo
