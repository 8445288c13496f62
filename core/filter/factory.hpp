// Empty filters: of a size computed from what was asked for, or of a stored geometry.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo {

// What was asked for, but for the capacity.
struct FilterSpec {
  FilterKind kind = FilterKind::kCuckoo;
  double rate = 0.001;            // 2^-30 … 0.25; without meaning when one of the next is set
  uint32_t fingerprint_bits = 0;  // cuckoo: 4 … 32, or 0
  double bits_per_key = 0;        // Bloom: m/n, 1 … 128, or 0
  uint32_t hashes = 0;            // Bloom: k, 1 … 64, or 0: the best

  // A size was asked for, so the rate has no meaning.
  bool has_own_size() const noexcept { return fingerprint_bits != 0 || bits_per_key != 0; }
};

// Checks what a table and an image may ask for: the options of CREATE can say it, and a filter that
// grows can be made for it. Each reader and each writer of a spec calls this, so that none accepts
// what another refuses. kInvalid; the text ends a sentence: "a false positive rate of 2, expected".
Status check_spec(const FilterSpec& spec);

// capacity 1 … 2^40; kInvalid when a number is out of range. All pages absent.
Result<std::unique_ptr<Filter>> make_filter(const FilterSpec& spec, uint64_t capacity,
                                            uint32_t page_bytes);
// What the filter of a spec and a capacity has; the numbers alone, in no memory.
struct FilterSize {
  GeometryWords words;
  uint64_t bits = 0;        // of all cells
  uint64_t page_count = 0;  // of pages
  uint32_t places_per_key = 0;
};
Result<FilterSize> filter_size(const FilterSpec& spec, uint64_t capacity, uint32_t page_bytes);
// kCorrupt when there is no such geometry.
Result<std::unique_ptr<Filter>> make_filter(FilterKind kind, const GeometryWords& words,
                                            uint32_t page_bytes);

}  // namespace cuckoo
