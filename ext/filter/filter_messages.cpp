#include "ext/filter/filter_messages.hpp"

#include <utility>

#include "core/filter/legacy_bloom.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/intake.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/window_messages.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

using segments::Contents;
using segments::FilterChanges;
using segments::FilterFile;
using segments::MessageBytes;
using segments::MessagePart;
using segments::Piece;
using segments::StagedMessage;

namespace {

constexpr uint64_t kFrontBytes = 184;  // enough for a message's magic and the largest header

// Returns nothing for a mark of a sliding window, because a single filter never had it.
std::optional<segments::FilterMark> own_mark(const char* function,
                                             std::span<const std::byte> mark) {
  return segments::decode_window_mark(mark).ok()
             ? std::nullopt
             : std::optional(expect_mark(function, segments::decode_mark(mark)));
}

}  // namespace

uint64_t FilterMessages::limit() const { return length_limit(live_.store().db()); }

// --- going out -----------------------------------------------------------------------------------

std::optional<std::vector<std::byte>> FilterMessages::mark() {
  if (!live_.filter().single()) {
    return WindowMessages(live_).mark();
  }
  const auto mark = value_or_throw(live_.table(), live_.filter().newest().mark());
  return mark ? std::optional(segments::encode_mark(*mark)) : std::nullopt;
}

Contents FilterMessages::contents(bool with_hashes) {
  return value_or_throw(live_.table(), live_.filter().newest().contents(with_hashes));
}

segments::MessageHeader FilterMessages::header_of(const Contents& contents) const {
  const FilterOptions& options = live_.filter().options();
  segments::MessageHeader header =
      image_header(options.spec, options.width, options.seed, live_.key_domain());
  header.take(contents);
  return header;
}

std::vector<std::byte> FilterMessages::image(bool with_hashes) {
  // Before memory is taken for it.
  throw_if(live_.table(),
           segments::expect_image_fits(live_.filter().newest().least_image_bytes(), limit()));
  if (!live_.filter().single()) {
    return WindowMessages(live_).image(with_hashes, limit());
  }
  const Contents contents = this->contents(with_hashes);
  return value_or_throw(live_.table(),
                        segments::encode_image(header_of(contents), contents.pieces, limit()));
}

std::vector<std::byte> FilterMessages::legacy_file() {
  if (!live_.legacy()) {
    throw SqlError(SQLITE_ERROR, live_.table() +
                                     ": only a bloom_filter with hash = murmur2 has a legacy"
                                     " file, this is " +
                                     describe(live_.filter().options().spec.kind));
  }
  FilterFile& newest = live_.filter().newest();
  GeometryWords words;
  words.size = newest.bits();
  throw_if(live_.table(), check_legacy_file_bytes(words, limit()));
  LegacyFile file;
  file.seed = static_cast<uint32_t>(live_.seed());
  file.rate = live_.filter().target_rate();
  file.capacity = newest.capacity();
  file.items = newest.items();
  throw_if(live_.table(), newest.for_each_piece(false, [&](Piece&& piece) -> Status {
    file.filter = std::move(piece.filter);  // there is only one piece
    return {};
  }));
  return value_or_throw(live_.table(), encode_legacy_file(file));
}

bool FilterMessages::sends_hashes(bool with_hashes) const noexcept {
  return with_hashes && live_.filter().newest().keeps_hashes();
}

std::optional<FilterChanges> FilterMessages::found_changes(
    const char* function, std::optional<std::span<const std::byte>> mark, bool with_hashes) {
  if (!mark || !this->mark()) {
    return std::nullopt;
  }
  const std::optional<segments::FilterMark> from = own_mark(function, *mark);
  if (!from) {
    return std::nullopt;
  }
  std::optional<FilterChanges> changes =
      value_or_throw(live_.table(), live_.filter().newest().changes_since(*from));
  const FilterFile& newest = live_.filter().newest();
  const uint64_t hash_bytes = sends_hashes(with_hashes) ? newest.items() * 7 / 2 : 0;  // about
  if (!changes || changes->bytes > newest.least_image_bytes() + hash_bytes) {
    return std::nullopt;
  }
  changes->keys = live_.key_form();
  changes->key_types = live_.filter().key_types();
  return changes;
}

std::vector<std::byte> FilterMessages::changes_since(std::optional<std::span<const std::byte>> mark,
                                                     bool with_hashes) {
  if (!live_.filter().single()) {
    return WindowMessages(live_).changes_since("filter_changes", mark, with_hashes, limit());
  }
  const std::optional<FilterChanges> changes = found_changes("filter_changes", mark, with_hashes);
  if (!changes) {
    return image(sends_hashes(with_hashes));
  }
  return value_or_throw(live_.table(), segments::encode_changes(*changes, limit()));
}

segments::MessageStream FilterMessages::stream_since(std::optional<std::span<const std::byte>> mark,
                                                     bool with_hashes) {
  if (!live_.filter().single()) {
    return WindowMessages(live_).stream_since("filter_parts", mark, with_hashes);
  }
  std::optional<FilterChanges> changes = found_changes("filter_parts", mark, with_hashes);
  const auto whole = [&] {
    const Contents contents = this->contents(sends_hashes(with_hashes));
    return segments::MessageStream::of_image(header_of(contents), contents);
  };
  return value_or_throw(live_.table(),
                        changes ? segments::MessageStream::of_changes(*changes) : whole());
}

std::optional<uint64_t> FilterMessages::behind(std::span<const std::byte> mark) {
  if (!live_.filter().single()) {
    return WindowMessages(live_).behind(mark);
  }
  const std::optional<segments::FilterMark> from = own_mark("filter_behind", mark);
  if (!from || !this->mark()) {
    return std::nullopt;
  }
  return value_or_throw(live_.table(), live_.filter().newest().changes_behind(*from));
}

// --- coming in -----------------------------------------------------------------------------------

void FilterMessages::refuse_message(const std::string& why) const {
  throw SqlError(SQLITE_ERROR, live_.table() + ": apply: " + why);
}

std::span<const std::byte> FilterMessages::front_of(const MessageBytes& bytes,
                                                    std::vector<std::byte>& buffer) const {
  return value_or_throw(live_.table(), bytes.front(kFrontBytes, buffer));
}

bool FilterMessages::is_of_window(std::span<const std::byte> front) const {
  return !live_.filter().single() || segments::looks_like_window_message(front);
}

void FilterMessages::import(std::span<const std::byte> image) {
  live_.follow();
  live_.refuse_amid_parts();
  if (is_of_window(image)) {
    WindowMessages(live_).import(image, "import");
  } else {
    Intake(live_, "import").import(image);
  }
}

void FilterMessages::apply(std::span<const std::byte> bytes) {
  live_.follow();
  if (segments::looks_like_part(bytes)) {
    apply_part(bytes);
    return;
  }
  live_.refuse_amid_parts();
  apply_message(bytes);
}

void FilterMessages::apply_message(const MessageBytes& bytes) {
  std::vector<std::byte> buffer;
  const std::span<const std::byte> front = front_of(bytes, buffer);
  if (is_of_window(front)) {
    WindowMessages(live_).apply(bytes);
  } else if (segments::looks_like_changes(front)) {
    apply_changes(bytes);
  } else if (is_own_image(bytes, front)) {
    Intake(live_, "apply").verify(bytes);
  } else {
    Intake(live_, "apply").import(bytes);
  }
}

void FilterMessages::apply_changes(const MessageBytes& bytes) {
  Result<FilterChanges> decoded = segments::decode_changes(
      bytes, live_.filter().options().page_bytes, [this] { return live_.store().poll(); });
  if (!decoded.ok() && decoded.error().code == ErrorCode::kCorrupt) {
    refuse_message(decoded.error().message);
  }
  throw_if(live_.table(), decoded.take_status());
  const FilterChanges& changes = decoded.value();
  expect_keys(changes);
  live_.change_by([&]() -> Status {
    Status applied = live_.filter().newest().apply(changes).take_status();
    const bool bad = !applied.ok() && (applied.error().code == ErrorCode::kBadMessage ||
                                       applied.error().code == ErrorCode::kInvalid);
    return bad ? invalid("apply: " + applied.error().message) : std::move(applied);
  });
}

void FilterMessages::expect_keys(const FilterChanges& changes) const {
  const KeyDomain keys(changes.keys, changes.key_types);
  if (const std::string why = obstacle(keys, live_.key_domain()); !why.empty()) {
    refuse_message("the changes" + why);
  }
}

// Returns whether the image has the filter's own mark, and no hashes that the filter lost. Such an
// image would change nothing.
bool FilterMessages::is_own_image(const MessageBytes& bytes, std::span<const std::byte> front) {
  if (segments::looks_like_image(front)) {
    const Result<segments::MessageHeader> header = segments::decode_image_header(bytes);
    const bool brings_hashes =
        header.ok() && header.value().hash_count > 0 && live_.filter().lacks_hashes();
    return header.ok() && header.value().mark && !brings_hashes &&
           segments::encode_mark(*header.value().mark) == mark();
  }
  if (!looks_like_legacy_file(front)) {
    refuse_message(
        "bytes that are neither changes nor an image of a filter,"
        " expected CKMS or, of a part, CKPT at the start");
  }
  return false;
}

// --- a message in parts --------------------------------------------------------------------------

// Refuses a message by its header. Otherwise the error would come only with the last part.
void FilterMessages::check_first_part(const MessagePart& part) {
  const std::span<const std::byte> front = part.slice;
  const uint64_t size = part.cut.total_bytes;
  if (is_of_window(front)) {
    WindowMessages(live_).expect_appliable(front, size);
  } else if (segments::looks_like_changes(front)) {
    const Result<segments::MessageHeader> header =
        segments::decode_changes_header(segments::front_of_message(front, size));
    if (!header.ok()) {
      refuse_message(header.error().message);
    }
    const FilterChanges changes = segments::changes_of(header.value());
    expect_keys(changes);
    throw_if(live_.table() + ": apply", live_.filter().newest().expect_from(changes));
  } else if (!is_own_image(segments::front_of_message(front, size), front)) {
    Intake(live_, "apply").expect_importable(segments::front_of_message(front, size));
  }
}

void FilterMessages::apply_part(std::span<const std::byte> bytes) {
  const Result<MessagePart> decoded = segments::decode_part(bytes);
  if (!decoded.ok()) {
    refuse_message(decoded.error().message);
  }
  const MessagePart& part = decoded.value();
  throw_if(live_.table() + ": apply", StagedMessage::expect_next(live_.standing(), part));
  if (part.index + 1 < part.cut.parts()) {
    if (part.index == 0) {
      check_first_part(part);
    }
    live_.stage(part);
  } else if (part.index == 0) {
    apply_message(part.slice);
  } else {
    live_.use_staged(part, [this](const MessageBytes& message) { apply_message(message); });
  }
}

}  // namespace cuckoo
