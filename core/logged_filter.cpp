#include "core/logged_filter.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/page_row.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kMaxCopiesInBuckets = LogReplay::kMaxCopiesInBuckets;
constexpr uint64_t kMaxBulkEntries = uint64_t{1} << 22;  // 32 MB of hashes

// T: long enough that a fold touches each page for many entries, short enough for a tail that is
// read whole by a fresh connection and rebuilt in memory.
uint64_t threshold_for(uint64_t pages) noexcept {
  constexpr uint64_t kManyPages = 32768;
  constexpr uint64_t kMostEntries = uint64_t{1} << 30;  // net counts are 32-bit
  const uint64_t entries = pages <= kManyPages ? std::max<uint64_t>(504, 32 * pages)
                                               : std::max<uint64_t>(uint64_t{1} << 20, 16 * pages);
  return std::min(entries, kMostEntries);
}

}  // namespace

LoggedFilter::LoggedFilter(const FilterOptions& options, FilterStorage& storage)
    : options_(options),
      storage_(storage),
      row_(options.width, options.page_bytes + kPageCrcBytes) {}

// --- geometry and limits ---------------------------------------------------------------------

Result<CuckooGeometry> LoggedFilter::geometry_for(uint64_t capacity) const {
  return options_.fingerprint_bits != 0
             ? size_cuckoo_bits(capacity, options_.fingerprint_bits, options_.page_bytes)
             : size_cuckoo(capacity, options_.rate, options_.page_bytes);
}

CuckooGeometry LoggedFilter::geometry_of(const FilterRecord& record) const noexcept {
  CuckooGeometry geometry;
  geometry.buckets = record.buckets;
  make_bucket_shape(static_cast<uint32_t>(record.radix), static_cast<uint32_t>(record.low_bits),
                    geometry.shape);
  geometry.page_bytes = options_.page_bytes;
  return geometry;
}

uint64_t LoggedFilter::item_limit() const noexcept {
  if (!options_.growth) {
    return record_.capacity;
  }
  // items / rate <= 2^46 (2^62): beyond it, hashes of the logged width are too alike.
  const double rate = options_.fingerprint_bits != 0
                          ? std::ldexp(8.0, -static_cast<int>(options_.fingerprint_bits))
                          : options_.rate;
  const double limit = std::ldexp(rate, options_.width == HashWidth::k47Bits ? 46 : 62);
  return static_cast<uint64_t>(std::clamp(limit, 1.0, static_cast<double>(kMaxCapacity)));
}

void LoggedFilter::set_base(std::unique_ptr<CuckooFilter> base) noexcept {
  base_ = std::move(base);
  all_loaded_ = false;
  fold_threshold_ = threshold_for(base_->geometry().page_count());
}

int64_t LoggedFilter::page_id(uint64_t index) const noexcept {
  return first_row_id(record_.generation) + static_cast<int64_t>(index);
}

Status LoggedFilter::poison_error() const {
  return Error{ErrorCode::kStorage, "an earlier write failed in this transaction; roll it back", 0};
}

// --- creating, following storage ---------------------------------------------------------------

Status LoggedFilter::create() {
  Result<CuckooGeometry> geometry = geometry_for(options_.capacity);
  if (!geometry.ok()) {
    return geometry.take_status();
  }
  auto base = std::make_unique<CuckooFilter>(geometry.value());
  record_ = FilterRecord{};
  record_.options_digest = options_.digest;
  record_.capacity = options_.capacity;
  record_.buckets = geometry.value().buckets;
  record_.radix = geometry.value().shape.radix;
  record_.low_bits = geometry.value().shape.low_bits;
  record_.start_chain = log_chain_restart(options_.seed, 0);
  record_.fold_chain = record_.start_chain;
  record_.base_id = first_base_id(record_);
  set_base(std::move(base));
  reset_tail(record_);
  item_limit_ = item_limit();
  valid_ = base_valid_ = dirty_ = true;
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
  if (next.options_digest != options_.digest) {
    return corrupt("options that do not belong to the record");
  }
  if (valid_ && next == record_) {
    return {};
  }
  const bool same_base = base_valid_ && next.generation == record_.generation &&
                         next.fold_position == record_.fold_position &&
                         next.fold_row == record_.fold_row && next.base_id == record_.base_id &&
                         geometry_of(next) == base_->geometry();
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
  auto base = std::make_unique<CuckooFilter>(geometry_of(record));
  if (record.overflow_cells > 0) {
    CUCKOO_TRY(load_overflow(*base, record));
  }
  base->set_bucket_items(record.bucket_items);
  set_base(std::move(base));
  return {};
}

Status LoggedFilter::load_overflow(CuckooFilter& base, const FilterRecord& record) {
  OverflowTable& overflow = base.overflow();
  CUCKOO_TRY(storage_.read_items([&](uint64_t cell, uint64_t count) -> Status {
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

// Applies the rows from row_ on. All that is expected of them follows from what came before.
Status LoggedFilter::follow_log(const FilterRecord& record) {
  CUCKOO_TRY(storage_.read_log(row_id_, static_cast<int64_t>(record.end_row) - 1,
                               [&](int64_t id, std::span<const std::byte> bytes) -> Status {
                                 CUCKOO_TRY(in_row("log", id, follow_row(id, bytes)));
                                 return storage_.poll();
                               }));
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
    apply(raw_entry(row, i, options_.width));
  }
  row_.resume(row);
  row_stored_ = true;
  return {};
}

// --- the tail ------------------------------------------------------------------------------------

// One log entry's effect on memory.
void LoggedFilter::apply(uint64_t entry) {
  const uint64_t hash = entry & ~kRemoveBit;
  int32_t& net = tail_.at(hash);
  if ((entry & kRemoveBit) == 0) {
    if (net < 0) {
      --pending_removes_[base_->cell(hash)];
    }
    ++net;
    ++items_;
  } else {
    if (net <= 0) {
      ++pending_removes_[base_->cell(hash)];
    }
    --net;
    --items_;
    ++tail_removes_;
  }
}

// Behind the tail's last entry: in the log's last row, or in a new one. Strong guarantee.
void LoggedFilter::append(uint64_t entry) {
  if (row_.full()) {
    if (row_dirty_) {
      pending_rows_.push_back({row_id_, row_.encode(), row_stored_});
    }
    row_.start(row_.chain(), position(), items_);
    ++row_id_;
    row_stored_ = false;
    row_dirty_ = false;
  }
  row_.append(entry);
  row_dirty_ = true;
  dirty_ = true;
}

// All or nothing: what is indexed leaves unindexed_ from its end; adds alone come in any order.
void LoggedFilter::index_tail() {
  while (!unindexed_.empty()) {
    const uint64_t hash = unindexed_.back();
    tail_.at(hash);  // may allocate: before anything changes
    unindexed_.pop_back();
    --items_;  // counted when it was added
    apply(hash);
  }
}

uint64_t LoggedFilter::pending_removes(uint64_t hash) const noexcept {
  const auto found = pending_removes_.find(base_->cell(hash));
  return found == pending_removes_.end() ? 0 : found->second;
}

uint64_t LoggedFilter::count(uint64_t hash) {
  index_tail();
  const int32_t net = tail_.net(hash);
  const uint64_t own = net > 0 ? static_cast<uint64_t>(net) : 0;
  return own + base_->count(hash) - pending_removes(hash);
}

Status LoggedFilter::insert(uint64_t hash) {
  if (items_ >= item_limit_) {
    return Error{ErrorCode::kFull,
                 options_.growth
                     ? std::to_string(items_) + " items, as many as hashes of " +
                           std::to_string(static_cast<int>(options_.width)) +
                           " bits can tell apart at this rate"
                     : std::to_string(items_) + " items, its capacity, and growth is off"};
  }
  if (fold_due()) {
    CUCKOO_TRY(fold());
  }
  unindexed_.push_back(hash);
  try {
    append(hash);
  } catch (...) {
    unindexed_.pop_back();
    throw;
  }
  ++items_;
  return {};
}

Result<bool> LoggedFilter::remove(uint64_t hash) {
  CUCKOO_TRY(load(hash));
  if (!contains(hash)) {
    return false;
  }
  if (fold_due()) {
    CUCKOO_TRY(fold());
    CUCKOO_TRY(load(hash));
    if (!contains(hash)) {
      return false;
    }
  }
  if (tail_.at(hash) <= 0) {
    pending_removes_[base_->cell(hash)];  // may allocate: before anything changes
  }
  append(hash | kRemoveBit);
  apply(hash | kRemoveBit);
  return true;
}

// --- pages ---------------------------------------------------------------------------------------

Status LoggedFilter::add_page(CuckooFilter& base, int64_t id,
                              std::span<const std::byte> row) const {
  const auto index = static_cast<uint64_t>(id - page_id(0));
  if (id < page_id(0) || index >= base.geometry().page_count()) {
    return corrupt("does not belong to this filter");
  }
  if (base.pages().find(index) != nullptr) {
    return {};
  }
  Result<std::span<const std::byte>> content = decode_page_row(row, id, options_.seed);
  if (!content.ok()) {
    return content.take_status();
  }
  CUCKOO_TRY(CuckooFilter::validate_page(base.geometry(), index, content.value()));
  std::copy(content.value().begin(), content.value().end(), base.pages().add(index, true));
  return {};
}

Status LoggedFilter::load(uint64_t hash) {
  const CuckooFilter::Place place = base_->locate(hash);
  for (const uint64_t bucket : {place.bucket1, place.bucket2}) {
    const uint64_t index = base_->page_of(bucket);
    if (base_->pages().find(index) != nullptr) {
      continue;
    }
    const int64_t id = page_id(index);
    CUCKOO_TRY(storage_.read_pages(id, id, [&](int64_t row_id, std::span<const std::byte> row) {
      return in_row("page", row_id, add_page(*base_, row_id, row));
    }));
  }
  add_absent_pages(*base_, hash);
  return {};
}

// A page without a row is all zero.
Status LoggedFilter::add_absent_pages(CuckooFilter& base) const {
  constexpr uint64_t kPagesPerPoll = 64;
  for (uint64_t index = 0; index < base.geometry().page_count(); ++index) {
    if (base.pages().find(index) == nullptr) {
      base.pages().add(index, false);
    }
    if (index % kPagesPerPoll == 0) {
      CUCKOO_TRY(storage_.poll());  // there may be gigabytes of them
    }
  }
  return {};
}

void LoggedFilter::add_absent_pages(CuckooFilter& base, uint64_t hash) {
  const CuckooFilter::Place place = base.locate(hash);
  for (const uint64_t bucket : {place.bucket1, place.bucket2}) {
    if (base.pages().find(base.page_of(bucket)) == nullptr) {
      base.pages().add(base.page_of(bucket), false);
    }
  }
}

Status LoggedFilter::load_all() {
  if (all_loaded_) {
    return {};
  }
  const uint64_t count = base_->geometry().page_count();
  if (base_->pages().loaded_count() < count && record_.page_rows > 0) {
    CUCKOO_TRY(storage_.read_pages(page_id(0), page_id(count - 1),
                                   [&](int64_t id, std::span<const std::byte> row) -> Status {
                                     CUCKOO_TRY(in_row("page", id, add_page(*base_, id, row)));
                                     return storage_.poll();
                                   }));
  }
  CUCKOO_TRY(add_absent_pages(*base_));
  all_loaded_ = true;
  return {};
}

// --- fold ----------------------------------------------------------------------------------------

bool LoggedFilter::must_compact() const noexcept {
  // L > the length after the last compaction by half and 4096, and more than half of it dead. The
  // tail's own removes count: they are folded by now, or will be by the rebuild.
  const uint64_t length = log_entries();
  const uint64_t dead = record_.dead + 2 * tail_removes_;
  return options_.growth && dead > length / 2 &&
         length >= record_.compacted_entries + record_.compacted_entries / 2 + 4096;
}

// Would the fold leave more items outside the overflow table than the capacity?
bool LoggedFilter::must_grow(const std::vector<uint64_t>& removes,
                             const std::vector<uint64_t>& adds) const {
  if (!options_.growth) {
    return false;
  }
  const uint64_t now = base_->bucket_items();
  const uint64_t gone = std::min<uint64_t>(now, removes.size());
  if (now - gone + adds.size() <= record_.capacity) {
    return false;
  }
  uint64_t more = 0;  // copies that two buckets cannot hold do not count
  for (size_t i = 0; i < adds.size();) {
    size_t end = i;
    while (end < adds.size() && adds[end] == adds[i]) {
      ++end;
    }
    const uint64_t there = std::min(kMaxCopiesInBuckets, base_->count(adds[i]));
    more += std::min<uint64_t>(end - i, kMaxCopiesInBuckets - there);
    i = end;
  }
  return now - gone + more > record_.capacity;
}

Status LoggedFilter::fold() {
  if (tail_entries() == 0) {
    return {};
  }
  CUCKOO_TRY(load_all());
  std::vector<uint64_t> removes;
  std::vector<uint64_t> adds;
  if (tail_.empty()) {
    adds = unindexed_;  // a copy: a rebuild that fails leaves the tail as it is
  } else {
    index_tail();
    tail_.for_each([&](uint64_t hash, int32_t net) {
      std::vector<uint64_t>& to = net < 0 ? removes : adds;
      to.insert(to.end(), static_cast<size_t>(std::abs(net)), hash);
    });
  }
  sort_entries_by_hash(removes, options_.width);
  sort_entries_by_hash(adds, options_.width);
  if (must_compact() || must_grow(removes, adds)) {
    return rebuild(record_.capacity);
  }
  poisoned_ = true;
  CUCKOO_TRY(fold_into_pages(removes, adds));
  poisoned_ = false;
  return {};
}

Status LoggedFilter::fold_into_pages(const std::vector<uint64_t>& removes,
                                     const std::vector<uint64_t>& adds) {
  if (options_.growth) {
    CUCKOO_TRY(write_rows());
  }
  uint64_t digest = record_.cells_digest;
  for (const uint64_t hash : removes) {
    digest -= CuckooFilter::mix_cell(base_->cell(hash));
    if (!base_->remove(hash)) {
      return corrupt("pages that lack an entry that the log removes");
    }
  }
  for (const uint64_t hash : adds) {
    digest += CuckooFilter::mix_cell(base_->cell(hash));
  }
  record_.dead += 2 * tail_removes_ + base_->insert_batch(adds);
  record_.cells_digest = digest;
  record_.fold_position = position();
  record_.fold_chain = row_.chain();
  record_.fold_items = items_;
  record_.base_id = log_chain_restart(record_.base_id, record_.fold_chain);
  tail_.clear();
  unindexed_.clear();
  pending_removes_.clear();
  tail_removes_ = 0;
  start_row_behind_fold();
  note_fold();
  dirty_ = true;
  return {};
}

void LoggedFilter::note_fold() noexcept {
  folded_in_transaction_ = true;
  base_changed_ = true;
  bulk_threshold_ = std::max(fold_threshold_, std::min(items_, kMaxBulkEntries));
}

// The tail always starts with a row of its own.
void LoggedFilter::start_row_behind_fold() {
  if (row_.entries() > 0) {
    ++row_id_;
  }
  record_.fold_row = static_cast<uint64_t>(row_id_);
  row_.start(record_.fold_chain, record_.fold_position, record_.fold_items);
  row_stored_ = false;
  row_dirty_ = false;
  pending_rows_.clear();  // written before, or (growth off) not needed any more
}

Status LoggedFilter::settle() {
  if (!folded_in_transaction_) {
    return {};
  }
  return poisoned_ ? poison_error() : fold();
}

// --- writing -------------------------------------------------------------------------------------

Status LoggedFilter::write_rows() {
  for (const PendingRow& row : pending_rows_) {
    CUCKOO_TRY(storage_.write_log(row.id, row.bytes, row.stored));
  }
  pending_rows_.clear();
  if (row_dirty_) {
    CUCKOO_TRY(storage_.write_log(row_id_, row_.encode(), row_stored_));
    row_stored_ = true;
    row_dirty_ = false;
  }
  return {};
}

Status LoggedFilter::write_pages() {
  std::vector<uint64_t> dirty = base_->pages().dirty();
  std::sort(dirty.begin(), dirty.end());
  for (const uint64_t index : dirty) {
    const std::span content(base_->pages().find(index), base_->geometry().content_bytes(index));
    const bool stored = base_->pages().stored(index);
    const int64_t id = page_id(index);
    CUCKOO_TRY(storage_.write_page(id, encode_page_row(content, id, options_.seed), stored));
    if (!stored) {
      ++record_.page_rows;
      record_.page_id_sum += static_cast<uint64_t>(id);
    }
  }
  base_->pages().clear_dirty();
  return {};
}

Status LoggedFilter::flush() {
  if (poisoned_) {
    return poison_error();
  }
  if (!dirty_) {
    return {};
  }
  poisoned_ = true;
  if (!options_.growth && record_.first_row < record_.fold_row) {
    CUCKOO_TRY(storage_.erase_log(static_cast<int64_t>(record_.first_row),
                                  static_cast<int64_t>(record_.fold_row) - 1));
    record_.first_row = record_.fold_row;
    record_.start_chain = record_.fold_chain;
    record_.start_position = record_.fold_position;
    record_.start_items = record_.fold_items;
    record_.dead = 0;
  }
  CUCKOO_TRY(write_rows());
  CUCKOO_TRY(write_pages());
  OverflowTable& overflow = base_->overflow();
  for (const uint64_t cell : overflow.changed()) {
    const uint64_t count = overflow.count(cell);
    CUCKOO_TRY(count == 0 ? storage_.erase_item(cell) : storage_.write_item(cell, count));
  }
  overflow.clear_changed();
  record_.end_position = position();
  record_.end_chain = row_.chain();
  record_.end_items = items_;
  record_.end_row = static_cast<uint64_t>(row_id_) + (row_.entries() > 0 ? 1 : 0);
  record_.bucket_items = base_->bucket_items();
  record_.overflow_cells = overflow.cells();
  record_.overflow_items = overflow.items();
  record_.overflow_digest = overflow.digest();
  CUCKOO_TRY(storage_.write_record(encode_record(record_)));
  poisoned_ = false;
  dirty_ = false;
  return {};
}

// --- figures -------------------------------------------------------------------------------------

double LoggedFilter::target_rate() const noexcept {
  return options_.fingerprint_bits == 0
             ? options_.rate
             : cuckoo_rate(base_->geometry(), static_cast<double>(record_.capacity));
}

double LoggedFilter::rate_now() const noexcept {
  return cuckoo_rate(base_->geometry(), static_cast<double>(base_->items()));
}

double LoggedFilter::load_factor() const noexcept {
  return static_cast<double>(base_->bucket_items()) /
         (kBucketSlots * static_cast<double>(base_->geometry().buckets));
}

size_t LoggedFilter::memory_bytes() const noexcept {
  const size_t row_bytes = options_.page_bytes + kPageCrcBytes;
  return base_->pages().memory_bytes() + tail_.memory_bytes() +
         pending_removes_.size() * 4 * sizeof(uint64_t) + unindexed_.capacity() * sizeof(uint64_t) +
         (pending_rows_.size() + 1) * row_bytes;
}

}  // namespace cuckoo
