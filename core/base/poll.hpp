// How a caller stops a long operation.
#pragma once

#include <functional>

#include "core/base/result.hpp"

namespace cuckoo {

// Called every few steps; a failure (kInterrupted) stops the work and is returned. May be null.
using Poll = std::function<Status()>;

inline Status check_interrupt(const Poll& poll) { return poll != nullptr ? poll() : Status(); }

}  // namespace cuckoo
