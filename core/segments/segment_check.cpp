// Segment: its check.
#include <algorithm>
#include <string>
#include <utility>

#include "core/segments/segment.hpp"

namespace cuckoo::segments {
// Checks I6 and I3: the runs, and what was applied of the list, are what is in the pages. It
// compares digests and, where equal entries always leave equal pages, the pages themselves, too.
Status Segment::check_runs(const Blocks& blocks, const EntryList& list) const {
  const std::string name = "segment " + std::to_string(header_.number);
  const bool multiset = options_->multiset();
  CUCKOO_ASSIGN_OR_RETURN(Runs runs, read_runs(blocks));
  if (!runs.grow_shorter()) {
    return corrupt(name + ": a run that should have been merged with the one after it (I6)");
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> listed,
                          sums_of(list, applied_, options_->width, header_.depth, multiset));
  runs.entries.insert(runs.entries.end(), listed.begin(), listed.end());
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> sums,
                          sums_of(std::move(runs.entries), header_.depth, multiset));
  // Some removes are of hashes that were never added, but share the cells of others. They are few,
  // because the next remake drops them. In a copy, some of them found nothing.
  std::vector<NetHash> adds;
  std::vector<NetHash> removes;
  uint64_t digest = 0;
  uint64_t items = 0;
  uint64_t removed = 0;
  for (size_t i = 0; i < sums.size();) {
    const uint64_t hash = sums[i].hash;
    int64_t net = 0;
    for (; i < sums.size() && sums[i].hash == hash; ++i) {
      net += sums[i].net;
      removed += static_cast<uint64_t>(std::max<int64_t>(-sums[i].net, 0));
    }
    items += static_cast<uint64_t>(net);
    digest += static_cast<uint64_t>(net) * filter_->digest_of(hash << header_.depth);
    if (net != 0) {
      (net > 0 ? adds : removes).push_back({hash, net});
    }
  }
  const uint64_t missed = multiset ? this->items() - items : 0;
  if (missed > removed) {
    return corrupt(name + ": runs of " + std::to_string(items) + " items, expected " +
                   std::to_string(this->items()));
  }
  if (missed > 0) {
    return {};
  }
  bool equal = digest == header_.digest + ahead_.digest;
  if (filter_->canonical()) {
    CUCKOO_ASSIGN_OR_RETURN(
        const std::unique_ptr<Filter> again,
        make_filter(options_->spec.kind, header_.geometry(), options_->page_bytes));
    again->pages().complete();
    fill(*again, adds, header_.depth);
    for (const auto& [hash, net] : removes) {
      equal = equal && again->remove_copies(hash << header_.depth, 0 - static_cast<uint64_t>(net));
    }
    equal = equal && equal_cells(*again, *filter_);
  }
  return equal ? Status() : corrupt(name + ": runs that are not what is in its pages (I3)");
}

Status Segment::check(const Blocks& blocks, const EntryList& list, bool keeps_hashes) {
  CUCKOO_TRY(load_all(blocks));
  CUCKOO_TRY(filter_->check());
  if (filter_->digest() != header_.digest + ahead_.digest) {
    return corrupt("segment " + std::to_string(header_.number) +
                   ": pages that are not those of its header");
  }
  return keeps_hashes && !outgrew_ ? check_runs(blocks, list) : Status();
}

Status Segment::expect_same(const Segment& other) const {
  const std::string name = "segment " + std::to_string(header_.number);
  const SegmentHeader& known = other.header_;  // its blocks may not be counted yet
  if (known.number != header_.number || known.base_id != header_.base_id ||
      known.folded_to != header_.folded_to || known.digest != header_.digest ||
      known.items != header_.items || known.occupied != header_.occupied ||
      known.geometry() != header_.geometry() || other.applied_ != applied_) {
    return corrupt(name + ": in memory with another header than in storage");
  }
  const PageSet& own = filter_->pages();
  const PageSet& others = other.filter_->pages();
  for (uint64_t index = 0; index < own.page_count(); ++index) {
    if (const std::byte* const page = others.find(index);
        page != nullptr && !std::equal(page, page + own.page_bytes(), own.find(index))) {
      return corrupt(name + ": page " + std::to_string(index) +
                     " in memory is not what its block and the log make of it (I7)");
    }
  }
  const auto equal = [](const CellCounts& a, const CellCounts& b) {
    bool all = a.size() == b.size();
    a.for_each([&](uint64_t hash, uint64_t count) { all = all && b.count(hash) == count; });
    return all;
  };
  if (other.ahead_ != ahead_ || other.outgrew_ != outgrew_ || !equal(beyond_, other.beyond_) ||
      !equal(owed_, other.owed_) || other.filter_->occupied() != filter_->occupied() ||
      !other.filter_->overflow().equals(filter_->overflow())) {
    return corrupt(name + ": counts in memory that are not what storage and the log make of them" +
                   " (I7, I8)");
  }
  return {};
}

}  // namespace cuckoo::segments
