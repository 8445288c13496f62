// The messages of a sliding window: marks, images and changes of all generations together, as
// BLOBs. A copy takes them here. filter_messages.hpp has those of a single filter.
//
// Invariants
//   I1  a message goes only into a window of the same kind whose keys go together with its own
//       (key_domain.hpp). All of it is verified before the window changes. A bad message is the
//       caller's error, not a broken table's.
//   I2  a message is in memory as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/segments/message_bytes.hpp"
#include "core/segments/message_stream.hpp"
#include "core/segments/window_message.hpp"

namespace cuckoo {

class LiveFilter;

class WindowMessages {
 public:
  explicit WindowMessages(LiveFilter& window) : live_(window) {}

  // All of these throw SqlError. Call follow() before. They return at most `limit` bytes.
  std::vector<std::byte> mark();
  std::vector<std::byte> image(bool with_hashes, uint64_t limit);
  // Does the same as FilterMessages.
  std::vector<std::byte> changes_since(const char* function,
                                       std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes, uint64_t limit);
  segments::MessageStream stream_since(const char* function,
                                       std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  std::optional<uint64_t> behind(std::span<const std::byte> mark);

  // Replaces the window by the image. Throws for changes.
  void import(const segments::MessageBytes& bytes, const std::string& command);
  // Takes an image or changes. An image with the window's own mark changes nothing.
  void apply(const segments::MessageBytes& bytes);
  // Finds errors of apply() early; `front` has the first bytes of a message with `size` bytes.
  void expect_appliable(std::span<const std::byte> front, uint64_t size);

 private:
  [[noreturn]] void refuse(const std::string& command, const std::string& why) const;
  void expect_window(std::span<const std::byte> bytes, const std::string& command) const;
  void expect_like(const segments::WindowMessage& message, const std::string& command) const;
  void put_common(segments::WindowMessage& message) const;
  segments::WindowMessage contents(bool with_hashes) const;
  segments::WindowMessage message_since(const char* function,
                                        std::optional<std::span<const std::byte>> mark,
                                        bool with_hashes) const;
  std::vector<std::byte> encode(const segments::WindowMessage& message, uint64_t limit) const;
  segments::WindowMessage decode(const segments::MessageBytes& bytes, const std::string& command);

  LiveFilter& live_;
};

}  // namespace cuckoo
