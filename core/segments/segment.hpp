// A segment: a small filter that holds the keys whose hashes begin with its prefix. Each expensive
// operation handles one segment at a time, so that no commit is long, whatever the size of the
// whole filter.
//
// State      as of F, a position of the log: the header, and the blocks of pages and runs
//            in memory: the pages, with the first applied() entries of the segment's list
//            the list: its entries from F on, in the order of the log (core/segments/directory.hpp)
// A hash is present when the pages say so. So before a probe all entries of the list are applied.
// If nobody probes during a load, its entries wait in the list until the segment is folded.
//
// All hashes of a segment of depth d share their first d bits. So its pages leave these out, and
// a look-up there takes hash << d. Runs and log have whole hashes.
//
// If hashes are kept, a segment that outgrew its capacity will be made anew by its next fold. Until
// then its pages take no further adds, because each would search long for a slot, and they would
// answer "probably" too often. These adds are beyond the pages: counted by hash. But an add of a
// hash that was removed before, and not added since, goes into the pages. The remove may have taken
// the cells of another key, which get them back so.
//
// Invariants (S1 is in core/segments/directory.hpp)
//   S2  pages and runs hold exactly the entries of the log before F that have this prefix; the
//       entries from F on are its list.
//   I1  a page in memory that is not dirty has the bytes of its block, or is zero and has no block.
//   I2  the sums (core/segments/block_sums.hpp) say which pages have a block, and what is in it. A
//       block that is read has its sum, and none is missing: each would be a false negative.
//   I3  with hashes: the sum of the runs is what the pages hold as of F. In a copy, the runs may
//       have further removes, that found nothing in the pages.
//   I4  base_id stands for the history of pages and runs: two segments that were filled in
//       different ways have different ones, also if they got equal entries in another order. So a
//       connection can tell that its pages are out of date.
//   I5  a failure of merged() leaves the segment as it was; after one of fold() or apply() the
//       segment must be dropped.
//   I6  each run has more than four times as many entries as the next one (core/segments/run.hpp,
//       kRunRatio).
//   I7  pages, digest and beyond follow from the state as of F and from the first applied() entries
//       of the list, taken one by one: not from how many of them were applied at a time. So nothing
//       that is stored depends on what was asked.
//   I8  it outgrew exactly when Filter::outgrown() was true after one of these entries, or would
//       be with one item more when one of them, or the next one, adds an absent hash. So the pages
//       of a Bloom filter for one key never get two. Without hashes, Filter::full() decides where
//       keys share cells. Only
//       then adds are beyond the pages; each add is in the pages or beyond them, never in both.
//       Of each hash, owed_ counts how many adds the pages get back: when it outgrew, the removes
//       since F less the adds since F; from then on, one more for each remove from the pages, and
//       one less for each add to them.
//
// Operations
//   apply()   puts entries of the list into the pages
//   fold()    moves F behind the list, all of which was applied: makes a run of it
//   merged()  returns runs and list as one ascending sequence, of which one segment or more can be
//             made
//   become()  fills a segment that was just made
//   piece()   returns a copy of the segment for an image or changes (core/segments/contents.hpp);
//             adopt() makes a segment of a piece
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/cell_counts.hpp"
#include "core/filter/filter.hpp"
#include "core/filter/probe.hpp"
#include "core/segments/block_sums.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/run.hpp"
#include "core/segments/segment_header.hpp"
#include "core/segments/segment_limits.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

// Returns for how many keys a filter of these entries must be made: a hash with many copies is one
// cell of the overflow table where each item takes a slot, and one key elsewhere.
uint64_t needed_for(std::span<const NetHash> entries, bool slot_per_item) noexcept;
// Returns how many items they are; in a set each hash is one.
uint64_t items_of(std::span<const NetHash> entries, bool multiset) noexcept;

// Fills an empty filter, all pages of which are in memory, with the entries: hashes of so many
// first bits in common, which it is not asked for. Returns its digest, if it is asked for.
uint64_t fill(Filter& filter, std::span<const NetHash> entries, unsigned depth,
              Filter::Digest digest = Filter::Digest::kNone);

// Adds so many occurrences of a hash. Returns whether it was present.
bool insert_copies(Filter& filter, uint64_t hash, uint64_t copies);

// kCorrupt when no segment of the header's capacity has its geometry. Comes before a filter of that
// geometry is made.
Status check_geometry(const FilterOptions& options, const SegmentHeader& header);

class Segment {
 public:
  using Answer = Filter::Answer;

  // Makes an empty segment, which has no blocks yet.
  static Result<std::unique_ptr<Segment>> make(const FilterOptions& options, uint64_t prefix,
                                               unsigned depth, uint64_t number, uint64_t capacity);
  // … for a share of these limits, whose geometry is computed once for all.
  static Result<std::unique_ptr<Segment>> make_share(const FilterOptions& options,
                                                     const SegmentLimits& limits, uint64_t prefix,
                                                     unsigned depth, uint64_t number);
  // Opens a stored segment. Its pages are read when they are asked for. kCorrupt when there is no
  // filter of its geometry.
  static Result<std::unique_ptr<Segment>> open(const FilterOptions& options, const Blocks& blocks,
                                               const SegmentHeader& header);

  // Makes a segment, which has no blocks yet, of a piece from outside. Everything that open()
  // expects of it is checked, and its hashes, if they are to be kept: kInvalid.
  static Result<std::unique_ptr<Segment>> adopt(const FilterOptions& options, Piece&& piece,
                                                uint64_t number, uint64_t position,
                                                bool keeps_hashes);

  const SegmentHeader& header() const noexcept { return header_; }
  const Filter& filter() const noexcept { return *filter_; }

  // --- asking; when it answers kNotLoaded, load() comes first. All of the list is applied.
  [[gnu::always_inline]] Answer probe(uint64_t hash) const noexcept {
    const Answer answer = cuckoo::probe(*filter_, hash << header_.depth);
    return answer == Answer::kAbsent && beyond_.count(hash) > 0 ? Answer::kPresent : answer;
  }
  // Loads the pages that the hash needs; all of them if one has no block.
  Status load(const Blocks& blocks, uint64_t hash);
  Status load_all(const Blocks& blocks);
  bool all_loaded() const noexcept { return all_loaded_; }
  // Returns how many removes of the hash find something. Its pages are in memory.
  uint64_t count(uint64_t hash) const noexcept {
    return filter_->count(hash << header_.depth) + beyond_.count(hash);
  }

  // … of one more: a remove takes no item that is not there.
  uint64_t removable(uint64_t hash) const noexcept { return std::min(count(hash), items()); }

  // --- its list
  size_t applied() const noexcept { return applied_; }
  struct Applying {
    bool keeps_hashes = true;  // so it is made anew if it outgrew
    bool stored = true;        // its state as of F is to be written, if that was not done yet
    bool stops = false;        // when it outgrew
  };
  // Applies the entries of the list from applied() on, up to `end`. All pages are in memory. A
  // remove takes what it finds. Returns how many adds were of hashes that were not present when
  // their turn came.
  uint64_t apply(const EntryList& list, size_t end, const Applying& how);
  bool outgrew() const noexcept { return outgrew_; }
  bool has_beyond() const noexcept { return !beyond_.empty(); }
  // Returns how many adds of the list from applied() to `end` will be of hashes that are not
  // present when their turn comes. It is a set that outgrew.
  uint64_t count_rest(const EntryList& list, size_t end) const;
  // Returns true if its list, whose sums these are, is long, and outgrows it as far as can be told
  // without a look at its pages. If not, apply() tells. So a load need not be applied before a
  // segment is made anew.
  bool outgrows(std::span<const NetHash> sums) const noexcept;
  // Shares its pages with other filters that have equal ones.
  void share_pages() noexcept;
  // True if it holds nothing, as of F.
  bool is_empty() const noexcept {
    return header_.items == 0 && header_.run_entries == 0 && header_.digest == 0 &&
           header_.occupied == 0;
  }
  // Returns its overflow table as of F, if that was not written yet and the list changed it; else
  // null.
  const OverflowTable* unwritten_overflow() const noexcept {
    return unwritten_ != nullptr ? &unwritten_->overflow : nullptr;
  }
  // Returns about how many entries of the runs a merge would drop once the list is in a run.
  uint64_t dead() const noexcept { return header_.dead + ahead_.dead; }
  uint64_t items() const noexcept { return header_.items + ahead_.items; }

  // --- folding
  // Gives a number to a segment that was never folded. It has the size that it has since then.
  void begin(uint64_t number, uint64_t made_at) noexcept;
  // Makes a run of the list, whose sums these are. That position of the log is its F afterwards.
  Status fold(const Blocks& blocks, const EntryList& list, std::span<const NetHash> sums,
              uint64_t position, bool keeps_hashes);
  // Returns runs and list, ascending, with counts above 0. A remove that no add precedes was of a
  // key that was never added; dropping it repairs what it broke. `sums`: those of the list.
  struct Merged {
    std::vector<NetHash> entries;
    bool repaired = false;  // a remove was dropped, or a count cut to 1: the cells have got both
  };
  Result<Merged> merged(const Blocks& blocks, std::vector<NetHash> sums) const;
  // … of this list.
  Result<std::vector<NetHash>> merged(const Blocks& blocks, const EntryList& list) const;
  // It has the geometry that the one before it had since then.
  void set_made_at(uint64_t position) noexcept { header_.made_at = position; }
  // Fills a segment that was just made with these entries; their hashes have its prefix.
  void become(std::span<const NetHash> entries, uint64_t position, uint64_t base_id, uint64_t items,
              bool keeps_hashes);

  // --- a copy for the outside
  struct HashCount {
    uint64_t hashes = 0;  // different ones
    uint64_t items = 0;   // with their copies, where these count
  };
  // Counts what merged() would return; mostly that follows from the header.
  Result<HashCount> count_hashes(const Blocks& blocks, const EntryList& list) const;
  enum class Hashes : uint8_t {
    kNone,     // it keeps none
    kLeftOut,  // the copy lacks them
    kGiven,    // the copy is made of them, and has them
  };
  // Returns a copy with all of the list, which must be applied unless the hashes are given. A copy
  // of one that outgrew is made anew of its hashes in a larger size, if it keeps them. `limit`: see
  // decide.hpp.
  Result<Piece> piece(const Blocks& blocks, const EntryList& list, Hashes hashes,
                      uint64_t limit) const;

  // --- pairs of hashes, instead of all that takes a single one; there is no list
  Answer probe_pair(const HashPair& pair) const noexcept;
  Status load_pair(const Blocks& blocks, const HashPair& pair);
  void insert_pair(const HashPair& pair);  // its pages are in memory

  // --- writing
  // Writes the state as of F, as far as it is not stored yet, and returns what is stored then. That
  // counts as not written until note_written().
  struct Stored {
    SegmentHeader header;
    BlockSums sums;
  };
  Result<Stored> write_to(const Blocks& blocks) const;
  void note_written(Stored&& stored) noexcept;

  uint64_t stored_blocks() const noexcept;

  size_t memory_bytes() const noexcept;
  // Checks I2, I3, I6 and the filter's own invariants, of a segment that was just opened, or never
  // written: what is in memory is believed then. `list`: its entries, of which applied() count.
  Status check(const Blocks& blocks, const EntryList& list, bool keeps_hashes);
  // Checks I7 and I8 of another connection's segment, or of an older one in memory: it must be as
  // this one, which was just opened, and has applied as many entries of an equal list.
  Status expect_same(const Segment& other) const;

 private:
  Segment(const FilterOptions& options, const SegmentHeader& header,
          std::unique_ptr<Filter> filter);
  static std::unique_ptr<Segment> made_of(const FilterOptions& options, uint64_t prefix,
                                          unsigned depth, uint64_t number, uint64_t capacity,
                                          std::unique_ptr<Filter> filter);

  Status load_pages(const Blocks& blocks, std::span<const uint64_t> indexes);
  Result<std::unique_ptr<Filter>> copy_pages() const;
  Status make_piece_anew(std::span<const NetHash> entries, uint64_t limit, Piece& piece) const;
  Status add_page(int64_t id, std::span<const std::byte> content);
  Status read_pages(const Blocks& blocks);
  Status read_overflow(const Blocks& blocks);
  void keep_unwritten();
  uint64_t add_singles(std::span<const uint64_t> hashes);
  uint64_t add(uint64_t hash, uint64_t copies);
  uint64_t add_to_pages(uint64_t hash, uint64_t copies);
  uint64_t add_beyond(uint64_t hash, uint64_t copies);
  void note_outgrown(const EntryList& list);
  std::vector<NetHash> beyond() const;  // ascending
  void take_beyond();
  void remove(uint64_t hash, uint64_t copies);
  Status write_pages(const Blocks& blocks, Stored& stored) const;
  Status write_overflow(const Blocks& blocks, SegmentHeader& header) const;
  Status write_runs(const Blocks& blocks, Stored& stored) const;
  struct Runs {
    std::vector<NetHash> entries;  // of all runs
    std::vector<size_t> starts;    // where each begins

    bool grow_shorter() const noexcept;  // as I6 says
  };
  Result<Runs> read_runs(const Blocks& blocks) const;
  Status check_runs(const Blocks& blocks, const EntryList& list) const;
  void add_run(std::span<const NetHash> entries);
  Result<std::vector<NetHash>> take_last_run(const Blocks& blocks, uint64_t newer);
  Result<uint64_t> merge_run(const Blocks& blocks, std::span<const NetHash> entries);
  void note_entries(std::span<const NetHash> entries) noexcept;

  // What the applied entries of the list add to the header.
  struct Ahead {
    uint64_t items = 0;   // modulo 2^64
    uint64_t digest = 0;  // likewise
    uint64_t dead = 0;

    friend bool operator==(const Ahead&, const Ahead&) = default;
  };
  // Pages and overflow table as of F, of a segment that was folded and not written yet.
  struct Unwritten {
    struct Page {
      uint64_t index;
      std::vector<std::byte> content;
    };
    std::vector<Page> pages;
    OverflowTable overflow;
  };

  const FilterOptions* options_;
  SegmentHeader header_;  // as of F; of what is not written yet it does not count the blocks
  BlockSums sums_;        // of the blocks that are stored
  std::unique_ptr<Filter> filter_;
  bool all_loaded_ = false;
  bool written_ = false;  // its state as of F is stored
  size_t applied_ = 0;    // entries of its list
  Ahead ahead_;
  bool outgrew_ = false;
  CellCounts beyond_;  // hash -> adds that are not in the pages
  CellCounts owed_;    // hash -> I8; empty unless it outgrew
  std::unique_ptr<Unwritten> unwritten_;
  uint32_t kept_run_blocks_ = 0;  // of the blocks that are stored; new_runs_ come after these
  std::vector<std::vector<std::byte>> new_runs_;  // blocks that are not written yet
};

}  // namespace cuckoo::segments
