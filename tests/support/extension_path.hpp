// Where the module is that tests and benchmarks load. Only extension_path.cpp knows the build's
// folder, so that a compiler cache serves all other sources in any folder.
#pragma once

namespace cuckoo::test {

const char* extension_path();

}  // namespace cuckoo::test
