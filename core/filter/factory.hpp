// Makes empty filters, for a spec and a capacity or for a stored geometry.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

// The wishes for a filter, except its capacity.
struct FilterSpec {
  FilterKind kind = FilterKind::kCuckoo;
  double rate = 0.001;            // 2^-30 … 0.25; without meaning if the spec has_own_size()
  uint32_t fingerprint_bits = 0;  // cuckoo: 4 … 32, or 0
  double bits_per_key = 0;        // Bloom: m/n, 1 … 128, or 0
  uint32_t hashes = 0;            // Bloom: k, 1 … 64, or 0: the best

  // Returns true if a size was asked for. Then the rate has no meaning.
  bool has_own_size() const noexcept { return fingerprint_bits != 0 || bits_per_key != 0; }
};

// Checks that a table or an image may have this spec: the options of CREATE can say it, and a
// filter that grows can be made for it. Each reader and each writer of a spec calls this, so that
// none accepts a spec that another refuses. kInvalid; its text is the end of a sentence, such as "a
// false positive rate of 2, expected 2^-30 to 0.25".
Status check_spec(const FilterSpec& spec);

// Makes a filter, all pages absent. capacity 1 … 2^40; kInvalid if a number is out of range.
Result<std::unique_ptr<Filter>> make_filter(const FilterSpec& spec, uint64_t capacity,
                                            uint32_t page_bytes);
// The size that a filter of a spec and a capacity would have. It makes no filter.
struct FilterSize {
  GeometryWords words;
  uint64_t bits = 0;        // of all cells
  uint64_t page_count = 0;  // of pages
  uint32_t places_per_key = 0;
};
Result<FilterSize> filter_size(const FilterSpec& spec, uint64_t capacity, uint32_t page_bytes);
// Makes a filter of a stored geometry. kCorrupt: there is no such geometry.
Result<std::unique_ptr<Filter>> make_filter(FilterKind kind, const GeometryWords& words,
                                            uint32_t page_bytes);

}  // namespace cuckoo::core
