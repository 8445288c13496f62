/* A C program that links the library in: prints cuckoo_version(). */
#include <sqlite3.h>
#include <sqlite_cuckoo.h>
#include <stdio.h>

static int print_row(void *unused, int count, char **row, char **names) {
  (void)unused;
  (void)names;
  return count == 1 && row[0] != NULL && printf("%s\n", row[0]) > 0 ? 0 : 1;
}

int main(void) {
  sqlite3 *db = NULL;
  int code;
  code = sqlite3_cuckoo_auto_extension();
  if (code == SQLITE_OK) code = sqlite3_open(":memory:", &db);
  if (code == SQLITE_OK) {
    code = sqlite3_exec(db, "SELECT cuckoo_version()", print_row, NULL, NULL);
  }
  if (code != SQLITE_OK) fprintf(stderr, "%s\n", sqlite3_errmsg(db));
  sqlite3_close(db);
  return code == SQLITE_OK ? 0 : 1;
}
