// A ring as one BLOB, which another machine can take: FORMAT.md, "Images of rings".
//
// Invariants
//   I1  equal nodes, weights, options and owners give equal bytes, whatever the history and the ids
//       were, because nodes are in the order of their names.
//   I2  nothing in an image is trusted. decode_ring_image() checks its form, and takes a small
//       multiple of its length in memory; ring_of() checks its contents. If both accept an image,
//       encode_ring_image() writes the same bytes for that ring.
//   I3  ring_of() gives a ring that keeps every invariant of HashRing, with the owners that the
//       origin had: the ring has the mark that the image says, or ring_of() fails. It makes the
//       ring's points, 2^24 at most, and asks `poll` meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/ring/hash_ring.hpp"
#include "core/ring/mark.hpp"
#include "core/ring/md5.hpp"

namespace cuckoo::core {

struct RingImage {
  RingOptions options;
  RingKeyType key_type = RingKeyType::kNone;
  uint64_t mark = 0;
  std::vector<RingNode> nodes;  // in the order of their names, without ids
  std::vector<uint16_t> slots;  // slots: the owner's place among the nodes
};

// Returns how long the image is, without making it.
size_t ring_image_bytes(const HashRing& ring) noexcept;
// The ring is built().
std::vector<std::byte> encode_ring_image(const HashRing& ring, RingKeyType key_type);
// If the bytes are no image, returns an error that names what it found, and what it expected.
Result<RingImage> decode_ring_image(std::span<const std::byte> bytes);

// Returns the ring of an image, built(). A node that `before` has, too, keeps its id. `before` may
// be null.
Result<std::shared_ptr<HashRing>> ring_of(const RingImage& image, const HashRing* before,
                                          const Poll& poll, Md5Function md5 = system_md5());

}  // namespace cuckoo::core
