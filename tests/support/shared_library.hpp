// A shared library that a test loads by itself, not through SQLite.
#pragma once

#include <string>

namespace cuckoo::test {

class SharedLibrary {
 public:
  SharedLibrary() = default;  // none
  // With `own`, a function that it defines and calls is its own, also where the program has one of
  // that name. No library if that can't be had, or the file can't be loaded.
  explicit SharedLibrary(const std::string& path, bool own = false);

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void* find(const char* function) const;
  void close();  // only then: a library may have to outlive this

  // The file from which the program has SQLite; empty if SQLite is linked in.
  static std::string sqlite();

 private:
  void* handle_ = nullptr;
};

}  // namespace cuckoo::test
