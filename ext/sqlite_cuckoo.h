/*
** sqlite-cuckoo's entry point, for an application that links the extension in (libcuckoo.a, or
** sqlite_cuckoo.cpp compiled with -DSQLITE_CORE) instead of loading cuckoo.so. Plain C, and free of
** SQLite's own headers.
**
** Every connection opened afterwards has the extension:
**
**     int rc = sqlite3_cuckoo_auto_extension();
**     if (rc == SQLITE_OK) rc = sqlite3_open(path, &db);
**
** One connection only:
**
**     char *error = 0;
**     int rc = sqlite3_cuckoo_init(db, &error, 0);
**     if (rc != SQLITE_OK) { report(error); sqlite3_free(error); }
**
** Link with -lcuckoo (or sqlite_cuckoo.o), -lsqlite3, -lcrypto and, from a C program, -lstdc++ -lm.
**
** Returns SQLITE_OK or an error code; with an error, *error_text may be set to a text that the
** caller frees with sqlite3_free. The third argument is what SQLite passes to a loadable module;
** linked in, it is not looked at. A second call on one connection changes nothing.
**
** sqlite3_cuckoo_auto_extension() is sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init).
** It returns SQLITE_OK, or SQLITE_NOMEM. A second call changes nothing. A module doesn't have it.
*/
#ifndef SQLITE_CUCKOO_H
#define SQLITE_CUCKOO_H

#if defined(__GNUC__) && !defined(_WIN32)
#define SQLITE_CUCKOO_API __attribute__((visibility("default")))
#elif defined(_WIN32) && !defined(SQLITE_CORE)
#define SQLITE_CUCKOO_API __declspec(dllexport)
#else
#define SQLITE_CUCKOO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;
struct sqlite3_api_routines;

SQLITE_CUCKOO_API int sqlite3_cuckoo_init(struct sqlite3* db, char** error_text,
                                          const struct sqlite3_api_routines* api);
int sqlite3_cuckoo_auto_extension(void);

#ifdef __cplusplus
}
#endif

#endif
