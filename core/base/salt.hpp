// A number that can't be foreseen outside of the process.
#pragma once

#include <cstdint>

namespace cuckoo {

// Returns the same number as long as the process lives, and in its forks. The places of keys in a
// table in memory depend on it, because otherwise the maker of an image could choose keys that all
// get one place (Crosby, Wallach: "Denial of Service via Algorithmic Complexity Attacks", 2003).
// Nothing that is stored may depend on it.
uint64_t process_salt() noexcept;

}  // namespace cuckoo
