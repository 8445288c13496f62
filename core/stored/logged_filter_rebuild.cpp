// LoggedFilter's new generations of rows: rebuild() from the log, clear(), import(), unite(); and
// the copy of a filter that an export needs, contents().
#include <algorithm>
#include <map>
#include <string>

#include "core/base/page_row.hpp"
#include "core/stored/logged_filter.hpp"

namespace cuckoo {
namespace {

bool is_zero(const std::byte* bytes, size_t count) noexcept {
  return std::all_of(bytes, bytes + count, [](std::byte byte) { return byte == std::byte{0}; });
}

// Stands for all that is in a filter's pages, of which all are in memory, and its overflow table.
// Zero pages count too, but not in a filter that is longer than any BLOB: there they could take
// more time than all others.
uint64_t content_id(const Filter& filter) noexcept {
  constexpr uint64_t kLongestBlob = uint64_t{1} << 31;
  const PageSet& pages = filter.pages();
  const uint64_t count = pages.page_count();
  const bool all = count <= kLongestBlob / pages.page_bytes();
  uint64_t id = filter.overflow().digest();
  for (uint64_t index = all ? 0 : pages.next_owned(0); index < count;
       index = all ? index + 1 : pages.next_owned(index + 1)) {
    const std::byte* const page = pages.find(index);
    const size_t bytes = filter.content_bytes(index);
    if (all || !is_zero(page, bytes)) {
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
  extent.last_row = all ? row_id_ : static_cast<int64_t>(record_.fold_row) - 1;
  extent.start_chain = record_.start_chain;
  extent.start_position = record_.start_position;
  extent.start_items = record_.start_items;
  extent.end_chain = all ? row_.chain() : record_.fold_chain;
  extent.end_position = all ? position() : record_.fold_position;
  extent.multiset = multiset();
  return extent;
}

Result<uint64_t> LoggedFilter::next_generation() const {
  const uint64_t last = std::max(record_.generation, generation_floor_);
  if (last >= kMaxGeneration) {
    return Error{ErrorCode::kFull, "rebuilt as often as row ids allow", 0};
  }
  return last + 1;
}

Status LoggedFilter::rebuild(uint64_t capacity) {
  if (!keeps_hashes()) {
    return invalid(options_.growth
                       ? "its contents came without hashes to rebuild from; 'clear' begins anew"
                       : "needs the hashes that only growth = on keeps");
  }
  return replay_into_generation(capacity, false);
}

// What a filter made for everything in the log must hold.
uint64_t LoggedFilter::needed_capacity(const LogReplay& replay) const noexcept {
  return cuckoo_ != nullptr ? replay.bucket_items() : replay.hashes();
}

// `grow`: to more than what is needed, whatever the capacity.
Status LoggedFilter::replay_into_generation(uint64_t capacity, bool grow) {
  Result<uint64_t> generation = next_generation();
  if (!generation.ok()) {
    return generation.take_status();
  }
  poisoned_ = true;
  CUCKOO_TRY(write_rows());
  poisoned_ = false;
  LogReplay replay(storage_, options_.width);
  CUCKOO_TRY(replay.read(log_extent(Extent::kAll)));
  const uint64_t needed = needed_capacity(replay);
  const bool asked = !grow && capacity != record_.capacity;  // resize: what is there fits, no more
  if (needed > capacity && asked) {
    capacity = needed;
  } else if (needed > capacity || grow) {
    const uint64_t roomy = std::max(std::min(needed + needed / 2, item_limit_), needed);
    capacity = std::max(capacity, roomy);
  }
  Result<std::unique_ptr<Filter>> base = filter_for(capacity);
  if (!base.ok()) {
    return base.take_status();
  }
  FilterContents contents;
  contents.filter = std::move(base.value());
  contents.filter->pages().complete();
  contents.capacity = capacity;
  contents.items = multiset() ? replay.items() : items_;
  contents.hashes = [&replay](const CountedHashSink& sink) { return replay.merge(sink); };
  contents.hash_count = replay.hashes();
  const std::unique_ptr<FilterBuilder> builder = contents.filter->builder(needed);
  poisoned_ = true;
  CUCKOO_TRY(write_generation(std::move(contents), generation.value(), builder.get()));
  poisoned_ = false;
  return {};
}

// Writes the contents' hashes as a compacted log, gives them to the builder (if there is one),
// erases the old generation and becomes the new one.
Status LoggedFilter::write_generation(FilterContents contents, uint64_t generation,
                                      FilterBuilder* builder) {
  FilterRecord next = empty_record(*contents.filter, contents.capacity, generation, row_.chain());
  CUCKOO_TRY(write_hashes(contents, next, builder));
  CUCKOO_TRY(erase_generation());
  start_generation(next, std::move(contents.filter));
  return {};
}

Status LoggedFilter::write_hashes(const FilterContents& contents, FilterRecord& next,
                                  FilterBuilder* builder) {
  constexpr uint64_t kHashesPerPoll = 1024;
  auto next_row = static_cast<int64_t>(next.first_row);
  CompactedRowWriter writer(
      options_.width, options_.page_bytes + kPageCrcBytes, contents.hash_count, next.start_chain,
      [&](std::span<const std::byte> row) { return storage_.write_log(next_row++, row, false); },
      multiset() ? std::nullopt : std::optional(contents.items));
  uint64_t digest = 0;
  uint64_t handed = 0;
  CUCKOO_TRY(contents.hashes([&](uint64_t hash, uint64_t count) -> Status {
    if (builder != nullptr) {
      builder->insert(hash, count);
    }
    digest += count * contents.filter->digest_of(hash);
    if (++handed % kHashesPerPoll == 0) {
      CUCKOO_TRY(storage_.poll());
    }
    return writer.add(hash, count);
  }));
  if (builder != nullptr) {
    builder->finish();
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
  next.cells_digest = digest;
  next.base_id = first_base_id(next);
  return {};
}

void LoggedFilter::start_generation(const FilterRecord& record,
                                    std::unique_ptr<Filter> base) noexcept {
  record_ = record;
  set_base(std::move(base));
  base_->pages().complete();  // its rows are still to be written
  all_loaded_ = true;
  reset_tail(record_);
  item_limit_ = item_limit();
  note_fold();
  dirty_ = true;
}

// The pages, log rows and overflow entries of the current generation of rows.
Status LoggedFilter::erase_generation() {
  if (static_cast<int64_t>(record_.first_row) <= row_id_) {
    CUCKOO_TRY(storage_.erase_log(static_cast<int64_t>(record_.first_row), row_id_));
  }
  if (record_.page_rows > 0) {
    CUCKOO_TRY(storage_.erase_pages(page_id(0), page_id(base_->pages().page_count() - 1)));
  }
  return storage_.erase_items(record_.generation);
}

Status LoggedFilter::clear() {
  Result<uint64_t> generation = next_generation();
  if (!generation.ok()) {
    return generation.take_status();
  }
  Result<std::unique_ptr<Filter>> base = filter_for(options_.capacity);
  if (!base.ok()) {
    return base.take_status();
  }
  poisoned_ = true;
  CUCKOO_TRY(erase_generation());
  FilterRecord fresh =
      empty_record(*base.value(), options_.capacity, generation.value(), row_.chain());
  fresh.older = fresh.key_types = 0;
  start_generation(fresh, std::move(base.value()));
  poisoned_ = false;
  return {};
}

// --- from outside --------------------------------------------------------------------------------

Status LoggedFilter::import(const FilterOptions& options, FilterContents contents) {
  Result<uint64_t> generation = next_generation();
  if (!generation.ok()) {
    return generation.take_status();
  }
  contents.filter->pages().complete();
  poisoned_ = true;
  CUCKOO_TRY(erase_generation());
  const uint64_t chain = row_.chain();
  options_ = options;
  row_ = RawRowBuilder(options_.width, options_.page_bytes + kPageCrcBytes);
  Filter& filter = *contents.filter;
  FilterRecord next = empty_record(filter, contents.capacity, generation.value(), chain);
  next.key_types = options_.format > 1 ? contents.key_types : 0;
  if (options_.growth && contents.hashes != nullptr) {
    CUCKOO_TRY(write_hashes(contents, next, nullptr));
  } else {
    next.hashless = options_.growth && contents.items > 0 ? 1 : 0;
    next.start_items = next.fold_items = contents.items;
  }
  next.cells_digest = filter.digest();
  next.base_id = log_chain_restart(first_base_id(next), content_id(filter));
  PageSet& pages = filter.pages();
  for (uint64_t index = pages.next_owned(0); index < pages.page_count();
       index = pages.next_owned(index + 1)) {
    if (!is_zero(pages.find(index), filter.content_bytes(index))) {
      pages.mark_dirty(index);
    }
  }
  start_generation(next, std::move(contents.filter));
  poisoned_ = false;
  return {};
}

Status LoggedFilter::unite(const Filter& other, uint64_t items) {
  if (other.kind() != base_->kind() || other.words() != base_->words()) {
    return invalid("filters of different geometry can be merged by their hashes only");
  }
  if (keeps_hashes() && items_ > 0) {
    return invalid(
        "what comes without hashes can be merged into an empty filter only, or into one"
        " with growth = off");
  }
  const auto more_than_fit = [&] {
    return Error{ErrorCode::kFull, std::to_string(items_) + " items, and " + std::to_string(items) +
                                       " more would exceed its capacity of " +
                                       std::to_string(record_.capacity)};
  };
  if (cuckoo_ != nullptr && base_->overfull(items_ + items, record_.capacity)) {
    return more_than_fit();  // now, not after a long search for places that there aren't
  }
  CUCKOO_TRY(fold());
  CUCKOO_TRY(flush());
  CUCKOO_TRY(load_all());
  base_changed_ = true;
  valid_ = base_valid_ = false;  // what is thrown leaves a part of it in memory
  Status status = base_->unite(other, [this] { return storage_.poll(); });
  const uint64_t united = united_items(*base_, items_, items, record_.capacity);
  if (status.ok() && base_->overfull(united, record_.capacity)) {
    status = more_than_fit();
  }
  if (!status.ok()) {
    const ErrorCode code = status.error().code;
    forget();  // what storage holds is as before
    poisoned_ = code != ErrorCode::kInvalid && code != ErrorCode::kFull;  // I7
    return status;
  }
  valid_ = base_valid_ = true;
  record_.hashless = options_.growth ? 1 : 0;
  record_.cells_digest += other.digest();
  record_.base_id = log_chain_restart(record_.base_id, content_id(*base_));
  record_.fold_items = items_ = united;
  if (record_.first_row == record_.fold_row) {  // else the flush erases the log and does this
    record_.start_items = united;
  }
  row_.start(record_.fold_chain, record_.fold_position, items_);
  item_limit_ = item_limit();
  note_fold();
  dirty_ = true;
  return {};
}

// The tail's entries in log order, as stored or still pending.
Result<std::vector<uint64_t>> LoggedFilter::tail_entries_in_order() {
  std::map<int64_t, std::vector<std::byte>> rows;
  CUCKOO_TRY(storage_.read_log(static_cast<int64_t>(record_.fold_row), row_id_,
                               [&](int64_t id, std::span<const std::byte> row) -> Status {
                                 rows[id].assign(row.begin(), row.end());
                                 return {};
                               }));
  for (const PendingRow& row : pending_rows_) {
    rows[row.id] = row.bytes;
  }
  if (row_.entries() > 0) {
    rows[row_id_] = row_.encode();
  }
  std::vector<uint64_t> entries;
  for (const auto& [id, bytes] : rows) {
    Result<LogRow> row = parse_log_row(bytes, options_.width);
    if (!row.ok()) {
      return in_row("log", id, row.take_status());
    }
    for (size_t i = 0; i < row.value().header.entries; ++i) {
      entries.push_back(raw_entry(row.value(), i, options_.width));
    }
  }
  return entries;
}

// Base and tail, in a filter of the base's geometry.
Result<std::unique_ptr<Filter>> LoggedFilter::copy_with_tail() {
  index_tail();
  Result<std::unique_ptr<Filter>> copy = copy_of_base();
  if (!copy.ok()) {
    return copy;
  }
  std::vector<uint64_t> adds;
  std::vector<uint64_t> removes;
  tail_.for_each([&](uint64_t hash, int32_t net) {
    std::vector<uint64_t>& to = net < 0 ? removes : adds;
    to.insert(to.end(), static_cast<size_t>(std::abs(net)), hash);
  });
  sort_entries_by_hash(removes, options_.width);
  sort_entries_by_hash(adds, options_.width);
  for (const uint64_t hash : removes) {
    if (!copy.value()->remove(hash)) {
      return corrupt("pages that lack an entry that the log removes");
    }
  }
  if (!adds.empty()) {
    (void)copy.value()->insert_batch(adds);
  }
  return copy;
}

Result<std::unique_ptr<Filter>> LoggedFilter::copy_of_base() {
  CUCKOO_TRY(load_all());
  Result<std::unique_ptr<Filter>> made =
      make_filter(options_.spec.kind, base_->words(), options_.page_bytes);
  if (!made.ok()) {
    return made;
  }
  Filter& copy = *made.value();
  const PageSet& pages = base_->pages();
  for (uint64_t index = pages.next_owned(0); index < pages.page_count();
       index = pages.next_owned(index + 1)) {
    const std::byte* const page = pages.find(index);
    std::copy(page, page + base_->content_bytes(index), copy.pages().add(index, false));
    CUCKOO_TRY(storage_.poll());
  }
  copy.pages().complete();
  for (const auto& [cell, count] : base_->overflow().counts()) {
    copy.overflow().add(cell, count);
  }
  copy.set_occupied(base_->occupied());
  return made;
}

// All that was logged, whether or not its rows are written.
Result<std::shared_ptr<LogReplay>> LoggedFilter::replay_with_tail() {
  if (!keeps_hashes()) {
    return invalid(options_.growth ? "its contents came without hashes"
                                   : "keeps no hashes, as growth is off");
  }
  Result<std::vector<uint64_t>> tail = tail_entries_in_order();
  if (!tail.ok()) {
    return tail.take_status();
  }
  auto replay = std::make_shared<LogReplay>(storage_, options_.width);
  CUCKOO_TRY(replay->read(log_extent(Extent::kFolded), tail.value()));
  return replay;
}

Result<HashSource> LoggedFilter::hashes() {
  Result<std::shared_ptr<LogReplay>> replay = replay_with_tail();
  if (!replay.ok()) {
    return replay.take_status();
  }
  return HashSource(
      [replay = replay.value()](const CountedHashSink& sink) { return replay->merge(sink); });
}

Result<FilterContents> LoggedFilter::contents(bool with_hashes) {
  if (with_hashes && !keeps_hashes()) {
    return replay_with_tail().take_status();
  }
  Result<std::unique_ptr<Filter>> copy = copy_with_tail();
  if (!copy.ok()) {
    return copy.take_status();
  }
  FilterContents contents;
  contents.filter = std::move(copy.value());
  contents.capacity = record_.capacity;
  contents.items = items_;
  contents.key_types = record_.key_types;
  const uint64_t held = cuckoo_ != nullptr ? contents.filter->occupied() : items_;
  const bool outgrown = keeps_hashes() && contents.filter->outgrown(held, record_.capacity);
  if (!with_hashes && !outgrown) {
    return contents;
  }
  Result<std::shared_ptr<LogReplay>> replayed = replay_with_tail();
  if (!replayed.ok()) {
    return replayed.take_status();
  }
  const std::shared_ptr<LogReplay> replay = replayed.value();
  contents.hash_count = replay->hashes();
  contents.hashes = [replay](const CountedHashSink& sink) { return replay->merge(sink); };
  contents.items = multiset() ? replay->items() : items_;
  if (outgrown) {
    contents.capacity = std::max(record_.capacity, needed_capacity(*replay));
  }
  // Anew in any case: its hashes are what it holds, also where a remove broke something.
  Result<std::unique_ptr<Filter>> fresh = filter_for(contents.capacity);
  if (!fresh.ok()) {
    return fresh.take_status();
  }
  contents.filter = std::move(fresh.value());
  contents.filter->pages().complete();
  const std::unique_ptr<FilterBuilder> builder = contents.filter->builder(needed_capacity(*replay));
  CUCKOO_TRY(replay->merge([&](uint64_t hash, uint64_t count) -> Status {
    builder->insert(hash, count);
    return {};
  }));
  builder->finish();
  return contents;
}

}  // namespace cuckoo
