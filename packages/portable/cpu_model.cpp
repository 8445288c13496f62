// What __builtin_cpu_supports() looks at, for a compiler whose own runtime lacks it: the features of
// an x86-64 processor that this code asks for. Until the constructor ran there are none, and the
// portable code answers the same. Hidden in the module, as a compiler's own is.
#include <cpuid.h>

#include <cstdint>

namespace {

// The compiler's ABI: bits of __cpu_model.features, as in LLVM's X86TargetParser.def and GCC's
// i386-cpuinfo.h.
constexpr uint32_t kSse42 = 1U << 8;
constexpr uint32_t kAvx2 = 1U << 10;

// May registers of AVX be used: does the system keep them for each thread?
bool system_keeps_avx(uint32_t leaf1_ecx) noexcept {
  if ((leaf1_ecx & bit_OSXSAVE) == 0) {
    return false;
  }
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kSseAndAvx = 0b110;
  return (low & kSseAndAvx) == kSseAndAvx;
}

uint32_t features() noexcept {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) {
    return 0;
  }
  const uint32_t sse42 = (c & bit_SSE4_2) != 0 ? kSse42 : 0;
  if (!system_keeps_avx(c) || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) {
    return sse42;
  }
  return sse42 | ((b & bit_AVX2) != 0 ? kAvx2 : 0);
}

}  // namespace

extern "C" {

struct CpuModel {
  uint32_t vendor;
  uint32_t type;
  uint32_t subtype;
  uint32_t features[1];
};

extern CpuModel __cpu_model __attribute__((visibility("hidden")));
CpuModel __cpu_model = {};

__attribute__((constructor)) static void ask_processor() { __cpu_model.features[0] = features(); }
}
