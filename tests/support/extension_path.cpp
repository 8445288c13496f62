#include "tests/support/extension_path.hpp"

namespace cuckoo::test {

const char* extension_path() { return CUCKOO_EXTENSION_PATH; }
const char* allocating_path() { return CUCKOO_ALLOCATING_PATH; }

}  // namespace cuckoo::test
