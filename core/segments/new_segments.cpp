#include "core/segments/new_segments.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t kSpace = uint64_t{1} << kMaxDepth;  // of all hashes, in units

uint64_t prefix_at(uint64_t units) noexcept { return units << (64 - kMaxDepth); }

}  // namespace

// Keeps S1: each leaf begins where the one before it ends.
Status NewSegments::cover(uint64_t prefix, unsigned depth) {
  if (depth > kMaxDepth || covered_ == kSpace || prefix != prefix_at(covered_) ||
      covered_ % (kSpace >> depth) != 0) {
    return invalid("segments whose prefixes do not follow one another");
  }
  covered_ += kSpace >> depth;
  least_depth_ = std::min(least_depth_, depth);
  return {};
}

// Adds a leaf. A leaf without a segment was never folded, and has the capacity of a share.
Status NewSegments::add(uint64_t prefix, unsigned depth, std::unique_ptr<Segment> segment) {
  CUCKOO_TRY(cover(prefix, depth));
  Directory::Leaf leaf;
  leaf.prefix = prefix;
  leaf.depth = depth;
  if (segment != nullptr) {
    items_ += segment->header().items;
    empty_ = empty_ && segment->is_empty();
    id_ = chain_with(id_, segment->header().base_id);
    if (items_ > kMaxHashCount) {
      return invalid("segments of more than 2^62 items");
    }
    leaf.segment = std::move(segment);
  }
  leaves_.push_back(std::move(leaf));
  return {};
}

// Returns whether the piece is empty and just as CREATE would make it.
bool NewSegments::is_share(const Piece& piece) const {
  return piece.depth == maker_.limits.depth && piece.capacity == maker_.limits.share &&
         piece.items == 0 && piece.filter->occupied() == 0 && piece.filter->overflow().empty() &&
         piece.filter->words() == maker_.limits.words;
}

// Makes the piece again of its hashes, each once, if one of them counts more often.
Status NewSegments::count_once(Piece& piece) const {
  const auto is_one = [](const NetHash& entry) { return entry.net == 1; };
  if (std::all_of(piece.hashes.begin(), piece.hashes.end(), is_one)) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(
      std::unique_ptr<Filter> filter,
      make_filter(maker_.options->spec.kind, piece.filter->words(), maker_.options->page_bytes));
  filter->pages().complete();
  for (NetHash& entry : piece.hashes) {
    entry.net = 1;
  }
  fill(*filter, piece.hashes, piece.depth);
  piece.items = piece.hashes.size();
  piece.filter = std::move(filter);
  return {};
}

Status NewSegments::take(Piece&& piece) {
  if (piece.filter == nullptr || piece.filter->kind() != maker_.options->spec.kind) {
    return invalid("a filter of another kind");
  }
  const uint64_t prefix = piece.prefix;
  const unsigned depth = piece.depth;
  if (is_share(piece)) {
    return add(prefix, depth, nullptr);
  }
  if (maker_.options->multiset() && maker_.options->unique) {
    if (piece.hashes.empty() && piece.items > 0 && !once_) {
      return invalid("unique = on takes no contents without hashes: their copies are unknown");
    }
    CUCKOO_TRY(count_once(piece));
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made, maker_.adopt(std::move(piece)));
  return add(prefix, depth, std::move(made));
}

// Makes the directory of the leaves. The first leaf of each share has the slot that it would have
// in a filter that was just made. So leaves without a segment need no header. If some leaves are
// larger than a share, all leaves need headers.
Status NewSegments::finish() {
  if (covered_ != kSpace) {
    return invalid("segments whose prefixes do not cover all hashes");
  }
  first_depth_ = least_depth_ >= maker_.limits.depth ? maker_.limits.depth : 0;
  std::vector<Directory::Leaf> slots;
  std::vector<Directory::Leaf> others;
  for (Directory::Leaf& leaf : leaves_) {
    if (leaf.segment == nullptr && first_depth_ != maker_.limits.depth) {
      CUCKOO_ASSIGN_OR_RETURN(leaf.segment, maker_.make_share(leaf.prefix, leaf.depth));
    }
    const bool first = first_depth_ == 0 ? slots.empty() : leaf.prefix << first_depth_ == 0;
    (first || first_depth_ == 0 ? slots : others).push_back(std::move(leaf));
  }
  leaves_.clear();
  slots.insert(slots.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return directory_.assign(std::move(slots));
}

// A share may get more hashes than it has room for, by chance or because they were chosen.
Status NewSegments::cut(std::span<const NetHash> entries) {
  const SegmentLimits& limits = maker_.limits;
  const uint64_t prefix = prefix_at(covered_);
  if (entries.empty()) {
    return add(prefix, limits.depth, nullptr);
  }
  constexpr unsigned kMostBits = 6;  // I1 of the directory
  CUCKOO_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Segment>> made,
                          maker_.make({prefix, limits.depth, limits.share,
                                       std::min(kMostBits, kMaxDepth - limits.depth)},
                                      entries));
  for (std::unique_ptr<Segment>& segment : made) {
    segment->set_made_at(maker_.position);  // a mark does not change by that, so none has it yet
    const SegmentHeader& header = segment->header();
    CUCKOO_TRY(add(header.prefix, header.depth, std::move(segment)));
  }
  return {};
}

}  // namespace cuckoo::segments
