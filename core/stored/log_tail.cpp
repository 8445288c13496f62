#include "core/stored/log_tail.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <string>

#include "core/stored/hash_sort.hpp"
#include "core/stored/replay.hpp"

namespace cuckoo {

Result<NetEntries::Applied> NetEntries::apply_to(Filter& filter) const {
  Applied applied;
  for (const uint64_t hash : removes) {
    applied.digest -= filter.digest_of(hash);
    if (!filter.remove(hash)) {
      return corrupt("pages that lack an entry that the log removes");
    }
  }
  if (!adds.empty()) {
    applied.present = filter.insert_batch(adds, applied.digest);
  }
  return applied;
}

LogTail::LogTail(const FilterOptions& options)
    : width_(options.width),
      row_bytes_(options.row_bytes()),
      multiset_(options.multiset()),
      row_(options.width, options.row_bytes()) {}

void LogTail::start(const FilterRecord& record) noexcept {
  nets_.clear();
  forget_waiting();
  most_unrowed_ = UINT64_MAX;
  pending_removes_.clear();
  removes_ = 0;
  items_ = record.fold_items;
  row_.start(record.fold_chain, record.fold_position, record.fold_items);
  first_ = row_.header();
  first_row_ = row_id_ = static_cast<int64_t>(record.fold_row);
  row_stored_ = false;
  row_dirty_ = false;
  unwritten_.clear();
}

// --- entries -------------------------------------------------------------------------------------

// One more or one less pending remove of the hash's cells. Strong guarantee.
void LogTail::pend_remove(uint64_t hash, const Filter& base, bool more) {
  uint64_t cells[Filter::kMaxPlaces];
  const size_t count = base.cells_of(hash, cells);
  if (more) {
    pending_removes_.make_room(count);
  }
  for (size_t i = 0; i < count; ++i) {
    pending_removes_.add(cells[i], more ? 1 : ~uint64_t{0});
  }
}

// One log entry's effect on memory; not on a set's items.
void LogTail::apply(uint64_t entry, const Filter& base) {
  const uint64_t hash = entry & ~kRemoveBit;
  int32_t& net = nets_.at(hash);
  if (!multiset_) {
    net = 1;
    return;
  }
  if ((entry & kRemoveBit) == 0) {
    if (net < 0) {
      pend_remove(hash, base, false);
    }
    ++net;
    ++items_;
  } else {
    if (net <= 0) {
      pend_remove(hash, base, true);
    }
    --net;
    --items_;
    ++removes_;
  }
}

// All or nothing: what is indexed leaves the list from its end; adds alone come in any order.
void LogTail::index(const Filter& base) {
  assert(multiset_ || indexed());
  put_rows();
  while (!waiting_.empty()) {
    const uint64_t hash = waiting_.back();
    nets_.at(hash);  // may allocate: before anything changes
    waiting_.pop_back();
    --items_;  // counted when it was added
    apply(hash, base);
  }
}

NetEntries LogTail::net_entries(const Filter& base) {
  if (nets_.empty()) {
    return {{}, sorted_by_hash(waiting_, width_)};
  }
  index(base);
  LargeVector<uint64_t> removes;
  LargeVector<uint64_t> adds;
  nets_.for_each([&](uint64_t hash, int32_t net) {
    LargeVector<uint64_t>& to = net < 0 ? removes : adds;
    to.insert(to.end(), static_cast<size_t>(std::abs(net)), hash);
  });
  return {sorted_by_hash(removes, width_), sorted_by_hash(adds, width_)};
}

void LogTail::wait(uint64_t hash) {
  waiting_.push_back(hash);
  nets_.prefetch(hash);
}

void LogTail::add_to_set(uint64_t hash, bool is_new) {
  int32_t& net = nets_.at(hash);
  make_room();
  append(hash);
  net = 1;
  items_ += is_new ? 1 : 0;
}

void LogTail::remove(uint64_t hash, const Filter& base) {
  assert(indexed());
  nets_.at(hash);  // may allocate: before anything changes
  pending_removes_.make_room(Filter::kMaxPlaces);
  make_room();
  append(hash | kRemoveBit);
  apply(hash | kRemoveBit, base);
}

// --- rows ----------------------------------------------------------------------------------------

// The last one is full. Strong guarantee; it may stay empty.
void LogTail::begin_row() {
  if (row_dirty_) {
    unwritten_.push_back({row_id_, row_.encode(), row_stored_});
  }
  row_.start(row_.chain(), row_position(), items_ - unrowed_);
  ++row_id_;
  row_stored_ = false;
  row_dirty_ = false;
}

void LogTail::put_rows() {
  for (auto next = waiting_.end() - static_cast<ptrdiff_t>(unrowed_); unrowed_ > 0;) {
    make_room();
    const size_t room = row_.capacity() - row_.entries();
    for (size_t i = std::min<size_t>(room, unrowed_); i > 0; --i, --unrowed_) {
      append(*next++);
    }
  }
}

uint64_t LogTail::chain() const {
  if (has_rows()) {
    return row_.chain();
  }
  RawRowBuilder row = row_;
  for (auto next = waiting_.end() - static_cast<ptrdiff_t>(unrowed_); next != waiting_.end();) {
    if (row.full()) {
      row.start(row.chain(), 0, 0);
    }
    row.append(*next++);
  }
  return row.chain();
}

Status LogTail::write_to(FilterStorage& storage) const {
  if (!has_rows()) {
    return invalid("log rows that are written before their last adds stand in them");
  }
  for (const FullRow& row : unwritten_) {
    CUCKOO_TRY(storage.write_log(row.id, row.bytes, row.stored));
  }
  return row_dirty_ ? storage.write_log(row_id_, row_.encode(), row_stored_) : Status();
}

void LogTail::note_written() noexcept {
  row_stored_ = row_stored_ || row_dirty_;
  forget_unwritten();
}

void LogTail::forget_unwritten() noexcept {
  row_dirty_ = false;
  unwritten_.clear();
}

// A row doesn't say which of its entries were new to a set. How many were follows from the number
// of items behind it, which the next row's header says, or the record when it is the last row.
Status LogTail::take_items(uint64_t items) {
  const uint64_t before = row_.header().items_before;
  if (items < before || items - before > row_.entries()) {
    return corrupt(std::to_string(items) + " items behind a row that begins with " +
                   std::to_string(before));
  }
  items_ = items;
  return {};
}

// All that is expected of the rows follows from what came before.
Status LogTail::follow(FilterStorage& storage, const FilterRecord& record, const Filter& base) {
  CUCKOO_TRY(storage.read_log(row_id_, static_cast<int64_t>(record.end_row) - 1,
                              [&](int64_t id, std::span<const std::byte> bytes) -> Status {
                                CUCKOO_TRY(in_row("log", id, follow_row(id, bytes, base)));
                                return storage.poll();
                              }));
  if (!multiset_) {
    CUCKOO_TRY(take_items(record.end_items));
  }
  if (position() != record.end_position || chain() != record.end_chain ||
      items_ != record.end_items) {
    return corrupt("log that ends at entry " + std::to_string(position()) + " with " +
                   std::to_string(items_) + " items, expected entry " +
                   std::to_string(record.end_position) + " with " +
                   std::to_string(record.end_items) + " items");
  }
  return {};
}

Status LogTail::follow_row(int64_t id, std::span<const std::byte> bytes, const Filter& base) {
  CUCKOO_ASSIGN_OR_RETURN(const LogRow row, parse_log_row(bytes, width_));
  if (row.header.entries > row_.capacity()) {
    return corrupt("log row of " + std::to_string(row.header.entries) + " entries, expected " +
                   std::to_string(row_.capacity()) + " at most");
  }
  if (id != row_id_) {
    if (id != row_id_ + 1 || row_.entries() == 0) {
      return corrupt("the row before it is missing");
    }
    if (!multiset_) {
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
    const uint64_t entry = raw_entry(row, i, width_);
    if (!multiset_ && (entry & kRemoveBit) != 0) {
      return corrupt("removes from a filter that can't remove");
    }
    apply(entry, base);
  }
  row_.resume(row);
  row_stored_ = true;
  return {};
}

Result<LogTail::Rows> LogTail::rows_from(FilterStorage& storage, int64_t first) const {
  assert(has_rows());
  Rows rows;
  CUCKOO_TRY(
      storage.read_log(first, row_id_, [&](int64_t id, std::span<const std::byte> row) -> Status {
        rows[id].assign(row.begin(), row.end());
        return storage.poll();
      }));
  for (const FullRow& row : unwritten_) {
    rows[row.id] = row.bytes;
  }
  if (row_.entries() > 0) {
    rows[row_id_] = row_.encode();
  }
  return rows;
}

Result<std::vector<uint64_t>> LogTail::entries_in_order(FilterStorage& storage) const {
  CUCKOO_ASSIGN_OR_RETURN(const Rows rows, rows_from(storage, first_row_));
  LogFollower log(width_, multiset_, first_row_, first_.chain_before, first_.position,
                  first_.items_before);
  std::vector<uint64_t> entries;
  for (const auto& [id, bytes] : rows) {
    CUCKOO_ASSIGN_OR_RETURN(const LogRow row, log.follow(id, bytes));
    if (row.header.compacted()) {
      return in_row("log", id, corrupt("compacted entries behind raw ones"));
    }
    uint64_t added = 0;
    for (size_t i = 0; i < row.header.entries; ++i) {
      entries.push_back(raw_entry(row, i, width_));
      added += (entries.back() & kRemoveBit) == 0 ? 1 : ~uint64_t{0};
    }
    log.pass(row, added);
  }
  if (log.position() != position() || log.chain() != chain()) {
    return in_row("log", log.row(), corrupt("is missing or does not follow"));
  }
  return entries;
}

size_t LogTail::memory_bytes() const noexcept {
  return nets_.memory_bytes() + pending_removes_.memory_bytes() +
         waiting_.capacity() * sizeof(uint64_t) + (unwritten_.size() + 1) * row_bytes_;
}

}  // namespace cuckoo
