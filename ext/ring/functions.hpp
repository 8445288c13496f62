// hash_ring_mark(ring), hash_ring_export(ring), and the table-valued hash_ring_moves(ring, …).
#pragma once

namespace cuckoo {

class Registration;

// Both throw SqlError.
void register_ring_functions(Registration& registration);
void register_ring_moves(Registration& registration);

}  // namespace cuckoo
