#include "ext/filter/message_info.hpp"

#include <algorithm>

#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_part.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {
namespace {

using segments::FilterChanges;

constexpr uint64_t kMostShown = uint64_t{1} << 62;

void take_header(const FilterChanges& changes, MessageInfo& info) {
  info.kind = changes.to.kind;
  info.items = changes.items;
  info.from = changes.from;
  info.to = changes.to;
  info.keys = {static_cast<Affinity>(changes.key_affinity),
               static_cast<Collation>(changes.collation), changes.key_types};
}

void take_header(const segments::ImageHeader& header, MessageInfo& info) {
  info.kind = header.spec.kind;
  info.items = header.items;
  info.to = header.mark;
  info.segments = header.pieces;
  info.keys = {static_cast<Affinity>(header.key_affinity), static_cast<Collation>(header.collation),
               header.key_types};
}

Status read_changes(std::span<const std::byte> bytes, MessageInfo& info) {
  CUCKOO_ASSIGN_OR_RETURN(const FilterChanges changes,
                          segments::decode_changes(bytes, segments::kImagePageBytes));
  info.message = "changes";
  take_header(changes, info);
  uint64_t adds = 0;
  uint64_t removes = 0;
  for (const auto& [hash, net] : changes.hashes) {
    uint64_t& sum = net < 0 ? removes : adds;
    const auto count = static_cast<uint64_t>(net < 0 ? -net : net);
    sum = std::min(sum + count, kMostShown);
  }
  info.adds = adds;
  info.removes = removes;
  uint64_t pieces = 0;
  if (changes.pieces) {
    CUCKOO_TRY(changes.pieces([&pieces](segments::Piece&&) -> Status {
      ++pieces;
      return {};
    }));
  }
  info.segments = pieces;
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
  if (segments::looks_like_changes(part.slice)) {
    CUCKOO_ASSIGN_OR_RETURN(const FilterChanges changes,
                            segments::decode_changes_header(part.slice, part.cut.total_bytes));
    take_header(changes, info);
  } else if (segments::looks_like_image(part.slice)) {
    const auto front_of_slice = [&part](uint64_t, size_t length, std::vector<std::byte>& to) {
      const auto front = part.slice.first(std::min(length, part.slice.size()));
      to.insert(to.end(), front.begin(), front.end());
      return Status();
    };
    CUCKOO_ASSIGN_OR_RETURN(const segments::ImageHeader header,
                            segments::decode_image_header({part.cut.total_bytes, front_of_slice}));
    take_header(header, info);
  }
  return {};
}

}  // namespace

bool is_message(std::span<const std::byte> bytes) noexcept {
  return segments::looks_like_changes(bytes) || segments::looks_like_part(bytes);
}

MessageInfo message_info(std::span<const std::byte> bytes, const std::string& function) {
  MessageInfo info;
  info.bytes = bytes.size();
  const Status status =
      segments::looks_like_part(bytes) ? read_part(bytes, info) : read_changes(bytes, info);
  if (!status.ok()) {
    throw SqlError(SQLITE_ERROR, function + ": " + status.error().message);
  }
  return info;
}

}  // namespace cuckoo
