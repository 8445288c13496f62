// A stored filter: a directory of segments and the log that all of them share. Here is what is
// asked of it and changed in it. When a segment is folded is decided in core/segments/turns.hpp,
// and how that is done in core/segments/segment.hpp. What a flush writes is in
// core/segments/filter_blocks.hpp, and how a copy applies changes in
// core/segments/changes_applier.hpp.
//
//   directory:  prefix of the hash  ->  segment
//   segment:    header | pages | runs        the entries up to F, where its folding has come
//   log:        entries of all segments, mixed, in the order they came
//
// An insert appends to the log, and touches no page. A small commit writes the last row of the log
// and nothing else (flush()). Before a segment is asked for the first time since then, its entries
// are applied to its pages in memory. In a set an add is counted then, or when items() is asked.
//
// Invariants
//   S1  (core/segments/directory.hpp) the segments' prefixes partition the hash space.
//   S2  (core/segments/segment.hpp) pages and runs hold exactly the entries before F.
//   S3  the log in storage reaches back to the oldest pending entry, and as far behind that as
//       core/segments/turns.hpp says. All its rows are full but the last. The root says where it
//       begins, and from which row on a connection that opens the filter must read.
//   S4  no function goes over all segments, with these exceptions: refresh() after another
//       connection's fold; the end of a load; an add to a set without hashes whose segment is full;
//       check(); the figures; and the functions that export or replace the whole filter. These open
//       one segment at a time, and new segments stay in memory until they are flushed.
//   S5  what is folded when depends on entries, statements and transactions alone, never on time or
//       on what was asked: the same calls give the same bytes.
//   S6  never a false negative: a hash added more often than removed is present, unless a hash that
//       was never added was removed and shares its cells. A remove is accepted only if the hash is
//       present.
//   S7  items() of a multiset: adds less accepted removes. When a segment is made anew, that may
//       drop removes and, where a hash counts once, copies; these are subtracted, too. Of a set:
//       the adds that did not seem present when they came.
//   S8  an operation that fails with kInvalid or kFull changed nothing, except that a segment may
//       be folded (make_room()). A failure in the middle of
//       a change poisons the filter: every call fails until forget(). When memory runs out
//       (std::bad_alloc) in a change, forget() comes next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.hpp"
#include "core/filter/bloom_filter.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/filter_blocks.hpp"
#include "core/segments/overlap.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/turns.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

class FilterFile {
 public:
  using Answer = Filter::Answer;

  // `slot` of a window: which ids its blocks have (core/segments/blocks.hpp).
  FilterFile(const FilterOptions& options, BlockStorage& storage, uint64_t slot = 0)
      : options_(options), blocks_(options_, Blocks(storage, options.block_seed(), slot)) {}
  // A filter that is never flushed, over a storage without blocks: it writes no log, so no mark
  // names what changed. settle() comes after each change, or fold_all() after several.
  struct NeverFlushed {};
  FilterFile(const FilterOptions& options, BlockStorage& storage, NeverFlushed)
      : options_(options), blocks_(options_, Blocks(storage, options.block_seed()), false) {}
  FilterFile(const FilterFile&) = delete;
  FilterFile& operator=(const FilterFile&) = delete;

  const FilterOptions& options() const noexcept { return options_; }

  // An empty filter, not flushed yet. `past`: as of FilterBlocks::create().
  Status create(uint64_t past = 0);
  // Brings memory to what is stored: keeps what is still valid, applies new entries of the log,
  // drops the rest. Cheap when nothing changed. While something is pending it does nothing: storage
  // can't have changed then. Storage may also have what it had before, such as a backup.
  Status refresh();
  // Drops what is not flushed, after a roll-back. refresh() comes before any other call. options()
  // stay those of an import() that was rolled back: then refresh() fails, as others are stored.
  void forget() noexcept;
  bool usable() const noexcept { return blocks_.poison().current(); }

  // usable() is a precondition of all below.
  // kNotLoaded: load() it and ask again.
  [[gnu::always_inline]] Answer probe(uint64_t hash) {
    Segment* const segment = blocks_.segment_in_memory(hash);
    return segment != nullptr ? segment->probe(hash) : Answer::kNotLoaded;
  }
  Status load(uint64_t hash);
  Result<bool> load_and_probe(uint64_t hash);
  Result<uint64_t> count(uint64_t hash);

  Status insert(uint64_t hash);
  // So many occurrences at once, at most kMostCopies, by one entry of the log. kInvalid of more
  // than one where a hash counts once.
  Status insert_copies(uint64_t hash, uint64_t copies);
  // Inserts the hash unless it seems present; false then.
  Result<bool> insert_new(uint64_t hash);
  // Returns how many occurrences a remove of that hash can find. Multisets only.
  Result<uint64_t> removable(uint64_t hash);
  // Removes one occurrence; false when the hash is definitely absent. Multisets only.
  Result<bool> remove(uint64_t hash);
  // Removes so many, at most kMostCopies, or all that seem to be there when these are fewer.
  // Returns how many.
  Result<uint64_t> remove_copies(uint64_t hash, uint64_t copies);
  // What replace() does with a hash that seems present.
  enum class IfPresent : uint8_t {
    kAdd,     // it is there once more
    kLeave,   // it is left as it is
    kRefuse,  // nothing changes
  };
  enum class Replaced : uint8_t { kDone, kNoSuch, kRefused };
  // Replaces one occurrence of `from` by one of `to`. Whether `to` is present is asked without that
  // of `from`. Multisets only.
  Result<Replaced> replace(uint64_t from, uint64_t to, IfPresent if_present = IfPresent::kAdd);
  // Drops all contents; the filter is as CREATE made it.
  Status clear();

  bool pending() const noexcept { return blocks_.changed(); }
  // Writes what is pending.
  Status flush();
  // Writes to another storage what a flush would write here; it stays pending.
  Status write_pending_to(BlockStorage& storage) const;
  // Comes at the end of a transaction, before the last flush(): folds the segments whose turn it
  // was, or what a load left.
  Status finish_load();
  // Comes when a transaction has ended, behind forget() if it was rolled back.
  void committed() noexcept { turns_.begin(); }

  // --- a filter that is never flushed
  // All that came for the hash's segment is in its pages afterwards, so probe() and count() write
  // nothing until the next change.
  Status settle(uint64_t hash) { return turns_.settle(blocks_.directory().leaf_of(hash)); }
  // … for every segment.
  Status fold_all();
  // Would so many inserts at a time be a load, which is faster than as many with settle()?
  bool is_load(uint64_t inserts) const noexcept { return turns_.is_load(inserts); }
  // Which segments there are, as Directory has them. next_number() is another one when they are.
  unsigned directory_depth() const { return blocks_.directory().depth(); }
  const Directory::Leaf& leaf_of(uint64_t hash) const {
    return blocks_.directory().leaf(blocks_.directory().leaf_of(hash));
  }
  uint64_t next_number() const noexcept { return blocks_.root().next_number; }

  // --- the whole filter (core/segments/filter_file_contents.cpp, filter_file_replace.cpp)
  // Hands over all segments, or those of the chosen leaves, one at a time, ascending by prefix, as
  // they would be if nothing were pending. Nothing changes here. kInvalid when hashes are asked for
  // and it keeps none.
  Status for_each_piece(bool with_hashes, const PieceSink& sink,
                        const FilterBlocks::LeafChoice& choose = FilterBlocks::all);
  PieceRange piece_range(bool with_hashes, FilterBlocks::LeafChoice choose = FilterBlocks::all);
  // The same as for_each_piece(), with what else is known of it. The pieces are read when they are
  // asked for: before the filter changes.
  Result<Contents> contents(bool with_hashes);
  // Its hashes, ascending, each with its copies. kInvalid when it keeps none.
  Status for_each_hash(const CountedHashSink& sink);
  // Its hashes, one segment at a time. They are read when they are asked for: before the filter
  // changes. kInvalid when it keeps none.
  Result<HashReader> hash_reader();
  // Everything is replaced: contents and options, but for the size of pages. The log then
  // begins at the contents' mark. The pieces are none of this filter's own. Where each hash counts
  // once, contents without hashes are believed if they say that they are so; else they are
  // kInvalid. A failure changes nothing.
  Status import(const FilterOptions& options, const Contents& contents);
  // Adds the cells of a filter of the same kind, width and seed whose hashes are not known, with
  // the same segments. Without hashes of its own, or empty. kInvalid when the segments differ;
  // kFull of a cuckoo filter comes before any work.
  Status unite(const Contents& contents);
  // Could unite() take pieces cut like these? The text names what differs.
  Status expect_united(const Contents& contents);
  // Makes it anew from its hashes, as CREATE would make it for `capacity` keys, or for as many as
  // there are. Marks stay. kInvalid when it keeps no hashes.
  Status rebuild(uint64_t capacity);
  // Could so many items be added? kFull if not; a set says it when they are.
  Status expect_room(uint64_t items) const;

  // --- marks (core/segments/filter_file_changes.cpp)
  // The mark of what it holds now (core/segments/mark.hpp). None of a filter of pairs. That of a
  // window's generation names the older ones, too (core/segments/window_mark.hpp).
  Result<std::optional<FilterMark>> mark() const;
  // What was added and removed since then, and the segments that were made anew since; to be used
  // before the filter changes. Nothing when only the whole filter leads there: that was never its
  // mark, or its log does not go back to it.
  Result<std::optional<FilterChanges>> changes_since(const FilterMark& from);
  // The same since it was made, when it had that mark. Also where its log does not go back so far,
  // if it keeps hashes and they are shorter than an image.
  Result<std::optional<FilterChanges>> changes_since_beginning(const FilterMark& empty);
  // Returns how many adds and removes came after that mark. Nothing when its log does not go back
  // to it.
  Result<std::optional<uint64_t>> changes_behind(const FilterMark& from) const;
  // Its mark was the changes' first one and is their second one; false: it was that already.
  // kInvalid with any other: nothing was changed. Neither growth = off nor the capacity stands in
  // the way, as it becomes what another one is. One that was never flushed is of no use after a
  // failure.
  Result<bool> apply(const FilterChanges& changes);
  // Could it apply changes of that header? The text of a kInvalid names their marks and its own.
  Status expect_from(const FilterChanges& changes) const;

  // --- pairs of hashes: of a filter of kind kLegacyBloom alone, which has one segment and no
  // entries of a log (core/segments/filter_file_pairs.cpp). kFull as of other Bloom filters.
  Result<bool> contains_pair(const HashPair& pair);
  Status insert_pair(const HashPair& pair);

  // Keys of these types are among those added; they stay until clear() or import().
  void note_key_types(uint64_t types) noexcept {
    if ((types & ~blocks_.root().key_types) != 0) {
      blocks_.root().key_types |= types;
      blocks_.note_root();
    }
  }
  uint64_t key_types() const noexcept { return blocks_.root().key_types; }
  // Of the newest generation of a window: the hash of the window's block.
  void set_window_hash(uint64_t hash) noexcept {
    blocks_.root().window_hash = hash;
    blocks_.note_root();
  }
  uint64_t window_hash() const noexcept { return blocks_.root().window_hash; }
  uint64_t chain() const { return blocks_.log().chain(); }  // of all entries so far

  // --- figures (core/segments/filter_file_figures.cpp); O(segments), no page is read. Those of
  // cells leave out what is pending.
  double target_rate() const noexcept;
  double rate_now() const;
  double load_factor() const;
  // Of a key: of the largest segment (Filter::places_per_key(), fingerprint_bits()).
  uint32_t places_per_key() const;
  double fingerprint_bits() const;
  uint64_t made_for() const;              // so many keys; more than capacity() when it grew
  uint64_t bits() const;                  // of all cells
  uint64_t least_image_bytes() const;     // of an image without hashes
  uint64_t log_entries() const noexcept;  // in storage
  uint64_t stored_bytes() const;          // of all blocks, about

  uint64_t items() const { return blocks_.items(); }
  // Returns a hash of all that ever happened to it. Nothing is pending.
  uint64_t history() const;
  bool poisoned() const noexcept { return blocks_.poison().poisoned(); }
  bool multiset() const noexcept { return options_.multiset(); }
  // What was asked for. One that grew is made for more keys: made_for().
  uint64_t capacity() const noexcept { return blocks_.root().capacity; }
  bool keeps_hashes() const noexcept { return blocks_.keeps_hashes(); }
  size_t segments() const noexcept { return blocks_.directory().size(); }
  uint64_t turn_entries() const noexcept { return blocks_.turn_entries(); }
  size_t memory_bytes() const;

  // Reads everything in storage and checks every invariant. Then compares memory with it. Nothing
  // may be pending. Memory is neither believed nor changed. `memory`: that of another file, which
  // would leave this storage if it were flushed.
  Status check() const { return check(*this); }
  Status check(const FilterFile& memory) const;

 private:
  // Can it hold contents of that mark? With unique = on each hash must be there once.
  bool can_have(const FilterMark& mark, bool unique) const noexcept;
  FilterChanges changes_of(const FilterMark& from, const FilterMark& to, EntryList entries);
  uint64_t least_piece_bytes(const FilterBlocks::LeafChoice& choose) const;
  uint64_t most_items() const noexcept;
  uint64_t made_for(const Directory::Leaf& leaf) const;
  Status poison_error() const { return blocks_.poison().error(); }
  Status add(uint64_t hash, uint64_t copies = 1);
  bool share_cells(uint64_t a, uint64_t b);  // both are loaded
  Result<uint64_t> take_away(uint64_t hash, uint64_t copies = 1);
  void append(uint64_t entry, uint64_t copies);
  bool may_wait();
  Status make_room(uint64_t hash);
  bool most_are_full() const;
  Status full_error(uint64_t more = 1) const;
  Status more_than_fit(uint64_t items) const;

  Status for_each_merged(const std::function<Status(std::span<const NetHash> entries)>& visit);
  Status expect_united(const Piece& piece) const;
  Result<uint64_t> needed_at_most(uint64_t capacity);

  FilterOptions options_;
  FilterBlocks blocks_;
  Turns turns_{blocks_};
};

}  // namespace cuckoo::segments
