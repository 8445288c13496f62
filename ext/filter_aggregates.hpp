// Aggregates: cuckoo_build(key [, fpr [, capacity [, seed]]]) and bloom_build(…), an image of the
// keys of a group; filter_union(image), one image of several. NULLs are passed over; a group
// without a row gives NULL.
#pragma once

#include "ext/sqlite_api.hpp"

namespace cuckoo {

// Throws SqlError.
void register_filter_aggregates(sqlite3* db);

}  // namespace cuckoo
