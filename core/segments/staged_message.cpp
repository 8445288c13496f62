#include "core/segments/staged_message.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kStagedMagic = 0x54534B43;  // "CKST"
constexpr uint32_t kStagedVersion = 3;

constexpr size_t kStagedIdAt = 8;
constexpr size_t kStagedTotalAt = 16;
constexpr size_t kStagedSliceAt = 24;
constexpr size_t kStagedCameAt = 32;
constexpr size_t kStandingBytes = 40;

std::vector<std::byte> encode(const StagedMessage::Standing& standing) {
  std::vector<std::byte> bytes(kStandingBytes);
  put_front(kStagedMagic, kStagedVersion, bytes);
  store_le(&bytes[kStagedIdAt], standing.cut.id);
  store_le(&bytes[kStagedTotalAt], standing.cut.total_bytes);
  store_le(&bytes[kStagedSliceAt], standing.cut.slice_bytes);
  store_le(&bytes[kStagedCameAt], standing.came);
  return bytes;
}

Result<StagedMessage::Standing> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kStandingBytes || !has_front(bytes, kStagedMagic, kStagedVersion)) {
    return corrupt("parts of a message that are none");
  }
  StagedMessage::Standing standing;
  standing.cut.id = load_le<uint64_t>(&bytes[kStagedIdAt]);
  standing.cut.total_bytes = load_le<uint64_t>(&bytes[kStagedTotalAt]);
  standing.cut.slice_bytes = load_le<uint64_t>(&bytes[kStagedSliceAt]);
  standing.came = load_le<uint64_t>(&bytes[kStagedCameAt]);
  CUCKOO_TRY(check_cut(standing.cut));
  if (standing.came < 1 || standing.came >= standing.cut.parts()) {
    return corrupt("parts of a message that are too many");
  }
  return standing;
}

}  // namespace

Result<std::optional<StagedMessage::Standing>> StagedMessage::standing() const {
  std::optional<Standing> found;
  CUCKOO_TRY(blocks_.read(kStagedBlock, kStagedBlock,
                          [&](int64_t id, std::span<const std::byte> content) -> Status {
                            Result<Standing> decoded = decode(content);
                            if (!decoded.ok()) {
                              return in_block(id, decoded.take_status());
                            }
                            found = decoded.value();
                            return {};
                          }));
  return found;
}

Status StagedMessage::expect_next(const std::optional<Standing>& standing,
                                  const MessagePart& part) {
  const uint64_t next = standing ? standing->came : 0;
  if (standing && standing->cut != part.cut) {
    return invalid("a part of another message; expected " + part_name(standing->cut, next) +
                   " of the one that was begun, or ROLLBACK");
  }
  if (part.index != next) {
    return invalid(part_name(part.cut, part.index) + ", expected part " + std::to_string(next + 1) +
                   (standing || part.index == 0
                        ? ""
                        : "; all parts come in their order, within one transaction"));
  }
  return {};
}

Status StagedMessage::add(const MessagePart& part) const {
  if (part.index == 0) {
    CUCKOO_TRY(erase());
  }
  int64_t id =
      kFirstStagedBlock + static_cast<int64_t>(part.index * chunks_in(part.cut.slice_bytes));
  for (std::span<const std::byte> rest = part.slice; !rest.empty(); ++id) {
    const size_t length = std::min<size_t>(rest.size(), chunk_bytes_);
    CUCKOO_TRY(blocks_.write(id, rest.first(length), false));
    CUCKOO_TRY(blocks_.poll());
    rest = rest.subspan(length);
  }
  return blocks_.write(kStagedBlock, encode({part.cut, part.index + 1}), part.index > 0);
}

Status StagedMessage::erase() const { return blocks_.erase(kFirstStagedBlock, kStagedBlock); }

// Reads a range that is in parts before the last one.
Status StagedMessage::read(const MessageCut& cut, uint64_t at, size_t length,
                           std::vector<std::byte>& to) const {
  const uint64_t in_slice = chunks_in(cut.slice_bytes);
  const auto chunk_of = [&](uint64_t position) {
    const uint64_t chunk =
        position / cut.slice_bytes * in_slice + position % cut.slice_bytes / chunk_bytes_;
    return kFirstStagedBlock + static_cast<int64_t>(chunk);
  };
  const uint64_t end = at + length;
  const auto missing = [] { return corrupt("a part of a message is missing"); };
  CUCKOO_TRY(blocks_.read(
      chunk_of(at), chunk_of(end - 1),
      [&](int64_t id, std::span<const std::byte> content) -> Status {
        const auto chunk = static_cast<uint64_t>(id - kFirstStagedBlock);
        const uint64_t in_its_slice = chunk % in_slice * chunk_bytes_;
        const uint64_t begin = chunk / in_slice * cut.slice_bytes + in_its_slice;
        if (content.size() != std::min<uint64_t>(chunk_bytes_, cut.slice_bytes - in_its_slice)) {
          return in_block(id, corrupt("of a wrong length"));
        }
        if (begin > at) {
          return missing();
        }
        const uint64_t take = std::min(begin + content.size(), end) - at;
        const auto taken = content.subspan(static_cast<size_t>(at - begin), take);
        to.insert(to.end(), taken.begin(), taken.end());
        at += take;
        return {};
      }));
  return at == end ? Status() : missing();
}

MessageBytes StagedMessage::message(const MessagePart& last) const {
  return {last.cut.total_bytes,
          [staged = *this, last](uint64_t at, size_t length, std::vector<std::byte>& to) -> Status {
            const uint64_t last_at = last.index * last.cut.slice_bytes;
            const uint64_t end = at + length;
            if (at < std::min(end, last_at)) {
              const uint64_t stored_end = std::min(end, last_at);
              CUCKOO_TRY(staged.read(last.cut, at, static_cast<size_t>(stored_end - at), to));
              at = stored_end;
            }
            const auto rest = last.slice.subspan(at < end ? static_cast<size_t>(at - last_at) : 0,
                                                 static_cast<size_t>(end - at));
            to.insert(to.end(), rest.begin(), rest.end());
            return {};
          }};
}

}  // namespace cuckoo::segments
