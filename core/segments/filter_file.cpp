// FilterFile: opening and following, asking and changing, the end of a transaction, and its check.
#include "core/segments/filter_file.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/filter/sizing.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

// --- making and following ------------------------------------------------------------------------

Status FilterFile::create(uint64_t past) {
  CUCKOO_TRY(blocks_.create(past));
  turns_.begin();
  blocks_.poison().note_current();
  return {};
}

void FilterFile::forget() noexcept {
  blocks_.forget();
  turns_.begin();
}

Status FilterFile::refresh() {
  CUCKOO_TRY(poison_error());
  if (blocks_.changed()) {
    return {};
  }
  const bool known = usable();
  blocks_.poison().forget();
  CUCKOO_TRY(blocks_.follow(known));
  blocks_.poison().note_current();
  return {};
}

// --- asking --------------------------------------------------------------------------------------

Status FilterFile::load(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(Segment* const found, blocks_.current_of(hash));
  return found->load(blocks_.storage(), hash);
}

Result<bool> FilterFile::load_and_probe(uint64_t hash) {
  Answer answer = probe(hash);
  if (answer == Answer::kNotLoaded) {
    if (blocks_.directory().leaf(blocks_.directory().leaf_of(hash)).untouched()) {
      return false;
    }
    CUCKOO_TRY(load(hash));
    answer = probe(hash);
  }
  return answer == Answer::kPresent;
}

Result<uint64_t> FilterFile::count(uint64_t hash) {
  if (blocks_.directory().leaf(blocks_.directory().leaf_of(hash)).untouched()) {
    return uint64_t{0};
  }
  CUCKOO_TRY(load(hash));
  return blocks_.directory().segment_of(hash)->count(hash);
}

uint64_t FilterFile::history() const {
  return chain_with(blocks_.log().chain(), blocks_.root().directory_version);
}

size_t FilterFile::memory_bytes() const {
  size_t bytes = blocks_.log().memory_bytes();
  for (size_t i = 0; i < blocks_.directory().size(); ++i) {
    const Directory::Leaf& leaf = blocks_.directory().leaf(i);
    bytes += sizeof leaf + leaf.header.memory_bytes() + leaf.pending.memory_bytes() +
             (leaf.segment != nullptr ? leaf.segment->memory_bytes() : 0);
  }
  return bytes;
}

// --- changing ------------------------------------------------------------------------------------

Status FilterFile::full_error(uint64_t more) const {
  std::string held = std::to_string(items()) + " items, ";
  if (more > 1) {
    held += "and " + std::to_string(more) + " more do not fit: ";
  }
  if (keeps_hashes()) {
    return Error{ErrorCode::kFull, held + "as many as hashes of " +
                                       std::to_string(static_cast<int>(options_.width)) +
                                       " bits can tell apart at this rate"};
  }
  return Error{ErrorCode::kFull,
               held + "its capacity of " + std::to_string(blocks_.root().capacity) +
                   (more > 1 ? " would be exceeded, and " : " is reached, and ") +
                   (options_.growth ? "it came without hashes: it can't grow" : "growth is off")};
}

// In a filter without hashes whose keys share cells, the cells say when it is full: make_room().
uint64_t FilterFile::most_items() const noexcept {
  if (keeps_hashes()) {
    return blocks_.limits().items;
  }
  return traits_of(options_.spec.kind).slot_per_item ? blocks_.root().capacity : kMaxCapacity;
}

// Returns kFull if there is no room for an absent hash. Call it before the hash is added to a
// filter without hashes whose keys share cells.
//
// A single segment is full when its cells say so. Where there are several segments, chance decides
// how many keys each gets. So `capacity` keys are always taken. More are taken only where the cells
// allow it: in a counting filter, because its items may be copies, and in a set, because its items
// leave out the keys that seemed present. At a rate of 25 % one key in ten is not counted by the
// time a set is full. So a set is also full when the cells of most segments, and of the key's own
// segment, say so. The own segment alone may be full because the keys were chosen for it.
//
// Cells know nothing of adds beyond the pages. So a segment that has some is folded first.
Status FilterFile::make_room(uint64_t hash) {
  const bool several = blocks_.directory().size() > 1;
  const bool reached = items() >= blocks_.root().capacity;
  if (several && options_.multiset() && !reached) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const Segment* own, blocks_.current_of(hash));
  if (own->has_beyond()) {
    CUCKOO_TRY(turns_.fold(blocks_.directory().leaf_of(hash)));
    CUCKOO_ASSIGN_OR_RETURN(own, blocks_.current_of(hash));
  }
  const uint64_t capacity = own->header().capacity;
  if (!several) {
    return own->filter().full(items(), capacity) ? full_error() : Status();
  }
  if (options_.multiset()) {
    return own->filter().full(own->items(), capacity) ? full_error() : Status();
  }
  if (!reached && own->filter().full(0, capacity)) {
    CUCKOO_TRY(blocks_.apply_all());
    return most_are_full() ? full_error() : Status();
  }
  return reached ? full_error() : Status();
}

// Returns whether the next add to a set may wait to be counted: it can't be refused, however many
// of the waiting adds will count. The chance that a new key is not counted is never above the rate
// of a full filter.
bool FilterFile::may_wait() {
  constexpr uint64_t kFewest = 4096;  // so that a filter that is nearly full need not count often
  constexpr uint64_t kParts = 64;
  if (!keeps_hashes() && blocks_.directory().size() == 1) {
    return false;
  }
  uint64_t most = most_items();
  if (!keeps_hashes()) {
    const uint64_t lost = 1 + static_cast<uint64_t>(target_rate() * kParts);
    most = blocks_.root().capacity / kParts * (kParts - std::min(lost, kParts));
  }
  return blocks_.most_items() + kFewest < most || items() + kFewest < most;
}

// There must be room for it, or something to remove.
void FilterFile::append(uint64_t entry, uint64_t copies) {
  turns_.append(entry, copies);
  if (options_.multiset()) {
    const auto items = static_cast<int64_t>(copies);
    blocks_.add_items((entry & kRemoveBit) == 0 ? items : -items);
  }
}

// Adds a hash without make_way(), so that replace() can add and remove in one step. A hash that
// only seems present is logged all the same. Otherwise it would get lost in the next remake, or in
// a copy of the same mark that folds at other times: it may be absent from the cells of that copy.
Status FilterFile::add(uint64_t hash, uint64_t copies) {
  const uint64_t most = most_items();
  if (options_.multiset()) {
    if (copies > most - std::min(most, items())) {
      return full_error(copies);
    }
    if (!traits_of(options_.spec.kind).slot_per_item && !keeps_hashes()) {
      CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
      CUCKOO_TRY(present ? Status() : make_room(hash));
    }
  } else {
    CUCKOO_TRY(blocks_.expect_add(hash));
    if (!may_wait()) {
      CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
      if (!present && items() >= most) {
        return full_error();
      }
      CUCKOO_TRY(present || keeps_hashes() ? Status() : make_room(hash));
    }
  }
  append(hash, copies);
  return {};
}

Result<uint64_t> FilterFile::removable(uint64_t hash) {
  if (!options_.multiset() ||
      blocks_.directory().leaf(blocks_.directory().leaf_of(hash)).untouched()) {
    return uint64_t{0};
  }
  CUCKOO_TRY(load(hash));
  return blocks_.directory().segment_of(hash)->removable(hash);
}

// Removes so many copies, or all that are there. Returns how many.
Result<uint64_t> FilterFile::take_away(uint64_t hash, uint64_t copies) {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t found, removable(hash));
  copies = std::min(copies, found);
  if (copies > 0) {
    append(hash | kRemoveBit, copies);
  }
  return copies;
}

Status FilterFile::insert(uint64_t hash) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(turns_.make_way());
  return add(hash);
}

Status FilterFile::insert_copies(uint64_t hash, uint64_t copies) {
  if (copies == 1) {
    return insert(hash);
  }
  CUCKOO_TRY(poison_error());
  if (!options_.counts_copies() || copies == 0 || copies > kMostCopies) {
    return invalid(std::to_string(copies) + " occurrences at once of a hash that counts once, or" +
                   " more than 2^31 of them");
  }
  CUCKOO_TRY(turns_.make_way());
  return add(hash, copies);
}

Result<uint64_t> FilterFile::remove_copies(uint64_t hash, uint64_t copies) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(turns_.make_way());
  return take_away(hash, std::min(copies, kMostCopies));
}

Result<bool> FilterFile::insert_new(uint64_t hash) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(turns_.make_way());
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(hash));
  if (present) {
    return false;
  }
  CUCKOO_TRY(add(hash));
  return true;
}

Result<bool> FilterFile::remove(uint64_t hash) {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t removed, remove_copies(hash, 1));
  return removed > 0;
}

bool FilterFile::share_cells(uint64_t a, uint64_t b) {
  const size_t index = blocks_.directory().leaf_of(a);
  if (blocks_.directory().leaf_of(b) != index) {
    return false;
  }
  const Segment& segment = *blocks_.directory().leaf(index).segment;
  const unsigned depth = segment.header().depth;
  uint64_t of_a[Filter::kMaxPlaces];
  uint64_t of_b[Filter::kMaxPlaces];
  const std::span<const uint64_t> first(of_a, segment.filter().cells_of(a << depth, of_a));
  const std::span<const uint64_t> second(of_b, segment.filter().cells_of(b << depth, of_b));
  return std::find_first_of(first.begin(), first.end(), second.begin(), second.end()) !=
         first.end();
}

// Loads all pages that it needs before it changes anything. If `from` and `to` share no cells, it
// refuses a present `to` before it removes `from`. Removing a `from` that was never added, and
// adding it again, would leave a change.
Result<FilterFile::Replaced> FilterFile::replace(uint64_t from, uint64_t to, IfPresent if_present) {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(turns_.make_way());
  CUCKOO_TRY(load(to));
  CUCKOO_ASSIGN_OR_RETURN(const bool found, load_and_probe(from));
  if (!found) {
    return Replaced::kNoSuch;
  }
  if (if_present == IfPresent::kRefuse && !share_cells(from, to)) {
    CUCKOO_ASSIGN_OR_RETURN(const bool refused, load_and_probe(to));
    if (refused) {
      return Replaced::kRefused;
    }
  }
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t removed, take_away(from));
  const auto undo = [&] {
    if (removed > 0) {
      append(from, removed);
    }
  };
  CUCKOO_ASSIGN_OR_RETURN(const bool present, load_and_probe(to));
  if (if_present != IfPresent::kAdd && present) {
    if (if_present == IfPresent::kLeave) {
      return Replaced::kDone;
    }
    undo();
    return Replaced::kRefused;
  }
  if (Status added = add(to); !added.ok()) {
    undo();
    return added;
  }
  return Replaced::kDone;
}

// --- a transaction's end -------------------------------------------------------------------------

Status FilterFile::finish_load() {
  CUCKOO_TRY(poison_error());
  return turns_.finish();
}

Status FilterFile::fold_all() {
  CUCKOO_TRY(poison_error());
  CUCKOO_TRY(turns_.fold_all());
  turns_.begin();
  return {};
}

Status FilterFile::clear() {
  CUCKOO_TRY(poison_error());
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, limits_for(options_, options_.capacity));
  return blocks_.poison().changing([&]() -> Status {
    blocks_.clear(limits);
    return {};
  });
}

// --- writing -------------------------------------------------------------------------------------

Status FilterFile::flush() {
  CUCKOO_TRY(poison_error());
  if (!blocks_.changed()) {
    return {};
  }
  CUCKOO_TRY(blocks_.count_all());
  return blocks_.poison().writing([this]() -> Status {
    FilterBlocks::Written written;
    CUCKOO_TRY(blocks_.write_to(blocks_.storage(), turns_.kept_entries(), written));
    blocks_.note_written(std::move(written));
    return {};
  });
}

Status FilterFile::write_pending_to(BlockStorage& storage) const {
  CUCKOO_TRY(poison_error());
  if (!blocks_.changed()) {
    return {};
  }
  CUCKOO_TRY(blocks_.count_all());
  FilterBlocks::Written written;
  return blocks_.write_to(blocks_.storage().over(storage), turns_.kept_entries(), written);
}

// --- check ---------------------------------------------------------------------------------------

namespace {

// Checks the segments of a filter that was just read, and those of the same filter in memory. Opens
// one at a time.
Status check_segments(FilterBlocks& stored, const FilterBlocks& memory) {
  const bool keeps_hashes = memory.keeps_hashes();
  uint64_t items = 0;
  uint64_t blocks = 0;
  if (memory.directory().size() != stored.directory().size()) {
    return corrupt("a directory in memory that is not what is stored");
  }
  for (size_t i = 0; i < stored.directory().size(); ++i) {
    const Directory::Leaf& leaf = stored.directory().leaf(i);
    const Directory::Leaf& known = memory.directory().leaf(i);
    if (known.prefix != leaf.prefix || known.depth != leaf.depth ||
        known.pending.size() != leaf.pending.size() ||
        !known.pending.begins_with(leaf.pending, leaf.pending.size())) {
      return corrupt("a list of entries in memory that is not what is in the log (I4)");
    }
    if (leaf.untouched()) {
      continue;
    }
    CUCKOO_ASSIGN_OR_RETURN(Segment* const found, stored.segment(i));
    const SegmentHeader& header = found->header();
    CUCKOO_TRY(header.number == 0 ? found->load_all(stored.storage())
                                  : found->check(stored.storage(), leaf.pending, keeps_hashes));
    if (known.segment != nullptr) {
      found->apply(leaf.pending, known.segment->applied(), {.keeps_hashes = keeps_hashes});
      CUCKOO_TRY(found->expect_same(*known.segment));
    }
    found->apply(leaf.pending, leaf.pending.size(), {.keeps_hashes = keeps_hashes});
    items += found->items();
    blocks += found->stored_blocks();
    stored.directory().leaf(i).segment.reset();
  }
  if (memory.options().multiset() && items != memory.items()) {
    return corrupt("segments and log of " + std::to_string(items) + " items, expected " +
                   std::to_string(memory.items()));
  }
  uint64_t found = 0;  // differs from `blocks` if a block is that of no segment, or of two
  CUCKOO_TRY(stored.storage().read(segment_block(1, 0), kFirstLogBlock - 1,
                                   [&](int64_t, std::span<const std::byte>) -> Status {
                                     ++found;
                                     return stored.poll();
                                   }));
  return found == blocks ? Status()
                         : corrupt(std::to_string(found) + " blocks of segments, expected " +
                                   std::to_string(blocks));
}

}  // namespace

Status FilterFile::check(const FilterFile& memory) const {
  CUCKOO_TRY(poison_error());
  FilterBlocks stored(options_, blocks_.storage());
  CUCKOO_TRY(stored.follow(false));
  if (stored.root() != blocks_.root() || stored.log().position() != blocks_.log().position() ||
      stored.items() != items()) {
    return corrupt("memory that is not what is stored");
  }
  CUCKOO_TRY(stored.check());
  CUCKOO_TRY(memory.blocks_.directory().check());
  return check_segments(stored, memory.blocks_);
}

}  // namespace cuckoo::segments
