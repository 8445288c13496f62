// Segment: its check.
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/segments/segment.hpp"
#include "core/stored/hash_sort.hpp"

namespace cuckoo::segments {
// Checks I6, and I3 with I7. For I3 and I7 it compares digests and, where equal entries always
// leave equal pages, the pages themselves, too.
Status Segment::check_runs(const Blocks& blocks, const Filter& cells) const {
  const std::string name = "segment " + std::to_string(header_.number);
  CUCKOO_ASSIGN_OR_RETURN(Runs runs, read_runs(blocks));
  if (!runs.grow_shorter()) {
    return corrupt(name + ": a run that should have been merged with the one after it (I6)");
  }
  std::vector<NetHash> entries = with_loose(std::move(runs.entries));
  sort_by_hash(entries, header_.depth);
  CUCKOO_ASSIGN_OR_RETURN(
      const std::unique_ptr<Filter> again,
      make_filter(options_->spec.kind, header_.geometry(), options_->page_bytes));
  again->pages().complete();
  const std::unique_ptr<FilterBuilder> builder =
      again->builder(entries.size(), Filter::Digest::kNone);
  // These removes are of hashes that were never added, but share the cells of others. They are few,
  // because the next remake drops them.
  std::vector<NetHash> removes;
  uint64_t digest = 0;
  uint64_t items = 0;
  for (size_t i = 0; i < entries.size();) {
    const uint64_t hash = entries[i].hash;
    uint64_t net = 0;  // modulo 2^64
    for (; i < entries.size() && entries[i].hash == hash; ++i) {
      net += static_cast<uint64_t>(entries[i].net);
    }
    items += net;
    digest += net * cells.digest_of(hash << header_.depth);
    const auto signed_net = static_cast<int64_t>(net);
    if (signed_net > 0) {
      builder->insert(hash << header_.depth, options_->multiset() ? net : 1);
    } else if (signed_net < 0) {
      removes.push_back({hash << header_.depth, signed_net});
    }
  }
  builder->finish();
  if (options_->multiset() && items != header_.items) {
    return corrupt(name + ": runs of " + std::to_string(items) + " items, expected " +
                   std::to_string(header_.items));
  }
  bool equal = digest == header_.digest;
  if (cells.canonical()) {
    for (const NetHash& entry : removes) {
      equal = equal && again->remove_copies(entry.hash, 0 - static_cast<uint64_t>(entry.net));
    }
    equal = equal && equal_cells(*again, cells);
  }
  return equal ? Status() : corrupt(name + ": runs that are not what is in its pages (I3)");
}

Status Segment::check_cells(const Blocks& blocks, const Filter& cells, bool keeps_hashes) {
  CUCKOO_TRY(cells.check());
  const std::string name = "segment " + std::to_string(header_.number);
  if (cells.digest() != header_.digest) {
    return corrupt(name + ": pages that are not those of its header");
  }
  index();
  bool good = true;
  pending_.removes().for_each(
      [&](uint64_t cell, uint64_t removes) { good = good && cells.copies(cell) >= removes; });
  if (!good) {
    return corrupt(name + ": pages that lack an entry that the log removes");
  }
  return keeps_hashes ? check_runs(blocks, cells) : Status();
}

Status Segment::check(const Blocks& blocks, bool keeps_hashes) {
  const bool never_written =
      all_loaded_ && header_.pages == 0 && header_.run_blocks == 0 && header_.overflow_blocks == 0;
  if (!loose_.empty() && !(never_written && keeps_hashes)) {
    return corrupt("segment " + std::to_string(header_.number) + ": " +
                   std::to_string(loose_.size()) +
                   " loose entries, expected none in a segment that is stored (I7)");
  }
  if (never_written) {
    return check_cells(blocks, *filter_, keeps_hashes);
  }
  CUCKOO_ASSIGN_OR_RETURN(
      const std::unique_ptr<Filter> stored,
      make_filter(options_->spec.kind, header_.geometry(), options_->page_bytes));
  CUCKOO_TRY(read_pages(blocks, *stored));
  stored->pages().complete();
  CUCKOO_TRY(read_overflow(blocks, *stored));
  stored->set_occupied(header_.occupied);
  return check_cells(blocks, *stored, keeps_hashes);
}

}  // namespace cuckoo::segments
