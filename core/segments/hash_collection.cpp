#include "core/segments/hash_collection.hpp"

#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/filter/bucket.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/decide.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t kHashesPerPoll = 1024;

}  // namespace

template <class Visitor>
Status HashCollection::for_each_distinct(Visitor&& visit) const {
  constexpr size_t kAhead = 128;  // hashes; the processor alone does not read so far ahead
  auto more = more_.begin();
  uint64_t hash = 0;  // the one that is counted
  uint64_t count = 0;
  const auto visit_counted = [&]() -> Status {
    if (count == 0) {
      return {};
    }
    if (more != more_.end() && more->hash == hash) {
      count += more->count;
      ++more;
    }
    return visit(hash, count);
  };
  const auto count_all = [&](std::span<const uint64_t> piece) -> Status {
    for (size_t i = 0; i < piece.size(); ++i) {
      __builtin_prefetch(&piece[std::min(i + kAhead, piece.size() - 1)]);
      if (piece[i] == hash && count > 0) {
        ++count;
        continue;
      }
      CUCKOO_TRY(visit_counted());
      hash = piece[i];
      count = 1;
    }
    return {};
  };
  CUCKOO_TRY(parts_.for_each_piece(count_all));
  CUCKOO_TRY(count_all(last_));
  return visit_counted();
}

void HashCollection::add(uint64_t hash, uint64_t copies) {
  const bool at_once = copies > kMostWords;
  for (uint64_t i = 0; i < (at_once ? 1 : copies); ++i) {
    add(hash);
  }
  if (at_once) {
    more_.push_back({logged_hash(hash, width_), copies - 1});
  }
}

void HashCollection::narrow(HashWidth width) {
  width_ = width;
  parts_.narrow(width);
  for (uint64_t& hash : last_) {
    hash = logged_hash(hash, width);
  }
  for (Copies& copies : more_) {
    copies.hash = logged_hash(copies.hash, width);
  }
  sorted_ = false;
}

void HashCollection::finish_part() {
  parts_.add(last_, kPartHashes);
  last_.clear();
}

void HashCollection::finish_parts() {
  if (parts_.empty()) {
    return;
  }
  if (!last_.empty()) {
    finish_part();
  }
  LargeVector<uint64_t>().swap(last_);
}

Status HashCollection::sort(const Poll& poll) {
  if (sorted_) {
    return {};
  }
  counts_.reset();
  finish_parts();
  if (parts_.empty()) {
    const std::span<const uint64_t> all(last_);
    CUCKOO_ASSIGN_OR_RETURN(last_, sorted_by_hash(std::span(&all, 1), width_, poll));
  } else {
    CUCKOO_TRY(parts_.sort(width_, poll));
  }
  std::sort(more_.begin(), more_.end(),
            [](const Copies& a, const Copies& b) { return a.hash < b.hash; });
  auto end = more_.begin();
  for (auto next = more_.begin(); next != more_.end(); ++next) {
    if (end != more_.begin() && std::prev(end)->hash == next->hash) {
      std::prev(end)->count += next->count;
    } else {
      *end++ = *next;
    }
  }
  more_.erase(end, more_.end());
  sorted_ = true;
  return {};
}

void HashCollection::make_unique() { (void)compact(false, nullptr); }

Status HashCollection::compact(bool with_copies, const Poll& poll) {
  CUCKOO_TRY(sort(poll));
  HashCollection less(width_);
  CUCKOO_TRY(for_each_distinct([&](uint64_t hash, uint64_t count) -> Status {
    less.add(hash, with_copies ? count : 1);
    return {};
  }));
  less.finish_parts();
  less.sorted_ = true;  // they came in order
  *this = std::move(less);
  return {};
}

uint64_t HashCollection::words() const noexcept {
  constexpr uint64_t kWordsOfCopies = sizeof(Copies) / sizeof(uint64_t);
  return parts_.size() + last_.size() + kWordsOfCopies * more_.size();
}

Result<HashCounts> HashCollection::count(const Poll& poll) {
  CUCKOO_TRY(check_interrupt(poll));
  CUCKOO_TRY(sort(poll));
  if (counts_) {
    return *counts_;
  }
  HashCounts counts;
  CUCKOO_TRY(for_each_distinct([&](uint64_t, uint64_t count) -> Status {
    counts.items += count;
    counts.entries += count <= kMaxCopiesInBuckets ? count : 1;
    return ++counts.distinct % kHashesPerPoll == 0 ? check_interrupt(poll) : Status();
  }));
  counts_ = counts;
  return counts;
}

HashSource HashCollection::hashes(bool with_copies) const {
  return [this, with_copies](const CountedHashSink& sink) -> Status {
    return for_each_distinct(
        [&](uint64_t hash, uint64_t count) { return sink(hash, with_copies ? count : 1); });
  };
}

// --- the filter ----------------------------------------------------------------------------------

// Takes ascending hashes. Hands over a piece when the first hash after that piece comes.
class HashCollection::PieceBuilder {
 public:
  PieceBuilder(FilterKind kind, const std::vector<Cut>& cuts, uint32_t page_bytes, Hashes hashes,
               uint64_t hash_count, const PieceSink& sink)
      : kind_(kind),
        cuts_(cuts),
        page_bytes_(page_bytes),
        with_hashes_(hashes == Hashes::kKept),
        expected_(hash_count / cuts.size() + 1),
        sink_(sink) {}

  Status add(uint64_t hash, uint64_t count) {
    while (builder_ == nullptr || hash > last_) {
      CUCKOO_TRY(begin_next());
    }
    builder_->insert(hash << piece_.depth, count);
    piece_.items += is_multiset(kind_) ? count : 1;
    if (with_hashes_) {
      piece_.hashes.push_back({hash, is_multiset(kind_) ? static_cast<int64_t>(count) : 1});
    }
    return {};
  }
  Status finish() {
    while (next_ < cuts_.size()) {
      CUCKOO_TRY(begin_next());
    }
    return hand_over();
  }

 private:
  Status begin_next() {
    CUCKOO_TRY(hand_over());
    const Cut& cut = cuts_[next_++];
    piece_ = Piece();
    piece_.prefix = last_ + 1;
    piece_.depth = cut.depth;
    piece_.capacity = cut.capacity;
    last_ = last_hash_of(piece_.prefix, cut.depth);
    CUCKOO_ASSIGN_OR_RETURN(piece_.filter, make_filter(kind_, cut.geometry, page_bytes_));
    piece_.filter->pages().complete();
    builder_ = piece_.filter->builder(expected_, Filter::Digest::kNone);
    if (with_hashes_) {
      piece_.hashes.reserve(expected_);
    }
    return {};
  }
  Status hand_over() {
    if (builder_ == nullptr) {
      return {};
    }
    builder_->finish();
    builder_.reset();
    return sink_(std::move(piece_));
  }

  FilterKind kind_;
  const std::vector<Cut>& cuts_;
  uint32_t page_bytes_;
  bool with_hashes_;
  uint64_t expected_;
  const PieceSink& sink_;
  Piece piece_;
  uint64_t last_ = ~uint64_t{0};  // of the piece
  std::unique_ptr<FilterBuilder> builder_;
  size_t next_ = 0;
};

Contents HashCollection::contents(FilterKind kind, const std::vector<Cut>& cuts,
                                  uint32_t page_bytes, const Poll& poll, Hashes hashes,
                                  const HashCounts& counts) const {
  Contents contents;
  contents.items = is_multiset(kind) ? counts.items : counts.distinct;
  contents.with_hashes = hashes == Hashes::kKept;
  contents.hash_count = counts.distinct;
  contents.pieces = [=, this](const PieceSink& sink) -> Status {
    PieceBuilder builder(kind, cuts, page_bytes, hashes, counts.distinct, sink);
    uint64_t inserted = 0;
    CUCKOO_TRY(for_each_distinct([&](uint64_t hash, uint64_t count) -> Status {
      CUCKOO_TRY(builder.add(hash, count));
      return ++inserted % kHashesPerPoll == 0 ? check_interrupt(poll) : Status();
    }));
    return builder.finish();
  };
  return contents;
}

Result<std::vector<HashCounts>> HashCollection::count_pieces(const std::vector<Cut>& cuts,
                                                             const Poll& poll) const {
  std::vector<HashCounts> counts(cuts.size());
  size_t piece = 0;
  uint64_t last = last_hash_of(0, cuts[0].depth);
  uint64_t counted = 0;
  CUCKOO_TRY(for_each_distinct([&](uint64_t hash, uint64_t count) -> Status {
    while (hash > last) {
      last = last_hash_of(last + 1, cuts[++piece].depth);
    }
    counts[piece].items += count;
    counts[piece].entries += count <= kMaxCopiesInBuckets ? count : 1;
    ++counts[piece].distinct;
    return ++counted % kHashesPerPoll == 0 ? check_interrupt(poll) : Status();
  }));
  return counts;
}

// Splits the pieces that are too full (I2), as FilterFile does. Keys fall on segments by chance,
// and each has room for four standard deviations. So this mostly happens when keys were chosen.
Status HashCollection::split_full(const FilterSpec& spec, uint64_t limit, uint32_t page_bytes,
                                  const Poll& poll, std::vector<Cut>& cuts) const {
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<HashCounts> before, count_pieces(cuts, poll));
  const unsigned most = most_depth(cuts.size());
  std::vector<Cut> split;
  bool full = false;
  for (size_t i = 0; i < cuts.size(); ++i) {
    Cut cut = cuts[i];
    const uint64_t keys = before[i].capacity(spec.kind);
    unsigned bits = 0;
    if (keys > cut.capacity) {
      bits = std::min(bits_to_split(keys, limit), most - cut.depth);
      cut.capacity = 0;  // to be found
      full = true;
      cut.depth += bits;
    }
    split.insert(split.end(), size_t{1} << bits, cut);
  }
  if (!full) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<HashCounts> counts, count_pieces(split, poll));
  for (size_t i = 0; i < split.size(); ++i) {
    if (split[i].capacity == 0) {
      split[i].capacity = remade_capacity(counts[i].capacity(spec.kind), limit);
      CUCKOO_ASSIGN_OR_RETURN(const FilterSize size,
                              filter_size(spec, split[i].capacity, page_bytes));
      split[i].geometry = size.words;
    }
  }
  cuts = std::move(split);
  return {};
}

Result<Contents> HashCollection::build(const FilterSpec& spec, uint64_t capacity, Growth growth,
                                       uint32_t page_bytes, const Poll& poll, Hashes hashes) {
  CUCKOO_ASSIGN_OR_RETURN(const HashCounts counts, count(poll));
  const uint64_t needed = counts.capacity(spec.kind);
  if (growth == Growth::kOff && capacity != 0) {
    const uint64_t keys = traits_of(spec.kind).slot_per_item ? counts.items : needed;
    if (keys > capacity) {
      return Error{
          ErrorCode::kFull,
          std::to_string(keys) + " keys, more than its capacity of " + std::to_string(capacity), 0};
    }
  }
  FilterOptions options;
  options.spec = spec;
  options.capacity = std::max(capacity, needed);
  options.growth = growth == Growth::kOn;
  options.page_bytes = page_bytes;
  CUCKOO_TRY(check_capacity(options.capacity));
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, segment_limits(options));
  std::vector<Cut> cuts(size_t{1} << limits.depth, Cut{limits.depth, limits.share, limits.words});
  if (growth == Growth::kOn && cuts.size() > 1) {
    CUCKOO_TRY(split_full(spec, limits.keys, page_bytes, poll, cuts));
  }
  Contents made = contents(spec.kind, cuts, page_bytes, poll, hashes, counts);
  made.capacity = options.capacity;
  return made;
}

Result<Contents> HashCollection::build_like(FilterKind kind, const std::vector<Cut>& cuts,
                                            uint32_t page_bytes, const Poll& poll, Hashes hashes) {
  CUCKOO_ASSIGN_OR_RETURN(const HashCounts counts, count(poll));
  return contents(kind, cuts, page_bytes, poll, hashes, counts);
}

}  // namespace cuckoo::segments
