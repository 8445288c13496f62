// Where the module is that tests and benchmarks load. Only extension_path.cpp knows the build's
// folder, so that a compiler cache serves all other sources in any folder.
#pragma once

namespace cuckoo::test {

const char* extension_path();
// Of the library that allocating.cpp is; empty if the module has no operator new of its own.
const char* allocating_path();

}  // namespace cuckoo::test
