#include "ext/ring/functions.hpp"

#include "ext/ring/live_ring.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

// Calls use(ring) with the hash_ring that the argument names. Does nothing if it is NULL.
template <class Use>
void with_ring(sqlite3_context* context, sqlite3_value* name, const char* function, Use&& use) {
  if (const auto ring = name_argument(name, function, LiveRing::kKinds)) {
    use(*connection_of(context).find<LiveRing>(*ring));
  }
}

void hash_ring_mark(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    with_ring(context, values[0], "hash_ring_mark",
              [&](LiveRing& ring) { result_text(context, ring.mark()); });
  });
}

void hash_ring_export(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    with_ring(context, values[0], "hash_ring_export",
              [&](LiveRing& ring) { result_blob(context, ring.export_image()); });
  });
}

}  // namespace

void register_ring_functions(Registration& registration) {
  registration.function("hash_ring_mark", 1, SQLITE_INNOCUOUS, hash_ring_mark);
  registration.function("hash_ring_export", 1, SQLITE_INNOCUOUS, hash_ring_export);
}

}  // namespace cuckoo
