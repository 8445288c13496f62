#include "core/ring/image.hpp"

#include "tests/core/ring/samples.hpp"
#include "tests/support/sample_bytes.hpp"

namespace cuckoo {
namespace ring_image_test {
namespace {

constexpr size_t kHeaderBytes = 48;
constexpr size_t kFirstNodeAt = kHeaderBytes;

RingOptions ketama_of(KetamaDialect dialect, KetamaKeyHash key_hash) {
  RingOptions options = ketama_options(dialect);
  options.key_hash = key_hash;
  return options;
}

const RingCase kCases[] = {
    {"ring", ring_options(RingAlgorithm::kRing, 7, 5)},
    {"slots", ring_options(RingAlgorithm::kSlots, 1000, 3)},
    {"ketama", ketama_options(KetamaDialect::kLibketama)},
    {"twemproxy", ketama_of(KetamaDialect::kLibmemcached, KetamaKeyHash::kFnv1a64)},
    {"consistent", ketama_of(KetamaDialect::kConsistent, KetamaKeyHash::kOneAtATime)},
};

std::shared_ptr<HashRing> sample(const RingOptions& options) {
  std::shared_ptr<HashRing> ring = empty_ring(options);
  const uint32_t gone = add(*ring, "gone", 2);
  add(*ring, "b:11211", 1);
  add(*ring, "a:11211", 2);
  ring->remove(gone);
  add(*ring, "schlüssel", 1);
  ring->build();
  return ring;
}

Bytes image_of(const std::shared_ptr<HashRing>& ring) {
  ring->build();
  return encode_ring_image(*ring, RingKeyType::kNone);
}

Result<std::shared_ptr<HashRing>> read(std::span<const std::byte> bytes,
                                       const HashRing* before = nullptr) {
  CUCKOO_ASSIGN_OR_RETURN(const RingImage image, decode_ring_image(bytes));
  return ring_of(image, before, Poll());
}

std::string error_of(std::span<const std::byte> bytes) {
  return message_of(read(bytes).take_status());
}

void expect_error(const Bytes& bytes, const std::string& part) {
  const std::string error = error_of(bytes);
  EXPECT_NE(error.find(part), std::string::npos) << error << "\nwithout: " << part;
}

class RingImages : public ::testing::TestWithParam<RingCase> {
 protected:
  std::shared_ptr<HashRing> ring_ = sample(GetParam().options);
  bool is_slots() const { return GetParam().options.algorithm == RingAlgorithm::kSlots; }
};

TEST_P(RingImages, give_the_same_ring) {
  const Bytes bytes = image_of(ring_);
  EXPECT_EQ(bytes.size(), ring_image_bytes(*ring_));
  const std::shared_ptr<HashRing> copy = must(read(bytes));
  EXPECT_TRUE(copy->built());
  EXPECT_EQ(copy->options(), ring_->options());
  expect_valid(*copy);
  EXPECT_EQ(owner_names(*copy, 100000), owner_names(*ring_, 100000));
  EXPECT_EQ(copy->find("a:11211")->weight, 2);
  EXPECT_EQ(image_of(copy), bytes);  // I1: its ids are others
  EXPECT_NE(copy->find("a:11211")->id, ring_->find("a:11211")->id);
}

TEST_P(RingImages, of_no_node_give_an_empty_ring) {
  const std::shared_ptr<HashRing> copy = must(read(image_of(empty_ring(GetParam().options))));
  EXPECT_EQ(copy->node_count(), 0U);
  EXPECT_EQ(copy->owner(7), 0U);
  add(*copy, "first");
  expect_valid(*copy);
}

// A node that is there already keeps its id, whatever other ids the origin gave.
TEST_P(RingImages, keep_the_ids_of_nodes_that_are_there) {
  const std::shared_ptr<HashRing> before = empty_ring(GetParam().options);
  for (const char* name : {"x", "y", "schlüssel", "z"}) {
    add(*before, name);
  }
  const std::shared_ptr<HashRing> copy = must(read(image_of(ring_), before.get()));
  EXPECT_EQ(copy->find("schlüssel")->id, before->find("schlüssel")->id);
  EXPECT_GT(copy->find("a:11211")->id, before->last_id());
  EXPECT_GT(copy->find("b:11211")->id, before->last_id());
  EXPECT_EQ(owner_names(*copy, 10000), owner_names(*ring_, 10000));
  expect_valid(*copy);
}

TEST_P(RingImages, with_any_byte_changed_are_refused) {
  const Bytes bytes = image_of(ring_);
  const size_t step = is_slots() ? 997 : 1;  // of 131,000 slots' bytes some
  for (size_t i = 0; i < bytes.size(); i += i < 200 || i + 200 > bytes.size() ? 1 : step) {
    for (const int flip : {1, 0x80, 0xFF}) {
      Bytes damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      EXPECT_NE(error_of(damaged), "") << i;
      // Even with a checksum that fits, bytes are accepted only if they are the image of another
      // ring.
      damaged = with_crc(std::move(damaged));
      if (const Result<std::shared_ptr<HashRing>> other = read(damaged); other.ok()) {
        EXPECT_EQ(image_of(other.value()), damaged) << i;
        expect_valid(*other.value());
      }
    }
  }
}

TEST_P(RingImages, that_are_cut_or_too_long_are_refused) {
  Bytes bytes = image_of(ring_);
  const size_t step = is_slots() ? 997 : 1;
  for (size_t length = 0; length < bytes.size(); length += step) {
    EXPECT_NE(error_of(std::span(bytes).first(length)), "") << length;
    if (length >= kHeaderBytes + 4) {  // with a length and a checksum that fit
      Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      store_le(cut.data() + 8, uint64_t{length});
      EXPECT_NE(error_of(with_crc(std::move(cut))), "") << length;
    }
  }
  bytes.push_back(std::byte{0});
  expect_error(bytes, "too long");
  store_le(bytes.data() + 8, uint64_t{bytes.size()});
  expect_error(with_crc(bytes), "after its nodes");
}

INSTANTIATE_EACH(Algorithms, RingImages, kCases);

TEST(RingImage, of_other_versions_and_other_bytes_is_named) {
  expect_error({}, "no image of a hash_ring, expected CKR1");
  expect_error(Bytes(100), "no image of a hash_ring, expected CKR1");
  Bytes bytes = image_of(sample(kCases[0].options));
  bytes[4] = std::byte{2};
  expect_error(bytes, "of format 2, this version reads format 1");
  bytes.resize(20);
  expect_error(bytes, "of format 2, this version reads format 1");
}

TEST(RingImage, with_fields_that_no_ring_has_is_refused) {
  const Bytes ring = image_of(sample(kCases[0].options));
  const Bytes ketama = image_of(sample(kCases[2].options));
  const auto refuse = [](Bytes bytes, size_t at, uint64_t value, size_t size,
                         const std::string& part) {
    Bytes number(8);
    store_le(number.data(), value);
    std::copy_n(number.begin(), size, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    expect_error(with_crc(std::move(bytes)), part);
  };
  const std::string options = "options that no hash_ring has";
  refuse(ring, 16, 3, 1, options);       // algorithm
  refuse(ring, 17, 1, 1, options);       // a dialect without ketama
  refuse(ring, 18, 1, 1, options);       // a key hash without ketama
  refuse(ring, 19, 4, 1, options);       // the key's type
  refuse(ring, 20, 1, 1, options);       // reals
  refuse(ring, 21, 1, 1, options);       // zeros
  refuse(ring, 24, 0, 4, options);       // vnodes
  refuse(ring, 24, 100001, 4, options);  //
  refuse(ketama, 17, 4, 1, options);     // dialect
  refuse(ketama, 18, 7, 1, options);     // key hash
  refuse(ketama, 18, 1, 1, options);     // … that libketama does not have
  refuse(ketama, 20, 2, 1, options);     // reals
  refuse(ketama, 24, 1, 4, options);     // vnodes without points
  refuse(ketama, 32, 1, 8, options);     // a seed without a hash of ours
  refuse(ring, 28, 0xFFFFFFFF, 4, "nodes in");
  refuse(ring, 28, 4, 4, "ends within node 3");
  refuse(ring, 28, 2, 4, "bytes after its nodes");
  refuse(ring, 40, 1, 8, "other owners than its nodes have here");  // the mark
  refuse(ring, 32, 6, 8, "other owners than its nodes have here");  // the seed
  refuse(ring, kFirstNodeAt, 0, 8, "a weight is a number above 0");
  refuse(ring, kFirstNodeAt, 0x7FF8000000000000, 8, "a weight is a number above 0");
  refuse(ring, kFirstNodeAt, bits_of(1e15), 8, "2^20");
  refuse(ring, kFirstNodeAt + 8, 0xFFFFFFFF, 4, "within the name of node 0");
  refuse(ring, kFirstNodeAt + 12, 0, 1, "NUL");
  refuse(ring, kFirstNodeAt + 12, 'c', 1, "out of the order of their names, at node 1");
  refuse(ring, kFirstNodeAt + 12, 'b', 1, "out of the order of their names, at node 1");  // twice
}

TEST(RingImage, with_slots_that_are_no_quotas_is_refused) {
  const std::shared_ptr<HashRing> ring = sample(kCases[1].options);
  const Bytes bytes = image_of(ring);
  const size_t slots_at = bytes.size() - 4 - size_t{2} * kRingSlots;
  Bytes unknown = bytes;
  store_le(unknown.data() + slots_at + 10, uint16_t{3});
  expect_error(with_crc(std::move(unknown)), "slot 5 belongs to node 3 of 3");
  Bytes all_one = bytes;
  std::fill(all_one.begin() + static_cast<std::ptrdiff_t>(slots_at), all_one.end(), std::byte{0});
  expect_error(with_crc(std::move(all_one)), "slots, not");
  // Two slots are exchanged. The quotas are right, but the mark is that of other owners.
  Bytes exchanged = bytes;
  const auto slot_owner = [&](size_t slot) {
    return load_le<uint16_t>(bytes.data() + slots_at + 2 * slot);
  };
  size_t other = 1;
  while (slot_owner(other) == slot_owner(0)) {
    ++other;
  }
  store_le(exchanged.data() + slots_at, slot_owner(other));
  store_le(exchanged.data() + slots_at + 2 * other, slot_owner(0));
  expect_error(with_crc(std::move(exchanged)), "other owners than its nodes have here");
}

// An error shows some of a name, and nothing that a terminal would take for a command.
TEST(RingImage, with_a_strange_name_has_a_short_error) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing));
  add(*ring, "\x1B[2J\xFF" + std::string(100000, 'x'));
  Bytes bytes = image_of(ring);
  store_le(bytes.data() + kFirstNodeAt, bits_of(-1.0));
  const std::string error = error_of(with_crc(std::move(bytes)));
  EXPECT_NE(error.find("image with a node ?[2J?xxx"), std::string::npos) << error;
  EXPECT_NE(error.find("a weight is a number above 0"), std::string::npos) << error;
  EXPECT_LT(error.size(), 200U);
}

TEST(RingImage, of_a_full_ring_finds_ids_for_all) {
  const RingOptions options = ring_options(RingAlgorithm::kRing, 1);
  const std::shared_ptr<HashRing> before = empty_ring(options);
  const std::shared_ptr<HashRing> ring = empty_ring(options);
  for (uint32_t i = 0; i < kMaxRingNodes; ++i) {
    ASSERT_TRUE(before->insert("n" + std::to_string(i), 1).ok());
    ASSERT_TRUE(ring->insert("n" + std::to_string(i + 10), 1).ok());
  }
  const std::shared_ptr<HashRing> copy = must(read(image_of(ring), before.get()));
  EXPECT_EQ(copy->node_count(), kMaxRingNodes);
  EXPECT_EQ(copy->find("n10")->id, before->find("n10")->id);
  EXPECT_EQ(copy->find("n65540")->id, before->find("n4")->id);  // a gap
  expect_valid(*copy);
}

TEST(RingImage, is_read_until_it_is_interrupted) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing, 1000));
  add_nodes(*ring, 100);
  const Bytes bytes = image_of(ring);
  const RingImage image = must(decode_ring_image(bytes));
  const auto stop = [] { return Status(Error{ErrorCode::kInterrupted, "", 0}); };
  EXPECT_TRUE(fails(ring_of(image, nullptr, stop), ErrorCode::kInterrupted));
}

// --- files ---------------------------------------------------------------------------------------

std::filesystem::path golden_path(const std::string& name) {
  return test::source_path("tests/golden/rings") / (name + ".image");
}

std::filesystem::path seed_path(const std::string& name) {
  return test::source_path("tests/fuzz/corpus/ring_image") / name;
}

// Two nodes that have every second slot, in the form that tests/fuzz/ring_image_fuzz.cpp makes an
// image of: sixteen bytes of slots, which it repeats.
constexpr size_t kTurn = 16;

Bytes slots_of(const Bytes& seed) {
  Bytes image(seed.begin(), seed.end() - static_cast<std::ptrdiff_t>(kTurn + 4));
  for (size_t i = 0; i < size_t{2} * kRingSlots; ++i) {
    image.push_back(seed[seed.size() - kTurn - 4 + i % kTurn]);
  }
  image.resize(image.size() + 4);
  store_le(image.data() + 8, uint64_t{image.size()});
  return with_crc(std::move(image));
}

Bytes slots_seed() {
  const std::shared_ptr<HashRing> ring = empty_ring(kCases[1].options);
  add(*ring, "a", 1);
  add(*ring, "b", 1);
  Bytes seed = image_of(ring);
  seed.resize(seed.size() - size_t{2} * kRingSlots + kTurn);
  for (size_t slot = 0; slot < kTurn / 2; ++slot) {
    store_le(seed.data() + seed.size() - kTurn - 4 + 2 * slot, static_cast<uint16_t>(slot % 2));
  }
  const RingImage image = must(decode_ring_image(slots_of(seed)));
  std::vector<std::vector<std::byte>> rows(1);
  for (const uint16_t slot : image.slots) {
    rows[0].push_back(static_cast<std::byte>(slot));
    rows[0].push_back(std::byte{0});
  }
  const std::shared_ptr<HashRing> turns = empty_ring(kCases[1].options);
  EXPECT_TRUE(turns->load({{1, "a", 1}, {2, "b", 1}}, rows).ok());
  turns->build();
  store_le(seed.data() + 40, ring_mark(*turns, RingKeyType::kNone));
  return seed;
}

// Images of this version stay readable, byte for byte.
TEST(RingImage, has_the_bytes_it_always_had) {
  for (const RingCase& ring_case : kCases) {
    const Bytes bytes = image_of(sample(ring_case.options));
    if (ring_case.options.algorithm == RingAlgorithm::kSlots) {
      EXPECT_EQ(XXH3_64bits(bytes.data(), bytes.size()), 5261931321782427239U);
    } else {
      EXPECT_EQ(test::read_bytes(golden_path(ring_case.name)), bytes) << ring_case.name;
    }
  }
}

TEST(RingImage, seeds_of_the_fuzz_target_are_accepted) {
  for (const RingCase& ring_case : kCases) {
    Bytes seed = test::read_bytes(seed_path(ring_case.name)).value();
    if (ring_case.options.algorithm == RingAlgorithm::kSlots) {
      seed = slots_of(seed);
    }
    EXPECT_EQ(error_of(seed), "") << ring_case.name;
  }
}

TEST(RingImage, DISABLED_write_golden_files_and_seeds) {
  for (const RingCase& ring_case : kCases) {
    const bool slots = ring_case.options.algorithm == RingAlgorithm::kSlots;
    const Bytes bytes = slots ? slots_seed() : image_of(sample(ring_case.options));
    if (!slots) {
      test::write_bytes(golden_path(ring_case.name), bytes);
    }
    test::write_bytes(seed_path(ring_case.name), bytes);
  }
}

}  // namespace
}  // namespace ring_image_test
}  // namespace cuckoo
