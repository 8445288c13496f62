// filter_contains(filter, key), filter_export(table [, 'hashes' | 'legacy'])
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_filter_functions(Registration& registration);

}  // namespace cuckoo
