// Instructions that only some processors have. The program asks for them when it runs.
//
// Whole functions are compiled for AVX2 (CUCKOO_AVX2), and only run where has_avx2() is true. A
// function that is inlined into them must have the same attribute, or none.
#pragma once

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>
#define CUCKOO_HAS_AVX2_CODE 1
#define CUCKOO_AVX2 __attribute__((target("avx2")))

namespace cuckoo {
inline bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") != 0; }
}  // namespace cuckoo

#else

#define CUCKOO_HAS_AVX2_CODE 0
#define CUCKOO_AVX2

namespace cuckoo {
inline bool has_avx2() noexcept { return false; }
}  // namespace cuckoo

#endif
