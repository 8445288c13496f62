// What a filter says of itself as a BLOB, and becomes by one: its mark, its image, what changed
// since a mark. A copy is kept by two statements: filter_changes() at the origin always leads to
// what the origin is now, and 'apply' takes whatever that gave.
//
// Those of sliding windows are made and taken by window_messages.hpp, the contents of an image by
// intake.hpp.
//
// Invariants
//   I1  what leads to the filter's contents is the shorter one of changes and image. Changes are
//       given only where the log goes back to the mark.
//   I2  a message that is bad, or of another filter, is the caller's error, and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/segments/message_part.hpp"
#include "core/segments/message_stream.hpp"

namespace cuckoo {

class LiveFilter;

class FilterMessages {
 public:
  explicit FilterMessages(LiveFilter& live) : live_(live) {}

  // All of these throw SqlError. Those that ask come after follow().
  // The bytes of the filter's mark, or of the sliding window's; nothing where there is none.
  std::optional<std::vector<std::byte>> mark();
  // `with_hashes`: those, too.
  std::vector<std::byte> image(bool with_hashes);
  std::vector<std::byte> legacy_file();
  // What leads from that mark to what it is now.
  // `with_hashes`: if that is an image, it has its hashes where the filter keeps them.
  std::vector<std::byte> changes_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  // The same message, made a bit at a time: to be used before the filter changes, and as long as
  // its filters_made() stays what it is.
  segments::MessageStream stream_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  // How many changes came behind that mark; nothing where only the image leads from it.
  std::optional<uint64_t> behind(std::span<const std::byte> mark);

  // It becomes what the image says.
  void import(std::span<const std::byte> image);
  // It becomes what the message says, an image or changes; the filter that sent it is of the same
  // kind. A part of one is kept until the last part comes.
  void apply(std::span<const std::byte> bytes);

 private:
  uint64_t limit() const;  // of a BLOB's bytes
  bool sends_hashes(bool with_hashes) const noexcept;
  segments::Contents contents(bool with_hashes);
  segments::ImageHeader header_of(const segments::Contents& contents) const;
  // Nothing: the image is the shorter way, or the only one.
  std::optional<segments::FilterChanges> found_changes(
      const char* function, std::optional<std::span<const std::byte>> mark);
  [[noreturn]] void refuse_message(const std::string& why) const;
  std::span<const std::byte> front_of(const segments::MessageBytes& bytes,
                                      std::vector<std::byte>& buffer) const;
  bool is_of_window(std::span<const std::byte> front) const;
  std::span<const std::byte> all_of(const segments::MessageBytes& bytes,
                                    std::vector<std::byte>& buffer) const;
  void apply_message(const segments::MessageBytes& bytes);
  void apply_changes(const segments::MessageBytes& bytes);
  void expect_keys(const segments::FilterChanges& changes) const;
  bool is_own_image(const segments::MessageBytes& bytes, std::span<const std::byte> front);
  void apply_part(std::span<const std::byte> bytes);
  void check_first_part(const segments::MessagePart& part);

  LiveFilter& live_;
};

}  // namespace cuckoo
