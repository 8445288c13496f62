// The options of cuckoo_filter and bloom_filter: what CREATE takes, how %_config keeps them, and
// what of them makes the filter.
//
// Invariants
//   I1  what was chosen is stored, defaults too: a later default never reinterprets an old table.
//   I2  the digest of all that decides what stored bytes mean is in the root: an option row that
//       was changed from outside is found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/page_size.hpp"
#include "core/stored/filter_options.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

enum class FilterModule { kCuckoo, kBloom };

const char* module_name(FilterModule module) noexcept;
FilterModule module_of(FilterKind kind) noexcept;
// "cuckoo_filter", "a bloom_filter with layout = blocked", …: for messages.
std::string describe(FilterKind kind);

std::span<const OptionSpec> option_specs(FilterModule module) noexcept;

// Seed and hash of the table that seed_of names.
struct SeedSource {
  uint64_t seed = 0;
  HashWidth width = HashWidth::k47Bits;
  FilterKind kind = FilterKind::kCuckoo;
};

// What CREATE takes into account beside the options.
struct Surroundings {
  KeyForm key;
  uint64_t capacity = 1000;  // if it is not given
  std::optional<SeedSource> seed_of;
  uint32_t page_bytes = kPageBytes;
};

// Throws SqlError that names the table when options contradict one another. Without `seed_of` and
// without the option the seed is random. The digest is not set.
FilterOptions chosen_options(const std::string& table, FilterModule module, const Options& options,
                             const Surroundings& around);

uint64_t digest_of(const FilterOptions& options) noexcept;

// Replaces the rows. Those that are not of the filter itself (source, triggers, key_type) stay.
void store_options(ShadowStore& store, const FilterOptions& options);
// With the digest. `sourced`: the table was declared with a source, so there are rows of that, too.
// Throws SqlError (SQLITE_CORRUPT_VTAB) that names the row that is not valid.
FilterOptions stored_options(ShadowStore& store, bool sourced);

}  // namespace cuckoo
