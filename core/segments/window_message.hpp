// A sliding window outside of its table, as one BLOB: its image, or its changes since a mark.
//
// A message is a list of sections, ascending by the rotation that they are of, the oldest first.
// Each section is the message of a single filter: an image (core/segments/image.hpp) or changes
// (core/segments/changes.hpp) of one generation. So a window is written, read and applied one
// generation at a time, and one segment at a time within that (core/segments/message_stream.hpp).
//
//   an image       an image of each generation that the window holds, the oldest first
//   changes since  of the generation that was the newest at that mark: its changes, or its image
//                  where that is shorter; then each generation that is newer. Those that are older
//                  never change, so the message leaves them out. Those that the window does not
//                  hold any more are forgotten by the rotation alone.
//
// A generation that is newer comes as an image of its contents or, where that is shorter, as an
// image of it before its first key, and its changes since then.
//
// Layout (little-endian; FORMAT.md, "Images and changes of sliding windows")
//   message = header section … CRC    CRC-32C of the header, and of each section's header and last
//                                     4 bytes, which are its own checksum
//   header  = 160 bytes: the length, the capacity of new generations, the marks
//   section = rotation (8 bytes) length (8 bytes) content
//
// Invariants
//   I1  messages of equal windows and marks have equal bytes.
//   I2  nothing is believed: the frame, the headers of all sections, and that they are of one
//       window and lead from the first mark to the second one, are checked before any of it is
//       used. The pieces of a section are verified when they are read, before they are handed out.
//
// Errors: kCorrupt for bytes that are no such message, kInvalid for contents that can't be encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/image.hpp"
#include "core/segments/window_mark.hpp"

namespace cuckoo::segments {

// One generation. A copy takes the contents of the image, if there is one, and then applies the
// changes, if there are any.
struct Generation {
  uint64_t rotation = 0;
  std::optional<Contents> image;
  std::optional<FilterChanges> changes;
};

struct WindowMessage {
  std::optional<WindowMark> from;  // none: an image of the whole window
  WindowMark to;
  uint64_t capacity = 1;  // of new generations
  // The parameters that all generations share, as in an image's header. The whole spec is known
  // only if there is an image.
  MessageHeader common;
  std::vector<Generation> generations;  // ascending by rotation
};

// Returns at most `limit` bytes, else kInvalid.
Result<std::vector<std::byte>> encode_window_message(const WindowMessage& message, uint64_t limit);
// Decodes all except the pieces of images and changes. These are read when they are asked for, into
// pages of `page_bytes`, so the bytes must stay until then. The pieces of images come with hashes,
// if they have any and `with_hashes` asks for them.
Result<WindowMessage> decode_window_message(const MessageBytes& bytes, uint32_t page_bytes,
                                            bool with_hashes, const Poll& poll = nullptr);
// Reads all pieces of a decoded message, which verifies them.
Status verify(const WindowMessage& message);
// Decodes the header alone. `front` are the first bytes of a message of `size` bytes. The result
// has no generations, and of `common` only the fields that the marks have.
Result<WindowMessage> decode_window_header(std::span<const std::byte> front, uint64_t size);
// Returns whether the bytes begin like such a message, of any version.
bool looks_like_window_message(std::span<const std::byte> bytes) noexcept;
// Returns whether they do, and say that the message has changes.
bool looks_like_window_changes(std::span<const std::byte> bytes) noexcept;

// What comes before the sections, which have so many bytes together, and before the content of one.
std::vector<std::byte> encode_window_header(const WindowMessage& message, uint64_t sections,
                                            uint64_t bytes);
std::vector<std::byte> encode_section_header(uint64_t rotation, uint64_t content_bytes);
// The header of a generation's image.
MessageHeader header_of_image(const WindowMessage& message, const Contents& contents);
// Names the generation in a text.
Error in_generation(uint64_t rotation, Status status);

// The images in the image of a window, each of one generation, the oldest first.
struct WindowImage {
  WindowMark mark;
  std::vector<Image> generations;
};
Result<WindowImage> decode_window_image(std::span<const std::byte> bytes);

}  // namespace cuckoo::segments
