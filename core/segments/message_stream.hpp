// Makes a message (an image, or changes; of a filter, or of a sliding window) a few bytes at a
// time. They are the bytes that encode_image(), encode_changes() or encode_window_message() would
// return at once, but memory holds only one segment of them.
//
// The headers of a message count what comes after them. So each segment is encoded twice: first for
// its length and checksum alone, then for its bytes.
//
// Invariants
//   I1  the bytes of all calls of next() are those of the whole message.
//   I2  the last call fails if the filter changed since the stream was made, because its segments
//       are not those that the header counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_part.hpp"
#include "core/segments/window_message.hpp"

namespace cuckoo::segments {

class MessageStream {
 public:
  MessageStream() = default;
  // The filter of the pieces must stay where it is. The header is as encode_image() takes it.
  static Result<MessageStream> of_image(const MessageHeader& header, const Contents& contents);
  static Result<MessageStream> of_changes(const FilterChanges& changes);
  static Result<MessageStream> of_window(WindowMessage message);

  uint64_t bytes() const noexcept { return bytes_; }
  // Returns a hash of how the message begins.
  uint64_t id() const noexcept { return id_; }
  // Returns the next bytes: `length`, or all that are left. Returns kInvalid if the filter changed
  // (I2).
  Result<std::vector<std::byte>> next(uint64_t length);

 private:
  // An image or changes: of the filter, or of one generation of a window.
  struct Section {
    std::vector<std::byte> window_header;  // of a window's section
    MessageHeader header;
    std::vector<std::byte> entries;  // of changes
    PieceRange range;                // null: there are no pieces
    MessageFrame frame;              // as it must be in the end
  };

  static Result<Section> measured(const MessageHeader& header, std::vector<std::byte> entries,
                                  const PieceSource& pieces, PieceRange range);
  static Result<Section> measured(const FilterChanges& changes);
  static MessageStream of_section(Section&& section);
  void append(std::span<const std::byte> bytes);
  void begin_section();
  Status write_pieces(uint64_t enough);
  Status end_section();
  void end();

  std::vector<std::byte> window_header_;  // not empty: it is a window's message
  std::vector<Section> sections_;
  uint64_t bytes_ = 0;
  uint64_t id_ = 0;
  // What was made so far.
  size_t section_ = 0;  // that is being made
  bool begun_ = false;  // its header is made
  bool ended_ = false;  // all is made
  std::optional<MessageWriter> writer_;
  uint64_t next_prefix_ = 0;
  uint64_t section_bytes_ = 0;
  uint32_t window_crc_ = 0;       // of what the window's checksum covers
  std::vector<std::byte> ready_;  // made, and not handed out yet
  uint64_t handed_ = 0;
};

}  // namespace cuckoo::segments
