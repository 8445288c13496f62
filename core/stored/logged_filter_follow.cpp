// LoggedFilter's memory as a cache of storage: create(), refresh() from a record, forget().
#include <utility>

#include "core/stored/logged_filter.hpp"

namespace cuckoo {

FilterRecord LoggedFilter::empty_record(const Filter& base, uint64_t capacity, uint64_t epoch,
                                        uint64_t chain) const noexcept {
  FilterRecord record;
  record.version = options_.format;
  record.key_types = record_.key_types;
  record.options_digest = options_.digest;
  record.epoch = epoch;
  record.capacity = capacity;
  record.geometry = base.words();
  record.start_chain = record.fold_chain = log_chain_restart(chain, epoch);
  record.first_row = record.fold_row = static_cast<uint64_t>(first_row_id(epoch));
  record.base_id = first_base_id(record);
  record.rotation = record_.rotation;
  record.older = record_.older;
  return record;
}

Status LoggedFilter::create(uint64_t epoch, uint64_t rotation, uint64_t older, uint64_t chain) {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> base,
                          options_.make_filter_for(options_.capacity));
  FilterRecord record = empty_record(*base, options_.capacity, epoch, chain);
  record.rotation = rotation;
  record.older = older;
  start_epoch(record, std::move(base));
  folded_in_transaction_ = false;
  set_next_work();
  valid_ = base_valid_ = true;
  return {};
}

Status LoggedFilter::refresh(std::span<const std::byte> bytes) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_ASSIGN_OR_RETURN(const FilterRecord& next, decode_record(bytes));
  if (next.options_digest != options_.digest || next.version != options_.format) {
    return corrupt("options that do not belong to the record");
  }
  if (valid_ && next == record_) {
    return {};
  }
  const bool same_base = base_valid_ && next.epoch == record_.epoch &&
                         next.fold_position == record_.fold_position &&
                         next.fold_row == record_.fold_row && next.base_id == record_.base_id &&
                         next.geometry == base().words();
  const bool follows = valid_ && same_base && next.end_position >= tail_.position();
  valid_ = ready_ = false;
  drop_bulk();
  if (!same_base) {
    base_valid_ = false;
    CUCKOO_TRY(pages_.open(options_, next));
    base_valid_ = true;
  }
  if (follows) {
    tail_.index(base());  // in log order: what comes may remove what is not indexed yet
  } else {
    tail_.start(next);
  }
  record_ = next;
  Status status = tail_.follow(storage_, next, base());
  if (!status.ok() && follows && status.error().code == ErrorCode::kCorrupt) {
    tail_.start(next);  // another history since the fold: a restored backup or an older snapshot
    status = tail_.follow(storage_, next, base());
  }
  CUCKOO_TRY(std::move(status));
  set_limits();
  valid_ = true;
  return {};
}

void LoggedFilter::forget() noexcept {
  if (base_changed_ || poisoned()) {
    base_valid_ = false;
  }
  valid_ = ready_ = false;
  drop_bulk();
  poison_.lift();
  dirty_ = false;
  folded_in_transaction_ = false;
  tail_.forget_unwritten();
  tail_.forget_waiting();
}

}  // namespace cuckoo
