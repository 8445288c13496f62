#include "core/stored/contents.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/bucket.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kHashesPerPoll = 1024;

}  // namespace

bool equal_cells(const Filter& a, const Filter& b) noexcept {
  if (!a.overflow().equals(b.overflow())) {
    return false;
  }
  const auto next = [&](uint64_t index) {  // the others are zero in both
    return std::min(a.pages().next_backed(index), b.pages().next_backed(index));
  };
  for (uint64_t index = next(0); index < a.pages().page_count(); index = next(index + 1)) {
    const std::byte* one = a.pages().find(index);
    const std::byte* other = b.pages().find(index);
    if (one == nullptr) {
      std::swap(one, other);
    }
    const size_t bytes = a.content_bytes(index);
    if (one != nullptr &&
        !(other != nullptr ? std::equal(one, one + bytes, other) : all_zero({one, bytes}))) {
      return false;
    }
  }
  return true;
}

Status verify_hashes(const FilterContents& contents) {
  const auto differ = [] { return corrupt("hashes that are not those of the filter beside them"); };
  const Filter& filter = *contents.filter;
  if (!filter.canonical()) {
    uint64_t digest = 0;
    CUCKOO_TRY(contents.hashes([&](uint64_t hash, uint64_t count) -> Status {
      digest += count * filter.digest_of(hash);
      return {};
    }));
    return digest == filter.digest() ? Status() : differ();
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> made,
                          make_filter(filter.kind(), filter.words(), filter.pages().page_bytes()));
  CUCKOO_TRY(fill(*made, contents.hash_count, contents.hashes));
  return equal_cells(*made, filter) ? Status() : differ();
}

HashSource polled(HashSource hashes, Poll poll) {
  return [hashes = std::move(hashes), poll = std::move(poll)](const CountedHashSink& sink) {
    uint64_t read = 0;
    return hashes([&](uint64_t hash, uint64_t count) -> Status {
      if (++read % kHashesPerPoll == 0) {
        CUCKOO_TRY(check_interrupt(poll));
      }
      return sink(hash, count);
    });
  };
}

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

Result<FilterContents> HashCollection::build(const FilterSpec& spec, uint64_t capacity,
                                             Growth growth, uint32_t page_bytes, const Poll& poll) {
  CUCKOO_ASSIGN_OR_RETURN(const HashCounts counts, count(poll));
  const bool copies_take_room = traits_of(spec.kind).slot_per_item;
  const uint64_t needed = counts.capacity(spec.kind);
  const uint64_t limited = copies_take_room && growth == Growth::kOff ? counts.items : needed;
  FilterContents contents;
  contents.capacity = capacity;
  if (capacity == 0) {
    contents.capacity = needed;
  } else if (limited > capacity) {
    if (growth == Growth::kOff) {
      return Error{
          ErrorCode::kFull,
          std::to_string(limited) + " keys, more than its capacity of " + std::to_string(capacity),
          0};
    }
    contents.capacity = needed;
  }
  CUCKOO_ASSIGN_OR_RETURN(contents.filter, make_filter(spec, contents.capacity, page_bytes));
  uint64_t inserted = 0;
  CUCKOO_TRY(fill(*contents.filter, needed, [&](const auto& insert) {
    return for_each_distinct([&](uint64_t hash, uint64_t count) -> Status {
      CUCKOO_TRY(insert(hash, count));
      return ++inserted % kHashesPerPoll == 0 ? check_interrupt(poll) : Status();
    });
  }));
  const bool with_copies = is_multiset(spec.kind);
  contents.items = with_copies ? counts.items : counts.distinct;
  contents.hash_count = counts.distinct;
  contents.hashes = hashes(with_copies);
  return contents;
}

}  // namespace cuckoo
