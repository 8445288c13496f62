// What allocating.cpp, a library of its own, has for tests/ext/sqlite/allocation_test.cpp.
#pragma once

#if defined(_WIN32)
#define CUCKOO_ALLOCATING_EXPORT __declspec(dllexport)
#else
#define CUCKOO_ALLOCATING_EXPORT __attribute__((visibility("default")))
#endif

// 1: do types of 1, 8, 16, 32, 64 bytes' alignment get it? And with 0: is operator new the
// library's own, and was all that it gave before taken back?
extern "C" CUCKOO_ALLOCATING_EXPORT int cuckoo_allocating(int what);
