#include "core/segments/pending.hpp"

#include <algorithm>

#include "core/filter/probe.hpp"
#include "core/stored/hash_sort.hpp"

namespace cuckoo::segments {

LargeVector<uint64_t> different_hashes(std::span<const uint64_t> entries, HashWidth width,
                                       unsigned depth) {
  LargeVector<uint64_t> hashes = sorted_by_hash(entries, width, depth, nullptr).value();
  for (uint64_t& hash : hashes) {
    hash &= ~kRemoveBit;
  }
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

// Adds `more` (modulo 2^64) to the pending removes of each of the hash's cells. If it throws,
// nothing has changed.
void Pending::pend_removes(uint64_t hash, const Filter& filter, unsigned depth, uint64_t more) {
  uint64_t cells[Filter::kMaxPlaces];
  const size_t count = filter.cells_of(hash << depth, cells);
  removed_cells_.make_room(count);
  for (size_t i = 0; i < count; ++i) {
    removed_cells_.add(cells[i], more);
  }
}

void Pending::apply(uint64_t entry, uint64_t copies, const Filter& filter, unsigned depth) {
  const uint64_t hash = entry & ~kRemoveBit;
  int64_t& net = nets_.at(hash);  // may allocate: before anything changes
  if (!multiset_) {
    net = 1;
    return;
  }
  const auto change = static_cast<int64_t>(copies);
  const HashSum before = sum(hash, net);
  HashSum after = before;
  after.take((entry & kRemoveBit) == 0 ? change : -change);
  if (before.both() || after.both()) {
    (void)added_again_.at(hash);  // may allocate, as the next line may
  }
  if (net < 0 || after.net() < 0) {
    const auto removes = [](int64_t of) {
      return 0 - static_cast<uint64_t>(std::min<int64_t>(of, 0));
    };
    pend_removes(hash, filter, depth, removes(after.net()) - removes(net));
  }
  if (before.both() || after.both()) {
    added_again_.at(hash) = after.both() ? after.added() : 0;
  }
  net = after.net();
}

void Pending::index(const Filter& filter, unsigned depth) {
  if (indexed()) {
    return;
  }
  constexpr size_t kAhead = 16;  // entries whose memory is fetched before it is their turn
  size_t done = 0;
  struct Shrink {  // removes the applied entries from the lists, whatever happens
    LargeVector<uint64_t>& list;
    std::vector<MoreCopies>& more;
    size_t& done;
    ~Shrink() {
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(done));
      more.erase(more.begin(),
                 std::find_if(more.begin(), more.end(),
                              [this](const MoreCopies& one) { return one.at >= done; }));
      for (MoreCopies& one : more) {
        one.at -= done;
      }
    }
  } shrink{list_, more_, done};
  Copies copies(more_);
  for (; done < list_.size(); ++done) {
    if (done + kAhead < list_.size()) {
      nets_.prefetch(list_[done + kAhead] & ~kRemoveBit);
    }
    const uint64_t entry = list_[done];
    const bool unknown = uncounted_ && nets_.net(entry) <= 0;
    apply(entry, copies.of(done), filter, depth);
    if (unknown && probe(filter, entry << depth) != Filter::Answer::kPresent) {
      ++fresh_;
    }
  }
  uncounted_ = false;
}

// Returns the entries of the list, summed by hash. All of them are adds that count once.
Result<std::vector<NetHash>> Pending::sorted_list(HashWidth width, unsigned depth,
                                                  const Poll& poll) const {
  constexpr size_t kHashesPerPoll = size_t{1} << 16;
  CUCKOO_ASSIGN_OR_RETURN(const LargeVector<uint64_t> words,
                          sorted_by_hash(std::span<const uint64_t>(list_), width, depth, poll));
  std::vector<NetHash> all;
  all.reserve(words.size() + nets_.size());
  for (std::span<const uint64_t> rest = words; !rest.empty();) {
    const std::span<const uint64_t> part = rest.first(std::min(rest.size(), kHashesPerPoll));
    rest = rest.subspan(part.size());
    for (const uint64_t hash : part) {
      if (all.empty() || all.back().hash != hash) {
        all.push_back({hash, 1});
      } else if (multiset_) {
        ++all.back().net;
      }
    }
    if (!rest.empty()) {
      CUCKOO_TRY(check_interrupt(poll));
    }
  }
  return all;
}

// Adds for which no probe came yet are sorted without an index.
Result<std::vector<NetHash>> Pending::sorted(HashWidth width, const Filter& filter, unsigned depth,
                                             const Poll& poll) {
  if (!more_.empty() || std::any_of(list_.begin(), list_.end(),
                                    [](uint64_t entry) { return (entry & kRemoveBit) != 0; })) {
    index(filter, depth);
  }
  CUCKOO_ASSIGN_OR_RETURN(std::vector<NetHash> listed, sorted_list(width, depth, poll));
  if (uncounted_) {
    fresh_ += static_cast<uint64_t>(
        std::count_if(listed.begin(), listed.end(), [&](const NetHash& entry) {
          return nets_.net(entry.hash) <= 0 &&
                 probe(filter, entry.hash << depth) != Filter::Answer::kPresent;
        }));
    uncounted_ = false;
  }
  if (nets_.empty()) {
    return listed;
  }
  std::vector<NetHash> all;
  all.reserve(nets_.size() + added_again_.size() + listed.size());
  const auto keep = [&all](const NetHash& entry) { all.push_back(entry); };
  nets_.for_each([&](uint64_t hash, int64_t net) { sum(hash, net).entries(hash, keep); });
  all.insert(all.end(), listed.begin(), listed.end());  // they came later
  sort_by_hash(all, depth);
  sum_by_hash(all, multiset_);
  return all;
}

uint64_t Pending::hashes(HashWidth width, unsigned depth) const {
  const LargeVector<uint64_t> listed = different_hashes(list_, width, depth);
  const auto fresh = std::count_if(listed.begin(), listed.end(),
                                   [this](uint64_t hash) { return !nets_.has(hash); });
  return nets_.size() + static_cast<uint64_t>(fresh);
}

void Pending::clear() noexcept {
  entries_ = 0;
  items_ = 0;
  uncounted_ = false;
  fresh_ = 0;
  LargeVector<uint64_t>().swap(list_);
  std::vector<MoreCopies>().swap(more_);
  nets_.clear();
  added_again_.clear();
  removed_cells_.clear();
}

size_t Pending::memory_bytes() const noexcept {
  return list_.capacity() * sizeof(uint64_t) + more_.capacity() * sizeof(MoreCopies) +
         nets_.memory_bytes() + added_again_.memory_bytes() + removed_cells_.memory_bytes();
}

}  // namespace cuckoo::segments
