// decode_window_message, decode_window_image, decode_window_mark: what is accepted says the same
// when it is written again, and a window that imports it is whole.
#include "core/segments/window_message.hpp"

#include <algorithm>

#include "core/segments/filter_window.hpp"
#include "core/segments/message_header.hpp"
#include "tests/fuzz/fuzz_blocks.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::segments {
namespace {

using test::Bytes;
using test::put_crc;

// Where they are in a message (FORMAT.md, "Images and changes of sliding windows").
constexpr size_t kLengthAt = 8;
constexpr size_t kSectionsAt = 24;
constexpr size_t kToAt = 32;
constexpr size_t kFromAt = kToAt + kWindowMarkBytes;
constexpr size_t kHeaderBytes = kFromAt + kWindowMarkBytes;
constexpr size_t kNewestAt = 16;  // in a mark

// Are all pieces good?
bool read_pieces(const WindowMessage& message) {
  const PieceSink sink = [](Piece&& piece) -> Status {
    REQUIRE(piece.filter != nullptr && piece.filter->check().ok());
    return {};
  };
  return std::all_of(
      message.generations.begin(), message.generations.end(), [&](const Generation& one) {
        return (!one.image || one.image->pieces(sink).ok()) &&
               (!one.changes || !one.changes->pieces || one.changes->pieces(sink).ok());
      });
}

// One that is not too large to be made.
void examine_import(const WindowMessage& message) {
  constexpr uint64_t kMost = 4096;
  const bool small =
      std::all_of(message.generations.begin(), message.generations.end(),
                  [](const Generation& one) { return one.image && one.image->capacity <= kMost; });
  if (message.from || message.capacity > kMost || !small || message.to.rotation > kMost) {
    return;
  }
  test::FuzzBlocks storage;
  FilterOptions options;
  options.spec = message.common.spec;
  options.width = message.common.width;
  options.seed = message.common.seed;
  options.capacity = message.capacity;
  options.generations = message.to.generations;
  options.page_bytes = 448;
  FilterWindow window(options, storage);
  if (!options.check().ok() || !window.create().ok()) {
    return;
  }
  REQUIRE(window.flush().ok());
  const Result<WindowMark> before = window.mark();
  REQUIRE(before.ok());
  if (!window.import(options, message).ok()) {
    REQUIRE(window.mark().ok() && window.mark().value() == before.value());
    return;
  }
  REQUIRE(window.mark().ok() && window.mark().value() == message.to);
  REQUIRE(window.flush().ok());
  REQUIRE(window.check().ok());
  REQUIRE(window.rotate().ok());
  REQUIRE(window.flush().ok());
  REQUIRE(window.check().ok());
}

void examine(std::span<const std::byte> bytes) {
  const Result<WindowMessage> message = decode_window_message(bytes, 448, true);
  REQUIRE(!message.ok() || looks_like_window_message(bytes));
  const Result<WindowImage> image = decode_window_image(bytes);
  REQUIRE(!image.ok() || message.ok());
  if (!message.ok()) {
    REQUIRE(!message.error().message.empty());
    return;
  }
  if (!read_pieces(message.value())) {
    return;
  }
  REQUIRE(image.ok() == !message.value().from.has_value());
  const Result<Bytes> written = encode_window_message(message.value(), 1 << 20);
  REQUIRE(written.ok());
  const Result<WindowMessage> same = decode_window_message(written.value(), 448, true);
  REQUIRE(same.ok());
  REQUIRE(same.value().from == message.value().from && same.value().to == message.value().to);
  REQUIRE(encode_window_message(same.value(), 1 << 20).value() == written.value());
  examine_import(message.value());
}

void examine_mark(std::span<const std::byte> bytes) {
  if (const Result<WindowMark> mark = decode_window_mark(bytes); mark.ok()) {
    const Bytes again = encode_window_mark(mark.value());
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
}

// --- putting right what is not to be tested ------------------------------------------------------

void repair_mark(std::span<std::byte> bytes) {
  put_crc(bytes.subspan(kNewestAt, kMarkBytes));
  put_crc(bytes);
}

// Sections are taken until one has no length; what is after them is cut off.
void repair(Bytes& bytes) {
  repair_mark(std::span(bytes).subspan(kToAt, kWindowMarkBytes));
  if (looks_like_window_mark(std::span(bytes).subspan(kFromAt))) {
    repair_mark(std::span(bytes).subspan(kFromAt, kWindowMarkBytes));
  }
  Bytes checked;
  size_t at = kHeaderBytes;
  uint8_t sections = 0;
  for (; sections < 200 && at + 24 <= bytes.size(); ++sections) {
    const auto length = load_le<uint64_t>(&bytes[at + 8]);
    if (length < 4 || length > bytes.size() - at - 20) {
      break;
    }
    const std::span<const std::byte> content = std::span(bytes).subspan(at + 16, length);
    checked.insert(checked.end(), &bytes[at], &bytes[at] + 16);
    checked.insert(checked.end(), content.end() - 4, content.end());
    at += 16 + length;
  }
  bytes.resize(at + 4);
  bytes[kSectionsAt] = static_cast<std::byte>(sections);
  store_le(&bytes[kLengthAt], uint64_t{bytes.size()});
  store_le(&bytes[at], crc32c(checked, crc32c(std::span(bytes).first(kHeaderBytes))));
}

}  // namespace
}  // namespace cuckoo::segments

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::segments;
  const std::span<const std::byte> input = cuckoo::test::as_input(data, size);
  examine(input);
  examine_mark(input);
  cuckoo::test::Bytes bytes(input.begin(), input.end());
  if (size >= kWindowMarkBytes) {
    cuckoo::test::Bytes mark(input.begin(), input.begin() + kWindowMarkBytes);
    repair_mark(mark);
    examine_mark(mark);
  }
  if (size >= kHeaderBytes + 4) {
    repair(bytes);
    examine(bytes);
  }
  return 0;
}
