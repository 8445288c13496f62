// Package cuckoo gives the virtual tables of sqlite-cuckoo to the connections of mattn/go-sqlite3, and
// of any other driver that links SQLite 3.40 or newer into the program by cgo.
//
// SQLite's functions come to it as a table of pointers, as to a module: so it does not matter whether
// SQLite is compiled into the program or is a library. The tag cuckoo_no_openssl leaves out the
// digests, and the need for OpenSSL.
package cuckoo

/*
#cgo CXXFLAGS: -std=c++20 -g0 -O2 -DNDEBUG -I${SRCDIR} -Dsqlite3_extension_init=cuckoo_extension_init
#cgo cuckoo_no_openssl CXXFLAGS: -DCUCKOO_NO_OPENSSL
#cgo !cuckoo_no_openssl LDFLAGS: -lcrypto
#cgo windows CXXFLAGS: -Wa,-mbig-obj

#include "sqlite_cuckoo.h"

// Weak: the driver brings it, so it is not there yet when this package alone is linked.
__attribute__((weak)) int sqlite3_auto_extension(void (*entry)(void));

// An SQLite that was compiled to load no extensions gives no table.
static int cuckoo_init(struct sqlite3 *db, char **error, const struct sqlite3_api_routines *api) {
  return api == 0 ? 1 : sqlite3_cuckoo_init(db, error, api);
}

static int cuckoo_auto(void) {
  return sqlite3_auto_extension == 0 ? -1 : sqlite3_auto_extension((void (*)(void))cuckoo_init);
}
*/
import "C"

import (
	"errors"
	"fmt"
)

// Auto gives the extension to every connection that is opened afterwards. A second call changes
// nothing.
func Auto() error {
	switch code := C.cuckoo_auto(); code {
	case 0:
		return nil
	case -1:
		return errors.New("cuckoo: the program has no SQLite; import github.com/mattn/go-sqlite3")
	default:
		return fmt.Errorf("cuckoo: the extension can't be registered: SQLite's code %d", int(code))
	}
}
