#include "ext/flash/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/page_row.hpp"

namespace cuckoo {
namespace {

// Copies the device's bytes to a row's content, or back.
void copy_complement(const std::byte* from, size_t size, std::byte* to) noexcept {
  for (size_t i = 0; i < size; ++i) {
    to[i] = ~from[i];
  }
}

void add_to(std::byte* sum, const std::byte* bytes, size_t size) noexcept {
  for (size_t i = 0; i < size; ++i) {
    sum[i] ^= bytes[i];
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
      memory_(sizeof(Page) + page_bytes + kPageCrcBytes) {
  set_blocks(geometry.blocks);
}

void FlashPages::set_blocks(uint32_t blocks) {
  geometry_.blocks = blocks;
  chunks_.resize((pages() >> kChunkShift) + 1);  // with room for the parity
}

size_t FlashPages::memory_bytes() const noexcept {
  size_t bytes =
      memory_.bytes() + resident_.size() * sizeof(void*) + chunks_.size() * sizeof(chunks_[0]);
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    bytes += chunk != nullptr ? sizeof(Chunk) : 0;
  }
  return bytes;
}

// --- pages in memory -----------------------------------------------------------------------------

void* FlashPages::Memory::take() {
  constexpr size_t kLeastPages = 8;
  constexpr size_t kMostBytes = size_t{16} << 20;
  if (free_ != nullptr) {
    return std::exchange(free_, free_->next);
  }
  if (left_ == 0) {
    const size_t pages = std::max(kLeastPages, std::min(taken_, kMostBytes / page_bytes_));
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(pages * page_bytes_));
    next_ = blocks_.back().get();
    left_ = pages;
    prefer_large_pages(next_, pages * page_bytes_);
  }
  --left_;
  ++taken_;
  return std::exchange(next_, next_ + page_bytes_);
}

void FlashPages::Memory::free_all() noexcept {
  blocks_.clear();
  left_ = taken_ = 0;
  free_ = nullptr;
}

FlashPages::OwnedPage FlashPages::make_page(uint64_t index, bool stored) {
  static_assert(alignof(Page) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return {new (memory_.take()) Page{index, 0, stored, false, true}, GiveBack{&memory_}};
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
  resident_.push_back(page.get());
  Page* const kept = page.release();
  chunk->pages[place_in_chunk(kept->index)] = kept;
  return kept;
}

void FlashPages::drop(Page* page) noexcept {
  chunk_of(page->index)->pages[place_in_chunk(page->index)] = nullptr;
  const size_t place = page->place;
  std::swap(resident_[place], resident_.back());
  resident_[place]->place = place;
  resident_.pop_back();
  memory_.give_back(page);
}

// Forgets a page that is clean and was not used since the clock's hand last came by.
void FlashPages::evict() noexcept {
  for (size_t steps = 2 * resident_.size(); steps > 0; --steps) {
    hand_ = hand_ + 1 < resident_.size() ? hand_ + 1 : 0;
    Page* const page = resident_[hand_];
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

// Makes the page of a row, after it verified the row.
Status FlashPages::decode(int64_t id, std::span<const std::byte> row, OwnedPage& page) {
  CUCKOO_TRY(content_of(id, row).take_status());
  page = make_page(static_cast<uint64_t>(id), true);
  std::memcpy(page->row(), row.data(), row.size());
  return {};
}

Result<FlashPages::Page*> FlashPages::load(uint64_t index) {
  if (Page* const page = find(index); page != nullptr) {
    page->used = true;
    return page;
  }
  OwnedPage loaded;
  const auto id = static_cast<int64_t>(index);
  Status read = store_.pages().read(
      id, id, [&](int64_t, std::span<const std::byte> row) { return decode(id, row, loaded); });
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
  const auto add_row = [&](int64_t id, std::span<const std::byte> row) -> Status {
    CUCKOO_TRY(store_.poll());
    const auto other = static_cast<uint64_t>(id);
    if (other == index || !is_page(other) || find(other) != nullptr) {
      return {};
    }
    Result<std::span<const std::byte>> content = content_of(id, row);
    if (content.ok()) {
      add_to(sum, content.value().data(), page_bytes_);
    }
    return damaged == Damaged::kPassOver ? Status() : content.take_status();
  };
  CUCKOO_TRY(store_.pages().read(static_cast<int64_t>(kParity), INT64_MAX, add_row));
  for (Page* const page : resident_) {
    if (page->index != index) {
      add_to(sum, page->row(), page_bytes_);
    }
  }
  return {};
}

// Makes a page whose row is damaged of all others (I6). Returns the damage if it can't be done. One
// that would be erased would have no row: so the parity is of no use (I7).
Result<FlashPages::Page*> FlashPages::restore(uint64_t index, Status damage) {
  OwnedPage page = make_page(index, true);
  const std::span<std::byte> row(page->row(), row_bytes());
  Status made = sum_of_others(index, Damaged::kRefuse, row.data());
  if (!made.ok()) {
    return made.error().code == ErrorCode::kCorrupt ? std::move(damage) : std::move(made);
  }
  if (all_zero(row.first(page_bytes_))) {
    return damage;
  }
  seal_page_row(row, static_cast<int64_t>(index), seed_);
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
  std::memset(made->row(), 0, page_bytes_);
  Page* const kept = keep(std::move(made));
  change(kept);
  Page* parity = kept;
  if (index != kParity) {
    CUCKOO_ASSIGN_OR_RETURN(parity, load_or_make(kParity));
    change(parity);
  }
  CUCKOO_TRY(sum_of_others(kParity, Damaged::kPassOver, parity->row()));
  return kept;
}

Result<FlashPages::Page*> FlashPages::load_or_make(uint64_t index) {
  Result<Page*> page = load_to_write(index);
  if (!page.ok() || page.value() != nullptr) {
    return page;
  }
  OwnedPage made = make_page(index, false);
  std::memset(made->row(), 0, page_bytes_);
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
      copy_complement(page.value()->row() + piece.offset, piece.size, out.data());
    }
    address += piece.size;
    out = out.subspan(piece.size);
  }
  return {};
}

// Loads the pages of several rows by one statement. The read of a damaged one gives the error.
Status FlashPages::will_read(uint64_t address, uint64_t bytes) {
  uint64_t first = address / page_bytes_;
  uint64_t last = bytes == 0 ? first : (address + bytes - 1) / page_bytes_;
  while (first < last && find(first) != nullptr) {
    ++first;
  }
  while (last > first && find(last) != nullptr) {
    --last;
  }
  if (first == last) {
    return {};
  }
  Status read = store_.pages().read(
      static_cast<int64_t>(first), static_cast<int64_t>(last),
      [&](int64_t id, std::span<const std::byte> row) -> Status {
        OwnedPage loaded;
        if (find(static_cast<uint64_t>(id)) == nullptr && decode(id, row, loaded).ok()) {
          keep(std::move(loaded));
        }
        return {};
      });
  return read.ok() || read.error().code != ErrorCode::kCorrupt ? std::move(read) : Status();
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
  return parity->row() + offset;
}

Status FlashPages::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(check_range(address, units.size()));
  rewrite_restored();
  while (!units.empty()) {
    const Piece piece = first_piece(address, units.size());
    Result<Page*> page = load_or_make(piece.page);
    CUCKOO_TRY(page.take_status());
    std::byte* const to = page.value()->row() + piece.offset;
    if (!all_zero({to, piece.size})) {
      return corrupt("the units at byte " + std::to_string(address) + " are not erased");
    }
    change(page.value());
    CUCKOO_ASSIGN_OR_RETURN(std::byte* const parity, parity_at(piece.offset));
    copy_complement(units.data(), piece.size, to);
    add_to(parity, to, piece.size);
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
      std::byte* const bytes = page.value()->row() + piece.offset;
      if (!all_zero({bytes, piece.size})) {
        change(page.value());
        CUCKOO_ASSIGN_OR_RETURN(std::byte* const parity, parity_at(piece.offset));
        add_to(parity, bytes, piece.size);
        std::memset(bytes, 0, piece.size);
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
  const std::span<std::byte> row(page->row(), row_bytes());
  const std::span<const std::byte> content = row.first(page_bytes_);
  if (all_zero(content)) {
    if (page->stored) {
      CUCKOO_TRY(store_.pages().erase(id, id));
      page->stored = false;
      rows_->count.remove(page->index);
      rows_->history = history_with(rows_->history, page->index, {});
    }
    return {};
  }
  seal_page_row(row, id, seed_);
  CUCKOO_TRY(store_.pages().write(id, row, page->stored));
  if (!page->stored) {
    rows_->count.add(page->index);
  }
  rows_->history = history_with(rows_->history, page->index, content);
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
        if (page != nullptr && !page->dirty && !equal_bytes(row, {page->row(), row_bytes()})) {
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
  memory_.free_all();
  dirty_.clear();
  changed_.clear();
  restored_.clear();
  hand_ = 0;
}

}  // namespace cuckoo
