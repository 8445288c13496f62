// A multiset of 64-bit hashes that answers "definitely not in it" or "probably in it".
// Never a false negative; false positives at the rate its geometry was sized for.
//
// The place of a hash
//   p = hash·M (128 bits);  bucket1 = high(p);  fingerprint = 1 + high(low(p)·S)
//   bucket2 = (H(fingerprint) - bucket1) mod M, its own inverse for every M, powers of two or not
//   The cell of a hash = (fingerprint, min(bucket1, bucket2)): hashes with one cell can't be told
//   apart.
//
// Invariants
//   I1  each stored fingerprint is in one of its two buckets, or in the overflow table.
//   I2  every bucket is valid (core/filter/bucket.hpp); bits after a page's last bucket are zero.
//   I3  occupied() + overflow items = inserts - removes that found something.
//   I4  an insert always succeeds. It finds a complete relocation path first and then moves entries
//       from the free end backwards, or it counts the cell in the overflow table. An entry leaves
//       its bucket only if it has another place.
//   I5  digest() = sum over stored entries of mix(cell), whatever their order: two filters of one
//       geometry with equal digests hold (up to 2^-64) the same cells.
//   I6  the same operations in the same order give the same bytes: no clock, no random source.
//   I7  batches and builders leave the bytes of single inserts in the same order, in any portions.
//
// Operations. Storage is not this class's business: the caller loads pages. contains/count/remove
// need the two pages of the hash in memory; insert, builders, check and digest need all.
//   insert       breadth-first search for the shortest relocation path over at most
//                min(20,000, 4·M) nodes, down to min(256, 4·M) where many cells overflowed; O(1)
//                expected (2.2 nodes on average at load .97)
//   contains     2 bucket reads (core/filter/bucket_bits.hpp; with AVX2 bucket_pair.hpp)
//   builders     keep all buckets decoded in an array if that saves time
// Reference: Fan, Andersen, Kaminsky, Mitzenmacher: "Cuckoo Filter: Practically Better Than Bloom",
// CoNEXT 2014. Differences: any table size, no victim, exact overflow, breadth-first relocation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/mix.hpp"
#include "core/base/result.hpp"
#include "core/filter/bucket_bits.hpp"
#include "core/filter/filter.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo::core {

class CuckooFilter final : public Filter {
  // The buckets in the pages, and all of them decoded into an array.
  class PageBuckets;
  template <class Slot>
  class ArrayBuckets;
  class Builder;
  template <class Buckets>
  class Inserter;

 public:
  explicit CuckooFilter(const CuckooGeometry& geometry);  // all pages absent

  struct Place {
    uint64_t bucket1;
    uint64_t bucket2;
    uint64_t fingerprint;  // 1 … S
  };

  const CuckooGeometry& geometry() const noexcept { return geometry_; }
  GeometryWords words() const noexcept override { return geometry_.words(); }
  uint64_t bits() const noexcept override { return geometry_.bits(); }
  uint32_t content_bytes(uint64_t index) const noexcept override;
  Status validate_page(uint64_t index, std::span<const std::byte> content) const override {
    return validate_page(geometry_, index, content);
  }
  size_t pages_of(uint64_t hash, uint64_t* pages) const noexcept override;
  size_t cells_of(uint64_t hash, uint64_t* cells) const noexcept override;

  // cell number = min(bucket1, bucket2)·S + (fingerprint - 1)
  Place locate(uint64_t hash) const noexcept;
  uint64_t cell(const Place& place) const noexcept;
  uint64_t cell(uint64_t hash) const noexcept { return cell(locate(hash)); }
  uint64_t page_of(uint64_t bucket) const noexcept { return page_place(bucket).page; }

  // Return the values of a bucket, whose page is in memory, and the other bucket of one of them.
  BucketValues read(uint64_t bucket) const noexcept { return bucket_bits_.read(address(bucket)); }
  uint64_t alternate(uint64_t bucket, uint64_t fingerprint) const noexcept {
    const uint64_t sum = multiply_high(mix(fingerprint), geometry_.buckets);
    const uint64_t wrapped = sum + (geometry_.buckets - bucket);  // before the comparison
    return sum < bucket ? wrapped : sum - bucket;
  }

  // The place where a bucket begins: fraction / 2^64 of a full page's bits.
  struct PagePlace {
    uint64_t page;
    uint64_t fraction;
  };
  PagePlace page_place(uint64_t bucket) const noexcept;
  // kWholeBytes: each bucket begins with a byte.
  template <bool kWholeBytes = false>
  BucketBits::Address address(const std::byte* page, uint64_t fraction) const noexcept {
    if constexpr (kWholeBytes) {
      return {page + multiply_high(fraction, page_whole_bytes_), 0};
    }
    const uint64_t bit = multiply_high(fraction, page_bits_);
    return {page + (bit >> 3), static_cast<uint32_t>(bit & 7)};
  }

  // kNotLoaded: one of its pages is not in memory.
  Answer probe(uint64_t hash) const noexcept override { return code_.probe(*this, hash); }
  bool contains(uint64_t hash) const noexcept { return probe(hash) == Answer::kPresent; }
  // The function that probe() calls. A caller that asks many filters in turn keeps it at hand.
  using Probe = Answer (*)(const CuckooFilter& filter, uint64_t hash) noexcept;
  Probe probe_code() const noexcept { return code_.probe; }
  // Fetches the memory that probe() and insert() will read. Its pages are in memory. It is inlined,
  // because GCC drops a call of a function that only prefetches.
  [[gnu::always_inline]] void prefetch(uint64_t hash) const noexcept {
    const Place place = locate(hash);
    __builtin_prefetch(address(place.bucket1).bytes);
    __builtin_prefetch(address(place.bucket2).bytes);
  }
  uint64_t copies(uint64_t cell) const noexcept override;
  uint64_t count(uint64_t hash) const noexcept override { return copies(locate(hash)); }
  // Returns true if the cell was there already. std::bad_alloc: nothing was inserted.
  bool insert(uint64_t hash) { return code_.insert(*this, hash); }
  // Adds to the copies in the overflow table, which has those that the two buckets can't hold.
  void insert_more(uint64_t hash, uint64_t count) override { overflow_.add(cell(hash), count); }
  bool remove(uint64_t hash) override;  // one occurrence of the cell; false: none is there
  bool remove_copies(uint64_t hash, uint64_t copies) override;

  std::unique_ptr<FilterBuilder> builder(uint64_t expected, Digest digest) override;
  // Inserts many hashes at once. The filter's pages are out of date until store(). Until then only
  // its geometry and its counts (occupied(), overflow()) may be asked for. The final places of
  // entries follow only from the inserts, however often store() was called. When memory runs out
  // (std::bad_alloc) in insert(), the filter can only be destroyed. When it runs out in store(),
  // that may be called again.
  class BulkInserter {
   public:
    virtual ~BulkInserter() = default;
    // As Filter::insert_batch(). `digest` may be null.
    virtual uint64_t insert(std::span<const uint64_t> hashes, uint64_t* digest) = 0;
    virtual void store() = 0;
    virtual size_t memory_bytes() const noexcept = 0;
  };
  // From so many inserts on a bulk_inserter() is worth its cost. kNoBulk: there is none.
  static constexpr uint64_t kNoBulk = ~uint64_t{0};
  uint64_t fewest_bulk_inserts() const noexcept;
  std::unique_ptr<BulkInserter> bulk_inserter();

  uint64_t items() const noexcept { return occupied_ + overflow_.items(); }
  // Returns the number of entries that a probe may meet. A cell of the overflow table is one entry,
  // however many copies it counts.
  uint64_t entries() const noexcept { return occupied_ + overflow_.cells(); }
  double rate(double keys) const noexcept override { return cuckoo_rate(geometry_, keys); }
  double rate_with(double more) const noexcept override {
    return rate(static_cast<double>(entries()) + more);
  }
  double load_factor() const noexcept override;
  uint32_t places_per_key() const noexcept override { return kCuckooPlacesPerKey; }
  double fingerprint_bits() const noexcept override;
  bool full(uint64_t items, uint64_t capacity) const noexcept override { return items >= capacity; }
  bool outgrown(uint64_t, uint64_t capacity) const noexcept override {
    return entries() > capacity;
  }
  bool may_outgrow(uint64_t, uint64_t adds, uint64_t capacity) const noexcept override {
    return entries() + adds > capacity;
  }
  uint64_t most_items() const noexcept override { return occupied_ + overflow_.items(); }
  uint64_t united_items(uint64_t a, uint64_t b, uint64_t) const noexcept override { return a + b; }

  // Returns one occurrence's share of the digest (I5).
  uint64_t digest_of(uint64_t hash) const noexcept override { return mix64(cell(hash)); }
  uint64_t digest() const noexcept override;  // I5, over all pages and the overflow table; O(M)

  // Checks the content of page `index` as read from storage: its size, valid buckets, zero bits
  // after the last.
  static Status validate_page(const CuckooGeometry& geometry, uint64_t index,
                              std::span<const std::byte> content);
  // Checks I1 … I3 over the whole filter, all pages in memory. O(M).
  Status check() const override;

  // From now on runs the code for processors without AVX2, for tests and benchmarks.
  void use_portable_code() noexcept { code_ = portable_code(); }
  // Returns how many nodes the last search for a path had at its end, for tests.
  size_t last_search() const noexcept { return nodes_.size(); }

 private:
  // The code of the hottest paths, by shape and processor (cuckoo_shapes.cpp). The answers and the
  // bytes do not depend on it.
  struct Code {
    Probe probe;
    bool (*insert)(CuckooFilter& filter, uint64_t hash);
  };
  static Code choose_code(const BucketShape& shape) noexcept;
  static Code portable_code() noexcept;
  template <uint32_t kLowBits, uint32_t kRankBits>
  class Avx2;  // all of them for one shape
  template <uint32_t kRankBits, uint32_t... kLowBits>
  static Code code_for(uint32_t low_bits,
                       std::integer_sequence<uint32_t, kLowBits...> all) noexcept;
  static bool insert_portable(CuckooFilter& filter, uint64_t hash);
  static Answer probe_portable(const CuckooFilter& filter, uint64_t hash) noexcept;
  static Answer probe_overflow(const CuckooFilter& filter, uint64_t hash) noexcept;
  Answer probe_pages(const Place& place) const noexcept;

  Status do_unite(const Filter& other, const Poll& poll) override;
  // Hides memory latency, because it fetches the buckets of later hashes ahead.
  uint64_t do_insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) override;

  static constexpr size_t kPlacesAhead = 32;  // hashes whose memory is fetched at one time

  // A bucket that the search for a relocation path reached. `value` would move to it from
  // nodes_[parent].
  struct Node {
    uint64_t bucket;
    uint64_t value;
    uint32_t parent;
  };
  static constexpr uint32_t kNoParent = ~uint32_t{0};

  // Spreads fingerprints, 4-bit ones too, over all buckets. Two rounds of MurmurHash3's finalizer
  // (one costs load: .935 instead of .977 at 25 %); its first shift does nothing to fingerprints
  // below 2^33, its last nothing to the leading bits, which multiply_high() takes.
  static uint64_t mix(uint64_t fingerprint) noexcept {
    const uint64_t x = fingerprint * 0xFF51AFD7ED558CCD;
    return (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53;
  }
  BucketBits::Address address(uint64_t bucket) const noexcept {
    const PagePlace at = page_place(bucket);
    return address(pages_.find(at.page), at.fraction);
  }

  uint64_t copies(const Place& place) const noexcept;
  void replace(uint64_t bucket, BucketValues values, uint64_t from, uint64_t to) noexcept;

  template <Digest kDigest, class Buckets>
  uint64_t insert_all(Buckets& buckets, std::span<const uint64_t> hashes, uint64_t* digest);
  template <class Buckets>
  bool insert_at(Buckets& buckets, const Place& place);
  uint64_t search_limit() const noexcept;
  void start_search(const Place& place);
  // The roots. If there is only one, its second is the first bucket that the root led to, as soon
  // as there is one. A later step to any of them makes no shorter path.
  using Beginning = std::array<uint64_t, 2>;
  Beginning beginning() const noexcept {
    return {nodes_[0].bucket, nodes_[nodes_.size() > 1 ? 1 : 0].bucket};
  }
  bool leads_on(const Beginning& beginning, const Node& node, uint64_t other) const noexcept;
  template <class Buckets>
  bool relocate(Buckets& buckets, const Place& place);
  // The other buckets of a bucket's entries.
  template <class Buckets>
  struct Expansion {
    BucketValues values;
    uint64_t others[kBucketSlots];
    typename Buckets::Spot spots[kBucketSlots];
  };
  template <class Buckets>
  void prepare(const Buckets& buckets, uint64_t bucket, Expansion<Buckets>& expansion) const;
  template <class Buckets>
  bool expand(Buckets& buckets, uint32_t parent, const Expansion<Buckets>& expansion,
              uint32_t& free_end);
  template <class Buckets>
  void move_along(Buckets& buckets, uint32_t free_end);
  // The visitor returns a Status, which ends the visits when it is a failure.
  template <class Visitor>
  Status for_each_entry(Visitor&& visit) const;
  Status check_page(uint64_t index, uint64_t& items) const;
  Status check_overflow() const;

  CuckooGeometry geometry_;
  // Derived from the geometry, for the hot path.
  uint64_t fingerprints_;
  uint64_t buckets_per_page_;
  uint64_t page_reciprocal_;
  uint64_t page_bits_;         // of a full page's buckets
  uint64_t page_whole_bytes_;  // the same in bytes, when it is of whole ones
  BucketBits bucket_bits_;
  Code code_;

  std::vector<Node> nodes_;  // the search's memory, kept for the next one
};

inline CuckooFilter::Place CuckooFilter::locate(uint64_t hash) const noexcept {
  const uint128 product = static_cast<uint128>(hash) * geometry_.buckets;
  const auto bucket = static_cast<uint64_t>(product >> 64);
  const uint64_t fingerprint = 1 + multiply_high(static_cast<uint64_t>(product), fingerprints_);
  return {bucket, alternate(bucket, fingerprint), fingerprint};
}

inline uint64_t CuckooFilter::cell(const Place& place) const noexcept {
  const uint64_t first = place.bucket1 < place.bucket2 ? place.bucket1 : place.bucket2;
  return first * fingerprints_ + (place.fingerprint - 1);
}

// bucket / B by R = ceil(2^64 / B). R·B = 2^64 + e with e < B, so with i = bucket mod B
//   bucket·R = (bucket div B)·2^64 + i·2^64/B + bucket·e/B.
// The high half is the quotient as long as the last term stays below 2^64/B, that is bucket·e <
// 2^64; bucket < 2^40 and e < B <= 8·kMaxPageBytes/12 < 2^13 keep it below 2^53. The low half times
// the page's B·W bits, over 2^64, is i·W + bucket·e·W/2^64: rounded down i·W, the bucket's first
// bit, as e·W < B·W < 2^15. The same with bytes, when W is of whole ones.
inline CuckooFilter::PagePlace CuckooFilter::page_place(uint64_t bucket) const noexcept {
  const uint128 product = static_cast<uint128>(bucket) * page_reciprocal_;
  return {static_cast<uint64_t>(product >> 64), static_cast<uint64_t>(product)};
}

// The search's rule (cuckoo_insert.cpp has the proof): not back to its own bucket, to one where the
// search began, or to the bucket that its parent came from.
inline bool CuckooFilter::leads_on(const Beginning& beginning, const Node& node,
                                   uint64_t other) const noexcept {
  const uint64_t before = node.parent == kNoParent ? node.bucket : nodes_[node.parent].bucket;
  return other != node.bucket && other != beginning[0] && other != beginning[1] && other != before;
}

// Visits each entry, bucket by bucket. An entry's other bucket follows from the one that it is in.
template <class Visitor>
Status CuckooFilter::for_each_entry(Visitor&& visit) const {
  const uint64_t pages = pages_.page_count();
  for (uint64_t index = pages_.next_backed(0); index < pages;
       index = pages_.next_backed(index + 1)) {
    const uint64_t first = index * buckets_per_page_;
    const uint64_t end = std::min(first + buckets_per_page_, geometry_.buckets);
    for (uint64_t bucket = first; bucket < end; ++bucket) {
      for (const uint64_t value : read(bucket)) {
        if (value != 0) {
          CUCKOO_TRY(visit(Place{bucket, alternate(bucket, value), value}));
        }
      }
    }
  }
  return {};
}

}  // namespace cuckoo::core
