#include "core/stored/filter_options.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/filter/sizing.hpp"

namespace cuckoo {

Status FilterOptions::check() const {
  CUCKOO_TRY(check_spec(spec));
  CUCKOO_TRY(check_capacity(capacity));
  if (generations < 1 || generations > kMaxGenerations) {
    return invalid(std::to_string(generations) + " generations, expected 1 to 64");
  }
  if (const Status keys = check_keys(key_form(), 0); !keys.ok()) {
    return invalid(keys.error().message);
  }
  if (width != HashWidth::k47Bits && width != HashWidth::k63Bits) {
    return invalid(std::to_string(static_cast<int>(width)) + " bits of a hash, expected 47 or 63");
  }
  if (top > 0 && (!counts_copies() || key_columns > 1)) {
    return invalid("top with a filter that does not count, or a key of several columns");
  }
  if (!is_page_size(page_bytes)) {
    return invalid("pages of " + std::to_string(page_bytes) + " bytes");
  }
  if (traits_of(spec.kind).pairs && (growth || generations > 1 || seed > UINT32_MAX)) {
    return invalid("hash = murmur2 with growth, several generations or a seed above 2^32 - 1");
  }
  return {};
}

FilterSpec FilterOptions::generation_spec() const noexcept {
  FilterSpec one = spec;
  if (generations > 1) {
    one.rate = -std::expm1(std::log1p(-spec.rate) / static_cast<double>(generations));
  }
  return one;
}

Result<std::unique_ptr<Filter>> FilterOptions::make_filter_for(uint64_t keys) const {
  FilterSpec one = generation_spec();
  if (traits_of(one.kind).pairs) {  // its file may have asked for any rate
    one.rate = std::clamp(one.rate, kMinRate, kMaxRate);
  }
  return make_filter(one, keys, page_bytes);
}

uint64_t FilterOptions::most_items_by_hashes() const noexcept {
  const FilterSpec one = generation_spec();
  if (one.bits_per_key != 0) {
    return kMaxCapacity;  // no rate was asked for
  }
  const double rate = one.fingerprint_bits != 0
                          ? std::ldexp(8.0, -static_cast<int>(one.fingerprint_bits))
                          : one.rate;
  const double limit = std::ldexp(rate, width == HashWidth::k47Bits ? 46 : 60);
  return static_cast<uint64_t>(std::clamp(limit, 1.0, static_cast<double>(kMaxCapacity)));
}

HashWidth hash_width_for(double rate, uint64_t capacity) noexcept {
  constexpr double kNarrowRate = 0x1p-12;
  constexpr uint64_t kNarrowCapacity = uint64_t{1} << 34;
  const bool narrow = rate >= kNarrowRate && capacity <= kNarrowCapacity;
  return narrow ? HashWidth::k47Bits : HashWidth::k63Bits;
}

}  // namespace cuckoo
