#include "ext/filter/window_messages.hpp"

#include <utility>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {
namespace {

using segments::WindowMark;
using segments::WindowMessage;

// Returns nothing for a mark of a single filter, because a window never had it.
std::optional<WindowMark> own_window_mark(const char* function, std::span<const std::byte> mark) {
  return segments::decode_mark(mark).ok()
             ? std::nullopt
             : std::optional(expect_mark(function, segments::decode_window_mark(mark)));
}

std::string window_of(uint64_t generations) {
  return "a sliding window of " + std::to_string(generations) + " generations";
}

}  // namespace

// --- going out -----------------------------------------------------------------------------------

std::vector<std::byte> WindowMessages::mark() {
  return segments::encode_window_mark(value_or_throw(live_.table(), live_.filter().mark()));
}

// Adds what only the table knows.
void WindowMessages::put_common(WindowMessage& message) const {
  const segments::MessageHeader common = image_header(message.common.spec, message.common.width,
                                                      message.common.seed, live_.key_domain());
  message.common = common;
}

WindowMessage WindowMessages::contents(bool with_hashes) const {
  WindowMessage message = value_or_throw(live_.table(), live_.filter().contents(with_hashes));
  put_common(message);
  return message;
}

WindowMessage WindowMessages::message_since(const char* function,
                                            std::optional<std::span<const std::byte>> mark,
                                            bool with_hashes) const {
  segments::FilterWindow& window = live_.filter();
  const std::optional<WindowMark> from = mark ? own_window_mark(function, *mark) : std::nullopt;
  if (from) {
    Result<std::optional<WindowMessage>> changes = window.changes_since(*from, with_hashes);
    throw_if(live_.table(), changes.take_status());
    if (changes.value()) {
      put_common(*changes.value());
      return *std::move(changes.value());
    }
  }
  return contents(with_hashes && window.keeps_hashes());
}

std::vector<std::byte> WindowMessages::encode(const WindowMessage& message, uint64_t limit) const {
  return value_or_throw(live_.table(), segments::encode_window_message(message, limit));
}

std::vector<std::byte> WindowMessages::image(bool with_hashes, uint64_t limit) {
  return encode(contents(with_hashes), limit);
}

std::vector<std::byte> WindowMessages::changes_since(const char* function,
                                                     std::optional<std::span<const std::byte>> mark,
                                                     bool with_hashes, uint64_t limit) {
  return encode(message_since(function, mark, with_hashes), limit);
}

segments::MessageStream WindowMessages::stream_since(const char* function,
                                                     std::optional<std::span<const std::byte>> mark,
                                                     bool with_hashes) {
  return value_or_throw(live_.table(), segments::MessageStream::of_window(
                                           message_since(function, mark, with_hashes)));
}

std::optional<uint64_t> WindowMessages::behind(std::span<const std::byte> mark) {
  const std::optional<WindowMark> from = own_window_mark("filter_behind", mark);
  if (!from) {
    return std::nullopt;
  }
  return value_or_throw(live_.table(), live_.filter().changes_behind(*from));
}

// --- coming in -----------------------------------------------------------------------------------

void WindowMessages::refuse(const std::string& command, const std::string& why) const {
  throw SqlError(SQLITE_ERROR, live_.table() + ": " + command + ": " + why);
}

void WindowMessages::expect_window(std::span<const std::byte> bytes,
                                   const std::string& command) const {
  if (segments::looks_like_window_message(bytes)) {
    return;
  }
  const bool of_one = segments::looks_like_image(bytes) || segments::looks_like_changes(bytes) ||
                      looks_like_legacy_file(bytes);
  refuse(command, of_one ? "the BLOB is of a single filter, this is " +
                               window_of(live_.filter().options().generations) +
                               "; merge adds an image to the newest one"
                         : "bytes that are neither changes nor an image of a sliding window,"
                           " expected CKIW at the start");
}

// Refuses a window's message for a single filter's table, or for one of another kind.
// expect_window() refuses a single filter's message.
void WindowMessages::expect_like(const WindowMessage& message, const std::string& command) const {
  const FilterOptions& mine = live_.filter().options();
  if (mine.generations == 1) {
    refuse(command, "the BLOB is of " + window_of(message.to.generations) +
                        ", this is a single filter with generations = 1; make the table with"
                        " generations = " +
                        std::to_string(message.to.generations));
  }
  if (message.common.spec.kind != mine.spec.kind) {
    refuse(command, "the BLOB is of " + describe(message.common.spec.kind) + ", this is " +
                        describe(mine.spec.kind) + "; make a table like that");
  }
}

// Decodes a message that replaces a window or adds to it. Refuses one that the window can't take.
WindowMessage WindowMessages::decode(const segments::MessageBytes& bytes,
                                     const std::string& command) {
  constexpr uint64_t kFrontBytes = 64;  // enough for any message's magic
  std::vector<std::byte> buffer;
  expect_window(value_or_throw(live_.table(), bytes.front(kFrontBytes, buffer)), command);
  Result<WindowMessage> decoded = segments::decode_window_message(
      bytes, live_.filter().options().page_bytes, true, [this] { return live_.store().poll(); });
  if (!decoded.ok()) {
    throw_if(live_.table(),
             decoded.error().code == ErrorCode::kCorrupt ? Status() : decoded.take_status());
    refuse(command, decoded.error().message);
  }
  const WindowMessage& message = decoded.value();
  expect_like(message, command);
  const KeyDomain keys(message.common.keys, message.common.key_types);
  if (const std::string why = obstacle(keys, live_.key_domain()); !why.empty()) {
    refuse(command, "the BLOB" + why);
  }
  return std::move(decoded.value());
}

void WindowMessages::expect_appliable(std::span<const std::byte> front, uint64_t size) {
  expect_window(front, "apply");
  const Result<WindowMessage> header = segments::decode_window_header(front, size);
  if (!header.ok()) {
    refuse("apply", header.error().message);
  }
  const WindowMessage& message = header.value();
  expect_like(message, "apply");
  if (!message.from) {
    live_.expect_origin(message.to.newest.seed);
  } else {
    throw_if(live_.table() + ": apply", live_.filter().expect_from(message.from, message.to));
  }
}

void WindowMessages::import(const segments::MessageBytes& bytes, const std::string& command) {
  const WindowMessage message = decode(bytes, command);
  if (message.from) {
    refuse(command,
           "the BLOB has changes of a sliding window, expected its image; 'apply' takes both");
  }
  if (command == "apply") {
    live_.expect_origin(message.common.seed);
  }
  FilterOptions next = live_.filter().options();
  next.spec = segments::created_spec(message.common.spec);
  next.seed = message.common.seed;
  next.width = message.common.width;
  next.capacity = message.capacity;
  next.generations = message.to.generations;
  if (const Status status = next.check(); !status.ok()) {
    refuse(command, "the image is for " + status.error().message);
  }
  live_.replace_by(next, [&](const FilterOptions& options) -> Status {
    Status imported = live_.filter().import(options, message);
    return imported.error().code == ErrorCode::kBadMessage
               ? invalid(command + ": " + imported.error().message)
               : std::move(imported);
  });
}

void WindowMessages::apply(const segments::MessageBytes& bytes) {
  const WindowMessage message = decode(bytes, "apply");
  if (!message.from) {
    const bool brings_hashes = message.common.with_hashes && live_.filter().lacks_hashes();
    if (brings_hashes || segments::encode_window_mark(message.to) != mark()) {
      import(bytes, "apply");
      return;
    }
    const Status sound = segments::verify(message);
    if (sound.error().code == ErrorCode::kBadMessage) {
      refuse("apply", sound.error().message);
    }
    throw_if(live_.table(), sound);
    return;
  }
  live_.change_by([&]() -> Status {
    Status applied = live_.filter().apply(message).take_status();
    return applied.error().code == ErrorCode::kBadMessage
               ? invalid("apply: " + applied.error().message)
               : std::move(applied);
  });
}

}  // namespace cuckoo
