// A segment: a small filter that holds the keys whose hashes begin with its prefix. Each expensive
// operation handles one segment at a time, so that no commit is long, whatever the size of the
// whole filter.
//
// State      pages and runs: entries of the log before its position F      pending: those from F on
// A hash is present when something is left of its own pending adds, or when the pages count more
// copies of its cells than there are pending removes of them.
//
// All hashes of a segment of depth d share their first d bits. So its pages leave these out, and
// a look-up there takes hash << d. Runs and log have whole hashes.
//
// Invariants (S1 is in core/segments/directory.hpp)
//   S2  pages and runs hold exactly the entries of the log before F that have this prefix; the
//       entries from F on are pending.
//   I1  a page in memory that is not dirty has the bytes of its block, or is zero and has no block.
//   I2  the header counts the blocks, and sums the indexes of the pages that have one. A page
//       without a block is believed to be zero only after all blocks were read and counted: a lost
//       one would be a false negative.
//   I3  with hashes: the sum of the runs is what the pages hold.
//   I4  base_id stands for the history of pages and runs: two segments that were filled in
//       different ways have different ones. So a connection can tell that its pages are out of
//       date.
//   I5  a failure of merged() leaves the segment as it was; after one of fold() the segment must be
//       dropped.
//   I6  each run has more than four times as many entries as the next one (core/segments/run.hpp,
//       kRunRatio).
//   I7  loose entries are in the pages, and in no run yet. With them, I3 holds: each is as if it
//       were a part of one more run. Only insert_now() and remove_now() leave any, so only a filter
//       that is never flushed has them: write_to() refuses. base_id does not follow them (I4).
//
// Operations
//   fold()    moves the pending entries into the pages, and into the runs
//   insert_now(), remove_now()
//             change the pages at once, where nothing is to be written; keep_loose() moves what
//             they did into the runs
//   merged()  returns runs and pending entries as one ascending sequence, of which one segment or
//             more can be made
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

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/filter/bloom_filter.hpp"
#include "core/filter/filter.hpp"
#include "core/filter/probe.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/pending.hpp"
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
  const Pending& pending() const noexcept { return pending_; }

  // --- asking; when it answers kNotLoaded, load() comes first
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    if (!pending_.empty()) {
      return probe_pending(hash);
    }
    return cuckoo::probe(*filter_, hash << header_.depth);
  }
  // Loads the pages that the hash needs; all of them if one has no block (I2).
  Status load(const Blocks& blocks, uint64_t hash);
  Status load_all(const Blocks& blocks);
  bool all_loaded() const noexcept { return all_loaded_; }
  uint64_t count(uint64_t hash);  // its pages are in memory
  // Returns how many removes of the hash find a fingerprint, pending or in the pages. It may be
  // less than count(): an earlier remove, of what was never added, took another hash's.
  uint64_t removable(uint64_t hash);

  // --- changing
  void append(uint64_t entry) { pending_.append(entry); }
  void append(uint64_t entry, uint64_t copies) { pending_.append(entry, copies); }
  void expect_pending(size_t entries) { pending_.expect(entries); }
  // An add to a set, of which settle() tells whether it was present. All pages are in memory.
  void append_uncounted(uint64_t hash) {
    if (!pending_.uncounted()) {
      index();
    }
    pending_.append_uncounted(hash);
  }
  // Returns how many of those adds were not present when they came.
  uint64_t settle() {
    if (pending_.uncounted()) {
      index();
    }
    return pending_.take_fresh();
  }
  void forget_pending() noexcept { pending_.clear(); }
  // Returns the hash's own pending net count; no page is needed for that.
  int64_t pending_net(uint64_t hash) {
    index();
    return pending_.net(hash);
  }
  // True if it holds nothing: it can be made anew of its pending entries, in any size.
  bool untouched() const noexcept {
    return header_.items == 0 && header_.run_entries == 0 && header_.digest == 0 &&
           loose_.empty() && filter_->occupied() == 0 && filter_->overflow().empty();
  }

  // The pending entries, as Pending::sorted() has them. Counts the adds of which settle() tells.
  Result<std::vector<NetHash>> sorted_pending(const Poll& poll) {
    return pending_.sorted(options_->width, *filter_, header_.depth, poll);
  }
  // What fold() does with them. A hash that is added more than kMostSingleInserts times is one of
  // `adds` that often, and the rest is in `more_adds`: so a fold takes the time of the hashes, not
  // of their copies.
  struct Folding {
    std::vector<NetHash> entries;    // ascending
    std::vector<NetHash> removes;    // without the prefix, how often each is removed
    LargeVector<uint64_t> adds;      // likewise, each as often as it is added
    std::vector<NetHash> more_adds;  // likewise, how often beyond that
    uint64_t removed = 0;            // entries of removes; an add may come after one
    uint64_t freed = 0;              // slots at most, by the removes
    uint64_t repeated = 0;           // adds that follow one of the same hash
  };
  Folding folding(std::vector<NetHash> entries) const;  // sorted_pending()
  Folding folding() { return folding(sorted_pending(nullptr).value()); }
  // Does it to a filter of the segment, and returns how many hashes were present already.
  Result<uint64_t> fold_into(Filter& filter, const Folding& folding, uint64_t& digest) const;
  // Would it hold more than it was made for? Where only the fold itself tells, outgrown() does.
  bool would_outgrow(const Folding& folding) const noexcept;
  bool outgrown() const noexcept;
  // Moves the pending entries into pages and runs; that position of the log is its F afterwards.
  // All pages are in memory.
  Status fold(const Blocks& blocks, const Folding& folding, uint64_t position, bool keeps_hashes);
  // Returns runs, loose and pending entries, ascending, with counts above 0. A remove that no add
  // precedes was of a key that was never added; dropping it repairs what it broke.
  // `fresh`: the sorted_pending() ones.
  struct Merged {
    std::vector<NetHash> entries;
    bool repaired = false;  // a remove was dropped, or a count cut to 1: the cells have got both
  };
  Result<Merged> merged(const Blocks& blocks, std::vector<NetHash> fresh) const;
  Result<std::vector<NetHash>> merged(const Blocks& blocks) {
    CUCKOO_ASSIGN_OR_RETURN(Merged all, merged(blocks, sorted_pending(nullptr).value()));
    return std::move(all.entries);
  }
  // --- changing at once: nothing is pending, and all pages are in memory
  // Adds one occurrence; returns whether it was present.
  bool insert_now(uint64_t hash, bool keeps_hashes);
  // Removes one occurrence; false: it is absent, and nothing changed. Multisets only.
  bool remove_now(uint64_t hash, bool keeps_hashes);
  // Are there so many loose entries that it is time to move them into the runs?
  bool many_loose() const noexcept {
    constexpr uint64_t kFewest = 256;
    constexpr uint64_t kPart = 32;
    return loose_.size() >= std::max(kFewest, header_.capacity / kPart);
  }
  size_t loose_entries() const noexcept { return loose_.size(); }
  Status keep_loose(const Blocks& blocks);
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
  Result<HashCount> count_hashes(const Blocks& blocks);
  // Returns a copy in which nothing is pending. With hashes it is made of these. `keeps_hashes`:
  // then a copy that gets too full is made anew in a larger size; `limit`: see decide.hpp.
  Result<Piece> piece(const Blocks& blocks, bool with_hashes, bool keeps_hashes, uint64_t limit);

  // --- pairs of hashes, instead of all that takes a single one; there is nothing pending
  Answer probe_pair(const HashPair& pair) const noexcept;
  Status load_pair(const Blocks& blocks, const HashPair& pair);
  void insert_pair(const HashPair& pair);  // its pages are in memory

  // --- writing
  // Writes what is not stored yet, and returns the header of it. That counts as not written until
  // note_written().
  Result<SegmentHeader> write_to(const Blocks& blocks) const;
  void note_written(const SegmentHeader& header) noexcept;

  size_t memory_bytes() const noexcept;
  // Checks I2, I3, I6, I7 and the filter's own invariants. Also checks that the pages hold each
  // entry that the log removes. It reads the stored rows. A segment that was never written has
  // none: then it checks the pages in memory.
  Status check(const Blocks& blocks, bool keeps_hashes);

 private:
  Segment(const FilterOptions& options, const SegmentHeader& header,
          std::unique_ptr<Filter> filter);
  static std::unique_ptr<Segment> made_of(const FilterOptions& options, uint64_t prefix,
                                          unsigned depth, uint64_t number, uint64_t capacity,
                                          std::unique_ptr<Filter> filter);

  Answer probe_pending(uint64_t hash);
  Status load_pages(const Blocks& blocks, std::span<const uint64_t> indexes);
  Result<std::unique_ptr<Filter>> copy_pages(const Blocks& blocks) const;
  Status make_piece_anew(std::span<const NetHash> entries, uint64_t limit, Piece& piece) const;
  void index() { pending_.index(*filter_, header_.depth); }
  Status add_page(Filter& filter, int64_t id, std::span<const std::byte> content) const;
  Status read_pages(const Blocks& blocks, Filter& filter) const;
  Status read_overflow(const Blocks& blocks, Filter& filter) const;
  Status write_overflow(const Blocks& blocks, SegmentHeader& header) const;
  Status write_runs(const Blocks& blocks, SegmentHeader& header) const;
  struct Runs {
    std::vector<NetHash> entries;  // of all runs
    std::vector<size_t> starts;    // where each begins

    bool grow_shorter() const noexcept;  // as I6 says
  };
  Result<Runs> read_runs(const Blocks& blocks) const;
  Status check_runs(const Blocks& blocks, const Filter& cells) const;
  Status check_cells(const Blocks& blocks, const Filter& cells, bool keeps_hashes);
  void add_run(std::span<const NetHash> entries);
  Result<std::vector<NetHash>> take_last_run(const Blocks& blocks, uint64_t newer);
  Result<uint64_t> merge_run(const Blocks& blocks, std::span<const NetHash> entries);
  std::vector<NetHash> sorted_loose() const;
  std::vector<NetHash> with_loose(std::vector<NetHash> of_runs) const;
  void note_entries(std::span<const NetHash> entries) noexcept;

  const FilterOptions* options_;
  SegmentHeader header_;  // as stored, but for what is dirty
  std::unique_ptr<Filter> filter_;
  Pending pending_;
  bool all_loaded_ = false;
  uint32_t kept_run_blocks_ = 0;  // of the blocks that are stored; new_runs_ come after these
  std::vector<std::vector<std::byte>> new_runs_;  // blocks that are not written yet
  LargeVector<uint64_t> loose_;                   // I7; entries in the order in which they came
  uint64_t loose_dead_ = 0;                       // as header_.dead, by these
};

}  // namespace cuckoo::segments
