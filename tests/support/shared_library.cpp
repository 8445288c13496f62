#include "tests/support/shared_library.hpp"

#include "tests/support/share.hpp"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace cuckoo::test {

#if defined(_WIN32)

// On Windows a library always calls its own functions, so the second argument changes nothing.
SharedLibrary::SharedLibrary(const std::string& path, bool) : handle_(LoadLibraryA(path.c_str())) {}

void* SharedLibrary::find(const char* function) const {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), function));
}

void SharedLibrary::close() { FreeLibrary(static_cast<HMODULE>(handle_)); }

std::string SharedLibrary::sqlite() {
  char path[MAX_PATH];
  const HMODULE known = GetModuleHandleA("sqlite3.dll");
  return {path, known == nullptr ? 0 : GetModuleFileNameA(known, path, sizeof path)};
}

#else

// Sanitizers know no RTLD_DEEPBIND.
SharedLibrary::SharedLibrary(const std::string& path, bool own) {
  int mode = RTLD_NOW | RTLD_LOCAL;
  if (own) {
#if defined(RTLD_DEEPBIND)
    if (is_sanitized()) {
      return;
    }
    mode |= RTLD_DEEPBIND;
#else
    return;
#endif
  }
  handle_ = dlopen(path.c_str(), mode);
}

void* SharedLibrary::find(const char* function) const { return dlsym(handle_, function); }

void SharedLibrary::close() { dlclose(handle_); }

std::string SharedLibrary::sqlite() {
  Dl_info info;
  void* const known = dlsym(RTLD_DEFAULT, "sqlite3_libversion");
  if (known == nullptr || dladdr(known, &info) == 0 ||
      std::string(info.dli_fname).find(".so") == std::string::npos) {
    return "";
  }
  return info.dli_fname;
}

#endif

}  // namespace cuckoo::test
