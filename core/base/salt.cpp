#include "core/base/salt.hpp"

#include <chrono>
#include <exception>
#include <random>

#include "core/base/mix.hpp"

namespace cuckoo {
namespace {

uint64_t draw_salt() noexcept {
  try {
    std::random_device device;
    const uint64_t high = device();
    return (high << 32) | device();
  } catch (const std::exception&) {  // the system has no random number
    int on_stack = 0;
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return mix64(mix64(static_cast<uint64_t>(now)) + reinterpret_cast<uintptr_t>(&on_stack));
  }
}

}  // namespace

uint64_t process_salt() noexcept {
  static const uint64_t salt = draw_salt();
  return salt;
}

}  // namespace cuckoo
