#include "core/stored/next_epoch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/sizing.hpp"
#include "core/stored/stored_pages.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kMagic = 0x454E4B43;  // "CKNE"
constexpr size_t kCrcAt = 88;
constexpr size_t kProgressBytes = kCrcAt + 4;
constexpr uint64_t kMostRows = uint64_t{1} << 40;  // ids of an epoch

// Steps after which …
constexpr uint64_t kRead = 56;     // the raw rows are read
constexpr uint64_t kMerged = 168;  // the log's rows are made
constexpr uint64_t kBuilt = 176;   // the pages are made
constexpr uint64_t kErased = 248;  // nothing is left of the epoch before
static_assert(kErased < NextEpoch::kSteps);
// … rows and pages are written.
constexpr uint64_t kLogPoints = 4;
constexpr uint64_t kPagePoints = NextEpoch::kPoints - 1 - kLogPoints;
constexpr uint64_t kPointSteps[NextEpoch::kPoints] = {NextEpoch::kBegin, 84,  112, 140,
                                                      kMerged,           208, 240};

// Of `whole`, after `step` of the steps between two.
uint64_t share(uint64_t whole, uint64_t step, uint64_t from, uint64_t to) noexcept {
  const uint64_t done = std::clamp(step, from, to) - from;
  const uint64_t steps = to - from;
  return whole / steps * done + whole % steps * done / steps;
}

// Rather too many.
uint64_t expected_rows_of(const FilterOptions& options, uint64_t hashes) noexcept {
  const uint64_t bits = rice_parameter(options.width, hashes) + 3;
  const uint64_t room = 8 * (options.row_bytes() - kLogRowHeaderBytes - kLogRowCrcBytes - 8);
  return hashes / room * bits + hashes % room * bits / room + 1;
}

}  // namespace

std::vector<std::byte> encode_progress(const EpochProgress& progress) {
  std::vector<std::byte> bytes(kProgressBytes);
  store_le(&bytes[0], kMagic);
  store_le(&bytes[4], progress.version);
  store_le(&bytes[8], progress.epoch);
  store_le(&bytes[16], progress.base_id);
  store_le(&bytes[24], progress.capacity);
  store_le(&bytes[32], progress.points);
  store_le(&bytes[40], progress.log_rows);
  store_le(&bytes[48], progress.pages);
  store_le(&bytes[56], progress.old_first_row);
  store_le(&bytes[64], progress.old_log_rows);
  store_le(&bytes[72], progress.old_pages);
  store_le(&bytes[80], progress.old_step);
  store_le(&bytes[kCrcAt], crc32c(std::span(bytes).first(kCrcAt)));
  return bytes;
}

Result<EpochProgress> decode_progress(std::span<const std::byte> bytes) {
  if (bytes.size() != kProgressBytes || load_le<uint32_t>(bytes.data()) != kMagic) {
    return corrupt("account of other epochs that is none");
  }
  EpochProgress progress;
  progress.version = load_le<uint32_t>(&bytes[4]);
  if (progress.version == 0 || progress.version > EpochProgress::kVersion) {
    return corrupt("account of other epochs of format " + std::to_string(progress.version) +
                   ", this version reads formats 1 to " + std::to_string(EpochProgress::kVersion));
  }
  if (crc32c(bytes.first(kCrcAt)) != load_le<uint32_t>(&bytes[kCrcAt])) {
    return corrupt("account of other epochs with a wrong checksum");
  }
  progress.epoch = load_le<uint64_t>(&bytes[8]);
  progress.base_id = load_le<uint64_t>(&bytes[16]);
  progress.capacity = load_le<uint64_t>(&bytes[24]);
  progress.points = load_le<uint64_t>(&bytes[32]);
  progress.log_rows = load_le<uint64_t>(&bytes[40]);
  progress.pages = load_le<uint64_t>(&bytes[48]);
  progress.old_first_row = load_le<uint64_t>(&bytes[56]);
  progress.old_log_rows = load_le<uint64_t>(&bytes[64]);
  progress.old_pages = load_le<uint64_t>(&bytes[72]);
  progress.old_step = load_le<uint64_t>(&bytes[80]);
  const uint64_t old_epoch = progress.old_first_row / kMostRows;
  const bool next_fits = progress.epoch > 0 && progress.epoch <= kMaxEpoch + 1 &&
                         progress.capacity <= kMaxCapacity &&
                         progress.points <= NextEpoch::kPoints &&
                         (progress.capacity == 0 ? progress.points <= 1 : progress.points > 0) &&
                         progress.log_rows <= (progress.capacity == 0 ? 0 : kMostRows) &&
                         progress.pages <= (progress.capacity == 0 ? 0 : kMostRows);
  const bool no_old =
      progress.old_first_row == 0 && progress.old_pages == 0 && progress.old_step == 0;
  const bool old_fits =
      progress.old_log_rows == 0
          ? no_old
          : (old_epoch + 1 < progress.epoch && progress.old_log_rows <= kMostRows &&
             progress.old_first_row % kMostRows + progress.old_log_rows <= kMostRows &&
             progress.old_pages <= kMostRows && progress.old_step <= NextEpoch::kSteps);
  if (!next_fits || !old_fits) {
    return corrupt("account of other epochs with numbers out of range");
  }
  return progress;
}

bool EpochProgress::is_next(int64_t row) const noexcept {
  return row >= first_row_id(epoch) &&
         (outdated() ||
          static_cast<uint64_t>(row - first_row_id(epoch)) < std::max(log_rows, pages));
}

bool EpochProgress::is_old(int64_t row) const noexcept {
  const auto id = static_cast<uint64_t>(row);
  const uint64_t first_page = old_first_row / kMostRows * kMostRows;
  return (id >= old_first_row && id - old_first_row < old_log_rows) ||
         (id >= first_page && id - first_page < old_pages);
}

uint64_t EpochProgress::rows(uint64_t step) const noexcept {
  const uint64_t old = old_log_rows + old_pages;
  return log_rows + pages + old - share(old, step, std::min(old_step, kErased - 1), kErased);
}

Status erase_old_epoch(FilterStorage& storage, uint64_t step, EpochProgress& progress) {
  if (progress.old_log_rows == 0) {
    return {};
  }
  const uint64_t from = std::min(progress.old_step, kErased - 1);
  const auto first_row = static_cast<int64_t>(progress.old_first_row);
  const auto first_page = static_cast<int64_t>(progress.old_first_row / kMostRows * kMostRows);
  const auto rows = static_cast<int64_t>(share(progress.old_log_rows, step, from, kErased));
  const auto pages = static_cast<int64_t>(share(progress.old_pages, step, from, kErased));
  if (rows > 0) {
    CUCKOO_TRY(storage.erase_log(first_row, first_row + rows - 1));
  }
  if (pages > 0) {
    CUCKOO_TRY(storage.erase_pages(first_page, first_page + pages - 1));
  }
  if (step >= kErased) {
    progress.old_first_row = progress.old_log_rows = progress.old_pages = progress.old_step = 0;
  }
  return {};
}

NextEpoch::NextEpoch(const FilterOptions& options, FilterStorage& storage, const Source& source,
                     const FilterRecord& record, std::unique_ptr<Filter> filter, uint64_t expected)
    : options_(options),
      storage_(storage),
      source_(source),
      record_(record),
      filter_(std::move(filter)),
      replay_(storage, options.width, options.unique, source.folded, source.first_raw_row,
              source.compacted_entries),
      writer_(
          options.width, options.row_bytes(), expected, record.start_chain,
          [this](std::span<const std::byte> row) -> Status {
            waiting_.emplace_back(row.begin(), row.end());
            return {};
          },
          options.multiset() ? std::nullopt : std::optional(source.items)),
      expected_rows_(expected_rows_of(options, expected)) {
  filter_->pages().complete();
  builder_ = filter_->builder(expected, Filter::Digest::kSum);
}

uint64_t NextEpoch::points(uint64_t step) noexcept {
  return static_cast<uint64_t>(std::upper_bound(kPointSteps, kPointSteps + kPoints, step) -
                               kPointSteps);
}

Status NextEpoch::make(uint64_t step, const EpochProgress& progress) {
  CUCKOO_TRY(replay_.read_raw(share(replay_.raw_rows(), step, kBegin, kRead)));
  if (step > kRead) {
    const uint64_t due = share(expected_rows_, step, kRead, kMerged);
    CUCKOO_TRY(make_rows(step < kMerged ? due : UINT64_MAX));
  }
  if (step >= kBuilt && builder_ != nullptr) {
    build();
  }
  CUCKOO_TRY(find_rows(progress.log_rows));
  return builder_ == nullptr ? find_pages(progress.pages) : Status();
}

Status NextEpoch::write(uint64_t step, EpochProgress& progress) {
  const uint64_t points = NextEpoch::points(step);
  const uint64_t quarters = std::min(points - 1, kLogPoints);
  const uint64_t rows = share(expected_rows_, quarters, 0, kLogPoints);
  CUCKOO_TRY(write_rows(quarters < kLogPoints ? rows : UINT64_MAX, progress));
  const uint64_t halves = points - 1 - quarters;
  CUCKOO_TRY(write_pages(share(filter_->pages().page_count(), halves, 0, kPagePoints), progress));
  progress.points = std::max(progress.points, points);
  return {};
}

bool NextEpoch::complete() const noexcept {
  return builder_ == nullptr && merged_ && waiting_.empty() &&
         pages_ == filter_->pages().page_count() && filter_->pages().dirty().empty() &&
         filter_->counted_items().value_or(record_.fold_items) == record_.fold_items &&
         record_.fold_row == record_.first_row + written_;
}

Status NextEpoch::make_rows(uint64_t due) {
  while (!merged_ && written_ + waiting_.size() < due) {
    CUCKOO_TRY(replay_.next(batch_));
    merged_ = batch_.size() < SteppedReplay::kBatch;
    for (const auto& [hash, count] : batch_) {
      builder_->insert(hash, count);
      CUCKOO_TRY(writer_.add(hash, count));
    }
    if (merged_) {
      CUCKOO_TRY(writer_.finish());
    }
  }
  return {};
}

// What was merged becomes the new epoch's log and pages.
void NextEpoch::build() {
  builder_->finish();
  record_.cells_digest = builder_->digest();
  builder_.reset();
  record_.start_items = options_.multiset() ? 0 : source_.items;
  record_.compacted_entries = writer_.position();
  record_.fold_position = writer_.position();
  record_.fold_chain = writer_.chain();
  record_.fold_items = writer_.items();
  record_.fold_row = record_.first_row + written_ + waiting_.size();
  record_.base_id = first_base_id(record_);
}

// --- what others wrote ---------------------------------------------------------------------------

// The row stands there, with these bytes: whoever wrote it made it of the same.
Status NextEpoch::expect_row(const char* kind, int64_t id, std::span<const std::byte> row,
                             const RowReader& read) const {
  bool found = false;
  CUCKOO_TRY(read(id, [&](int64_t, std::span<const std::byte> stored) -> Status {
    found = equal_bytes(stored, row);
    return {};
  }));
  return found ? storage_.poll()
               : in_row(kind, id, corrupt("is not what the next epoch has there"));
}

Status NextEpoch::find_rows(uint64_t stored) {
  const RowReader read = [this](int64_t id, const FilterStorage::RowVisitor& visitor) {
    return storage_.read_log(id, id, visitor);
  };
  for (; written_ < stored && !waiting_.empty(); ++written_) {
    CUCKOO_TRY(expect_row("log", log_row_id(written_), waiting_.front(), read));
    waiting_.pop_front();
  }
  return {};
}

Status NextEpoch::find_pages(uint64_t stored) {
  const RowReader read = [this](int64_t id, const FilterStorage::RowVisitor& visitor) {
    return storage_.read_pages(id, id, visitor);
  };
  for (; pages_ < std::min(stored, filter_->pages().page_count()); ++pages_) {
    if (filter_->pages().is_dirty(pages_)) {
      const int64_t id = page_id(pages_);
      CUCKOO_TRY(expect_row("page", id, page_row(*filter_, pages_, id, options_.seed), read));
      count_page(id);
    }
  }
  return {};
}

// --- writing -------------------------------------------------------------------------------------

Status NextEpoch::write_rows(uint64_t due, EpochProgress& progress) {
  for (; written_ < due && !waiting_.empty(); ++written_) {
    CUCKOO_TRY(storage_.write_log(log_row_id(written_), waiting_.front(), false));
    waiting_.pop_front();
  }
  progress.log_rows = std::max(progress.log_rows, written_);
  return {};
}

Status NextEpoch::write_pages(uint64_t due, EpochProgress& progress) {
  for (; pages_ < due; ++pages_) {
    if (filter_->pages().is_dirty(pages_)) {
      const int64_t id = page_id(pages_);
      CUCKOO_TRY(storage_.write_page(id, page_row(*filter_, pages_, id, options_.seed), false));
      count_page(id);
    }
  }
  progress.pages = std::max(progress.pages, pages_);
  if (pages_ == filter_->pages().page_count()) {
    filter_->pages().clear_dirty();
  }
  return {};
}

void NextEpoch::count_page(int64_t id) noexcept {
  ++record_.page_rows;
  record_.page_id_sum += static_cast<uint64_t>(id);
}

size_t NextEpoch::memory_bytes() const noexcept {
  return replay_.memory_bytes() + filter_->pages().memory_bytes() +
         (builder_ == nullptr ? 0 : builder_->memory_bytes()) +
         waiting_.size() * options_.row_bytes();
}

}  // namespace cuckoo
