// The flash device of a flash_kv: its bytes in the rows of <table>_pages.
//
// Layout
//   page i    bytes i·page_bytes … of the device's linear address space; row id = i
//   row       the page's bytes, complemented, and the checksum of page_row.hpp: a page of erased
//             bytes is all zero there and needs no row
//
// Invariants
//   I1  after write_dirty() a page has a row exactly when it is not all erased: the rows are a pure
//       function of the device's bytes, whatever statements, savepoints and connections led there.
//   I2  a page in memory holds what its row says, or is dirty. What is not dirty may be forgotten:
//       at most as much of it is kept as SQLite may keep (PRAGMA cache_size), and kLeastCleanBytes.
//   I3  a read of a page without a row allocates nothing.
//   I4  while there is an undo log, changes of pages and rows are noted there. After undo_to(m) no
//       page is in memory that changed since mark m, and the rows are counted as they were then.
//   I5  a program only clears bits of erased units, as a flash chip's must.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flash/device.hpp"
#include "core/flash/undo_log.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

class FlashPages final : public FlashDevice {
 public:
  static constexpr uint64_t kLeastCleanBytes = uint64_t{64} << 20;

  // Blocks fail by the rule of core/flash/device.hpp, seeded as the rows are.
  FlashPages(ShadowStore& store, const FlashGeometry& geometry, uint32_t page_bytes, uint64_t seed);

  const FlashGeometry& geometry() const noexcept override { return geometry_; }
  void set_clean_bytes(uint64_t bytes) noexcept {
    clean_bytes_ = std::max(bytes, kLeastCleanBytes);
  }
  void set_blocks(uint32_t blocks);  // a device of another size; no page may lie outside
  Status read(uint64_t address, std::span<std::byte> out) override;
  Status program(uint64_t address, std::span<const std::byte> units) override;
  Status erase(uint32_t block) override;
  bool erase_fails(uint32_t block, uint32_t erases) const noexcept override {
    return erase_fails_by_rule(seed_, geometry_.endurance_erases, block, erases);
  }

  bool dirty() const noexcept { return !dirty_.empty(); }
  uint64_t dirty_bytes() const noexcept { return dirty_.size() * page_bytes_; }
  // Writes what is dirty, ascending. After a failure the rest is dirty still.
  Status write_dirty();

  // I4
  void note_in(FlashUndoLog& undo) noexcept { undo_ = &undo; }
  void undo_to(size_t mark) noexcept;
  void forget() noexcept;  // every page

  // Rows and the sum of their ids, as of the last write; set when they were read from the record.
  uint64_t row_count() const noexcept { return row_count_; }
  uint64_t row_id_sum() const noexcept { return row_id_sum_; }
  void set_rows(uint64_t count, uint64_t id_sum) noexcept {
    row_count_ = count;
    row_id_sum_ = id_sum;
  }
  Status check_rows();  // I1 for all rows, and that they are those counted

  uint64_t sector_reads() const noexcept { return sector_reads_; }
  size_t memory_bytes() const noexcept;

 private:
  // A page in memory; its bytes stand behind it.
  struct Page {
    uint64_t index;
    size_t place;               // in resident_
    FlashUndoLog::Place noted;  // its last change, in undo_
    bool stored;                // it has a row
    bool dirty;
    bool used;  // since the clock's hand came by

    std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  };
  static constexpr unsigned kChunkShift = 9;
  struct Chunk {
    Page* pages[size_t{1} << kChunkShift] = {};
  };
  struct FreePage {
    void operator()(Page* page) const noexcept { ::operator delete(page); }
  };
  using OwnedPage = std::unique_ptr<Page, FreePage>;

  // Bytes of an access that lie in one page.
  struct Piece {
    uint64_t page;
    size_t offset, size;
  };

  Piece first_piece(uint64_t address, size_t size) const noexcept;
  Status check_range(uint64_t address, size_t size) const;
  Page* find(uint64_t index) const noexcept {
    const Chunk* chunk = chunks_[index >> kChunkShift].get();
    return chunk == nullptr ? nullptr : chunk->pages[index & ((1 << kChunkShift) - 1)];
  }
  // The page, or null when it has no row and is not in memory.
  Result<Page*> load(uint64_t index);
  Result<Page*> load_or_make(uint64_t index);
  OwnedPage make_page(uint64_t index, bool stored) const;
  Page* keep(OwnedPage page);
  void drop(Page* page) noexcept;
  void evict() noexcept;
  void change(Page* page);
  Status write(Page* page);
  void note_row(uint64_t index, int rows);
  void count_rows(uint64_t index, int rows) noexcept;

  ShadowStore& store_;
  FlashGeometry geometry_;
  uint32_t page_bytes_;
  uint64_t seed_;
  unsigned sector_shift_;
  uint64_t clean_bytes_ = kLeastCleanBytes;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<OwnedPage> resident_;
  size_t hand_ = 0;  // of the clock over resident_
  std::vector<uint64_t> dirty_;
  std::vector<std::byte> content_;  // of the row that is written

  FlashUndoLog* undo_ = nullptr;

  uint64_t row_count_ = 0;
  uint64_t row_id_sum_ = 0;
  uint64_t sector_reads_ = 0;
};

}  // namespace cuckoo
