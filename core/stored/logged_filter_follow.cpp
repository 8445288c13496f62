// LoggedFilter's memory as a cache of storage: create(), refresh() from a record, forget().
#include <algorithm>
#include <string>

#include "core/stored/logged_filter.hpp"

namespace cuckoo {

FilterRecord LoggedFilter::empty_record(const Filter& base, uint64_t capacity, uint64_t generation,
                                        uint64_t chain) const noexcept {
  FilterRecord record;
  record.version = options_.format;
  record.key_types = record_.key_types;
  record.options_digest = options_.digest;
  record.generation = generation;
  record.capacity = capacity;
  record.geometry = base.words();
  record.start_chain = record.fold_chain = log_chain_restart(chain, generation);
  record.first_row = record.fold_row = static_cast<uint64_t>(first_row_id(generation));
  record.base_id = first_base_id(record);
  record.rotation = record_.rotation;
  record.older = record_.older;
  return record;
}

Status LoggedFilter::create(uint64_t generation, uint64_t rotation, uint64_t older,
                            uint64_t chain) {
  Result<std::unique_ptr<Filter>> base = filter_for(options_.capacity);
  if (!base.ok()) {
    return base.take_status();
  }
  FilterRecord record = empty_record(*base.value(), options_.capacity, generation, chain);
  record.rotation = rotation;
  record.older = older;
  start_generation(record, std::move(base.value()));
  folded_in_transaction_ = false;
  valid_ = base_valid_ = true;
  return {};
}

Status LoggedFilter::refresh(std::span<const std::byte> bytes) {
  if (poisoned_) {
    return poison_error();
  }
  Result<FilterRecord> decoded = decode_record(bytes);
  if (!decoded.ok()) {
    return decoded.take_status();
  }
  const FilterRecord& next = decoded.value();
  if (next.options_digest != options_.digest || next.version != options_.format) {
    return corrupt("options that do not belong to the record");
  }
  if (valid_ && next == record_) {
    return {};
  }
  const bool same_base = base_valid_ && next.generation == record_.generation &&
                         next.fold_position == record_.fold_position &&
                         next.fold_row == record_.fold_row && next.base_id == record_.base_id &&
                         next.geometry == base_->words();
  const bool follows = valid_ && same_base && next.end_position >= position();
  valid_ = false;
  if (!same_base) {
    base_valid_ = false;
    CUCKOO_TRY(load_base(next));
    base_valid_ = true;
  }
  if (follows) {
    index_tail();  // in log order: what comes may remove what is not indexed yet
  } else {
    reset_tail(next);
  }
  record_ = next;
  Status status = follow_log(next);
  if (!status.ok() && follows && status.error().code == ErrorCode::kCorrupt) {
    reset_tail(next);  // another history since the fold: a restored backup or an older snapshot
    status = follow_log(next);
  }
  CUCKOO_TRY(std::move(status));
  item_limit_ = item_limit();
  valid_ = true;
  return {};
}

void LoggedFilter::forget() noexcept {
  if (base_changed_ || poisoned_) {
    base_valid_ = false;
  }
  valid_ = false;
  poisoned_ = false;
  dirty_ = false;
  folded_in_transaction_ = false;
  row_dirty_ = false;
  pending_rows_.clear();
}

Status LoggedFilter::load_base(const FilterRecord& record) {
  // A geometry takes some memory by itself: no more than a capacity could ask for (2^36 bits a key:
  // one hash at the lowest rate).
  constexpr unsigned kMostUnitsPerKeyLog2 = 37;
  if (record.geometry.size >> kMostUnitsPerKeyLog2 > record.capacity) {
    return corrupt("record with a geometry too large for its capacity");
  }
  Result<std::unique_ptr<Filter>> made =
      make_filter(options_.spec.kind, record.geometry, options_.page_bytes);
  if (!made.ok()) {
    return corrupt("record with a geometry that does not exist: " + made.error().message);
  }
  Filter& base = *made.value();
  const bool adds_up = base.kind() != FilterKind::kCuckoo ||
                       record.occupied + record.overflow_items == record.fold_items;
  if (!adds_up || record.occupied > base.bits()) {
    return corrupt("record whose item counts do not add up");
  }
  if (record.overflow_cells > 0) {
    CUCKOO_TRY(load_overflow(base, record));
  }
  base.set_occupied(record.occupied);
  set_base(std::move(made.value()));
  if (record.page_rows == 0) {
    base_->pages().complete();
    all_loaded_ = true;
  }
  return {};
}

Status LoggedFilter::load_overflow(Filter& base, const FilterRecord& record) {
  OverflowTable& overflow = base.overflow();
  CUCKOO_TRY(storage_.read_items(record.generation, [&](uint64_t cell, uint64_t count) -> Status {
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

void LoggedFilter::reset_tail(const FilterRecord& record) {
  tail_.clear();
  unindexed_.clear();
  pending_removes_.clear();
  tail_removes_ = 0;
  items_ = record.fold_items;
  row_.start(record.fold_chain, record.fold_position, record.fold_items);
  row_id_ = static_cast<int64_t>(record.fold_row);
  row_stored_ = false;
  row_dirty_ = false;
  pending_rows_.clear();
}

// What the row before added to a set is known only from what comes behind it.
Status LoggedFilter::take_items(uint64_t items) {
  const uint64_t before = row_.header().items_before;
  if (items < before || items - before > row_.entries()) {
    return corrupt(std::to_string(items) + " items behind a row that begins with " +
                   std::to_string(before));
  }
  items_ = items;
  return {};
}

// Applies the rows from row_ on. All that is expected of them follows from what came before.
Status LoggedFilter::follow_log(const FilterRecord& record) {
  CUCKOO_TRY(storage_.read_log(row_id_, static_cast<int64_t>(record.end_row) - 1,
                               [&](int64_t id, std::span<const std::byte> bytes) -> Status {
                                 CUCKOO_TRY(in_row("log", id, follow_row(id, bytes)));
                                 return storage_.poll();
                               }));
  if (!multiset()) {
    CUCKOO_TRY(take_items(record.end_items));
  }
  if (position() != record.end_position || row_.chain() != record.end_chain ||
      items_ != record.end_items) {
    return corrupt("log that ends at entry " + std::to_string(position()) + " with " +
                   std::to_string(items_) + " items, expected entry " +
                   std::to_string(record.end_position) + " with " +
                   std::to_string(record.end_items) + " items");
  }
  return {};
}

Status LoggedFilter::follow_row(int64_t id, std::span<const std::byte> bytes) {
  Result<LogRow> parsed = parse_log_row(bytes, options_.width);
  if (!parsed.ok()) {
    return parsed.take_status();
  }
  const LogRow& row = parsed.value();
  if (id != row_id_) {
    if (id != row_id_ + 1 || row_.entries() == 0) {
      return corrupt("the row before it is missing");
    }
    if (!multiset()) {
      CUCKOO_TRY(take_items(row.header.items_before));
    }
    row_.start(row_.chain(), position(), items_);
    row_id_ = id;
  }
  const LogRowHeader& mine = row_.header();
  const size_t known = row_.entries();
  if (row.header.compacted() || row.header.chain_before != mine.chain_before ||
      row.header.position != mine.position || row.header.items_before != mine.items_before ||
      row.header.entries < known ||
      !std::equal(row_.payload().begin(), row_.payload().end(), row.payload.begin())) {
    return corrupt("does not follow what is before it");
  }
  for (size_t i = known; i < row.header.entries; ++i) {
    const uint64_t entry = raw_entry(row, i, options_.width);
    if (!multiset() && (entry & kRemoveBit) != 0) {
      return corrupt("removes from a filter that can't remove");
    }
    apply(entry);
  }
  row_.resume(row);
  row_stored_ = true;
  return {};
}

}  // namespace cuckoo
