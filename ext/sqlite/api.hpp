// The only include of SQLite's headers. In the loadable module every call goes through the routine
// table that SQLite hands over (SQLITE_EXTENSION_INIT); linked statically (SQLITE_CORE) it is
// direct.
#pragma once

#ifdef SQLITE_CORE
#include <sqlite3.h>
#else
#include <sqlite3ext.h>
extern const sqlite3_api_routines* sqlite3_api;
#endif
