#include "core/segments/filter_window.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"
#include "core/segments/overlay_blocks.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kWindowStateMagic = 0x34574B43;  // "CKW4"
constexpr uint32_t kWindowStateVersion = 4;
constexpr size_t kWindowStateBytes = 40;

int64_t last_block_of(uint64_t slot) noexcept { return first_block_of(slot) + kLastLogBlock; }

Status erase_slot(BlockStorage& storage, uint64_t slot) {
  return storage.erase(first_block_of(slot), last_block_of(slot));
}

}  // namespace

FilterWindow::FilterWindow(const FilterOptions& options, BlockStorage& storage)
    : storage_(storage), created_(options), files_(options.generations) {
  newest_ = &in_slot(0);
}

FilterFile& FilterWindow::in_slot(uint64_t slot) {
  if (files_[slot] == nullptr) {
    files_[slot] = std::make_unique<FilterFile>(created_, storage_, slot);
  }
  return *files_[slot];
}

// Gives the window one slot for each element of `made`. A filter in `made` goes into its slot. A
// generation that is held keeps its filter, or gets one that reads it from storage. All other
// filters are dropped. If memory runs out, nothing has changed.
void FilterWindow::arrange(const State& state, Files made) {
  const auto slot_at = [&](uint64_t age) { return (state.rotation - age) % made.size(); };
  for (uint64_t age = 0; age < state.held; ++age) {
    const uint64_t slot = slot_at(age);
    if (made[slot] == nullptr && (slot >= files_.size() || files_[slot] == nullptr)) {
      made[slot] = std::make_unique<FilterFile>(created_, storage_, slot);
    }
  }
  std::vector<FilterFile*> older(state.held - 1);
  // No memory is needed from here on.
  for (uint64_t slot = 0; slot < std::min(made.size(), files_.size()); ++slot) {
    if (made[slot] == nullptr) {
      made[slot] = std::move(files_[slot]);
    }
  }
  for (uint64_t age = 1; age < state.held; ++age) {
    older[age - 1] = made[slot_at(age)].get();
  }
  newest_ = made[slot_at(0)].get();
  older_.swap(older);
  for (std::unique_ptr<FilterFile>& file : made) {
    if (file.get() != newest_ &&
        std::find(older_.begin(), older_.end(), file.get()) == older_.end()) {
      file.reset();
    }
  }
  files_.swap(made);
  ++times_arranged_;
  state_ = state;
}

// --- the window's block --------------------------------------------------------------------------

std::vector<std::byte> FilterWindow::encode(const State& state) {
  std::vector<std::byte> content(kWindowStateBytes);
  put_front(kWindowStateMagic, kWindowStateVersion, content);
  store_le(&content[8], state.rotation);
  store_le(&content[16], state.held);
  store_le(&content[24], state.past);
  store_le(&content[32], state.older);
  return content;
}

uint64_t FilterWindow::hash_of(const State& state) {
  const std::vector<std::byte> content = encode(state);
  return XXH3_64bits(content.data(), content.size());
}

// Returns a hash of what the logs of the older generations have.
uint64_t FilterWindow::hash_of_older() const {
  uint64_t hash = 0;
  for (const FilterFile* const one : older_) {
    hash = chain_with(hash, one->chain());
  }
  return hash;
}

// The window's block is to be written. It names the logs of the older generations, and the newest
// one's root names it. No older root does (I6).
void FilterWindow::note_changed_state() {
  state_.older = hash_of_older();
  for (FilterFile* const one : older_) {
    if (one->window_hash() != 0) {
      one->set_window_hash(0);
    }
  }
  newest_->set_window_hash(hash_of(state_));
  state_changed_ = true;
}

Result<FilterWindow::State> FilterWindow::decode(std::span<const std::byte> content) const {
  if (content.size() != kWindowStateBytes ||
      !has_front(content, kWindowStateMagic, kWindowStateVersion)) {
    return corrupt("not a window of format 4");
  }
  State state;
  state.rotation = load_le<uint64_t>(&content[8]);
  state.held = load_le<uint64_t>(&content[16]);
  state.past = load_le<uint64_t>(&content[24]);
  state.older = load_le<uint64_t>(&content[32]);
  if (!is_rotation(files_.size(), state.held, state.rotation)) {
    return corrupt("a number out of range");
  }
  return state;
}

// --- following storage ---------------------------------------------------------------------------

Status FilterWindow::create() {
  arrange({}, Files(files_.size()));
  CUCKOO_TRY(newest_->create());
  if (!single()) {
    note_changed_state();
  }
  state_stored_ = erases_all_ = false;
  poison_.note_current();
  to_erase_.clear();
  return {};
}

Status FilterWindow::create_anew() {
  CUCKOO_TRY(create());
  erases_all_ = true;
  return {};
}

// If another generation has a slot now, the slot's filter is refreshed as if another connection had
// changed it.
Status FilterWindow::refresh() {
  CUCKOO_TRY(poison_.error());
  if (pending()) {
    return {};
  }
  if (single()) {
    CUCKOO_TRY(newest_->refresh());
    poison_.note_current();
    return {};
  }
  const bool known = poison_.current();
  poison_.forget();  // unless all that follows goes well
  State stored;
  const Blocks blocks(storage_, created_.block_seed());
  CUCKOO_TRY(
      blocks.read_one(kWindowBlock, [&](int64_t, std::span<const std::byte> content) -> Status {
        CUCKOO_ASSIGN_OR_RETURN(stored, decode(content));
        return {};
      }));
  if (!known || stored != state_) {
    arrange(stored, Files(files_.size()));
    for (FilterFile* const one : older_) {
      CUCKOO_TRY(one->refresh());
    }
  }
  CUCKOO_TRY(newest_->refresh());
  if (newest_->window_hash() != hash_of(state_)) {
    return in_block(kWindowBlock, corrupt("is not the one that the newest generation names"));
  }
  if (state_.older != hash_of_older()) {
    return in_block(kWindowBlock, corrupt("names other logs than the older generations have"));
  }
  state_stored_ = true;
  poison_.note_current();
  return {};
}

void FilterWindow::forget() noexcept {
  for (const std::unique_ptr<FilterFile>& file : files_) {
    if (file != nullptr) {
      file->forget();
    }
  }
  state_changed_ = erases_all_ = false;
  to_erase_.clear();
  poison_.forget();
}

bool FilterWindow::poisoned() const noexcept { return poison_.poisoned() || newest_->poisoned(); }

bool FilterWindow::pending() const noexcept { return state_changed_ || newest_->pending(); }

void FilterWindow::committed() noexcept {
  newest_->committed();
  for (FilterFile* const one : older_) {
    one->committed();
  }
}

// --- reading -------------------------------------------------------------------------------------

FilterWindow::Answer FilterWindow::probe_older(uint64_t hash) {
  for (FilterFile* const one : older_) {
    if (const Answer answer = one->probe(hash); answer != Answer::kAbsent) {
      return answer;
    }
  }
  return Answer::kAbsent;
}

// Loads the pages in all generations, so that the next probe and count need no others.
Status FilterWindow::load(uint64_t hash) {
  CUCKOO_TRY(newest_->load(hash));
  for (FilterFile* const one : older_) {
    CUCKOO_TRY(one->load(hash));
  }
  return {};
}

Result<bool> FilterWindow::load_and_probe(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(bool present, newest_->load_and_probe(hash));
  for (size_t i = 0; i < older_.size() && !present; ++i) {
    CUCKOO_ASSIGN_OR_RETURN(present, older_[i]->load_and_probe(hash));
  }
  return present;
}

Result<uint64_t> FilterWindow::count(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(uint64_t total, newest_->count(hash));
  for (FilterFile* const one : older_) {
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t copies, one->count(hash));
    total += copies;
  }
  return total;
}

// --- changing ------------------------------------------------------------------------------------

Result<bool> FilterWindow::insert_new(uint64_t hash) {
  CUCKOO_TRY(poison_.error());
  for (FilterFile* const one : older_) {
    CUCKOO_ASSIGN_OR_RETURN(const bool present, one->load_and_probe(hash));
    if (present) {
      return false;
    }
  }
  return newest_->insert_new(hash);
}

// Returns kInvalid unless the newest generation can get that number.
Status FilterWindow::expect_number(uint64_t number) const {
  if (single()) {
    return invalid("has no generations to rotate; make the table with generations = 2 or more");
  }
  if (number < state_.rotation) {
    return invalid("the newest generation has number " + std::to_string(state_.rotation) +
                   ", and a window does not go back to " + std::to_string(number));
  }
  return is_rotation(files_.size(), 1, number)
             ? Status()
             : invalid("a generation can't have a number above 2^60; make the table anew");
}

// Begins the generation of that number. So many are held afterwards. The one that becomes old is
// written as a whole, so that it never changes again.
Status FilterWindow::begin(uint64_t number, uint64_t held) {
  CUCKOO_TRY(finish_load());
  CUCKOO_TRY(flush());
  const State next{number, held, chain_with(state_.past, newest_->history())};
  const uint64_t slot = slot_of(number);
  auto made = std::make_unique<FilterFile>(created_, storage_, slot);
  CUCKOO_TRY(made->create(next.past));
  return poison_.changing([&]() -> Status {
    for (uint64_t age = 0; age < state_.held; ++age) {
      if (const uint64_t old = state_.rotation - age; old + held <= number) {
        to_erase_.push_back(slot_of(old));
      }
    }
    Files files(files_.size());
    files[slot] = std::move(made);
    arrange(next, std::move(files));
    note_changed_state();
    return {};
  });
}

Status FilterWindow::rotate() { return rotate_to(state_.rotation + 1); }

Status FilterWindow::rotate_to(uint64_t number) {
  CUCKOO_TRY(expect_number(number));
  if (number - state_.rotation >= files_.size()) {
    return begin(number, 1);
  }
  while (state_.rotation < number) {
    CUCKOO_TRY(begin(state_.rotation + 1, std::min<uint64_t>(state_.held + 1, files_.size())));
  }
  return {};
}

Status FilterWindow::clear() {
  CUCKOO_TRY(poison_.error());
  if (single()) {
    return newest_->clear();
  }
  return poison_.changing([this]() -> Status {
    CUCKOO_TRY(newest_->clear());
    for (uint64_t age = 1; age < state_.held; ++age) {
      to_erase_.push_back(slot_of(state_.rotation - age));
    }
    arrange({state_.rotation, 1, chain_with(state_.past, state_.held)}, Files(files_.size()));
    note_changed_state();
    return {};
  });
}

Status FilterWindow::finish_load() {
  CUCKOO_TRY(poison_.error());
  return newest_->finish_load();
}

// --- writing -------------------------------------------------------------------------------------

// Writes the window's own changes, which come before the blocks of the generations.
Status FilterWindow::write_to(BlockStorage& storage) const {
  if (erases_all_) {
    CUCKOO_TRY(
        storage.erase(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  }
  for (const uint64_t slot : to_erase_) {
    CUCKOO_TRY(erase_slot(storage, slot));
  }
  return state_changed_ ? Blocks(storage, created_.block_seed())
                              .write(kWindowBlock, encode(state_), state_stored_)
                        : Status();
}

Status FilterWindow::flush() {
  CUCKOO_TRY(poison_.error());
  if (!pending()) {
    return newest_->flush();  // an error if it is poisoned
  }
  return poison_.writing([this]() -> Status {
    CUCKOO_TRY(write_to(storage_));
    for (FilterFile* const one : older_) {  // an import or changes may have made them
      CUCKOO_TRY(one->flush());
    }
    CUCKOO_TRY(newest_->flush());
    to_erase_.clear();
    state_stored_ = state_stored_ || state_changed_;
    state_changed_ = erases_all_ = false;
    return {};
  });
}

// --- checking ------------------------------------------------------------------------------------

Status FilterWindow::check_strays(bool amid_parts) const {
  const auto expect_none = [this](int64_t first, int64_t last) {
    return storage_.read(first, last, [](int64_t id, std::span<const std::byte>) -> Status {
      return in_block(id, corrupt("does not belong here"));
    });
  };
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  if (amid_parts) {
    const Blocks blocks(storage_, created_.block_seed());
    CUCKOO_TRY(blocks.read(kFirstStagedBlock, kStagedBlock,
                           [](int64_t, std::span<const std::byte>) { return Status(); }));
  }
  const int64_t own = single() ? kWindowBlock + 1 : kWindowBlock;
  CUCKOO_TRY(expect_none(kLowest, (amid_parts ? kFirstStagedBlock : own) - 1));
  CUCKOO_TRY(expect_none(kStagedBlock + 1, own - 1));
  for (uint64_t age = state_.held; age < files_.size(); ++age) {
    const uint64_t slot = slot_of(state_.rotation + files_.size() - age);
    CUCKOO_TRY(expect_none(first_block_of(slot), last_block_of(slot)));
  }
  return expect_none(first_block_of(files_.size()), kHighest);
}

Status FilterWindow::check(bool amid_parts) const {
  CUCKOO_TRY(poison_.error());
  OverlayBlocks flushed(storage_);
  CUCKOO_TRY(write_to(flushed));
  for (const FilterFile* const one : older_) {
    CUCKOO_TRY(one->write_pending_to(flushed));
  }
  CUCKOO_TRY(newest_->write_pending_to(flushed));
  FilterWindow opened(newest_->options(), flushed);
  CUCKOO_TRY(opened.refresh());
  CUCKOO_TRY(opened.check_strays(amid_parts));
  if (opened.state_ != state_) {
    return corrupt("memory that is not what is stored");
  }
  CUCKOO_TRY(opened.newest_->check(*newest_));
  for (size_t i = 0; i < older_.size(); ++i) {
    CUCKOO_TRY(opened.older_[i]->check(*older_[i]));
  }
  return opened.generation_items() == generation_items()
             ? Status()
             : corrupt("memory that is not what is stored");
}

// --- figures -------------------------------------------------------------------------------------

template <class Number, class Figure>
Number FilterWindow::sum(Figure&& figure) const {
  Number total = figure(std::as_const(*newest_));
  for (const FilterFile* const one : older_) {
    total += figure(*one);
  }
  return total;
}

std::vector<uint64_t> FilterWindow::generation_items() const {
  std::vector<uint64_t> items = {newest_->items()};
  for (const FilterFile* const one : older_) {
    items.push_back(one->items());
  }
  return items;
}

uint64_t FilterWindow::items() const {
  return sum<uint64_t>([](const FilterFile& one) { return one.items(); });
}

bool FilterWindow::keeps_hashes() const noexcept {
  return newest_->keeps_hashes() && std::all_of(older_.begin(), older_.end(), [](const auto* one) {
           return one->keeps_hashes();
         });
}

Result<std::vector<HashReader>> FilterWindow::hash_readers() {
  std::vector<HashReader> readers;
  CUCKOO_ASSIGN_OR_RETURN(readers.emplace_back(), newest_->hash_reader());
  for (FilterFile* const one : older_) {
    CUCKOO_ASSIGN_OR_RETURN(readers.emplace_back(), one->hash_reader());
  }
  return readers;
}

uint64_t FilterWindow::key_types() const noexcept {
  uint64_t types = newest_->key_types();
  for (const FilterFile* const one : older_) {
    types |= one->key_types();
  }
  return types;
}

// A key that was never added seems present if it does in one generation or more. A rate that was
// asked for is that of all generations together. A rate that follows from a size is that of one
// generation.
double FilterWindow::target_rate() const noexcept {
  const double rate = newest_->target_rate();
  return options().spec.has_own_size()
             ? -std::expm1(std::log1p(-rate) * static_cast<double>(options().generations))
             : rate;
}

double FilterWindow::rate_now() const {
  return -std::expm1(
      sum<double>([](const FilterFile& one) { return std::log1p(-one.rate_now()); }));
}

uint64_t FilterWindow::log_entries() const noexcept {
  return sum<uint64_t>([](const FilterFile& one) { return one.log_entries(); });
}

size_t FilterWindow::memory_bytes() const {
  return sum<size_t>([](const FilterFile& one) { return one.memory_bytes(); });
}

uint64_t FilterWindow::stored_bytes() const {
  const uint64_t own = single() ? 0 : kWindowStateBytes + kPageCrcBytes;
  return own + sum<uint64_t>([](const FilterFile& one) { return one.stored_bytes(); });
}

}  // namespace cuckoo::segments
