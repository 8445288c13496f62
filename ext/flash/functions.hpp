// cuckoo_sha1(x), also under the name sha1(x) if the application has no such function;
// cuckoo_sha256(x); flash_kv_map(table); and the table-valued functions
#pragma once

namespace cuckoo {

class Registration;

// All throw SqlError.
void register_flash_functions(Registration& registration);
void register_flash_info(Registration& registration);  // and flash_kv_sectors
void register_flash_plan(Registration& registration);
void register_flash_salvage(Registration& registration);

}  // namespace cuckoo
