#include "core/filter/cuckoo_filter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace cuckoo::core {

// ---- geometry

CuckooFilter::CuckooFilter(const CuckooGeometry& geometry)
    : Filter(FilterKind::kCuckoo, geometry.page_count(), geometry.page_bytes),
      geometry_(geometry),
      fingerprints_(geometry.shape.fingerprints()),
      buckets_per_page_(geometry.buckets_per_page()),
      page_reciprocal_(~uint64_t{0} / buckets_per_page_ + 1),
      page_bits_(buckets_per_page_ * geometry.shape.bits()),
      page_whole_bytes_(page_bits_ / 8),
      bucket_bits_(geometry.shape),
      code_(choose_code(geometry.shape)) {
  if (code_.probe != probe_portable) {
    pages_.make_list();
  }
}

uint32_t CuckooFilter::content_bytes(uint64_t index) const noexcept {
  return geometry_.content_bytes(index);
}

size_t CuckooFilter::pages_of(uint64_t hash, uint64_t* pages) const noexcept {
  const Place place = locate(hash);
  pages[0] = page_of(place.bucket1);
  pages[1] = page_of(place.bucket2);
  return 2;
}

size_t CuckooFilter::cells_of(uint64_t hash, uint64_t* cells) const noexcept {
  cells[0] = cell(hash);
  return 1;
}

double CuckooFilter::load_factor() const noexcept {
  return static_cast<double>(occupied_) / (kBucketSlots * static_cast<double>(geometry_.buckets));
}

// Returns log2 of the number of fingerprints. A slot takes about one bit less.
double CuckooFilter::fingerprint_bits() const noexcept {
  return geometry_.shape.low_bits + std::log2(geometry_.shape.radix);
}

// ---- buckets

// Replaces one copy of `from`, which is among the bucket's values, by `to`. The bucket's page is
// marked dirty already.
void CuckooFilter::replace(uint64_t bucket, BucketValues values, uint64_t from,
                           uint64_t to) noexcept {
  *std::find(values.begin(), values.end(), from) = to;
  const uint64_t page = page_of(bucket);
  bucket_bits_.write(pages_.owned(page), bucket - page * buckets_per_page_, values);
}

// ---- one hash

uint64_t CuckooFilter::copies(uint64_t cell) const noexcept {
  const uint64_t bucket = cell / fingerprints_;
  const uint64_t fingerprint = 1 + cell % fingerprints_;
  return copies(Place{bucket, alternate(bucket, fingerprint), fingerprint});
}

uint64_t CuckooFilter::copies(const Place& place) const noexcept {
  const auto copies_in = [&](uint64_t bucket) {
    const BucketValues values = read(bucket);
    return static_cast<uint64_t>(std::count(values.begin(), values.end(), place.fingerprint));
  };
  uint64_t total = copies_in(place.bucket1);
  if (place.bucket2 != place.bucket1) {
    total += copies_in(place.bucket2);
  }
  return overflow_.empty() ? total : total + overflow_.count(cell(place));
}

bool CuckooFilter::remove(uint64_t hash) {
  const Place place = locate(hash);
  if (!overflow_.empty() && overflow_.remove(cell(place))) {
    return true;
  }
  for (const uint64_t bucket : {place.bucket1, place.bucket2}) {
    const BucketValues values = read(bucket);
    if (std::find(values.begin(), values.end(), place.fingerprint) != values.end()) {
      pages_.mark_dirty(page_of(bucket));
      replace(bucket, values, place.fingerprint, 0);
      --occupied_;
      return true;
    }
  }
  return false;
}

bool CuckooFilter::remove_copies(uint64_t hash, uint64_t copies) {
  if (copies == 1) {
    return remove(hash);
  }
  if (count(hash) < copies) {
    return false;
  }
  const uint64_t beyond = std::min(copies, overflow_.count(cell(hash)));
  if (beyond > 0) {
    overflow_.remove(cell(hash), beyond);
  }
  for (uint64_t left = copies - beyond; left > 0; --left) {
    remove(hash);
  }
  return true;
}

// ---- the whole filter

uint64_t CuckooFilter::digest() const noexcept {
  uint64_t sum = 0;
  (void)for_each_entry([&](const Place& place) -> Status {
    sum += mix64(cell(place));
    return {};
  });
  overflow_.for_each([&](uint64_t number, uint64_t count) { sum += count * mix64(number); });
  return sum;
}

Status CuckooFilter::check_page(uint64_t index, uint64_t& items) const {
  const std::byte* page = pages_.find(index);
  const size_t content = geometry_.content_bytes(index);
  CUCKOO_TRY(validate_page(geometry_, index, {page, content}));
  if (!all_zero({page + content, page + geometry_.page_bytes + PageSet::kSlackBytes})) {
    return corrupt("page " + std::to_string(index) +
                   " has bytes after its content, expected zeros");
  }
  const uint64_t first = index * buckets_per_page_;
  const uint64_t end = std::min(first + buckets_per_page_, geometry_.buckets);
  for (uint64_t bucket = first; bucket < end; ++bucket) {
    const BucketValues values = read(bucket);
    if (!std::is_sorted(values.begin(), values.end())) {  // the ranks are in range already
      return corrupt("bucket " + std::to_string(bucket) + " is not sorted");
    }
    for (const uint64_t value : values) {
      items += value != 0 ? 1 : 0;
    }
  }
  return {};
}

Status CuckooFilter::check() const {
  uint64_t items = 0;
  const uint64_t pages = pages_.page_count();
  for (uint64_t index = 0; pages_.list() != nullptr && index < pages; ++index) {
    if (pages_.list()[index] != pages_.find(index)) {  // its I6
      return corrupt("page " + std::to_string(index) + " is another one in the list of pages");
    }
  }
  for (uint64_t index = pages_.next_backed(0); index < pages;
       index = pages_.next_backed(index + 1)) {
    CUCKOO_TRY(check_page(index, items));
  }
  if (items != occupied_) {
    return corrupt("buckets hold " + std::to_string(items) + " items, expected " +
                   std::to_string(occupied_));
  }
  return check_overflow();
}

}  // namespace cuckoo::core
