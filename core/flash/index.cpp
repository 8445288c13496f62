#include "core/flash/index.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/base/key_hash.hpp"
#include "core/base/mix.hpp"
#include "core/flash/undo_log.hpp"

namespace cuckoo::core {
uint32_t FlashIndex::hash_of(std::span<const std::byte> key) const noexcept {
  return static_cast<uint32_t>(hash_bytes(KeyKind::kBlob, key, own_.options().seed) >> 32);
}

uint32_t FlashIndex::part_hash(uint64_t lsn, uint32_t offset) const noexcept {
  return static_cast<uint32_t>(mix64(mix64(own_.options().seed + lsn * kGoldenStep) + offset) >>
                               32);
}

// --- the base ------------------------------------------------------------------------------------

// If a part of the stored base is damaged, look-ups of its hashes fail, and no others. So if the
// base can't be loaded, this one hash is looked up. Loading is tried again much later.
Status FlashIndex::fetch_stored(Fetched& fetched) {
  // So many together cost about as much as loading all entries.
  constexpr uint64_t kLeastFetches = 64;
  constexpr uint64_t kEntriesForFetch = 512;
  const uint64_t many = std::max(kLeastFetches, stored_->size() / kEntriesForFetch);
  if ((stored_->searches() + 1) % many == 0) {
    Status loaded = load_stored();
    if (loaded.ok() || loaded.error().code != ErrorCode::kCorrupt) {
      return loaded;
    }
  }
  return stored_->find(fetched.hash_, fetched.stored_);
}

Status FlashIndex::load_stored() {
  CUCKOO_ASSIGN_OR_RETURN(const Entries entries, base());
  loaded_ = LoadedIndex::of(own_.options(), entries);
  stored_.reset();
  return {};
}

namespace {

FlashIndexEntries sorted(const SlotCache& cache) {
  FlashIndexEntries entries;
  entries.reserve(cache.size());
  cache.for_each([&](uint32_t hash, uint32_t position) { entries.emplace_back(position, hash); });
  sort_by_position(entries);
  return entries;
}

}  // namespace

Result<FlashIndex::Entries> FlashIndex::base() const {
  if (!stored_) {
    return loaded_ ? sorted(loaded_->slots()) : Entries();
  }
  CUCKOO_ASSIGN_OR_RETURN(Entries entries, stored_->all());
  uint64_t unknown = 0;
  gone_.for_each([&](uint32_t hash, uint32_t position) {
    unknown += std::binary_search(entries.begin(), entries.end(), Entry{position, hash}) ? 0 : 1;
  });
  if (unknown != 0) {
    return corrupt("the log replaces " + std::to_string(unknown) +
                   " records that the checkpoint's index doesn't have");
  }
  return entries;
}

bool FlashIndex::is_in_base(const Fetched& fetched, uint32_t position) const {
  if (is_gone(fetched.hash_, position)) {
    return false;
  }
  return loaded_ ? loaded_->slots().contains(fetched.hash_, position)
                 : stored_ && (fetched.believed_ ||
                               std::find(fetched.stored_.begin(), fetched.stored_.end(),
                                         position) != fetched.stored_.end());
}

// Makes all entries the index's own, if enough of them came or went. Call it before each change.
void FlashIndex::own_all_if_worth_it() {
  constexpr uint64_t kFewChanges = 1024;
  if (!loaded_ ||
      own_.size() + gone_.size() <= std::max<uint64_t>(kFewChanges, loaded_->slots().size() / 8)) {
    return;
  }
  SlotCache all = loaded_->slots().copy();
  gone_.for_each([&](uint32_t hash, uint32_t position) { all.remove(hash, position); });
  own_.for_each([&](uint32_t hash, uint32_t position) { all.insert(hash, position); });
  SlotCache gone = empty_cache();
  own_ = std::move(all);
  gone_ = std::move(gone);
  loaded_.reset();
}

// --- all entries ---------------------------------------------------------------------------------

Result<FlashIndex::Entries> FlashIndex::by_position() {
  CUCKOO_ASSIGN_OR_RETURN(Entries entries, base());
  if (gone_.size() != 0) {
    const Entries all = std::move(entries);
    const Entries gone = sorted(gone_);
    entries.clear();
    entries.reserve(all.size());
    std::set_difference(all.begin(), all.end(), gone.begin(), gone.end(),
                        std::back_inserter(entries));
  }
  Entries own = sorted(own_);
  if (entries.empty()) {
    return own;
  }
  if (own.empty()) {
    return entries;
  }
  Entries all(entries.size() + own.size());
  std::merge(entries.begin(), entries.end(), own.begin(), own.end(), all.begin());
  return all;
}

FlashIndex::Figures FlashIndex::figures() const noexcept {
  Figures figures{own_.load_factor(), own_.relocations(), own_.expansions(),
                  own_.load_at_last_expansion()};
  if (loaded_) {
    const SlotCache& slots = loaded_->slots();
    figures.load_factor = static_cast<double>(slots.size() + own_.size()) /
                          static_cast<double>(slots.slots() + own_.slots());
    figures.relocations += slots.relocations();
    figures.expansions += slots.expansions();
  }
  return figures;
}

size_t FlashIndex::memory_bytes() const noexcept {
  return (loaded_   ? loaded_->slots().memory_bytes()
          : stored_ ? stored_->memory_bytes()
                    : 0) +
         own_.memory_bytes() + gone_.memory_bytes();
}

Status FlashIndex::check() {
  CUCKOO_TRY(own_.check());
  CUCKOO_TRY(gone_.check());
  if (loaded_) {
    CUCKOO_TRY(loaded_->slots().check());
  }
  CUCKOO_ASSIGN_OR_RETURN(const Entries entries, base());
  uint64_t wrong = 0;
  const auto is_there = [&](uint32_t hash, uint32_t position) {
    return std::binary_search(entries.begin(), entries.end(), Entry{position, hash});
  };
  gone_.for_each(
      [&](uint32_t hash, uint32_t position) { wrong += is_there(hash, position) ? 0 : 1; });
  own_.for_each([&](uint32_t hash, uint32_t position) {
    wrong += is_there(hash, position) && !is_gone(hash, position) ? 1 : 0;
  });
  return wrong == 0 ? Status()
                    : corrupt("index with " + std::to_string(wrong) +
                              " entries that are gone and were not loaded, or are there twice");
}

// --- changes and notes ---------------------------------------------------------------------------

// Makes the note first, because a note needs memory, and taking one back needs none (I3).
template <class Change>
bool FlashIndex::change(const FlashIndexUndo& note, Change&& change) {
  own_all_if_worth_it();
  if (undo_ == nullptr) {
    return change();
  }
  undo_->note(note);
  bool changed = false;
  try {
    changed = change();
  } catch (...) {
    undo_->drop_index_change();
    throw;
  }
  if (!changed) {
    undo_->drop_index_change();
  }
  return changed;
}

void FlashIndex::insert(uint32_t hash, uint32_t position) {
  change({hash, 0, position}, [&] {
    own_.insert(hash, position);
    return true;
  });
}

bool FlashIndex::replace(const Fetched& fetched, uint32_t from, uint32_t to) {
  const uint32_t hash = fetched.hash_;
  return change({hash, from, to}, [&] {
    if (own_.replace(hash, from, to)) {
      return true;
    }
    if (!is_in_base(fetched, from)) {
      return false;
    }
    own_.insert(hash, to);
    try {
      gone_.insert(hash, from);
    } catch (...) {
      own_.remove(hash, to);
      throw;
    }
    return true;
  });
}

bool FlashIndex::remove(const Fetched& fetched, uint32_t position) {
  const uint32_t hash = fetched.hash_;
  return change({hash, position, 0}, [&] {
    if (own_.remove(hash, position)) {
      return true;
    }
    if (!is_in_base(fetched, position)) {
      return false;
    }
    gone_.insert(hash, position);
    return true;
  });
}

Status FlashIndex::clear() {
  if (undo_ != nullptr && undo_->noting()) {
    CUCKOO_ASSIGN_OR_RETURN(const Entries entries, by_position());
    undo_->reserve_index_changes(entries.size());
    for (const auto& [position, hash] : entries) {
      undo_->note(FlashIndexUndo{hash, position, 0});
    }
  }
  stored_.reset();
  loaded_.reset();
  own_.clear();
  gone_.clear();
  return {};
}

// Whatever came, or took another one's place, is own.
void FlashIndex::undo(const FlashIndexUndo& change) {
  if (change.from == 0) {
    own_.remove(change.hash, change.to);
  } else if (change.to == 0) {
    own_.insert(change.hash, change.from);
  } else {
    own_.replace(change.hash, change.to, change.from);
  }
}

}  // namespace cuckoo::core
