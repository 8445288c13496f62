// The figures of a message that a copy takes: changes, or a part of a message. ImageFilter
// describes images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/filter/kind.hpp"
#include "ext/filter/key_domain.hpp"

namespace cuckoo {

struct MessageInfo {
  const char* message = "";  // "changes", "part"
  uint64_t bytes = 0;
  // These are empty for a part that is not the first one.
  std::optional<FilterKind> kind;
  std::optional<uint64_t> items;  // of the filter after the message
  std::optional<KeyDomain> keys;
  std::optional<std::vector<std::byte>> from, to;
  std::optional<uint64_t> adds, removes;
  std::optional<uint64_t> segments;
  std::optional<uint64_t> seed;
  std::optional<uint64_t> rotation;  // of a window, after the message
  uint64_t part = 0;                 // of a part; from 1
  uint64_t parts = 0;
};

bool is_message(std::span<const std::byte> bytes) noexcept;
// Verifies all of it. Throws SqlError that begins with `function`.
MessageInfo message_info(std::span<const std::byte> bytes, const std::string& function);

}  // namespace cuckoo
