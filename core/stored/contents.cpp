#include "core/stored/contents.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/filter/bucket.hpp"
#include "core/stored/hash_sort.hpp"

namespace cuckoo {

bool equal_cells(const Filter& a, const Filter& b) noexcept {
  if (a.overflow().counts() != b.overflow().counts()) {
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

template <class Visitor>
Status HashCollection::for_each_distinct(Visitor&& visit) const {
  for (size_t i = 0; i < last_.size();) {
    size_t end = i + 1;
    while (end < last_.size() && last_[end] == last_[i]) {
      ++end;
    }
    CUCKOO_TRY(visit(last_[i], static_cast<uint64_t>(end - i)));
    i = end;
  }
  return {};
}

void HashCollection::finish_part() {
  LargeVector<uint64_t> next;
  next.reserve(kPartHashes);
  parts_.push_back(std::move(last_));
  last_ = std::move(next);
}

void HashCollection::sort() {
  std::vector<std::span<const uint64_t>> parts(parts_.begin(), parts_.end());
  parts.emplace_back(last_);
  last_ = sorted_by_hash(parts, width_);
  parts_.clear();
}

void HashCollection::make_unique() {
  sort();
  last_.erase(std::unique(last_.begin(), last_.end()), last_.end());
}

Result<FilterContents> HashCollection::build(const FilterSpec& spec, uint64_t capacity,
                                             Growth growth, uint32_t page_bytes, const Poll& poll) {
  constexpr uint64_t kHashesPerPoll = 1024;
  sort();
  const bool copies_take_room = traits_of(spec.kind).slot_per_item;
  uint64_t distinct = 0;
  uint64_t entries = 0;
  CUCKOO_TRY(for_each_distinct([&](uint64_t, uint64_t count) -> Status {
    entries += count <= kMaxCopiesInBuckets ? count : 1;
    return ++distinct % kHashesPerPoll == 0 ? check_interrupt(poll) : Status();
  }));
  const uint64_t needed = copies_take_room ? entries : distinct;
  const uint64_t limited = copies_take_room && growth == Growth::kOff ? last_.size() : needed;
  FilterContents contents;
  contents.capacity = capacity;
  if (capacity == 0) {
    contents.capacity = std::max<uint64_t>(needed, 1);
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
  const bool counts = is_multiset(spec.kind);
  contents.items = counts ? last_.size() : distinct;
  contents.hash_count = distinct;
  contents.hashes = [this, counts](const CountedHashSink& sink) -> Status {
    return for_each_distinct(
        [&](uint64_t hash, uint64_t count) { return sink(hash, counts ? count : 1); });
  };
  return contents;
}

}  // namespace cuckoo
