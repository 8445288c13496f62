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

void add_to(std::byte* sum, const std::byte* bytes, size_t size) noexcept {
  for (size_t i = 0; i < size; ++i) {
    sum[i] ^= bytes[i];
  }
}

// Adds the complement of the bytes.
void add_complement_to(std::byte* sum, const std::byte* bytes, size_t size) noexcept {
  for (size_t i = 0; i < size; ++i) {
    sum[i] ^= ~bytes[i];
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
  chunks_.resize((pages() >> kChunkShift) + 1);  // with room for the parity
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
  std::unique_ptr<Chunk>& chunk = chunk_of(page->index);
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
  chunk->pages[place_in_chunk(kept->index)] = kept;
  return kept;
}

void FlashPages::drop(Page* page) noexcept {
  chunk_of(page->index)->pages[place_in_chunk(page->index)] = nullptr;
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

// Returns the content of a row that is sound.
Result<std::span<const std::byte>> FlashPages::content_of(int64_t id,
                                                          std::span<const std::byte> row) const {
  const std::string name = "page row " + std::to_string(id);
  Result<std::span<const std::byte>> content = decode_page_row(row, id, seed_);
  if (!content.ok()) {
    return corrupt(name + ": " + content.error().message);
  }
  if (content.value().size() != page_bytes_) {
    return corrupt(name + " has " + std::to_string(content.value().size()) + " bytes, expected " +
                   std::to_string(page_bytes_));
  }
  if (all_zero(content.value())) {  // I1
    return corrupt(name + " is all erased, and should not be there");
  }
  return content;
}

Result<FlashPages::Page*> FlashPages::load(uint64_t index) {
  if (Page* const page = find(index); page != nullptr) {
    page->used = true;
    return page;
  }
  OwnedPage loaded;
  const auto id = static_cast<int64_t>(index);
  Status read = store_.pages().read(id, id, [&](int64_t, std::span<const std::byte> row) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> content, content_of(id, row));
    loaded = make_page(index, true);
    complement(content.data(), page_bytes_, loaded->bytes());
    return {};
  });
  if (!read.ok() && read.error().code == ErrorCode::kCorrupt) {
    return restore(index, std::move(read));
  }
  CUCKOO_TRY(std::move(read));
  return loaded == nullptr ? nullptr : keep(std::move(loaded));
}

// Gives the exclusive or of all pages but one, as they are now. A damaged one counts as erased, or
// is an error.
Status FlashPages::sum_of_others(uint64_t index, Damaged damaged, std::byte* sum) {
  std::memset(sum, 0, page_bytes_);
  CUCKOO_TRY(store_.pages().read(static_cast<int64_t>(kParity), INT64_MAX,
                                 [&](int64_t id, std::span<const std::byte> row) -> Status {
                                   CUCKOO_TRY(store_.poll());
                                   const auto other = static_cast<uint64_t>(id);
                                   const bool outside =
                                       id >= 0 && other * page_bytes_ >= geometry_.size_bytes();
                                   if (other == index || outside || find(other) != nullptr) {
                                     return {};
                                   }
                                   Result<std::span<const std::byte>> content = content_of(id, row);
                                   if (content.ok()) {
                                     add_to(sum, content.value().data(), page_bytes_);
                                   }
                                   return damaged == Damaged::kPassOver ? Status()
                                                                        : content.take_status();
                                 }));
  for (const OwnedPage& page : resident_) {
    if (page->index != index) {
      add_complement_to(sum, page->bytes(), page_bytes_);
    }
  }
  return {};
}

// Makes a page whose row is damaged of all others (I6). Returns the damage if it can't be done. One
// that would be erased would have no row: so the parity is of no use (I7).
Result<FlashPages::Page*> FlashPages::restore(uint64_t index, Status damage) {
  OwnedPage page = make_page(index, true);
  Status made = sum_of_others(index, Damaged::kRefuse, page->bytes());
  if (!made.ok()) {
    return made.error().code == ErrorCode::kCorrupt ? std::move(damage) : std::move(made);
  }
  complement(page->bytes(), page_bytes_, page->bytes());
  if (all_erased(page->bytes(), page_bytes_)) {
    return damage;
  }
  if (std::find(restored_.begin(), restored_.end(), index) == restored_.end()) {
    restored_.push_back(index);
  }
  return keep(std::move(page));
}

void FlashPages::rewrite_restored() {
  for (const uint64_t index : restored_) {
    if (Page* const page = find(index); page != nullptr) {
      change(page);
    }
  }
  restored_.clear();
}

// Returns the page as load() does, or one of erased bytes in the place of a damaged one (I7).
Result<FlashPages::Page*> FlashPages::load_to_write(uint64_t index) {
  Result<Page*> page = load(index);
  if (page.ok() || page.error().code != ErrorCode::kCorrupt) {
    return page;
  }
  OwnedPage made = make_page(index, true);
  std::memset(made->bytes(), 0xFF, page_bytes_);
  Page* const kept = keep(std::move(made));
  change(kept);
  Page* parity = kept;
  if (index != kParity) {
    CUCKOO_ASSIGN_OR_RETURN(parity, load_or_make(kParity));
    change(parity);
  }
  CUCKOO_TRY(sum_of_others(kParity, Damaged::kPassOver, parity->bytes()));
  complement(parity->bytes(), page_bytes_, parity->bytes());
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

// Returns the parity's bytes from there on, to be changed with those of a page.
Result<std::byte*> FlashPages::parity_at(size_t offset) {
  CUCKOO_ASSIGN_OR_RETURN(Page* const parity, load_or_make(kParity));
  change(parity);
  return parity->bytes() + offset;
}

Status FlashPages::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(check_range(address, units.size()));
  rewrite_restored();
  while (!units.empty()) {
    const Piece piece = first_piece(address, units.size());
    Result<Page*> page = load_or_make(piece.page);
    CUCKOO_TRY(page.take_status());
    std::byte* const to = page.value()->bytes() + piece.offset;
    if (!all_erased(to, piece.size)) {
      return corrupt("the units at byte " + std::to_string(address) + " are not erased");
    }
    change(page.value());
    CUCKOO_ASSIGN_OR_RETURN(std::byte* const parity, parity_at(piece.offset));
    add_complement_to(parity, units.data(), piece.size);
    std::memcpy(to, units.data(), piece.size);
    address += piece.size;
    units = units.subspan(piece.size);
  }
  return {};
}

Status FlashPages::erase(uint32_t block) {
  CUCKOO_TRY(store_.poll());
  rewrite_restored();
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
        CUCKOO_ASSIGN_OR_RETURN(std::byte* const parity, parity_at(piece.offset));
        add_complement_to(parity, bytes, piece.size);
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

Status FlashPages::mend() {
  std::vector<uint64_t> damaged;
  CUCKOO_TRY(store_.pages().read(static_cast<int64_t>(kParity), INT64_MAX,
                                 [&](int64_t id, std::span<const std::byte> row) {
                                   const auto index = static_cast<uint64_t>(id);
                                   if (is_page(index) && !content_of(id, row).ok()) {
                                     damaged.push_back(index);
                                   }
                                   return store_.poll();
                                 }));
  for (const uint64_t index : damaged) {
    Page* page = find(index);
    if (page == nullptr && damaged.size() == 1) {
      Result<Page*> loaded = load(index);
      if (!loaded.ok() && loaded.error().code != ErrorCode::kCorrupt) {
        return loaded.take_status();
      }
      page = loaded.ok() ? loaded.value() : nullptr;
    }
    if (page != nullptr) {
      change(page);
    }
  }
  return {};
}

Status FlashPages::check_rows() {
  PageCount rows;
  std::vector<std::byte> sum(page_bytes_);
  CUCKOO_TRY(store_.pages().read(
      INT64_MIN, INT64_MAX, [&](int64_t id, std::span<const std::byte> row) -> Status {
        const auto index = static_cast<uint64_t>(id);
        const std::string name = "page row " + std::to_string(id);
        if (!is_page(index)) {
          return corrupt(name + " is outside of the device");
        }
        CUCKOO_ASSIGN_OR_RETURN(const std::span<const std::byte> content, content_of(id, row));
        Page* const page = find(index);  // I2
        if (page != nullptr && !page->dirty && !is_complement(content, page->bytes())) {
          return corrupt(name + " is not the one that was read");
        }
        add_to(sum.data(), content.data(), page_bytes_);
        rows.add(index);
        return store_.poll();
      }));
  if (!all_zero(sum)) {
    return corrupt("the parity, page row -1, is not that of the other rows");
  }
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
  restored_.clear();
  hand_ = 0;
}

}  // namespace cuckoo
