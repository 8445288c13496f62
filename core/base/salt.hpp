// A number that nobody outside of the process can foresee.
#pragma once

#include <cstdint>

namespace cuckoo {

// The same for as long as the process lives, and in its forks. Where keys stand in a table in
// memory depends on it, or the maker of an image could make keys that all stand in one place
// (Crosby, Wallach: "Denial of Service via Algorithmic Complexity Attacks", 2003). What is stored
// must not.
uint64_t process_salt() noexcept;

}  // namespace cuckoo
