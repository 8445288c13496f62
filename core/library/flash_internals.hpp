// The parts of core/flash that have a namesake in <cuckoo/...>, by names that are not ambiguous
// there. A source includes this header first, and then the public ones.
#pragma once

#include "core/flash/device.hpp"
#include "core/flash/store.hpp"

namespace cuckoo::internal {

using ::cuckoo::FlashDevice;
using ::cuckoo::FlashGeometry;
using ::cuckoo::FlashStore;

}  // namespace cuckoo::internal
