#include "core/filter/overflow_table.hpp"

#include <algorithm>
#include <string>

#include "core/base/mix.hpp"

namespace cuckoo::core {
namespace {

uint64_t mix_counted(uint64_t cell, uint64_t count) noexcept {
  return count == 0 ? 0 : mix64(mix64(cell + kGoldenStep) + count);
}

}  // namespace

std::vector<OverflowTable::CellCount> OverflowTable::counts() const {
  std::vector<CellCount> counts;
  counts.reserve(cells());
  for_each([&counts](uint64_t cell, uint64_t count) { counts.push_back({cell, count}); });
  std::sort(counts.begin(), counts.end(),
            [](const CellCount& a, const CellCount& b) { return a.cell < b.cell; });
  return counts;
}

bool OverflowTable::equals(const OverflowTable& other) const noexcept {
  bool equal = cells() == other.cells();
  for_each([&](uint64_t cell, uint64_t count) { equal = equal && other.count(cell) == count; });
  return equal;
}

void OverflowTable::set(uint64_t cell, uint64_t before, uint64_t count) noexcept {
  changed_.set(cell, 1);
  counts_.set(cell, count);
  digest_ += mix_counted(cell, count) - mix_counted(cell, before);
  items_ += count - before;
}

void OverflowTable::add(uint64_t cell, uint64_t count) {
  if (count == 0) {
    return;
  }
  make_room(1);
  const uint64_t before = counts_.count(cell);
  set(cell, before, before + count);
}

void OverflowTable::make_room(size_t more) {
  changed_.make_room(more);
  counts_.make_room(more);
}

bool OverflowTable::remove(uint64_t cell, uint64_t count) {
  const uint64_t before = counts_.count(cell);
  if (before < count) {
    return false;
  }
  changed_.make_room();
  set(cell, before, before - count);
  return true;
}

std::vector<uint64_t> OverflowTable::changed() const {
  std::vector<uint64_t> cells;
  cells.reserve(changed_.size());
  changed_.for_each([&cells](uint64_t cell, uint64_t) { cells.push_back(cell); });
  std::sort(cells.begin(), cells.end());
  return cells;
}

Status OverflowTable::check() const {
  uint64_t items = 0;
  uint64_t digest = 0;
  for_each([&](uint64_t cell, uint64_t count) {
    items += count;
    digest += mix_counted(cell, count);
  });
  if (!counts_.good()) {
    return corrupt("overflow table of " + std::to_string(cells()) +
                   " cells of which one is not found, or has count 0, expected at least 1");
  }
  if (items != items_ || digest != digest_) {
    return corrupt("overflow table holds " + std::to_string(items) + " items of digest " +
                   std::to_string(digest) + ", expected " + std::to_string(items_) + " of " +
                   std::to_string(digest_));
  }
  return {};
}

}  // namespace cuckoo::core
