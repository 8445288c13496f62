#include "core/segments/window_mark.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/segments/front.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint32_t kWindowMarkMagic = 0x4D574B43;  // "CKWM"
constexpr uint8_t kWindowMarkVersion = 3;
constexpr uint64_t kMostRotations = uint64_t{1} << 60;

constexpr size_t kWindowMarkGenerationsAt = 5;
constexpr size_t kWindowMarkHeldAt = 6;
constexpr size_t kWindowMarkZeroAt = 7;
constexpr size_t kWindowMarkRotationAt = 8;
constexpr size_t kWindowMarkNewestAt = 16;
constexpr size_t kWindowMarkPastAt = kWindowMarkNewestAt + kMarkBytes;
constexpr size_t kWindowMarkCrcAt = kWindowMarkPastAt + 8;
static_assert(kWindowMarkCrcAt + kCrcBytes == kWindowMarkBytes);

}  // namespace

uint64_t past_behind(const FilterMark& before) noexcept {
  return chain_with(before.chain, before.position);
}

bool is_rotation(uint64_t generations, uint64_t held, uint64_t rotation) noexcept {
  return generations <= kMaxGenerations && held >= 1 && held <= generations &&
         held - 1 <= rotation && rotation <= kMostRotations;
}

std::vector<std::byte> encode_window_mark(const WindowMark& mark) {
  std::vector<std::byte> bytes(kWindowMarkCrcAt);
  put_front(kWindowMarkMagic, kWindowMarkVersion, bytes);
  store_le(&bytes[kWindowMarkGenerationsAt], static_cast<uint8_t>(mark.generations));
  store_le(&bytes[kWindowMarkHeldAt], static_cast<uint8_t>(mark.held));
  store_le(&bytes[kWindowMarkRotationAt], mark.rotation);
  const std::vector<std::byte> newest = encode_mark(mark.newest);
  std::copy(newest.begin(), newest.end(), &bytes[kWindowMarkNewestAt]);
  store_le(&bytes[kWindowMarkPastAt], mark.past);
  append_crc(bytes);
  return bytes;
}

Result<WindowMark> decode_window_mark(std::span<const std::byte> bytes) {
  if (!looks_like_window_mark(bytes) || bytes.size() <= kVersionAt) {
    return corrupt("bytes that are no mark of a sliding window, expected " +
                   std::to_string(kWindowMarkBytes) + " that begin with CKWM");
  }
  CUCKOO_TRY(expect_version("mark of a sliding window", load_le<uint8_t>(&bytes[kVersionAt]),
                            kWindowMarkVersion));
  if (bytes.size() != kWindowMarkBytes) {
    return corrupt("mark of a sliding window of " + std::to_string(bytes.size()) +
                   " bytes, expected " + std::to_string(kWindowMarkBytes));
  }
  if (!has_crc(bytes)) {
    return corrupt("mark of a sliding window with a wrong checksum");
  }
  WindowMark mark;
  mark.generations = load_le<uint8_t>(&bytes[kWindowMarkGenerationsAt]);
  mark.held = load_le<uint8_t>(&bytes[kWindowMarkHeldAt]);
  mark.rotation = load_le<uint64_t>(&bytes[kWindowMarkRotationAt]);
  CUCKOO_ASSIGN_OR_RETURN(mark.newest, decode_mark(bytes.subspan(kWindowMarkNewestAt, kMarkBytes)));
  mark.past = load_le<uint64_t>(&bytes[kWindowMarkPastAt]);
  if (mark.generations < 2 || !is_rotation(mark.generations, mark.held, mark.rotation) ||
      bytes[kWindowMarkZeroAt] != std::byte{0}) {
    return corrupt("mark of a sliding window that can't be");
  }
  return mark;
}

bool looks_like_window_mark(std::span<const std::byte> bytes) noexcept {
  return has_magic(bytes, kWindowMarkMagic);
}

}  // namespace cuckoo::segments
