// By what name the test program was started.
#pragma once

#include <string>

namespace cuckoo::test {

const std::string& program();

}  // namespace cuckoo::test
