#include "core/filter/factory.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/bytes.hpp"
#include "core/filter/bloom_filter.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/filter/legacy_bloom.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo::core {
namespace {

template <class Made, class Geometry>
Result<std::unique_ptr<Filter>> made_of(Result<Geometry> geometry) {
  if (!geometry.ok()) {
    return geometry.take_status();
  }
  return std::unique_ptr<Filter>(std::make_unique<Made>(geometry.value()));
}

Result<CuckooGeometry> cuckoo_geometry(const FilterSpec& spec, uint64_t capacity,
                                       uint32_t page_bytes) {
  return spec.fingerprint_bits != 0 ? size_cuckoo_bits(capacity, spec.fingerprint_bits, page_bytes)
                                    : size_cuckoo(capacity, spec.rate, page_bytes);
}

// Returns kInvalid for a number that is no kind.
Result<BloomGeometry> bloom_geometry(const FilterSpec& spec, uint64_t capacity,
                                     uint32_t page_bytes) {
  return spec.bits_per_key != 0
             ? size_bloom_bits(spec.kind, capacity, spec.bits_per_key, spec.hashes, page_bytes)
             : size_bloom(spec.kind, capacity, spec.rate, spec.hashes, page_bytes);
}

Result<std::unique_ptr<Filter>> make_cuckoo(const GeometryWords& words, uint32_t page_bytes) {
  CuckooGeometry geometry;
  geometry.buckets = words.size;
  geometry.page_bytes = page_bytes;
  if (words.size == 0 || words.size > kMaxCapacity || words.shape > 64 ||
      words.detail > kMaxLowBits ||
      !make_bucket_shape(static_cast<uint32_t>(words.shape), static_cast<uint32_t>(words.detail),
                         geometry.shape)) {
    return corrupt("no cuckoo filter has " + std::to_string(words.size) + " buckets of radix " +
                   std::to_string(words.shape) + " with " + std::to_string(words.detail) +
                   " low bits");
  }
  return std::unique_ptr<Filter>(std::make_unique<CuckooFilter>(geometry));
}

Status check_rate(const FilterSpec& spec) {
  if (traits_of(spec.kind).pairs) {
    return is_legacy_rate(spec.rate) ? Status()
                                     : invalid("a false positive rate of " + short_text(spec.rate) +
                                               ", expected 2^-1022 or more and less than 1");
  }
  return spec.rate >= kMinRate && spec.rate <= kMaxRate  // a NaN is not
             ? Status()
             : invalid("a false positive rate of " + short_text(spec.rate) +
                       ", expected 2^-30 to 0.25");
}

}  // namespace

Status check_spec(const FilterSpec& spec) {
  if (!is_kind(spec.kind)) {
    return invalid("a filter of kind " + std::to_string(static_cast<int>(spec.kind)) +
                   ", expected 1 to " + std::to_string(static_cast<int>(kFilterKinds.back())));
  }
  const bool cuckoo = traits_of(spec.kind).own_size == OwnSize::kFingerprintBits;
  if (spec.fingerprint_bits != 0 &&
      (!cuckoo || spec.fingerprint_bits < 4 || spec.fingerprint_bits > 32)) {
    return invalid(std::to_string(spec.fingerprint_bits) + " fingerprint bits, expected " +
                   (cuckoo ? "0 or 4 to 32" : "0 in a Bloom filter"));
  }
  const bool has_bits = spec.bits_per_key != 0 || std::signbit(spec.bits_per_key);  // -0 is no 0
  if (has_bits &&
      (cuckoo || !(spec.bits_per_key >= kMinBitsPerKey && spec.bits_per_key <= kMaxBitsPerKey))) {
    return invalid(short_text(spec.bits_per_key) + " bits per key, expected " +
                   (cuckoo ? "0 in a cuckoo filter" : "0 or 1 to 128"));
  }
  if (spec.hashes > (cuckoo ? 0 : kMaxBloomHashes)) {
    return invalid(std::to_string(spec.hashes) + " hashes, expected " +
                   (cuckoo ? "0 in a cuckoo filter" : "0 to 64"));
  }
  return spec.has_own_size() ? Status() : check_rate(spec);
}

Result<std::unique_ptr<Filter>> make_filter(const FilterSpec& spec, uint64_t capacity,
                                            uint32_t page_bytes) {
  switch (spec.kind) {
    case FilterKind::kCuckoo:
      return made_of<CuckooFilter>(cuckoo_geometry(spec, capacity, page_bytes));
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return made_of<BloomFilter>(bloom_geometry(spec, capacity, page_bytes));
}

Result<FilterSize> filter_size(const FilterSpec& spec, uint64_t capacity, uint32_t page_bytes) {
  switch (spec.kind) {
    case FilterKind::kCuckoo: {
      CUCKOO_ASSIGN_OR_RETURN(const CuckooGeometry geometry,
                              cuckoo_geometry(spec, capacity, page_bytes));
      return FilterSize{geometry.words(), geometry.bits(), geometry.page_count(),
                        kCuckooPlacesPerKey};
    }
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  CUCKOO_ASSIGN_OR_RETURN(const BloomGeometry geometry, bloom_geometry(spec, capacity, page_bytes));
  return FilterSize{geometry.words(), geometry.bits(), geometry.page_count(),
                    geometry.cells_per_key()};
}

Result<std::unique_ptr<Filter>> make_filter(FilterKind kind, const GeometryWords& words,
                                            uint32_t page_bytes) {
  switch (kind) {
    case FilterKind::kCuckoo:
      return make_cuckoo(words, page_bytes);
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return made_of<BloomFilter>(stored_bloom(kind, words, page_bytes));
}

bool equal_cells(const Filter& a, const Filter& b) noexcept {
  if (a.occupied() != b.occupied() || !a.overflow().equals(b.overflow())) {
    return false;
  }
  const auto next = [&](uint64_t index) {
    return std::min(a.pages().next_backed(index), b.pages().next_backed(index));
  };
  for (uint64_t index = next(0); index < a.pages().page_count(); index = next(index + 1)) {
    const size_t bytes = a.content_bytes(index);
    if (!equal_bytes({a.pages().find(index), bytes}, {b.pages().find(index), bytes})) {
      return false;
    }
  }
  return true;
}

}  // namespace cuckoo::core
