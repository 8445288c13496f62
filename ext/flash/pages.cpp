#include "ext/flash/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/page_row.hpp"

namespace cuckoo {
namespace {

constexpr std::byte kErasedByte{0xFF};

bool all_erased(const std::byte* bytes, size_t size) noexcept {
  for (; size >= 8; bytes += 8, size -= 8) {
    if (load_le<uint64_t>(bytes) != ~uint64_t{0}) {
      return false;
    }
  }
  return std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == kErasedByte; });
}

bool is_complement(std::span<const std::byte> content, const std::byte* bytes) noexcept {
  return std::equal(content.begin(), content.end(), bytes,
                    [](std::byte stored, std::byte byte) { return stored == ~byte; });
}

void complement(const std::byte* from, size_t size, std::byte* to) noexcept {
  for (size_t i = 0; i < size; ++i) {
    to[i] = ~from[i];
  }
}

}  // namespace

FlashPages::FlashPages(ShadowStore& store, const FlashGeometry& geometry, uint32_t page_bytes,
                       uint64_t seed)
    : store_(store),
      geometry_(geometry),
      page_bytes_(page_bytes),
      seed_(seed),
      sector_shift_(static_cast<unsigned>(std::countr_zero(geometry.sector_size_bytes))),
      content_(page_bytes) {
  set_blocks(geometry.blocks);
}

void FlashPages::set_blocks(uint32_t blocks) {
  geometry_.blocks = blocks;
  const uint64_t pages = (geometry_.size_bytes() + page_bytes_ - 1) / page_bytes_;
  chunks_.resize((pages >> kChunkShift) + 1);
}

size_t FlashPages::memory_bytes() const noexcept {
  size_t bytes = resident_.size() * (sizeof(Page) + page_bytes_ + sizeof(OwnedPage)) +
                 chunks_.size() * sizeof(chunks_[0]);
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    bytes += chunk != nullptr ? sizeof(Chunk) : 0;
  }
  return bytes;
}

// --- pages in memory -----------------------------------------------------------------------------

FlashPages::OwnedPage FlashPages::make_page(uint64_t index, bool stored) const {
  static_assert(alignof(Page) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  void* memory = ::operator new(sizeof(Page) + page_bytes_);
  return OwnedPage(new (memory) Page{index, 0, stored, false, true});
}

FlashPages::Page* FlashPages::keep(OwnedPage page) {
  std::unique_ptr<Chunk>& chunk = chunks_[page->index >> kChunkShift];
  if (chunk == nullptr) {
    chunk = std::make_unique<Chunk>();
  }
  if (undone_) {
    changed_.insert(page->index);
  }
  if ((resident_.size() - dirty_.size()) * page_bytes_ >= clean_bytes_) {
    evict();
  }
  page->place = resident_.size();
  resident_.push_back(std::move(page));
  Page* const kept = resident_.back().get();
  chunk->pages[kept->index & ((1 << kChunkShift) - 1)] = kept;
  return kept;
}

void FlashPages::drop(Page* page) noexcept {
  chunks_[page->index >> kChunkShift]->pages[page->index & ((1 << kChunkShift) - 1)] = nullptr;
  const size_t place = page->place;
  std::swap(resident_[place], resident_.back());
  resident_[place]->place = place;
  resident_.pop_back();
}

// Forgets a page that is clean and was not used since the clock's hand last came by.
void FlashPages::evict() noexcept {
  for (size_t steps = 2 * resident_.size(); steps > 0; --steps) {
    hand_ = hand_ + 1 < resident_.size() ? hand_ + 1 : 0;
    Page* const page = resident_[hand_].get();
    if (!page->dirty && !std::exchange(page->used, false)) {
      drop(page);
      return;
    }
  }
}

Result<FlashPages::Page*> FlashPages::load(uint64_t index) {
  if (Page* const page = find(index); page != nullptr) {
    page->used = true;
    return page;
  }
  OwnedPage loaded;
  const auto id = static_cast<int64_t>(index);
  CUCKOO_TRY(store_.pages().read(id, id, [&](int64_t, std::span<const std::byte> row) -> Status {
    Result<std::span<const std::byte>> content = decode_page_row(row, id, seed_);
    if (!content.ok()) {
      return corrupt("page row " + std::to_string(id) + ": " + content.error().message);
    }
    if (content.value().size() != page_bytes_) {
      return corrupt("page row " + std::to_string(id) + " has " +
                     std::to_string(content.value().size()) + " bytes, expected " +
                     std::to_string(page_bytes_));
    }
    if (all_zero(content.value())) {  // I1
      return corrupt("page row " + std::to_string(id) + " is all erased, and should not be there");
    }
    loaded = make_page(index, true);
    complement(content.value().data(), page_bytes_, loaded->bytes());
    return {};
  }));
  return loaded == nullptr ? nullptr : keep(std::move(loaded));
}

// Returns the page as load() does, or one of erased bytes in the place of a damaged one (I6).
Result<FlashPages::Page*> FlashPages::load_to_write(uint64_t index) {
  Result<Page*> page = load(index);
  if (page.ok() || page.error().code != ErrorCode::kCorrupt) {
    return page;
  }
  OwnedPage made = make_page(index, true);
  std::memset(made->bytes(), 0xFF, page_bytes_);
  Page* const kept = keep(std::move(made));
  change(kept);
  return kept;
}

Result<FlashPages::Page*> FlashPages::load_or_make(uint64_t index) {
  Result<Page*> page = load_to_write(index);
  if (!page.ok() || page.value() != nullptr) {
    return page;
  }
  OwnedPage made = make_page(index, false);
  std::memset(made->bytes(), 0xFF, page_bytes_);
  return keep(std::move(made));
}

// --- the device ----------------------------------------------------------------------------------

FlashPages::Piece FlashPages::first_piece(uint64_t address, size_t size) const noexcept {
  const uint64_t page = address / page_bytes_;
  const size_t offset = address - page * page_bytes_;
  return {page, offset, std::min<size_t>(size, page_bytes_ - offset)};
}

Status FlashPages::check_range(uint64_t address, size_t size) const {
  const uint64_t end = geometry_.size_bytes();
  if (address > end || size > end - address) {
    return corrupt("access to byte " + std::to_string(address) + " + " + std::to_string(size) +
                   " of a device of " + std::to_string(end) + " bytes");
  }
  return {};
}

Status FlashPages::read(uint64_t address, std::span<std::byte> out) {
  CUCKOO_TRY(check_range(address, out.size()));
  if (out.empty()) {
    return {};
  }
  sector_reads_ += ((address + out.size() - 1) >> sector_shift_) - (address >> sector_shift_) + 1;
  while (!out.empty()) {
    const Piece piece = first_piece(address, out.size());
    Result<Page*> page = load(piece.page);
    CUCKOO_TRY(page.take_status());
    if (page.value() == nullptr) {
      std::memset(out.data(), 0xFF, piece.size);
    } else {
      std::memcpy(out.data(), page.value()->bytes() + piece.offset, piece.size);
    }
    address += piece.size;
    out = out.subspan(piece.size);
  }
  return {};
}

void FlashPages::change(Page* page) {
  if (!page->dirty) {
    changed_.insert(page->index);
    dirty_.push_back(page->index);
    page->dirty = true;
  }
}

Status FlashPages::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(check_range(address, units.size()));
  while (!units.empty()) {
    const Piece piece = first_piece(address, units.size());
    Result<Page*> page = load_or_make(piece.page);
    CUCKOO_TRY(page.take_status());
    std::byte* const to = page.value()->bytes() + piece.offset;
    if (!all_erased(to, piece.size)) {
      return corrupt("the units at byte " + std::to_string(address) + " are not erased");
    }
    change(page.value());
    std::memcpy(to, units.data(), piece.size);
    address += piece.size;
    units = units.subspan(piece.size);
  }
  return {};
}

Status FlashPages::erase(uint32_t block) {
  CUCKOO_TRY(store_.poll());
  uint64_t address = geometry_.block_address(block);
  size_t left = geometry_.block_bytes();
  CUCKOO_TRY(check_range(address, left));
  while (left > 0) {
    const Piece piece = first_piece(address, left);
    Result<Page*> page = load_to_write(piece.page);
    CUCKOO_TRY(page.take_status());
    if (page.value() != nullptr) {
      std::byte* const bytes = page.value()->bytes() + piece.offset;
      if (!all_erased(bytes, piece.size)) {
        change(page.value());
        std::memset(bytes, 0xFF, piece.size);
      }
    }
    address += piece.size;
    left -= piece.size;
  }
  return {};
}

// --- rows ----------------------------------------------------------------------------------------

Status FlashPages::write(Page* page) {
  const auto id = static_cast<int64_t>(page->index);
  if (all_erased(page->bytes(), page_bytes_)) {
    if (page->stored) {
      CUCKOO_TRY(store_.pages().erase(id, id));
      page->stored = false;
      rows_->count.remove(page->index);
      rows_->history = history_with(rows_->history, page->index, {});
    }
    return {};
  }
  complement(page->bytes(), page_bytes_, content_.data());
  CUCKOO_TRY(store_.pages().write(id, encode_page_row(content_, id, seed_), page->stored));
  if (!page->stored) {
    rows_->count.add(page->index);
  }
  rows_->history = history_with(rows_->history, page->index, content_);
  page->stored = true;
  return {};
}

Status FlashPages::write_dirty() {
  std::sort(dirty_.begin(), dirty_.end(), std::greater<>());
  while (!dirty_.empty()) {
    Page* const page = find(dirty_.back());
    CUCKOO_TRY(write(page));
    page->dirty = false;
    dirty_.pop_back();
  }
  // Pages that were dirty are clean now, and may be more than the limit.
  while (resident_.size() * page_bytes_ > clean_bytes_) {
    evict();
  }
  return {};
}

Status FlashPages::check_rows() {
  PageCount rows;
  CUCKOO_TRY(store_.pages().read(
      INT64_MIN, INT64_MAX, [&](int64_t id, std::span<const std::byte> row) -> Status {
        const std::string name = "page row " + std::to_string(id);
        if (id < 0 || static_cast<uint64_t>(id) * page_bytes_ >= geometry_.size_bytes()) {
          return corrupt(name + " is outside of the device");
        }
        const Result<std::span<const std::byte>> content = decode_page_row(row, id, seed_);
        if (!content.ok()) {
          return corrupt(name + ": " + content.error().message);
        }
        if (content.value().size() != page_bytes_) {
          return corrupt(name + " has another size");
        }
        if (all_zero(content.value())) {  // I1
          return corrupt(name + " is all erased, and should not be there");
        }
        Page* const page = find(static_cast<uint64_t>(id));  // I2
        if (page != nullptr && !page->dirty && !is_complement(content.value(), page->bytes())) {
          return corrupt(name + " is not the one that was read");
        }
        rows.add(static_cast<uint64_t>(id));
        return store_.poll();
      }));
  return rows.expect(rows_->count, "the device");
}

// --- undoing -------------------------------------------------------------------------------------

void FlashPages::undo() noexcept {
  for (const uint64_t index : changed_) {
    if (Page* const page = find(index); page != nullptr) {
      drop(page);
    }
  }
  changed_.clear();
  dirty_.clear();
  undone_ = true;
}

void FlashPages::forget() noexcept {
  for (std::unique_ptr<Chunk>& chunk : chunks_) {
    chunk.reset();
  }
  resident_.clear();
  dirty_.clear();
  changed_.clear();
  hand_ = 0;
}

}  // namespace cuckoo
