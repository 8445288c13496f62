// decode_ring_image() and ring_of(): an image that is accepted has the same bytes when its ring is
// written again, and the ring keeps every invariant. Slots are 131,072 bytes, more than an input
// has: the last bytes of an input that asks for them are dealt to the slots in turns.
#include "core/ring/image.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {
namespace {

constexpr size_t kHeaderBytes = 48;
constexpr uint64_t kMostPoints = 20000;  // more take long, and nothing else

bool is_small(const RingImage& image) {
  double points = 0;
  for (const RingNode& node : image.nodes) {
    points += 1 + node.weight * image.options.vnodes;
  }
  return image.options.algorithm != RingAlgorithm::kRing ? image.nodes.size() < 200
                                                         : points < kMostPoints;
}

void examine_ring(const RingImage& image, std::span<const std::byte> bytes) {
  const Result<std::shared_ptr<HashRing>> ring = ring_of(image, nullptr, Poll());
  if (!ring.ok()) {
    REQUIRE(!ring.error().message.empty());
    return;
  }
  REQUIRE(ring.value()->check().empty());
  const Bytes again = encode_ring_image(*ring.value(), image.key_type);
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

void examine(std::span<const std::byte> bytes) {
  const Result<RingImage> image = decode_ring_image(bytes);
  if (!image.ok()) {
    REQUIRE(!image.error().message.empty());
    return;
  }
  REQUIRE(image.value().nodes.size() * 12 <= bytes.size());
  if (!is_small(image.value())) {
    return;
  }
  examine_ring(image.value(), bytes);
  if (image.value().options.algorithm == RingAlgorithm::kSlots) {
    return;
  }
  // What the mark would be is known only afterwards: with it, valid nodes are a valid ring.
  RingImage marked = image.value();
  const Result<std::shared_ptr<HashRing>> made = HashRing::make(marked.options);
  REQUIRE(made.ok());
  for (const RingNode& node : marked.nodes) {
    if (!made.value()->insert(node.name, node.weight).ok()) {
      return;
    }
  }
  made.value()->build();
  marked.mark = ring_mark(*made.value(), marked.key_type);
  const Bytes written = encode_ring_image(*made.value(), marked.key_type);
  const Result<RingImage> read_back = decode_ring_image(written);
  REQUIRE(read_back.ok() && read_back.value().mark == marked.mark);
  examine_ring(read_back.value(), written);
}

// The input, with slots where it asks for them, its length and its checksum put right.
Bytes put_right(std::span<const std::byte> input) {
  Bytes bytes(input.begin(), input.end());
  if (bytes.size() < kHeaderBytes + 4) {
    return bytes;
  }
  if (bytes[16] == static_cast<std::byte>(RingAlgorithm::kSlots)) {
    constexpr size_t kTurn = 16;
    bytes.resize(bytes.size() - 4);
    const Bytes turn(bytes.end() - kTurn, bytes.end());
    bytes.resize(bytes.size() - kTurn);
    for (size_t i = 0; i < size_t{2} * kRingSlots; ++i) {
      bytes.push_back(turn[i % kTurn]);
    }
    bytes.resize(bytes.size() + 4);
  }
  store_le(bytes.data() + 8, uint64_t{bytes.size()});
  put_crc(bytes);
  return bytes;
}

}  // namespace
}  // namespace cuckoo::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cuckoo::test;
  const std::span<const std::byte> input = as_input(data, size);
  examine(input);
  examine(put_right(input));
  return 0;
}
