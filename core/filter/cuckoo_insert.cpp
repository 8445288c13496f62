// CuckooFilter: inserts, one by one, in batches, into an empty filter, and of another filter.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/filter/cuckoo_filter.hpp"

namespace cuckoo::core {

// ---- the buckets of an insert

class CuckooFilter::PageBuckets {
 public:
  // A search prepares this many buckets before their turn comes.
  static constexpr uint32_t kAhead = 0;

  explicit PageBuckets(CuckooFilter& filter) noexcept : filter_(filter) {}

  BucketValues read(uint64_t bucket) const noexcept { return filter_.read(bucket); }
  BucketValues read_sorted(uint64_t bucket) const noexcept { return filter_.read(bucket); }
  using Spot = BucketBits::Address;  // the place of a bucket
  Spot spot(uint64_t bucket) const noexcept { return filter_.address(bucket); }
  bool has_empty_slot(const Spot& at) const noexcept {
    return filter_.bucket_bits_.has_empty_slot(at);
  }
  void prefetch(const Spot& at) const noexcept { __builtin_prefetch(at.bytes); }
  bool insert(uint64_t hash, const Place&) { return filter_.insert(hash); }
  // Call it before the first change of an operation, because it may throw.
  void touch(uint64_t bucket) { filter_.pages_.mark_dirty(filter_.page_of(bucket)); }
  // One copy of `from`, which is among the bucket's values, becomes `to`.
  void replace(uint64_t bucket, const BucketValues& values, uint64_t from, uint64_t to) {
    filter_.replace(bucket, values, from, to);
  }
  void store() noexcept {}  // the pages have everything already
  size_t memory_bytes() const noexcept { return 0; }

 private:
  CuckooFilter& filter_;
};

// Keeps four values a bucket, each of 16 or 32 bits. An insert does not decode, sort or encode, so
// it takes half the time of an insert into pages. Decoding and encoding all buckets once costs as
// much time as the inserts save if there is one insert for every two buckets. Values are in any
// order here, but a search reads them sorted, as they are in a page. So it ends in the same place.
template <class Slot>
class CuckooFilter::ArrayBuckets {
 public:
  static constexpr uint32_t kAhead = 3;  // the array may be larger than the cache

  // Returns true if the array takes no more than kMostBytes, and fingerprints fit a Slot.
  static bool fit(const CuckooFilter& filter) noexcept {
    constexpr uint64_t kMostBytes = uint64_t{1} << 28;
    return filter.geometry_.buckets <= kMostBytes / (kBucketSlots * sizeof(Slot)) &&
           filter.fingerprints_ <= std::numeric_limits<Slot>::max();
  }
  explicit ArrayBuckets(CuckooFilter& filter)
      : filter_(filter), slots_(kBucketSlots * filter.geometry_.buckets) {
    if (filter.pages_.next_backed(0) == filter.pages_.page_count()) {
      return;  // all zero
    }
    for (uint64_t bucket = 0; bucket < filter.geometry_.buckets; ++bucket) {
      const BucketValues values = filter.read(bucket);
      for (unsigned slot = 0; slot < kBucketSlots; ++slot) {
        slots_[kBucketSlots * bucket + slot] = static_cast<Slot>(values[slot]);
      }
    }
  }
  // Encodes all buckets, and marks only the pages that change.
  void store() {
    PageSet& pages = filter_.pages_;
    std::vector<std::byte> encoded(size_t{pages.page_bytes()} + PageSet::kSlackBytes);
    uint64_t bucket = 0;
    for (uint64_t page = 0; page < pages.page_count(); ++page) {
      std::fill(encoded.begin(), encoded.end(), std::byte{0});
      const uint64_t first = bucket;
      const uint64_t end = std::min(first + filter_.buckets_per_page_, filter_.geometry_.buckets);
      for (; bucket < end; ++bucket) {
        filter_.bucket_bits_.write(encoded.data(), bucket - first, read(bucket));
      }
      if (!std::equal(encoded.begin(), encoded.end(), pages.find(page))) {
        pages.mark_dirty(page);
        std::copy(encoded.begin(), encoded.end(), pages.owned(page));
      }
    }
  }

  using Spot = const Slot*;
  Spot spot(uint64_t bucket) const noexcept { return &slots_[kBucketSlots * bucket]; }
  BucketValues read(uint64_t bucket) const noexcept {
    const Spot slots = spot(bucket);
    return {slots[0], slots[1], slots[2], slots[3]};
  }
  BucketValues read_sorted(uint64_t bucket) const noexcept {
    BucketValues values = read(bucket);
    constexpr std::pair<size_t, size_t> kNetwork[] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}};
    for (const auto& [low, high] : kNetwork) {
      const auto [less, more] = std::minmax({values[low], values[high]});
      values[low] = less;
      values[high] = more;
    }
    return values;
  }
  bool has_empty_slot(Spot slots) const noexcept {
    return slots[0] == 0 || slots[1] == 0 || slots[2] == 0 || slots[3] == 0;
  }
  void prefetch(Spot slots) const noexcept { __builtin_prefetch(slots); }
  bool insert(uint64_t, const Place& place) {
    if constexpr (sizeof(Slot) == sizeof(uint16_t) && std::endian::native == std::endian::little) {
      if (filter_.overflow_.empty()) {
        return insert_in_words(place);
      }
    }
    return filter_.insert_at(*this, place);
  }
  void touch(uint64_t) noexcept {}
  void replace(uint64_t bucket, const BucketValues&, uint64_t from, uint64_t to) noexcept {
    Slot* const slots = &slots_[kBucketSlots * bucket];
    *std::find(slots, slots + kBucketSlots, static_cast<Slot>(from)) = static_cast<Slot>(to);
  }

  size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

 private:
  // Returns the highest bit of each lane that is zero. The word has four slots of 16 bits, the
  // first one lowest.
  static uint64_t zero_lanes(uint64_t word) noexcept {
    constexpr uint64_t kBelowTops = 0x7FFF7FFF7FFF7FFF;
    return ~(((word & kBelowTops) + kBelowTops) | word | kBelowTops);
  }
  // Takes the same slot of the same bucket as insert_at() while the overflow table is empty.
  bool insert_in_words(const Place& place) {
    constexpr uint64_t kOnes = 0x0001000100010001;
    Slot* const bucket1 = &slots_[kBucketSlots * place.bucket1];
    Slot* const bucket2 = &slots_[kBucketSlots * place.bucket2];
    uint64_t word1;
    uint64_t word2;
    std::memcpy(&word1, bucket1, sizeof word1);
    std::memcpy(&word2, bucket2, sizeof word2);
    const uint64_t empty1 = zero_lanes(word1);
    const uint64_t empty2 = zero_lanes(word2);
    if ((empty1 | empty2) == 0) {
      return filter_.insert_at(*this, place);
    }
    const uint64_t copies = place.fingerprint * kOnes;
    const bool present = (zero_lanes(word1 ^ copies) | zero_lanes(word2 ^ copies)) != 0;
    const auto count = [](uint64_t lanes) { return ((lanes >> 15) * kOnes) >> 48; };
    const bool first = count(empty1) >= count(empty2);
    const unsigned lane = static_cast<unsigned>(std::countr_zero(first ? empty1 : empty2)) - 15;
    const uint64_t word = (first ? word1 : word2) | place.fingerprint << lane;
    std::memcpy(first ? bucket1 : bucket2, &word, sizeof word);
    ++filter_.occupied_;
    return present;
  }

  CuckooFilter& filter_;
  LargeVector<Slot> slots_;
};

// Returns the number of inserts from which on decoding and encoding all buckets saves time.
uint64_t CuckooFilter::fewest_bulk_inserts() const noexcept {
  constexpr uint64_t kFewest = 1024;
  const bool fit = ArrayBuckets<uint16_t>::fit(*this) || ArrayBuckets<uint32_t>::fit(*this);
  return fit ? std::max(geometry_.buckets / 2, kFewest) : kNoBulk;
}

// ---- inserting

bool CuckooFilter::insert_portable(CuckooFilter& filter, uint64_t hash) {
  PageBuckets buckets(filter);
  return filter.insert_at(buckets, filter.locate(hash));
}

template <class Buckets>
bool CuckooFilter::insert_at(Buckets& buckets, const Place& place) {
  if (!overflow_.empty()) {
    // The overflow table counts a cell that overflowed once, so each further copy costs O(1).
    if (const uint64_t number = cell(place); overflow_.count(number) != 0) {
      overflow_.add(number);
      return true;
    }
  }
  const BucketValues values1 = buckets.read(place.bucket1);
  const BucketValues values2 = buckets.read(place.bucket2);
  const auto copies = [](const BucketValues& values, uint64_t value) {
    return std::count(values.begin(), values.end(), value);
  };
  const bool present = copies(values1, place.fingerprint) + copies(values2, place.fingerprint) != 0;
  // Takes the emptier bucket, so that fewer buckets fill up early. That saves a tenth of the time
  // up to the design load.
  const auto empty1 = copies(values1, 0);
  const auto empty2 = copies(values2, 0);
  if (empty1 != 0 && empty1 >= empty2) {
    buckets.touch(place.bucket1);
    buckets.replace(place.bucket1, values1, 0, place.fingerprint);
  } else if (empty2 != 0) {
    buckets.touch(place.bucket2);
    buckets.replace(place.bucket2, values2, 0, place.fingerprint);
  } else if (!relocate(buckets, place)) {
    overflow_.add(cell(place));
    return present;
  }
  ++occupied_;
  return present;
}

// Returns after how many nodes a search gives up: the more cells are in the overflow table, the
// sooner. For example, if most keys have several copies, the entries after one that found no place
// find none either. Each would search up to the limit, for hundreds of microseconds. A filter with
// no more than it was sized for finds a place within the least limit 2999 times out of 3000.
uint64_t CuckooFilter::search_limit() const noexcept {
  constexpr uint64_t kMostNodes = 20000;
  constexpr uint64_t kLeastNodes = 256;
  constexpr uint64_t kFewCells = 16;
  const uint64_t patience = kMostNodes * kFewCells / (kFewCells + overflow_.cells());
  return std::min(std::max(patience, kLeastNodes), 4 * geometry_.buckets);
}

// ---- relocation
//
// The search is breadth-first over buckets: an entry of a full bucket leads to its other bucket.
// The search leaves out an entry that leads to its own bucket, to a root, or to the bucket from
// which its parent came, because no shortest path from {bucket1, bucket2} to a free bucket contains
// it.
//
// The path that the search finds visits no bucket twice. A shortest walk of the whole graph repeats
// no bucket: both visits would see the same entries, so the part between them could be cut out.
// Such a walk begins at a root and meets no root again. So it uses none of the edges that are left
// out. The search goes by length, so its path is as short: a shortest walk itself. So each value on
// the path is still in its bucket when its turn to move comes.

void CuckooFilter::start_search(const Place& place) {
  nodes_.clear();
  nodes_.push_back({place.bucket1, place.fingerprint, kNoParent});
  if (place.bucket2 != place.bucket1) {
    nodes_.push_back({place.bucket2, place.fingerprint, kNoParent});
  }
}

template <class Buckets>
bool CuckooFilter::relocate(Buckets& buckets, const Place& place) {
  constexpr uint32_t kAhead = Buckets::kAhead;
  start_search(place);
  const uint64_t limit = search_limit();
  Expansion<Buckets> ring[kAhead + 1];
  uint32_t prepared = 0;
  for (uint32_t next = 0; next < nodes_.size() && nodes_.size() < limit; ++next) {
    for (; prepared < nodes_.size() && prepared <= next + kAhead; ++prepared) {
      prepare(buckets, nodes_[prepared].bucket, ring[prepared % (kAhead + 1)]);
    }
    uint32_t free_end = 0;
    if (expand(buckets, next, ring[next % (kAhead + 1)], free_end)) {
      move_along(buckets, free_end);
      return true;
    }
  }
  return false;
}

// Finds the buckets to which the entries of a bucket lead, all at once. So the processor fetches
// their memory at the same time.
template <class Buckets>
void CuckooFilter::prepare(const Buckets& buckets, uint64_t bucket,
                           Expansion<Buckets>& expansion) const {
  expansion.values = buckets.read_sorted(bucket);
  for (unsigned slot = 0; slot < kBucketSlots; ++slot) {
    expansion.others[slot] = alternate(bucket, expansion.values[slot]);
    expansion.spots[slot] = buckets.spot(expansion.others[slot]);
    buckets.prefetch(expansion.spots[slot]);
  }
}

// Appends the buckets to which the entries of a full bucket lead. Returns true if the last one has
// an empty slot; free_end is its node.
template <class Buckets>
bool CuckooFilter::expand(Buckets& buckets, uint32_t parent, const Expansion<Buckets>& expansion,
                          uint32_t& free_end) {
  const Node node = nodes_[parent];
  const Beginning from = beginning();
  const BucketValues& values = expansion.values;
  for (unsigned slot = 0; slot < kBucketSlots; ++slot) {
    const uint64_t bucket = expansion.others[slot];
    const bool copy = slot > 0 && values[slot] == values[slot - 1];  // leads to the same bucket
    if (copy || !leads_on(from, node, bucket)) {
      continue;
    }
    nodes_.push_back({bucket, values[slot], parent});
    if (buckets.has_empty_slot(expansion.spots[slot])) {
      free_end = static_cast<uint32_t>(nodes_.size() - 1);
      return true;
    }
  }
  return false;
}

// Moves the entries from the free end backwards: each is written to its new bucket before it leaves
// the old one.
template <class Buckets>
void CuckooFilter::move_along(Buckets& buckets, uint32_t free_end) {
  for (uint32_t at = free_end; at != kNoParent; at = nodes_[at].parent) {
    buckets.touch(nodes_[at].bucket);
  }
  uint64_t leaves = 0;  // the value that goes from this bucket to the next; at first an empty slot
  for (uint32_t at = free_end; at != kNoParent; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    buckets.replace(node.bucket, buckets.read(node.bucket), leaves, node.value);
    leaves = node.value;
  }
}

// ---- batches

template <class Buckets>
class CuckooFilter::Inserter final : public BulkInserter {
 public:
  explicit Inserter(CuckooFilter& filter) : filter_(filter), buckets_(filter) {}
  uint64_t insert(std::span<const uint64_t> hashes, uint64_t* digest) override {
    return digest == nullptr ? filter_.insert_all<Digest::kNone>(buckets_, hashes, nullptr)
                             : filter_.insert_all<Digest::kSum>(buckets_, hashes, digest);
  }
  void store() override { buckets_.store(); }
  size_t memory_bytes() const noexcept override { return buckets_.memory_bytes(); }

 private:
  CuckooFilter& filter_;
  Buckets buckets_;
};

std::unique_ptr<CuckooFilter::BulkInserter> CuckooFilter::bulk_inserter() {
  if (ArrayBuckets<uint16_t>::fit(*this)) {
    return std::make_unique<Inserter<ArrayBuckets<uint16_t>>>(*this);
  }
  if (ArrayBuckets<uint32_t>::fit(*this)) {
    return std::make_unique<Inserter<ArrayBuckets<uint32_t>>>(*this);
  }
  return nullptr;
}

// Keeps the buckets decoded in an array if that saves time.
class CuckooFilter::Builder final : public FilterBuilder {
 public:
  Builder(CuckooFilter& filter, uint64_t expected, Digest digest)
      : filter_(filter), sums_(digest == Digest::kSum) {
    if (expected >= filter.fewest_bulk_inserts()) {
      inserter_ = filter.bulk_inserter();
    } else {
      inserter_ = std::make_unique<Inserter<PageBuckets>>(filter);
    }
  }
  size_t memory_bytes() const noexcept override {
    return inserter_ == nullptr ? 0 : inserter_->memory_bytes();
  }

 private:
  void insert_copies(uint64_t hash, uint64_t count) override {
    if (count > kMaxCopiesInBuckets) {
      insert_waiting();  // an add to the overflow table decides where the next ones go
      filter_.overflow_.add(filter_.cell(hash), count);
      digest_ += count * filter_.digest_of(hash);
      return;
    }
    for (uint64_t i = 0; i < count; ++i) {
      wait(hash);
    }
  }
  void insert_all(std::span<const uint64_t> hashes) override {
    (void)inserter_->insert(hashes, sums_ ? &digest_ : nullptr);
  }
  void store() override {
    inserter_->store();
    inserter_.reset();  // an array gives its memory back
  }

  CuckooFilter& filter_;
  std::unique_ptr<BulkInserter> inserter_;
  bool sums_;
};

std::unique_ptr<FilterBuilder> CuckooFilter::builder(uint64_t expected, Digest digest) {
  return std::make_unique<Builder>(*this, expected, digest);
}

// Inserts the entries one by one; their places follow from their buckets. Polls after every few
// entries, because one that finds no place takes a long search.
Status CuckooFilter::do_unite(const Filter& other, const Poll& poll) {
  if (other.kind() != kind() || other.words() != words()) {
    return invalid("filters of different geometry");
  }
  constexpr uint64_t kEntriesPerPoll = 16;
  const auto& from = static_cast<const CuckooFilter&>(other);
  PageBuckets buckets(*this);
  uint64_t inserted = 0;
  CUCKOO_TRY(from.for_each_entry([&](const Place& place) -> Status {
    insert_at(buckets, place);
    return ++inserted % kEntriesPerPoll == 0 ? check_interrupt(poll) : Status();
  }));
  from.overflow_.for_each(
      [this](uint64_t number, uint64_t count) { overflow_.add(number, count); });
  return {};
}

uint64_t CuckooFilter::do_insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) {
  if (hashes.size() < fewest_bulk_inserts()) {
    PageBuckets buckets(*this);
    return insert_all<Digest::kSum>(buckets, hashes, &digest);
  }
  const std::unique_ptr<BulkInserter> inserter = bulk_inserter();
  const uint64_t present = inserter->insert(hashes, &digest);
  inserter->store();
  return present;
}

template <CuckooFilter::Digest kDigest, class Buckets>
uint64_t CuckooFilter::insert_all(Buckets& buckets, std::span<const uint64_t> hashes,
                                  uint64_t* digest) {
  uint64_t present = 0;
  Place places[kPlacesAhead];
  const auto look_ahead = [&](size_t i) {
    Place& place = places[i % kPlacesAhead];
    place = locate(hashes[i]);
    buckets.prefetch(buckets.spot(place.bucket1));
    buckets.prefetch(buckets.spot(place.bucket2));
  };
  for (size_t i = 0; i < std::min(kPlacesAhead, hashes.size()); ++i) {
    look_ahead(i);
  }
  for (size_t i = 0; i < hashes.size(); ++i) {
    const Place place = places[i % kPlacesAhead];
    if (i + kPlacesAhead < hashes.size()) {
      look_ahead(i + kPlacesAhead);
    }
    if constexpr (kDigest == Digest::kSum) {
      *digest += mix64(cell(place));
    }
    present += buckets.insert(hashes[i], place) ? 1 : 0;
  }
  return present;
}

}  // namespace cuckoo::core
