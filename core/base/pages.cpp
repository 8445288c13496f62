#include "core/base/pages.hpp"

#include <algorithm>

#include "core/base/shared_buffer.hpp"

namespace cuckoo {

alignas(64) constinit const std::byte PageSet::kZeroPage[kMaxPageBytes + kSlackBytes] = {};
constinit const PageSet::Chunk PageSet::kNoPages = {};
constinit const PageSet::Chunk PageSet::kZeroPages = [] {
  Chunk chunk;
  std::fill(std::begin(chunk.pages), std::end(chunk.pages), kZeroPage);
  return chunk;
}();

PageSet::OwnedChunk::~OwnedChunk() {
  for (size_t i = 0; i < kChunkPages; ++i) {
    if (pages[i] == nullptr || pages[i] == kZeroPage) {
      continue;
    }
    if ((shared[mark_word(i)] & mark_bit(i)) != 0) {
      release_buffer(pages[i]);
    } else {
      free_buffer(const_cast<std::byte*>(pages[i]));
    }
  }
}

PageSet::PageSet(uint64_t page_count, uint32_t page_bytes)
    : page_count_(page_count),
      page_bytes_(page_bytes),
      table_((page_count + kChunkPages - 1) / kChunkPages, &kNoPages) {
  assert(page_count >= 1);
  assert(is_page_size(page_bytes));
}

PageSet::Chunk& PageSet::owned_chunk(uint64_t index) noexcept {
  // own_chunk() made every chunk non-const, except the empty ones.
  assert(!is_empty(table_[index >> kChunkShift]));
  return const_cast<Chunk&>(*table_[index >> kChunkShift]);
}

PageSet::Chunk& PageSet::own_chunk(uint64_t index) {
  if (const Chunk*& entry = table_[index >> kChunkShift]; is_empty(entry)) {
    chunks_.push_back(std::make_unique<OwnedChunk>(*entry));
    entry = chunks_.back().get();
  }
  return owned_chunk(index);
}

void PageSet::point_to(const std::byte* page, Chunk& chunk, uint64_t index) noexcept {
  chunk.pages[index & (kChunkPages - 1)] = page;
  if (list_ != nullptr) {
    list_[index] = page;
  }
}

std::byte* PageSet::own(uint64_t index) {
  assert(index < page_count_ && !owns(index));
  Chunk& chunk = own_chunk(index);
  const bool was_shared = shared(index);
  std::byte* const own =
      was_shared ? own_buffer(find(index)) : make_buffer(size_t{page_bytes_} + kSlackBytes);
  if (was_shared) {
    chunk.shared[mark_word(index)] &= ~mark_bit(index);
  } else {
    ++backed_count_;
  }
  point_to(own, chunk, index);
  return own;
}

void PageSet::share(uint64_t index) noexcept {
  assert(owns(index));
  Chunk& chunk = owned_chunk(index);
  point_to(share_buffer(owned(index)), chunk, index);
  chunk.shared[mark_word(index)] |= mark_bit(index);
  chunk.open[mark_word(index)] &= ~mark_bit(index);
}

std::byte* PageSet::add(uint64_t index, bool stored) {
  assert(find(index) == nullptr);
  std::byte* const page = own(index);
  if (stored) {
    owned_chunk(index).stored[mark_word(index)] |= mark_bit(index);
  }
  return page;
}

void PageSet::make_list() {
  if (page_count_ > kMaxListed) {
    return;
  }
  list_ = std::make_unique<const std::byte*[]>(page_count_);
  for (uint64_t index = 0; index < page_count_; ++index) {
    list_[index] = find(index);
  }
}

void PageSet::complete() noexcept {
  std::replace(table_.begin(), table_.end(), &kNoPages, &kZeroPages);
  const std::byte* const absent = nullptr;
  for (const auto& chunk : chunks_) {
    std::replace(std::begin(chunk->pages), std::end(chunk->pages), absent, &kZeroPage[0]);
  }
  if (list_ != nullptr) {
    std::replace(list_.get(), list_.get() + page_count_, absent, &kZeroPage[0]);
  }
}

uint64_t PageSet::next_backed(uint64_t index) const noexcept {
  while (index < page_count_ && !backed(index)) {
    index = is_empty(table_[index >> kChunkShift]) ? (index | (kChunkPages - 1)) + 1 : index + 1;
  }
  return std::min(index, page_count_);
}

void PageSet::open(uint64_t index) {
  assert(find(index) != nullptr);
  (void)writable(index);
  Chunk& chunk = owned_chunk(index);
  if ((chunk.dirty[mark_word(index)] & mark_bit(index)) == 0) {
    dirty_.push_back(index);
    chunk.dirty[mark_word(index)] |= mark_bit(index);
  }
  chunk.open[mark_word(index)] |= mark_bit(index);
}

void PageSet::clear_dirty() noexcept {
  for (const uint64_t index : dirty_) {
    Chunk& chunk = owned_chunk(index);
    chunk.dirty[mark_word(index)] &= ~mark_bit(index);
    chunk.open[mark_word(index)] &= ~mark_bit(index);
    chunk.stored[mark_word(index)] |= mark_bit(index);
  }
  dirty_.clear();
}

void PageSet::note_stored(uint64_t index) noexcept {
  owned_chunk(index).stored[mark_word(index)] |= mark_bit(index);
}

bool PageSet::stored(uint64_t index) const noexcept {
  assert(find(index) != nullptr);
  return (table_[index >> kChunkShift]->stored[mark_word(index)] & mark_bit(index)) != 0;
}

size_t PageSet::memory_bytes() const noexcept {
  const size_t listed = list_ == nullptr ? 0 : page_count_;
  return sizeof *this + (table_.capacity() + listed) * sizeof(void*) +
         chunks_.capacity() * sizeof(void*) + chunks_.size() * sizeof(OwnedChunk) +
         dirty_.capacity() * sizeof(dirty_[0]) +
         backed_count_ * (size_t{page_bytes_} + kSlackBytes + kBufferOverhead);
}

uint64_t PageSet::memory_bytes_for(uint64_t page_count, uint32_t page_bytes) noexcept {
  const uint64_t chunks = (page_count + kChunkPages - 1) / kChunkPages;
  return sizeof(PageSet) + chunks * (2 * sizeof(void*) + sizeof(OwnedChunk)) +
         page_count * (uint64_t{page_bytes} + kSlackBytes + kBufferOverhead);
}

}  // namespace cuckoo
