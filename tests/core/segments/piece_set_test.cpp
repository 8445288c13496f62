#include "tests/core/segments/image_samples.hpp"

namespace cuckoo::segments::segments_piece_set_test {
namespace {

constexpr HashWidth kWidth = HashWidth::k47Bits;

PieceSet set_of(const PiecesSample& sample) {
  PieceSet set;
  EXPECT_STATUS(set.take(build_pieces(sample).pieces));
  return set;
}

TEST(PieceSet, asks_the_piece_of_the_hash) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBlockedBloom}) {
    for (const std::vector<unsigned>& depths :
         {std::vector<unsigned>{0}, {1, 1}, {2, 3, 3, 1}, {6, 6, 5, 4, 3, 2, 1}}) {
      const PiecesSample sample = {"", {kind, 0.001}, 2000, 2000, kWidth, true, depths};
      const PieceSet set = set_of(sample);
      for (const auto& [hash, net] : sample_entries(sample)) {
        ASSERT_EQ(set.probe(hash), Filter::Answer::kPresent);
        const auto home = std::find_if(
            set.pieces().begin(), set.pieces().end(), [&, at = hash](const Piece& piece) {
              return at >= piece.prefix && at <= test::last_of_piece(piece.prefix, piece.depth);
            });
        ASSERT_EQ(&set.filter_of(hash), home->filter.get());
      }
      uint64_t found = 0;
      for (uint64_t i = 2000; i < 22000; ++i) {
        found += set.probe(piece_hash(i, kWidth)) == Filter::Answer::kPresent ? 1 : 0;
      }
      EXPECT_LT(found, 60U);
      EXPECT_EQ(set.probe(UINT64_MAX << 17), Filter::Answer::kAbsent);
    }
  }
}

TEST(PieceSet, the_prefixes_partition_the_hash_space) {
  const auto refused = [](auto&& change) {
    std::vector<Piece> pieces =
        build_pieces({"", {FilterKind::kBloom, 0.01}, 20, 0, kWidth, false, {2, 2, 1}}).pieces;
    change(pieces);
    PieceSet set;
    const Status status = set.take(std::move(pieces));
    EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kCorrupt);
    return !status.ok();
  };
  using Pieces = std::vector<Piece>;
  EXPECT_FALSE(refused([](Pieces&) {}));
  EXPECT_TRUE(refused([](Pieces& p) { p.clear(); }));
  EXPECT_TRUE(refused([](Pieces& p) { p.pop_back(); }));
  EXPECT_TRUE(refused([](Pieces& p) { p.erase(p.begin() + 1); }));
  EXPECT_TRUE(refused([](Pieces& p) { std::swap(p[0], p[1]); }));
  EXPECT_TRUE(refused([](Pieces& p) { p[2].depth = 2; }));
  EXPECT_TRUE(refused([](Pieces& p) { p[1].depth = 1; }));
  EXPECT_TRUE(refused([](Pieces& p) { p[0].prefix = 1; }));
}

TEST(PieceSet, figures_are_those_of_all_pieces) {
  const PiecesSample one = {"", {FilterKind::kCuckoo, 0.001}, 4000, 4000};
  const PiecesSample four = {"",          {FilterKind::kCuckoo, 0.001}, 1100, 4000, kWidth, false,
                             {2, 2, 2, 2}};
  const PieceSet whole = set_of(one);
  const PieceSet set = set_of(four);
  EXPECT_NEAR(set.rate_now(), whole.rate_now(), 0.1 * whole.rate_now());
  EXPECT_NEAR(set.rate(4400), 0.001, 0.0001);
  EXPECT_NEAR(set.rate(4000), whole.rate(4000), 0.1 * whole.rate(4000));
  uint64_t bits = 0;
  for (const Piece& piece : set.pieces()) {
    bits += piece.filter->bits();
  }
  EXPECT_EQ(set.bits(), bits);
  EXPECT_NEAR(set.load_factor(), whole.load_factor() * 4000 / 4400, 0.05);
  EXPECT_GT(set.memory_bytes(), bits / 8);
  EXPECT_LT(set.memory_bytes(), bits / 8 + 50'000);
}

}  // namespace
}  // namespace cuckoo::segments::segments_piece_set_test
