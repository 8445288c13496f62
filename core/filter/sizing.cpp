#include "core/filter/sizing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cuckoo::core {
namespace {

// Sampling noise over seeds must not lift a table's rate above the one asked.
constexpr double kRateMargin = 0.985;

Status check_keys_per_rate(uint64_t capacity, double rate) {
  if (static_cast<double>(capacity) / rate > kMaxKeysPerRate) {
    return invalid(
        "capacity = " + std::to_string(capacity) + " and fpr = " + short_text(rate) +
        " ask for too many distinct fingerprints, expected capacity/fpr of at most 2^60");
  }
  return {};
}

uint64_t buckets_for(uint64_t capacity) noexcept {
  const double slots = static_cast<double>(capacity) / cuckoo_design_load(capacity);
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(slots / kBucketSlots)));
}

}  // namespace

Status check_capacity(uint64_t capacity) {
  if (capacity < 1 || capacity > kMaxCapacity) {
    return invalid("capacity is " + std::to_string(capacity) + ", expected 1 to 2^40");
  }
  return {};
}

std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

uint32_t CuckooGeometry::content_bytes(uint64_t index) const noexcept {
  const uint64_t per_page = buckets_per_page();
  const uint64_t held = std::min(per_page, buckets - index * per_page);
  return static_cast<uint32_t>((held * shape.bits() + 7) / 8);
}

double cuckoo_design_load(uint64_t capacity) noexcept {
  return 0.97 - 0.5 / std::sqrt(static_cast<double>(capacity));
}

double cuckoo_rate(const CuckooGeometry& geometry, double items) noexcept {
  const double fingerprints = static_cast<double>(geometry.shape.fingerprints());
  // A probe meets 8·load stored fingerprints, with load = items / (4·M).
  const double met = 2.0 * items / static_cast<double>(geometry.buckets);
  return -std::expm1(met * std::log1p(-1.0 / fingerprints));
}

Result<CuckooGeometry> size_cuckoo(uint64_t capacity, double rate, uint32_t page_bytes) {
  CUCKOO_TRY(check_capacity(capacity));
  if (!(rate >= kMinRate && rate <= kMaxRate)) {  // a NaN fails too
    return invalid("false positive rate is " + short_text(rate) + ", expected 2^-30 to 0.25");
  }
  CUCKOO_TRY(check_keys_per_rate(capacity, rate));
  CuckooGeometry geometry{buckets_for(capacity), {}, page_bytes};
  // The rate falls and the width rises from one shape to the next, so the first that fits is the
  // narrowest. The last shape has 2^33 - 1 fingerprints, so its rate is about 8·0.97/2^33 =
  // 0.97·2^-30 < 0.985·kMinRate.
  uint64_t fingerprints = 1;
  while (narrowest_bucket_shape(fingerprints, geometry.shape)) {
    if (cuckoo_rate(geometry, static_cast<double>(capacity)) <= kRateMargin * rate) {
      return geometry;
    }
    fingerprints = geometry.shape.fingerprints() + 1;
  }
  return invalid("no bucket is wide enough for a false positive rate of " + short_text(rate));
}

Result<CuckooGeometry> size_cuckoo_bits(uint64_t capacity, uint32_t fingerprint_bits,
                                        uint32_t page_bytes) {
  CUCKOO_TRY(check_capacity(capacity));
  if (fingerprint_bits < 4 || fingerprint_bits > 32) {
    return invalid("fingerprint bits are " + std::to_string(fingerprint_bits) +
                   ", expected 4 to 32");
  }
  CuckooGeometry geometry{buckets_for(capacity), {}, page_bytes};
  (void)make_bucket_shape(16, fingerprint_bits - 4, geometry.shape);
  CUCKOO_TRY(check_keys_per_rate(capacity, cuckoo_rate(geometry, static_cast<double>(capacity))));
  return geometry;
}

}  // namespace cuckoo::core
