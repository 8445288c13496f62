#include "core/flash/index.hpp"

#include <algorithm>

#include "core/base/key_hash.hpp"
#include "core/base/mix.hpp"

namespace cuckoo {

uint32_t FlashIndex::hash_of(std::span<const std::byte> key) const noexcept {
  return static_cast<uint32_t>(hash_bytes(KeyKind::kBlob, key, slots_.options().seed) >> 32);
}

uint32_t FlashIndex::part_hash(uint64_t lsn, uint32_t offset) const noexcept {
  return static_cast<uint32_t>(mix64(mix64(slots_.options().seed + lsn * kGoldenStep) + offset) >>
                               32);
}

FlashIndex::Entries FlashIndex::by_position() const {
  Entries entries;
  entries.reserve(slots_.size());
  slots_.for_each([&](uint32_t hash, uint32_t position) { entries.emplace_back(position, hash); });
  std::ranges::sort(entries);
  return entries;
}

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
  note({hash, from, to});
  const bool known = slots_.replace(hash, from, to);
  if (!known) {
    forget_last_note();
  }
  return known;
}

bool FlashIndex::remove(uint32_t hash, uint32_t position) {
  note({hash, position, 0});
  const bool known = slots_.remove(hash, position);
  if (!known) {
    forget_last_note();
  }
  return known;
}

void FlashIndex::clear() {
  if (noting_) {
    notes_.reserve(notes_.size() + slots_.size());
    slots_.for_each([this](uint32_t hash, uint32_t position) {
      notes_.push_back({hash, position, 0});
    });
  }
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
