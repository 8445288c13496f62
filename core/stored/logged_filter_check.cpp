// LoggedFilter::check(): everything in storage against every invariant and counter.
#include <string>

#include "core/stored/logged_filter.hpp"
#include "core/stored/replay.hpp"

namespace cuckoo {

// Every log row: I1 of core/stored/log.hpp. `digest` of what the log holds up to the fold.
Status LoggedFilter::check_log(uint64_t& digest) {
  LogExtent extent = log_extent(Extent::kAll);
  extent.last_row = static_cast<int64_t>(record_.end_row) - 1;
  uint64_t previous = 0;
  uint64_t compacted = 0;
  uint64_t items = record_.start_items;
  const int64_t first_id = first_row_id(record_.epoch);
  CUCKOO_TRY(storage_.read_log(first_id, first_row_id(record_.epoch + 1) - 1,
                               [&](int64_t id, std::span<const std::byte>) -> Status {
                                 return id < extent.first_row || id > extent.last_row
                                            ? in_row("log", id, corrupt("does not belong here"))
                                            : Status();
                               }));
  const auto count_compacted = [&](uint64_t hash, uint64_t count) -> Status {
    digest += count * base().digest_of(hash);
    items += count;
    ++compacted;
    return {};
  };
  CUCKOO_TRY(visit_log(storage_, options_.width, extent,
                       [&](int64_t id, const LogRow& row) -> Result<std::optional<uint64_t>> {
                         const uint64_t before = items;
                         if (row.header.compacted()) {
                           CUCKOO_TRY(read_compacted_row(row, options_.width, previous,
                                                         id == extent.first_row, count_compacted));
                           return std::optional(items - before);
                         }
                         for (size_t i = 0; i < row.header.entries; ++i) {
                           const uint64_t entry = raw_entry(row, i, options_.width);
                           const bool is_remove = (entry & kRemoveBit) != 0;
                           if (row.header.position + i < record_.fold_position) {
                             const uint64_t mixed = base().digest_of(entry & ~kRemoveBit);
                             digest += is_remove ? 0 - mixed : mixed;
                           }
                           items += is_remove ? ~uint64_t{0} : 1;
                         }
                         return std::optional(items - before);
                       }));
  if ((multiset() && items != record_.end_items) || compacted != record_.compacted_entries) {
    return corrupt("log of " + std::to_string(items) + " items, the record says " +
                   std::to_string(record_.end_items));
  }
  return {};
}

// A canonical filter's pages, made again from the log.
Status LoggedFilter::check_pages_against_log(const Filter& copy) {
  LogReplay replay(storage_, options_.width, false, 0);
  CUCKOO_TRY(replay.read(log_extent(Extent::kFolded)));
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> made,
                          make_filter(options_.spec.kind, base().words(), options_.page_bytes));
  Filter& again = *made;
  again.pages().complete();
  const std::unique_ptr<FilterBuilder> builder =
      again.builder(replay.hashes(), Filter::Digest::kNone);
  std::vector<uint64_t> removes;  // of what was never added, but shared its cells
  constexpr uint64_t kHashesPerPoll = 1024;
  uint64_t read = 0;
  CUCKOO_TRY(replay.merge_net([&](uint64_t hash, int64_t net) -> Status {
    if (net > 0) {
      builder->insert(hash, static_cast<uint64_t>(net));
    } else {
      removes.insert(removes.end(), static_cast<size_t>(-net), hash);
    }
    return ++read % kHashesPerPoll == 0 ? storage_.poll() : Status();
  }));
  builder->finish();
  for (const uint64_t hash : removes) {
    if (!again.remove(hash)) {
      return corrupt("log that removes what is not there");
    }
  }
  return equal_cells(again, copy) ? Status()
                                  : corrupt("log and pages that do not hold the same entries");
}

// I2: pending removes never exceed what the pages hold.
Status LoggedFilter::check_tail(const Filter& copy) {
  tail_.index(base());
  bool good = true;
  tail_.pending_removes().for_each(
      [&](uint64_t cell, uint64_t removes) { good = good && copy.copies(cell) >= removes; });
  return good ? Status() : corrupt("log that removes more of an entry than there is");
}

Status LoggedFilter::check() {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(check_places());
  uint64_t log_digest = 0;
  CUCKOO_TRY(check_log(log_digest));
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> stored, pages_.read_again(record_));
  const Filter& copy = *stored;
  CUCKOO_TRY(copy.check());
  if (copy.counted_items().value_or(record_.fold_items) != record_.fold_items) {
    return corrupt("pages that hold " + std::to_string(copy.occupied()) +
                   " items, the record says " + std::to_string(record_.fold_items));
  }
  if (copy.digest() != record_.cells_digest) {
    return corrupt("pages that hold other entries than were folded into them");
  }
  if (keeps_hashes() && log_digest != record_.cells_digest) {
    return corrupt("log and pages that do not hold the same entries");
  }
  if (keeps_hashes() && copy.canonical()) {
    CUCKOO_TRY(check_pages_against_log(copy));
  }
  return check_tail(copy);
}

}  // namespace cuckoo
