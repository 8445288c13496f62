// A sliding window's messages: marks, images and changes of all generations together, as BLOBs, and
// a copy that becomes what they say. A single filter's are in filter_messages.hpp.
//
// Invariants
//   I1  a message goes only into a window of the same kind whose keys go together with its own
//       (key_domain.hpp), and all of it is verified before the window changes: a bad message is the
//       caller's error, not a broken table's.
//   I2  a message is in memory as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/segments/window_message.hpp"

namespace cuckoo {

class LiveFilter;

class WindowMessages {
 public:
  explicit WindowMessages(LiveFilter& window) : live_(window) {}

  // All of these throw SqlError; follow() came before. `limit`: of the bytes that they return.
  std::vector<std::byte> mark();
  std::vector<std::byte> image(bool with_hashes, uint64_t limit);
  // As FilterMessages has them.
  std::vector<std::byte> changes_since(const char* function,
                                       std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes, uint64_t limit);
  std::optional<uint64_t> behind(std::span<const std::byte> mark);

  // The window becomes what the image says; changes are an error.
  void import(std::span<const std::byte> bytes, const std::string& command);
  // … or what either says. The image of what it is already changes nothing.
  void apply(std::span<const std::byte> bytes);
  // Finds early what would be an error of apply(); `front` are the first bytes of a message that
  // has `size`.
  void expect_appliable(std::span<const std::byte> front, uint64_t size);

 private:
  [[noreturn]] void refuse(const std::string& command, const std::string& why) const;
  void expect_window(std::span<const std::byte> bytes, const std::string& command) const;
  void expect_like(const segments::WindowMessage& message, const std::string& command) const;
  std::vector<std::byte> encode(segments::WindowMessage message, uint64_t limit);
  segments::WindowMessage decode(std::span<const std::byte> bytes, const std::string& command);

  LiveFilter& live_;
};

}  // namespace cuckoo
