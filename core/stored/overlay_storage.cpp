#include "core/stored/overlay_storage.hpp"

#include <algorithm>

namespace cuckoo {

template <class Key, class Value>
void OverlayStorage::Changes<Key, Value>::erase(Key first, Key last) {
  erased.emplace_back(first, last);
  written.erase(written.lower_bound(first), written.upper_bound(last));
}

// Two ascending lists into one; where both have a key, what was written counts.
template <class Key, class Value>
template <class Visitor, class ReadBelow>
Status OverlayStorage::Changes<Key, Value>::read(Key first, Key last, const Visitor& visitor,
                                                 const ReadBelow& read_below) const {
  auto next = written.lower_bound(first);
  CUCKOO_TRY(read_below([&](Key key, const auto& value) -> Status {
    for (; next != written.end() && next->first < key; ++next) {
      CUCKOO_TRY(visitor(next->first, next->second));
    }
    if (next != written.end() && next->first == key) {
      return visitor(key, (next++)->second);
    }
    const bool gone = std::any_of(erased.begin(), erased.end(), [key](const auto& range) {
      return range.first <= key && key <= range.second;
    });
    return gone ? Status() : visitor(key, value);
  }));
  for (; next != written.end() && next->first <= last; ++next) {
    CUCKOO_TRY(visitor(next->first, next->second));
  }
  return {};
}

// --- rows ----------------------------------------------------------------------------------------

Status OverlayStorage::read_pages(int64_t first, int64_t last, const RowVisitor& visitor) {
  return pages_.read(first, last, visitor,
                     [&](const RowVisitor& rows) { return below_.read_pages(first, last, rows); });
}

Status OverlayStorage::write_page(int64_t id, std::span<const std::byte> row, bool) {
  pages_.written[id].assign(row.begin(), row.end());
  return {};
}

Status OverlayStorage::erase_pages(int64_t first, int64_t last) {
  pages_.erase(first, last);
  return {};
}

Status OverlayStorage::read_log(int64_t first, int64_t last, const RowVisitor& visitor) {
  return log_.read(first, last, visitor,
                   [&](const RowVisitor& rows) { return below_.read_log(first, last, rows); });
}

Status OverlayStorage::write_log(int64_t id, std::span<const std::byte> row, bool) {
  log_.written[id].assign(row.begin(), row.end());
  return {};
}

Status OverlayStorage::erase_log(int64_t first, int64_t last) {
  log_.erase(first, last);
  return {};
}

// --- overflow entries ----------------------------------------------------------------------------

Status OverlayStorage::read_items(uint64_t epoch, const ItemVisitor& visitor) {
  const auto changes = items_.find(epoch);
  if (changes == items_.end()) {
    return below_.read_items(epoch, visitor);
  }
  return changes->second.read(0, UINT64_MAX, visitor, [&](const ItemVisitor& entries) {
    return below_.read_items(epoch, entries);
  });
}

Status OverlayStorage::write_item(uint64_t epoch, uint64_t key, uint64_t value) {
  items_[epoch].written[key] = value;
  return {};
}

Status OverlayStorage::erase_item(uint64_t epoch, uint64_t key) {
  items_[epoch].erase(key, key);
  return {};
}

Status OverlayStorage::erase_items(uint64_t epoch) {
  items_[epoch].erase(0, UINT64_MAX);
  return {};
}

Result<uint64_t> OverlayStorage::count_items() {
  CUCKOO_ASSIGN_OR_RETURN(uint64_t count, below_.count_items());
  for (const auto& changes : items_) {
    CUCKOO_TRY(below_.read_items(changes.first, [&](uint64_t, uint64_t) -> Status {
      --count;
      return {};
    }));
    CUCKOO_TRY(read_items(changes.first, [&](uint64_t, uint64_t) -> Status {
      ++count;
      return {};
    }));
  }
  return count;
}

// --- records -------------------------------------------------------------------------------------

Status OverlayStorage::write_record(std::span<const std::byte> record) {
  record_.assign(record.begin(), record.end());
  return {};
}

Status OverlayStorage::read_older(uint64_t slot, std::vector<std::byte>& record) {
  const auto written = older_.find(slot);
  if (written == older_.end()) {
    return below_.read_older(slot, record);
  }
  record = written->second;
  return {};
}

Status OverlayStorage::write_older(uint64_t slot, std::span<const std::byte> record) {
  older_[slot].assign(record.begin(), record.end());
  return {};
}

Status OverlayStorage::read_places(std::vector<std::byte>& places) {
  if (!places_) {
    return below_.read_places(places);
  }
  places = *places_;
  return {};
}

Status OverlayStorage::write_places(std::span<const std::byte> places) {
  places_.emplace(places.begin(), places.end());
  return {};
}

Status OverlayStorage::read_progress(std::vector<std::byte>& progress) {
  if (!progress_) {
    return below_.read_progress(progress);
  }
  progress = *progress_;
  return {};
}

Status OverlayStorage::write_progress(std::span<const std::byte> progress) {
  progress_.emplace(progress.begin(), progress.end());
  return {};
}

}  // namespace cuckoo
