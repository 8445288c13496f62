// The counters of core/filter/bloom_filter.hpp: counting = on.
#include <algorithm>
#include <string>

#include "core/filter/bloom_filter.hpp"

namespace cuckoo::core {

uint64_t BloomFilter::copies(uint64_t cell) const noexcept {
  if (!geometry_.counting()) {
    return at<false>(cell).value();
  }
  const unsigned value = at<true>(cell).value();
  return value < kFullCounter ? value : kFullCounter - 1 + overflow_.count(cell);
}

// Puts the copies that counters have no room for into the overflow table. Makes an entry for each
// cell first, because only that can throw: the count of an entry can go up, and down again, without
// memory.
void BloomFilter::overflow_copies(const uint64_t* cells, size_t count, uint64_t added) {
  const auto beyond = [&](uint64_t cell) {
    const unsigned held = std::min(at<true>(cell).value(), kFullCounter - 1);
    return added - std::min<uint64_t>(added, kFullCounter - 1 - held);
  };
  size_t entered = 0;
  try {
    for (; entered < count; ++entered) {
      overflow_.add(cells[entered], std::min<uint64_t>(beyond(cells[entered]), 1));
    }
  } catch (...) {
    while (entered-- > 0) {
      if (beyond(cells[entered]) != 0) {
        overflow_.remove(cells[entered]);
      }
    }
    throw;
  }
  for (size_t i = 0; i < count; ++i) {
    if (const uint64_t copies = beyond(cells[i]); copies != 0) {
      overflow_.add(cells[i], copies - 1);
    }
  }
}

bool BloomFilter::insert_copies(uint64_t hash, uint64_t added) {
  uint64_t cells[kMaxPlaces];
  Counter counters[kMaxPlaces];
  const size_t count = cells_of(hash, cells);
  unsigned highest = 0;
  for (size_t i = 0; i < count; ++i) {
    touch(cells[i]);
    counters[i] = touched<true>(cells[i]);
    highest = std::max(highest, counters[i].value());
  }
  if (added >= kFullCounter - highest) {
    overflow_copies(cells, count, added);  // no later step throws
  }
  const auto most = static_cast<unsigned>(std::min<uint64_t>(added, kFullCounter));
  unsigned empty = 0;
  for (size_t i = 0; i < count; ++i) {
    empty += 1 - counters[i].used();
    counters[i].set(std::min(counters[i].value() + most, kFullCounter));
  }
  occupied_ += empty;
  return empty == 0;
}

bool BloomFilter::remove_copies(uint64_t hash, uint64_t removed) {
  if (!geometry_.counting()) {
    return false;
  }
  uint64_t cells[kMaxPlaces];
  Counter counters[kMaxPlaces];
  const size_t count = cells_of(hash, cells);
  if (std::any_of(cells, cells + count, [&](uint64_t c) { return copies(c) < removed; })) {
    return false;
  }
  // As above, the steps that can throw come first. Adding a copy and removing it notes the cell as
  // changed. Then the removal below needs no memory.
  for (size_t i = 0; i < count; ++i) {
    touch(cells[i]);
    counters[i] = touched<true>(cells[i]);
    if (counters[i].value() == kFullCounter) {
      overflow_.add(cells[i]);
      overflow_.remove(cells[i]);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t beyond = std::min(removed, overflow_.count(cells[i]));
    if (beyond > 0) {
      overflow_.remove(cells[i], beyond);
    }
    unsigned left = counters[i].value();
    if (left == kFullCounter && overflow_.count(cells[i]) == 0) {
      left = kFullCounter - 1;
    }
    left -= static_cast<unsigned>(removed - beyond);
    occupied_ -= left == 0 ? 1 : 0;
    counters[i].set(left);
  }
  return true;
}

uint64_t BloomFilter::insert_batch_copies(std::span<const uint64_t> hashes) {
  uint64_t present = 0;
  while (!hashes.empty()) {
    const size_t count = std::min(kBatch, hashes.size());
    for (const uint64_t hash : hashes.first(count)) {
      uint64_t cells[kMaxPlaces];
      const size_t cell_count = next_cells(hash, geometry_.hashes, cells);
      std::for_each(cells, cells + cell_count,
                    [&](uint64_t cell) { __builtin_prefetch(at<true>(cell).byte, 1); });
    }
    for (const uint64_t hash : hashes.first(count)) {
      present += insert_copies(hash, 1) ? 1 : 0;
    }
    hashes = hashes.subspan(count);
  }
  return present;
}

// Reads both counters before it changes one, because the other filter may be this one.
void BloomFilter::unite_counters(uint64_t index, const BloomFilter& other) {
  const uint64_t first = index * cells_per_page_;
  const uint64_t end = first + geometry_.cells_in_page(index);
  for (uint64_t cell = first; cell < end; ++cell) {
    const uint64_t theirs = other.at<true>(cell).value() == 0 ? 0 : other.copies(cell);
    if (theirs == 0) {
      continue;
    }
    const uint64_t mine = copies(cell);
    const uint64_t sum = mine + theirs;
    if (sum >= kFullCounter) {
      overflow_.add(cell, sum - std::max<uint64_t>(mine, kFullCounter - 1));
    }
    touched<true>(cell).set(static_cast<unsigned>(std::min<uint64_t>(sum, kFullCounter)));
    occupied_ += mine == 0 ? 1 : 0;
  }
}

// Checks that each entry's counter is 15, and that there are as many counters of 15 as entries.
Status BloomFilter::check_overflow(uint64_t full_counters) const {
  for (const auto& [cell, count] : overflow_.counts()) {
    const auto wrong = [one = cell](const std::string& what) {
      return corrupt("overflow cell " + std::to_string(one) + what);
    };
    if (!geometry_.counting() || cell >= cells_) {
      return wrong(" is out of range, expected less than " +
                   std::to_string(geometry_.counting() ? cells_ : 0));
    }
    const unsigned value = pages_.find(page_of(cell)) == nullptr ? 0 : at<true>(cell).value();
    if (value != kFullCounter) {
      return wrong(" has a counter of " + std::to_string(value) + ", expected 15");
    }
  }
  if (full_counters != overflow_.cells()) {
    return corrupt(std::to_string(full_counters) + " counters are 15, expected " +
                   std::to_string(overflow_.cells()) + ", one per overflow cell");
  }
  return overflow_.check();
}

}  // namespace cuckoo::core
