// LoggedFilter's new epochs: rebuild() from the log, clear(), import(), unite(); and
// the copy of a filter that an export needs, contents().
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/stored/hash_sort.hpp"
#include "core/stored/logged_filter.hpp"

namespace cuckoo {
namespace {

// Stands for all that is in a filter's pages, of which all are in memory, and its overflow table.
// Zero pages count too, but not in a filter that is longer than any BLOB: there they could take
// more time than all others.
uint64_t content_id(const Filter& filter) noexcept {
  constexpr uint64_t kLongestBlob = uint64_t{1} << 31;
  const PageSet& pages = filter.pages();
  const uint64_t count = pages.page_count();
  const bool all = count <= kLongestBlob / pages.page_bytes();
  uint64_t id = filter.overflow().digest();
  for (uint64_t index = all ? 0 : pages.next_backed(0); index < count;
       index = all ? index + 1 : pages.next_backed(index + 1)) {
    const std::byte* const page = pages.find(index);
    const size_t bytes = filter.content_bytes(index);
    if (all || !all_zero({page, bytes})) {
      id = XXH3_64bits_withSeed(page, bytes, id + index);
    }
  }
  return id;
}

}  // namespace

// All of the log, its rows written; or what is folded into the pages.
LogExtent LoggedFilter::log_extent(Extent which) const noexcept {
  const bool all = which == Extent::kAll;
  LogExtent extent;
  extent.first_row = static_cast<int64_t>(record_.first_row);
  extent.last_row = all ? tail_.last_row() : static_cast<int64_t>(record_.fold_row) - 1;
  extent.start_chain = record_.start_chain;
  extent.start_position = record_.start_position;
  extent.start_items = record_.start_items;
  extent.end_chain = all ? tail_.chain() : record_.fold_chain;
  extent.end_position = all ? tail_.position() : record_.fold_position;
  extent.multiset = multiset();
  return extent;
}

Result<uint64_t> LoggedFilter::next_epoch() const {
  if (record_.epoch >= kMaxEpoch) {
    return Error{ErrorCode::kFull, "rebuilt as often as row ids allow", 0};
  }
  return record_.epoch + 1;
}

Status LoggedFilter::rebuild(uint64_t capacity) {
  if (!keeps_hashes()) {
    return invalid(options_.growth
                       ? "its contents came without hashes to rebuild from; 'clear' begins anew"
                       : "needs the hashes that only growth = on keeps");
  }
  return replay_into_epoch(capacity, false);
}

// What a filter made for everything in the log must hold.
uint64_t LoggedFilter::needed_capacity(const LogReplay& replay) const noexcept {
  return slot_per_item() ? replay.entries() : replay.hashes();
}

// Of a new epoch that must hold so much. What is there fits into any; and there is room for
// half as much again when the filter outgrew its capacity, but for a resize, which is what somebody
// asked for.
uint64_t LoggedFilter::capacity_for(uint64_t needed, uint64_t capacity, bool grow) const noexcept {
  const bool asked = !grow && capacity != record_.capacity;
  if (needed > capacity && asked) {
    return needed;
  }
  if (needed > capacity || grow) {
    const uint64_t roomy = std::max(std::min(needed + needed / 2, item_limit_), needed);
    return std::max(capacity, roomy);
  }
  return capacity;
}

// `grow`: to more than what is needed, whatever the capacity. `tail`: its entries, ascending, if
// all of them are adds; else they are read back.
Status LoggedFilter::replay_into_epoch(uint64_t capacity, bool grow,
                                       std::optional<LargeVector<uint64_t>> tail) {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t epoch, next_epoch());
  CUCKOO_TRY(poison_.writing([&]() -> Status {
    CUCKOO_TRY(erase_other_epochs());  // all of it is made anew
    if (tail) {
      return {};
    }
    tail_.put_rows();
    return tail_.write(storage_);
  }));
  LogReplay replay(storage_, options_.width, options_.unique);
  CUCKOO_TRY(tail ? replay.read(log_extent(Extent::kFolded), std::move(*tail))
                  : replay.read(log_extent(Extent::kAll)));
  const uint64_t needed = needed_capacity(replay);
  FilterContents contents;
  contents.capacity = capacity_for(needed, capacity, grow);
  CUCKOO_ASSIGN_OR_RETURN(contents.filter, options_.make_filter_for(contents.capacity));
  contents.filter->pages().complete();
  contents.items = multiset() ? replay.items() : items();
  contents.hashes = [&replay](const CountedHashSink& sink) { return replay.merge(sink); };
  contents.hash_count = replay.hashes();
  // With nothing dropped and the same geometry, copies that were up to date stay so.
  if (replay.dropped() == 0 && contents.filter->words() == base().words() &&
      contents.capacity == record_.capacity) {
    CUCKOO_ASSIGN_OR_RETURN(contents.mark, mark());
  }
  const std::unique_ptr<FilterBuilder> builder =
      contents.filter->builder(needed, Filter::Digest::kSum);
  return poison_.writing([&] { return write_epoch(std::move(contents), epoch, builder.get()); });
}

// Writes the contents' hashes as a compacted log, gives them to the builder (if there is one),
// erases the old epoch and becomes the new one.
Status LoggedFilter::write_epoch(FilterContents contents, uint64_t epoch, FilterBuilder* builder) {
  FilterRecord next = empty_record(*contents.filter, contents.capacity, epoch, tail_.chain());
  CUCKOO_TRY(write_hashes(contents, next, builder));
  CUCKOO_TRY(erase_epoch());
  start_epoch(next, std::move(contents.filter));
  return contents.mark ? take_mark(*contents.mark) : Status();
}

Status LoggedFilter::write_hashes(const FilterContents& contents, FilterRecord& next,
                                  FilterBuilder* builder) {
  constexpr uint64_t kHashesPerPoll = 1024;
  auto next_row = static_cast<int64_t>(next.first_row);
  CompactedRowWriter writer(
      options_.width, options_.row_bytes(), contents.hash_count, next.start_chain,
      [&](std::span<const std::byte> row) { return storage_.write_log(next_row++, row, false); },
      multiset() ? std::nullopt : std::optional(contents.items));
  uint64_t handed = 0;
  CUCKOO_TRY(contents.hashes([&](uint64_t hash, uint64_t count) -> Status {
    if (builder != nullptr) {
      builder->insert(hash, count);
    }
    if (++handed % kHashesPerPoll == 0) {
      CUCKOO_TRY(storage_.poll());
    }
    return writer.add(hash, count);
  }));
  if (builder != nullptr) {
    builder->finish();
    next.cells_digest = builder->digest();
  }
  CUCKOO_TRY(writer.finish());
  if (handed != contents.hash_count) {
    return corrupt(std::to_string(handed) + " hashes, expected " +
                   std::to_string(contents.hash_count));
  }
  next.start_items = multiset() ? 0 : contents.items;
  next.compacted_entries = writer.position();
  next.fold_position = writer.position();
  next.fold_chain = writer.chain();
  next.fold_items = writer.items();
  next.fold_row = static_cast<uint64_t>(next_row);
  next.base_id = first_base_id(next);
  return {};
}

void LoggedFilter::adopt(const FilterRecord& record, std::unique_ptr<Filter> base) noexcept {
  record_ = record;
  drop_bulk();
  pages_.start(options_, record_, std::move(base));
  tail_.start(record_);
  base_changed_ = dirty_ = true;
}

void LoggedFilter::start_epoch(const FilterRecord& record, std::unique_ptr<Filter> base) noexcept {
  adopt(record, std::move(base));
  set_limits();
  note_fold();
}

// The pages, log rows and overflow entries of the current epoch.
Status LoggedFilter::erase_epoch() {
  if (static_cast<int64_t>(record_.first_row) <= tail_.last_row()) {
    CUCKOO_TRY(storage_.erase_log(static_cast<int64_t>(record_.first_row), tail_.last_row()));
  }
  return pages_.erase(record_);
}

Status LoggedFilter::clear() {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t epoch, next_epoch());
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> base,
                          options_.make_filter_for(options_.capacity));
  return poison_.writing([&]() -> Status {
    CUCKOO_TRY(erase_other_epochs());
    CUCKOO_TRY(erase_epoch());
    FilterRecord fresh = empty_record(*base, options_.capacity, epoch, tail_.chain());
    fresh.older = fresh.key_types = 0;
    start_epoch(fresh, std::move(base));
    return {};
  });
}

// --- from outside --------------------------------------------------------------------------------

Status LoggedFilter::import(const FilterOptions& options, FilterContents contents) {
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t epoch, next_epoch());
  contents.filter->pages().complete();
  return poison_.writing([&] { return replace_contents(options, std::move(contents), epoch); });
}

Status LoggedFilter::replace_contents(const FilterOptions& options, FilterContents contents,
                                      uint64_t epoch) {
  CUCKOO_TRY(erase_other_epochs());
  CUCKOO_TRY(erase_epoch());
  const uint64_t chain = tail_.chain();
  options_ = options;
  tail_ = LogTail(options_);
  Filter& filter = *contents.filter;
  FilterRecord next = empty_record(filter, contents.capacity, epoch, chain);
  next.key_types = options_.format > 1 ? contents.key_types : 0;
  if (options_.growth && contents.hashes != nullptr) {
    CUCKOO_TRY(write_hashes(contents, next, nullptr));
  } else {
    // Cells may be in use without an item: removes of keys that only seemed to be present.
    next.hashless = options_.growth && (contents.items > 0 || filter.occupied() > 0) ? 1 : 0;
    next.start_items = next.fold_items = contents.items;
  }
  next.cells_digest = filter.digest();
  next.base_id = log_chain_restart(first_base_id(next), content_id(filter));
  PageSet& pages = filter.pages();
  for (uint64_t index = pages.next_backed(0); index < pages.page_count();
       index = pages.next_backed(index + 1)) {
    if (!all_zero({pages.find(index), filter.content_bytes(index)})) {
      pages.mark_dirty(index);
    }
  }
  start_epoch(next, std::move(contents.filter));
  return contents.mark ? take_mark(*contents.mark) : Status();
}

Status LoggedFilter::unite(const Filter& other, uint64_t items) {
  if (other.kind() != base().kind() || other.words() != base().words()) {
    return invalid("filters of different geometry can be merged by their hashes only");
  }
  if (keeps_hashes() && this->items() > 0) {
    return invalid(
        "what comes without hashes can be merged into an empty filter only, or into one"
        " with growth = off");
  }
  if (slot_per_item() && base().overfull(this->items() + items, record_.capacity)) {
    return more_than_fit(items);  // now, not after a long search for places that there aren't
  }
  CUCKOO_TRY(change_pages([&](Filter& base) -> Result<ChangedPages> {
    CUCKOO_ASSIGN_OR_RETURN(const uint64_t united, unite_pages(other, items));
    return ChangedPages{united, other.digest(), content_id(base)};
  }));
  record_.hashless = options_.growth ? 1 : 0;
  set_limits();
  return {};
}

// Everything is folded, and the change made to the pages in memory, past the log. A refusal leaves
// what storage holds, any other failure poisons (I7).
Status LoggedFilter::change_pages(const std::function<Result<ChangedPages>(Filter& base)>& change) {
  CUCKOO_TRY(fold());
  CUCKOO_TRY(poison_.writing([this] { return erase_other_epochs(); }));
  CUCKOO_TRY(flush());
  CUCKOO_TRY(pages_.load_all(record_));
  base_changed_ = true;
  valid_ = base_valid_ = false;  // what is thrown leaves a part of it in memory
  Result<ChangedPages> changed = change(pages_.filter());
  if (!changed.ok()) {
    const ErrorCode code = changed.error().code;
    forget();  // what storage holds is as before
    if (code != ErrorCode::kInvalid && code != ErrorCode::kFull) {
      poison_.poison();
    }
    return changed.take_status();
  }
  const auto& [items, digest, id] = changed.value();
  valid_ = base_valid_ = true;
  record_.cells_digest += digest;
  record_.base_id = log_chain_restart(record_.base_id, id);
  record_.fold_items = items;
  if (record_.first_row == record_.fold_row) {  // else the flush erases the log and does this
    record_.start_items = items;
  }
  tail_.start(record_);
  note_fold();
  dirty_ = true;
  return {};
}

Status LoggedFilter::expect_room(uint64_t items) const {
  const uint64_t room = item_limit_ - std::min(item_limit_, this->items());
  if (!multiset() || items <= room) {
    return {};
  }
  if (!keeps_hashes()) {
    return more_than_fit(items);
  }
  return Error{ErrorCode::kFull, std::to_string(this->items()) + " items, and " +
                                     std::to_string(items) + " more would exceed the " +
                                     std::to_string(item_limit_) + " that hashes of " +
                                     std::to_string(static_cast<int>(options_.width)) +
                                     " bits can tell apart at this rate"};
}

Status LoggedFilter::more_than_fit(uint64_t items) const {
  return Error{ErrorCode::kFull, std::to_string(this->items()) + " items, and " +
                                     std::to_string(items) + " more would exceed its capacity of " +
                                     std::to_string(record_.capacity)};
}

// In memory; how many items there are then.
Result<uint64_t> LoggedFilter::unite_pages(const Filter& other, uint64_t items) {
  Filter& base = pages_.filter();
  CUCKOO_TRY(base.unite(other, [this] { return storage_.poll(); }));
  const uint64_t united = base.united_items(this->items(), items, record_.capacity);
  if (base.overfull(united, record_.capacity)) {
    return more_than_fit(items);
  }
  return united;
}

// Base and tail, in a filter of the base's geometry.
Result<std::unique_ptr<Filter>> LoggedFilter::copy_with_tail() {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> copy, pages_.copy(record_));
  CUCKOO_TRY(tail_.net_entries(base()).apply_to(*copy).take_status());
  return copy;
}

Status LoggedFilter::expect_hashes() const {
  if (!keeps_hashes()) {
    return invalid(options_.growth ? "its contents came without hashes"
                                   : "keeps no hashes, as growth is off");
  }
  return {};
}

// All that was logged, whether or not its rows are written.
Result<std::shared_ptr<LogReplay>> LoggedFilter::replay_with_tail() {
  CUCKOO_TRY(expect_hashes());
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<uint64_t> tail, tail_.entries_in_order(storage_));
  auto replay = std::make_shared<LogReplay>(storage_, options_.width, options_.unique);
  CUCKOO_TRY(replay->read(log_extent(Extent::kFolded), sorted_by_hash(tail, options_.width)));
  return replay;
}

Result<HashSource> LoggedFilter::hashes() {
  CUCKOO_ASSIGN_OR_RETURN(const std::shared_ptr<LogReplay> replay, replay_with_tail());
  return HashSource([replay](const CountedHashSink& sink) { return replay->merge(sink); });
}

Result<FilterContents> LoggedFilter::contents(bool with_hashes) {
  if (with_hashes) {
    CUCKOO_TRY(expect_hashes());
  }
  FilterContents contents;
  CUCKOO_ASSIGN_OR_RETURN(contents.filter, copy_with_tail());
  contents.capacity = record_.capacity;
  contents.items = items();
  contents.key_types = record_.key_types;
  CUCKOO_ASSIGN_OR_RETURN(contents.mark, mark());
  const bool outgrown = keeps_hashes() && contents.filter->outgrown(items(), record_.capacity);
  if (with_hashes || outgrown) {
    CUCKOO_TRY(remake(contents, outgrown));
  }
  return contents;
}

// From the hashes: they are what a filter holds, also where a remove broke something.
Status LoggedFilter::remake(FilterContents& contents, bool outgrown) {
  CUCKOO_ASSIGN_OR_RETURN(const std::shared_ptr<LogReplay> replay, replay_with_tail());
  const uint64_t needed = needed_capacity(*replay);
  contents.hash_count = replay->hashes();
  contents.hashes = [replay](const CountedHashSink& sink) { return replay->merge(sink); };
  contents.items = multiset() ? replay->items() : items();
  if (outgrown) {
    contents.capacity = std::max(record_.capacity, needed);
  }
  if (replay->dropped() > 0 || contents.capacity != record_.capacity) {
    contents.mark.reset();
  }
  CUCKOO_ASSIGN_OR_RETURN(contents.filter, options_.make_filter_for(contents.capacity));
  return fill(*contents.filter, needed, contents.hashes);
}

}  // namespace cuckoo
