// The interface of all filters, for the table that keeps one (core/segments/filter_file.hpp), and
// for images (core/segments/image.hpp). A filter is its pages, its overflow table, and two numbers
// that say how to read them: occupied() and the geometry.
//
// Invariants
//   I1  there is never a false negative: a hash that was inserted more often than removed is
//       present.
//   I2  a canonical filter's pages and overflow table depend only on the multiset of hashes in it.
//       Those of another one (cuckoo) also depend on their history, but its digest() does not.
//   I3  the same operations in the same order give the same bytes on every machine.
//   I4  pages may be absent. probe() says so, and pages_of() names the pages that one hash needs. A
//       change of many hashes (builders, batches) needs all pages in memory, zero pages among them.
//       A function that reads the whole filter (digest, check, unite's other) takes absent pages
//       for zero. Its memory and time depend on the pages that hold something, not on the geometry.
//   I5  when memory runs out (std::bad_alloc) in a change of many hashes, some of them are in.
//
// Each difference between the kinds is a virtual function here or a trait in core/filter/kind.hpp.
// core/filter/factory.hpp makes a filter. Where speed counts, core/filter/probe.hpp,
// core/segments/segment_fold.cpp and core/library/memory_filter.hpp call its class directly.
// core/filter/legacy_bloom.hpp returns the class that takes pairs of hashes. No function here that
// takes a single hash is called for a filter of pairs.
//
// A cell is the part of a filter that a hash shares with the hashes it can't be told apart from: in
// a cuckoo filter a (bucket pair, fingerprint), in a Bloom filter each of its k bits or counters.
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
#include "core/filter/kind.hpp"
#include "core/filter/overflow_table.hpp"

namespace cuckoo::core {

// A geometry as it is stored. size: buckets, bits, counters or blocks; shape: a cuckoo filter's
// radix, a Bloom filter's hashes (blocks per key when blocked); detail: a cuckoo filter's low bits.
struct GeometryWords {
  uint64_t size = 0;
  uint64_t shape = 0;
  uint64_t detail = 0;
  friend bool operator==(const GeometryWords&, const GeometryWords&) = default;
};

// Fills an empty filter, which is not used otherwise until finish(). Its final contents follow only
// from the inserts and their order, not from how many of them are done at a time. When memory runs
// out (std::bad_alloc), the filter can only be destroyed.
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
  // After finish(): returns the sum of Filter::digest_of() of all inserts, if it was asked for.
  uint64_t digest() const noexcept { return digest_; }
  virtual size_t memory_bytes() const noexcept { return 0; }  // beside the filter's

 protected:
  // Hashes wait until there are many, because together they take less time. The result is the same.
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
  // The number of used slots, set bits or counters above 0. Changes keep it up to date. It must be
  // set after a stored filter was loaded.
  uint64_t occupied() const noexcept { return occupied_; }
  void set_occupied(uint64_t occupied) noexcept { occupied_ = occupied; }

  virtual GeometryWords words() const noexcept = 0;
  virtual uint64_t bits() const noexcept = 0;  // of all cells, without the padding of pages
  // Returns the bytes of page `index` that hold cells; a byte that is begun counts in full. The
  // last page is cut to that.
  virtual uint32_t content_bytes(uint64_t index) const noexcept = 0;
  // Checks a page's content as read from storage: its size, valid cells, zero bits after the last.
  virtual Status validate_page(uint64_t index, std::span<const std::byte> content) const = 0;

  // Give up to kMaxPlaces pages or cells of a hash. A page may come twice, a cell comes once.
  virtual size_t pages_of(uint64_t hash, uint64_t* pages) const noexcept = 0;
  virtual size_t cells_of(uint64_t hash, uint64_t* cells) const noexcept = 0;

  // kNotLoaded: a page that is needed for the answer is not in memory.
  virtual Answer probe(uint64_t hash) const noexcept = 0;
  // Returns a cell's entries, its counter, or 1 or 0 for a bit; overflow included. Its pages are in
  // memory.
  virtual uint64_t copies(uint64_t cell) const noexcept = 0;
  // Returns the occurrences of the hash's cells. Its pages are in memory.
  virtual uint64_t count(uint64_t hash) const noexcept = 0;
  // Inserts the hashes. Returns how many of them were present already when their turn came.
  // `digest` grows by their digest_of().
  uint64_t insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) {
    return do_insert_batch(hashes, digest);
  }
  uint64_t insert_batch(std::span<const uint64_t> hashes) {
    uint64_t digest = 0;
    return do_insert_batch(hashes, digest);
  }
  // Adds so many occurrences of a hash that was inserted kMostSingleInserts times, in O(1). The
  // result is that of so many single inserts. Multisets only. Its pages are in memory.
  static constexpr uint64_t kMostSingleInserts = 9;
  virtual void insert_more(uint64_t hash, uint64_t count) = 0;
  // Removes one occurrence. Returns false, and changes nothing, if one of its cells is empty.
  // Multisets only. Its pages are in memory.
  virtual bool remove(uint64_t hash) = 0;
  // Removes so many, in O(1). Returns false, and changes nothing, if one of its cells has fewer.
  virtual bool remove_copies(uint64_t hash, uint64_t count) = 0;
  enum class Digest : bool { kNone, kSum };
  virtual std::unique_ptr<FilterBuilder> builder(uint64_t expected, Digest digest) = 0;
  // Adds everything of another filter of the same kind and geometry. A Bloom filter must also have
  // the same page size. If `poll` stops it, a part of the other filter is in.
  Status unite(const Filter& other, const Poll& poll = nullptr) { return do_unite(other, poll); }

  // Return the expected false positive rate with that many distinct keys, and the rate as it is
  // now, or with so many keys more.
  virtual double rate(double keys) const noexcept = 0;
  virtual double rate_with(double more) const noexcept = 0;
  double rate_now() const noexcept { return rate_with(0); }
  virtual double load_factor() const noexcept = 0;  // occupied part of the cells, 0 … 1
  // Return at how many positions a key is looked up, and how many bits a fingerprint has there; 0:
  // no fingerprints.
  virtual uint32_t places_per_key() const noexcept = 0;
  virtual double fingerprint_bits() const noexcept = 0;

  // Returns the items that it holds, all of them folded; nullopt if its cells don't tell.
  std::optional<uint64_t> counted_items() const noexcept {
    return traits().slot_per_item ? std::optional(occupied_ + overflow_.items()) : std::nullopt;
  }
  // Returns the most items that its cells and its overflow table allow, whatever an image claims.
  // If it counts items, these are its items. A counter allows 15. For bits it is the number of keys
  // at which the last bit is set, on average.
  virtual uint64_t most_items() const noexcept = 0;
  // Returns true if it has no room for one key more. It was made for `capacity` keys and took
  // `items`. Copies take room if each item takes a slot. Otherwise they don't, so items above the
  // capacity are no proof, and the cells decide. So `capacity` distinct keys have room, but not for
  // sure in a counting Bloom filter with copies: by chance one in fifty refuses the last few of
  // them (made for 1000, from the 991st on).
  virtual bool full(uint64_t items, uint64_t capacity) const noexcept = 0;
  // Returns true if a union of two filters with `sum` items holds more keys than it was made for.
  // They may have keys in common, so the cells decide, and are believed where chance gives so many
  // only once in hundreds of times.
  virtual bool overfull(uint64_t sum, uint64_t capacity) const noexcept {
    return sum > 0 && full(sum - 1, capacity);
  }
  // Returns true if it holds more keys than it was made for. In doubt, too.
  virtual bool outgrown(uint64_t items, uint64_t capacity) const noexcept = 0;
  // Returns false if it is not outgrown after so many adds of one occurrence, whatever they are.
  virtual bool may_outgrow(uint64_t items, uint64_t adds, uint64_t capacity) const noexcept = 0;
  // Returns how many items it has after a filter of `b` items was united into it, which had `a`
  // itself. In a multiset that is their sum. Keys of a set may have been in both. So there the
  // cells in use give an estimate, which is no less than each had. It is above `capacity` only if
  // one of them was, or the cells leave no doubt. So the union of `capacity` keys or fewer always
  // fits.
  virtual uint64_t united_items(uint64_t a, uint64_t b, uint64_t capacity) const noexcept = 0;

  // Return an entry's share of digest(), and the digest of pages and overflow table. Both are 0 if
  // the filter is canonical.
  virtual uint64_t digest_of(uint64_t hash) const noexcept = 0;
  virtual uint64_t digest() const noexcept = 0;
  // Checks I1 and the filter's own invariants. All pages are in memory or all zero.
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

// Returns whether two filters of one geometry have the same cells. An absent page is zero; others
// are complete.
bool equal_cells(const Filter& a, const Filter& b) noexcept;

}  // namespace cuckoo::core
