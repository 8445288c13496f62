#include "core/ring/image.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"

namespace cuckoo::core {
namespace {

constexpr std::string_view kRingImageMagic = "CKR1";
constexpr uint32_t kRingImageVersion = 1;
constexpr size_t kRingImageHeaderBytes = 48;
constexpr size_t kRingImageNodeBytes = 12;  // weight, length of the name
constexpr size_t kSlotBytes = size_t{2} * kRingSlots;
constexpr size_t kRingImageCrcBytes = 4;

// Where the fields of the header are.
constexpr size_t kRingImageVersionAt = 4;
constexpr size_t kRingImageLengthAt = 8;
constexpr size_t kRingImageAlgorithmAt = 16;
constexpr size_t kRingImageDialectAt = 17;
constexpr size_t kRingImageKeyHashAt = 18;
constexpr size_t kRingImageKeyTypeAt = 19;
constexpr size_t kRingImageRealsAt = 20;
constexpr size_t kRingImageZerosAt = 21;
constexpr size_t kRingImageVnodesAt = 24;
constexpr size_t kRingImageNodesAt = 28;
constexpr size_t kRingImageSeedAt = 32;
constexpr size_t kRingImageMarkAt = 40;

bool has_slots(const RingOptions& options, size_t nodes) noexcept {
  return options.algorithm == RingAlgorithm::kSlots && nodes > 0;
}

Error wrong(const std::string& what) { return corrupt("image " + what); }

// Writes the options into the header. An option that the algorithm does not have is 0.
void put_options(const RingOptions& options, std::byte* header) noexcept {
  header[kRingImageAlgorithmAt] = static_cast<std::byte>(options.algorithm);
  if (options.algorithm == RingAlgorithm::kKetama) {
    header[kRingImageDialectAt] = static_cast<std::byte>(options.dialect);
    header[kRingImageKeyHashAt] = static_cast<std::byte>(options.key_hash);
    header[kRingImageRealsAt] = static_cast<std::byte>(options.format > 1);
  } else {
    store_le(header + kRingImageSeedAt, options.seed);
  }
  if (options.algorithm == RingAlgorithm::kRing) {
    store_le(header + kRingImageVnodesAt, options.vnodes);
  }
}

// Returns nullopt if a field is out of its range, or is not what put_options() would write.
std::optional<RingOptions> read_options(const std::byte* header) noexcept {
  const auto number = [header](size_t at) { return std::to_integer<uint8_t>(header[at]); };
  if (number(kRingImageAlgorithmAt) > static_cast<uint8_t>(RingAlgorithm::kSlots) ||
      number(kRingImageDialectAt) >= kKetamaDialects ||
      number(kRingImageKeyHashAt) >= kKetamaKeyHashes || number(kRingImageRealsAt) > 1) {
    return std::nullopt;
  }
  RingOptions options;
  options.algorithm = static_cast<RingAlgorithm>(number(kRingImageAlgorithmAt));
  options.dialect = static_cast<KetamaDialect>(number(kRingImageDialectAt));
  options.key_hash = static_cast<KetamaKeyHash>(number(kRingImageKeyHashAt));
  options.seed = load_le<uint64_t>(header + kRingImageSeedAt);
  if (options.algorithm == RingAlgorithm::kKetama) {
    options.format = number(kRingImageRealsAt) != 0 ? kRingFormat : 1;
  }
  const auto vnodes = load_le<uint32_t>(header + kRingImageVnodesAt);
  if (options.algorithm == RingAlgorithm::kRing) {
    options.vnodes = vnodes;
  }
  std::byte own[kRingImageHeaderBytes] = {};
  put_options(options, own);
  const bool same =
      std::equal(own + kRingImageAlgorithmAt, own + kRingImageKeyTypeAt,
                 header + kRingImageAlgorithmAt) &&
      own[kRingImageRealsAt] == header[kRingImageRealsAt] &&
      std::equal(own + kRingImageVnodesAt, own + kRingImageNodesAt, header + kRingImageVnodesAt) &&
      std::equal(own + kRingImageSeedAt, own + kRingImageMarkAt, header + kRingImageSeedAt);
  return same && options.vnodes >= 1 && options.vnodes <= kMaxVnodes && options.has_client()
             ? std::optional(options)
             : std::nullopt;
}

Status check_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kRingImageMagic.size() ||
      !equal_bytes(bytes.first(kRingImageMagic.size()), bytes_of(kRingImageMagic))) {
    return corrupt("bytes that are no image of a hash_ring, expected CKR1 at the start");
  }
  if (bytes.size() >= kRingImageLengthAt) {
    const auto version = load_le<uint32_t>(bytes.data() + kRingImageVersionAt);
    if (version != kRingImageVersion) {
      return wrong("of format " + std::to_string(version) + ", this version reads format 1");
    }
  }
  if (bytes.size() < kRingImageHeaderBytes + kRingImageCrcBytes) {
    return wrong("cut off: " + std::to_string(bytes.size()) + " bytes, expected at least " +
                 std::to_string(kRingImageHeaderBytes + kRingImageCrcBytes));
  }
  const auto length = load_le<uint64_t>(bytes.data() + kRingImageLengthAt);
  if (length != bytes.size()) {
    return wrong((length > bytes.size() ? "cut off: " : "too long: ") +
                 std::to_string(bytes.size()) + " bytes, expected " + std::to_string(length));
  }
  const std::span<const std::byte> covered = bytes.first(bytes.size() - kRingImageCrcBytes);
  if (load_le<uint32_t>(bytes.data() + covered.size()) != crc32c(covered)) {
    return wrong("with a wrong checksum");
  }
  return {};
}

// Takes the nodes off the front of `rest`.
Result<std::vector<RingNode>> read_nodes(size_t count, std::span<const std::byte>& rest) {
  if (count > kMaxRingNodes || count * kRingImageNodeBytes > rest.size()) {
    return wrong("of " + std::to_string(count) + " nodes in " + std::to_string(rest.size()) +
                 " bytes");
  }
  std::vector<RingNode> nodes;
  nodes.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (rest.size() < kRingImageNodeBytes) {
      return wrong("that ends within node " + std::to_string(i));
    }
    const double weight = real_from_bits(load_le<uint64_t>(rest.data()));
    const auto length = load_le<uint32_t>(rest.data() + 8);
    rest = rest.subspan(kRingImageNodeBytes);
    if (length > rest.size()) {
      return wrong("that ends within the name of node " + std::to_string(i));
    }
    RingNode node;
    node.name.assign(reinterpret_cast<const char*>(rest.data()), length);
    node.weight = weight;
    rest = rest.subspan(length);
    if (!nodes.empty() && nodes.back().name >= node.name) {
      return wrong("with nodes out of the order of their names, at node " + std::to_string(i));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

size_t ring_image_bytes(const HashRing& ring) noexcept {
  size_t length = kRingImageHeaderBytes + kRingImageCrcBytes;
  length += has_slots(ring.options(), ring.node_count()) ? kSlotBytes : 0;
  for (uint32_t id = 1; id <= ring.last_id(); ++id) {
    const RingNode* const node = ring.find(id);
    length += node != nullptr ? kRingImageNodeBytes + node->name.size() : 0;
  }
  return length;
}

std::vector<std::byte> encode_ring_image(const HashRing& ring, RingKeyType key_type) {
  const std::vector<const RingNode*> nodes = ring.nodes_by_name();
  const bool slots = has_slots(ring.options(), nodes.size());
  const size_t length = ring_image_bytes(ring);
  std::vector<std::byte> bytes(length);
  std::byte* to = bytes.data();
  std::copy_n(bytes_of(kRingImageMagic).data(), kRingImageMagic.size(), to);
  store_le(to + kRingImageVersionAt, kRingImageVersion);
  store_le(to + kRingImageLengthAt, uint64_t{length});
  put_options(ring.options(), to);
  to[kRingImageKeyTypeAt] = static_cast<std::byte>(key_type);
  store_le(to + kRingImageNodesAt, static_cast<uint32_t>(nodes.size()));
  store_le(to + kRingImageMarkAt, ring_mark(ring, key_type));
  to += kRingImageHeaderBytes;
  std::vector<uint16_t> places(ring.last_id());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string& name = nodes[i]->name;
    store_le(to, bits_of(nodes[i]->weight));
    store_le(to + 8, static_cast<uint32_t>(name.size()));
    to = std::copy_n(bytes_of(name).data(), name.size(), to + kRingImageNodeBytes);
    places[nodes[i]->id - 1] = static_cast<uint16_t>(i);
  }
  for (size_t slot = 0; slot < kRingSlots && slots; ++slot, to += 2) {
    store_le(to, places[ring.slots().owner_at(slot) - 1]);
  }
  store_le(to, crc32c(std::span(bytes).first(length - kRingImageCrcBytes)));
  return bytes;
}

Result<RingImage> decode_ring_image(std::span<const std::byte> bytes) {
  CUCKOO_TRY(check_frame(bytes));
  const std::byte* const header = bytes.data();
  RingImage image;
  const std::optional<RingOptions> options = read_options(header);
  const auto key_type = std::to_integer<uint8_t>(header[kRingImageKeyTypeAt]);
  if (!options || key_type >= kRingKeyTypes ||
      !all_zero(bytes.subspan(kRingImageZerosAt, kRingImageVnodesAt - kRingImageZerosAt))) {
    return wrong("with options that no hash_ring has");
  }
  image.options = *options;
  image.key_type = static_cast<RingKeyType>(key_type);
  image.mark = load_le<uint64_t>(header + kRingImageMarkAt);
  const size_t count = load_le<uint32_t>(header + kRingImageNodesAt);
  std::span<const std::byte> rest = bytes.subspan(
      kRingImageHeaderBytes, bytes.size() - kRingImageHeaderBytes - kRingImageCrcBytes);
  CUCKOO_ASSIGN_OR_RETURN(image.nodes, read_nodes(count, rest));
  const size_t slot_bytes = has_slots(image.options, count) ? kSlotBytes : 0;
  if (rest.size() != slot_bytes) {
    return wrong("with " + std::to_string(rest.size()) + " bytes after its nodes, expected " +
                 std::to_string(slot_bytes));
  }
  image.slots.reserve(slot_bytes / 2);
  for (; !rest.empty(); rest = rest.subspan(2)) {
    image.slots.push_back(load_le<uint16_t>(rest.data()));
    if (image.slots.back() >= count) {
      return wrong("in which slot " + std::to_string(image.slots.size() - 1) + " belongs to node " +
                   std::to_string(image.slots.back()) + " of " + std::to_string(count));
    }
  }
  return image;
}

namespace {

// Returns the nodes with ids. A node whose name is in `before` keeps its id. The others get the ids
// after the last one of `before` and, when these run out, free ids from 1 on.
std::vector<RingNode> with_ids(const RingImage& image, const HashRing* before) {
  std::vector<RingNode> nodes = image.nodes;
  std::vector<bool> used(kMaxRingNodes + size_t{1});
  for (RingNode& node : nodes) {
    if (const RingNode* const same = before != nullptr ? before->find(node.name) : nullptr) {
      node.id = same->id;
      used[same->id] = true;
    }
  }
  uint32_t next = before != nullptr ? before->last_id() : 0;
  for (RingNode& node : nodes) {
    if (node.id != 0) {
      continue;
    }
    do {
      next = next < kMaxRingNodes ? next + 1 : 1;
    } while (used[next]);
    node.id = next;
    used[next] = true;
  }
  return nodes;
}

}  // namespace

Result<std::shared_ptr<HashRing>> ring_of(const RingImage& image, const HashRing* before,
                                          const Poll& poll, Md5Function md5) {
  CUCKOO_ASSIGN_OR_RETURN(const std::shared_ptr<HashRing> ring,
                          HashRing::make(image.options, std::move(md5)));
  const std::vector<RingNode> nodes = with_ids(image, before);
  std::vector<std::vector<std::byte>> rows;
  if (!image.slots.empty()) {
    std::vector<std::byte>& row = rows.emplace_back(kSlotBytes);
    for (size_t slot = 0; slot < image.slots.size(); ++slot) {
      store_le(row.data() + 2 * slot, static_cast<uint16_t>(nodes[image.slots[slot]].id - 1));
    }
  }
  if (Status loaded = ring->load(nodes, rows); !loaded.ok()) {
    return wrong("with a " + loaded.error().message);
  }
  if (image.options.algorithm == RingAlgorithm::kSlots) {
    if (const std::string problem = ring->slots().check(ring->nodes_by_name()); !problem.empty()) {
      return wrong("in which " + problem);
    }
    ring->change_all_slot_rows();
  }
  CUCKOO_TRY(ring->build(poll));
  if (ring_mark(*ring, image.key_type) != image.mark) {
    return wrong("of other owners than its nodes have here, expected the mark " +
                 mark_text(image.mark) +
                 ": it is damaged, or of a version that deals keys"
                 " otherwise");
  }
  return ring;
}

}  // namespace cuckoo::core
