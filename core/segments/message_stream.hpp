// Makes a message (an image, or changes) a few bytes at a time. They are the bytes that
// encode_image() or encode_changes() would return at once, but memory holds only one segment of
// them.
//
// The header of a message counts what comes after it. So each segment is encoded twice: first for
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
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_part.hpp"

namespace cuckoo::segments {

class MessageStream {
 public:
  MessageStream() = default;
  // The filter of the pieces must stay where it is. The header is as encode_image() takes it.
  static Result<MessageStream> of_image(const ImageHeader& header, const Contents& contents);
  static Result<MessageStream> of_changes(FilterChanges changes);
  // Returns a stream of a message that is complete already: that of a sliding window.
  static MessageStream of_bytes(std::vector<std::byte> message);

  uint64_t bytes() const noexcept { return bytes_; }
  // Returns a hash of how the message begins, or of all of it.
  uint64_t id() const noexcept { return id_; }
  // Returns the next bytes: `length`, or all that are left. Returns kInvalid if the filter changed
  // (I2).
  Result<std::vector<std::byte>> next(uint64_t length);

 private:
  Status measure(const ImageHeader& header, const PieceSource& pieces);
  Status write_pieces(uint64_t enough);
  void append(std::span<const std::byte> bytes);
  void append_end();

  std::vector<std::byte> whole_;  // the message, if it was complete already
  PieceRange range_;              // null: there are no pieces
  std::optional<ImageWriter> writer_;
  ImageFrame frame_;              // as it must be in the end
  std::vector<std::byte> ready_;  // made, and not handed out yet
  bool pieces_done_ = true;
  bool ended_ = false;  // the bytes after the pieces are made, too
  uint64_t next_prefix_ = 0;
  std::optional<uint32_t> crc_;  // of changes: of all bytes so far
  uint64_t bytes_ = 0;
  uint64_t made_ = 0;
  uint64_t handed_ = 0;
  uint64_t id_ = 0;
};

}  // namespace cuckoo::segments
