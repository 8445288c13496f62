// Compares a filter with its source: the part of the command 'check' beside check_stored().
#pragma once

#include <string>

namespace cuckoo {

class LiveFilter;

struct CheckedSource {
  bool triggers = false;  // whether they keep the filter in step
};

// Throws SqlError if the filter lacks keys of its source, or, if triggers keep it in step and it
// can delete, has too many. Both can happen without damage: the source has changed since 'rebuild',
// or a trigger missed a change. 'rebuild' mends both.
void check_source(LiveFilter& live, const CheckedSource& source);

}  // namespace cuckoo
