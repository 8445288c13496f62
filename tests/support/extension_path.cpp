#include "tests/support/extension_path.hpp"

#include <cstdlib>

namespace cuckoo::test {

const char* extension_path() {
  static const char* const wanted = std::getenv("CUCKOO_TESTED_MODULE");
  return wanted != nullptr ? wanted : CUCKOO_EXTENSION_PATH;
}
const char* allocating_path() { return CUCKOO_ALLOCATING_PATH; }

}  // namespace cuckoo::test
