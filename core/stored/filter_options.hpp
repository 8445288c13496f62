// The options that CREATE chose for a filter, or an import brought, and the numbers that follow
// from them alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/key_hash.hpp"
#include "core/base/page_size.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/stored/key_form.hpp"

namespace cuckoo {

inline constexpr uint64_t kMaxGenerations = 64;  // of a sliding window

struct FilterOptions {
  FilterSpec spec;
  uint64_t capacity = 1000;  // 1 … 2^40
  bool growth = true;
  uint64_t generations = 1;  // 1 … kMaxGenerations; the rate is of all together
  bool unique = false;       // a hash counts once, however often the log has it
  uint32_t top = 0;          // keys that the table keeps, 0 … 1000; core doesn't use it
  HashWidth width = HashWidth::k47Bits;
  uint64_t seed = 0;  // of the hashes; starts the log's chain
  uint64_t salt = 0;  // of the table's own: tells its blocks from those of others of the same seed
  uint32_t page_bytes = kPageBytes;
  uint8_t key_columns = 1;  // of the keys, as in KeyForm; core doesn't use them
  uint16_t collations = 0;
  uint64_t digest = 0;  // identifies the options in the root

  // Returns the form without the affinities, which the table's declaration has.
  KeyForm key_form() const noexcept { return {key_columns, 0, collations}; }
  // Returns what the checksums of the blocks are salted with.
  uint64_t block_seed() const noexcept { return seed ^ salt; }
  bool multiset() const noexcept { return is_multiset(spec.kind); }
  bool counts_copies() const noexcept { return multiset() && !unique; }
  // Returns the length of the longest row of pages or log.
  size_t row_bytes() const noexcept { return size_t{page_bytes} + kPageCrcBytes; }
  // Checks that CREATE accepts these options, because a table may store no others. kInvalid; the
  // text names the option.
  Status check() const;
  // Returns the spec of one generation, because the false positives of N independent ones add up to
  // the rate that was asked for.
  FilterSpec generation_spec() const noexcept;
  // Makes an empty filter of one generation, for so many keys.
  Result<std::unique_ptr<Filter>> make_filter_for(uint64_t keys) const;
  // Returns the most items at which hashes of that width are still good enough for the rate:
  // items / rate = 2^46 for 47 bits, and 2^60 for 63, where the sizing of filters ends.
  uint64_t most_items_by_hashes() const noexcept;
};

// Returns how many bits of a hash a filter of that rate and capacity (0: not known) logs.
HashWidth hash_width_for(double rate, uint64_t capacity) noexcept;

}  // namespace cuckoo
