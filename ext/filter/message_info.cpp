#include "ext/filter/message_info.hpp"

#include <algorithm>

#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_part.hpp"
#include "core/segments/window_message.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {
namespace {

using segments::FilterChanges;

constexpr uint64_t kMostShown = uint64_t{1} << 62;

void take_header(const FilterChanges& changes, MessageInfo& info) {
  info.kind = changes.to.kind;
  info.seed = changes.to.seed;
  info.items = changes.items;
  info.from = segments::encode_mark(changes.from);
  info.to = segments::encode_mark(changes.to);
  info.keys = KeyDomain(changes.keys, changes.key_types);
}

void take_header(const segments::MessageHeader& header, MessageInfo& info) {
  info.kind = header.spec.kind;
  info.seed = header.seed;
  info.items = header.items;
  if (header.mark) {
    info.to = segments::encode_mark(*header.mark);
  }
  info.segments = header.pieces;
  info.keys = KeyDomain(header.keys, header.key_types);
}

void take_marks(const segments::WindowMessage& message, MessageInfo& info) {
  info.to = segments::encode_window_mark(message.to);
  info.seed = message.to.newest.seed;
  info.rotation = message.to.rotation;
  if (message.from) {
    info.from = segments::encode_window_mark(*message.from);
  }
}

Status count(const segments::PieceSource& pieces, MessageInfo& info) {
  return pieces([&info](segments::Piece&&) -> Status {
    info.segments = info.segments.value_or(0) + 1;
    return {};
  });
}

// Adds the changes to those that the info has counted so far.
Status count(const FilterChanges& changes, MessageInfo& info) {
  uint64_t adds = info.adds.value_or(0);
  uint64_t removes = info.removes.value_or(0);
  Copies copies(changes.entries.more());
  for (size_t i = 0; i < changes.entries.size(); ++i) {
    uint64_t& sum = (changes.entries[i] & kRemoveBit) != 0 ? removes : adds;
    sum = std::min(sum + copies.of(i), kMostShown);
  }
  info.adds = adds;
  info.removes = removes;
  return changes.pieces ? count(changes.pieces, info) : Status();
}

Status read_changes(std::span<const std::byte> bytes, MessageInfo& info) {
  CUCKOO_ASSIGN_OR_RETURN(const FilterChanges changes,
                          segments::decode_changes(bytes, segments::kImagePageBytes));
  info.message = "changes";
  take_header(changes, info);
  info.segments = 0;
  return count(changes, info);
}

// The adds don't count keys in the images of newer generations.
Status read_window_changes(std::span<const std::byte> bytes, MessageInfo& info) {
  CUCKOO_ASSIGN_OR_RETURN(const segments::WindowMessage message,
                          segments::decode_window_message(bytes, segments::kImagePageBytes, false));
  info.message = "changes";
  take_header(message.common, info);
  info.items = std::nullopt;
  take_marks(message, info);
  info.adds = info.removes = info.segments = 0;
  for (const segments::Generation& one : message.generations) {
    CUCKOO_TRY(one.image ? count(one.image->pieces, info) : Status());
    CUCKOO_TRY(one.changes ? count(*one.changes, info) : Status());
  }
  return {};
}

// The first part begins with the message's header.
Status read_part(std::span<const std::byte> bytes, MessageInfo& info) {
  CUCKOO_ASSIGN_OR_RETURN(const segments::MessagePart part, segments::decode_part(bytes));
  info.message = "part";
  info.part = part.index + 1;
  info.parts = part.cut.parts();
  if (part.index > 0) {
    return {};
  }
  if (segments::looks_like_window_message(part.slice)) {  // only its sections say the keys
    CUCKOO_ASSIGN_OR_RETURN(const segments::WindowMessage message,
                            segments::decode_window_header(part.slice, part.cut.total_bytes));
    info.kind = message.to.newest.kind;
    take_marks(message, info);
  } else if (segments::looks_like_changes(part.slice)) {
    CUCKOO_ASSIGN_OR_RETURN(const segments::MessageHeader header,
                            segments::decode_changes_header(
                                segments::front_of_message(part.slice, part.cut.total_bytes)));
    take_header(segments::changes_of(header), info);
  } else if (segments::looks_like_image(part.slice)) {
    CUCKOO_ASSIGN_OR_RETURN(const segments::MessageHeader header,
                            segments::decode_image_header(
                                segments::front_of_message(part.slice, part.cut.total_bytes)));
    take_header(header, info);
  }
  return {};
}

}  // namespace

bool is_message(std::span<const std::byte> bytes) noexcept {
  return segments::looks_like_changes(bytes) || segments::looks_like_part(bytes) ||
         segments::looks_like_window_changes(bytes);
}

MessageInfo message_info(std::span<const std::byte> bytes, const std::string& function) {
  MessageInfo info;
  info.bytes = bytes.size();
  const Status status = segments::looks_like_part(bytes)      ? read_part(bytes, info)
                        : segments::looks_like_changes(bytes) ? read_changes(bytes, info)
                                                              : read_window_changes(bytes, info);
  if (!status.ok()) {
    throw SqlError(SQLITE_ERROR, function + ": " + status.error().message);
  }
  return info;
}

}  // namespace cuckoo
