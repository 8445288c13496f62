// Which segment a hash belongs to: a binary trie over the leading bits, and the headers of its
// leaves.
//
// Layout
//   table_[first depth() bits of a hash]  ->  leaf  ->  segment, once it was asked for
// A page of the directory has room for n headers: page 0 for those of leaves 0 … n - 1, and so on.
// It ends with the last header that is there. CREATE makes 2^d leaves and writes no header, so that
// a filter for 2^40 keys is made in no time. When a leaf is split, its first piece keeps its
// number, and the others get new ones.
//
// Invariants
//   S1  the leaves' prefixes partition the hash space: each entry of table_ leads to the one leaf
//       whose prefix it begins with.
//   I1  depth() is the greatest depth of a leaf. It is at most 6 more than a trie of so many leaves
//       needs, so that chosen keys can't make the table large.
//   I2  every leaf has a header, but the first 2^d may lack theirs. A page without headers has no
//       block. The root has the sum of the pages' hashes.
//   I3  memory follows what is stored: a root alone can't ask for more than 2^16 leaves, and a leaf
//       without a header takes 72 bytes, where one with a header takes 216.
//   I4  an entry of the log that was read is in the list of its leaf, or it is in the pages that
//       its leaf's header names. Storage can go back to before a fold, by ROLLBACK or by a backup
//       that is put back: then read() returns false, and who called it reads the log again.
//   I5  the leaves whose lists are not empty are linked, in the order in which the first of their
//       entries came. pending_entries() are those of all lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {

// Returns how deep a leaf may be where there are so many (I1).
unsigned most_depth(uint64_t leaves) noexcept;

// The one block that says what all others mean.
struct Root {
  uint64_t options_digest = 0;     // of what CREATE chose
  uint64_t directory_version = 0;  // a hash of all that was written; the newest log row has it, too
  uint64_t next_number = 1;        // of the next segment
  uint64_t first_depth = 0;        // there were 2^first_depth leaves at first
  uint64_t capacity = 0;           // of all segments
  uint64_t leaves = 1;
  uint64_t folded_to = 0;       // leaves without a header have the entries of the log from here on
  uint64_t pages_hash = 0;      // of the directory: the sum of the hashes of its pages
  uint64_t window_hash = 0;     // of the window's block, of the newest generation
  uint64_t first_row = 0;       // of the log
  uint64_t first_position = 0;  // of that row
  // The row of the log with the oldest pending entry, or its last one: a connection that opens the
  // filter reads from there on.
  uint64_t pending_row = 0;
  uint64_t pending_position = 0;
  uint64_t key_types = 0;  // storage classes that were hashed into it, a byte a column
  uint64_t hashless = 0;   // 1: contents came without hashes, though growth is on

  friend bool operator==(const Root&, const Root&) = default;
};

std::vector<std::byte> encode_root(const Root& root);
uint64_t hash_of(const Root& root);  // XXH3 of its bytes
Result<Root> decode_root(std::span<const std::byte> content);

class Directory {
 public:
  struct Leaf {
    uint64_t prefix = 0;
    unsigned depth = 0;
    StoredHeader header;  // number 0: it has none
    std::unique_ptr<Segment> segment;
    EntryList pending;  // its entries from F on; segment->applied() of them are in the pages
    // Of a set: so many of these are in the filter's items. All that came from storage are.
    uint32_t counted = 0;
    uint64_t first_pending = 0;  // the position in the log of the first one
    static constexpr uint32_t kNone = ~uint32_t{0};
    uint32_t before = kNone, behind = kNone;  // I5
    bool touched = false;                     // its segment changed since the last flush
    // True if nothing was ever added: no segment is needed to tell what is in it.
    bool untouched() const noexcept {
      return segment == nullptr && header->number == 0 && pending.empty();
    }
    // True if the pages in memory have all entries.
    bool is_current() const noexcept {
      return segment != nullptr && segment->applied() == pending.size();
    }
    // Returns by how many the pending adds exceed the pending removes.
    uint64_t pending_adds() const noexcept {
      return static_cast<uint64_t>(std::max<int64_t>(pending.items(), 0));
    }
    // Returns the header as it is now, written or not.
    const SegmentHeader& current() const noexcept {
      return segment != nullptr ? segment->header() : *header;
    }
  };

  // What memory has read: the entries of the log before `position`, with a root of that folded_to.
  struct Known {
    uint64_t position = 0;
    uint64_t folded_to = 0;
  };

  explicit Directory(const FilterOptions& options) noexcept : options_(&options) {}

  // 2^depth leaves, none of which was ever folded.
  void start(unsigned depth);
  // These leaves, by their slots, instead of all before; none is stored, and nothing is pending.
  // kCorrupt when their prefixes don't partition the hash space; nothing changed then.
  Status assign(std::vector<Leaf> leaves);
  // Reads the stored leaves. A leaf whose header is the same as before keeps its segment and its
  // pending entries; any other leaf loses them. If a leaf has no header, its entries stay when they
  // are from the root's folded_to on. A failure changes nothing.
  // Returns false if I4 does not hold any more for the entries that memory has read, because
  // storage is as it was before a fold that memory has seen.
  Result<bool> read(const Blocks& blocks, const Root& root, Known known);

  unsigned depth() const noexcept { return depth_; }
  size_t size() const noexcept { return leaves_.size(); }
  size_t leaf_of(uint64_t hash) const noexcept {
    return depth_ == 0 ? 0 : table_[hash >> (64 - depth_)];
  }
  Leaf& leaf(size_t index) noexcept { return leaves_[index]; }
  const Leaf& leaf(size_t index) const noexcept { return leaves_[index]; }
  Segment* segment_of(uint64_t hash) const noexcept { return leaves_[leaf_of(hash)].segment.get(); }

  // Appends an entry of that position to the list of its leaf. O(1). If it throws, nothing has
  // changed.
  void append(size_t index, uint64_t position, uint64_t entry, uint64_t copies) {
    Leaf& leaf = leaves_[index];
    leaf.pending.append(entry, copies);
    if (leaf.pending.size() == 1) {
      link(index, position);
    }
    ++pending_;
  }
  void note_folded(size_t index) noexcept;  // the leaf's list is empty
  // Returns the leaf with the oldest pending entry; Leaf::kNone: there is none.
  size_t oldest() const noexcept { return first_; }
  // Drops the segments that were never folded, because shares are of another size from now on, or
  // keep hashes where they kept none, or the other way round.
  void drop_shares() noexcept;
  // Takes all lists away, and returns them, by leaf. Each segment keeps the entries that were
  // applied to its pages. After a roll-back, its new list may lack some of these.
  std::vector<EntryList> take_pending();
  uint64_t pending_entries() const noexcept { return pending_; }  // of all leaves
  Status check() const;                                           // I5
  // Returns the greatest F of the stored headers.
  uint64_t folded_to() const noexcept;

  // Returns by how many bits a leaf may be split (I1).
  unsigned most_bits(size_t index) const noexcept;
  // Splits the leaf into 2^bits, and returns their indexes, ascending by prefix. None of them has a
  // segment.
  std::vector<size_t> split(size_t index, unsigned bits);

  static uint64_t leaves_per_page(uint32_t page_bytes) noexcept {
    return page_bytes / kSegmentHeaderBytes > 0 ? page_bytes / kSegmentHeaderBytes : 1;
  }
  // Leaves whose segments were written just now, ascending. Their headers are not here yet.
  using WrittenLeaves = std::vector<std::pair<size_t, Segment::Stored>>;
  std::vector<std::byte> encode_page(uint64_t page, const WrittenLeaves& fresh) const;
  // Returns the sum of the hashes of all pages in storage, as the root has it.
  uint64_t pages_hash() const noexcept;
  // Returns the hash of a page in storage; 0: it has no block.
  uint64_t page_hash(uint64_t page) const noexcept {
    return page < page_hashes_.size() ? page_hashes_[page] : 0;
  }
  static uint64_t hash_of_page(uint64_t page, std::span<const std::byte> content) noexcept;
  void note_stored(uint64_t page, uint64_t hash);
  uint64_t stored_pages() const noexcept;

 private:
  void link(size_t index, uint64_t position) noexcept;
  void set_leaves(std::vector<Leaf>&& leaves, std::vector<uint32_t>&& table,
                  unsigned depth) noexcept;
  Status take_page(uint64_t page, std::span<const std::byte> content, const Root& root,
                   std::vector<Leaf>& leaves) const;
  Status read_leaves(const Blocks& blocks, const Root& root, std::vector<Leaf>& leaves,
                     std::vector<uint64_t>& hashes) const;
  static Status fill(const std::vector<Leaf>& leaves, std::vector<uint32_t>& table,
                     unsigned& depth);

  const FilterOptions* options_;
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> table_;  // 2^depth_ entries
  unsigned depth_ = 0;
  uint32_t first_ = Leaf::kNone, last_ = Leaf::kNone;  // of the list of leaves with pending entries
  uint64_t pending_ = 0;
  std::vector<uint64_t> page_hashes_;  // of the pages in storage
};

}  // namespace cuckoo::segments
