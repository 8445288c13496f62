// The options of cuckoo_filter and bloom_filter, as CREATE takes them and as %_config keeps them,
// and the FilterOptions that they make.
//
// Invariants
//   I1  all options are stored as they were chosen, defaults too, so a later default never
//       reinterprets an old table. One that came later has a row only if it is not at the default
//       that it had then. A missing row means that default for ever.
//   I2  the root has the digest of all options on which the meaning of stored bytes depends. So an
//       option row that was changed from outside is noticed.
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
// Returns "cuckoo_filter", "a bloom_filter with layout = blocked" and so on, for messages.
std::string describe(FilterKind kind);

std::span<const OptionSpec> option_specs(FilterModule module) noexcept;

// The seed and the hash of the table that the option seed_of names.
struct SeedSource {
  uint64_t seed = 0;
  HashWidth width = HashWidth::k47Bits;
  FilterKind kind = FilterKind::kCuckoo;
};

// Facts that CREATE takes into account beside the options.
struct Surroundings {
  KeyForm key;
  uint64_t capacity = 1000;  // if it is not given
  std::optional<SeedSource> seed_of;
  uint32_t page_bytes = kPageBytes;
};

// Returns the seed as the option `seed` takes it.
std::string seed_text(uint64_t seed);

// Throws SqlError that names the table if options contradict one another. Without `seed_of` and
// without the option seed, the seed is random. Does not set the digest.
FilterOptions chosen_options(const std::string& table, FilterModule module, const Options& options,
                             const Surroundings& around);

uint64_t digest_of(const FilterOptions& options) noexcept;

// Replaces the rows of the filter itself. Other rows (source, triggers, key_type) stay.
// `declared`: the key as its columns are declared, here and below.
void store_options(ShadowStore& store, const FilterOptions& options, const KeyForm& declared);
// Reads the options, and sets the digest. `sourced`: the table was declared with a source, so it
// has rows for that, too. Throws SqlError (SQLITE_CORRUPT_VTAB) that names the row that is not
// valid, or says how the key was declared when it was made.
FilterOptions stored_options(ShadowStore& store, const KeyForm& declared, bool sourced);

}  // namespace cuckoo
