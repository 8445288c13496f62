// How the test program was called.
#pragma once

#include <string>

namespace cuckoo::test {

const std::string& program();

}  // namespace cuckoo::test
