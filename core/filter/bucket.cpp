#include "core/filter/bucket.hpp"

namespace cuckoo::core {
namespace {

struct RankWidth {
  uint32_t radix;
  uint32_t rank_bits;
};
constexpr RankWidth kRankWidths[] = {{16, 12}, {19, 13}, {23, 14}, {28, 15}};  // narrowest first

constexpr uint32_t kMaxBucketBits = 128;
constexpr uint32_t kRanks = uint32_t{1} << 15;

struct RankTable {
  std::array<uint32_t, kRanks> highs{};

  RankTable() noexcept {
    // These loops, with high3 outermost, visit the ranks in ascending order.
    uint32_t rank = 0;
    for (uint32_t high3 = 0; high3 < kHighs; ++high3) {
      for (uint32_t high2 = 0; high2 <= high3; ++high2) {
        for (uint32_t high1 = 0; high1 <= high2; ++high1) {
          for (uint32_t high0 = 0; high0 <= high1 && rank < kRanks; ++high0) {
            highs[rank++] = high0 | high1 << 8 | high2 << 16 | high3 << 24;
          }
        }
      }
    }
  }
};

// Swaps without a branch. The processor would predict half of the branches wrongly, which took two
// thirds of the time.
void order(uint64_t& smaller, uint64_t& larger) noexcept {
  const uint64_t difference = (smaller ^ larger) & (0 - static_cast<uint64_t>(larger < smaller));
  smaller ^= difference;
  larger ^= difference;
}

// Sorts by a sorting network.
void sort_values(BucketValues& values) noexcept {
  order(values[0], values[1]);
  order(values[2], values[3]);
  order(values[0], values[2]);
  order(values[1], values[3]);
  order(values[1], values[2]);
}

template <class Bits>
Bits encode_as(const BucketShape& shape, BucketValues values) noexcept {
  sort_values(values);
  const uint32_t l = shape.low_bits;
  const uint64_t low_mask = (uint64_t{1} << l) - 1;
  const auto high = [&](unsigned slot) { return static_cast<uint32_t>(values[slot] >> l); };
  const auto low = [&](unsigned slot) { return static_cast<Bits>(values[slot] & low_mask); };
  const Bits rank = encode_rank(high(0), high(1), high(2), high(3));
  return low(0) | low(1) << l | low(2) << (2 * l) | low(3) << (3 * l) | rank << (4 * l);
}

}  // namespace

uint32_t BucketShape::rank_count() const noexcept { return choose(radix + 3, 4); }

bool make_bucket_shape(uint32_t radix, uint32_t low_bits, BucketShape& shape) noexcept {
  for (const RankWidth& width : kRankWidths) {
    const BucketShape candidate{width.radix, low_bits, width.rank_bits};
    if (width.radix == radix && low_bits <= kMaxLowBits && candidate.bits() <= kMaxBucketBits) {
      shape = candidate;
      return true;
    }
  }
  return false;
}

bool narrowest_bucket_shape(uint64_t fingerprints, BucketShape& shape) noexcept {
  // The largest radix, 28, is less than twice the smallest, 16. So with one low bit more, even the
  // smallest radix gives more fingerprints than the largest did before. So both width and number of
  // fingerprints rise along these loops.
  for (uint32_t low_bits = 0; low_bits <= kMaxLowBits; ++low_bits) {
    for (const RankWidth& width : kRankWidths) {
      BucketShape candidate;
      if (make_bucket_shape(width.radix, low_bits, candidate) &&
          candidate.fingerprints() >= fingerprints) {
        shape = candidate;
        return true;
      }
    }
  }
  return false;
}

const uint32_t* rank_table() noexcept {
  static const RankTable table;
  return table.highs.data();
}

uint128 encode_bucket(const BucketShape& shape, BucketValues values) noexcept {
  return encode_as<uint128>(shape, values);
}

uint64_t encode_bucket_in_word(const BucketShape& shape, BucketValues values) noexcept {
  return encode_as<uint64_t>(shape, values);
}

LaneTest LaneTest::make(uint32_t lane_bits, uint32_t lane_count) noexcept {
  LaneTest test;
  if (lane_bits == 0) {
    return test;
  }
  const uint64_t lane = (uint64_t{1} << lane_bits) - 1;
  test.top = 0;
  test.top_shift = lane_bits - 1;
  for (uint32_t i = 0; i < lane_count; ++i) {
    test.lanes |= lane << (i * lane_bits);
    test.ones |= uint64_t{1} << (i * lane_bits);
    test.body |= (lane >> 1) << (i * lane_bits);
    test.top |= (lane ^ (lane >> 1)) << (i * lane_bits);
  }
  return test;
}

}  // namespace cuckoo::core
