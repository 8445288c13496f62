// The blocks of a filter, and what memory knows of them: the root, the directory with its segments,
// the log and the marks; and which of them a flush has to write. When something is changed or
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
//   I3  every block in storage belongs to the root, the directory, a segment that has a header, the
//       log from its first row on, or the marks.
//   I4  append() only writes an entry to the log. The last undealt_ entries there are dealt to
//       their segments, in their order, before anything sees the directory. So a load only writes
//       one entry behind the other, and what is in the segments follows from the log alone.
//   I5  items() are those of the filter as it is now. For an add that is not counted yet, its
//       segment knows whether the hash was present before. settle() asks all such segments.
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
#include "core/segments/log.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/segment_limits.hpp"
#include "core/segments/segment_maker.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

class NewSegments;

class FilterBlocks {
 public:
  // The options must stay where they are.
  FilterBlocks(const FilterOptions& options, const Blocks& storage)
      : options_(&options), storage_(storage), directory_(options), log_(options) {}

  const FilterOptions& options() const noexcept { return *options_; }
  const Blocks& storage() const noexcept { return storage_; }
  Status poll() const { return storage_.poll(); }
  const SegmentLimits& limits() const noexcept { return limits_; }
  const Root& root() const noexcept { return root_; }
  Root& root() noexcept { return root_; }
  // All that is in the log is dealt to the segments first (I4).
  const Directory& directory() const {
    deal();
    return directory_;
  }
  Directory& directory() {
    deal();
    return directory_;
  }
  size_t leaves() const noexcept { return directory_.size(); }  // nothing is dealt for it
  uint64_t pending_entries() const noexcept { return directory_.pending_entries() + undealt_; }
  uint64_t turn_entries() const noexcept;  // T of segments like these (turn_entries_of())
  bool keeps_hashes() const noexcept { return options_->growth && root_.hashless == 0; }
  const Log& log() const noexcept { return log_; }
  Log& log() noexcept { return log_; }

  // Makes the first root, directory and log. Nothing is stored yet. A generation of a window names
  // by `past` what the window held before, so that its log has a chain of its own. 0: nothing.
  Status create(uint64_t past = 0);
  bool stored() const noexcept { return root_stored_; }
  // Brings memory to what is stored. `known`: memory was what was stored once. The new entries of
  // the log are pending then. After a failure nothing is known.
  Status follow(bool known);
  // Drops what is not written.
  void forget() noexcept;

  // --- entries
  // An entry of a hash that pends from now on.
  void append(uint64_t entry) {
    log_.append(entry);
    ++undealt_;
    changed_ = true;
    if (!options_->multiset()) {
      deal(Counted::kYes);  // those of a set that are not dealt yet are not counted
    }
  }
  // One of so many copies, at most kMostCopies. Multisets only.
  void append(uint64_t entry, uint64_t copies) {
    log_.append(entry, copies);
    ++undealt_;
    changed_ = true;
  }
  // An add to a set, which is not counted yet (I5).
  Status append_uncounted(uint64_t hash);
  uint64_t items() const {
    if (uncounted_ > 0) {
      settle();
    }
    return items_;
  }
  // Returns the items if all uncounted adds were of new ones.
  uint64_t most_items() const noexcept { return items_ + uncounted_; }
  void settle() const;
  void settle(Segment& segment) const noexcept { items_ += segment.settle(); }
  void set_items(uint64_t items) noexcept { items_ = items; }  // all are counted
  // So many more than now, or fewer.
  void add_items(int64_t more) noexcept { items_ += static_cast<uint64_t>(more); }
  // Its segment, if it is in memory and has all of its entries.
  [[gnu::always_inline]] Segment* segment_in_memory(uint64_t hash) const noexcept {
    return undealt_ == 0 ? directory_.segment_of(hash) : nullptr;
  }

  // --- segments
  // Returns that of a leaf; opens or makes it if it is not in memory.
  Result<Segment*> segment(size_t index);
  Result<Segment*> segment_of(uint64_t hash) { return segment(directory().leaf_of(hash)); }
  // Visits those of the chosen leaves, ascending by prefix. One that is not in memory is opened for
  // the visit alone.
  using LeafChoice = std::function<bool(const Directory::Leaf& leaf)>;
  using SegmentVisitor = std::function<Status(Segment& segment)>;
  Status visit_segments(const LeafChoice& choose, const SegmentVisitor& visit);
  Status visit_segment(const Directory::Leaf& leaf, const SegmentVisitor& visit);
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
  // Makes the segments that come next. The options and the log are those of this filter.
  SegmentMaker maker(const SegmentLimits& limits, bool keeps_hashes) const {
    return {options_,
            limits,
            keeps_hashes,
            root_.next_number,
            log_.position(),
            root_.directory_version,
            [this] { return poll(); }};
  }
  // Splits the leaf as Directory::split() does. The blocks of its segment are to be erased.
  std::vector<size_t> split(size_t index, unsigned bits);
  // The leaf's segment is this one from now on, which is new: its number was the next one.
  void put(size_t index, std::unique_ptr<Segment> segment) {
    note_segment(index);
    root_.next_number = segment->header().number + 1;
    directory_.leaf(index).segment = std::move(segment);
  }
  // The log begins here: what came before is not pending, and not asked for any more.
  void begin_log() noexcept;
  // The contents are others, and come from nowhere: the log's chain changes by `with`, and no mark
  // holds any more.
  void stir(uint64_t with);
  // The filter is as create() makes it for these limits. Numbers of segments and rows of the log go
  // on, so that other connections see that it changed.
  void clear(const SegmentLimits& limits);
  // These options, which stay where the old ones were, are those of all that comes: checksums, log.
  void note_options();
  // These are the segments from here on.
  void replace(NewSegments& next, uint64_t capacity);
  // Where in the log the marks of other filters hold.
  Result<MarkedPlaces> places() const;
  void set_places(MarkedPlaces places);

  // --- writing
  struct Written {
    Root root;
    Directory::NewHeaders headers;
    std::vector<uint64_t> new_pages;  // of the directory
    Log::LastRow log;
  };
  // Writes to that storage, this filter's or another one, all that is not written yet. Of the log
  // it keeps the last `kept` entries, or more.
  Status write_to(const Blocks& storage, uint64_t kept, Written& written) const;
  void note_written(Written&& written);

  // Returns the first row of the log in storage.
  uint64_t stored_first_row() const noexcept { return stored_first_row_; }
  // Checks the whole log, also what follow() did not read (S3), and the marks. Nothing is pending.
  Status check() const;

 private:
  Result<std::unique_ptr<Segment>> opened(const Directory::Leaf& leaf) const;
  Result<bool> read_directory(
      uint64_t known);  // as Directory::read(), of the entries before `known`
  void take(uint64_t position, uint64_t entry, uint64_t copies);
  enum class Counted : bool { kNo, kYes };
  void deal(Counted counted = Counted::kNo) const {
    if (undealt_ > 0) {
      deal_all(counted);
    }
  }
  void deal_all(Counted counted) const;
  uint64_t first_undealt() const noexcept { return log_.position() - undealt_; }
  void expect() const;
  void drop_undealt() noexcept {
    undealt_ = uncounted_ = 0;
    waiting_.clear();
  }
  void pend(size_t index, uint64_t position, uint64_t entry, uint64_t copies) const;
  Root root_of_cut_log(uint64_t kept) const noexcept;
  Status erase_replaced(const Blocks& storage) const;
  Status write_directory(const Blocks& storage, Written& written) const;
  Status write_root(const Blocks& storage, uint64_t kept, Written& written) const;
  Status check_log() const;

  const FilterOptions* options_;
  Blocks storage_;
  SegmentLimits limits_;
  Root root_;
  mutable Directory directory_;  // deal()
  Log log_;
  mutable uint64_t undealt_ = 0;         // of the log's last entries
  mutable std::vector<size_t> waiting_;  // leaves with uncounted adds, or that had some
  mutable uint64_t items_ = 0;           // without uncounted ones
  mutable uint64_t uncounted_ = 0;       // adds, or more: those of a segment that was settled alone
  // What is in storage.
  bool root_stored_ = false;
  bool places_stored_ = false;
  uint64_t stored_first_row_ = 0;  // root_ may be ahead of it
  // What is to be written.
  bool changed_ = false;
  bool root_changed_ = false;           // more of it than entries of the log
  std::vector<size_t> touched_;         // leaves with segments that changed
  std::vector<uint64_t> replaced_;      // numbers of segments whose blocks are to be erased
  bool all_replaced_ = false;           // … and of all others, and the directory's blocks
  bool cleared_ = false;                // … and the marks
  std::optional<MarkedPlaces> places_;  // that are not written
};

// Returns what segments of a filter of these options are for that capacity.
Result<SegmentLimits> limits_for(FilterOptions options, uint64_t capacity);

}  // namespace cuckoo::segments
