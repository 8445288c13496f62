// FilterFile: figures of the whole filter, from the headers of its segments.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/filter/cell_layout.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/filter_file.hpp"
#include "core/segments/message_header.hpp"

namespace cuckoo::segments {

namespace {

// Visits each leaf with a filter of its geometry and its counts: the segment's own, or one without
// pages. Without `lists` that is as of F, whatever was asked before. With `lists` it is with all of
// the list that was applied. The overflow table is read, if there is one. If that fails, it is left
// out.
template <class Visit>
void visit_filters(const FilterOptions& options, const FilterBlocks& blocks, bool lists,
                   Visit&& visit) {
  std::unique_ptr<Filter> made;  // mostly the next leaf has the same geometry
  for (size_t i = 0; i < blocks.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks.directory().leaf(i);
    if (leaf.segment != nullptr && (lists || leaf.segment->applied() == 0)) {
      visit(leaf.segment->header(), leaf, leaf.segment->filter());
      continue;
    }
    SegmentHeader header = leaf.current();
    if (header.number == 0) {
      header.capacity = blocks.limits().share;
    } else if (header.overflow_blocks > 0 && !leaf.touched) {
      const Result<std::unique_ptr<Segment>> segment =
          Segment::open(options, blocks.storage(), header);
      if (segment.ok()) {
        visit(header, leaf, segment.value()->filter());
        continue;
      }
    }
    if (header.number != 0 && !check_geometry(options, header).ok()) {
      continue;  // the segment can't be opened either
    }
    const GeometryWords words = header.number == 0 ? blocks.limits().words : header.geometry();
    if (made == nullptr || made->words() != words) {
      Result<std::unique_ptr<Filter>> fresh =
          make_filter(options.spec.kind, words, options.page_bytes);
      if (!fresh.ok()) {
        continue;
      }
      made = std::move(fresh.value());
    }
    made->set_occupied(header.occupied);
    const OverflowTable* const unwritten =
        leaf.segment != nullptr ? leaf.segment->unwritten_overflow() : nullptr;
    made->overflow() = unwritten != nullptr ? *unwritten : OverflowTable();
    visit(header, leaf, *made);
  }
}

// Returns the figure that figure_of() gives for the largest segment.
template <class Figure>
auto of_largest(const FilterOptions& options, const FilterBlocks& blocks, Figure&& figure_of) {
  uint64_t largest = 0;
  decltype(figure_of(std::declval<const Filter&>())) figure = 0;
  visit_filters(options, blocks, false,
                [&](const SegmentHeader& header, const Directory::Leaf&, const Filter& filter) {
                  if (header.capacity > largest) {
                    largest = header.capacity;
                    figure = figure_of(filter);
                  }
                });
  return figure;
}

}  // namespace

double FilterFile::target_rate() const noexcept {
  return options_.spec.has_own_size() ? blocks_.limits().rate : options_.spec.rate;
}

// A hash falls on a segment of depth d with a probability of 2^-d. Keys of the list make it
// likelier that a stranger seems present, but not those beyond the segment's capacity: they are
// known by their hashes.
double FilterFile::rate_now() const {
  double rate = 0;
  const bool all = !blocks_.logged();
  visit_filters(
      options_, blocks_, all,
      [&](const SegmentHeader& header, const Directory::Leaf& leaf, const Filter& filter) {
        uint64_t more = all ? 0 : leaf.pending_adds();
        more = std::min(more, header.capacity - std::min(header.capacity, header.items));
        rate +=
            std::ldexp(filter.rate_with(static_cast<double>(more)), -static_cast<int>(leaf.depth));
      });
  return rate;
}

double FilterFile::load_factor() const {
  double used = 0;
  double all = 0;
  visit_filters(options_, blocks_, !blocks_.logged(),
                [&](const SegmentHeader&, const Directory::Leaf&, const Filter& filter) {
                  const auto bits = static_cast<double>(filter.bits());
                  used += bits * filter.load_factor();
                  all += bits;
                });
  return all > 0 ? used / all : 0;
}

uint32_t FilterFile::places_per_key() const {
  return of_largest(options_, blocks_,
                    [](const Filter& filter) { return filter.places_per_key(); });
}

double FilterFile::fingerprint_bits() const {
  return of_largest(options_, blocks_,
                    [](const Filter& filter) { return filter.fingerprint_bits(); });
}

// Returns for how many keys the leaf's segment is made. A segment that will grow at its next turn
// counts as if it had grown. Folded items above its capacity are copies, but pending ones may be
// keys. Counting these keys means sorting the pending entries, so that is done only where there may
// be too many.
uint64_t FilterFile::made_for(const Directory::Leaf& leaf) const {
  const SegmentHeader& header = leaf.current();
  const uint64_t capacity = header.capacity != 0 ? header.capacity : blocks_.limits().share;
  const uint64_t folded = std::min(header.items, capacity);
  uint64_t pending = leaf.pending_adds();
  if (!keeps_hashes() || folded + pending <= capacity) {
    return capacity;
  }
  pending = std::min<uint64_t>(
      pending, different_hashes(leaf.pending.entries(), options_.width, leaf.depth).size());
  return std::max(capacity, folded + pending);
}

// The segments that CREATE makes have room for more than their share, because keys fall on them by
// chance. That room is not counted.
uint64_t FilterFile::made_for() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    sum += made_for(blocks_.directory().leaf(i));
  }
  const bool grew = sum > blocks_.limits().share << blocks_.limits().depth;
  return grew ? std::min(std::max(sum, blocks_.root().capacity), kMaxCapacity)
              : blocks_.root().capacity;
}

uint64_t FilterFile::bits() const {
  uint64_t bits = 0;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Result<CellLayout> cells =
        cell_layout(options_.spec.kind, blocks_.geometry_of(blocks_.directory().leaf(i)));
    bits += cells.ok() ? cells.value().units * cells.value().unit_bits : 0;
  }
  return bits;
}

uint64_t FilterFile::least_piece_bytes(const FilterBlocks::LeafChoice& choose) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
    if (choose(leaf)) {
      const Result<CellLayout> cells = cell_layout(options_.spec.kind, blocks_.geometry_of(leaf));
      const bool empty = leaf.header->items + leaf.pending_adds() == 0;
      bytes += kLeastPieceBytes +
               (empty || !cells.ok() ? 0 : cells.value().total_bytes(kImagePageBytes));
    }
  }
  return bytes;
}

uint64_t FilterFile::least_image_bytes() const {
  return kMessageHeaderBytes + kImageCrcBytes + least_piece_bytes(FilterBlocks::all);
}

uint64_t FilterFile::log_entries() const noexcept {
  return blocks_.log().position() - blocks_.root().first_position;
}

// An entry of a run takes some four bytes where hashes have 47 bits, and two more where they have
// 63; a segment with few long runs has a little less.
uint64_t FilterFile::stored_bytes() const {
  constexpr uint64_t kRunBlockBytes = kRunHeaderBytes + kPageCrcBytes;
  const uint64_t run_entry_bytes = options_.width == HashWidth::k47Bits ? 4 : 6;
  const uint64_t log_rows =
      blocks_.log().row() - std::min(blocks_.log().row(), blocks_.stored_first_row());
  uint64_t bytes = (1 + blocks_.directory().stored_pages() + log_rows) * options_.page_bytes +
                   log_entries() % blocks_.log().row_entries() * log_entry_bytes(options_.width);
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const SegmentHeader& header = *blocks_.directory().leaf(i).header;
    bytes += (uint64_t{header.pages} + header.overflow_blocks) * options_.page_bytes +
             (uint64_t{header.pages} + header.run_blocks) * sizeof(BlockSums::Sum) +
             std::min(uint64_t{header.run_blocks} * options_.page_bytes,
                      header.run_entries * run_entry_bytes + header.run_blocks * kRunBlockBytes);
  }
  return bytes;
}

// --- room ----------------------------------------------------------------------------------------

Status FilterFile::more_than_fit(uint64_t items) const {
  return Error{ErrorCode::kFull, std::to_string(this->items()) + " items, and " +
                                     std::to_string(items) + " more would exceed its capacity of " +
                                     std::to_string(blocks_.root().capacity)};
}

// Returns whether most segments of a set are full, by their cells. All lists are applied.
bool FilterFile::most_are_full() const {
  uint64_t full = 0;
  visit_filters(options_, blocks_, true,
                [&](const SegmentHeader& header, const Directory::Leaf&, const Filter& filter) {
                  full += filter.full(0, header.capacity) ? 1 : 0;
                });
  return 2 * full > blocks_.directory().size();
}

Status FilterFile::expect_room(uint64_t items) const {
  const uint64_t most = most_items();
  const uint64_t held = this->items();
  if (!options_.multiset() || (held <= most && items <= most - held)) {
    return {};
  }
  if (!keeps_hashes()) {
    return more_than_fit(items);
  }
  return Error{ErrorCode::kFull, std::to_string(held) + " items, and " + std::to_string(items) +
                                     " more would exceed the " + std::to_string(most) +
                                     " that hashes of " +
                                     std::to_string(static_cast<int>(options_.width)) +
                                     " bits can tell apart at this rate"};
}

}  // namespace cuckoo::segments
