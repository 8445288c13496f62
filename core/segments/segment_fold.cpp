// Segment: folding entries into its pages, and collecting the entries to make it anew.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/segments/segment.hpp"
#include "core/stored/hash_sort.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

// Sums the sorted entries of each hash, in their order and never below zero. Keeps the hashes whose
// sum is above zero. Returns whether a hash has another count now than its entries come to, because
// a remove of it was dropped, or its count was cut to 1.
Result<bool> sum_up(std::vector<NetHash>& entries, const FilterOptions& options) {
  bool repaired = false;
  size_t kept = 0;
  uint64_t items = 0;
  for (size_t i = 0; i < entries.size();) {
    const uint64_t hash = entries[i].hash;
    int64_t net = 0;
    for (; i < entries.size() && entries[i].hash == hash; ++i) {
      const int64_t sum = net + entries[i].net;
      net = std::min(std::max<int64_t>(0, sum), kMostNet);
      repaired = repaired || net != sum;
    }
    if (net > 0) {
      repaired = repaired || (net > 1 && !options.counts_copies());
      entries[kept++] = {hash, options.counts_copies() ? net : 1};
      items += static_cast<uint64_t>(entries[kept - 1].net);
      if (items > kMostItems) {
        return corrupt("runs of more items than a segment can hold");
      }
    }
  }
  entries.resize(kept);
  return repaired;
}

// Returns how many of `dead` entries are left when `gone` of them have gone. A remove may be left
// in a run. So only 0 is exact, and a number above 0 never falls to 0.
uint64_t dead_without(uint64_t dead, uint64_t gone) noexcept {
  return std::max(std::min<uint64_t>(dead, 1), dead - std::min(dead, gone));
}

int64_t items_in(std::span<const NetHash> entries) noexcept {
  int64_t items = 0;
  for (const NetHash& entry : entries) {
    items += entry.net;
  }
  return items;
}

}  // namespace

// --- runs ----------------------------------------------------------------------------------------

void Segment::add_run(std::span<const NetHash> entries) {
  const RunBlockSink keep = [this](std::span<const std::byte> block) {
    new_runs_.emplace_back(block.begin(), block.end());
    header_.base_id = XXH3_64bits_withSeed(block.data(), block.size(), header_.base_id);
    return Status();
  };
  (void)write_run(entries, options_->width, header_.depth, header_.prefix, options_->page_bytes,
                  keep);  // the sink does not fail
  header_.run_entries += static_cast<uint32_t>(entries.size());
}

// If the last run must be merged with `newer` newer entries, drops it and returns its entries. Else
// returns none, and drops nothing.
Result<std::vector<NetHash>> Segment::take_last_run(const Blocks& blocks, uint64_t newer) {
  std::vector<std::vector<std::byte>> run;  // its blocks, the last one first
  uint64_t entries = 0;
  for (bool begins = false; !begins;) {
    const size_t at = kept_run_blocks_ + new_runs_.size() - run.size();
    if (at == 0) {
      return corrupt("segment " + std::to_string(header_.number) + ": run block that follows none");
    }
    if (at > kept_run_blocks_) {
      run.push_back(new_runs_[at - kept_run_blocks_ - 1]);
    } else {
      CUCKOO_TRY(blocks.read_one(
          segment_block(header_.number, kFirstRunPart + static_cast<int64_t>(at) - 1),
          [&run](int64_t, std::span<const std::byte> block) {
            run.emplace_back(block.begin(), block.end());
            return Status();
          }));
    }
    CUCKOO_ASSIGN_OR_RETURN(const RunBlockHead head, run_block_head(run.back()));
    entries += head.entries;
    begins = head.begins;
    if (!joins(entries, newer)) {
      return std::vector<NetHash>();
    }
  }
  if (entries > header_.run_entries) {
    return corrupt("segment " + std::to_string(header_.number) + ": a run of " +
                   std::to_string(entries) + " entries, expected " +
                   std::to_string(header_.run_entries) + " or fewer");
  }
  std::vector<NetHash> taken;
  taken.reserve(entries);
  uint64_t previous = header_.prefix;
  for (size_t i = run.size(); i-- > 0;) {
    bool begins = false;
    CUCKOO_TRY(decode_run_block(run[i], options_->width, header_.depth, header_.prefix, previous,
                                taken, begins));
  }
  const size_t dropped_new = std::min(run.size(), new_runs_.size());
  new_runs_.resize(new_runs_.size() - dropped_new);
  kept_run_blocks_ -= static_cast<uint32_t>(run.size() - dropped_new);
  header_.run_entries -= static_cast<uint32_t>(entries);
  return taken;
}

// Keeps I6. Returns how many entries the merge left out because they were of the same hashes.
Result<uint64_t> Segment::merge_run(const Blocks& blocks, std::span<const NetHash> entries) {
  if (entries.empty()) {
    return 0;
  }
  std::vector<NetHash> run(entries.begin(), entries.end());
  uint64_t merged = run.size();  // entries of the runs that become this one
  while (header_.run_entries > 0) {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> older, take_last_run(blocks, merged));
    if (older.empty()) {
      break;
    }
    merged += older.size();
    CUCKOO_ASSIGN_OR_RETURN(run, joined_runs(older, run, options_->multiset()));
  }
  add_run(run);
  return merged - run.size();
}

bool Segment::Runs::grow_shorter() const noexcept {
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const size_t end = i + 2 < starts.size() ? starts[i + 2] : entries.size();
    if (joins(starts[i + 1] - starts[i], end - starts[i + 1])) {
      return false;
    }
  }
  return true;
}

// Returns all runs in their order, including those that are not written yet.
Result<Segment::Runs> Segment::read_runs(const Blocks& blocks) const {
  constexpr uint32_t kMostReserved = uint32_t{1} << 17;  // of a number that is not trusted
  Runs runs;
  runs.entries.reserve(std::min(header_.run_entries, kMostReserved));
  uint64_t previous = header_.prefix;
  uint32_t found = 0;
  const auto take = [&](int64_t, std::span<const std::byte> content) -> Status {
    const size_t before = runs.entries.size();
    bool begins = false;
    CUCKOO_TRY(decode_run_block(content, options_->width, header_.depth, header_.prefix, previous,
                                runs.entries, begins));
    if (found++ == 0 && !begins) {
      return corrupt("run block that follows none");
    }
    if (begins) {
      runs.starts.push_back(before);
    }
    return blocks.poll();
  };
  // Blocks that a fold merged are in storage until the next flush.
  const bool all_kept = kept_run_blocks_ == header_.run_blocks;
  const int64_t end = all_kept ? kFirstOverflowPart : kFirstRunPart + kept_run_blocks_;
  if (header_.run_blocks > 0) {
    CUCKOO_TRY(blocks.read(segment_block(header_.number, kFirstRunPart),
                           segment_block(header_.number, end - 1), take));
  }
  if (found != kept_run_blocks_) {
    return corrupt("segment " + std::to_string(header_.number) + ": " + std::to_string(found) +
                   " run blocks, expected " + std::to_string(kept_run_blocks_));
  }
  for (const std::vector<std::byte>& block : new_runs_) {
    CUCKOO_TRY(take(0, block));
  }
  if (runs.entries.size() != header_.run_entries) {
    return corrupt("segment " + std::to_string(header_.number) + ": runs of " +
                   std::to_string(runs.entries.size()) + " entries, expected " +
                   std::to_string(header_.run_entries));
  }
  return runs;
}

// --- folding -------------------------------------------------------------------------------------

Segment::Folding Segment::folding(std::vector<NetHash> entries) const {
  Folding folding;
  folding.entries = std::move(entries);
  folding.adds.reserve(folding.entries.size());
  constexpr auto kMostSingle = static_cast<int64_t>(Filter::kMostSingleInserts);
  for (size_t i = 0; i < folding.entries.size();) {
    const uint64_t hash = folding.entries[i].hash;
    int64_t net = 0;
    for (; i < folding.entries.size() && folding.entries[i].hash == hash; ++i) {
      net += folding.entries[i].net;
      folding.removed += folding.entries[i].net < 0 ? 1 : 0;
    }
    const uint64_t rest = hash << header_.depth;
    if (net < 0) {
      folding.removes.push_back({rest, -net});
      folding.freed += static_cast<uint64_t>(std::min(-net, kMostSingle));
    }
    if (net <= 0) {
      continue;
    }
    const auto single = static_cast<size_t>(std::min(net, kMostSingle));
    folding.adds.insert(folding.adds.end(), single, rest);
    folding.repeated += single - 1;
    if (net > kMostSingle) {
      folding.more_adds.push_back({rest, net - kMostSingle});
    }
  }
  return folding;
}

Result<uint64_t> Segment::fold_into(Filter& filter, const Folding& folding,
                                    uint64_t& digest) const {
  for (const auto& [hash, count] : folding.removes) {
    const auto copies = static_cast<uint64_t>(count);
    digest -= copies * filter.digest_of(hash);
    if (!filter.remove_copies(hash, copies)) {
      return corrupt("segment " + std::to_string(header_.number) +
                     ": pages that lack an entry that the log removes");
    }
  }
  if (folding.adds.empty()) {
    return 0;
  }
  const uint64_t present = filter.insert_batch(folding.adds, digest);
  for (const auto& [hash, count] : folding.more_adds) {
    const auto copies = static_cast<uint64_t>(count);
    digest += copies * filter.digest_of(hash);
    filter.insert_more(hash, copies);
  }
  return present - folding.repeated;  // these are present since the first one
}

bool Segment::would_outgrow(const Folding& folding) const noexcept {
  return filter_->would_outgrow(folding.freed, folding.adds, header_.capacity);
}

bool Segment::outgrown() const noexcept {
  return filter_->outgrown(header_.items, header_.capacity);
}

// Keeps I4. Without runs, base_id follows from the folded entries themselves.
void Segment::note_entries(std::span<const NetHash> entries) noexcept {
  for (const auto& [hash, net] : entries) {
    header_.base_id = chain_with(header_.base_id, hash + static_cast<uint64_t>(net));
  }
}

Status Segment::fold(const Blocks& blocks, const Folding& folding, uint64_t position,
                     bool keeps_hashes) {
  CUCKOO_TRY(keep_loose(blocks));  // they came before
  uint64_t digest = 0;
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t present, fold_into(*filter_, folding, digest));
  header_.digest += digest;
  uint64_t dead = header_.dead + 2 * folding.removed + present;
  if (keeps_hashes) {
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t gone, merge_run(blocks, folding.entries));
    dead = dead_without(dead, gone);
  } else {
    note_entries(folding.entries);
  }
  header_.dead = static_cast<uint32_t>(std::min<uint64_t>(dead, header_.run_entries));
  header_.base_id = chain_with(header_.base_id, position);
  header_.items += options_->multiset() ? static_cast<uint64_t>(items_in(folding.entries))
                                        : folding.adds.size() - present;
  header_.folded_to = position;
  pending_.clear();
  return {};
}

Result<Segment::Merged> Segment::merged(const Blocks& blocks, std::vector<NetHash> fresh) const {
  CUCKOO_ASSIGN_OR_RETURN(Runs runs, read_runs(blocks));
  std::vector<NetHash> entries = with_loose(std::move(runs.entries));
  if (!entries.empty()) {
    entries.insert(entries.end(), fresh.begin(), fresh.end());
    sort_by_hash(entries, header_.depth);
  } else {
    entries = std::move(fresh);
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool repaired, sum_up(entries, *options_));
  return Merged{std::move(entries), repaired};
}

void Segment::become(std::span<const NetHash> entries, uint64_t position, uint64_t base_id,
                     uint64_t items, bool keeps_hashes) {
  header_.base_id = chain_with(base_id, header_.prefix + header_.depth);
  {
    const std::unique_ptr<FilterBuilder> builder =
        filter_->builder(entries.size(), Filter::Digest::kSum);
    for (const auto& [hash, net] : entries) {
      builder->insert(hash << header_.depth, static_cast<uint64_t>(net));
    }
    builder->finish();
    header_.digest = builder->digest();
  }
  if (keeps_hashes) {
    add_run(entries);
  } else {
    note_entries(entries);
  }
  header_.base_id = chain_with(header_.base_id, position);
  header_.items = items;
  header_.folded_to = header_.made_at = position;
}

// --- changing at once ----------------------------------------------------------------------------

namespace {

// Calls the filter's class directly, as probe() does.
bool insert_into(Filter& filter, uint64_t hash) {
  return filter.kind() == FilterKind::kCuckoo ? static_cast<CuckooFilter&>(filter).insert(hash)
                                              : static_cast<BloomFilter&>(filter).insert(hash);
}

uint64_t digest_of(const Filter& filter, uint64_t hash) noexcept {
  return filter.kind() == FilterKind::kCuckoo
             ? static_cast<const CuckooFilter&>(filter).digest_of(hash)
             : 0;
}

}  // namespace

// The step that may run out of memory comes first.
bool Segment::insert_now(uint64_t hash, bool keeps_hashes) {
  if (keeps_hashes) {
    loose_.push_back(hash);
  }
  const uint64_t rest = hash << header_.depth;
  const bool present = insert_into(*filter_, rest);
  header_.digest += digest_of(*filter_, rest);
  header_.items += options_->multiset() || !present ? 1 : 0;
  loose_dead_ += keeps_hashes && present ? 1 : 0;
  return present;
}

bool Segment::remove_now(uint64_t hash, bool keeps_hashes) {
  if (keeps_hashes) {
    loose_.push_back(hash | kRemoveBit);
  }
  const uint64_t rest = hash << header_.depth;
  if (!filter_->remove(rest)) {
    loose_.resize(loose_.size() - (keeps_hashes ? 1 : 0));
    return false;
  }
  header_.digest -= digest_of(*filter_, rest);
  --header_.items;
  loose_dead_ += keeps_hashes ? 2 : 0;
  return true;
}

// Returns the loose hashes in ascending order, each with the sum of its entries; in a set, each
// once. Pending::sorted() does the same for pending hashes.
std::vector<NetHash> Segment::sorted_loose() const {
  const LargeVector<uint64_t> sorted =
      sorted_by_hash(std::span<const uint64_t>(loose_), options_->width, header_.depth, nullptr)
          .value();
  std::vector<NetHash> entries;
  entries.reserve(sorted.size());
  for (size_t i = 0; i < sorted.size();) {
    const uint64_t hash = sorted[i] & ~kRemoveBit;
    HashSum sum;
    for (; i < sorted.size() && (sorted[i] & ~kRemoveBit) == hash; ++i) {
      sum.take((sorted[i] & kRemoveBit) == 0 ? 1 : -1);
    }
    if (!options_->multiset()) {
      sum = HashSum(0, 1);
    }
    sum.entries(hash, [&entries](const NetHash& entry) { entries.push_back(entry); });
  }
  return entries;
}

// Returns the entries of all runs and, after them, the loose ones, as if these were one more run.
std::vector<NetHash> Segment::with_loose(std::vector<NetHash> of_runs) const {
  if (!loose_.empty()) {
    const std::vector<NetHash> loose = sorted_loose();
    of_runs.insert(of_runs.end(), loose.begin(), loose.end());
  }
  return of_runs;
}

// Of the dead entries, those are gone that were summed up with others in the list or in the runs.
Status Segment::keep_loose(const Blocks& blocks) {
  if (loose_.empty()) {
    return {};
  }
  const std::vector<NetHash> entries = sorted_loose();
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t merged, merge_run(blocks, entries));
  const uint64_t gone = merged + (loose_.size() - entries.size());
  const uint64_t dead = header_.dead + loose_dead_;
  header_.dead =
      static_cast<uint32_t>(std::min<uint64_t>(dead_without(dead, gone), header_.run_entries));
  loose_.clear();
  loose_dead_ = 0;
  return {};
}

}  // namespace cuckoo::segments
