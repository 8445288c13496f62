// FilterFile: all segments are replaced at once, by contents from outside (import), by these and
// its own (unite), or by its own cut anew (rebuild). The new ones are made beside the old ones,
// which nothing touches until all are there: so a failure changes nothing (S8).
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/filter/cell_layout.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/decide.hpp"
#include "core/segments/filter_file.hpp"
#include "core/stored/log.hpp"

namespace cuckoo::segments {
namespace {

constexpr unsigned kSpaceBits = kMaxDepth;  // the hash space is 2^kSpaceBits units

}  // namespace

// --- segments that are to replace all others -----------------------------------------------------

Status FilterFile::begin(Replacement& next, uint64_t capacity, bool keeps_hashes) const {
  CUCKOO_ASSIGN_OR_RETURN(next.limits, limits_for(capacity));
  next.capacity = capacity;
  next.next_number = root_.next_number;
  next.position = log_.position();
  next.keeps_hashes = keeps_hashes;
  return {};
}

// S1. Each leaf begins where the one before it ends.
Status FilterFile::cover(Replacement& next, uint64_t prefix, unsigned depth) {
  constexpr uint64_t kSpace = uint64_t{1} << kSpaceBits;
  if (depth > kMaxDepth || next.covered == kSpace || prefix != next.covered << (64 - kSpaceBits) ||
      next.covered % (kSpace >> depth) != 0) {
    return invalid("segments whose prefixes do not follow one another");
  }
  next.covered += kSpace >> depth;
  next.least_depth = std::min(next.least_depth, depth);
  return {};
}

// Without a segment: it is one that was never folded, of the capacity of a share.
Status FilterFile::add_leaf(Replacement& next, uint64_t prefix, unsigned depth,
                            std::unique_ptr<Segment> segment) const {
  CUCKOO_TRY(cover(next, prefix, depth));
  Directory::Leaf leaf;
  leaf.prefix = prefix;
  leaf.depth = depth;
  if (segment != nullptr) {
    ++next.next_number;
    next.items += segment->header().items;
    next.holds = next.holds || !segment->untouched();
    next.id = log_chain_restart(next.id, segment->header().base_id);
    if (next.items > kMaxHashCount) {
      return invalid("segments of more than 2^62 items");
    }
    leaf.segment = std::move(segment);
  }
  next.leaves.push_back(std::move(leaf));
  return blocks_.poll();
}

// Nothing is in it, and CREATE would make just the same.
bool FilterFile::is_share(const Piece& piece, const SegmentLimits& limits) {
  return piece.depth == limits.depth && piece.capacity == limits.share && piece.items == 0 &&
         piece.filter->occupied() == 0 && piece.filter->overflow().empty() &&
         piece.filter->words() == limits.words;
}

// Where a hash counts once, it is made of its hashes again if one counts more often.
Status FilterFile::count_once(Piece& piece) const {
  const auto is_one = [](const NetHash& entry) { return entry.net == 1; };
  if (std::all_of(piece.hashes.begin(), piece.hashes.end(), is_one)) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Filter> filter,
      make_filter(options_.spec.kind, piece.filter->words(), options_.page_bytes));
  filter->pages().complete();
  const std::unique_ptr<FilterBuilder> builder =
      filter->builder(piece.hashes.size(), Filter::Digest::kNone);
  for (NetHash& entry : piece.hashes) {
    entry.net = 1;
    builder->insert(entry.hash << piece.depth, 1);
  }
  builder->finish();
  piece.items = piece.hashes.size();
  piece.filter = std::move(filter);
  return {};
}

Status FilterFile::take_piece(Replacement& next, Piece&& piece) const {
  if (piece.filter == nullptr || piece.filter->kind() != options_.spec.kind) {
    return invalid("a filter of another kind");
  }
  const uint64_t prefix = piece.prefix;
  const unsigned depth = piece.depth;
  if (is_share(piece, next.limits)) {
    return add_leaf(next, prefix, depth, nullptr);
  }
  if (options_.multiset() && options_.unique) {
    if (piece.hashes.empty() && piece.items > 0) {
      return invalid("unique = on takes no contents without hashes, whose copies nobody can tell");
    }
    CUCKOO_TRY(count_once(piece));
  }
  CUCKOO_TRY(expect_numbers(next.next_number, 1));
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                          Segment::adopt(options_, std::move(piece), next.next_number,
                                         next.position, next.keeps_hashes));
  return add_leaf(next, prefix, depth, std::move(made));
}

// Makes the directory of them. The first leaf of each share has the slot that it would have in a
// filter that was just made. So those without a segment need no header. If some are larger than a
// share, all need one.
Status FilterFile::arrange(Replacement& next) const {
  if (next.covered != uint64_t{1} << kSpaceBits) {
    return invalid("segments whose prefixes do not cover all hashes");
  }
  next.first_depth = next.least_depth >= next.limits.depth ? next.limits.depth : 0;
  std::vector<Directory::Leaf> slots;
  std::vector<Directory::Leaf> others;
  for (Directory::Leaf& leaf : next.leaves) {
    if (leaf.segment == nullptr && next.first_depth != next.limits.depth) {
      CUCKOO_TRY(expect_numbers(next.next_number, 1));
      CUCKOO_ASSIGN_OR_RETURN(leaf.segment, Segment::make(options_, leaf.prefix, leaf.depth,
                                                          next.next_number++, next.limits.share));
    }
    const bool first = next.first_depth == 0 ? slots.empty() : leaf.prefix << next.first_depth == 0;
    (first || next.first_depth == 0 ? slots : others).push_back(std::move(leaf));
  }
  next.leaves.clear();
  slots.insert(slots.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return next.directory.assign(std::move(slots));
}

// They are the filter from here on. What it says of itself in root_ is the caller's.
void FilterFile::replace_all(Replacement& next) {
  directory_ = std::move(next.directory);
  touched_.clear();
  erased_.clear();
  for (size_t i = 0; i < directory_.size(); ++i) {
    if (directory_.leaf(i).segment != nullptr) {
      touch(i);
    }
  }
  root_.next_number = next.next_number;
  root_.first_depth = next.first_depth;
  root_.leaves = directory_.size();
  root_.capacity = next.capacity;
  limits_ = next.limits;
  root_.pages = root_.page_index_sum = 0;
  unfolded_ = 0;
  changed_ = layout_changed_ = replaced_ = true;
  root_.folded_to = next.position;
  set_turns();
}

// --- contents from outside -----------------------------------------------------------------------

Status FilterFile::check_import(const FilterOptions& options, const Contents& contents) const {
  CUCKOO_TRY(options.check());
  CUCKOO_TRY(check_capacity(contents.capacity));
  if (contents.items > kMaxHashCount || contents.key_types > 15) {
    return invalid("contents of " + std::to_string(contents.items) + " items and key types " +
                   std::to_string(contents.key_types) + ", expected at most 2^62 and 15");
  }
  if (options.page_bytes != options_.page_bytes) {
    return invalid("pages of " + std::to_string(options.page_bytes) + " bytes, expected " +
                   std::to_string(options_.page_bytes));
  }
  return {};
}

Status FilterFile::import(const FilterOptions& options, const Contents& contents) {
  CUCKOO_TRY(poison_.error());
  CUCKOO_TRY(check_import(options, contents));
  // New segments are made by the new options, and refer to options_ later.
  struct Restore {
    FilterOptions& options;
    FilterOptions before;
    bool done = false;
    ~Restore() {
      if (!done) {
        options = before;
      }
    }
  } restore{options_, options_};
  options_ = options;
  Replacement next(options_);
  CUCKOO_TRY(begin(next, contents.capacity, options.growth && contents.with_hashes));
  CUCKOO_TRY(contents.pieces([&](Piece&& piece) { return take_piece(next, std::move(piece)); }));
  CUCKOO_TRY(arrange(next));
  const bool once = options_.multiset() && options_.unique;
  if (options_.multiset() && !once && next.items != contents.items) {
    return invalid("segments of " + std::to_string(next.items) + " items, expected " +
                   std::to_string(contents.items));
  }
  restore.done = true;
  return poison_.changing([&]() -> Status {
    blocks_ = blocks_.with_seed(options_.seed);
    log_.stir(log_chain_restart(options_.digest, next.id));
    Log log(options_);
    log.start(log_.row(), log_.position(), log_.chain());
    log_ = std::move(log);
    Root root;
    root.options_digest = options_.digest;
    root.directory_version = root_.directory_version;
    root.key_types = contents.key_types;
    root.hashless = options_.growth && !next.keeps_hashes && next.holds ? 1 : 0;
    root_ = root;
    new_places_.reset();
    begin_log();
    items_ = options_.multiset() ? next.items : contents.items;
    cleared_ = true;
    replace_all(next);
    return contents.mark ? take_mark(*contents.mark) : Status();
  });
}

// --- contents without hashes beside its own ------------------------------------------------------

Status FilterFile::expect_united(const Piece& piece) const {
  const std::string by_hashes =
      "; filters of different geometry can be merged by their hashes only";
  if (piece.filter == nullptr || piece.filter->kind() != options_.spec.kind) {
    return invalid("a filter of another kind");
  }
  const Directory::Leaf& leaf = directory_.leaf(directory_.leaf_of(piece.prefix));
  if (leaf.prefix != piece.prefix || leaf.depth != piece.depth) {
    return invalid("a segment of " + std::to_string(piece.depth) + " bits of the hash, expected " +
                   std::to_string(leaf.depth) + by_hashes);
  }
  const GeometryWords words = leaf.segment != nullptr   ? leaf.segment->filter().words()
                              : leaf.header.number != 0 ? leaf.header.geometry()
                                                        : limits_.words;
  if (piece.filter->words() != words) {
    return invalid(
        "a segment for " + std::to_string(piece.capacity) + " keys, expected one for " +
        std::to_string(leaf.current().number != 0 ? leaf.current().capacity : limits_.share) +
        " and of the same geometry" + by_hashes);
  }
  return {};
}

Status FilterFile::expect_united(const Contents& contents) {
  CUCKOO_TRY(poison_.error());
  size_t pieces = 0;
  CUCKOO_TRY(contents.pieces([&](Piece&& piece) -> Status {
    ++pieces;
    return expect_united(piece);
  }));
  return pieces == directory_.size()
             ? Status()
             : invalid(std::to_string(pieces) + " segments, expected " +
                       std::to_string(directory_.size()) +
                       "; filters of different geometry can be merged by their hashes only");
}

// A segment may hold more than its capacity by chance, if the whole doesn't. So a union whose cells
// say "too many" in half of the segments is one of too many keys: a segment's capacity is above its
// share.
Status FilterFile::unite(const Contents& contents) {
  CUCKOO_TRY(poison_.error());
  if (keeps_hashes() && items_ > 0) {
    return invalid(
        "what comes without hashes can be merged into an empty filter only, or into one"
        " with growth = off");
  }
  const bool slots = traits_of(options_.spec.kind).slot_per_item;
  if (slots && (contents.items > root_.capacity || items_ > root_.capacity - contents.items)) {
    return more_than_fit(contents.items);  // now, not after a search for places that there aren't
  }
  CUCKOO_TRY(expect_united(contents));
  const Poll poll = [this] { return blocks_.poll(); };
  Replacement next(options_);
  CUCKOO_TRY(begin(next, root_.capacity, false));
  uint64_t overfull = 0;
  CUCKOO_TRY(contents.pieces([&](Piece&& theirs) -> Status {
    CUCKOO_TRY(expect_united(theirs));
    const Directory::Leaf& leaf = directory_.leaf(directory_.leaf_of(theirs.prefix));
    std::unique_ptr<Segment> made;
    if (leaf.segment == nullptr) {
      CUCKOO_ASSIGN_OR_RETURN(made, opened(leaf));
    }
    Segment& own = made != nullptr ? *made : *leaf.segment;
    CUCKOO_ASSIGN_OR_RETURN(Piece piece, own.piece(blocks_, false, false, limits_.keys));
    CUCKOO_ASSIGN_OR_RETURN(const std::unique_ptr<Filter> other,
                            in_pages_of(options_.page_bytes, std::move(theirs.filter)));
    CUCKOO_TRY(piece.filter->unite(*other, poll));
    piece.items = piece.filter->united_items(piece.items, theirs.items, piece.capacity);
    overfull += !slots && piece.filter->overfull(piece.items, piece.capacity) ? 1 : 0;
    return take_piece(next, std::move(piece));
  }));
  if (2 * overfull > next.leaves.size()) {
    return more_than_fit(contents.items);
  }
  CUCKOO_TRY(arrange(next));
  // Of a set the cells give an estimate.
  const uint64_t most = std::max({items_, contents.items, root_.capacity});
  const uint64_t items = options_.multiset() ? next.items : std::min(next.items, most);
  return poison_.changing([&]() -> Status {
    log_.stir(next.id);
    begin_log();
    new_places_.reset();
    root_.places = 0;
    root_.hashless = options_.growth && next.holds ? 1 : 0;
    root_.key_types |= contents.key_types;
    items_ = items;
    cleared_ = true;
    replace_all(next);
    return {};
  });
}

// --- its own contents, cut anew ------------------------------------------------------------------

// Returns for how many keys it must be made at least, or a number that is no more than `capacity`:
// the headers tell most, and only if they leave doubt the hashes are read for it.
Result<uint64_t> FilterFile::needed_at_most(uint64_t capacity) {
  uint64_t most = 0;
  for (size_t i = 0; i < directory_.size(); ++i) {
    const SegmentHeader& header = directory_.leaf(i).current();
    most += header.items + header.dead + directory_.leaf(i).pending_entries();
  }
  if (most <= capacity) {
    return most;
  }
  uint64_t needed = 0;
  CUCKOO_TRY(visit_segments([&](Segment& segment) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries, segment.merged(blocks_));
    needed += needed_for(entries, traits_of(options_.spec.kind).slot_per_item);
    return {};
  }));
  return needed;
}

// All hashes of a share. More than it has room for come in by chance, or because they were chosen:
// then it gets larger, or is cut further.
Status FilterFile::cut_piece(Replacement& next, uint64_t prefix,
                             std::span<const NetHash> entries) const {
  if (entries.empty()) {
    return add_leaf(next, prefix, next.limits.depth, nullptr);
  }
  const bool slots = traits_of(options_.spec.kind).slot_per_item;
  const uint64_t all = needed_for(entries, slots);
  const bool grows = all > next.limits.share;
  constexpr unsigned kMostBits = 6;  // I1 of the directory
  const unsigned bits = std::min(
      {grows ? bits_to_split(all, next.limits.keys) : 0, kMostBits, kMaxDepth - next.limits.depth});
  const unsigned depth = next.limits.depth + bits;
  for (uint64_t i = 0; i < uint64_t{1} << bits; ++i) {
    const uint64_t first = depth == 0 ? 0 : prefix | i << (64 - depth);
    const uint64_t last = depth == 0 ? ~uint64_t{0} : first | ~uint64_t{0} >> depth;
    const auto ends =
        std::partition_point(entries.begin(), entries.end(),
                             [last](const NetHash& entry) { return entry.hash <= last; });
    const auto part = entries.first(static_cast<size_t>(ends - entries.begin()));
    entries = entries.subspan(part.size());
    const uint64_t capacity =
        grows ? remade_capacity(needed_for(part, slots), next.limits.keys) : next.limits.share;
    CUCKOO_TRY(expect_numbers(next.next_number, 1));
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                            Segment::make(options_, first, depth, next.next_number, capacity));
    made->become(part, next.position, root_.directory_version, items_of(part, options_.multiset()),
                 true);
    CUCKOO_TRY(add_leaf(next, first, depth, std::move(made)));
  }
  return {};
}

// Old segments come in the order of their hashes, and so do the shares of the new layout.
Status FilterFile::rebuild(uint64_t capacity) {
  CUCKOO_TRY(poison_.error());
  if (!keeps_hashes()) {
    return invalid(options_.growth
                       ? "its contents came without hashes to rebuild from; 'clear' begins anew"
                       : "needs the hashes that only growth = on keeps");
  }
  CUCKOO_TRY(check_capacity(capacity));
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t needed, needed_at_most(capacity));
  Replacement next(options_);
  CUCKOO_TRY(begin(next, std::max(capacity, needed), true));
  const unsigned depth = next.limits.depth;
  const auto share_of = [depth](uint64_t hash) { return depth == 0 ? 0 : hash >> (64 - depth); };
  std::vector<NetHash> entries;  // of the share that comes next
  uint64_t share = 0;
  const auto cut_before = [&](uint64_t end) -> Status {
    for (; share < end; ++share) {
      CUCKOO_TRY(cut_piece(next, depth == 0 ? 0 : share << (64 - depth), entries));
      entries.clear();
    }
    return {};
  };
  CUCKOO_TRY(visit_segments([&](Segment& segment) -> Status {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> merged, segment.merged(blocks_));
    for (auto at = merged.begin(); at != merged.end();) {
      const uint64_t of = share_of(at->hash);
      CUCKOO_TRY(cut_before(of));
      const auto end = std::partition_point(
          at, merged.end(), [&](const NetHash& entry) { return share_of(entry.hash) == of; });
      entries.insert(entries.end(), at, end);
      at = end;
    }
    return {};
  }));
  CUCKOO_TRY(cut_before(uint64_t{1} << depth));
  CUCKOO_TRY(arrange(next));
  return poison_.changing([&]() -> Status {
    restart_long_log();
    items_ = options_.multiset() ? next.items : items_;
    replace_all(next);
    return {};
  });
}

}  // namespace cuckoo::segments
