#include <algorithm>
#include <bit>
#include <cmath>

#include "core/segments/directory.hpp"
#include "core/segments/image.hpp"
#include "core/segments/message_header.hpp"

namespace cuckoo::segments {
namespace {

double share_of(const Piece& piece) noexcept {
  return std::ldexp(1.0, -static_cast<int>(piece.depth));
}

}  // namespace

Status PieceSet::take(std::vector<Piece> pieces) {
  PrefixWalk prefixes;
  unsigned depth = 0;
  for (const Piece& piece : pieces) {
    CUCKOO_TRY(prefixes.pass(piece.prefix, piece.depth));
    depth = std::max(depth, piece.depth);
  }
  if (!prefixes.complete()) {
    return corrupt("pieces that leave out a prefix");
  }
  if (depth > most_depth(pieces.size())) {
    return corrupt(std::to_string(pieces.size()) + " pieces, one of them " + std::to_string(depth) +
                   " bits deep");
  }
  std::vector<Place> places;
  places.reserve(size_t{1} << depth);
  for (const Piece& piece : pieces) {
    places.insert(places.end(), size_t{1} << (depth - piece.depth),
                  {piece.filter.get(), piece.depth});
  }
  pieces_ = std::move(pieces);
  places_ = std::move(places);
  only_ = depth == 0 ? places_[0].filter : nullptr;
  depth_ = depth;
  return {};
}

double PieceSet::rate(double keys) const noexcept {
  double rate = 0;
  for (const Piece& piece : pieces_) {
    rate += share_of(piece) * piece.filter->rate(keys * share_of(piece));
  }
  return rate;
}

double PieceSet::rate_now() const noexcept {
  double rate = 0;
  for (const Piece& piece : pieces_) {
    rate += share_of(piece) * piece.filter->rate_now();
  }
  return rate;
}

double PieceSet::load_factor() const noexcept {
  double used = 0;
  for (const Piece& piece : pieces_) {
    used += piece.filter->load_factor() * static_cast<double>(piece.filter->bits());
  }
  return used / static_cast<double>(bits());
}

uint64_t PieceSet::bits() const noexcept {
  uint64_t bits = 0;
  for (const Piece& piece : pieces_) {
    bits += piece.filter->bits();
  }
  return bits;
}

size_t PieceSet::memory_bytes() const noexcept {
  size_t bytes = places_.size() * sizeof(Place) + pieces_.size() * sizeof(Piece);
  for (const Piece& piece : pieces_) {
    bytes += piece.filter->pages().memory_bytes();
  }
  return bytes;
}

}  // namespace cuckoo::segments
