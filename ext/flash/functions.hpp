// cuckoo_sha1(x), which is sha1(x) too where the application has no such function; and
// flash_kv_map(table)
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_flash_functions(Registration& registration);

}  // namespace cuckoo
