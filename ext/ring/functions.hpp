// hash_ring_mark(ring) and hash_ring_export(ring).
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_ring_functions(Registration& registration);

}  // namespace cuckoo
