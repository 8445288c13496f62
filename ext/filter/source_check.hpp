// Does a filter hold what its source holds? What the command 'check' asks beside check_stored().
#pragma once

#include <string>

namespace cuckoo {

class LiveFilter;

struct CheckedSource {
  bool triggers = false;  // they keep the filter in step
};

// Throws SqlError that says what the filter lacks of its source and, where triggers keep it in
// step, what it has too many. Both may legally be so, but not for long: the source has changed
// since 'rebuild', a trigger missed something.
void check_source(LiveFilter& live, const CheckedSource& source);

}  // namespace cuckoo
