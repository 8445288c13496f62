#include "core/filter/overflow_table.hpp"

#include <string>

#include "core/base/mix.hpp"

namespace cuckoo {
namespace {

uint64_t mix_counted(uint64_t cell, uint64_t count) noexcept {
  return count == 0 ? 0 : mix64(mix64(cell + kGoldenStep) + count);
}

}  // namespace

uint64_t OverflowTable::count(uint64_t cell) const noexcept {
  const auto found = counts_.find(cell);
  return found == counts_.end() ? 0 : found->second;
}

void OverflowTable::add(uint64_t cell, uint64_t count) {
  if (count == 0) {
    return;
  }
  changed_.try_emplace(cell, true);
  uint64_t& total = counts_.try_emplace(cell, 0).first->second;
  digest_ -= mix_counted(cell, total);
  total += count;
  digest_ += mix_counted(cell, total);
  items_ += count;
}

bool OverflowTable::remove(uint64_t cell) {
  const auto found = counts_.find(cell);
  if (found == counts_.end()) {
    return false;
  }
  changed_.try_emplace(cell, true);
  digest_ -= mix_counted(cell, found->second);
  --found->second;
  digest_ += mix_counted(cell, found->second);
  --items_;
  if (found->second == 0) {
    counts_.erase(found);
  }
  return true;
}

std::vector<uint64_t> OverflowTable::changed() const {
  std::vector<uint64_t> cells;
  cells.reserve(changed_.size());
  for (const auto& entry : changed_) {
    cells.push_back(entry.first);
  }
  return cells;
}

Status OverflowTable::check() const {
  uint64_t items = 0;
  uint64_t digest = 0;
  for (const auto& [cell, count] : counts_) {
    if (count == 0) {
      return corrupt("overflow cell " + std::to_string(cell) + " has count 0, expected at least 1");
    }
    items += count;
    digest += mix_counted(cell, count);
  }
  if (items != items_ || digest != digest_) {
    return corrupt("overflow table holds " + std::to_string(items) + " items of digest " +
                   std::to_string(digest) + ", expected " + std::to_string(items_) + " of " +
                   std::to_string(digest_));
  }
  return {};
}

}  // namespace cuckoo
