// One part of a message (an image, or changes) that was cut into pieces: for messages that are
// longer than a BLOB may be, and for devices that can't hold a whole one.
//
// Layout (little-endian; FORMAT.md, "Parts")
//   part = header slice CRC          CRC-32C of all before it
//   The slices, in their order, are the message. All have the same length except the last, which
//   has the rest.
//
// Invariants
//   I1  equal parts have equal bytes: decode then encode gives them back.
//   I2  nothing is believed: every field is checked, and so is the slice's length.
//
// Errors: kCorrupt for bytes that are no part; the text says what was wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace cuckoo::segments {

inline constexpr size_t kPartHeaderBytes = 40;
inline constexpr size_t kPartOverheadBytes = kPartHeaderBytes + 4;
inline constexpr uint64_t kLeastSliceBytes = 1024;
inline constexpr uint64_t kMostMessageBytes = uint64_t{1} << 44;

// Says which message it is, and how it is cut.
struct MessageCut {
  uint64_t id = 0;           // a hash of how the message begins
  uint64_t total_bytes = 0;  // of the message; 1 or more
  uint64_t slice_bytes = 0;  // of each part except the last one

  uint64_t parts() const noexcept { return (total_bytes + slice_bytes - 1) / slice_bytes; }
  // Returns how many bytes of the message the part has; `index` counts from 0.
  uint64_t bytes_of(uint64_t index) const noexcept {
    return index + 1 < parts() ? slice_bytes : total_bytes - index * slice_bytes;
  }
  friend bool operator==(const MessageCut&, const MessageCut&) = default;
};

struct MessagePart {
  MessageCut cut;
  uint64_t index = 0;  // from 0
  std::span<const std::byte> slice;
};

// Returns "part 3 of 10", for example, as users count.
std::string part_name(const MessageCut& cut, uint64_t index);

std::vector<std::byte> encode_part(const MessagePart& part);
// The slice of the result is a view into the bytes.
Result<MessagePart> decode_part(std::span<const std::byte> bytes);
// Returns whether the bytes begin like a part of any version.
bool looks_like_part(std::span<const std::byte> bytes) noexcept;

// Returns kCorrupt if there can't be such a message, cut like that.
Status check_cut(const MessageCut& cut);

}  // namespace cuckoo::segments
