// Marks, images and changes of a filter, as BLOBs. Two statements keep a copy: filter_changes() at
// the origin gives a message that always leads to the origin's newest contents, and 'apply' at the
// copy takes it.
//
// window_messages.hpp makes and takes the messages of sliding windows. intake.hpp takes the
// contents of an image.
//
// Invariants
//   I1  the message is the shorter one of changes and image. Changes are given only if the log goes
//       back to the mark.
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

  // All of these throw SqlError. Call follow() before those that only read.
  // Returns the mark of the filter, or of the sliding window; nothing if there is none.
  std::optional<std::vector<std::byte>> mark();
  // `with_hashes`: with the hashes, too.
  std::vector<std::byte> image(bool with_hashes);
  std::vector<std::byte> legacy_file();
  // Returns the message that leads from that mark to the contents now. If it is an image,
  // `with_hashes` adds the hashes, if the filter keeps them.
  std::vector<std::byte> changes_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  // Returns the same message as a stream. Use it before the filter changes, and only while
  // filters_made() stays the same.
  segments::MessageStream stream_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  // Returns how many changes came after that mark; nothing if only an image leads from it.
  std::optional<uint64_t> behind(std::span<const std::byte> mark);

  // Replaces the contents by those of the image.
  void import(std::span<const std::byte> image);
  // Takes an image or changes from a filter of the same kind, and gets the contents that they lead
  // to. Keeps a part of a message until the last part comes.
  void apply(std::span<const std::byte> bytes);

 private:
  uint64_t limit() const;  // the most bytes of a BLOB
  bool sends_hashes(bool with_hashes) const noexcept;
  segments::Contents contents(bool with_hashes);
  segments::MessageHeader header_of(const segments::Contents& contents) const;
  // Returns nothing if an image is shorter, or the only way.
  std::optional<segments::FilterChanges> found_changes(
      const char* function, std::optional<std::span<const std::byte>> mark, bool with_hashes);
  [[noreturn]] void refuse_message(const std::string& why) const;
  std::span<const std::byte> front_of(const segments::MessageBytes& bytes,
                                      std::vector<std::byte>& buffer) const;
  bool is_of_window(std::span<const std::byte> front) const;
  void apply_message(const segments::MessageBytes& bytes);
  void apply_changes(const segments::MessageBytes& bytes);
  void expect_keys(const segments::FilterChanges& changes) const;
  bool is_own_image(const segments::MessageBytes& bytes, std::span<const std::byte> front);
  void apply_part(std::span<const std::byte> bytes);
  void check_first_part(const segments::MessagePart& part);

  LiveFilter& live_;
};

}  // namespace cuckoo
