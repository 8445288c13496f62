#include "core/stored/window.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/stored/overlay_storage.hpp"

namespace cuckoo {

FilterWindow::FilterWindow(const FilterOptions& options, FilterStorage& storage)
    : storage_(storage), newest_(std::make_unique<LoggedFilter>(options, storage)) {}

// --- following storage ---------------------------------------------------------------------------

Status FilterWindow::refresh(std::span<const std::byte> bytes) {
  if (options().generations == 1) {
    CUCKOO_TRY(newest_->refresh(bytes));
    stale_ = false;
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const FilterRecord& next, decode_record(bytes));
  if (next.older >= options().generations) {
    return corrupt("record with more generations than the window has");
  }
  const FilterRecord& mine = newest_->record();
  // A generation's chain starts with what the one before it ended as: equal starts, equal pasts.
  const bool same_past = !stale_ && newest_->usable() && next.rotation == mine.rotation &&
                         next.older == older_.size() && next.epoch == mine.epoch &&
                         next.start_chain == mine.start_chain;
  if (!same_past) {
    stale_ = true;
    CUCKOO_TRY(reload_older(next));
  }
  CUCKOO_TRY(newest_->refresh(bytes));
  stale_ = false;
  return {};
}

// Those that are in memory already are kept where they belong.
Status FilterWindow::reload_older(const FilterRecord& newest) {
  Generations next;
  for (uint64_t age = 0; age <= newest.older; ++age) {
    next.push_back(std::make_unique<LoggedFilter>(options(), storage_));
  }
  older_.push_back(std::make_unique<LoggedFilter>(options(), storage_));
  std::swap(older_.back(), newest_);  // nothing throws from here until both are in place again
  for (std::unique_ptr<LoggedFilter>& known : older_) {
    const uint64_t age = newest.rotation - known->record().rotation;
    if (age < next.size()) {
      std::swap(next[age], known);
    }
  }
  newest_ = std::move(next.front());
  next.erase(next.begin());
  older_ = std::move(next);
  std::vector<std::byte> bytes;
  uint64_t epoch = newest.epoch;
  for (uint64_t age = 1; age <= newest.older; ++age) {
    const uint64_t rotation = newest.rotation - age;
    LoggedFilter& one = *older_[age - 1];
    CUCKOO_TRY(storage_.read_older(slot_of(rotation), bytes));
    CUCKOO_TRY(one.refresh(bytes));
    if (one.record().rotation != rotation || one.tail_entries() != 0 ||
        one.record().epoch >= epoch) {
      return corrupt("record of another generation than number " + std::to_string(rotation));
    }
    epoch = one.record().epoch;
  }
  if (!older_.empty()) {
    newest_->set_generation_before(older_.front()->record().epoch);
  }
  return {};
}

void FilterWindow::forget() noexcept {
  newest_->forget();
  for (const auto& one : older_) {
    one->forget();
  }
  stale_ = true;
  poison_.lift();
}

void FilterWindow::committed() noexcept {
  newest_->committed();
  for (const auto& one : older_) {
    one->committed();
  }
}

void FilterWindow::rolled_back() noexcept {
  newest_->rolled_back();
  for (const auto& one : older_) {
    one->rolled_back();
  }
  stale_ = true;
  poison_.lift();
}

// --- reading -------------------------------------------------------------------------------------

FilterWindow::Answer FilterWindow::probe_older(uint64_t hash) {
  for (const auto& one : older_) {
    if (const Answer answer = one->probe(hash); answer != Answer::kAbsent) {
      return answer;
    }
  }
  return Answer::kAbsent;
}

Status FilterWindow::load(uint64_t hash) {
  CUCKOO_TRY(newest_->load(hash));
  for (const auto& one : older_) {
    CUCKOO_TRY(one->load(hash));
  }
  return {};
}

uint64_t FilterWindow::count(uint64_t hash) {
  uint64_t total = newest_->count(hash);
  for (const auto& one : older_) {
    total += one->count(hash);
  }
  return total;
}

// --- changing ------------------------------------------------------------------------------------

Status FilterWindow::rotate() {
  if (options().generations == 1) {
    return invalid("has no generations to rotate; make the table with generations = 2 or more");
  }
  CUCKOO_TRY(newest_->fold());
  CUCKOO_TRY(newest_->flush());
  const uint64_t epoch = newest_->record().epoch + 1;
  if (epoch > kMaxEpoch) {
    return Error{ErrorCode::kFull, "as many generations as row ids allow", 0};
  }
  const FilterRecord last = newest_->record();
  const uint64_t older = std::min<uint64_t>(older_.size() + 1, options().generations - 1);
  auto next = std::make_unique<LoggedFilter>(options(), storage_);
  const uint64_t past = log_chain_restart(last.end_chain, last.base_id);  // its log and its pages
  CUCKOO_TRY(next->create(epoch, last.rotation + 1, older, past));
  older_.reserve(older_.size() + 1);
  return poison_.writing([&]() -> Status {
    CUCKOO_TRY(newest_->erase_other_epochs());
    CUCKOO_TRY(storage_.write_older(slot_of(last.rotation), encode_record(last)));
    if (older_.size() == older) {
      CUCKOO_TRY(older_.back()->erase_epoch());
      older_.pop_back();
    }
    older_.insert(older_.begin(), std::move(newest_));
    newest_ = std::move(next);
    newest_->set_generation_before(last.epoch);
    return {};
  });
}

Status FilterWindow::clear() {
  CUCKOO_TRY(newest_->clear());
  return poison_.writing([&]() -> Status {
    for (; !older_.empty(); older_.pop_back()) {
      CUCKOO_TRY(older_.back()->erase_epoch());
    }
    return {};
  });
}

template <class Number, class Figure>
Number FilterWindow::sum(Figure&& figure) const noexcept {
  Number total = figure(*newest_);
  for (const auto& one : older_) {
    total += figure(*one);
  }
  return total;
}

// --- checking ------------------------------------------------------------------------------------

// Every row of pages and log is of one of the generations, or of an epoch next to the newest one's.
Status FilterWindow::check_strays() {
  CUCKOO_ASSIGN_OR_RETURN(const EpochProgress progress, newest_->progress());
  const auto belongs = [this, &progress](int64_t id) {
    const auto is_of = [id](const LoggedFilter& one) {
      const uint64_t epoch = one.record().epoch;
      return id >= first_row_id(epoch) && id < first_row_id(epoch + 1);
    };
    return is_of(*newest_) || progress.is_next(id) || progress.is_old(id) ||
           std::any_of(older_.begin(), older_.end(), [&](const auto& one) { return is_of(*one); });
  };
  const auto check = [&](const char* kind) {
    return [this, kind, &belongs](int64_t id, std::span<const std::byte>) -> Status {
      CUCKOO_TRY(belongs(id) ? Status() : in_row(kind, id, corrupt("does not belong here")));
      return storage_.poll();
    };
  };
  CUCKOO_TRY(storage_.read_pages(INT64_MIN, INT64_MAX, check("page")));
  CUCKOO_TRY(storage_.read_log(INT64_MIN, INT64_MAX, check("log")));
  Result<uint64_t> items = storage_.count_items();
  const uint64_t expected =
      sum<uint64_t>([](const LoggedFilter& one) { return one.record().overflow_cells; });
  if (items.ok() && items.value() != expected) {
    return corrupt(std::to_string(items.value()) + " overflow entries, expected " +
                   std::to_string(expected));
  }
  return items.take_status();
}

// Nothing is pending.
Status FilterWindow::check_stored() {
  CUCKOO_TRY(check_strays());
  CUCKOO_TRY(newest_->check_next_epoch());
  CUCKOO_TRY(newest_->check());
  for (const auto& one : older_) {
    CUCKOO_TRY(one->check());
  }
  return {};
}

Status FilterWindow::check() const {
  CUCKOO_TRY(poison_.error());
  OverlayStorage flushed(storage_);
  CUCKOO_TRY(newest_->write_pending_to(flushed));
  FilterWindow opened(options(), flushed);
  CUCKOO_TRY(opened.refresh(flushed.record()));
  return opened.check_stored();
}

// --- figures -------------------------------------------------------------------------------------

std::vector<uint64_t> FilterWindow::generation_items() const {
  std::vector<uint64_t> items = {newest_->items()};
  for (const auto& one : older_) {
    items.push_back(one->items());
  }
  return items;
}

uint64_t FilterWindow::items() const noexcept {
  return sum<uint64_t>([](const LoggedFilter& one) { return one.items(); });
}

uint64_t FilterWindow::key_types() const noexcept {
  uint64_t types = newest_->key_types();
  for (const auto& one : older_) {
    types |= one->key_types();
  }
  return types;
}

// A key that was never added is found when one generation or more takes it for its own. The rate
// that was asked for is that of all together already; any other is one generation's.
double FilterWindow::target_rate() const noexcept {
  const double rate = newest_->target_rate();
  return options().spec.has_own_size()
             ? -std::expm1(std::log1p(-rate) * static_cast<double>(options().generations))
             : rate;
}

double FilterWindow::rate_now() const noexcept {
  return -std::expm1(
      sum<double>([](const LoggedFilter& one) { return std::log1p(-one.rate_now()); }));
}

uint64_t FilterWindow::log_entries() const noexcept {
  return sum<uint64_t>([](const LoggedFilter& one) { return one.log_entries(); });
}

size_t FilterWindow::memory_bytes() const noexcept {
  return sum<size_t>([](const LoggedFilter& one) { return one.memory_bytes(); });
}

uint64_t FilterWindow::stored_rows() const noexcept {
  return sum<uint64_t>([](const LoggedFilter& one) { return one.stored_rows(); });
}

}  // namespace cuckoo
