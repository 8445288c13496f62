// Marks: names for what a filter holds, so that a copy of it can be told what changed since.
//
// A filter's own mark says where its log ends: entries and chain value, which is a hash of all
// entries before. A filter that holds exactly what another one had at a mark has that mark, too:
// one made of an image, brought up to date by changes, or rebuilt with nothing dropped. Which marks
// hold where in its own log stands in storage: its places.
//
// Invariants
//   I1  filters with one mark hold the same multiset of hashes (accidents: 2^-64; a mark is no
//       proof against forgery). Their false positives may differ.
//   I2  a place counts only while the log that it is in stands: its epoch, and at the end its
//       position, chain value and, where no log tells what is in the pages, base_id. So every other
//       change ends it, one by a library that knows no marks as well.
//   I3  a filter has marks of its own geometry alone: equal marks, equal cells once all is folded,
//       whatever was removed that was never added.
//   I4  nothing is believed: magic, version, lengths, ranges and checksums are verified.
//
// Bytes: FORMAT.md, "Marks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/record.hpp"

namespace cuckoo {

inline constexpr size_t kMarkBytes = 60;

struct FilterMark {
  FilterKind kind = FilterKind::kCuckoo;
  HashWidth width = HashWidth::k47Bits;
  bool unique = false;  // each hash once: a multiset with unique = on
  uint64_t seed = 0;
  uint64_t capacity = 0;
  GeometryWords geometry;
  uint64_t epoch = 0;
  uint64_t position = 0;
  uint64_t chain = 0;

  friend bool operator==(const FilterMark&, const FilterMark&) = default;
};

std::vector<std::byte> encode_mark(const FilterMark& mark);
// kCorrupt when they are no mark.
Result<FilterMark> decode_mark(std::span<const std::byte> bytes);
// Of its bytes, in lower-case hexadecimal.
std::string mark_text(const FilterMark& mark);

// Where in a log a mark of another log, or of an earlier epoch, holds.
struct MarkedPlace {
  uint64_t mark_id = 0;  // XXH3 of the mark's bytes
  uint64_t position = 0;
  uint64_t chain = 0;
};
uint64_t mark_id(const FilterMark& mark);

struct MarkedPlaces {
  static constexpr size_t kMost = 64;  // the oldest are forgotten

  FilterMark last;                  // the last place's mark
  uint64_t epoch = 0;               // of the log
  uint64_t base_id = 0;             // of the pages at the last place
  std::vector<MarkedPlace> places;  // at least one; positions don't descend

  const MarkedPlace* find(const FilterMark& mark) const;
};

std::vector<std::byte> encode_places(const MarkedPlaces& places);
Result<MarkedPlaces> decode_places(std::span<const std::byte> bytes);

}  // namespace cuckoo
