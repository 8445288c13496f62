// cuckoo_check(table): does what the command 'check' does, for all kinds of tables, as a function.
// It writes nothing, so it also works on a replica, under PRAGMA query_only and in a database that
// was opened read-only.
#pragma once

namespace cuckoo {

class Registration;

// Throws SqlError.
void register_check(Registration& registration);

}  // namespace cuckoo
