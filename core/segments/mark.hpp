// Marks: names for what a filter holds, so that a copy of it can be told what changed since.
//
// A filter's own mark says where its log ends: entries and chain value, which is a hash of all that
// ever happened to it. A filter that holds exactly what another one had at a mark has that mark,
// too: one made of an image, or brought up to date by changes. Which marks hold where in its own
// log is stored: its places.
//
// Invariants
//   I1  filters with one mark hold the same multiset of hashes (accidents: 2^-64; a mark is no
//       proof against forgery). Their false positives may differ.
//   I2  a place counts while the log has that chain value at its position. All that changes the
//       contents in another way than by entries of the log (clear, import, unite) changes the
//       chain.
//   I3  nothing is believed: magic, version, lengths, ranges and checksums are verified. Places
//       have no checksum but that of their block.
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
// kCorrupt when they are no mark.
Result<FilterMark> decode_mark(std::span<const std::byte> bytes);
// The bytes of a mark, in lower-case hexadecimal.
std::string mark_text(std::span<const std::byte> mark);
inline std::string mark_text(const FilterMark& mark) { return mark_text(encode_mark(mark)); }

// Where in a filter's log a mark of another filter holds.
struct MarkedPlace {
  FilterMark mark;
  uint64_t position = 0;
  uint64_t chain = 0;
};

// Positions don't descend. The oldest are forgotten.
struct MarkedPlaces {
  static constexpr size_t kMost = 32;
  std::vector<MarkedPlace> places;

  const MarkedPlace* find(const FilterMark& mark) const;
};

std::vector<std::byte> encode_places(const MarkedPlaces& places);
Result<MarkedPlaces> decode_places(std::span<const std::byte> bytes);

}  // namespace cuckoo::segments
