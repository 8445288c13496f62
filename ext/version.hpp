// The extension's version, as cuckoo_version() gives it.
#pragma once

namespace cuckoo {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace cuckoo
