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

inline segments::WindowMark mark_of(segments::FilterWindow& window) { return must(window.mark()); }

inline Bytes encoded(const segments::WindowMessage& message) {
  return must(segments::encode_window_message(message, 1 << 30));
}

inline Bytes image_of(segments::FilterWindow& window, bool with_hashes = false) {
  return encoded(must(window.contents(with_hashes)));
}

// Returns nothing if only an image leads from `since` to the window.
inline std::optional<Bytes> changes_of(segments::FilterWindow& window,
                                       const segments::WindowMark& since) {
  const std::optional<segments::WindowMessage> changes = must(window.changes_since(since));
  return changes ? std::optional(encoded(*changes)) : std::nullopt;
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

// Does what 'apply' does with an image or with changes.
inline Status take(segments::FilterWindow& copy, std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const segments::WindowMessage message,
                          segments::decode_window_message(bytes, copy.options().page_bytes, true));
  return message.from ? copy.apply(message).take_status()
                      : copy.import(options_of_copy(copy, message), message);
}

// Does what the two statements do. Returns whether the answer was an image.
inline bool follow_origin(StoredGenerations& copy, segments::FilterWindow& origin) {
  const std::optional<Bytes> changes = changes_of(origin, mark_of(copy.window));
  expect_ok(take(copy.window, changes ? *changes : image_of(origin)));
  copy.commit();
  copy.expect_good();
  return !changes;
}

inline std::unique_ptr<StoredGenerations> copy_of(segments::FilterWindow& origin,
                                                  FilterOptions options, bool with_hashes) {
  options.seed += 7;
  options.capacity = 10;
  auto copy = std::make_unique<StoredGenerations>(options);
  expect_ok(take(copy->window, image_of(origin, with_hashes)));
  copy->commit();
  copy->expect_good();
  EXPECT_EQ(mark_of(copy->window), mark_of(origin));
  return copy;
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::changes_of;
using test::copy_of;
using test::encoded;
using test::follow_origin;
using test::image_of;
using test::mark_of;
using test::options_of_copy;
using test::take;

}  // namespace cuckoo::segments
