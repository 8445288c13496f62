#include "core/pages.hpp"

#include <cassert>

namespace cuckoo {

constinit const PageSet::Chunk PageSet::kNoPages = {};

PageSet::OwnedChunk::~OwnedChunk() {
  for (std::byte* page : pages) {
    delete[] page;
  }
}

PageSet::PageSet(uint64_t page_count, uint32_t page_bytes)
    : page_count_(page_count),
      page_bytes_(page_bytes),
      table_((page_count + kChunkPages - 1) / kChunkPages, &kNoPages) {
  assert(page_count >= 1);
  assert(page_bytes >= 64 && page_bytes % 64 == 0);
}

PageSet::Chunk& PageSet::owned_chunk(uint64_t index) noexcept {
  // Every chunk but kNoPages was made non-const, by add().
  assert(table_[index >> kChunkShift] != &kNoPages);
  return const_cast<Chunk&>(*table_[index >> kChunkShift]);
}

std::byte* PageSet::add(uint64_t index, bool stored) {
  assert(index < page_count_ && find(index) == nullptr);
  // All that can throw comes first.
  auto page = std::make_unique<std::byte[]>(size_t{page_bytes_} + kSlackBytes);
  if (const Chunk*& entry = table_[index >> kChunkShift]; entry == &kNoPages) {
    chunks_.push_back(std::make_unique<OwnedChunk>());
    entry = chunks_.back().get();
  }
  Chunk& chunk = owned_chunk(index);
  if (stored) {
    chunk.stored[mark_word(index)] |= mark_bit(index);
  }
  ++loaded_count_;
  return chunk.pages[index & (kChunkPages - 1)] = page.release();
}

void PageSet::add_dirty(uint64_t index) {
  assert(find(index) != nullptr);
  dirty_.push_back(index);
  owned_chunk(index).dirty[mark_word(index)] |= mark_bit(index);
}

void PageSet::clear_dirty() noexcept {
  for (const uint64_t index : dirty_) {
    Chunk& chunk = owned_chunk(index);
    chunk.dirty[mark_word(index)] &= ~mark_bit(index);
    chunk.stored[mark_word(index)] |= mark_bit(index);
  }
  dirty_.clear();
}

bool PageSet::stored(uint64_t index) const noexcept {
  assert(find(index) != nullptr);
  return (table_[index >> kChunkShift]->stored[mark_word(index)] & mark_bit(index)) != 0;
}

size_t PageSet::memory_bytes() const noexcept {
  return sizeof *this + table_.capacity() * sizeof(void*) + chunks_.capacity() * sizeof(void*) +
         chunks_.size() * sizeof(OwnedChunk) + dirty_.capacity() * sizeof(dirty_[0]) +
         loaded_count_ * (size_t{page_bytes_} + kSlackBytes);
}

}  // namespace cuckoo
