// FilterFile: replaces all segments at once, by contents from outside (import), by the union of
// these and its own (unite), or by its own contents cut anew (rebuild). The new segments are made
// beside the old ones, which stay as they are until all new ones are made. So a failure changes
// nothing (S8).
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/filter/cell_layout.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/new_segments.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

Status check_import(const FilterOptions& options, const Contents& contents, uint32_t page_bytes) {
  CUCKOO_TRY(options.check());
  CUCKOO_TRY(check_capacity(contents.capacity));
  if (contents.items > kMaxHashCount || !check_keys(options.key_form(), contents.key_types).ok()) {
    return invalid("contents of " + std::to_string(contents.items) + " items and key types " +
                   std::to_string(contents.key_types) +
                   ", expected at most 2^62 items, and types of " +
                   std::to_string(options.key_columns) + " columns");
  }
  if (options.page_bytes != page_bytes) {
    return invalid("pages of " + std::to_string(options.page_bytes) + " bytes, expected " +
                   std::to_string(page_bytes));
  }
  return {};
}

}  // namespace

// --- contents from outside -----------------------------------------------------------------------

Status FilterFile::import(const FilterOptions& options, const Contents& contents) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(check_import(options, contents, options_.page_bytes));
  // The new segments are made with the new options, and refer to options_ later.
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
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(options_, contents.capacity));
  const bool keeps_hashes = options.growth && contents.with_hashes;
  const bool marked = contents.mark && can_have(*contents.mark, contents.unique);
  const uint64_t position = marked ? contents.mark->position : blocks_.log().position();
  NewSegments next(blocks_.maker(limits, keeps_hashes, position), contents.unique);
  CUCKOO_TRY(contents.pieces([&](Piece&& piece) -> Status {
    CUCKOO_TRY(blocks_.poll());
    return next.take(std::move(piece));
  }));
  CUCKOO_TRY(next.finish());
  const bool once = options_.multiset() && options_.unique;
  if (options_.multiset() && !once && next.items() != contents.items) {
    return invalid("segments of " + std::to_string(next.items()) + " items, expected " +
                   std::to_string(contents.items));
  }
  restore.done = true;
  return blocks_.poison().changing([&]() -> Status {
    if (marked) {
      blocks_.begin_anew({position, contents.mark->chain});
    } else {
      blocks_.stir(chain_with(options_.digest, next.id()));
    }
    blocks_.note_options();
    blocks_.root().key_types = contents.key_types;
    blocks_.root().hashless = options_.growth && !keeps_hashes && !next.empty() ? 1 : 0;
    blocks_.set_items(options_.multiset() ? next.items() : contents.items);
    blocks_.replace(next, contents.capacity);
    return {};
  });
}

// --- contents without hashes beside its own ------------------------------------------------------

Status FilterFile::expect_united(const Piece& piece) const {
  const std::string by_hashes =
      "; filters of different geometry can be merged by their hashes only";
  if (piece.filter == nullptr || piece.filter->kind() != options_.spec.kind) {
    return invalid("a filter of another kind");
  }
  const Directory::Leaf& leaf = blocks_.directory().leaf(blocks_.directory().leaf_of(piece.prefix));
  if (leaf.prefix != piece.prefix || leaf.depth != piece.depth) {
    return invalid("a segment of " + std::to_string(piece.depth) + " bits of the hash, expected " +
                   std::to_string(leaf.depth) + by_hashes);
  }
  if (piece.filter->words() != blocks_.geometry_of(leaf)) {
    return invalid("a segment for " + std::to_string(piece.capacity) + " keys, expected one for " +
                   std::to_string(leaf.current().number != 0 ? leaf.current().capacity
                                                             : blocks_.limits().share) +
                   " and of the same geometry" + by_hashes);
  }
  return {};
}

Status FilterFile::expect_united(const Contents& contents) {
  CUCKOO_TRY(poison_error());
  size_t pieces = 0;
  CUCKOO_TRY(contents.pieces([&](Piece&& piece) -> Status {
    ++pieces;
    return expect_united(piece);
  }));
  return pieces == blocks_.directory().size()
             ? Status()
             : invalid(std::to_string(pieces) + " segments, expected " +
                       std::to_string(blocks_.directory().size()) +
                       "; filters of different geometry can be merged by their hashes only");
}

// By chance a segment may hold more than its capacity while the whole filter does not. But a
// segment's capacity is above its share. So if the cells of more than half of the segments say "too
// many", the union has too many keys.
Status FilterFile::unite(const Contents& contents) {
  CUCKOO_TRY(poison_error());
  if (keeps_hashes() && items() > 0) {
    return invalid(
        "what comes without hashes can be merged into an empty filter only, or into one"
        " with growth = off");
  }
  const bool slots = traits_of(options_.spec.kind).slot_per_item;
  if (slots && (contents.items > blocks_.root().capacity ||
                items() > blocks_.root().capacity - contents.items)) {
    return more_than_fit(contents.items);  // now, not after a search for slots in vain
  }
  CUCKOO_TRY(expect_united(contents));
  const Poll poll = [this] { return blocks_.poll(); };
  NewSegments next(blocks_.maker(blocks_.limits(), false));
  uint64_t overfull = 0;
  CUCKOO_TRY(contents.pieces([&](Piece&& theirs) -> Status {
    CUCKOO_TRY(expect_united(theirs));
    Piece piece;
    CUCKOO_TRY(blocks_.visit_segment(
        FilterBlocks::Lists::kApplied, blocks_.directory().leaf_of(theirs.prefix),
        [&](const Segment& own, const EntryList& list) -> Status {
          CUCKOO_ASSIGN_OR_RETURN(piece, own.piece(blocks_.storage(), list, Segment::Hashes::kNone,
                                                   blocks_.limits().keys));
          return {};
        }));
    CUCKOO_ASSIGN_OR_RETURN(const std::unique_ptr<Filter> other,
                            in_pages_of(options_.page_bytes, std::move(theirs.filter)));
    const double load = piece.filter->load_factor();
    CUCKOO_TRY(piece.filter->unite(*other, poll));
    const bool same = piece.filter->load_factor() == load;  // it has all of their keys already
    const uint64_t sum = piece.items + theirs.items;
    piece.items = piece.filter->united_items(piece.items, theirs.items, piece.capacity);
    overfull += !slots && !same && piece.filter->overfull(sum, piece.capacity) ? 1 : 0;
    return next.take(std::move(piece));
  }));
  if (2 * overfull > next.count()) {
    return more_than_fit(contents.items);
  }
  CUCKOO_TRY(next.finish());
  // In a set, the items of the new segments are an estimate by their cells.
  const uint64_t most = std::max({items(), contents.items, blocks_.root().capacity});
  const uint64_t items = options_.multiset() ? next.items() : std::min(next.items(), most);
  return blocks_.poison().changing([&]() -> Status {
    blocks_.stir(next.id());
    blocks_.root().hashless = options_.growth && !next.empty() ? 1 : 0;
    blocks_.root().key_types |= contents.key_types;
    blocks_.set_items(items);
    blocks_.replace(next, blocks_.root().capacity);
    return {};
  });
}

// --- its own contents, cut anew ------------------------------------------------------------------

// Returns for how many keys the filter must be made at least. If that is at most `capacity`, may
// return any number up to it. The headers give an upper bound. If that is above `capacity`, the
// hashes are read.
Result<uint64_t> FilterFile::needed_at_most(uint64_t capacity) {
  uint64_t most = 0;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
    most += leaf.current().items + leaf.current().dead + leaf.pending.size();
    for (const MoreCopies& one : leaf.pending.more()) {
      most += one.more;
    }
  }
  if (most <= capacity) {
    return most;
  }
  uint64_t needed = 0;
  CUCKOO_TRY(for_each_merged([&](std::span<const NetHash> entries) -> Status {
    needed += needed_for(entries, traits_of(options_.spec.kind).slot_per_item);
    return {};
  }));
  return needed;
}

// Both the old segments and the new shares come in the order of their hashes.
Status FilterFile::rebuild(uint64_t capacity) {
  CUCKOO_TRY(poison_error());
  if (!keeps_hashes()) {
    return invalid(options_.growth
                       ? "its contents came without hashes to rebuild from; 'clear' begins anew"
                       : "needs the hashes that only growth = on keeps");
  }
  CUCKOO_TRY(check_capacity(capacity));
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t needed, needed_at_most(capacity));
  capacity = std::max(capacity, needed);
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(options_, capacity));
  NewSegments next(blocks_.maker(limits, true));
  const unsigned depth = limits.depth;
  const auto share_of = [depth](uint64_t hash) { return depth == 0 ? 0 : hash >> (64 - depth); };
  std::vector<NetHash> entries;  // of the share that comes next
  uint64_t share = 0;
  const auto cut_before = [&](uint64_t end) -> Status {
    for (; share < end; ++share) {
      CUCKOO_TRY(next.cut(entries));
      CUCKOO_TRY(blocks_.poll());
      entries.clear();
    }
    return {};
  };
  CUCKOO_TRY(for_each_merged([&](std::span<const NetHash> merged) -> Status {
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
  CUCKOO_TRY(next.finish());
  const uint64_t items = options_.multiset() ? next.items() : this->items();
  return blocks_.poison().changing([&]() -> Status {
    turns_.restart_long_log();
    blocks_.set_items(items);
    blocks_.replace(next, capacity);
    return {};
  });
}

}  // namespace cuckoo::segments
