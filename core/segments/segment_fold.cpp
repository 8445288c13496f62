// Segment: applying and folding its list, and collecting all entries to make it anew.
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

// Keeps of the sums the hashes that are left when no sum goes below zero. Returns whether a hash
// has another count now than its entries come to, because a remove of it was dropped, or its count
// was cut to 1.
Result<bool> keep_positive(std::vector<NetHash>& sums, const FilterOptions& options) {
  bool repaired = false;
  size_t kept = 0;
  uint64_t items = 0;
  for (const auto& [hash, net] : sums) {
    const int64_t counted = options.counts_copies() ? net : std::min<int64_t>(net, 1);
    repaired = repaired || net < 0 || counted != net;
    if (net > 0) {
      sums[kept++] = {hash, counted};
      items += static_cast<uint64_t>(counted);
      if (items > kMostItems) {
        return corrupt("runs of more items than a segment can hold");
      }
    }
  }
  sums.resize(kept);
  return repaired;
}

// Returns how many of `dead` entries are left when `gone` of them have gone. A remove may be left
// in a run. So only 0 is exact, and a number above 0 never falls to 0.
uint64_t dead_without(uint64_t dead, uint64_t gone) noexcept {
  return std::max(std::min<uint64_t>(dead, 1), dead - std::min(dead, gone));
}

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

// Returns how many adds of one occurrence begin at that entry of the list, before `end`.
size_t single_adds(const EntryList& list, size_t first, size_t end) noexcept {
  const auto more =
      std::lower_bound(list.more().begin(), list.more().end(), first,
                       [](const MoreCopies& one, size_t wanted) { return one.at < wanted; });
  if (more != list.more().end()) {
    end = std::min(end, more->at);
  }
  size_t next = first;
  while (next < end && (list[next] & kRemoveBit) == 0) {
    ++next;
  }
  return next - first;
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
          [&](int64_t, std::span<const std::byte> block) -> Status {
            CUCKOO_TRY(sums_.expect_run(at - 1, block));
            run.emplace_back(block.begin(), block.end());
            return {};
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
  const auto take = [&](std::span<const std::byte> content) -> Status {
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
                           segment_block(header_.number, end - 1),
                           [&](int64_t, std::span<const std::byte> content) -> Status {
                             CUCKOO_TRY(sums_.expect_run(found, content));
                             return take(content);
                           }));
  }
  if (found != kept_run_blocks_) {
    return corrupt("segment " + std::to_string(header_.number) + ": " + std::to_string(found) +
                   " run blocks, expected " + std::to_string(kept_run_blocks_));
  }
  for (const std::vector<std::byte>& block : new_runs_) {
    CUCKOO_TRY(take(block));
  }
  if (runs.entries.size() != header_.run_entries) {
    return corrupt("segment " + std::to_string(header_.number) + ": runs of " +
                   std::to_string(runs.entries.size()) + " entries, expected " +
                   std::to_string(header_.run_entries));
  }
  return runs;
}

// --- applying ------------------------------------------------------------------------------------

bool insert_copies(Filter& filter, uint64_t hash, uint64_t copies) {
  const bool present = insert_into(filter, hash);
  const uint64_t single = std::min(copies, Filter::kMostSingleInserts);
  for (uint64_t i = 1; i < single; ++i) {
    insert_into(filter, hash);
  }
  if (copies > single) {
    filter.insert_more(hash, copies - single);
  }
  return present;
}

uint64_t Segment::add_to_pages(uint64_t hash, uint64_t copies) {
  const uint64_t rest = hash << header_.depth;
  const uint64_t fresh = insert_copies(*filter_, rest, copies) ? 0 : 1;
  ahead_.digest += copies * digest_of(*filter_, rest);
  return fresh;
}

uint64_t Segment::add_beyond(uint64_t hash, uint64_t copies) {
  const uint64_t fresh = probe(hash) == Answer::kPresent ? 0 : 1;
  if (options_->multiset() || fresh == 1) {
    beyond_.make_room();
    beyond_.add(hash, copies);
  }
  return fresh;
}

// Adds the copies of one entry. Returns 1 if the hash was not present, else 0.
uint64_t Segment::add(uint64_t hash, uint64_t copies) {
  const uint64_t owed = outgrew_ ? std::min(copies, owed_.count(hash)) : copies;
  uint64_t fresh = 0;
  if (owed > 0) {
    fresh = add_to_pages(hash, owed);
    if (outgrew_) {
      owed_.add(hash, 0 - owed);
    }
  }
  if (owed < copies) {
    fresh |= add_beyond(hash, copies - owed);
  }
  ahead_.items += options_->multiset() ? copies : fresh;
  ahead_.dead += 1 - fresh;
  return fresh;
}

// Adds some hashes of the list, one occurrence each, together: they don't outgrow it before the
// last one. Returns how many were not present.
uint64_t Segment::add_singles(std::span<const uint64_t> hashes) {
  constexpr size_t kFew = 256;
  uint64_t few[kFew];
  LargeVector<uint64_t> many;
  if (hashes.size() > kFew) {
    many.resize(hashes.size());
  }
  const std::span<uint64_t> rests =
      hashes.size() > kFew ? std::span<uint64_t>(many) : std::span(few).first(hashes.size());
  std::transform(hashes.begin(), hashes.end(), rests.begin(),
                 [this](uint64_t hash) { return hash << header_.depth; });
  const uint64_t present = filter_->insert_batch(rests, ahead_.digest);
  ahead_.items += hashes.size() - (options_->multiset() ? 0 : present);
  ahead_.dead += present;
  return hashes.size() - present;
}

// A filter finds all copies that its own DELETE logged, because it asked for them first. A copy may
// find fewer than its origin did, because its cells are not those of its origin.
void Segment::remove(uint64_t hash, uint64_t copies) {
  const uint64_t rest = hash << header_.depth;
  copies = std::min(copies, items());
  const uint64_t beyond = std::min(copies, beyond_.count(hash));
  if (copies > beyond && !filter_->remove_copies(rest, copies - beyond)) {
    copies = beyond + filter_->count(rest);
    if (copies > beyond) {
      filter_->remove_copies(rest, copies - beyond);
    }
  }
  if (beyond > 0) {
    beyond_.add(hash, 0 - beyond);
  }
  if (outgrew_ && copies > beyond) {
    owed_.make_room();
    owed_.add(hash, copies - beyond);
  }
  ahead_.digest -= (copies - beyond) * digest_of(*filter_, rest);
  ahead_.items -= copies;
  ahead_.dead += copies > 0 ? 2 : 1;
}

// The entries that were applied before are in the pages.
void Segment::note_outgrown(const EntryList& list) {
  outgrew_ = true;
  const std::vector<NetHash> sums =
      sums_of(list, applied_, options_->width, header_.depth, options_->multiset()).value();
  for (size_t i = 0; i < sums.size(); ++i) {
    const bool added_again = i + 1 < sums.size() && sums[i + 1].hash == sums[i].hash;
    const int64_t net = sums[i].net + (added_again ? sums[i + 1].net : 0);
    if (net < 0) {
      owed_.make_room();
      owed_.set(sums[i].hash, 0 - static_cast<uint64_t>(net));
    }
    i += added_again ? 1 : 0;
  }
}

uint64_t Segment::apply(const EntryList& list, size_t end, const Applying& how) {
  if (applied_ == 0 && end > 0 && how.stored && !written_) {
    keep_unwritten();
  }
  const uint64_t capacity = header_.capacity;
  // Whatever may_outgrow() lets pass together must not be outgrown, one by one.
  const auto outgrown = [&](uint64_t items) {
    return how.keeps_hashes || filter_->traits().slot_per_item
               ? filter_->outgrown(items, capacity)
               : items > 0 && filter_->full(items - 1, capacity);
  };
  uint64_t fresh = 0;
  size_t adds_end = 0;  // adds of one occurrence reach up to there
  Copies copies(list.more());
  while (applied_ < end && !(how.stops && outgrew_)) {
    const uint64_t entry = list[applied_];
    const uint64_t hash = entry & ~kRemoveBit;
    if (adds_end <= applied_) {
      adds_end = applied_ + std::max<size_t>(single_adds(list, applied_, end), 1);
    }
    size_t together = outgrew_ ? 1 : adds_end - applied_;
    while (together > 1 && filter_->may_outgrow(items(), together, capacity)) {
      together /= 2;
    }
    if (together == 1 && !outgrew_ && (entry & kRemoveBit) == 0 && outgrown(items() + 1) &&
        probe(hash) != Answer::kPresent) {
      note_outgrown(list);
      continue;
    }
    if (together > 1) {
      fresh += add_singles(list.entries().subspan(applied_, together));
    } else if ((entry & kRemoveBit) != 0) {
      remove(hash, copies.of(applied_));
    } else {
      fresh += add(hash, copies.of(applied_));
    }
    applied_ += together;
    if (!outgrew_ && outgrown(items())) {
      note_outgrown(list);
    }
  }
  return fresh;
}

uint64_t Segment::count_rest(const EntryList& list, size_t end) const {
  const LargeVector<uint64_t> hashes = different_hashes(
      list.entries().subspan(applied_, end - applied_), options_->width, header_.depth);
  return static_cast<uint64_t>(std::count_if(hashes.begin(), hashes.end(), [this](uint64_t hash) {
    return probe(hash) != Answer::kPresent;
  }));
}

bool Segment::outgrows(std::span<const NetHash> sums) const noexcept {
  constexpr uint64_t kLong = 8;  // an eighth of the capacity
  const uint64_t folded = filter_->traits().slot_per_item ? header_.occupied : 0;
  return sums.size() >= header_.capacity / kLong && folded + sums.size() > header_.capacity &&
         std::all_of(sums.begin(), sums.end(), [](const NetHash& sum) { return sum.net > 0; });
}

// --- folding -------------------------------------------------------------------------------------

void Segment::begin(uint64_t number, uint64_t made_at) noexcept {
  header_.number = number;
  header_.made_at = made_at;
}

// Keeps I4 where there are no runs.
void Segment::note_entries(std::span<const NetHash> entries) noexcept {
  for (const auto& [hash, net] : entries) {
    header_.base_id = chain_with(header_.base_id, hash + static_cast<uint64_t>(net));
  }
}

// Puts what is beyond the pages into them, though they get too full. They can't be made anew.
void Segment::take_beyond() {
  for (const auto& [hash, copies] : beyond()) {
    add_to_pages(hash, static_cast<uint64_t>(copies));
  }
  beyond_.clear();
  owed_.clear();
  outgrew_ = false;
}

// Of the dead entries, those are gone that were summed up with others, in the list or in the runs.
// The pages follow from the order of the list, so base_id does, too.
Status Segment::fold(const Blocks& blocks, const EntryList& list, std::span<const NetHash> sums,
                     uint64_t position, bool keeps_hashes) {
  if (outgrew_ && keeps_hashes) {
    return corrupt("segment " + std::to_string(header_.number) +
                   ": adds beyond its pages, expected none in a segment that is not made anew");
  }
  take_beyond();
  uint64_t dead = this->dead();
  header_.base_id = list.hash(header_.base_id);
  if (keeps_hashes) {
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t merged, merge_run(blocks, sums));
    dead = dead_without(dead, merged + (applied_ - sums.size()));
  }
  header_.dead = static_cast<uint32_t>(std::min<uint64_t>(dead, header_.run_entries));
  header_.base_id = chain_with(header_.base_id, position);
  header_.items += ahead_.items;
  header_.digest += ahead_.digest;
  header_.occupied = filter_->occupied();
  header_.folded_to = position;
  applied_ = 0;
  ahead_ = {};
  unwritten_.reset();
  written_ = false;
  return {};
}

Result<Segment::Merged> Segment::merged(const Blocks& blocks, std::vector<NetHash> sums) const {
  CUCKOO_ASSIGN_OR_RETURN(Runs runs, read_runs(blocks));
  if (!runs.entries.empty()) {
    runs.entries.insert(runs.entries.end(), sums.begin(), sums.end());
    CUCKOO_ASSIGN_OR_RETURN(sums,
                            sums_of(std::move(runs.entries), header_.depth, options_->multiset()));
  }
  CUCKOO_ASSIGN_OR_RETURN(const bool repaired, keep_positive(sums, *options_));
  return Merged{std::move(sums), repaired};
}

Result<std::vector<NetHash>> Segment::merged(const Blocks& blocks, const EntryList& list) const {
  CUCKOO_ASSIGN_OR_RETURN(std::vector<NetHash> sums, sums_of(list, list.size(), options_->width,
                                                             header_.depth, options_->multiset()));
  CUCKOO_ASSIGN_OR_RETURN(Merged all, merged(blocks, std::move(sums)));
  return std::move(all.entries);
}

void Segment::become(std::span<const NetHash> entries, uint64_t position, uint64_t base_id,
                     uint64_t items, bool keeps_hashes) {
  header_.base_id = chain_with(base_id, header_.prefix + header_.depth);
  header_.digest = fill(*filter_, entries, header_.depth, Filter::Digest::kSum);
  header_.occupied = filter_->occupied();
  if (keeps_hashes) {
    add_run(entries);
  } else {
    note_entries(entries);
  }
  header_.base_id = chain_with(header_.base_id, position);
  header_.items = items;
  header_.folded_to = position;
  header_.made_at = made_by(position);
}

}  // namespace cuckoo::segments
