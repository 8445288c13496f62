// What packages/wasm/api.js calls beside SQLite's own C functions. api.js passes numbers of 32 bits
// alone, so a 64-bit integer comes in two halves.
//
// SQL functions that are written in JavaScript: api.js keeps each under a number, and SQLite gives
// that number back with each call. SQLite says when it forgets a function, so none is kept longer
// than its connection.
#include <emscripten.h>

#include <cstdint>

#include "ext/sqlite_cuckoo.h"
#include "sqlite3.h"

// clang-format off
EM_JS(void, call_function, (sqlite3_context* context, int count, sqlite3_value** values, int id), {
  Module.functions.call(context, count, values, id);
})
EM_JS(void, step_aggregate, (sqlite3_context* context, int count, sqlite3_value** values, int id,
                             int state), {
  Module.functions.step(context, count, values, id, state);
})
EM_JS(void, end_aggregate, (sqlite3_context* context, int id, int state), {
  Module.functions.end(context, id, state);
})
EM_JS(void, forget_function, (int id), {
  Module.functions.forget(id);
})
// clang-format on

namespace {

int id_of(void* data) { return static_cast<int>(reinterpret_cast<intptr_t>(data)); }

int id_of(sqlite3_context* context) { return id_of(sqlite3_user_data(context)); }

// The number of an aggregate's state, 0 if it has none: the address of memory that SQLite keeps for
// one group of rows, and for no other at that time.
int state_of(sqlite3_context* context, int bytes) {
  return static_cast<int>(reinterpret_cast<intptr_t>(sqlite3_aggregate_context(context, bytes)));
}

void on_call(sqlite3_context* context, int count, sqlite3_value** values) {
  call_function(context, count, values, id_of(context));
}

void on_step(sqlite3_context* context, int count, sqlite3_value** values) {
  const int state = state_of(context, 1);
  if (state == 0) {
    sqlite3_result_error_nomem(context);
    return;
  }
  step_aggregate(context, count, values, id_of(context), state);
}

void on_end(sqlite3_context* context) {
  end_aggregate(context, id_of(context), state_of(context, 0));
}

void on_forget(void* data) { forget_function(id_of(data)); }

}  // namespace

extern "C" {

// Every connection that is opened from now on has the tables.
EMSCRIPTEN_KEEPALIVE int cuckoo_start() {
  return sqlite3_auto_extension(reinterpret_cast<void (*)()>(sqlite3_cuckoo_init));
}

// Makes a database file's bytes, from sqlite3_malloc(), the content of the connection. SQLite frees
// them, also after an error.
EMSCRIPTEN_KEEPALIVE int cuckoo_deserialize(sqlite3* db, unsigned char* bytes, uint32_t size) {
  return sqlite3_deserialize(db, "main", bytes, size, size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
}

// Returns the database file's bytes, to be given to sqlite3_free(), and their number; null and no
// number if there is no memory for them, or if there are none.
EMSCRIPTEN_KEEPALIVE unsigned char* cuckoo_serialize(sqlite3* db, uint32_t* size) {
  sqlite3_int64 bytes = 0;
  unsigned char* const result = sqlite3_serialize(db, "main", &bytes, 0);
  *size = static_cast<uint32_t>(bytes);
  return result;
}

EMSCRIPTEN_KEEPALIVE int cuckoo_bind_integer(sqlite3_stmt* statement, int index, uint32_t low,
                                             int32_t high) {
  return sqlite3_bind_int64(statement, index, static_cast<sqlite3_int64>(high) * 4294967296 + low);
}

EMSCRIPTEN_KEEPALIVE void cuckoo_result_integer(sqlite3_context* context, uint32_t low,
                                                int32_t high) {
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(high) * 4294967296 + low);
}

// count: of the parameters, -1 for any number
EMSCRIPTEN_KEEPALIVE int cuckoo_create_function(sqlite3* db, const char* name, int count, int id,
                                                int aggregate) {
  return sqlite3_create_function_v2(
      db, name, count, SQLITE_UTF8, reinterpret_cast<void*>(static_cast<intptr_t>(id)),
      aggregate != 0 ? nullptr : on_call, aggregate != 0 ? on_step : nullptr,
      aggregate != 0 ? on_end : nullptr, on_forget);
}

}  // extern "C"
