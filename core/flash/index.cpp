#include "core/flash/index.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
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

// --- stored and loaded entries -------------------------------------------------------------------

void FlashIndex::load(Entries entries) {
  if (entries.empty()) {
    return;
  }
  loaded_ = std::make_shared<LoadedIndex>(own_.options(), std::move(entries));
  view_ = loaded_->view();
  searches_ = 0;
}

void FlashIndex::load(StoredIndex stored) {
  stored_ = std::make_unique<StoredIndex>(std::move(stored));
  fetched_.clear();
}

Status FlashIndex::fetch_entries(uint32_t hash) {
  if (fetched_.contains(hash)) {
    return {};
  }
  // So many fetches together cost about as much as loading all entries.
  constexpr uint64_t kLeastFetches = 64;
  constexpr uint64_t kEntriesForFetch = 512;
  if (fetched_.size() >= std::max(kLeastFetches, stored_->size() / kEntriesForFetch)) {
    return load_entries();
  }
  std::vector<uint32_t> positions;
  CUCKOO_TRY(stored_->find(hash, positions));
  fetched_.emplace(hash, std::move(positions));
  return {};
}

Status FlashIndex::load_entries() {
  CUCKOO_ASSIGN_OR_RETURN(Entries entries, stored_->all());
  uint64_t unknown = 0;
  gone_.for_each([&](uint32_t hash, uint32_t position) {
    unknown += std::binary_search(entries.begin(), entries.end(), Entry{position, hash}) ? 0 : 1;
  });
  if (unknown != 0) {
    return corrupt("the log replaces " + std::to_string(unknown) +
                   " records that the checkpoint's index doesn't have");
  }
  std::shared_ptr<LoadedIndex> loaded =
      LoadedIndex::share(std::make_shared<LoadedIndex>(own_.options(), std::move(entries)));
  view_ = loaded->view();
  loaded_ = std::move(loaded);
  searches_ = kSearches;  // it was searched enough already
  stored_.reset();
  fetched_.clear();
  return {};
}

void FlashIndex::expect_loaded() const {
  if (stored_) {
    throw std::logic_error("the index of a flash store is searched before it was fetched");
  }
}

void FlashIndex::share() {
  if (size() == 0 || stored_) {
    return;
  }
  std::shared_ptr<LoadedIndex> loaded = loaded_;
  if (!view_.list || own_.size() + gone_.size() != 0) {
    loaded = std::make_shared<LoadedIndex>(own_.options(), by_position());
  }
  loaded = LoadedIndex::share(loaded);
  SlotCache own = empty_cache();
  SlotCache gone = empty_cache();
  view_ = loaded->view();
  loaded_ = std::move(loaded);
  searches_ = 0;
  own_ = std::move(own);
  gone_ = std::move(gone);
}

// Fills the slots after kSearches searches. To search the list once costs a fiftieth of filling
// the slots.
bool FlashIndex::search_fills() const noexcept {
  if (searches_ < kSearches) {
    ++searches_;
    return false;
  }
  try {
    fill_slots();
  } catch (const std::bad_alloc&) {  // the list has the answer, too
    return false;
  }
  return true;
}

void FlashIndex::fill_slots() const {
  if (view_.list) {
    view_ = {nullptr, loaded_->slots()};
  }
}

bool FlashIndex::was_loaded(uint32_t hash, uint32_t position) const {
  if (stored_) {
    if (believes_ && !fetched_.contains(hash)) {
      return true;
    }
    const std::vector<uint32_t>& positions = fetched(hash);
    return std::find(positions.begin(), positions.end(), position) != positions.end();
  }
  return view_.list
             ? std::binary_search(view_.list->begin(), view_.list->end(), Entry{position, hash})
         : view_.slots ? view_.slots->contains(hash, position)
                       : false;
}

const std::vector<uint32_t>& FlashIndex::fetched(uint32_t hash) const {
  const auto found = fetched_.find(hash);
  if (found == fetched_.end()) {
    expect_loaded();
  }
  return found->second;
}

bool FlashIndex::is_loaded(uint32_t hash, uint32_t position) const {
  return (loaded_ || stored_) && !is_gone(hash, position) && was_loaded(hash, position);
}

// Makes all entries the index's own, if enough of them came or went. Call it before each change.
// Does nothing while there is a list, because the list has not been searched much then.
void FlashIndex::own_all_if_worth_it() {
  constexpr uint64_t kFewChanges = 1024;
  if (!loaded_ || view_.list ||
      own_.size() + gone_.size() <= std::max<uint64_t>(kFewChanges, loaded_->size() / 8)) {
    return;
  }
  SlotCache all = view_.slots->copy();
  gone_.for_each([&](uint32_t hash, uint32_t position) { all.remove(hash, position); });
  own_.for_each([&](uint32_t hash, uint32_t position) { all.insert(hash, position); });
  SlotCache gone = empty_cache();
  own_ = std::move(all);
  gone_ = std::move(gone);
  loaded_.reset();
  view_ = {};
}

// --- all entries ---------------------------------------------------------------------------------

bool FlashIndex::contains(uint32_t hash, uint32_t position) const {
  return own_.contains(hash, position) || is_loaded(hash, position);
}

FlashIndex::Entries FlashIndex::by_position() const {
  expect_loaded();
  const auto sorted = [](const SlotCache& cache) {
    Entries entries;
    entries.reserve(cache.size());
    cache.for_each([&](uint32_t hash, uint32_t position) { entries.emplace_back(position, hash); });
    sort_by_position(entries);
    return entries;
  };
  Entries own = sorted(own_);
  if (!loaded_) {
    return own;
  }
  Entries loaded = view_.list ? *view_.list : sorted(*view_.slots);
  if (gone_.size() != 0) {
    const Entries gone = sorted(gone_);
    Entries present;
    present.reserve(loaded.size());
    std::set_difference(loaded.begin(), loaded.end(), gone.begin(), gone.end(),
                        std::back_inserter(present));
    loaded.swap(present);
  }
  if (own.empty()) {
    return loaded;
  }
  Entries all(loaded.size() + own.size());
  std::merge(loaded.begin(), loaded.end(), own.begin(), own.end(), all.begin());
  return all;
}

FlashIndex::Figures FlashIndex::figures() const {
  expect_loaded();
  fill_slots();
  Figures figures{own_.load_factor(), own_.relocations(), own_.expansions(),
                  own_.load_at_last_expansion()};
  if (loaded_) {
    const SlotCache& slots = *view_.slots;
    figures.load_factor = static_cast<double>(size()) / static_cast<double>(slots.slots());
    figures.relocations += slots.relocations();
    figures.expansions += slots.expansions();
  }
  return figures;
}

size_t FlashIndex::memory_bytes() const noexcept {
  const size_t loaded = view_.list    ? view_.list->capacity() * sizeof(Entry)
                        : view_.slots ? view_.slots->memory_bytes()
                        : stored_     ? stored_->memory_bytes() + fetched_.size() * kFetchedBytes
                                      : 0;
  return loaded + own_.memory_bytes() + gone_.memory_bytes();
}

Status FlashIndex::check() const {
  expect_loaded();
  CUCKOO_TRY(own_.check());
  CUCKOO_TRY(gone_.check());
  const uint64_t loaded = view_.list ? view_.list->size() : view_.slots ? view_.slots->size() : 0;
  if (loaded != (loaded_ ? loaded_->size() : 0)) {
    return corrupt("index with " + std::to_string(loaded) + " loaded entries");
  }
  const auto out_of_order = [](const Entry& a, const Entry& b) { return a.first >= b.first; };
  if (view_.list && std::adjacent_find(view_.list->begin(), view_.list->end(), out_of_order) !=
                        view_.list->end()) {
    return corrupt("index list that does not ascend");
  }
  if (view_.slots) {
    CUCKOO_TRY(view_.slots->check());
  }
  uint64_t wrong = 0;
  gone_.for_each(
      [&](uint32_t hash, uint32_t position) { wrong += was_loaded(hash, position) ? 0 : 1; });
  own_.for_each(
      [&](uint32_t hash, uint32_t position) { wrong += is_loaded(hash, position) ? 1 : 0; });
  return wrong == 0 ? Status()
                    : corrupt("index with " + std::to_string(wrong) +
                              " entries that are gone and were not loaded, or are there twice");
}

// --- changes and notes ---------------------------------------------------------------------------

bool FlashIndex::replace_entry(uint32_t hash, uint32_t from, uint32_t to) {
  if (own_.replace(hash, from, to)) {
    return true;
  }
  if (!is_loaded(hash, from)) {
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
}

bool FlashIndex::remove_entry(uint32_t hash, uint32_t position) {
  if (own_.remove(hash, position)) {
    return true;
  }
  if (!is_loaded(hash, position)) {
    return false;
  }
  gone_.insert(hash, position);
  return true;
}

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

bool FlashIndex::replace(uint32_t hash, uint32_t from, uint32_t to) {
  return change({hash, from, to}, [&] { return replace_entry(hash, from, to); });
}

bool FlashIndex::remove(uint32_t hash, uint32_t position) {
  return change({hash, position, 0}, [&] { return remove_entry(hash, position); });
}

void FlashIndex::clear() {
  expect_loaded();
  if (undo_ != nullptr && undo_->noting()) {
    const Entries entries = by_position();
    undo_->reserve_index_changes(entries.size());
    for (const auto& [position, hash] : entries) {
      undo_->note(FlashIndexUndo{hash, position, 0});
    }
  }
  loaded_.reset();
  view_ = {};
  own_.clear();
  gone_.clear();
}

void FlashIndex::undo(const FlashIndexUndo& change) {
  if (change.from == 0) {
    remove_entry(change.hash, change.to);
  } else if (change.to == 0) {
    own_.insert(change.hash, change.from);
  } else {
    replace_entry(change.hash, change.to, change.from);
  }
}

}  // namespace cuckoo::core
