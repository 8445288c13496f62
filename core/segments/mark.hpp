// A mark names the contents of a filter at one moment. Changes lead a copy from mark to mark.
//
// A filter's own mark says where its log ends: position and chain value, which is a hash of all
// that ever happened to it. A filter that holds exactly what another one held at a mark has that
// mark, too. For example, it was made of an image, or brought up to date by changes. The filter
// stores such marks, with the places in its own log at which they hold.
//
// Invariants
//   I1  filters with one mark hold the same multiset of hashes (accidents: 2^-64; a mark is no
//       proof against forgery). Their false positives may differ.
//   I2  a place counts while the log has that chain value at its position. All that changes the
//       contents in another way than by entries of the log (clear, import, unite) changes the
//       chain.
//   I3  nothing is believed: magic, version, lengths, ranges and checksums are verified. Places
//       have no checksum except that of their block.
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

struct FilterMark {
  FilterKind kind = FilterKind::kCuckoo;
  HashWidth width = HashWidth::k47Bits;
  bool unique = false;  // each hash once: a multiset with unique = on
  uint64_t seed = 0;
  uint64_t position = 0;
  uint64_t chain = 0;

  friend bool operator==(const FilterMark&, const FilterMark&) = default;
};

std::vector<std::byte> encode_mark(const FilterMark& mark);
// Returns kCorrupt if the bytes are no mark.
Result<FilterMark> decode_mark(std::span<const std::byte> bytes);
// Returns the bytes of a mark in lower-case hexadecimal.
std::string mark_text(std::span<const std::byte> mark);
inline std::string mark_text(const FilterMark& mark) { return mark_text(encode_mark(mark)); }

// The place in a filter's log at which the mark of another filter holds.
struct MarkedPlace {
  FilterMark mark;
  uint64_t position = 0;
  uint64_t chain = 0;
};

// Positions don't descend. The oldest places are forgotten.
struct MarkedPlaces {
  static constexpr size_t kMost = 32;
  std::vector<MarkedPlace> places;

  const MarkedPlace* find(const FilterMark& mark) const;
};

std::vector<std::byte> encode_places(const MarkedPlaces& places);
Result<MarkedPlaces> decode_places(std::span<const std::byte> bytes);

}  // namespace cuckoo::segments
