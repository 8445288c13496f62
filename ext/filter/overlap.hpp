// filter_overlap(a, b): how many keys two filters have in common. Each is a table's name, or an
// image. Both must keep their hashes.
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_filter_overlap(Registration& registration);

}  // namespace cuckoo
