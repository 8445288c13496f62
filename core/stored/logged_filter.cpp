#include "core/stored/logged_filter.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/page_row.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kMaxCopiesInBuckets = CuckooFilter::kMaxCopiesInBuckets;
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

FilterSpec FilterOptions::generation_spec() const noexcept {
  FilterSpec one = spec;
  if (generations > 1) {
    one.rate = -std::expm1(std::log1p(-spec.rate) / static_cast<double>(generations));
  }
  return one;
}

Result<std::unique_ptr<Filter>> LoggedFilter::filter_for(uint64_t capacity) const {
  FilterSpec spec = options_.generation_spec();
  if (spec.kind == FilterKind::kLegacyBloom) {  // whose file may have asked for anything
    spec.rate = std::clamp(spec.rate, kMinRate, kMaxRate);
  }
  return make_filter(spec, capacity, options_.page_bytes);
}

// Without hashes a cuckoo filter is full at its capacity (a Bloom filter: see make_room). With
// hashes at items / rate = 2^46, beyond which hashes of 47 bits are too alike, or at 2^60, where
// the sizing of filters ends.
uint64_t LoggedFilter::item_limit() const noexcept {
  if (!keeps_hashes()) {
    return cuckoo_ != nullptr ? record_.capacity : kMaxCapacity;
  }
  const FilterSpec spec = options_.generation_spec();
  if (spec.bits_per_key != 0) {
    return kMaxCapacity;  // no rate was asked for
  }
  const double rate = spec.fingerprint_bits != 0
                          ? std::ldexp(8.0, -static_cast<int>(spec.fingerprint_bits))
                          : spec.rate;
  const double limit = std::ldexp(rate, options_.width == HashWidth::k47Bits ? 46 : 60);
  return static_cast<uint64_t>(std::clamp(limit, 1.0, static_cast<double>(kMaxCapacity)));
}

void LoggedFilter::set_base(std::unique_ptr<Filter> base) noexcept {
  base_ = std::move(base);
  const bool is_cuckoo = base_->kind() == FilterKind::kCuckoo;
  cuckoo_ = is_cuckoo ? static_cast<const CuckooFilter*>(base_.get()) : nullptr;
  bloom_ = is_cuckoo ? nullptr : static_cast<const BloomFilter*>(base_.get());
  all_loaded_ = false;
  absent_rows_ = 0;
  fold_threshold_ = threshold_for(base_->pages().page_count());
}

int64_t LoggedFilter::page_id(uint64_t index) const noexcept {
  return first_row_id(record_.generation) + static_cast<int64_t>(index);
}

Status LoggedFilter::poison_error() const {
  return Error{ErrorCode::kStorage, "an earlier write failed in this transaction; roll it back", 0};
}

Status LoggedFilter::full_error() const {
  const std::string items = std::to_string(items_) + " items, ";
  if (keeps_hashes()) {
    return Error{ErrorCode::kFull, items + "as many as hashes of " +
                                       std::to_string(static_cast<int>(options_.width)) +
                                       " bits can tell apart at this rate"};
  }
  const std::string capacity = "its capacity of " + std::to_string(record_.capacity);
  return Error{ErrorCode::kFull,
               options_.growth
                   ? items + capacity + " is reached, and it came without hashes: it can't grow"
                   : items + capacity + " is reached, and growth is off"};
}

// --- the tail ------------------------------------------------------------------------------------

// One more or one less pending remove of the hash's cells.
void LoggedFilter::pend_remove(uint64_t hash, bool more) {
  uint64_t cells[Filter::kMaxPlaces];
  const size_t count = base_->cells_of(hash, cells);
  for (size_t i = 0; i < count; ++i) {
    uint64_t& removes = pending_removes_[cells[i]];
    removes += more ? 1 : ~uint64_t{0};
  }
}

// One log entry's effect on memory; not on a set's items.
void LoggedFilter::apply(uint64_t entry) {
  const uint64_t hash = entry & ~kRemoveBit;
  int32_t& net = tail_.at(hash);
  if (!multiset()) {
    net = 1;
    return;
  }
  if ((entry & kRemoveBit) == 0) {
    if (net < 0) {
      pend_remove(hash, false);
    }
    ++net;
    ++items_;
  } else {
    if (net <= 0) {
      pend_remove(hash, true);
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

uint64_t LoggedFilter::count(uint64_t hash) {
  index_tail();
  const int32_t net = tail_.net(hash);
  const uint64_t own = net > 0 ? static_cast<uint64_t>(net) : 0;
  if (!multiset()) {
    return contains(hash) ? 1 : 0;
  }
  return own + base_->count(hash, pending_removes_);
}

// For a Bloom filter without hashes, before an add of what is absent. What the tail stands for is
// an estimate, so it is folded before the answer is "full".
Status LoggedFilter::make_room() {
  const uint64_t unfolded = items_ - std::min(items_, record_.fold_items);
  if (!base_->full(items_, unfolded, record_.capacity)) {
    return {};
  }
  CUCKOO_TRY(fold());
  return base_->full(items_, 0, record_.capacity) ? full_error() : Status();
}

Status LoggedFilter::insert(uint64_t hash) {
  return multiset() ? insert_into_multiset(hash) : insert_into_set(hash);
}

Status LoggedFilter::insert_into_multiset(uint64_t hash) {
  if (items_ >= item_limit_) {
    return full_error();
  }
  if (fold_due()) {
    CUCKOO_TRY(fold());
  }
  if (cuckoo_ == nullptr && !keeps_hashes()) {
    CUCKOO_TRY(load(hash));
    if (!contains(hash)) {
      CUCKOO_TRY(make_room());
    }
  }
  append_add(hash);
  return {};
}

// To a multiset.
void LoggedFilter::append_add(uint64_t hash) {
  unindexed_.push_back(hash);
  try {
    append(hash);
  } catch (...) {
    unindexed_.pop_back();
    throw;
  }
  ++items_;
}

Status LoggedFilter::insert_into_set(uint64_t hash) {
  if (fold_due()) {
    CUCKOO_TRY(fold());
  }
  Answer answer = probe(hash);
  if (answer == Answer::kNotLoaded) {
    CUCKOO_TRY(load(hash));
    answer = probe(hash);
  }
  const bool is_new = answer == Answer::kAbsent;
  // A hash that only looks present is logged all the same: the next rebuild would lose it.
  if (!is_new && (!keeps_hashes() || tail_.net(hash) > 0)) {
    return {};
  }
  if (is_new) {
    if (items_ >= item_limit_) {
      return full_error();
    }
    if (!keeps_hashes()) {
      CUCKOO_TRY(make_room());
    }
  }
  int32_t& net = tail_.at(hash);
  append(hash);
  net = 1;
  items_ += is_new ? 1 : 0;
  return {};
}

Result<bool> LoggedFilter::remove(uint64_t hash) {
  CUCKOO_TRY(load(hash));
  // Removes of what was never added can use up the items of a counting filter before its cells.
  if (items_ == 0 || !contains(hash)) {
    return false;
  }
  if (fold_due()) {
    CUCKOO_TRY(fold());
    CUCKOO_TRY(load(hash));
    if (!contains(hash)) {
      return false;
    }
  }
  if (tail_.at(hash) <= 0) {  // may allocate: before anything changes
    uint64_t cells[Filter::kMaxPlaces];
    const size_t count = base_->cells_of(hash, cells);
    for (size_t i = 0; i < count; ++i) {
      pending_removes_[cells[i]];
    }
  }
  append(hash | kRemoveBit);
  apply(hash | kRemoveBit);
  return true;
}

Result<bool> LoggedFilter::replace(uint64_t from, uint64_t to) {
  CUCKOO_TRY(load(to));
  Result<bool> removed = remove(from);
  if (!removed.ok() || !removed.value()) {
    return removed;
  }
  Status status = insert(to);
  if (!status.ok() && !poisoned_) {
    append_add(from);  // where it was, there is room
  }
  CUCKOO_TRY(std::move(status));
  return true;
}

// --- pairs: no log, no tail ----------------------------------------------------------------------

Status LoggedFilter::load_pair(const HashPair& hash) {
  uint64_t indexes[Filter::kMaxPlaces];
  return load_pages(indexes, bloom_->pages_of_pair(hash, indexes));
}

Result<bool> LoggedFilter::contains_pair(const HashPair& hash) {
  Answer answer = bloom_->probe_pair(hash);
  if (answer == Answer::kNotLoaded) {
    CUCKOO_TRY(load_pair(hash));
    answer = bloom_->probe_pair(hash);
  }
  return answer == Answer::kPresent;
}

Status LoggedFilter::insert_pair(const HashPair& hash) {
  CUCKOO_TRY(load_pair(hash));
  if (bloom_->probe_pair(hash) == Answer::kPresent) {
    return {};
  }
  if (base_->full(items_, 0, record_.capacity)) {
    return full_error();
  }
  static_cast<BloomFilter&>(*base_).insert_pair(hash);
  base_changed_ = dirty_ = true;
  record_.fold_items = ++items_;
  record_.base_id = log_chain_restart(log_chain_restart(record_.base_id, hash.h1), hash.h2);
  row_.start(record_.fold_chain, record_.fold_position, items_);
  return {};
}

// --- pages ---------------------------------------------------------------------------------------

Status LoggedFilter::add_page(Filter& base, int64_t id, std::span<const std::byte> row) const {
  const auto index = static_cast<uint64_t>(id - page_id(0));
  if (id < page_id(0) || index >= base.pages().page_count()) {
    return corrupt("does not belong to this filter");
  }
  if (base.pages().find(index) != nullptr) {
    return {};
  }
  Result<std::span<const std::byte>> content = decode_page_row(row, id, options_.seed);
  if (!content.ok()) {
    return content.take_status();
  }
  CUCKOO_TRY(base.validate_page(index, content.value()));
  std::copy(content.value().begin(), content.value().end(), base.pages().add(index, true));
  return {};
}

Status LoggedFilter::load_pages(const uint64_t* indexes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (base_->pages().find(indexes[i]) != nullptr) {
      continue;
    }
    const int64_t id = page_id(indexes[i]);
    CUCKOO_TRY(storage_.read_pages(id, id, [&](int64_t row_id, std::span<const std::byte> row) {
      return in_row("page", row_id, add_page(*base_, row_id, row));
    }));
    if (base_->pages().find(indexes[i]) == nullptr) {
      CUCKOO_TRY(note_absent_row(indexes[i]));
    }
  }
  return {};
}

// A page without a row is all zero, if it may be without one. How many may follows from the record;
// and if it is one alone (the last page is often short, and empty), the sum of ids says which. When
// more are absent than there are rows, to remember them takes more memory than to load all; when
// more than may be, load_all() says so.
Status LoggedFilter::note_absent_row(uint64_t index) {
  const uint64_t count = base_->pages().page_count();
  const uint64_t absent = count - record_.page_rows;
  const auto first_id = static_cast<uint64_t>(page_id(0));
  const uint64_t pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
  const uint64_t only_one = first_id * count + pairs - record_.page_id_sum;
  if (absent == 0 || (absent == 1 && only_one != first_id + index)) {
    return in_row("page", page_id(index), corrupt("is missing"));
  }
  if (++absent_rows_ > std::min(record_.page_rows, absent)) {
    return load_all();
  }
  base_->pages().add_zero(index);
  return {};
}

Status LoggedFilter::load(uint64_t hash) {
  if (all_loaded_) {
    return {};
  }
  uint64_t indexes[Filter::kMaxPlaces];
  return load_pages(indexes, base_->pages_of(hash, indexes));
}

Status LoggedFilter::load_all() {
  if (all_loaded_) {
    return {};
  }
  const uint64_t count = base_->pages().page_count();
  if (base_->pages().owned_count() < count && record_.page_rows > 0) {
    CUCKOO_TRY(read_all_pages(*base_, page_id(0), page_id(count - 1)));
  }
  base_->pages().complete();
  all_loaded_ = true;
  return {};
}

// Every page row of these ids, into `base`: those that the record counts, no fewer and no others.
Status LoggedFilter::read_all_pages(Filter& base, int64_t first, int64_t last) {
  uint64_t rows = 0;
  uint64_t id_sum = 0;
  CUCKOO_TRY(
      storage_.read_pages(first, last, [&](int64_t id, std::span<const std::byte> row) -> Status {
        CUCKOO_TRY(in_row("page", id, add_page(base, id, row)));
        ++rows;
        id_sum += static_cast<uint64_t>(id);
        return storage_.poll();
      }));
  if (rows != record_.page_rows || id_sum != record_.page_id_sum) {
    return corrupt(std::to_string(rows) + " page rows, expected " +
                   std::to_string(record_.page_rows) + ": some are missing or too many");
  }
  return {};
}

// --- fold ----------------------------------------------------------------------------------------

bool LoggedFilter::must_compact() const noexcept {
  // L > the length after the last compaction by half and 4096, and more than half of it dead. The
  // tail's own removes count: they are folded by now, or will be by the rebuild.
  const uint64_t length = log_entries();
  const uint64_t dead = record_.dead + 2 * tail_removes_;
  return keeps_hashes() && dead > length / 2 &&
         length >= record_.compacted_entries + record_.compacted_entries / 2 + 4096;
}

// Would the fold leave more items outside the overflow table than the capacity? Of a Bloom filter
// that is seen afterwards: outgrown().
bool LoggedFilter::must_grow(const std::vector<uint64_t>& removes,
                             const std::vector<uint64_t>& adds) const {
  if (!keeps_hashes() || cuckoo_ == nullptr) {
    return false;
  }
  const uint64_t now = base_->occupied();
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
    const uint64_t there = std::min(kMaxCopiesInBuckets, cuckoo_->count(adds[i]));
    more += std::min<uint64_t>(end - i, kMaxCopiesInBuckets - there);
    i = end;
  }
  return now - gone + more > record_.capacity;
}

bool LoggedFilter::outgrown() const noexcept {
  return keeps_hashes() && cuckoo_ == nullptr && base_->outgrown(items_, record_.capacity);
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
    return replay_into_generation(record_.capacity, false);
  }
  poisoned_ = true;
  CUCKOO_TRY(fold_into_pages(removes, adds));
  poisoned_ = false;
  if (!outgrown()) {
    return {};
  }
  Status status = replay_into_generation(record_.capacity, true);
  poisoned_ = poisoned_ || !status.ok();  // what is folded must not stay so
  return status;
}

Status LoggedFilter::fold_into_pages(const std::vector<uint64_t>& removes,
                                     const std::vector<uint64_t>& adds) {
  if (keeps_hashes()) {
    CUCKOO_TRY(write_rows());
  }
  uint64_t digest = record_.cells_digest;
  for (const uint64_t hash : removes) {
    digest -= base_->digest_of(hash);
    if (!base_->remove(hash)) {
      return corrupt("pages that lack an entry that the log removes");
    }
  }
  for (const uint64_t hash : adds) {
    digest += base_->digest_of(hash);
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
    const std::span content(base_->pages().find(index), base_->content_bytes(index));
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
  if (!keeps_hashes() && record_.first_row < record_.fold_row) {
    CUCKOO_TRY(storage_.erase_log(static_cast<int64_t>(record_.first_row),
                                  static_cast<int64_t>(record_.fold_row) - 1));
    record_.first_row = record_.fold_row;
    record_.start_chain = record_.fold_chain;
    record_.start_position = record_.fold_position;
    record_.start_items = record_.fold_items;
    record_.compacted_entries = record_.dead = 0;
  }
  CUCKOO_TRY(write_rows());
  CUCKOO_TRY(write_pages());
  OverflowTable& overflow = base_->overflow();
  for (const uint64_t cell : overflow.changed()) {
    const uint64_t count = overflow.count(cell);
    CUCKOO_TRY(count == 0 ? storage_.erase_item(record_.generation, cell)
                          : storage_.write_item(record_.generation, cell, count));
  }
  overflow.clear_changed();
  record_.end_position = position();
  record_.end_chain = row_.chain();
  record_.end_items = items_;
  record_.end_row = static_cast<uint64_t>(row_id_) + (row_.entries() > 0 ? 1 : 0);
  record_.occupied = base_->occupied();
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
  const FilterSpec& spec = options_.spec;
  const bool by_rate = spec.fingerprint_bits == 0 && spec.bits_per_key == 0;
  return by_rate ? spec.rate : base_->rate(static_cast<double>(record_.capacity));
}

double LoggedFilter::rate_now() const noexcept { return base_->rate_now(); }

double LoggedFilter::load_factor() const noexcept { return base_->load_factor(); }

size_t LoggedFilter::memory_bytes() const noexcept {
  const size_t row_bytes = options_.page_bytes + kPageCrcBytes;
  return base_->pages().memory_bytes() + tail_.memory_bytes() +
         pending_removes_.size() * 4 * sizeof(uint64_t) + unindexed_.capacity() * sizeof(uint64_t) +
         (pending_rows_.size() + 1) * row_bytes;
}

}  // namespace cuckoo
