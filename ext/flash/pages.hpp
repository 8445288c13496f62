// The flash device of a flash_kv. Its bytes are in the rows of <table>_pages.
//
// Layout
//   page i    the page_bytes bytes from i·page_bytes on, in the device's linear address space; its
//             row id is i
//   row       the page's bytes, complemented, and the checksum of page_row.hpp. A page of erased
//             bytes is all zero there and needs no row
//   parity    one more page, with the row id -1. Its row is the exclusive or of all other rows
//
// Invariants
//   I1  after write_dirty() a page has a row exactly when it is not all erased. So the rows depend
//       on the device's bytes alone, not on the statements, savepoints and connections before.
//   I2  a page in memory holds its row as it is stored, or is dirty. Clean pages may be forgotten.
//       At most as many are kept as SQLite's own cache may hold (PRAGMA cache_size), or
//       kLeastCleanBytes if that is more.
//   I3  a read of a page without a row allocates nothing.
//   I4  the rows are counted in the registers of the store, which a roll-back takes back. undo()
//       drops every page that may hold what a roll-back takes back: those that were changed since
//       end_changes() and, after another undo(), those that were read.
//   I5  a program only clears bits of erased units, as on a real flash chip.
//   I6  the parity is that of the pages as they are now, in memory or in their rows. So a page
//       whose row is damaged is made of all others, and the next program or erase writes it again.
//   I7  if two rows are damaged, the parity is of no use. A write to a damaged page then makes the
//       page anew, of erased bytes, and the parity is that of the pages that can be read. What else
//       was in the page can't be read anyway: a page reaches into two blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "core/base/page_size.hpp"
#include "core/flash/device.hpp"
#include "core/flash/registers.hpp"
#include "ext/flash/page_cache.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

class FlashPages final : public FlashDevice {
 public:
  static constexpr uint64_t kLeastCleanBytes = uint64_t{64} << 20;

  // Blocks fail by the rule of core/flash/device.hpp, with the seed of the rows' checksums.
  FlashPages(ShadowStore& store, const FlashGeometry& geometry, uint32_t page_bytes, uint64_t seed);

  const FlashGeometry& geometry() const noexcept override { return geometry_; }
  void set_clean_bytes(uint64_t bytes) noexcept {
    clean_bytes_ = std::max(bytes, kLeastCleanBytes);
  }
  void set_blocks(uint32_t blocks);  // changes the device's size; every page must lie within it
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status will_read(uint64_t address, uint64_t bytes) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;
  bool erase_fails(uint32_t block, uint32_t erases) const noexcept override {
    return erase_fails_by_rule(seed_, geometry_.endurance_erases, block, erases);
  }

  bool dirty() const noexcept { return !dirty_.empty(); }
  uint64_t dirty_bytes() const noexcept { return dirty_.size() * page_bytes_; }
  // Writes the dirty pages, ascending. After a failure the rest is still dirty.
  Status write_dirty();

  // I4
  void count_in(FlashPageRows& rows) noexcept { rows_ = &rows; }
  const FlashPageRows& rows() const noexcept { return *rows_; }
  void undo() noexcept;
  // The rows are as they are in memory, unless undone.
  void end_changes() noexcept {
    if (!undone_) {
      std::erase_if(restored_, [this](uint64_t index) { return changed_.contains(index); });
    }
    changed_.clear();
    undone_ = false;
  }
  void forget() noexcept;  // drops every page from memory

  // Reads all rows. write_dirty() then writes the one that is damaged again (I6), if it is one. If
  // none is, but the parity is wrong, it writes that.
  Status mend();
  // Checks I1 and I6 for all rows, and that they are the counted ones.
  Status check_rows();

  uint64_t sector_reads() const noexcept { return sector_reads_; }
  size_t memory_bytes() const noexcept { return cache_.memory_bytes(); }

 private:
  static constexpr uint64_t kParity = FlashPage::kParity;

  // The bytes of an access that are in one page.
  struct Piece {
    uint64_t page;
    size_t offset, size;
  };

  size_t row_bytes() const noexcept { return page_bytes_ + kPageCrcBytes; }
  Piece first_piece(uint64_t address, size_t size) const noexcept;
  Status check_range(uint64_t address, size_t size) const;
  bool is_page(uint64_t index) const noexcept { return index == kParity || index < pages(); }
  uint64_t pages() const noexcept {
    return (geometry_.size_bytes() + page_bytes_ - 1) / page_bytes_;
  }
  Result<std::span<const std::byte>> content_of(int64_t id, std::span<const std::byte> row) const;
  // Returns the page, or null if it has no row and is not in memory.
  Result<FlashPage*> load(uint64_t index);
  Status decode(int64_t id, std::span<const std::byte> row, FlashPageCache::Owned& page);
  Result<FlashPage*> load_or_make(uint64_t index);
  Result<FlashPage*> load_to_write(uint64_t index);
  enum class Damaged { kRefuse, kPassOver };
  Status sum_of_others(uint64_t index, Damaged damaged, std::byte* sum);
  Result<FlashPage*> restore(uint64_t index, Status damage);
  Status rewrite_restored();
  Status mend_parity();
  FlashPage* keep(FlashPageCache::Owned page);
  void change(FlashPage* page);
  Result<std::byte*> parity_at(size_t offset);
  Status write(FlashPage* page);

  ShadowStore& store_;
  FlashGeometry geometry_;
  uint32_t page_bytes_;
  uint64_t seed_;
  unsigned sector_shift_;
  uint64_t clean_bytes_ = kLeastCleanBytes;

  FlashPageCache cache_;
  std::vector<uint64_t> dirty_;
  std::set<uint64_t> changed_;  // I4: what the next undo() drops; the dirty ones, too
  bool undone_ = false;         // since end_changes()
  // I6: what the next program or erase writes again. A page stays here until a transaction that
  // wrote it ends without a roll-back, also while no page is in memory. If another connection wrote
  // it meanwhile, or a backup was restored, it is only written once too often.
  std::vector<uint64_t> restored_;

  FlashPageRows* rows_ = nullptr;
  uint64_t sector_reads_ = 0;
};

}  // namespace cuckoo
