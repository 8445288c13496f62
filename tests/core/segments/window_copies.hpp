// Windows that follow one another by messages: what the tests of their marks and changes share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/segments/stored_generations.hpp"

namespace cuckoo::test {

inline segments::WindowMark mark_of(segments::FilterWindow& window) {
  const Result<segments::WindowMark> mark = window.mark();
  EXPECT_TRUE(mark.ok()) << mark.error().message;
  return mark.ok() ? mark.value() : segments::WindowMark();
}

inline Bytes encoded(const segments::WindowMessage& message) {
  const Result<Bytes> bytes = segments::encode_window_message(message, 1 << 30);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  return bytes.ok() ? bytes.value() : Bytes();
}

inline Bytes image_of(segments::FilterWindow& window, bool with_hashes = false) {
  const Result<segments::WindowMessage> contents = window.contents(with_hashes);
  EXPECT_TRUE(contents.ok()) << contents.error().message;
  return contents.ok() ? encoded(contents.value()) : Bytes();
}

// Nothing where only an image leads there.
inline std::optional<Bytes> changes_of(segments::FilterWindow& window,
                                       const segments::WindowMark& since) {
  const Result<std::optional<segments::WindowMessage>> changes = window.changes_since(since);
  EXPECT_TRUE(changes.ok()) << changes.error().message;
  return changes.ok() && changes.value() ? std::optional(encoded(*changes.value())) : std::nullopt;
}

inline FilterOptions options_of_copy(const segments::FilterWindow& copy,
                                     const segments::WindowMessage& image) {
  FilterOptions options = copy.options();
  options.spec = image.common.spec;
  options.width = image.common.width;
  options.seed = image.common.seed;
  options.capacity = image.capacity;
  options.generations = image.to.generations;
  options.digest ^= 3;
  return options;
}

// What 'apply' does with either.
inline Status take(segments::FilterWindow& copy, std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const segments::WindowMessage message,
                          segments::decode_window_message(bytes, copy.options().page_bytes, true));
  return message.from ? copy.apply(message).take_status()
                      : copy.import(options_of_copy(copy, message), message);
}

// The two statements: returns whether the answer was an image.
inline bool follow_origin(StoredGenerations& copy, segments::FilterWindow& origin) {
  const std::optional<Bytes> changes = changes_of(origin, mark_of(copy.window));
  const Status status = take(copy.window, changes ? *changes : image_of(origin));
  EXPECT_TRUE(status.ok()) << message_of(status);
  copy.commit();
  copy.expect_good();
  return !changes;
}

inline std::unique_ptr<StoredGenerations> copy_of(segments::FilterWindow& origin,
                                                  FilterOptions options, bool with_hashes) {
  options.seed += 7;
  options.capacity = 10;
  auto copy = std::make_unique<StoredGenerations>(options);
  const Status status = take(copy->window, image_of(origin, with_hashes));
  EXPECT_TRUE(status.ok()) << message_of(status);
  copy->commit();
  copy->expect_good();
  EXPECT_EQ(mark_of(copy->window), mark_of(origin));
  return copy;
}

}  // namespace cuckoo::test
