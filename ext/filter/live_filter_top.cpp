// LiveFilter: the keys with the highest counts.
#include <algorithm>

#include "ext/filter/live_filter.hpp"

namespace cuckoo {
namespace {

// Runs a body after the filter was changed. So only undoing the statement helps if it fails.
template <class Body>
Status run_after_change(Body&& body) {
  try {
    Status status = body();
    if (!status.ok() && status.error().code != ErrorCode::kStorage) {
      return Error{ErrorCode::kStorage, status.error().message, SQLITE_IOERR};
    }
    return status;
  } catch (const SqlError& error) {
    return Error{ErrorCode::kStorage, error.message(), undoing_code(error.code())};
  }
}

}  // namespace

Status LiveFilter::load_top() {
  if (!keeps_top()) {
    return {};
  }
  return top_.load(*filter_, [this](const KeyView& key) { return hash_of(key); });
}

Status LiveFilter::note_top(const KeyView& key, uint64_t hash) {
  if (!keeps_top()) {
    return {};
  }
  return run_after_change([&] { return top_.note(*filter_, key, hash); });
}

Status LiveFilter::erase_top() {
  return run_after_change([&]() -> Status {
    top_.erase();
    return {};
  });
}

void LiveFilter::find_top(const KeySource& for_each_key) {
  if (!keeps_top()) {
    return;
  }
  change_by([&] {
    return run_after_change([&]() -> Status {
      CUCKOO_TRY(erase_top());
      CUCKOO_TRY(load_top());
      Status status;
      for_each_key([&](const KeyView& key) {
        status = status.ok() ? note_top(key, hash_of(key)) : std::move(status);
      });
      return status;
    });
  });
}

std::vector<TopKeys::Kept> LiveFilter::top() {
  TopKeys stored(store_);
  throw_if(table(), stored.load(*filter_, [this](const KeyView& key) { return hash_of(key); }));
  std::vector<TopKeys::Kept> kept = stored.kept();
  std::erase_if(kept, [](const TopKeys::Kept& one) { return one.count == 0; });
  std::stable_sort(kept.begin(), kept.end(), [](const TopKeys::Kept& a, const TopKeys::Kept& b) {
    return a.count > b.count;
  });
  return kept;
}

}  // namespace cuckoo
