// cuckoo_sha1(x), also under the name sha1(x) if the application has no such function;
// cuckoo_sha256(x); and flash_kv_map(table)
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_flash_functions(Registration& registration);

}  // namespace cuckoo
