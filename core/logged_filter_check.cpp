// LoggedFilter::check(): everything in storage against every invariant and counter.
#include <string>

#include "core/log_replay.hpp"
#include "core/logged_filter.hpp"

namespace cuckoo {

// Every log row: I1 of core/hash_log.hpp. `digest` of what the log holds up to the fold.
Status LoggedFilter::check_log(uint64_t& digest) {
  LogExtent extent = log_extent();
  extent.last_row = static_cast<int64_t>(record_.end_row) - 1;
  uint64_t previous = 0;
  uint64_t compacted = 0;
  uint64_t items = record_.start_items;
  CUCKOO_TRY(storage_.read_log(INT64_MIN, INT64_MAX,
                               [&](int64_t id, std::span<const std::byte>) -> Status {
                                 return id < extent.first_row || id > extent.last_row
                                            ? in_row("log", id, corrupt("does not belong here"))
                                            : Status();
                               }));
  const auto count_compacted = [&](uint64_t hash, uint64_t count) -> Status {
    digest += count * CuckooFilter::mix_cell(base_->cell(hash));
    items += count;
    ++compacted;
    return {};
  };
  CUCKOO_TRY(visit_log(
      storage_, options_.width, extent, [&](int64_t id, const LogRow& row) -> Result<uint64_t> {
        const uint64_t before = items;
        if (row.header.compacted()) {
          CUCKOO_TRY(read_compacted_row(row, options_.width, previous, id == extent.first_row,
                                        count_compacted));
          return items - before;
        }
        for (size_t i = 0; i < row.header.entries; ++i) {
          const uint64_t entry = raw_entry(row, i, options_.width);
          const bool is_remove = (entry & kRemoveBit) != 0;
          if (row.header.position + i < record_.fold_position) {
            const uint64_t mixed = CuckooFilter::mix_cell(base_->cell(entry & ~kRemoveBit));
            digest += is_remove ? 0 - mixed : mixed;
          }
          items += is_remove ? ~uint64_t{0} : 1;
        }
        return items - before;
      }));
  if (items != record_.end_items || compacted != record_.compacted_entries) {
    return corrupt("log of " + std::to_string(items) + " items, the record says " +
                   std::to_string(record_.end_items));
  }
  return {};
}

// Every page row and overflow entry, into `copy`.
Status LoggedFilter::check_pages(CuckooFilter& copy) {
  uint64_t rows = 0;
  uint64_t id_sum = 0;
  CUCKOO_TRY(storage_.read_pages(INT64_MIN, INT64_MAX,
                                 [&](int64_t id, std::span<const std::byte> row) -> Status {
                                   CUCKOO_TRY(in_row("page", id, add_page(copy, id, row)));
                                   ++rows;
                                   id_sum += static_cast<uint64_t>(id);
                                   return storage_.poll();
                                 }));
  if (rows != record_.page_rows || id_sum != record_.page_id_sum) {
    return corrupt(std::to_string(rows) + " page rows, expected " +
                   std::to_string(record_.page_rows) + ": some are missing or too many");
  }
  CUCKOO_TRY(load_overflow(copy, record_));
  copy.set_bucket_items(record_.bucket_items);
  return copy.check();
}

Status LoggedFilter::check() {
  if (poisoned_) {
    return poison_error();
  }
  uint64_t log_digest = 0;
  CUCKOO_TRY(check_log(log_digest));
  CuckooFilter copy(base_->geometry());
  CUCKOO_TRY(check_pages(copy));
  if (copy.items() != record_.fold_items) {
    return corrupt(std::to_string(copy.items()) + " items in the pages, the record says " +
                   std::to_string(record_.fold_items));
  }
  if (copy.digest() != record_.cells_digest) {
    return corrupt("pages that hold other entries than were folded into them");
  }
  if (options_.growth && log_digest != record_.cells_digest) {
    return corrupt("log and pages that do not hold the same entries");
  }
  Status status;
  tail_.for_each([&](uint64_t hash, int32_t net) {
    if (net < 0 && status.ok()) {
      add_absent_pages(copy, hash);
      if (copy.count(hash) < pending_removes(hash)) {
        status = corrupt("log that removes more of an entry than there is");
      }
    }
  });
  return status;
}

}  // namespace cuckoo
