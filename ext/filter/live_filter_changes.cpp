// LiveFilter's marks: what changed since one of them, and a copy that follows.
#include <string>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

using segments::FilterFile;

namespace {

constexpr uint64_t kFrontBytes = 160;  // of a message: its magic, and the header of any

// Nothing where it is a sliding window's: that is a mark which a single filter never had.
std::optional<segments::FilterMark> mark_argument(const char* function,
                                                  std::span<const std::byte> mark) {
  if (segments::decode_window_mark(mark).ok()) {
    return std::nullopt;
  }
  const Result<segments::FilterMark> decoded = segments::decode_mark(mark);
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, std::string(function) + ": " + decoded.error().message +
                                     "; a mark is what filter_mark() gives, bound as a BLOB");
  }
  return decoded.value();
}

}  // namespace

std::optional<std::vector<std::byte>> LiveFilter::mark() {
  if (!filter_->single()) {
    Result<segments::WindowMark> mark = filter_->mark();
    throw_if(table(), mark.take_status());
    return segments::encode_window_mark(mark.value());
  }
  Result<std::optional<segments::FilterMark>> mark = filter_->newest().mark();
  throw_if(table(), mark.take_status());
  return mark.value() ? std::optional(segments::encode_mark(*mark.value())) : std::nullopt;
}

// A unique copy takes no image without hashes.
bool LiveFilter::sends_hashes(bool with_hashes) const noexcept {
  const FilterFile& newest = filter_->newest();
  return newest.keeps_hashes() && (with_hashes || (newest.multiset() && newest.options().unique));
}

std::optional<segments::FilterChanges> LiveFilter::found_changes(
    const char* function, std::optional<std::span<const std::byte>> mark) {
  if (!mark || !this->mark()) {
    return std::nullopt;
  }
  const std::optional<segments::FilterMark> from = mark_argument(function, *mark);
  if (!from) {
    return std::nullopt;
  }
  Result<std::optional<segments::FilterChanges>> found = filter_->newest().changes_since(*from);
  throw_if(table(), found.take_status());
  std::optional<segments::FilterChanges>& changes = found.value();
  if (!changes || changes->hashes.size() * segments::kBitsOfChange > filter_->newest().bits()) {
    return std::nullopt;
  }
  const KeyDomain keys = key_domain();
  changes->key_affinity = static_cast<uint8_t>(keys.affinity);
  changes->collation = static_cast<uint8_t>(keys.collation);
  changes->key_types = keys.types;
  return std::move(changes);
}

std::vector<std::byte> LiveFilter::changes_since(std::optional<std::span<const std::byte>> mark,
                                                 bool with_hashes) {
  if (!filter_->single()) {
    return window_changes_since("filter_changes", mark, with_hashes, length_limit(store_.db()));
  }
  const std::optional<segments::FilterChanges> changes = found_changes("filter_changes", mark);
  if (!changes) {
    return export_image(sends_hashes(with_hashes));
  }
  Result<std::vector<std::byte>> bytes =
      segments::encode_changes(*changes, length_limit(store_.db()));
  throw_if(table(), bytes.take_status());
  return std::move(bytes.value());
}

segments::MessageStream LiveFilter::stream_since(std::optional<std::span<const std::byte>> mark,
                                                 bool with_hashes) {
  if (!filter_->single()) {
    return segments::MessageStream::of_bytes(
        window_changes_since("filter_parts", mark, with_hashes, segments::kMostMessageBytes));
  }
  std::optional<segments::FilterChanges> changes = found_changes("filter_parts", mark);
  const auto whole = [&] {
    const segments::Contents contents = exported_contents(sends_hashes(with_hashes));
    return segments::MessageStream::of_image(header_of(contents), contents);
  };
  Result<segments::MessageStream> stream =
      changes ? segments::MessageStream::of_changes(*std::move(changes)) : whole();
  throw_if(table(), stream.take_status());
  return std::move(stream.value());
}

std::optional<uint64_t> LiveFilter::behind(std::span<const std::byte> mark) {
  if (!filter_->single()) {
    return window_behind(mark);
  }
  const std::optional<segments::FilterMark> from = mark_argument("filter_behind", mark);
  if (!from || !this->mark()) {
    return std::nullopt;
  }
  Result<std::optional<uint64_t>> entries = filter_->newest().entries_behind(*from);
  throw_if(table(), entries.take_status());
  return entries.value();
}

// --- a copy --------------------------------------------------------------------------------------

void LiveFilter::apply(std::span<const std::byte> bytes) {
  follow();
  if (segments::looks_like_part(bytes)) {
    apply_part(bytes);
    return;
  }
  if (takes_parts_) {
    refuse_amid_parts();
  }
  apply_message(bytes);
}

void LiveFilter::apply_message(const segments::MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  if (is_of_window(bytes)) {
    apply_window(all_of(bytes, buffer));
    return;
  }
  const Result<std::span<const std::byte>> front = bytes.front(kFrontBytes, buffer);
  throw_if(table(), front.ok() ? Status() : Status(front.error()));
  if (segments::looks_like_changes(front.value())) {
    apply_changes(bytes);
  } else {
    apply_image(bytes);
  }
}

void LiveFilter::apply_changes(const segments::MessageBytes& bytes) {
  Result<segments::FilterChanges> decoded = segments::decode_changes(
      bytes, filter_->options().page_bytes, [this] { return store_.poll(); });
  if (!decoded.ok() && decoded.error().code == ErrorCode::kCorrupt) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: " + decoded.error().message);
  }
  throw_if(table(), decoded.take_status());
  const segments::FilterChanges& changes = decoded.value();
  const KeyDomain keys = {static_cast<Affinity>(changes.key_affinity),
                          static_cast<Collation>(changes.collation), changes.key_types};
  if (const std::string why = obstacle(keys, key_domain()); !why.empty()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: the changes" + why);
  }
  change_by([&]() -> Status {
    Status applied = filter_->newest().apply(changes).take_status();
    // It is the message that is bad, not the table.
    const bool bad = !applied.ok() && usable() &&
                     (applied.error().code == ErrorCode::kCorrupt ||
                      applied.error().code == ErrorCode::kInvalid);
    return bad ? invalid("apply: " + applied.error().message) : std::move(applied);
  });
}

// The image of what it is already changes nothing.
void LiveFilter::apply_image(const segments::MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  const Result<std::span<const std::byte>> front = bytes.front(kFrontBytes, buffer);
  throw_if(table(), front.ok() ? Status() : Status(front.error()));
  if (!segments::looks_like_image(front.value()) && !looks_like_legacy_file(front.value())) {
    throw SqlError(SQLITE_ERROR,
                   table() +
                       ": apply: bytes that are neither changes nor an image of a filter,"
                       " expected CKCH or CKI3 or, of a part, CKPT at the start");
  }
  if (segments::looks_like_image(front.value())) {
    const Result<segments::ImageHeader> header = segments::decode_image_header(bytes);
    if (header.ok() && header.value().mark &&
        segments::encode_mark(*header.value().mark) == mark()) {
      return;
    }
  }
  import(bytes, "apply");
}

}  // namespace cuckoo
