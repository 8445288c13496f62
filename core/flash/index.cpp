#include "core/flash/index.hpp"

#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/key_hash.hpp"
#include "core/base/mix.hpp"

namespace cuckoo {
namespace {

// By digits, the lowest first. A checkpoint of a million entries spent most of its time in
// std::sort. No position is there twice.
void sort_by_position(FlashIndex::Entries& entries) {
  constexpr unsigned kDigitBits = 11;
  constexpr uint32_t kDigits = uint32_t{1} << kDigitBits;
  constexpr size_t kWorthIt = 4096;
  if (entries.size() < kWorthIt) {
    std::ranges::sort(entries);
    return;
  }
  FlashIndex::Entries sorted(entries.size());
  for (unsigned shift = 0; shift < 32; shift += kDigitBits) {
    std::array<size_t, kDigits + 1> begin{};
    for (const FlashIndex::Entry& entry : entries) {
      ++begin[(entry.first >> shift) % kDigits + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const FlashIndex::Entry& entry : entries) {
      sorted[begin[(entry.first >> shift) % kDigits]++] = entry;
    }
    entries.swap(sorted);
  }
}

}  // namespace

uint32_t FlashIndex::hash_of(std::span<const std::byte> key) const noexcept {
  return static_cast<uint32_t>(hash_bytes(KeyKind::kBlob, key, slots_.options().seed) >> 32);
}

uint32_t FlashIndex::part_hash(uint64_t lsn, uint32_t offset) const noexcept {
  return static_cast<uint32_t>(mix64(mix64(slots_.options().seed + lsn * kGoldenStep) + offset) >>
                               32);
}

// --- what a checkpoint held ----------------------------------------------------------------------

void FlashIndex::load(Entries entries) {
  gone_.assign(entries.size(), false);
  loaded_ = std::move(entries);
  gone_count_ = 0;
  searches_ = 0;
}

size_t FlashIndex::place_in_list(uint32_t hash, uint32_t position) const noexcept {
  const auto at = std::ranges::lower_bound(loaded_, Entry{position, hash});
  const auto place = static_cast<size_t>(at - loaded_.begin());
  return at != loaded_.end() && *at == Entry{position, hash} && !gone_[place] ? place : kNowhere;
}

void FlashIndex::leave_list(size_t place) noexcept {
  gone_[place] = true;
  ++gone_count_;
}

void FlashIndex::fill_slots() const {
  if (loaded_.empty()) {
    return;
  }
  SlotCache filled(slots_.options());
  Entries entries;
  entries.reserve(size());
  for_each([&](uint32_t hash, uint32_t position) { entries.emplace_back(position, hash); });
  filled.insert_all(entries);
  slots_ = std::move(filled);
  loaded_ = {};
  gone_ = {};
  gone_count_ = 0;
}

// To search the list once costs a fiftieth of what filling the slot cache does.
bool FlashIndex::search_fills() const {
  constexpr unsigned kSearches = 8;
  if (searches_ < kSearches) {
    ++searches_;
    return false;
  }
  fill_slots();
  return true;
}

bool FlashIndex::contains(uint32_t hash, uint32_t position) const noexcept {
  return slots_.contains(hash, position) || place_in_list(hash, position) != kNowhere;
}

const SlotCache& FlashIndex::slots() const {
  fill_slots();
  return slots_;
}

FlashIndex::Entries FlashIndex::by_position() const {
  if (gone_count_ == 0 && slots_.size() == 0) {
    return loaded_;
  }
  Entries entries;
  entries.reserve(size());
  for_each([&](uint32_t hash, uint32_t position) { entries.emplace_back(position, hash); });
  sort_by_position(entries);
  return entries;
}

Status FlashIndex::check() const {
  const auto gone = static_cast<size_t>(std::ranges::count(gone_, true));
  if (gone_.size() != loaded_.size() || gone != gone_count_) {
    return corrupt("index list with marks for " + std::to_string(gone_.size()) + " of " +
                   std::to_string(loaded_.size()) + " entries, " + std::to_string(gone) + " of " +
                   std::to_string(gone_count_) + " gone");
  }
  const auto out_of_order = [](const Entry& a, const Entry& b) { return a.first >= b.first; };
  if (std::ranges::adjacent_find(loaded_, out_of_order) != loaded_.end()) {
    return corrupt("index list that does not ascend");
  }
  return slots_.check();
}

// --- changes and notes ---------------------------------------------------------------------------

// Before the change: a note needs memory, and taking one back needs none (I3).
void FlashIndex::note(const Note& note) {
  if (noting_) {
    notes_.push_back(note);
  }
}

void FlashIndex::forget_last_note() noexcept {
  if (noting_) {
    notes_.pop_back();
  }
}

void FlashIndex::insert(uint32_t hash, uint32_t position) {
  note({hash, 0, position});
  try {
    slots_.insert(hash, position);
  } catch (...) {
    forget_last_note();
    throw;
  }
}

bool FlashIndex::replace(uint32_t hash, uint32_t from, uint32_t to) {
  if (const size_t place = place_in_list(hash, from); place != kNowhere) [[unlikely]] {
    note({hash, from, to});
    try {
      slots_.insert(hash, to);
    } catch (...) {
      forget_last_note();
      throw;
    }
    leave_list(place);
    return true;
  }
  note({hash, from, to});
  const bool known = slots_.replace(hash, from, to);
  if (!known) {
    forget_last_note();
  }
  return known;
}

bool FlashIndex::remove(uint32_t hash, uint32_t position) {
  note({hash, position, 0});
  if (const size_t place = place_in_list(hash, position); place != kNowhere) [[unlikely]] {
    leave_list(place);
    return true;
  }
  const bool known = slots_.remove(hash, position);
  if (!known) {
    forget_last_note();
  }
  return known;
}

void FlashIndex::clear() {
  if (noting_) {
    notes_.reserve(notes_.size() + size());
    for_each([this](uint32_t hash, uint32_t position) { notes_.push_back({hash, position, 0}); });
  }
  load({});
  slots_.clear();
}

size_t FlashIndex::mark() noexcept {
  noting_ = true;
  return notes_.size();
}

void FlashIndex::undo_to(size_t place) {
  for (; notes_.size() > place; notes_.pop_back()) {
    const Note& note = notes_.back();
    if (note.from == 0) {
      slots_.remove(note.hash, note.to);
    } else if (note.to == 0) {
      slots_.insert(note.hash, note.from);
    } else {
      slots_.replace(note.hash, note.to, note.from);
    }
  }
}

void FlashIndex::forget_marks() noexcept {
  notes_.clear();
  noting_ = false;
}

}  // namespace cuckoo
