// LoggedFilter's new generations: rebuild() from the log, clear().
#include <algorithm>
#include <string>

#include "core/logged_filter.hpp"
#include "core/page_row.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kMaxCopiesInBuckets = LogReplay::kMaxCopiesInBuckets;

}  // namespace

// The whole log, all of its rows written.
LogExtent LoggedFilter::log_extent() const noexcept {
  LogExtent extent;
  extent.first_row = static_cast<int64_t>(record_.first_row);
  extent.last_row = row_id_;
  extent.start_chain = record_.start_chain;
  extent.start_position = record_.start_position;
  extent.start_items = record_.start_items;
  extent.end_chain = row_.chain();
  extent.end_position = position();
  return extent;
}

Status LoggedFilter::rebuild(uint64_t capacity) {
  if (!options_.growth) {
    return invalid("needs the hashes that only growth = on keeps");
  }
  if (record_.generation >= kMaxGeneration) {
    return Error{ErrorCode::kFull, "rebuilt as often as row ids allow", 0};
  }
  poisoned_ = true;
  CUCKOO_TRY(write_rows());
  poisoned_ = false;
  LogReplay replay(storage_, options_.width);
  CUCKOO_TRY(replay.read(log_extent()));
  if (const uint64_t needed = replay.bucket_items(); needed > capacity) {
    const bool asked = capacity != record_.capacity;  // resize: what is there fits, no more
    capacity = asked ? needed : std::max(std::min(needed + needed / 2, item_limit_), needed);
  }
  Result<CuckooGeometry> geometry = geometry_for(capacity);
  if (!geometry.ok()) {
    return geometry.take_status();
  }
  auto base = std::make_unique<CuckooFilter>(geometry.value());
  CUCKOO_TRY(add_absent_pages(*base));
  poisoned_ = true;
  CUCKOO_TRY(write_generation(replay, std::move(base), capacity));
  poisoned_ = false;
  return {};
}

// Writes the compacted log, fills the new base, erases the old generation and becomes the new one.
Status LoggedFilter::write_generation(const LogReplay& replay, std::unique_ptr<CuckooFilter> base,
                                      uint64_t capacity) {
  const uint64_t generation = record_.generation + 1;
  int64_t next_row = first_row_id(generation);
  const uint64_t start_chain = log_chain_restart(row_.chain(), generation);
  CompactedRowWriter writer(
      options_.width, options_.page_bytes + kPageCrcBytes, replay.hashes(), start_chain,
      [&](std::span<const std::byte> row) { return storage_.write_log(next_row++, row, false); });
  constexpr size_t kBatch = 1024;
  std::vector<uint64_t> batch;
  batch.reserve(kBatch + kMaxCopiesInBuckets);
  uint64_t digest = 0;
  CuckooFilter::Bulk bulk(*base, replay.bucket_items());
  CUCKOO_TRY(replay.merge([&](uint64_t hash, uint64_t count) -> Status {
    if (count <= kMaxCopiesInBuckets) {
      batch.insert(batch.end(), count, hash);
    } else {  // all of them, so that their two buckets stay free for others
      base->overflow().add(base->cell(hash), count);
    }
    digest += count * CuckooFilter::mix_cell(base->cell(hash));
    if (batch.size() >= kBatch) {
      bulk.insert(batch);
      batch.clear();
      CUCKOO_TRY(storage_.poll());
    }
    return writer.add(hash, count);
  }));
  bulk.insert(batch);
  bulk.finish();
  CUCKOO_TRY(writer.finish());
  CUCKOO_TRY(erase_generation());

  set_base(std::move(base));
  all_loaded_ = true;
  record_.generation = generation;
  record_.capacity = capacity;
  record_.buckets = base_->geometry().buckets;
  record_.radix = base_->geometry().shape.radix;
  record_.low_bits = base_->geometry().shape.low_bits;
  record_.start_chain = start_chain;
  record_.start_position = 0;
  record_.start_items = 0;
  record_.first_row = static_cast<uint64_t>(first_row_id(generation));
  record_.compacted_entries = writer.position();
  record_.dead = 0;
  record_.fold_position = writer.position();
  record_.fold_chain = writer.chain();
  record_.fold_items = writer.items();
  record_.fold_row = static_cast<uint64_t>(next_row);
  record_.cells_digest = digest;
  record_.base_id = first_base_id(record_);
  record_.page_rows = 0;
  record_.page_id_sum = 0;
  reset_tail(record_);
  item_limit_ = item_limit();
  note_fold();
  dirty_ = true;
  return {};
}

// The stored pages, log rows and overflow entries of the current generation.
Status LoggedFilter::erase_generation() {
  if (static_cast<int64_t>(record_.first_row) <= row_id_) {
    CUCKOO_TRY(storage_.erase_log(static_cast<int64_t>(record_.first_row), row_id_));
  }
  if (record_.page_rows > 0) {
    CUCKOO_TRY(storage_.erase_pages(page_id(0), page_id(base_->geometry().page_count() - 1)));
  }
  return storage_.erase_items();
}

Status LoggedFilter::clear() {
  if (record_.generation >= kMaxGeneration) {
    return Error{ErrorCode::kFull, "rebuilt as often as row ids allow", 0};
  }
  Result<CuckooGeometry> geometry = geometry_for(options_.capacity);
  if (!geometry.ok()) {
    return geometry.take_status();
  }
  auto base = std::make_unique<CuckooFilter>(geometry.value());
  poisoned_ = true;
  CUCKOO_TRY(erase_generation());
  FilterRecord fresh;
  fresh.options_digest = record_.options_digest;
  fresh.generation = record_.generation + 1;
  fresh.capacity = options_.capacity;
  fresh.buckets = geometry.value().buckets;
  fresh.radix = geometry.value().shape.radix;
  fresh.low_bits = geometry.value().shape.low_bits;
  fresh.start_chain = fresh.fold_chain = log_chain_restart(row_.chain(), fresh.generation);
  fresh.first_row = fresh.fold_row = static_cast<uint64_t>(first_row_id(fresh.generation));
  fresh.base_id = first_base_id(fresh);
  record_ = fresh;
  set_base(std::move(base));
  reset_tail(record_);
  item_limit_ = item_limit();
  note_fold();
  dirty_ = true;
  poisoned_ = false;
  return {};
}

}  // namespace cuckoo
