#include "core/segments/window_mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kMagic = 0x4D574B43;  // "CKWM"
constexpr uint8_t kVersion = 3;
constexpr uint64_t kMostRotations = uint64_t{1} << 60;

constexpr size_t kGenerationsAt = 5;
constexpr size_t kHeldAt = 6;
constexpr size_t kZeroAt = 7;
constexpr size_t kRotationAt = 8;
constexpr size_t kNewestAt = 16;
constexpr size_t kCrcAt = kNewestAt + kMarkBytes;
static_assert(kCrcAt + kCrcBytes == kWindowMarkBytes);

}  // namespace

bool is_rotation(uint64_t generations, uint64_t held, uint64_t rotation) noexcept {
  return generations <= kMaxGenerations && held >= 1 && held <= generations &&
         held - 1 <= rotation && rotation <= kMostRotations;
}

std::vector<std::byte> encode_window_mark(const WindowMark& mark) {
  std::vector<std::byte> bytes(kCrcAt);
  put_front(kMagic, kVersion, bytes);
  store_le(&bytes[kGenerationsAt], static_cast<uint8_t>(mark.generations));
  store_le(&bytes[kHeldAt], static_cast<uint8_t>(mark.held));
  store_le(&bytes[kRotationAt], mark.rotation);
  const std::vector<std::byte> newest = encode_mark(mark.newest);
  std::copy(newest.begin(), newest.end(), &bytes[kNewestAt]);
  append_crc(bytes);
  return bytes;
}

Result<WindowMark> decode_window_mark(std::span<const std::byte> bytes) {
  if (!looks_like_window_mark(bytes) || bytes.size() <= kVersionAt) {
    return corrupt("bytes that are no mark of a sliding window, expected " +
                   std::to_string(kWindowMarkBytes) + " that begin with CKWM");
  }
  CUCKOO_TRY(
      expect_version("mark of a sliding window", load_le<uint8_t>(&bytes[kVersionAt]), kVersion));
  if (bytes.size() != kWindowMarkBytes) {
    return corrupt("mark of a sliding window of " + std::to_string(bytes.size()) +
                   " bytes, expected " + std::to_string(kWindowMarkBytes));
  }
  if (!has_crc(bytes)) {
    return corrupt("mark of a sliding window with a wrong checksum");
  }
  WindowMark mark;
  mark.generations = load_le<uint8_t>(&bytes[kGenerationsAt]);
  mark.held = load_le<uint8_t>(&bytes[kHeldAt]);
  mark.rotation = load_le<uint64_t>(&bytes[kRotationAt]);
  CUCKOO_ASSIGN_OR_RETURN(mark.newest, decode_mark(bytes.subspan(kNewestAt, kMarkBytes)));
  if (mark.generations < 2 || !is_rotation(mark.generations, mark.held, mark.rotation) ||
      bytes[kZeroAt] != std::byte{0}) {
    return corrupt("mark of a sliding window that can't be");
  }
  return mark;
}

bool looks_like_window_mark(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kMagic);
}

}  // namespace cuckoo::segments
