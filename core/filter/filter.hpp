// What every filter offers to those who keep it: the table it lives in
// (core/segments/filter_file.hpp) and images (core/segments/image.hpp). A filter is its pages, its
// overflow table, and two numbers that say how they are to be read: occupied() and the geometry.
//
// Invariants
//   I1  never a false negative: what was inserted more often than removed is present.
//   I2  a canonical filter's pages and overflow table depend on the multiset of hashes in it alone;
//       another's (cuckoo) also on their history, but its digest() does not.
//   I3  the same operations in the same order give the same bytes on every machine.
//   I4  memory: pages may be absent. probe() says so; pages_of() names what one hash needs; what
//       changes many hashes (builders, batches) needs all pages in memory, zero pages among them.
//       What reads the whole filter (digest, check, unite's other) takes absent pages for zero.
//       Its memory and time follow the pages that hold something, not the geometry.
//   I5  when memory runs out (std::bad_alloc) in what changes many hashes, some of them are in.
//
// What differs between the kinds is a virtual function here or a trait in core/filter/kind.hpp.
// Only three ask for a filter's class: core/filter/factory.hpp makes it, core/filter/probe.hpp
// calls it directly, and core/filter/legacy_bloom.hpp hands out what takes pairs of hashes. For a
// filter of pairs nothing is called here that takes a single hash.
//
// A cell is what one hash shares with the hashes it can't be told apart from: a cuckoo filter's
// (bucket pair, fingerprint), each of a Bloom filter's k bits or counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

#include "core/base/pages.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/filter/cell_counts.hpp"
#include "core/filter/kind.hpp"
#include "core/filter/overflow_table.hpp"

namespace cuckoo {

// A geometry as it is stored. size: buckets, bits, counters or blocks; shape: a cuckoo filter's
// radix, a Bloom filter's hashes (blocks per key when blocked); detail: a cuckoo filter's low bits.
struct GeometryWords {
  uint64_t size = 0;
  uint64_t shape = 0;
  uint64_t detail = 0;
  friend bool operator==(const GeometryWords&, const GeometryWords&) = default;
};

// cell -> removes that are not in the pages yet
using PendingRemoves = CellCounts;

// Fills an empty filter; nothing else may use it until finish(). What it leaves follows from the
// inserts and their order alone, not from how many of them are done at a time. When memory runs out
// (std::bad_alloc) the filter is fit for nothing but destruction.
class FilterBuilder {
 public:
  virtual ~FilterBuilder() = default;
  void insert(uint64_t hash, uint64_t count) {  // count >= 1
    if (count == 1) [[likely]] {
      wait(hash);
    } else {
      insert_copies(hash, count);
    }
  }
  void finish() {
    insert_waiting();
    store();
  }
  // After finish(): the sum of Filter::digest_of() of all that was inserted, if it was asked for.
  uint64_t digest() const noexcept { return digest_; }
  virtual size_t memory_bytes() const noexcept { return 0; }  // beside the filter's

 protected:
  // Hashes wait until there are many: as one by one, but in less time.
  void wait(uint64_t hash) {
    waiting_[count_++] = hash;
    if (count_ == std::size(waiting_)) {
      insert_waiting();
    }
  }
  void insert_waiting() {
    insert_all(std::span(waiting_).first(count_));
    count_ = 0;
  }
  virtual void insert_copies(uint64_t hash, uint64_t count) = 0;  // count > 1
  virtual void insert_all(std::span<const uint64_t> hashes) = 0;
  virtual void store() = 0;

  uint64_t digest_ = 0;

 private:
  uint64_t waiting_[4096];
  size_t count_ = 0;
};

// Inserts much at once. The filter's pages lag behind until store(): meanwhile nothing may be asked
// of it but its geometry and its counts (occupied(), overflow()). Where entries stand in the end
// follows from the inserts alone, however often store() was called. When memory runs out
// (std::bad_alloc) in insert(), the filter is fit for nothing but destruction; in store(), that may
// be called again.
class BulkInserter {
 public:
  virtual ~BulkInserter() = default;
  // As Filter::insert_batch(); null: no digest is asked for.
  virtual uint64_t insert(std::span<const uint64_t> hashes, uint64_t* digest) = 0;
  virtual void store() = 0;
  virtual size_t memory_bytes() const noexcept = 0;
};

class Filter {
 public:
  enum class Answer : uint8_t { kAbsent = 0, kPresent = 1, kNotLoaded = 2 };
  static constexpr size_t kMaxPlaces = 64;  // pages or cells of one hash

  Filter(Filter&&) = default;  // a moved-from filter can only be destroyed
  Filter& operator=(Filter&&) = delete;
  virtual ~Filter() = default;

  FilterKind kind() const noexcept { return kind_; }
  KindTraits traits() const noexcept { return traits_of(kind_); }
  bool canonical() const noexcept { return traits().canonical; }
  PageSet& pages() noexcept { return pages_; }
  const PageSet& pages() const noexcept { return pages_; }
  OverflowTable& overflow() noexcept { return overflow_; }
  const OverflowTable& overflow() const noexcept { return overflow_; }
  // Used slots, set bits or counters above 0. Kept by changes; set after loading a stored filter.
  uint64_t occupied() const noexcept { return occupied_; }
  void set_occupied(uint64_t occupied) noexcept { occupied_ = occupied; }

  virtual GeometryWords words() const noexcept = 0;
  virtual uint64_t bits() const noexcept = 0;  // of all cells, without the padding of pages
  // Bytes of page `index` that hold cells, the last begun byte whole; the last page is cut to that.
  virtual uint32_t content_bytes(uint64_t index) const noexcept = 0;
  // A page's content as read from storage: its size, valid cells, zero bits behind the last one.
  virtual Status validate_page(uint64_t index, std::span<const std::byte> content) const = 0;

  // Up to kMaxPlaces; a page may come twice, a cell comes once.
  virtual size_t pages_of(uint64_t hash, uint64_t* pages) const noexcept = 0;
  virtual size_t cells_of(uint64_t hash, uint64_t* cells) const noexcept = 0;

  // kNotLoaded: a page that is needed for the answer is not in memory.
  virtual Answer probe(uint64_t hash) const noexcept = 0;
  // Of a cell: its entries, its counter, 1 or 0 of a bit; overflow included. Its pages are in
  // memory.
  virtual uint64_t copies(uint64_t cell) const noexcept = 0;
  // Occurrences of the hash's cells, less the pending removes. Its pages are in memory.
  virtual uint64_t count(uint64_t hash, const PendingRemoves& pending) const = 0;
  // How many of them were present already when their turn came. `digest` grows by their
  // digest_of().
  uint64_t insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) {
    return do_insert_batch(hashes, digest);
  }
  uint64_t insert_batch(std::span<const uint64_t> hashes) {
    uint64_t digest = 0;
    return do_insert_batch(hashes, digest);
  }
  // So many occurrences more of a hash that was inserted kMostSingleInserts times, in O(1): the
  // same as so many single inserts. Multisets only. Its pages are in memory.
  static constexpr uint64_t kMostSingleInserts = 9;
  virtual void insert_more(uint64_t hash, uint64_t count) = 0;
  // One occurrence; false, and no change, when one of its cells is empty. Multisets only. Its pages
  // are in memory.
  virtual bool remove(uint64_t hash) = 0;
  // So many, in O(1); false, and no change, when one of its cells has fewer.
  virtual bool remove_copies(uint64_t hash, uint64_t count) = 0;
  enum class Digest : bool { kNone, kSum };
  virtual std::unique_ptr<FilterBuilder> builder(uint64_t expected, Digest digest) = 0;
  // For so many inserts at least it pays to have a bulk_inserter(). kNoBulk: there is none.
  static constexpr uint64_t kNoBulk = ~uint64_t{0};
  virtual uint64_t fewest_bulk_inserts() const noexcept { return kNoBulk; }
  virtual std::unique_ptr<BulkInserter> bulk_inserter() { return nullptr; }
  // Adds everything of another filter of the same kind and geometry, a Bloom filter of the same
  // page size. When it is stopped a part of it is in.
  Status unite(const Filter& other, const Poll& poll = nullptr) { return do_unite(other, poll); }

  // The expected false positive rate with that many distinct keys, and the one as it is now.
  virtual double rate(double keys) const noexcept = 0;
  virtual double rate_now() const noexcept = 0;
  virtual double load_factor() const noexcept = 0;  // occupied part of the cells, 0 … 1
  // Positions that a key is looked up at, and the bits of what is stored there; 0: no fingerprints.
  virtual uint32_t places_per_key() const noexcept = 0;
  virtual double fingerprint_bits() const noexcept = 0;

  // The items it holds, all folded; none when its cells don't tell.
  std::optional<uint64_t> counted_items() const noexcept {
    return traits().slot_per_item ? std::optional(occupied_ + overflow_.items()) : std::nullopt;
  }
  // The most items that its cells and its overflow table allow, whatever an image claims: those it
  // holds where it counts them, 15 a counter, and of bits the number of keys at which the last of
  // them is set, on average.
  virtual uint64_t most_items() const noexcept = 0;
  // Has it no room for one key more? It was made for `capacity` keys and took `items`, of which
  // `unfolded` are not in its pages yet. Copies take room where each item takes a slot; elsewhere
  // they don't, so items above the capacity are no proof, and the cells are asked. So `capacity`
  // distinct keys have room, but not for sure in a counting Bloom filter with copies: by chance one
  // in fifty refuses the last few of them (made for 1000, from the 991st on).
  virtual bool full(uint64_t items, uint64_t unfolded, uint64_t capacity) const noexcept = 0;
  // Does it hold more keys than it was made for? All are folded. In doubt overfull() says no,
  // which is for one that can't grow, and outgrown() yes.
  bool overfull(uint64_t items, uint64_t capacity) const noexcept {
    return items > 0 && full(items - 1, 0, capacity);
  }
  virtual bool outgrown(uint64_t items, uint64_t capacity) const noexcept = 0;
  // Would it be outgrown after so many removes, and adds that ascend? Yes only where that can be
  // told before: the others are asked outgrown() afterwards.
  virtual bool would_outgrow(uint64_t removes, std::span<const uint64_t> adds,
                             uint64_t capacity) const noexcept = 0;
  // Could it be outgrown after so many adds? Of keys that it doesn't have, as if all were folded.
  virtual bool could_outgrow(uint64_t items, uint64_t adds, uint64_t capacity) const noexcept = 0;
  // How many items it has when a filter of `b` items was united into it, which had `a` itself. In a
  // multiset their sum. Keys of a set may have been in both: there the cells in use give an
  // estimate, of no less than each had. It is above `capacity` only when one of them was, or the
  // cells leave no doubt, so that the union of `capacity` keys or fewer always fits.
  virtual uint64_t united_items(uint64_t a, uint64_t b, uint64_t capacity) const noexcept = 0;

  // An entry's share of digest(), and the digest of pages and overflow table; 0 when canonical.
  virtual uint64_t digest_of(uint64_t hash) const noexcept = 0;
  virtual uint64_t digest() const noexcept = 0;
  // I1 and every invariant of the filter's own, all pages in memory or all zero.
  virtual Status check() const = 0;

 protected:
  Filter(FilterKind kind, uint64_t page_count, uint32_t page_bytes)
      : kind_(kind), pages_(page_count, page_bytes) {}

  virtual uint64_t do_insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) = 0;
  virtual Status do_unite(const Filter& other, const Poll& poll) = 0;

  FilterKind kind_;
  PageSet pages_;
  OverflowTable overflow_;
  uint64_t occupied_ = 0;
};

}  // namespace cuckoo
