#include "ext/flash/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "core/base/bytes.hpp"
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
      cache_(page_bytes + kPageCrcBytes) {
  set_blocks(geometry.blocks);
}

void FlashPages::set_blocks(uint32_t blocks) {
  geometry_.blocks = blocks;
  cache_.set_pages(pages());
}

// --- pages in memory -----------------------------------------------------------------------------

FlashPage* FlashPages::keep(FlashPageCache::Owned page) {
  if (undone_) {
    changed_.insert(page->index);
  }
  if ((cache_.pages().size() - dirty_.size()) * page_bytes_ >= clean_bytes_) {
    cache_.evict();
  }
  return cache_.keep(std::move(page));
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
Status FlashPages::decode(int64_t id, std::span<const std::byte> row, FlashPageCache::Owned& page) {
  CUCKOO_TRY(content_of(id, row).take_status());
  page = cache_.make(static_cast<uint64_t>(id), true);
  std::memcpy(page->row(), row.data(), row.size());
  return {};
}

Result<FlashPage*> FlashPages::load(uint64_t index) {
  if (FlashPage* const page = cache_.find(index); page != nullptr) {
    page->used = true;
    return page;
  }
  FlashPageCache::Owned loaded;
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
    if (other == index || !is_page(other) || cache_.find(other) != nullptr) {
      return {};
    }
    Result<std::span<const std::byte>> content = content_of(id, row);
    if (content.ok()) {
      add_to(sum, content.value().data(), page_bytes_);
    }
    return damaged == Damaged::kPassOver ? Status() : content.take_status();
  };
  CUCKOO_TRY(store_.pages().read(static_cast<int64_t>(kParity), INT64_MAX, add_row));
  for (FlashPage* const page : cache_.pages()) {
    if (page->index != index) {
      add_to(sum, page->row(), page_bytes_);
    }
  }
  return {};
}

// Makes a page whose row is damaged of all others (I6). Returns the damage if it can't be done. One
// that would be erased would have no row: so the parity is of no use (I7).
Result<FlashPage*> FlashPages::restore(uint64_t index, Status damage) {
  FlashPageCache::Owned page = cache_.make(index, true);
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

// Makes them dirty, once a transaction. What became damaged beyond repair meanwhile is left out.
Status FlashPages::rewrite_restored() {
  for (size_t i = 0; i < restored_.size();) {
    const uint64_t index = restored_[i];
    Result<FlashPage*> page = nullptr;
    if (is_page(index) && !changed_.contains(index)) {
      page = load(index);
    }
    if (!page.ok()) {
      if (page.error().code != ErrorCode::kCorrupt) {
        return page.take_status();
      }
      restored_.erase(restored_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (page.value() != nullptr) {
      change(page.value());
    }
    ++i;
  }
  return {};
}

// Returns the page as load() does, or one of erased bytes in the place of a damaged one (I7).
Result<FlashPage*> FlashPages::load_to_write(uint64_t index) {
  Result<FlashPage*> page = load(index);
  if (page.ok() || page.error().code != ErrorCode::kCorrupt) {
    return page;
  }
  FlashPageCache::Owned made = cache_.make(index, true);
  std::memset(made->row(), 0, page_bytes_);
  FlashPage* const kept = keep(std::move(made));
  change(kept);
  FlashPage* parity = kept;
  if (index != kParity) {
    CUCKOO_ASSIGN_OR_RETURN(parity, load_or_make(kParity));
    change(parity);
  }
  CUCKOO_TRY(sum_of_others(kParity, Damaged::kPassOver, parity->row()));
  return kept;
}

Result<FlashPage*> FlashPages::load_or_make(uint64_t index) {
  Result<FlashPage*> page = load_to_write(index);
  if (!page.ok() || page.value() != nullptr) {
    return page;
  }
  FlashPageCache::Owned made = cache_.make(index, false);
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
    Result<FlashPage*> page = load(piece.page);
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
  while (first < last && cache_.find(first) != nullptr) {
    ++first;
  }
  while (last > first && cache_.find(last) != nullptr) {
    --last;
  }
  if (first == last) {
    return {};
  }
  Status read = store_.pages().read(
      static_cast<int64_t>(first), static_cast<int64_t>(last),
      [&](int64_t id, std::span<const std::byte> row) -> Status {
        FlashPageCache::Owned loaded;
        if (cache_.find(static_cast<uint64_t>(id)) == nullptr && decode(id, row, loaded).ok()) {
          keep(std::move(loaded));
        }
        return {};
      });
  return read.ok() || read.error().code != ErrorCode::kCorrupt ? std::move(read) : Status();
}

void FlashPages::change(FlashPage* page) {
  if (!page->dirty) {
    changed_.insert(page->index);
    dirty_.push_back(page->index);
    page->dirty = true;
  }
}

// Returns the parity's bytes from there on, to be changed with those of a page.
Result<std::byte*> FlashPages::parity_at(size_t offset) {
  CUCKOO_ASSIGN_OR_RETURN(FlashPage* const parity, load_or_make(kParity));
  change(parity);
  return parity->row() + offset;
}

Status FlashPages::program(uint64_t address, std::span<const std::byte> units) {
  CUCKOO_TRY(check_range(address, units.size()));
  CUCKOO_TRY(rewrite_restored());
  while (!units.empty()) {
    const Piece piece = first_piece(address, units.size());
    Result<FlashPage*> page = load_or_make(piece.page);
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
  CUCKOO_TRY(rewrite_restored());
  uint64_t address = geometry_.block_address(block);
  size_t left = geometry_.block_bytes();
  CUCKOO_TRY(check_range(address, left));
  while (left > 0) {
    const Piece piece = first_piece(address, left);
    Result<FlashPage*> page = load_to_write(piece.page);
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

Status FlashPages::write(FlashPage* page) {
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
    FlashPage* const page = cache_.find(dirty_.back());
    CUCKOO_TRY(write(page));
    page->dirty = false;
    dirty_.pop_back();
  }
  // Pages that were dirty are clean now, and may be more than the limit.
  while (cache_.pages().size() * page_bytes_ > clean_bytes_) {
    cache_.evict();
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
    FlashPage* page = cache_.find(index);
    if (page == nullptr && damaged.size() == 1) {
      Result<FlashPage*> loaded = load(index);
      if (!loaded.ok() && loaded.error().code != ErrorCode::kCorrupt) {
        return loaded.take_status();
      }
      page = loaded.ok() ? loaded.value() : nullptr;
    }
    if (page != nullptr) {
      change(page);
    }
  }
  return damaged.empty() ? mend_parity() : Status();
}

// Makes the parity anew if it is not that of the other pages.
Status FlashPages::mend_parity() {
  std::vector<std::byte> sum(page_bytes_);
  CUCKOO_TRY(sum_of_others(kParity, Damaged::kRefuse, sum.data()));
  CUCKOO_ASSIGN_OR_RETURN(FlashPage* const parity, load_or_make(kParity));
  if (!equal_bytes(sum, {parity->row(), page_bytes_})) {
    change(parity);
    std::copy(sum.begin(), sum.end(), parity->row());
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
        FlashPage* const page = cache_.find(index);  // I2
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
    if (FlashPage* const page = cache_.find(index); page != nullptr) {
      cache_.drop(page);
    }
  }
  changed_.clear();
  dirty_.clear();
  undone_ = true;
}

void FlashPages::forget() noexcept {
  cache_.clear();
  dirty_.clear();
  changed_.clear();
}

}  // namespace cuckoo
