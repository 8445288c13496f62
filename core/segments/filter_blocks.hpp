// The blocks of a filter, and what memory knows of them: the root, the directory with its segments,
// the log; and which of them a flush has to write. When something is changed or
// folded is decided in core/segments/turns.hpp.
//
// What a flush writes:
//   entries alone           the last row of the log, and the rows behind it
//   a segment was folded    its dirty pages, its new run and its page of the directory; the root;
//                           the rows of the log that nobody needs any more are erased
//   all was replaced        the same of each segment; the blocks of the old ones are erased
//
// Invariants
//   S1  (core/segments/directory.hpp) the segments' prefixes partition the hash space.
//   S3  all rows of the log are full but the last. The root says where the log begins, and from
//       which row on a connection that opens the filter must read.
//   I1  the newest row of the log has the root's directory version: so one row tells a connection
//       whether it must read the directory again. The version is a hash of the headers and of the
//       root, and of the version before. So if two ways on from one state store different headers
//       or roots, their versions differ. For example, storage goes back to before a 'resize', and
//       another connection resizes the filter to another capacity.
//   I2  write_to() changes nothing in memory; note_written() follows when all of it is stored. What
//       it does not write is stored already, as it is in memory.
//   I3  every block in storage belongs to the root, the directory, a segment that has a header, or
//       the log from its first row on.
//   I4  the list of a leaf (core/segments/directory.hpp) has the entries of the log from its F on
//       that have its prefix, in their order. Nothing else tells what pends there.
//   I5  items() are those of the filter as it is now. In a set an add counts when it is applied:
//       only its segment knows whether the hash was present. The first `counted` entries of a leaf
//       are counted; all leaves with further ones are in uncounted_, and all their pages are in
//       memory. Its length is bounded by the number of leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/log.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/segment_limits.hpp"
#include "core/segments/segment_maker.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/poison.hpp"

namespace cuckoo::segments {

class NewSegments;

class FilterBlocks {
 public:
  // `options` must stay where they are. `logged`: the log is written. If not, the filter is never
  // flushed.
  FilterBlocks(const FilterOptions& options, const Blocks& storage, bool logged = true)
      : options_(&options),
        storage_(storage),
        logged_(logged),
        directory_(options),
        log_(options) {}

  const FilterOptions& options() const noexcept { return *options_; }
  const Blocks& storage() const noexcept { return storage_; }
  Status poll() const { return storage_.poll(); }
  const SegmentLimits& limits() const noexcept { return limits_; }
  const Root& root() const noexcept { return root_; }
  Root& root() noexcept { return root_; }
  Poison& poison() const noexcept { return poison_; }
  const Directory& directory() const noexcept { return directory_; }
  Directory& directory() noexcept { return directory_; }
  uint64_t turn_entries() const noexcept;  // T of segments like these (turn_entries_of())
  bool keeps_hashes() const noexcept { return options_->growth && root_.hashless == 0; }
  const Log& log() const noexcept { return log_; }
  Log& log() noexcept { return log_; }

  // Makes the first root, directory and log. Nothing is stored yet. A generation of a window names
  // by `past` what the window held before, so that its log has a chain of its own. 0: nothing.
  Status create(uint64_t past = 0);
  bool stored() const noexcept { return root_stored_; }
  bool logged() const noexcept { return logged_; }
  // Brings memory to what is stored. `known`: memory was what was stored once. The new entries of
  // the log are in the lists then. After a failure nothing is known.
  Status follow(bool known);
  // Drops what is not written.
  void forget() noexcept;

  // --- entries
  // Appends an entry of so many copies, at most kMostCopies, to the log and to its leaf's list. The
  // add to a set is not counted yet: expect_add() came before.
  void append(uint64_t entry, uint64_t copies = 1);
  // Comes before an add to a set.
  Status expect_add(uint64_t hash);
  uint64_t items() const {
    if (!uncounted_.empty() && !count_all(Polls::kNo).ok()) {
      poison_.poison();  // without that number nothing may be written
    }
    return items_;
  }
  enum class Polls : bool { kNo, kYes };
  Status count_all(Polls polls = Polls::kYes) const;  // after it, items() does nothing else
  // Returns the items if all adds that are not counted yet were of new ones.
  uint64_t most_items() const noexcept { return items_ + uncounted_adds_; }
  void set_items(uint64_t items) noexcept { items_ = items; }  // all are counted
  // So many more than now, or fewer.
  void add_items(int64_t more) noexcept { items_ += static_cast<uint64_t>(more); }
  // Its segment, if it is in memory and all of its entries are applied.
  [[gnu::always_inline]] Segment* segment_in_memory(uint64_t hash) const noexcept {
    const Directory::Leaf& leaf = directory_.leaf(directory_.leaf_of(hash));
    return leaf.is_current() ? leaf.segment.get() : nullptr;
  }

  // --- segments
  // Returns that of a leaf; opens or makes it if it is not in memory.
  Result<Segment*> segment(size_t index) const;
  // … with all of its list applied. After a failure a part of the list is applied, or the segment
  // is out of memory, or the filter is poisoned.
  Result<Segment*> current(size_t index, Polls polls = Polls::kYes) const;
  Result<Segment*> current_of(uint64_t hash) const { return current(directory_.leaf_of(hash)); }
  // Counts all of the list of a set's leaf, though it may outgrow its segment by far.
  Status count(size_t index) const;
  // Applies all lists.
  Status apply_all() const;
  // Visits those of the chosen leaves, with their lists, ascending by prefix. One that is not in
  // memory is opened for the visit alone.
  using LeafChoice = std::function<bool(const Directory::Leaf& leaf)>;
  using SegmentVisitor = std::function<Status(Segment& segment, const EntryList& list)>;
  enum class Lists : bool { kAsTheyAre, kApplied };
  Status visit_segments(Lists lists, const LeafChoice& choose, const SegmentVisitor& visit) const;
  Status visit_segment(Lists lists, size_t index, const SegmentVisitor& visit) const;
  static bool all(const Directory::Leaf&) noexcept { return true; }
  static bool filled(const Directory::Leaf& leaf) noexcept { return !leaf.untouched(); }
  GeometryWords geometry_of(const Directory::Leaf& leaf) const noexcept {
    return leaf.segment != nullptr    ? leaf.segment->filter().words()
           : leaf.header->number != 0 ? leaf.header->geometry()
                                      : limits_.words;
  }

  // --- changes; each is noted before it is made
  bool changed() const noexcept { return changed_; }  // something is not written
  void note_change() noexcept { changed_ = true; }
  void note_root() noexcept { changed_ = root_changed_ = true; }
  void note_segment(size_t index) {
    if (!directory_.leaf(index).touched) {
      touched_.push_back(index);
      directory_.leaf(index).touched = true;
    }
    note_root();
  }
  // Makes the segments that come next. The options are those of this filter; the log gets to that
  // position, or is there.
  SegmentMaker maker(const SegmentLimits& limits, bool keeps_hashes) const {
    return maker(limits, keeps_hashes, log_.position());
  }
  SegmentMaker maker(const SegmentLimits& limits, bool keeps_hashes, uint64_t position) const {
    return {options_,
            limits,
            keeps_hashes,
            root_.next_number,
            position,
            root_.directory_version,
            [this] { return poll(); }};
  }
  // Splits the leaf as Directory::split() does. The blocks of its segment are to be erased.
  std::vector<size_t> split(size_t index, unsigned bits);
  // The leaf's segment, which was never folded, gets the next number.
  Status give_number(size_t index);
  // The leaf's segment is this one from now on, which is new: its number was the next one.
  void put(size_t index, std::unique_ptr<Segment> segment) {
    note_segment(index);
    root_.next_number = segment->header().number + 1;
    directory_.leaf(index).segment = std::move(segment);
  }
  // The log begins here: what came before is not pending, and not asked for any more.
  void begin_log() noexcept;
  // … goes on from that place, as the log of another filter.
  void begin_log(const LogPlace& place);
  // The contents are others: the log goes on from that place, and all segments are to be replaced.
  void begin_anew(const LogPlace& place);
  // … that no log ever came to: the chain value changes by `with`.
  void stir(uint64_t with) { begin_anew({log_.position(), chain_with(log_.chain(), with)}); }
  // The filter is as create() makes it for these limits. Numbers of segments and rows of the log go
  // on, so that other connections see that it changed.
  void clear(const SegmentLimits& limits);
  // These options, which stay where the old ones were, are those of all that comes: checksums, log.
  void note_options();
  // These are the segments from here on.
  void replace(NewSegments& next, uint64_t capacity);
  // --- writing
  struct Written {
    Root root;
    Directory::WrittenLeaves leaves;
    std::vector<std::pair<uint64_t, uint64_t>> pages;  // of the directory, and their hashes
    Log::LastRow log;
  };
  // Writes to that storage, this filter's or another one, all that is not written yet. Of the log
  // it keeps the last `kept` entries, or more. count_all() came before.
  Status write_to(const Blocks& storage, uint64_t kept, Written& written) const;
  void note_written(Written&& written);

  // Returns the first row of the log in storage.
  uint64_t stored_first_row() const noexcept { return stored_first_row_; }
  // Checks the whole log, also what follow() did not read (S3). Nothing is pending.
  Status check() const;

 private:
  Result<std::unique_ptr<Segment>> opened(const Directory::Leaf& leaf) const;
  Result<bool> read_directory(
      uint64_t known);  // as Directory::read(), of the entries before `known`
  void keep_what_stays(const std::vector<EntryList>& before) noexcept;
  Segment::Applying applying(bool stops = false) const noexcept {
    return {keeps_hashes(), logged_, stops};
  }
  Status apply_list(Directory::Leaf& leaf, size_t end, Polls polls, bool stops = false) const;
  void note_uncounted(size_t index);
  void drop_uncounted() const noexcept {
    uncounted_.clear();
    uncounted_adds_ = 0;
  }
  Root root_of_cut_log(uint64_t kept) const noexcept;
  Status erase_replaced(const Blocks& storage) const;
  Status write_directory(const Blocks& storage, Written& written) const;
  Status write_root(const Blocks& storage, uint64_t kept, Written& written) const;
  const FilterOptions* options_;
  Blocks storage_;
  SegmentLimits limits_;
  Root root_;
  bool logged_;
  // Applying a list changes nothing that is stored, so a const function may do it.
  mutable Directory directory_;
  Log log_;
  mutable Poison poison_;
  mutable uint64_t items_ = 0;             // that are counted
  mutable std::vector<size_t> uncounted_;  // I5; they may have been counted since
  mutable uint64_t uncounted_adds_ = 0;    // in these leaves, or more
  // What is in storage.
  bool root_stored_ = false;
  uint64_t stored_first_row_ = 0;  // root_ may be ahead of it
  // What is to be written.
  bool changed_ = false;
  bool root_changed_ = false;       // more of it than entries of the log
  std::vector<size_t> touched_;     // leaves with segments that changed
  std::vector<uint64_t> replaced_;  // numbers of segments whose blocks are to be erased
  bool all_replaced_ = false;       // … and of all others, and the directory's blocks
};

// Returns what segments of a filter of these options are for that capacity.
Result<SegmentLimits> limits_for(FilterOptions options, uint64_t capacity);

}  // namespace cuckoo::segments
