#include "core/segments/hash_collection.hpp"

#include <optional>

#include "core/segments/image.hpp"
#include "core/segments/segment_limits.hpp"
#include "tests/core/filter/kinds.hpp"

namespace cuckoo::segments::segments_hash_collection_test {
namespace {

using Growth = HashCollection::Growth;
using Hashes = HashCollection::Hashes;

constexpr HashWidth kWidth = HashWidth::k47Bits;
constexpr uint32_t kTiny = 64;  // pages so small that some thousand keys are several segments

// All of a filter in memory. Its pieces were checked.
struct Built {
  Contents contents;
  PieceSet pieces;
  Counts hashes;  // of all pieces
  uint64_t items = 0;

  uint64_t count(uint64_t hash) const {
    const Filter& filter = pieces.filter_of(hash);
    for (const Piece& piece : pieces.pieces()) {
      if (piece.filter.get() == &filter) {
        return filter.count(hash << piece.depth);
      }
    }
    return 0;
  }
};

// Digests and pages are what single inserts make.
void expect_sound(const Piece& piece, FilterKind kind) {
  ASSERT_STATUS(piece.filter->check());
  std::unique_ptr<Filter> added =
      make_filter(kind, piece.filter->words(), kSmallestPageBytes).value();
  added->pages().complete();
  for (const auto& [hash, net] : piece.hashes) {
    (void)added->insert_batch(std::vector<uint64_t>(static_cast<size_t>(net), hash << piece.depth));
  }
  EXPECT_EQ(added->digest(), piece.filter->digest());
  EXPECT_EQ(added->occupied() + added->overflow().items(),
            piece.filter->occupied() + piece.filter->overflow().items());
}

Built taken(Result<Contents> contents) {
  Built built;
  built.contents = must(std::move(contents));
  std::vector<Piece> pieces;
  expect_ok(built.contents.pieces([&](Piece&& piece) -> Status {
    for (const auto& [hash, net] : piece.hashes) {
      built.hashes[hash] += static_cast<uint64_t>(net);
    }
    built.items += piece.items;
    pieces.push_back(std::move(piece));
    return {};
  }));
  expect_ok(built.pieces.take(std::move(pieces)));
  return built;
}

Bytes image_of(const Built& built, const FilterSpec& spec, HashWidth width = kWidth) {
  MessageHeader header;
  header.spec = spec;
  header.width = width;
  header.capacity = built.contents.capacity;
  header.items = built.contents.items;
  header.with_hashes = built.contents.with_hashes;
  return must(encode_image(header, built.contents.pieces, UINT64_MAX));
}

class CollectedHashesOf : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }
  static bool is_cuckoo() { return GetParam() == FilterKind::kCuckoo; }
};

INSTANTIATE_EACH(Kinds, CollectedHashesOf, test::kLoggedKinds);

TEST_P(CollectedHashesOf, become_what_single_inserts_would_make) {
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{3000}, uint64_t{1000000}}) {
    for (const Growth growth : {Growth::kOff, Growth::kOffRoom, Growth::kOn}) {
      HashCollection collection(kWidth);
      Counts expected;
      for (uint64_t i = 0; i < 3000; ++i) {
        const uint64_t hash = nth_word(61, i % 2500);  // all 64 bits; the width cuts them
        collection.add(hash);
        ++expected[logged_hash(hash, kWidth)];
      }
      if (!multiset()) {
        for (auto& entry : expected) {
          entry.second = 1;
        }
      }
      const Built built =
          taken(collection.build(spec_of(GetParam()), capacity, growth, kSmallestPageBytes));
      EXPECT_EQ(built.hashes, expected);
      EXPECT_EQ(built.contents.hash_count, 2500u);
      EXPECT_EQ(built.contents.items, multiset() ? 3000u : 2500u);
      EXPECT_EQ(built.items, built.contents.items);
      EXPECT_TRUE(built.contents.with_hashes);
      EXPECT_GE(built.contents.capacity, capacity == 0 ? 2500u : capacity);
      EXPECT_LE(built.contents.capacity, capacity == 0 ? 3000u : capacity);
      EXPECT_LE(built.pieces.rate_now(), 0.0105);
      for (const Piece& piece : built.pieces.pieces()) {
        expect_sound(piece, GetParam());
      }
      for (const auto& entry : expected) {
        ASSERT_EQ(built.pieces.probe(entry.first), Filter::Answer::kPresent);
      }
    }
  }
}

// I2.
TEST_P(CollectedHashesOf, are_cut_as_create_would_cut_them) {
  for (const bool growth : {true, false}) {
    FilterOptions options;
    options.spec = spec_of(GetParam());
    options.page_bytes = growth ? kTiny : kSmallestPageBytes;
    options.capacity = growth ? 9000 : 400000;
    options.growth = growth;
    const SegmentLimits limits = segment_limits(options).value();
    ASSERT_GE(limits.depth, 2u);
    HashCollection collection(kWidth);
    for (uint64_t i = 0; i < options.capacity; ++i) {
      collection.add(nth_hash(7, i));
    }
    const Built built =
        taken(collection.build(options.spec, options.capacity, growth ? Growth::kOn : Growth::kOff,
                               options.page_bytes, nullptr, Hashes::kLeftOut));
    EXPECT_FALSE(built.contents.with_hashes);
    EXPECT_TRUE(built.hashes.empty());
    EXPECT_EQ(built.contents.items, options.capacity);
    EXPECT_EQ(built.contents.capacity, options.capacity);
    ASSERT_EQ(built.pieces.pieces().size(), size_t{1} << limits.depth);
    for (const Piece& piece : built.pieces.pieces()) {
      EXPECT_EQ(piece.depth, limits.depth);
      EXPECT_EQ(piece.capacity, limits.share);
      EXPECT_FALSE(piece.filter->overfull(piece.items, piece.capacity));
    }
    for (uint64_t i = 0; i < options.capacity; i += 37) {
      ASSERT_EQ(built.pieces.probe(logged_hash(nth_hash(7, i), kWidth)), Filter::Answer::kPresent);
    }
  }
}

// The keys were chosen so that all hashes begin alike.
TEST_P(CollectedHashesOf, a_segment_that_gets_too_many_is_split_or_made_larger) {
  HashCollection collection(kWidth);
  for (uint64_t i = 0; i < 20000; ++i) {
    collection.add(nth_hash(8, i) >> (i % 2 == 0 ? 5 : 0));
  }
  const Built built = taken(collection.build(spec_of(GetParam()), 0, Growth::kOn, kTiny));
  EXPECT_EQ(built.hashes.size(), 20000u);
  FilterOptions options;
  options.spec = spec_of(GetParam());
  options.page_bytes = kTiny;
  options.capacity = 20000;
  const SegmentLimits limits = segment_limits(options).value();
  unsigned deepest = 0;
  for (const Piece& piece : built.pieces.pieces()) {
    deepest = std::max(deepest, piece.depth);
    EXPECT_FALSE(piece.filter->overfull(piece.items, piece.capacity));
    EXPECT_TRUE(piece.filter->check().ok());
  }
  EXPECT_GT(deepest, limits.depth);
  EXPECT_GT(built.pieces.pieces().size(), size_t{1} << limits.depth);
  EXPECT_LT(built.pieces.rate_now(), 0.0105);
  const Bytes image = image_of(built, options.spec);
  EXPECT_TRUE(read_image(image, true, kImagePageBytes, [](Piece&&) { return Status(); }).ok());
  // Without growth they stay where they are.
  const Built fixed = taken(collection.build(spec_of(GetParam()), 0, Growth::kOff, kTiny));
  for (const Piece& piece : fixed.pieces.pieces()) {
    EXPECT_EQ(piece.depth, fixed.pieces.pieces()[0].depth);
    EXPECT_TRUE(piece.filter->check().ok());
  }
  for (const auto& entry : built.hashes) {
    ASSERT_EQ(fixed.pieces.probe(entry.first), Filter::Answer::kPresent);
    ASSERT_EQ(built.pieces.probe(entry.first), Filter::Answer::kPresent);
  }
}

// More keys than the capacity are an error without growth, and make a larger filter with it. Copies
// count as keys only in a cuckoo filter that can't grow.
TEST_P(CollectedHashesOf, more_than_the_capacity_are_full_or_grow) {
  std::unique_ptr<HashCollection> collection;
  const auto built = [&](uint64_t distinct, uint64_t copies, uint64_t capacity, Growth growth) {
    collection = std::make_unique<HashCollection>(kWidth);
    for (uint64_t i = 0; i < distinct; ++i) {
      collection->add(nth_hash(i));
    }
    for (uint64_t copy = 0; copy < copies; ++copy) {
      collection->add(nth_hash(3));
    }
    return collection->build(spec_of(GetParam()), capacity, growth, kSmallestPageBytes);
  };
  EXPECT_TRUE(built(500, 0, 500, Growth::kOff).ok());
  EXPECT_TRUE(fails(built(501, 0, 500, Growth::kOff), ErrorCode::kFull, "501"));
  for (const Growth growth : {Growth::kOn, Growth::kOffRoom}) {
    const Built grown = taken(built(501, 0, 500, growth));
    EXPECT_EQ(grown.contents.capacity, 501u);
    EXPECT_EQ(grown.pieces.pieces()[0].capacity, 501u);
    const Built copies = taken(built(500, 5000, 500, growth));
    EXPECT_EQ(copies.contents.capacity, 500u) << "copies grow nothing";
    EXPECT_EQ(copies.contents.items, multiset() ? 5500u : 500u);
  }
  EXPECT_EQ(built(500, 1, 500, Growth::kOff).ok(), !is_cuckoo());
  EXPECT_EQ(built(500, 5000, 500, Growth::kOff).ok(), !is_cuckoo());
  for (const uint64_t copies_of_one : {0u, 7u, 8u, 9u, 100u}) {
    const auto sized = must(built(100, copies_of_one, 0, Growth::kOn));
    EXPECT_GE(sized.capacity, 99u);
    EXPECT_LE(sized.capacity, 108u);
  }
}

// An image without hashes has such pieces.
TEST_P(CollectedHashesOf, fill_pieces_that_are_cut_in_another_way) {
  HashCollection collection(kWidth);
  for (uint64_t i = 0; i < 3000; ++i) {
    collection.add(nth_hash(9, i), 1 + i % 3);
  }
  std::vector<HashCollection::Cut> cuts;
  for (const unsigned depth : {1u, 2u, 3u, 3u}) {
    cuts.push_back({depth, 1000, filter_size(spec_of(GetParam()), 3000, kTiny).value().words});
  }
  const Built built = taken(collection.build_like(GetParam(), cuts, kTiny));
  ASSERT_EQ(built.pieces.pieces().size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(built.pieces.pieces()[i].depth, cuts[i].depth);
    EXPECT_EQ(built.pieces.pieces()[i].filter->words(), cuts[i].geometry);
    expect_sound(built.pieces.pieces()[i], GetParam());
  }
  EXPECT_EQ(built.hashes, counts_of(collection.hashes(multiset())));
  for (const auto& [hash, count] : built.hashes) {
    ASSERT_GE(built.count(hash), count);
  }
}

TEST(CollectedHashes, can_be_built_again_and_the_sink_may_stop_it) {
  HashCollection collection(HashWidth::k63Bits);
  for (uint64_t i = 0; i < 20000; ++i) {
    collection.add(nth_hash(i, HashWidth::k63Bits));
  }
  const FilterSpec spec = spec_of(FilterKind::kCuckoo);
  const Built first = taken(collection.build(spec, 0, Growth::kOn, kTiny));
  EXPECT_GT(first.pieces.pieces().size(), 2u);
  EXPECT_EQ(image_of(first, spec, HashWidth::k63Bits), image_of(first, spec, HashWidth::k63Bits));
  for (uint64_t i = 20000; i < 21500; ++i) {
    collection.add(nth_hash(i, HashWidth::k63Bits));
  }
  const Built second = taken(collection.build(spec, 0, Growth::kOff, kTiny));
  EXPECT_EQ(first.contents.items, 20000u);
  EXPECT_EQ(second.contents.items, 21500u);
  uint64_t handed = 0;
  const auto stop = [&](Piece&&) -> Status {
    return ++handed == 2 ? Status(Error{ErrorCode::kInterrupted, "enough", 0}) : Status();
  };
  EXPECT_TRUE(fails(first.contents.pieces(stop), ErrorCode::kInterrupted));
  EXPECT_EQ(handed, 2u);
}

// The work calls the poll all the time, and ends once the poll says stop.
TEST(CollectedHashes, building_can_be_stopped) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    uint64_t polls = 0;
    uint64_t most = ~uint64_t{0};
    const Poll poll = [&]() -> Status {
      return ++polls <= most ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
    };
    const auto collected = [] {
      HashCollection collection(kWidth);
      for (uint64_t i = 0; i < 50000; ++i) {
        collection.add(nth_hash(i));
      }
      return collection;
    };
    const auto build = [&](HashCollection& collection) -> Status {
      CUCKOO_ASSIGN_OR_RETURN(const Contents contents,
                              collection.build(spec_of(kind), 60000, Growth::kOn, kTiny, poll));
      return contents.pieces([](Piece&&) { return Status(); });
    };
    HashCollection whole = collected();
    EXPECT_TRUE(build(whole).ok());
    const uint64_t all = polls;
    EXPECT_GE(all, 1024u + 90u) << "sorting is long, too";
    for (most = 0; most < all; most += 11) {
      polls = 0;
      HashCollection collection = collected();
      EXPECT_TRUE(fails(build(collection), ErrorCode::kInterrupted)) << most;
      EXPECT_EQ(polls, most + 1);
      if (most % 10 == 0) {  // nothing is lost
        EXPECT_EQ(collection.count().value().distinct, 50000u);
      }
    }
  }
}

TEST(CollectedHashes, of_several_parts_lose_none_and_double_none) {
  constexpr uint64_t kKeys = 3 * (uint64_t{1} << 19) / 2;
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    HashCollection collection(kWidth);
    for (uint64_t i = 0; i < kKeys; ++i) {
      collection.add(nth_word(62, i % (kKeys - 1000)));
    }
    collection.make_unique();
    for (uint64_t i = 0; i < 10; ++i) {  // also behind a sort
      collection.add(nth_word(63, i));
      collection.add(nth_word(62, i));
    }
    const Built built = taken(collection.build(spec_of(kind), 0, Growth::kOn, kSmallestPageBytes));
    EXPECT_EQ(built.contents.hash_count, kKeys - 1000 + 10);
    EXPECT_EQ(built.hashes.size(), kKeys - 1000 + 10);
    EXPECT_EQ(built.contents.items, kKeys - 1000 + (is_multiset(kind) ? 20U : 10U));
    EXPECT_GT(built.pieces.pieces().size(), 8u);
    for (uint64_t i = 0; i < kKeys - 1000; i += 101) {
      ASSERT_NE(built.count(logged_hash(nth_word(62, i), kWidth)), 0U) << i;
    }
  }
}

// I1. Hashes come in either order, sorted in between or not, with copies one by one or at once.
TEST(CollectedHashes, I1_the_order_in_which_they_come_leaves_no_trace) {
  constexpr uint64_t kKeys = 5 * (uint64_t{1} << 19) / 4;
  HashCollection forwards(kWidth);
  HashCollection backwards(kWidth);
  for (uint64_t i = 0; i < kKeys; ++i) {
    forwards.add(nth_word(64, i), i % 1000 == 0 ? 5 : 1);
    const uint64_t other = kKeys - 1 - i;
    for (uint64_t copy = 0; copy < (other % 1000 == 0 ? 5 : 1); ++copy) {
      backwards.add(nth_word(64, other));
    }
    if (i == kKeys / 3) {
      ASSERT_TRUE(backwards.count().ok());
    }
  }
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    const auto image = [kind](HashCollection& collection) {
      return image_of(taken(collection.build(spec_of(kind), 0, Growth::kOn, kSmallestPageBytes)),
                      spec_of(kind));
    };
    EXPECT_EQ(image(forwards), image(backwards));
  }
}

TEST(CollectedHashes, a_count_takes_no_memory) {
  constexpr uint64_t kMany = uint64_t{1} << 61;
  HashCollection collection(kWidth);
  collection.add(nth_hash(1), kMany);
  collection.add(nth_hash(2), 3);
  collection.add(nth_hash(1), kMany - 1);
  EXPECT_LE(collection.words(), 10u);
  const HashCounts counts = collection.count().value();
  EXPECT_EQ(counts.items, 2 * kMany - 1 + 3);
  EXPECT_EQ(counts.entries, 4u);
  EXPECT_EQ(counts_of(collection.hashes(true)).at(nth_hash(1)), 2 * kMany - 1);
  collection.make_unique();
  EXPECT_EQ(collection.count().value().items, 2u);
  EXPECT_EQ(collection.words(), 2u);
}

TEST(CollectedHashes, narrowed_knows_no_more_than_the_leading_bits) {
  HashCollection narrowed(HashWidth::k63Bits);
  HashCollection narrow(kWidth);
  for (uint64_t i = 0; i < 2000; ++i) {
    if (i == 1000) {
      narrowed.narrow(kWidth);
    }
    const uint64_t hash = nth_word(5, i / 2) ^ (i % 2) << 3;  // pairs that differ in a last bit
    narrowed.add(hash, 1 + i % 5);
    narrow.add(hash, 1 + i % 5);
  }
  EXPECT_EQ(narrowed.width(), kWidth);
  EXPECT_EQ(narrowed.count().value().distinct, 1000u);
  EXPECT_EQ(narrow.count().value().distinct, 1000u);
  EXPECT_EQ(counts_of(narrowed.hashes(true)), counts_of(narrow.hashes(true)));
}

// An earlier count is of no use after a change.
TEST(CollectedHashes, counts_what_is_there_after_every_change) {
  HashCollection collection(HashWidth::k63Bits);
  const auto expect = [&](uint64_t items, uint64_t distinct) {
    for (int again = 0; again < 2; ++again) {
      const HashCounts counts = must(collection.count());
      EXPECT_EQ(counts.items, items);
      EXPECT_EQ(counts.distinct, distinct);
    }
  };
  expect(0, 0);
  for (uint64_t i = 0; i < 300; ++i) {
    collection.add(nth_hash(i % 200));
  }
  expect(300, 200);
  collection.add(nth_hash(1000));
  expect(301, 201);
  collection.add(nth_hash(1000), 100);
  expect(401, 201);
  ASSERT_TRUE(collection.compact(true, nullptr).ok());
  expect(401, 201);
  collection.narrow(HashWidth::k47Bits);
  expect(401, 201);
  collection.make_unique();
  expect(201, 201);
}

}  // namespace
}  // namespace cuckoo::segments::segments_hash_collection_test
