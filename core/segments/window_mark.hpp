// The mark of a sliding window names the contents of all its generations.
//
// The log of each generation except the first begins with a hash of all that ever happened to the
// generations before it (core/segments/filter_window.hpp, I5). So the mark of the newest one names
// the older ones, too. The window's mark also has the rotation of the newest generation, which says
// in which log to look for the mark if the window has rotated since. If the log does not go back so
// far, a hash of the mark of the generation before it tells whether all older ones are the same.
//
// Invariants
//   I1  windows with one mark hold the same multiset of hashes in each generation (accidents:
//       2^-64; a mark is no proof against forgery). Their false positives may differ.
//   I2  nothing is believed: magic, version, length, ranges and checksums are verified.
//
// Bytes: FORMAT.md, "Marks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/mark.hpp"

namespace cuckoo::segments {

inline constexpr size_t kWindowMarkBytes = 64;

struct WindowMark {
  uint64_t generations = 2;  // that it has at most; 2 … kMaxGenerations
  uint64_t held = 1;         // that it has; 1 … generations
  uint64_t rotation = 0;     // of the newest one, held - 1 or more
  FilterMark newest;
  uint64_t past = 0;  // a hash of the mark of the generation before it; 0 if that is not held

  friend bool operator==(const WindowMark&, const WindowMark&) = default;
};

// Returns the `past` of a generation that comes after that mark of the one before it.
uint64_t past_behind(const FilterMark& before) noexcept;

// Returns whether a window can have these numbers: `rotation` of the newest generation, and how
// many it has. Every reader checks that.
bool is_rotation(uint64_t generations, uint64_t held, uint64_t rotation) noexcept;

std::vector<std::byte> encode_window_mark(const WindowMark& mark);
// Returns kCorrupt if the bytes are no mark of a window.
Result<WindowMark> decode_window_mark(std::span<const std::byte> bytes);
// Returns whether the bytes begin like the mark of a window, of any version.
bool looks_like_window_mark(std::span<const std::byte> bytes) noexcept;

}  // namespace cuckoo::segments
