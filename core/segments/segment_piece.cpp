// Segment: copies of it for the outside, segments made of these, and pairs of hashes.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/decide.hpp"
#include "core/segments/segment.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

// Returns a hash of all that is in the filter's pages and in its overflow table.
uint64_t content_id(const Filter& filter, uint64_t id) {
  id = chain_with(id, filter.overflow().digest());
  const PageSet& pages = filter.pages();
  for (uint64_t index = pages.next_backed(0); index < pages.page_count();
       index = pages.next_backed(index + 1)) {
    const std::byte* const page = pages.find(index);
    const size_t bytes = filter.content_bytes(index);
    if (!all_zero({page, bytes})) {
      id = XXH3_64bits_withSeed(page, bytes, id + index);
    }
  }
  return id;
}

// Returns the filter in pages of that size. No page has a block yet, and those that hold something
// are dirty.
Result<std::unique_ptr<Filter>> without_blocks(std::unique_ptr<Filter> filter,
                                               uint32_t page_bytes) {
  const PageSet& from = filter->pages();
  bool stays = from.page_bytes() == page_bytes;
  for (uint64_t index = from.next_backed(0); stays && index < from.page_count();
       index = from.next_backed(index + 1)) {
    stays = !from.stored(index);
  }
  if (!stays) {
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> copy,
                            make_filter(filter->kind(), filter->words(), page_bytes));
    CUCKOO_TRY(copy_cells(*filter, *copy));
    filter = std::move(copy);
  }
  PageSet& pages = filter->pages();
  pages.complete();
  for (uint64_t index = pages.next_backed(0); index < pages.page_count();
       index = pages.next_backed(index + 1)) {
    if (!all_zero({pages.find(index), filter->content_bytes(index)})) {
      pages.mark_dirty(index);
    }
  }
  return filter;
}

Status check_hashes(const FilterOptions& options, const Piece& piece) {
  uint64_t items = 0;
  const NetHash* last = nullptr;
  for (const NetHash& entry : piece.hashes) {
    const bool in_order = last == nullptr || last->hash < entry.hash;
    const bool of_piece =
        piece.depth == 0 || (entry.hash ^ piece.prefix) >> (64 - piece.depth) == 0;
    const bool counts = entry.net == 1 || (options.multiset() && entry.net > 1);
    if (!in_order || !of_piece || !counts || entry.net > kMostNet || items > kMostItems ||
        logged_hash(entry.hash, options.width) != entry.hash) {
      return invalid("hashes that do not ascend, or do not belong to their segment");
    }
    items += static_cast<uint64_t>(entry.net);
    last = &entry;
  }
  if (piece.hashes.size() > UINT32_MAX || (options.multiset() && items != piece.items)) {
    return invalid("hashes of " + std::to_string(items) + " items, expected " +
                   std::to_string(piece.items));
  }
  return {};
}

// Checks all that open() and decode_segment_header() expect.
Status check_piece(const FilterOptions& options, const Piece& piece) {
  const Filter& filter = *piece.filter;
  if (filter.kind() != options.spec.kind) {
    return invalid("a filter of another kind");
  }
  if (piece.depth > kMaxDepth || (piece.prefix & (~uint64_t{0} >> piece.depth)) != 0) {
    return invalid("a segment whose prefix has more bits than it says");
  }
  CUCKOO_TRY(check_capacity(piece.capacity));
  CUCKOO_ASSIGN_OR_RETURN(const CellLayout cells, cell_layout(filter));
  if (cells.page_count(options.page_bytes) > static_cast<uint64_t>(kFirstRunPart)) {
    return invalid("a segment of " + std::to_string(cells.page_count(options.page_bytes)) +
                   " pages, expected 2^23 or fewer");
  }
  if (piece.items > kMostItems || filter.counted_items().value_or(piece.items) != piece.items) {
    return invalid("a segment of " + std::to_string(piece.items) + " items, expected " +
                   std::to_string(filter.counted_items().value_or(kMostItems)));
  }
  return {};
}

}  // namespace

uint64_t needed_for(std::span<const NetHash> entries, bool slot_per_item) noexcept {
  if (!slot_per_item) {
    return entries.size();
  }
  uint64_t needed = 0;
  for (const NetHash& entry : entries) {
    const auto copies = static_cast<uint64_t>(entry.net);
    needed += copies <= kMaxCopiesInBuckets ? copies : 1;
  }
  return needed;
}

uint64_t fill(Filter& filter, std::span<const NetHash> entries, unsigned depth,
              Filter::Digest digest) {
  const std::unique_ptr<FilterBuilder> builder = filter.builder(entries.size(), digest);
  for (const auto& [hash, net] : entries) {
    builder->insert(hash << depth, static_cast<uint64_t>(net));
  }
  builder->finish();
  return builder->digest();
}

uint64_t items_of(std::span<const NetHash> entries, bool multiset) noexcept {
  if (!multiset) {
    return entries.size();
  }
  uint64_t items = 0;
  for (const NetHash& entry : entries) {
    items += static_cast<uint64_t>(entry.net);
  }
  return items;
}

// --- from outside --------------------------------------------------------------------------------

Result<std::unique_ptr<Segment>> Segment::adopt(const FilterOptions& options, Piece&& piece,
                                                uint64_t number, uint64_t position,
                                                bool keeps_hashes) {
  CUCKOO_TRY(check_piece(options, piece));
  if (keeps_hashes) {
    CUCKOO_TRY(check_hashes(options, piece));
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> filter,
                          without_blocks(std::move(piece.filter), options.page_bytes));
  std::unique_ptr<Segment> made =
      made_of(options, piece.prefix, piece.depth, number, piece.capacity, std::move(filter));
  SegmentHeader& header = made->header_;
  header.digest = made->filter().digest();
  header.items = piece.items;
  header.occupied = made->filter().occupied();
  header.folded_to = position;
  header.made_at = made_by(position);
  header.base_id = content_id(made->filter(), chain_with(number, piece.prefix + piece.depth));
  if (keeps_hashes) {
    made->add_run(piece.hashes);
  }
  header.base_id = chain_with(header.base_id, position);
  return made;
}

// --- for the outside -----------------------------------------------------------------------------

Result<std::unique_ptr<Filter>> Segment::copy_pages() const {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> copy,
                          make_filter(options_->spec.kind, filter_->words(), options_->page_bytes));
  CUCKOO_TRY(copy_cells(*filter_, *copy));
  copy->pages().complete();
  return copy;
}

// If no hash was removed, and none was added that seemed present, then no entry is dead. Then each
// hash comes once, in one run.
Result<Segment::HashCount> Segment::count_hashes(const Blocks& blocks,
                                                 const EntryList& list) const {
  if (list.empty() && header_.dead == 0) {
    const uint64_t hashes = header_.run_entries;
    return HashCount{hashes, options_->multiset() ? header_.items : hashes};
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries, merged(blocks, list));
  return HashCount{entries.size(), items_of(entries, options_->multiset())};
}

Status Segment::make_piece_anew(std::span<const NetHash> entries, uint64_t limit,
                                Piece& piece) const {
  const uint64_t needed = needed_for(entries, filter_->traits().slot_per_item);
  const bool grows = needed > header_.capacity;
  piece.capacity = grows ? remade_capacity(needed, limit) : header_.capacity;
  CUCKOO_ASSIGN_OR_RETURN(piece.filter, grows ? options_->make_filter_for(piece.capacity)
                                              : make_filter(options_->spec.kind, filter_->words(),
                                                            options_->page_bytes));
  piece.items = items_of(entries, options_->multiset());
  piece.filter->pages().complete();
  fill(*piece.filter, entries, header_.depth);
  return {};
}

std::vector<NetHash> Segment::beyond() const {
  std::vector<NetHash> all;
  beyond_.for_each([&](uint64_t hash, uint64_t copies) {
    all.push_back({hash, static_cast<int64_t>(copies)});
  });
  sort_by_hash(all, header_.depth);
  return all;
}

// The piece of a multiset has as many items as the segment counts, so that those of all pieces add
// up. If its hashes are fewer, because some were removed that were never added, it stays too full.
Result<Piece> Segment::piece(const Blocks& blocks, const EntryList& list, Hashes hashes,
                             uint64_t limit) const {
  Piece piece;
  piece.prefix = header_.prefix;
  piece.depth = header_.depth;
  if (hashes == Hashes::kGiven) {
    CUCKOO_ASSIGN_OR_RETURN(piece.hashes, merged(blocks, list));
    CUCKOO_TRY(make_piece_anew(piece.hashes, limit, piece));
    return piece;
  }
  if (outgrew_ && hashes == Hashes::kLeftOut) {
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries, merged(blocks, list));
    if (!options_->multiset() || items_of(entries, true) == items()) {
      CUCKOO_TRY(make_piece_anew(entries, limit, piece));
      return piece;
    }
  }
  piece.capacity = header_.capacity;
  piece.items = items();
  CUCKOO_ASSIGN_OR_RETURN(piece.filter, copy_pages());
  for (const auto& [hash, copies] : beyond()) {
    insert_copies(*piece.filter, hash << header_.depth, static_cast<uint64_t>(copies));
  }
  return piece;
}

// --- pairs ---------------------------------------------------------------------------------------

Segment::Answer Segment::probe_pair(const HashPair& pair) const noexcept {
  return pairs_of(*filter_).probe_pair(pair);
}

Status Segment::load_pair(const Blocks& blocks, const HashPair& pair) {
  if (all_loaded_) {
    return {};
  }
  uint64_t indexes[Filter::kMaxPlaces];
  return load_pages(blocks, {indexes, pairs_of(*filter_).pages_of_pair(pair, indexes)});
}

void Segment::insert_pair(const HashPair& pair) {
  pairs_of(*filter_).insert_pair(pair);
  ++header_.items;
  header_.occupied = filter_->occupied();
  written_ = false;
  header_.base_id = chain_with(chain_with(header_.base_id, pair.h1), pair.h2);
}

}  // namespace cuckoo::segments
