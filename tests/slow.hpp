// Whether sanitizers or an emulator make everything slow here.
#pragma once

namespace cuckoo::test {

#if defined(CUCKOO_SLOW)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

}  // namespace cuckoo::test
