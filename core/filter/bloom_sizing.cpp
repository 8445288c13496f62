#include "core/filter/bloom_sizing.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF  // I1: no fused multiply-add; GCC has none with -std=c++20
#endif

namespace cuckoo::core {
namespace {

constexpr uint64_t kMaxBlocks = kMaxBloomCells / kBlockBits;
constexpr uint64_t kLaneBits = kBlockBits / kBlockLanes;
// A further block per key must save bits by this factor, because it is one cache line more to read.
constexpr double kBlockWorth = 1.02;
// e^y is infinite at 710; no filter with this y has an empty cell.
constexpr double kHopeless = 700;

// ---- functions of real numbers that round alike everywhere (I1)

// Returns the sum of y^i/i! from i = first on, for |y| <= 0.5. 17 terms reach 2^-60 of the first.
double tail_of_exp(double y, int first) noexcept {
  double sum = 1;
  for (int i = first + 16; i > first; --i) {
    sum = 1 + sum * y / i;
  }
  for (int i = 1; i <= first; ++i) {
    sum = sum * y / i;
  }
  return sum;
}

// e^y, 0 <= y <= kHopeless
double exponential(double y) noexcept {
  constexpr double kLog2High = 0x1.62e42fee00000p-1;  // log 2 in two parts: n·high is exact
  constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
  const double n = std::floor(y * 0x1.71547652b82fep+0 + 0.5);
  return std::ldexp(tail_of_exp((y - n * kLog2High) - n * kLog2Low, 0), static_cast<int>(n));
}

double one_minus_exp(double y) noexcept {  // 1 - e^-y, y >= 0
  return y < 0.5 ? -tail_of_exp(-y, 1) : y > kHopeless ? 1 : 1 - 1 / exponential(y);
}

double exp_minus_1_minus(double y) noexcept {  // e^y - 1 - y, 0 <= y <= kHopeless
  return y < 0.5 ? tail_of_exp(y, 2) : exponential(y) - 1 - y;
}

// -ln(1 - x), 0 <= x <= 1/2, by 2·artanh(x / (2 - x)): z <= 1/3, so 18 terms reach 2^-57.
double minus_log_1_minus(double x) noexcept {
  const double z = x / (2 - x);
  double sum = 0;
  for (int i = 35; i >= 1; i -= 2) {
    sum = sum * (z * z) + 1.0 / i;
  }
  return 2 * z * sum;
}

double power(double base, uint64_t exponent) noexcept {
  double result = 1;
  for (; exponent != 0; exponent >>= 1) {
    result = (exponent & 1) != 0 ? result * base : result;
    base *= base;
  }
  return result;
}

// ---- rates

// Returns y / n. Each key multiplies every cell's chance to be empty by e^-(y / n).
double decay_per_key(const BloomGeometry& geometry) noexcept {
  const auto cells = static_cast<double>(geometry.cells());
  const double k = geometry.cells_per_key();
  if (geometry.blocked()) {  // exactly k different cells, each as likely
    return minus_log_1_minus(k / cells);
  }
  return geometry.size == 1 ? kHopeless : k * minus_log_1_minus(1 / cells);
}

BloomRate standard_rate(const BloomGeometry& geometry, double keys) noexcept {
  const double y = decay_per_key(geometry) * keys;
  if (y > kHopeless) {
    return {1, 0};
  }
  const double k = geometry.hashes;
  const double used = one_minus_exp(y);
  // e^-y - (1 + y)·e^-2y = (e^y - 1 - y)·e^-2y
  const double empty = 1 - used;
  const double variance =
      exp_minus_1_minus(y) * empty * empty / static_cast<double>(geometry.size) / (used * used);
  const double mean = power(used, geometry.hashes) * (1 + k * (k - 1) / 2 * variance);
  return {std::min(mean, 1.0), k * std::sqrt(variance)};
}

// The rate at which a segment lets an absent key pass: its mean over all filters, and its relative
// variance.
struct SegmentRate {
  double mean = 0;
  double variance = 0;
};

// Sums over the numbers of keys that a block may have, with weights proportional to their
// probabilities.
class LoadSums {
 public:
  // Returns false if the terms from here on, away from the mode, are too small to change the sums.
  bool add(double keys, double weight, double empty1, double empty2) noexcept {
    // The chances that a given bit of a lane of 64 bits is set, and that two random bits are.
    const double one = 1 - empty1;
    const double two = (one + (kLaneBits - 1) * (1 - 2 * empty1 + empty2)) / kLaneBits;
    const double rate = power(one, kBlockLanes);
    const double square = power(two, kBlockLanes);
    weights_ += weight;
    rates_ += weight * rate;
    squares_ += weight * square;
    keys_ += weight * keys;
    keys_squared_ += weight * keys * keys;
    rate_keys_ += weight * rate * keys;
    constexpr double kTiny = 1e-18;
    return !(weight < kTiny * weights_ && weight * rate < kTiny * rates_ &&
             weight * square < kTiny * squares_);
  }
  // The keys are shared out among the blocks: if one has more, another has less. So the part of the
  // rate that is linear in a block's keys does not vary.
  SegmentRate result(double blocks) const noexcept {
    const double mean = rates_ / weights_;
    const double keys = keys_ / weights_;
    const double key_variance = keys_squared_ / weights_ - keys * keys;
    const double covariance = rate_keys_ / weights_ - mean * keys;
    double variance = squares_ / weights_ - mean * mean;
    if (blocks > 1 && key_variance > 0) {
      variance -= covariance * covariance / key_variance;
    }
    return {mean, std::max(variance / (mean * mean * blocks), 0.0)};
  }

 private:
  double weights_ = 0;
  double rates_ = 0;
  double squares_ = 0;
  double keys_ = 0;
  double keys_squared_ = 0;
  double rate_keys_ = 0;
};

// keys >= 1 when blocks = 1
SegmentRate segment_rate(double keys, double blocks) noexcept {
  constexpr double kEmpty1 = 63.0 / 64;  // a key misses a given bit of a lane, and two given ones
  constexpr double kEmpty2 = 62.0 / 64;
  const double load = keys / blocks;
  if (load > 64 * 64) {
    return {1, 0};  // (63/64)^4096 < 2^-92
  }
  const double mode = std::floor(load);
  const double odds = blocks > 1 ? 1 / (blocks - 1) : 0;
  const double start1 = power(kEmpty1, static_cast<uint64_t>(mode));
  const double start2 = power(kEmpty2, static_cast<uint64_t>(mode));
  LoadSums sums;
  double weight = 1;
  double empty1 = start1;
  double empty2 = start2;
  for (double j = mode; sums.add(j, weight, empty1, empty2) && j + 1 <= keys; ++j) {
    weight = weight * (keys - j) / (j + 1) * odds;
    empty1 *= kEmpty1;
    empty2 *= kEmpty2;
  }
  if (blocks > 1) {
    weight = 1;
    empty1 = start1;
    empty2 = start2;
    for (double j = mode; j >= 1; --j) {
      weight = weight * j / ((keys - j + 1) * odds);
      empty1 /= kEmpty1;
      empty2 /= kEmpty2;
      if (!sums.add(j - 1, weight, empty1, empty2)) {
        break;
      }
    }
  }
  return sums.result(blocks);
}

BloomRate blocked_rate(const BloomGeometry& geometry, double keys) noexcept {
  double mean = 1;
  double variance = 0;
  SegmentRate segment;
  uint64_t before = 0;
  for (uint32_t i = 0; i < geometry.hashes; ++i) {
    const uint64_t blocks = geometry.first_block(i + 1) - geometry.first_block(i);
    if (blocks != before) {
      segment = segment_rate(keys, static_cast<double>(blocks));
      before = blocks;
    }
    mean *= segment.mean;
    variance += segment.variance;
  }
  return {mean, std::sqrt(variance)};
}

// ---- sizes

bool holds(const BloomGeometry& geometry, double keys, double rate) noexcept {
  const BloomRate expected = bloom_rate(geometry, keys);
  return expected.mean * (1 + expected.deviation) <= rate;
}

// Returns the smallest size from `least` to `most` that holds the rate, or `most` + 1 if none does.
uint64_t smallest_size(BloomGeometry geometry, double keys, double rate, uint64_t least,
                       uint64_t most) noexcept {
  uint64_t end = most + 1;
  while (least < end) {
    geometry.size = least + (end - least) / 2;
    if (holds(geometry, keys, rate)) {
      end = geometry.size;
    } else {
      least = geometry.size + 1;
    }
  }
  return end;
}

uint32_t in_range_of_hashes(double hashes) noexcept {
  return static_cast<uint32_t>(std::clamp<double>(hashes, 1, kMaxBloomHashes));
}

// Returns round(-log2 rate). With rate = f·2^e, 1/2 <= f < 1, it is -e, or -e + 1 if f < 2^-1/2.
uint32_t best_hashes(double rate) noexcept {
  int exponent = 0;
  const double fraction = std::frexp(rate, &exponent);
  return in_range_of_hashes(fraction < 0x1.6a09e667f3bcdp-1 ? 1 - exponent : -exponent);
}

void size_blocked(BloomGeometry& geometry, double keys, double rate) noexcept {
  uint64_t sizes[kMaxBlocksPerKey + 1] = {};
  uint64_t smallest = kMaxBlocks + 1;
  for (geometry.hashes = 1; geometry.hashes <= kMaxBlocksPerKey; ++geometry.hashes) {
    uint64_t& size = sizes[geometry.hashes];
    size = smallest_size(geometry, keys, rate, geometry.hashes, kMaxBlocks);
    smallest = std::min(smallest, size);
  }
  geometry.hashes = 1;
  while (static_cast<double>(sizes[geometry.hashes]) >
         kBlockWorth * static_cast<double>(smallest)) {
    ++geometry.hashes;
  }
  geometry.size = sizes[geometry.hashes];
}

void size_blocked_bits(BloomGeometry& geometry, double keys, double bits) noexcept {
  const auto blocks = static_cast<uint64_t>(std::ceil(bits / kBlockBits));
  BloomGeometry best;
  double lowest = 2;
  for (geometry.hashes = 1; geometry.hashes <= kMaxBlocksPerKey; ++geometry.hashes) {
    geometry.size = std::max<uint64_t>(blocks, geometry.hashes);
    const double rate = bloom_rate(geometry, keys).mean;
    if (rate < lowest && (geometry.hashes == 1 || geometry.hashes <= blocks)) {
      lowest = rate;
      best = geometry;
    }
  }
  geometry = best;
}

// Rounds as the legacy file's writer does: always up to the next 64, even from a multiple of it.
void round_legacy(BloomGeometry& geometry, double keys, uint32_t hashes) noexcept {
  constexpr double kLog2 = 0.69314;
  geometry.size = geometry.size - geometry.size % 64 + 64;
  const double best = std::floor(kLog2 * static_cast<double>(geometry.size) / keys + 0.5);
  geometry.hashes = hashes != 0 ? hashes : in_range_of_hashes(best);
}

uint64_t legacy_bits(double keys, double rate) noexcept {
  constexpr double kLog2Squared = 0.480453;
  return static_cast<uint64_t>(std::ceil(-keys * std::log(rate) / kLog2Squared));
}

Status check_kind(FilterKind kind) {
  switch (kind) {
    case FilterKind::kBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      return {};
    case FilterKind::kCuckoo:
      break;
  }
  return invalid("filter kind is " + std::to_string(static_cast<unsigned>(kind)) +
                 ", expected a Bloom filter's, 2 to 5");
}

Status check_request(FilterKind kind, uint64_t capacity, uint32_t hashes) {
  CUCKOO_TRY(check_kind(kind));
  CUCKOO_TRY(check_capacity(capacity));
  if (hashes != 0 && kind == FilterKind::kBlockedBloom) {
    return invalid("hashes is " + std::to_string(hashes) +
                   " with layout = blocked, expected layout = standard");
  }
  if (hashes > kMaxBloomHashes) {
    return invalid("hashes is " + std::to_string(hashes) + ", expected 1 to 64");
  }
  return {};
}

Status check_size(const BloomGeometry& geometry) {
  if (geometry.kind == FilterKind::kLegacyBloom && geometry.size > kMaxLegacyBits) {
    return invalid("a legacy filter of that capacity takes " + std::to_string(geometry.size) +
                   " bits, expected less than 2^32");
  }
  if (geometry.size > (geometry.blocked() ? kMaxBlocks : kMaxBloomCells)) {
    return invalid("capacity, fpr and hashes = " + std::to_string(geometry.hashes) +
                   " ask for too many bits, expected at most 2^47");
  }
  return {};
}

}  // namespace

// ---- geometry

uint64_t BloomGeometry::cells_in_page(uint64_t index) const noexcept {
  const uint64_t per_page = cells_per_page();
  return std::min(per_page, cells() - index * per_page);
}

uint32_t BloomGeometry::content_bytes(uint64_t index) const noexcept {
  return static_cast<uint32_t>((cells_in_page(index) * cell_bits() + 7) / 8);
}

Result<BloomGeometry> size_bloom(FilterKind kind, uint64_t capacity, double rate, uint32_t hashes,
                                 uint32_t page_bytes) {
  CUCKOO_TRY(check_request(kind, capacity, hashes));
  if (!(rate >= kMinBloomRate && rate <= kMaxRate)) {  // a NaN fails too
    return invalid("false positive rate is " + short_text(rate) + ", expected 2^-36 to 0.25");
  }
  const auto keys = static_cast<double>(capacity);
  if (keys / rate > kMaxKeysPerRate) {
    return invalid("capacity = " + std::to_string(capacity) + " and fpr = " + short_text(rate) +
                   " ask for too many distinct hashes, expected capacity/fpr of at most 2^60");
  }
  BloomGeometry geometry{kind, 1, hashes != 0 ? hashes : best_hashes(rate), page_bytes};
  const double sized = std::max(keys, kFewestSizedKeys);
  if (geometry.blocked()) {
    size_blocked(geometry, sized, rate);
  } else if (kind == FilterKind::kLegacyBloom) {
    geometry.size = hashes == 0 ? legacy_bits(keys, rate)
                                : smallest_size(geometry, keys, rate, 1, kMaxLegacyBits);
    round_legacy(geometry, keys, hashes);
  } else {
    geometry.size = smallest_size(geometry, sized, rate, 1, kMaxBloomCells);
  }
  CUCKOO_TRY(check_size(geometry));
  return geometry;
}

Result<BloomGeometry> size_bloom_bits(FilterKind kind, uint64_t capacity, double bits_per_key,
                                      uint32_t hashes, uint32_t page_bytes) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1;
  CUCKOO_TRY(check_request(kind, capacity, hashes));
  if (!(bits_per_key >= kMinBitsPerKey && bits_per_key <= kMaxBitsPerKey)) {
    return invalid("bits per key are " + short_text(bits_per_key) + ", expected 1 to 128");
  }
  const auto keys = static_cast<double>(capacity);
  const double bits = std::ceil(keys * bits_per_key);  // at most 2^47
  const uint32_t best = in_range_of_hashes(std::floor(bits_per_key * kLog2 + 0.5));
  BloomGeometry geometry{kind, static_cast<uint64_t>(bits), hashes != 0 ? hashes : best,
                         page_bytes};
  if (geometry.blocked()) {
    size_blocked_bits(geometry, keys, bits);
  } else if (kind == FilterKind::kLegacyBloom) {
    round_legacy(geometry, keys, hashes);
  }
  CUCKOO_TRY(check_size(geometry));
  return geometry;
}

Result<BloomGeometry> stored_bloom(FilterKind kind, const GeometryWords& words,
                                   uint32_t page_bytes) {
  if (Status status = check_kind(kind); !status.ok()) {
    return corrupt(status.error().message);
  }
  const bool blocked = kind == FilterKind::kBlockedBloom;
  const bool legacy = kind == FilterKind::kLegacyBloom;
  const uint64_t most_hashes = blocked ? kMaxBlocksPerKey : kMaxBloomHashes;
  if (words.shape < 1 || words.shape > most_hashes) {
    return corrupt("Bloom filter has " + std::to_string(words.shape) +
                   (blocked ? " blocks per key" : " hashes") + ", expected 1 to " +
                   std::to_string(most_hashes));
  }
  const uint64_t least = blocked ? words.shape : legacy ? 64 : 1;
  const uint64_t most = blocked ? kMaxBlocks : legacy ? kMaxLegacyBits : kMaxBloomCells;
  if (words.size < least || words.size > most) {
    return corrupt("Bloom filter has " + std::to_string(words.size) +
                   (blocked ? " blocks" : " cells") + ", expected " + std::to_string(least) +
                   " to " + std::to_string(most));
  }
  if (legacy && words.size % 64 != 0) {
    return corrupt("legacy Bloom filter has " + std::to_string(words.size) +
                   " bits, expected a multiple of 64");
  }
  if (words.detail != 0) {
    return corrupt("Bloom filter has the third geometry word " + std::to_string(words.detail) +
                   ", expected 0");
  }
  return BloomGeometry{kind, words.size, static_cast<uint32_t>(words.shape), page_bytes};
}

// ---- rates and cells in use

BloomRate bloom_rate(const BloomGeometry& geometry, double keys) noexcept {
  if (!(keys > 0)) {
    return {0, 0};
  }
  return geometry.blocked() ? blocked_rate(geometry, std::floor(keys + 0.5))
                            : standard_rate(geometry, keys);
}

double expected_cells(const BloomGeometry& geometry, double keys) noexcept {
  return static_cast<double>(geometry.cells()) * one_minus_exp(decay_per_key(geometry) * keys);
}

double keys_for_cells(const BloomGeometry& geometry, uint64_t cells) noexcept {
  const auto all = static_cast<double>(geometry.cells());
  const double used = std::min(static_cast<double>(cells), all - 0.5);
  return -std::log1p(-used / all) / decay_per_key(geometry);
}

bool cells_reach(const BloomGeometry& geometry, uint64_t occupied, uint64_t capacity,
                 double deviations) noexcept {
  const auto all = static_cast<double>(geometry.cells());
  const auto wanted = static_cast<double>(capacity);
  const double used = std::min(static_cast<double>(occupied), all - 0.5);
  const double k = geometry.cells_per_key();
  // Most calls end here, up to about 0.3 % below the capacity. The bounds are 1 - e^-y >= y - y²/2
  // + y³/6 - y⁴/24 and y >= k·keys/m.
  if (const double y = k * wanted / all;
      y > 0 && used < all * y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4)))) {
    return false;
  }
  // More keys are expected to use more cells. So the cells stand for n keys if n keys are expected
  // to use no more.
  const auto stand_for = [&](double keys) { return used >= expected_cells(geometry, keys); };
  if (!stand_for(wanted)) {
    return false;
  }
  if (deviations == 0 || occupied >= geometry.cells()) {
    return true;
  }
  const double c = std::min(k * wanted / all, kHopeless);
  return stand_for(wanted + deviations * std::sqrt(all * exp_minus_1_minus(c)) / k);
}

}  // namespace cuckoo::core
