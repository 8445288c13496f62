// A mark names the contents of a filter at one moment. Changes lead a copy from mark to mark.
//
// A mark says where the filter's log ends: position and chain value, which is a hash of all that
// ever happened to it. A filter that holds exactly what another one held at a mark has that mark,
// too: an import begins the log there, and changes append the same entries.
//
// Invariants
//   I1  filters with one mark hold the same multiset of hashes (accidents: 2^-64; a mark is no
//       proof against forgery). Their false positives may differ.
//   I2  a mark follows from the log alone. All that changes the contents in another way than by
//       entries of the log (clear, import, unite) changes the chain.
//   I3  nothing is believed: magic, version, length, ranges and checksum are verified.
//
// Bytes: FORMAT.md, "Marks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"
#include "core/filter/kind.hpp"

namespace cuckoo::segments {

inline constexpr size_t kMarkBytes = 36;
// No log gets so far, because an entry takes a nanosecond at least.
inline constexpr uint64_t kMostMarkedPosition = uint64_t{1} << 59;

struct FilterMark {
  FilterKind kind = FilterKind::kCuckoo;
  HashWidth width = HashWidth::k47Bits;
  uint64_t seed = 0;
  uint64_t position = 0;
  uint64_t chain = 0;

  friend bool operator==(const FilterMark&, const FilterMark&) = default;
};

// Returns whether both may be marks of one filter: they agree in all but the place in its log.
inline bool of_one_filter(const FilterMark& a, const FilterMark& b) noexcept {
  return a.kind == b.kind && a.width == b.width && a.seed == b.seed;
}

std::vector<std::byte> encode_mark(const FilterMark& mark);
// Returns kCorrupt if the bytes are no mark.
Result<FilterMark> decode_mark(std::span<const std::byte> bytes);
// Returns the bytes of a mark in lower-case hexadecimal.
std::string mark_text(std::span<const std::byte> mark);
inline std::string mark_text(const FilterMark& mark) { return mark_text(encode_mark(mark)); }

}  // namespace cuckoo::segments
