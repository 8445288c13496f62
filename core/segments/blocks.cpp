#include "core/segments/blocks.hpp"

#include <utility>

namespace cuckoo::segments {

std::string block_name(int64_t id) {
  if (id < 0) {
    return id == kWindowBlock ? "the window's block" : "a block of a message";
  }
  if (const int64_t slot = id >> kSlotBits; slot > 0) {
    return block_name(id - (slot << kSlotBits)) + " of slot " + std::to_string(slot);
  }
  if (id == kRootBlock) {
    return "the root";
  }
  if (id >= kFirstLogBlock) {
    return "row " + std::to_string(id - kFirstLogBlock) + " of the log";
  }
  const int64_t number = id >> kPartBits;
  const int64_t part = id - (number << kPartBits);
  if (number == 0) {
    return "page " + std::to_string(part - kFirstDirectoryBlock) + " of the directory";
  }
  const std::string segment = " of segment " + std::to_string(number);
  if (part < kFirstRunPart) {
    return "page " + std::to_string(part) + segment;
  }
  if (part < kFirstOverflowPart) {
    return "run block " + std::to_string(part - kFirstRunPart) + segment;
  }
  return part < kFirstSumsPart
             ? "overflow block " + std::to_string(part - kFirstOverflowPart) + segment
             : "block " + std::to_string(part - kFirstSumsPart) + " of the sums" + segment;
}

Status in_block(int64_t id, Status status) {
  if (status.ok() || status.error().code != ErrorCode::kCorrupt) {
    return status;
  }
  Error error = status.take_error();
  error.message = block_name(id) + (error.message.starts_with("is ") ? " " : ": ") + error.message;
  return error;
}

BlockStorage::Visitor Blocks::verified(const BlockStorage::Visitor& visitor) const {
  return [this, &visitor](int64_t id, std::span<const std::byte> block) -> Status {
    Result<std::span<const std::byte>> content = decode_page_row(block, id, seed_);
    return in_block(id,
                    content.ok() ? visitor(id - base_, content.value()) : content.take_status());
  };
}

Status Blocks::read(int64_t first, int64_t last, const BlockStorage::Visitor& visitor) const {
  return storage_->read(base_ + first, base_ + last, verified(visitor));
}

Status Blocks::read_one(int64_t id, const BlockStorage::Visitor& visitor) const {
  bool found = false;
  CUCKOO_TRY(read(id, id, [&](int64_t at, std::span<const std::byte> content) {
    found = true;
    return visitor(at, content);
  }));
  return found ? Status() : in_block(base_ + id, corrupt("is missing"));
}

}  // namespace cuckoo::segments
