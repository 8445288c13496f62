// LoggedFilter's next epoch, made in steps: when, how far, and how it becomes the present one.
//
// A large filter that could be outgrown by the next fold, or whose log must be compacted, makes its
// next epoch (core/stored/next_epoch.hpp) while the tail fills: a step for each 256th of the fold
// threshold. The next fold is left out: the epoch takes its place, with the tail behind it.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/key_hash.hpp"
#include "core/stored/logged_filter.hpp"
#include "core/stored/overlay_storage.hpp"

namespace cuckoo {

// Smaller ones are made anew in no time.
bool LoggedFilter::makes_steps() const noexcept {
  constexpr uint64_t kFewestPages = 128;
  return keeps_hashes() && base().pages().page_count() >= kFewestPages && record_.epoch < kMaxEpoch;
}

bool LoggedFilter::could_outgrow(uint64_t adds) const noexcept {
  return record_.capacity < item_limit_ &&
         base().could_outgrow(record_.fold_items, adds, record_.capacity);
}

// At the last fold.
bool LoggedFilter::compaction_was_due() const noexcept {
  return compaction_due(record_.fold_position - record_.start_position, record_.dead);
}

// For steps; but not if it waited already and none came, nor for much that comes at once.
bool LoggedFilter::compaction_waits() const noexcept {
  return makes_steps() && tail_entries() <= fold_threshold_ &&
         (folded_in_transaction_ || !compaction_was_due());
}

// Entries that a fold would add; copies of a hash as far as they take room.
uint64_t LoggedFilter::tail_growth() {
  if (!multiset()) {
    return items() - std::min(items(), record_.fold_items);
  }
  const uint64_t most = slot_per_item() ? kMaxCopiesInBuckets : 1;
  const NetEntries net = tail_.net_entries(base());
  uint64_t adds = 0;
  uint64_t copies = 0;
  for (size_t i = 0; i < net.adds.size(); ++i) {
    copies = i > 0 && net.adds[i] == net.adds[i - 1] ? copies + 1 : 1;
    adds += copies <= most ? 1 : 0;
  }
  return adds - std::min<uint64_t>(adds, net.removes.size());
}

// At the point where the next epoch is begun: what it will be made for, 0 if there is none. As many
// entries come until the next fold as came up to here, and half as many again; where as many go as
// come, the filter stays as it is.
uint64_t LoggedFilter::next_capacity() {
  const uint64_t coming = tail_growth() * NextEpoch::kSteps / NextEpoch::kBegin;
  if (could_outgrow(std::min(coming + coming / 2, fold_threshold_))) {
    return capacity_for(std::min(next_entries(), item_limit_), record_.capacity, true);
  }
  return compaction_was_due() ? record_.capacity : 0;
}

// Of the next epoch, with those that there may be in the tail.
uint64_t LoggedFilter::next_entries() const noexcept {
  const uint64_t cells = base().occupied() + base().overflow().cells();
  return fold_threshold_ +
         (slot_per_item() ? cells : std::min(record_.fold_items, record_.capacity));
}

// Steps that are due with so many entries in the tail.
uint64_t LoggedFilter::steps_at(uint64_t entries) const noexcept {
  return std::min(entries, fold_threshold_) * NextEpoch::kSteps / fold_threshold_;
}

void LoggedFilter::set_steps() noexcept {
  const bool steps = makes_steps();
  erases_old_ = steps && record_.epoch > 0 &&
                record_.fold_position == record_.start_position + record_.compacted_entries;
  if (erases_old_) {
    fold_threshold_ += fold_threshold_ / 4;  // the tail came along from the epoch before
  }
  makes_next_ = steps && (could_outgrow(fold_threshold_) || compaction_was_due());
  if (steps_of_ != record_.base_id) {
    steps_of_ = record_.base_id;
    steps_ = 0;
    next_.reset();
  }
}

// A step is made when an entry is to follow those that make it due.
void LoggedFilter::set_next_work() noexcept {
  const uint64_t entries = tail_entries();
  set_next_work_behind(entries == 0 ? 0 : entries - 1);
}

// … when more than so many entries are in the tail.
void LoggedFilter::set_next_work_behind(uint64_t entries) noexcept {
  if (folded_in_transaction_) {
    next_work_ = bulk_threshold_;
    return;
  }
  next_work_ = fold_threshold_;
  if (makes_next_ || erases_old_) {
    constexpr uint64_t kMost = NextEpoch::kSteps;
    const uint64_t due = ((steps_at(entries) + 1) * fold_threshold_ + kMost - 1) / kMost;
    next_work_ = std::min(due, fold_threshold_);
  }
}

// A step; in the end a fold, or the next epoch instead.
Status LoggedFilter::work() {
  if (fold_due() && (!makes_next_ || folded_in_transaction_)) {
    return fold_soon();
  }
  tail_.put_rows();
  if (!fold_due()) {
    return step();
  }
  CUCKOO_ASSIGN_OR_RETURN(const EpochProgress made, progress());
  return made.capacity > 0 ? cut_over() : fold_soon();
}

Status LoggedFilter::step() {
  const uint64_t entries = tail_entries();
  CUCKOO_TRY(make_step(steps_at(entries)));
  set_next_work_behind(entries);
  return {};
}

// --- in storage ----------------------------------------------------------------------------------

Result<EpochProgress> LoggedFilter::progress() {
  EpochProgress none;
  none.epoch = record_.epoch + 1;
  none.base_id = record_.base_id;
  if (!makes_next_ && !erases_old_) {
    return none;
  }
  std::vector<std::byte> bytes;
  CUCKOO_TRY(storage_.read_progress(bytes));
  if (bytes.empty()) {
    return none;
  }
  CUCKOO_ASSIGN_OR_RETURN(EpochProgress stored, decode_progress(bytes));
  if (stored.epoch != none.epoch) {
    return none;
  }
  if (stored.capacity != 0 && stored.capacity < record_.capacity) {
    return corrupt("account of other epochs of which the next one is too small");
  }
  if (stored.old_log_rows > 0 && static_cast<int64_t>(stored.old_first_row) < first_own_row()) {
    return corrupt("account of other epochs that takes an older generation for one");
  }
  if (stored.base_id == none.base_id && stored.capacity == 0) {
    stored.version = EpochProgress::kVersion;  // nothing is made, which is the same in all of them
  }
  if (stored.base_id != none.base_id || stored.outdated()) {
    stored.base_id = none.base_id;
    stored.capacity = stored.points = stored.log_rows = stored.pages = 0;
  }
  return stored;
}

Result<uint64_t> LoggedFilter::rows_of_other_epochs() {
  CUCKOO_ASSIGN_OR_RETURN(const EpochProgress progress, this->progress());
  return progress.rows(steps_at(tail_entries()));
}

int64_t LoggedFilter::first_own_row() const noexcept {
  return record_.older == 0 ? INT64_MIN : first_row_id(first_own_epoch_);
}

// All of them, whatever is said of them.
Status LoggedFilter::erase_other_epochs() {
  next_.reset();
  const int64_t first = first_row_id(record_.epoch);
  const int64_t next = first_row_id(record_.epoch + 1);
  if (first_own_row() < first) {
    CUCKOO_TRY(storage_.erase_log(first_own_row(), first - 1));
    CUCKOO_TRY(storage_.erase_pages(first_own_row(), first - 1));
  }
  CUCKOO_TRY(storage_.erase_log(next, INT64_MAX));
  CUCKOO_TRY(storage_.erase_pages(next, INT64_MAX));
  return storage_.write_progress({});
}

// --- steps ---------------------------------------------------------------------------------------

Result<std::unique_ptr<NextEpoch>> LoggedFilter::begin_next_epoch(const EpochProgress& progress,
                                                                  FilterStorage& storage) {
  NextEpoch::Source source;
  source.folded = log_extent(Extent::kFolded);
  source.compacted_entries = record_.compacted_entries;
  source.items = record_.fold_items;
  source.base_id = record_.base_id;
  const uint64_t raw_position = record_.start_position + record_.compacted_entries;
  source.first_raw_row = static_cast<int64_t>(record_.fold_row);
  if (record_.compacted_entries == 0) {
    source.first_raw_row = source.folded.first_row;
  } else if (raw_position < record_.fold_position) {
    CUCKOO_ASSIGN_OR_RETURN(source.first_raw_row, row_of(raw_position));
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Filter> filter,
                          options_.make_filter_for(progress.capacity));
  const FilterRecord empty =
      empty_record(*filter, progress.capacity, progress.epoch, record_.fold_chain);
  return std::make_unique<NextEpoch>(options_, storage, source, empty, std::move(filter),
                                     next_entries());
}

Status LoggedFilter::make_step(uint64_t step) {
  CUCKOO_ASSIGN_OR_RETURN(EpochProgress progress, this->progress());
  const EpochProgress before = progress;
  const bool decides = makes_next_ && step >= NextEpoch::kBegin && progress.points == 0;
  if (decides) {
    progress.version = EpochProgress::kVersion;
    progress.points = 1;
    progress.capacity = next_capacity();
  }
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<NextEpoch> next, make_next_epoch(step, progress));
  CUCKOO_TRY(poison_.writing([&]() -> Status {
    CUCKOO_TRY(erase_old_epoch(storage_, step, progress));
    if (decides) {  // nothing stands, but of another past or version perhaps
      const int64_t first = first_row_id(progress.epoch);
      CUCKOO_TRY(storage_.erase_log(first, INT64_MAX));
      CUCKOO_TRY(storage_.erase_pages(first, INT64_MAX));
    }
    if (next != nullptr) {
      CUCKOO_TRY(next->write(step, progress));
    }
    if (progress == before) {
      return {};
    }
    return storage_.write_progress(progress.empty() ? std::vector<std::byte>()
                                                    : encode_progress(progress));
  }));
  if (next != nullptr) {
    next_ = std::move(next);
  }
  return {};
}

// With what is due of it in memory; null: nothing is due. It is lost if anything fails.
Result<std::unique_ptr<NextEpoch>> LoggedFilter::make_next_epoch(uint64_t step,
                                                                 const EpochProgress& progress) {
  std::unique_ptr<NextEpoch> next = std::move(next_);
  if (next != nullptr && !next->follows(progress)) {
    next.reset();
  }
  const bool patient = next != nullptr || ++steps_ > NextEpoch::kPatience;
  const bool writes = NextEpoch::points(step) > progress.points || step == NextEpoch::kSteps;
  if (!makes_next_ || progress.capacity == 0 || !(patient || writes)) {
    return std::unique_ptr<NextEpoch>();
  }
  if (next == nullptr) {
    CUCKOO_ASSIGN_OR_RETURN(next, begin_next_epoch(progress, storage_));
  }
  CUCKOO_TRY(next->make(step, progress));
  return next;
}

// --- instead of a fold ---------------------------------------------------------------------------

Status LoggedFilter::cut_over() {
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<uint64_t> tail, tail_.entries_in_order(storage_));
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> mark, this->mark());
  CUCKOO_TRY(make_step(NextEpoch::kSteps));
  NextEpoch& next = *next_;
  if (!next.complete()) {
    return corrupt("next epoch that is not whole at its last step");
  }
  // Removes of what was never added came back in such numbers that it is too small.
  if (next.filter().outgrown(next.record().fold_items, next.record().capacity)) {
    return replay_into_epoch(record_.capacity, !slot_per_item());
  }
  const uint64_t items = tail_.items();
  const bool same = next.dropped() == 0 && next.filter().words() == base().words() &&
                    next.record().capacity == record_.capacity;
  return poison_.writing([&]() -> Status {
    CUCKOO_TRY(become(next, tail, items));
    return same && mark && tail_.items() == items ? take_mark(*mark) : Status();
  });
}

// The tail's entries follow, but for removes that find nothing: they were of what was never added,
// and shared the cells of others in the old geometry alone.
Status LoggedFilter::become(NextEpoch& next, std::span<const uint64_t> tail, uint64_t items) {
  const std::unique_ptr<NextEpoch> made = std::move(next_);
  EpochProgress old;
  old.epoch = next.record().epoch + 1;
  old.base_id = next.record().base_id;
  old.old_first_row = record_.first_row;
  old.old_log_rows = static_cast<uint64_t>(tail_.last_row()) + 1 - record_.first_row;
  old.old_pages = base().pages().page_count();
  CUCKOO_TRY(storage_.erase_items(record_.epoch));
  FilterRecord record = next.record();
  record.key_types = record_.key_types;  // of the tail's keys, too
  adopt(record, next.take_filter());
  for (const uint64_t entry : tail) {
    const uint64_t hash = entry & ~kRemoveBit;
    if (!multiset()) {
      tail_.add_to_set(hash, tail_.net(hash) <= 0 && tail_.items() < items);
    } else if ((entry & kRemoveBit) == 0) {
      append_add(hash);
    } else if (contains(hash)) {
      tail_.remove(hash, base());
    }
  }
  set_limits();
  if (!erases_old_) {  // it is the last epoch that there can be
    return erase_other_epochs();
  }
  old.old_step = steps_at(tail_entries());
  return storage_.write_progress(encode_progress(old));
}

// --- checking ------------------------------------------------------------------------------------

Status LoggedFilter::check_next_epoch() {
  if (!makes_next_) {
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const EpochProgress stored, progress());
  if (stored.outdated()) {
    return {};
  }
  const int64_t first = first_row_id(stored.epoch);
  const int64_t last = first_row_id(stored.epoch + 1) - 1;
  OverlayStorage again(storage_);
  CUCKOO_TRY(again.erase_log(first, last));
  CUCKOO_TRY(again.erase_pages(first, last));
  EpochProgress made = stored;
  made.log_rows = made.pages = 0;
  if (stored.capacity > 0) {
    made.points = 1;
    CUCKOO_ASSIGN_OR_RETURN(const std::unique_ptr<NextEpoch> next, begin_next_epoch(stored, again));
    for (uint64_t step = NextEpoch::kBegin; step <= NextEpoch::kSteps && made != stored; ++step) {
      CUCKOO_TRY(next->make(step, made));
      CUCKOO_TRY(next->write(step, made));
    }
  }
  if (made != stored) {
    return corrupt("half-made epoch of " + std::to_string(stored.log_rows) + " log rows and " +
                   std::to_string(stored.pages) + " pages, which no step leaves");
  }
  const auto same = [&](const char* kind, auto read) -> Status {
    std::map<int64_t, uint64_t> rows;  // their digests
    CUCKOO_TRY(read(again, [&](int64_t id, std::span<const std::byte> row) -> Status {
      rows[id] = XXH3_64bits(row.data(), row.size());
      return storage_.poll();
    }));
    CUCKOO_TRY(read(storage_, [&](int64_t id, std::span<const std::byte> row) -> Status {
      const auto found = rows.find(id);
      if (found == rows.end() || found->second != XXH3_64bits(row.data(), row.size())) {
        return in_row(kind, id, corrupt("is not what the half-made epoch has there"));
      }
      rows.erase(found);
      return storage_.poll();
    }));
    return rows.empty() ? Status() : in_row(kind, rows.begin()->first, corrupt("is missing"));
  };
  using Visitor = FilterStorage::RowVisitor;
  CUCKOO_TRY(same("log", [&](FilterStorage& storage, const Visitor& visitor) {
    return storage.read_log(first, last, visitor);
  }));
  return same("page", [&](FilterStorage& storage, const Visitor& visitor) {
    return storage.read_pages(first, last, visitor);
  });
}

}  // namespace cuckoo
