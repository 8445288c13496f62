#include "core/stored/stored_pages.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/page_row.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/stored/replay.hpp"

namespace cuckoo {

// --- which filter --------------------------------------------------------------------------------

void StoredPages::hold(const FilterOptions& options, const FilterRecord& record,
                       std::unique_ptr<Filter> filter) noexcept {
  filter_ = std::move(filter);
  first_id_ = first_row_id(record.epoch);
  seed_ = options.seed;
  all_loaded_ = false;
  absent_rows_ = 0;
}

// Pages that are not in memory have no row.
void StoredPages::complete() noexcept {
  filter_->pages().complete();
  all_loaded_ = true;
}

void StoredPages::start(const FilterOptions& options, const FilterRecord& record,
                        std::unique_ptr<Filter> filter) noexcept {
  hold(options, record, std::move(filter));
  complete();
}

Status StoredPages::open(const FilterOptions& options, const FilterRecord& record) {
  // A geometry takes some memory by itself: no more than a capacity could ask for (2^36 bits a key:
  // one hash at the lowest rate).
  constexpr unsigned kMostUnitsPerKeyLog2 = 37;
  if (record.geometry.size >> kMostUnitsPerKeyLog2 > record.capacity) {
    return corrupt("record with a geometry too large for its capacity");
  }
  Result<std::unique_ptr<Filter>> made =
      make_filter(options.spec.kind, record.geometry, options.page_bytes);
  if (!made.ok()) {
    return corrupt("record with a geometry that does not exist: " + made.error().message);
  }
  Filter& filter = *made.value();
  const bool adds_up = !filter.traits().slot_per_item ||
                       record.occupied + record.overflow_items == record.fold_items;
  if (!adds_up || record.occupied > filter.bits()) {
    return corrupt("record whose item counts do not add up");
  }
  if (record.overflow_cells > 0) {
    CUCKOO_TRY(read_overflow(filter, record));
  }
  filter.set_occupied(record.occupied);
  hold(options, record, std::move(made.value()));
  if (record.page_rows == 0) {
    complete();
  }
  return {};
}

// --- reading -------------------------------------------------------------------------------------

Status StoredPages::add_page(Filter& filter, int64_t id, std::span<const std::byte> row) const {
  const auto index = static_cast<uint64_t>(id - first_id_);
  if (id < first_id_ || index >= filter.pages().page_count()) {
    return corrupt("does not belong to this filter");
  }
  if (filter.pages().find(index) != nullptr) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(std::span<const std::byte> content, decode_page_row(row, id, seed_));
  CUCKOO_TRY(filter.validate_page(index, content));
  std::copy(content.begin(), content.end(), filter.pages().add(index, true));
  filter.pages().share(index);
  return {};
}

Status StoredPages::load(uint64_t hash, const FilterRecord& record) {
  if (all_loaded_) {
    return {};
  }
  uint64_t indexes[Filter::kMaxPlaces];
  return load({indexes, filter_->pages_of(hash, indexes)}, record);
}

Status StoredPages::load(std::span<const uint64_t> indexes, const FilterRecord& record) {
  for (const uint64_t index : indexes) {
    if (filter_->pages().find(index) != nullptr) {
      continue;
    }
    const int64_t id = page_id(index);
    CUCKOO_TRY(storage_.read_pages(id, id, [&](int64_t row_id, std::span<const std::byte> row) {
      return in_row("page", row_id, add_page(*filter_, row_id, row));
    }));
    if (filter_->pages().find(index) == nullptr) {
      CUCKOO_TRY(note_absent_row(index, record));
    }
  }
  return {};
}

// I2. How many pages may be without a row follows from the record; and if it is one alone (the last
// page is often short, and empty), the sum of ids says which. When more are absent than there are
// rows, to remember them takes more memory than to load all; when more than may be, load_all() says
// so.
Status StoredPages::note_absent_row(uint64_t index, const FilterRecord& record) {
  const uint64_t count = filter_->pages().page_count();
  const uint64_t absent = count - record.page_rows;
  const auto first_id = static_cast<uint64_t>(first_id_);
  const uint64_t pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
  const uint64_t only_one = first_id * count + pairs - record.page_id_sum;
  if (absent == 0 || (absent == 1 && only_one != first_id + index)) {
    return in_row("page", page_id(index), corrupt("is missing"));
  }
  if (++absent_rows_ > std::min(record.page_rows, absent)) {
    return load_all(record);
  }
  filter_->pages().add_zero(index);
  return {};
}

Status StoredPages::load_all(const FilterRecord& record) {
  if (all_loaded_) {
    return {};
  }
  const uint64_t count = filter_->pages().page_count();
  if (filter_->pages().backed_count() < count && record.page_rows > 0) {
    CUCKOO_TRY(read_pages(*filter_, page_id(0), page_id(count - 1), record));
  }
  complete();
  return {};
}

// Every page row of these ids, into `filter`: those that the record counts, no fewer and no others.
Status StoredPages::read_pages(Filter& filter, int64_t first, int64_t last,
                               const FilterRecord& record) const {
  uint64_t rows = 0;
  uint64_t id_sum = 0;
  CUCKOO_TRY(
      storage_.read_pages(first, last, [&](int64_t id, std::span<const std::byte> row) -> Status {
        CUCKOO_TRY(in_row("page", id, add_page(filter, id, row)));
        ++rows;
        id_sum += static_cast<uint64_t>(id);
        return storage_.poll();
      }));
  if (rows != record.page_rows || id_sum != record.page_id_sum) {
    return corrupt(std::to_string(rows) + " page rows, expected " +
                   std::to_string(record.page_rows) + ": some are missing or too many");
  }
  return {};
}

Status StoredPages::read_overflow(Filter& filter, const FilterRecord& record) const {
  OverflowTable& overflow = filter.overflow();
  CUCKOO_TRY(storage_.read_items(record.epoch, [&](uint64_t cell, uint64_t count) -> Status {
    if (overflow.count(cell) != 0 || count == 0) {
      return corrupt("overflow entry " + std::to_string(cell) + " that is doubled or empty");
    }
    overflow.add(cell, count);
    return storage_.poll();
  }));
  if (overflow.cells() != record.overflow_cells || overflow.items() != record.overflow_items ||
      overflow.digest() != record.overflow_digest) {
    return corrupt(
        "overflow entries that are not the recorded ones: " + std::to_string(overflow.cells()) +
        " cells, expected " + std::to_string(record.overflow_cells));
  }
  overflow.clear_changed();
  return {};
}

Result<std::unique_ptr<Filter>> StoredPages::copy(const FilterRecord& record) {
  CUCKOO_TRY(load_all(record));
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Filter> made,
      make_filter(filter_->kind(), filter_->words(), filter_->pages().page_bytes()));
  CUCKOO_TRY(copy_cells(*filter_, *made, [this] { return storage_.poll(); }));
  made->pages().complete();
  return made;
}

Result<std::unique_ptr<Filter>> StoredPages::read_again(const FilterRecord& record) const {
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Filter> made,
      make_filter(filter_->kind(), filter_->words(), filter_->pages().page_bytes()));
  Filter& again = *made;
  CUCKOO_TRY(read_pages(again, first_id_, first_row_id(record.epoch + 1) - 1, record));
  again.pages().complete();
  CUCKOO_TRY(read_overflow(again, record));
  again.set_occupied(record.occupied);
  return made;
}

// --- writing -------------------------------------------------------------------------------------

std::vector<std::byte> page_row(const Filter& filter, uint64_t index, int64_t id, uint64_t seed) {
  return encode_page_row({filter.pages().find(index), filter.content_bytes(index)}, id, seed);
}

Status StoredPages::write_pages(FilterStorage& storage, FilterRecord& record) const {
  const PageSet& pages = filter().pages();
  std::vector<uint64_t> dirty = pages.dirty();
  std::sort(dirty.begin(), dirty.end());
  for (const uint64_t index : dirty) {
    const bool stored = pages.stored(index);
    const int64_t id = page_id(index);
    CUCKOO_TRY(storage.write_page(id, page_row(*filter_, index, id, seed_), stored));
    if (!stored) {
      ++record.page_rows;
      record.page_id_sum += static_cast<uint64_t>(id);
    }
  }
  return {};
}

Status StoredPages::write_overflow(FilterStorage& storage, FilterRecord& record) const {
  const OverflowTable& overflow = filter().overflow();
  for (const uint64_t cell : overflow.changed()) {
    const uint64_t count = overflow.count(cell);
    CUCKOO_TRY(count == 0 ? storage.erase_item(record.epoch, cell)
                          : storage.write_item(record.epoch, cell, count));
  }
  record.overflow_cells = overflow.cells();
  record.overflow_items = overflow.items();
  record.overflow_digest = overflow.digest();
  return {};
}

Status StoredPages::write_to(FilterStorage& storage, FilterRecord& record) const {
  CUCKOO_TRY(write_pages(storage, record));
  CUCKOO_TRY(write_overflow(storage, record));
  record.occupied = filter_->occupied();
  return {};
}

void StoredPages::note_written() noexcept {
  filter_->pages().clear_dirty();
  filter_->overflow().clear_changed();
}

Status StoredPages::erase(const FilterRecord& record) {
  if (record.page_rows > 0) {
    CUCKOO_TRY(storage_.erase_pages(page_id(0), page_id(filter_->pages().page_count() - 1)));
  }
  return storage_.erase_items(record.epoch);
}

}  // namespace cuckoo
