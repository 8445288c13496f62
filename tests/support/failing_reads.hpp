// A VFS over the default one whose reads can be made to fail: open "file:…?vfs=failing_reads".
#pragma once

#include <sqlite3.h>

#include <cstdint>

namespace cuckoo::test {

class FailingReads {
 public:
  // From now on the n-th read fails, once.
  static void arm(int64_t n) {
    install();
    until_failure() = n;
  }
  // True: it came to that.
  static bool disarm() {
    const bool failed = until_failure() == 0;
    until_failure() = -1;
    return failed;
  }
  static void install() {
    if (sqlite3_vfs_find("failing_reads") != nullptr) {
      return;
    }
    static sqlite3_vfs vfs = *base();
    vfs.zName = "failing_reads";
    vfs.szOsFile = static_cast<int>(sizeof(sqlite3_file)) + base()->szOsFile;
    vfs.xOpen = open;
    sqlite3_vfs_register(&vfs, 0);
  }

 private:
  static sqlite3_vfs* base() { return sqlite3_vfs_find(nullptr); }
  static int64_t& until_failure() {
    static int64_t count = -1;
    return count;
  }
  static sqlite3_file* real(sqlite3_file* file) { return file + 1; }

  static int open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
    static const sqlite3_io_methods methods = make_methods();
    file->pMethods = nullptr;
    const int code = base()->xOpen(base(), name, real(file), flags, out);
    if (real(file)->pMethods != nullptr) {
      file->pMethods = &methods;
    }
    return code;
  }
  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    if (until_failure() > 0 && --until_failure() == 0) {
      return SQLITE_IOERR_READ;
    }
    return real(file)->pMethods->xRead(real(file), bytes, size, offset);
  }

  // The other methods, as they are: `forward<&sqlite3_io_methods::xSync>`.
  template <auto kMethod, class... Arguments>
  static int forward(sqlite3_file* file, Arguments... arguments) {
    return (real(file)->pMethods->*kMethod)(real(file), arguments...);
  }
  static void barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }

  static sqlite3_io_methods make_methods() {
    using M = sqlite3_io_methods;
    M methods{};
    methods.iVersion = 2;  // without xFetch: every page is read
    methods.xClose = forward<&M::xClose>;
    methods.xRead = read;
    methods.xWrite = forward<&M::xWrite, const void*, int, sqlite3_int64>;
    methods.xTruncate = forward<&M::xTruncate, sqlite3_int64>;
    methods.xSync = forward<&M::xSync, int>;
    methods.xFileSize = forward<&M::xFileSize, sqlite3_int64*>;
    methods.xLock = forward<&M::xLock, int>;
    methods.xUnlock = forward<&M::xUnlock, int>;
    methods.xCheckReservedLock = forward<&M::xCheckReservedLock, int*>;
    methods.xFileControl = forward<&M::xFileControl, int, void*>;
    methods.xSectorSize = forward<&M::xSectorSize>;
    methods.xDeviceCharacteristics = forward<&M::xDeviceCharacteristics>;
    methods.xShmMap = forward<&M::xShmMap, int, int, int, void volatile**>;
    methods.xShmLock = forward<&M::xShmLock, int, int, int>;
    methods.xShmBarrier = barrier;
    methods.xShmUnmap = forward<&M::xShmUnmap, int>;
    return methods;
  }
};

}  // namespace cuckoo::test
