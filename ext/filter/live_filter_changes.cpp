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
std::vector<std::byte> LiveFilter::whole_message() {
  const FilterFile& newest = filter_->newest();
  return export_image(newest.multiset() && newest.options().unique && newest.keeps_hashes());
}

std::vector<std::byte> LiveFilter::changes_since(std::optional<std::span<const std::byte>> mark) {
  if (!mark || !this->mark()) {
    return whole_message();
  }
  if (!filter_->single()) {
    return window_changes_since(*mark);
  }
  const std::optional<segments::FilterMark> from = mark_argument("filter_changes", *mark);
  if (!from) {
    return whole_message();
  }
  Result<std::optional<segments::FilterChanges>> changes = filter_->newest().changes_since(*from);
  throw_if(table(), changes.take_status());
  if (!changes.value() ||
      changes.value()->hashes.size() * segments::kBitsOfChange > filter_->newest().bits()) {
    return whole_message();
  }
  const KeyDomain keys = key_domain();
  changes.value()->key_affinity = static_cast<uint8_t>(keys.affinity);
  changes.value()->collation = static_cast<uint8_t>(keys.collation);
  changes.value()->key_types = keys.types;
  Result<std::vector<std::byte>> bytes =
      segments::encode_changes(*changes.value(), length_limit(store_.db()));
  throw_if(table(), bytes.take_status());
  return std::move(bytes.value());
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

void LiveFilter::apply(std::span<const std::byte> bytes) {
  follow();
  if (!filter_->single() || segments::looks_like_window_message(bytes)) {
    apply_window(bytes);
    return;
  }
  if (!segments::looks_like_changes(bytes)) {
    apply_image(bytes);
    return;
  }
  Result<segments::FilterChanges> decoded = segments::decode_changes(
      bytes, filter_->options().page_bytes, [this] { return store_.poll(); });
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: " + decoded.error().message);
  }
  const segments::FilterChanges& changes = decoded.value();
  const KeyDomain keys = {static_cast<Affinity>(changes.key_affinity),
                          static_cast<Collation>(changes.collation), changes.key_types};
  if (const std::string why = obstacle(keys, key_domain()); !why.empty()) {
    throw SqlError(SQLITE_ERROR, table() + ": apply: the changes" + why);
  }
  change_by([&]() -> Status {
    Status applied = filter_->newest().apply(changes).take_status();
    // It is the message that is bad, not the table.
    return !applied.ok() && applied.error().code == ErrorCode::kCorrupt && usable()
               ? invalid("apply: " + applied.error().message)
               : std::move(applied);
  });
}

// The image of what it is already changes nothing.
void LiveFilter::apply_image(std::span<const std::byte> bytes) {
  if (!segments::looks_like_image(bytes) && !looks_like_legacy_file(bytes)) {
    throw SqlError(SQLITE_ERROR,
                   table() +
                       ": apply: bytes that are neither changes nor an image of a filter,"
                       " expected CKCH or CKI3 at the start");
  }
  if (segments::looks_like_image(bytes)) {
    const Result<segments::ImageHeader> header = segments::decode_image_header(bytes);
    if (header.ok() && header.value().mark &&
        segments::encode_mark(*header.value().mark) == mark()) {
      return;
    }
  }
  import(bytes, "apply");
}

}  // namespace cuckoo
