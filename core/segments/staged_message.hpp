// Keeps the parts of a message that came so far in the filter's own storage until the last one
// comes. So neither memory nor the filter holds any of it, and a roll-back undoes them like all
// else that is stored.
//
// Blocks (core/segments/blocks.hpp: ids below those of the filter)
//   kStagedBlock              which message, how it is cut, how many parts came: 40 bytes
//   kFirstStagedBlock + i     chunk i: the slices, each in chunks of `chunk_bytes`, the last chunk
//                             of a slice as short as need be
//
// Invariants
//   I1  outside of a transaction there are none of these blocks.
//   I2  nothing is believed: fields, lengths and the checksums of blocks are verified when they are
//       read.
//
// Errors: kInvalid for a part that is not the next one; kCorrupt for damaged blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/segments/message_part.hpp"

namespace cuckoo::segments {

class StagedMessage {
 public:
  // The blocks are those of slot 0.
  StagedMessage(const Blocks& blocks, uint32_t chunk_bytes) noexcept
      : blocks_(blocks), chunk_bytes_(chunk_bytes) {}

  struct Standing {
    MessageCut cut;
    uint64_t came = 0;  // parts; 1 or more, and fewer than all
  };
  // Returns which parts are stored, or nothing if there is none.
  Result<std::optional<Standing>> standing() const;
  // Returns kInvalid if the part is not the next one; the text names both.
  static Status expect_next(const std::optional<Standing>& standing, const MessagePart& part);

  // Stores a part, which is the next one and not the last.
  Status add(const MessagePart& part) const;
  // Returns the whole message. All its parts except the last one are stored. The last one must stay
  // where it is.
  MessageBytes message(const MessagePart& last) const;
  Status erase() const;

 private:
  uint64_t chunks_in(uint64_t slice_bytes) const noexcept {
    return (slice_bytes + chunk_bytes_ - 1) / chunk_bytes_;
  }
  Status read(const MessageCut& cut, uint64_t at, size_t length, std::vector<std::byte>& to) const;

  Blocks blocks_;
  uint32_t chunk_bytes_;
};

}  // namespace cuckoo::segments
