#include "core/segments/new_segments.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/segments/decide.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t kSpace = uint64_t{1} << kMaxDepth;  // of all hashes, in units

uint64_t prefix_at(uint64_t units) noexcept { return units << (64 - kMaxDepth); }

}  // namespace

Status expect_numbers(uint64_t next, uint64_t count) {
  return next + count - 1 <= kMaxSegmentNumber
             ? Status()
             : Error{ErrorCode::kFull, "it had " + std::to_string(kMaxSegmentNumber) +
                                           " segments since it was made, as many as there are"
                                           " numbers for; a new table begins anew"};
}

// S1. Each leaf begins where the one before it ends.
Status NewSegments::cover(uint64_t prefix, unsigned depth) {
  if (depth > kMaxDepth || covered_ == kSpace || prefix != prefix_at(covered_) ||
      covered_ % (kSpace >> depth) != 0) {
    return invalid("segments whose prefixes do not follow one another");
  }
  covered_ += kSpace >> depth;
  least_depth_ = std::min(least_depth_, depth);
  return {};
}

// Without a segment: it is one that was never folded, of the capacity of a share.
Status NewSegments::add(uint64_t prefix, unsigned depth, std::unique_ptr<Segment> segment) {
  CUCKOO_TRY(cover(prefix, depth));
  Directory::Leaf leaf;
  leaf.prefix = prefix;
  leaf.depth = depth;
  if (segment != nullptr) {
    ++next_number_;
    items_ += segment->header().items;
    empty_ = empty_ && segment->untouched();
    id_ = chain_with(id_, segment->header().base_id);
    if (items_ > kMaxHashCount) {
      return invalid("segments of more than 2^62 items");
    }
    leaf.segment = std::move(segment);
  }
  leaves_.push_back(std::move(leaf));
  return {};
}

// Nothing is in it, and CREATE would make just the same.
bool NewSegments::is_share(const Piece& piece) const {
  return piece.depth == limits_.depth && piece.capacity == limits_.share && piece.items == 0 &&
         piece.filter->occupied() == 0 && piece.filter->overflow().empty() &&
         piece.filter->words() == limits_.words;
}

// Where a hash counts once, it is made of its hashes again if one counts more often.
Status NewSegments::count_once(Piece& piece) const {
  const auto is_one = [](const NetHash& entry) { return entry.net == 1; };
  if (std::all_of(piece.hashes.begin(), piece.hashes.end(), is_one)) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Filter> filter,
      make_filter(options_->spec.kind, piece.filter->words(), options_->page_bytes));
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

Status NewSegments::take(Piece&& piece) {
  if (piece.filter == nullptr || piece.filter->kind() != options_->spec.kind) {
    return invalid("a filter of another kind");
  }
  const uint64_t prefix = piece.prefix;
  const unsigned depth = piece.depth;
  if (is_share(piece)) {
    return add(prefix, depth, nullptr);
  }
  if (options_->multiset() && options_->unique) {
    if (piece.hashes.empty() && piece.items > 0 && !begin_.once) {
      return invalid("unique = on takes no contents without hashes, whose copies nobody can tell");
    }
    CUCKOO_TRY(count_once(piece));
  }
  CUCKOO_TRY(expect_numbers(next_number_, 1));
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Segment> made,
      Segment::adopt(*options_, std::move(piece), next_number_, begin_.position, keeps_hashes_));
  return add(prefix, depth, std::move(made));
}

// Makes the directory of them. The first leaf of each share has the slot that it would have in a
// filter that was just made. So those without a segment need no header. If some are larger than a
// share, all need one.
Status NewSegments::finish() {
  if (covered_ != kSpace) {
    return invalid("segments whose prefixes do not cover all hashes");
  }
  first_depth_ = least_depth_ >= limits_.depth ? limits_.depth : 0;
  std::vector<Directory::Leaf> slots;
  std::vector<Directory::Leaf> others;
  for (Directory::Leaf& leaf : leaves_) {
    if (leaf.segment == nullptr && first_depth_ != limits_.depth) {
      CUCKOO_TRY(expect_numbers(next_number_, 1));
      CUCKOO_ASSIGN_OR_RETURN(leaf.segment, Segment::make_share(*options_, limits_, leaf.prefix,
                                                                leaf.depth, next_number_++));
      leaf.segment->become({}, begin_.position, begin_.id, 0, keeps_hashes_);
    }
    const bool first = first_depth_ == 0 ? slots.empty() : leaf.prefix << first_depth_ == 0;
    (first || first_depth_ == 0 ? slots : others).push_back(std::move(leaf));
  }
  leaves_.clear();
  slots.insert(slots.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return directory_.assign(std::move(slots));
}

// More than a share has room for come in by chance, or because they were chosen.
Status NewSegments::cut(std::span<const NetHash> entries) {
  const uint64_t prefix = prefix_at(covered_);
  if (entries.empty()) {
    return add(prefix, limits_.depth, nullptr);
  }
  const bool slots = traits_of(options_->spec.kind).slot_per_item;
  const uint64_t all = needed_for(entries, slots);
  const bool grows = all > limits_.share;
  constexpr unsigned kMostBits = 6;  // I1 of the directory
  const unsigned bits = std::min(
      {grows ? bits_to_split(all, limits_.keys) : 0, kMostBits, kMaxDepth - limits_.depth});
  const unsigned depth = limits_.depth + bits;
  for (uint64_t i = 0; i < uint64_t{1} << bits; ++i) {
    const uint64_t first = depth == 0 ? 0 : prefix | i << (64 - depth);
    const uint64_t last = depth == 0 ? ~uint64_t{0} : first | ~uint64_t{0} >> depth;
    const auto ends =
        std::partition_point(entries.begin(), entries.end(),
                             [last](const NetHash& entry) { return entry.hash <= last; });
    const auto part = entries.first(static_cast<size_t>(ends - entries.begin()));
    entries = entries.subspan(part.size());
    const uint64_t capacity =
        grows ? remade_capacity(needed_for(part, slots), limits_.keys) : limits_.share;
    CUCKOO_TRY(expect_numbers(next_number_, 1));
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                            Segment::make(*options_, first, depth, next_number_, capacity));
    made->become(part, begin_.position, begin_.id, items_of(part, options_->multiset()), true);
    CUCKOO_TRY(add(first, depth, std::move(made)));
  }
  return {};
}

}  // namespace cuckoo::segments
