// Contents of a filter in segments, held in memory: what the tests of contents share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/filter/cell_layout.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/segment_header.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

// Takes pieces and gives copies of them, as often as it is asked.
struct HeldPieces {
  HeldPieces() = default;
  explicit HeldPieces(Result<segments::Contents> from) { expect_ok(take(std::move(from))); }

  segments::Contents contents;
  std::vector<segments::Piece> pieces;

  Status take(Result<segments::Contents> from) {
    if (!from.ok()) {
      return from.take_status();
    }
    contents = std::move(from.value());
    CUCKOO_TRY(contents.pieces([this](segments::Piece&& piece) -> Status {
      pieces.push_back(std::move(piece));
      return {};
    }));
    contents.pieces = [this](const segments::PieceSink& sink) -> Status {
      for (const segments::Piece& piece : pieces) {
        CUCKOO_TRY(sink(copy_of(piece)));
      }
      return {};
    };
    expect_partition();
    return {};
  }

  static segments::Piece copy_of(const segments::Piece& piece) {
    segments::Piece copy;
    copy.prefix = piece.prefix;
    copy.depth = piece.depth;
    copy.capacity = piece.capacity;
    copy.items = piece.items;
    copy.hashes = piece.hashes;
    const Filter& filter = *piece.filter;
    copy.filter = must(make_filter(filter.kind(), filter.words(), filter.pages().page_bytes()));
    expect_ok(copy_cells(filter, *copy.filter));
    copy.filter->pages().complete();
    return copy;
  }

  // Their prefixes ascend and partition the hash space, and their filters are good.
  void expect_partition() const {
    uint64_t next = 0;
    uint64_t units = 0;  // of 2^-30
    for (const segments::Piece& piece : pieces) {
      ASSERT_EQ(piece.prefix, next);
      ASSERT_LE(piece.depth, segments::kMaxDepth);
      next += piece.depth == 0 ? 0 : uint64_t{1} << (64 - piece.depth);
      units += uint64_t{1} << (segments::kMaxDepth - piece.depth);
      const Status good = piece.filter->check();
      ASSERT_TRUE(good.ok()) << good.error().message;
    }
    ASSERT_EQ(units, uint64_t{1} << segments::kMaxDepth);
  }

  uint64_t items() const {
    uint64_t items = 0;
    for (const segments::Piece& piece : pieces) {
      items += piece.items;
    }
    return items;
  }
  uint64_t count(uint64_t hash) const {
    for (const segments::Piece& piece : pieces) {
      if (piece.depth == 0 || (hash ^ piece.prefix) >> (64 - piece.depth) == 0) {
        return piece.filter->count(hash << piece.depth);
      }
    }
    return 0;
  }
};

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::HeldPieces;

}  // namespace cuckoo::segments
