#include "core/library/memory_ring.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/ring/real_text.hpp"

#include <cuckoo/hash_ring.hpp>

namespace cuckoo {
inline namespace v1 {
namespace {

Error no_ring() { return invalid("a ring that was moved from, or that no make() made"); }

// Returns the error with the node's name before it: its first 40 bytes, with ? for control
// characters.
Error of_node(std::string_view name, const Error& error) {
  constexpr size_t kMost = 40;
  std::string text(name.substr(0, kMost));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  text += name.size() > kMost ? "…" : "";
  return {error.code, "node \"" + text + "\": " + error.message};
}

Status check_md5(Md5 md5) {
  constexpr std::array<unsigned char, kMd5Bytes> kOfNothing = {0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00,
                                                               0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98,
                                                               0xec, 0xf8, 0x42, 0x7e};
  if (md5 == nullptr) {
    return invalid("ketama needs MD5: give md5, which <cuckoo/openssl_md5.hpp> has");
  }
  std::array<std::byte, kMd5Bytes> digest{};
  if (!md5({}, digest)) {
    return invalid("ketama needs MD5, and the md5 that was given can't compute it");
  }
  const bool is_md5 =
      std::equal(digest.begin(), digest.end(), kOfNothing.begin(),
                 [](std::byte a, unsigned char b) { return std::to_integer<int>(a) == b; });
  return is_md5 ? Status() : invalid("the md5 that was given computes something else");
}

Result<core::RingOptions> core_options(const HashRingOptions& options) {
  core::RingOptions core;
  core.algorithm = options.algorithm;
  switch (options.algorithm) {
    case RingAlgorithm::kRing:
      if (options.vnodes < 1 || options.vnodes > kMaxVnodes) {
        return invalid("vnodes is " + std::to_string(options.vnodes) + ", expected 1 to " +
                       std::to_string(kMaxVnodes));
      }
      core.vnodes = options.vnodes;
      core.seed = options.seed;
      return core;
    case RingAlgorithm::kSlots:
      core.seed = options.seed;
      return core;
    case RingAlgorithm::kKetama:
      break;
    default:
      return invalid("algorithm is none of kRing, kKetama, kSlots");
  }
  if (static_cast<size_t>(options.dialect) >= kKetamaDialects ||
      static_cast<size_t>(options.key_hash) >= kKetamaKeyHashes) {
    return invalid("dialect or key_hash is no value of its type");
  }
  core.dialect = options.dialect;
  core.key_hash = options.key_hash;
  if (!core.has_client()) {
    return invalid(
        "no client of memcached hashes keys so: kLibketama goes with kMd5 alone, kCrc32a with"
        " kLibmemcached alone");
  }
  CUCKOO_TRY(check_md5(options.md5));
  return core;
}

// --- a key's position ----------------------------------------------------------------------------

bool is_int64(double real) noexcept {
  return real >= -0x1p63 && real < 0x1p63 && real == std::floor(real);
}

// The text that is hashed for a key.
class KeyText {
 public:
  KeyText(const Key::Value& value, bool whole_reals_as_integers) noexcept {
    if (const auto* const integer = std::get_if<int64_t>(&value)) {
      set(*integer);
    } else if (const auto* const real = std::get_if<double>(&value)) {
      if (whole_reals_as_integers && is_int64(*real)) {
        set(static_cast<int64_t>(*real));
      } else {
        text_ = real_text(*real, room_);
      }
    } else if (const auto* const text = std::get_if<std::string_view>(&value)) {
      text_ = *text;
    } else {
      const auto bytes = std::get<std::span<const std::byte>>(value);
      text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
  }
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;

  std::string_view text() const noexcept { return text_; }

 private:
  void set(int64_t integer) noexcept {
    const char* const end = std::to_chars(room_.data(), room_.data() + room_.size(), integer).ptr;
    text_ = {room_.data(), static_cast<size_t>(end - room_.data())};
  }

  RealText room_;
  std::string_view text_;
};

// Returns a key's position, as ext/ring/cursor.cpp does.
uint64_t position_of(const MemoryRing& in_memory, const Key& key) {
  const core::RingOptions& options = in_memory.ring().options();
  const bool is_ketama = options.algorithm == RingAlgorithm::kKetama;
  if (!is_ketama && !in_memory.has_text_keys()) {
    return key.hash(options.seed);
  }
  const Key::Value value = key.value();
  if (!is_ketama && std::holds_alternative<std::span<const std::byte>>(value)) {
    return key.hash(options.seed);
  }
  // A key of the type TEXT becomes a text first, so ketama does not see that it was a whole number.
  const KeyText text(value, options.format > 1 && !in_memory.has_text_keys());
  return is_ketama ? in_memory.ring().ketama_position(bytes_of(text.text()))
                   : Key(text.text()).hash(options.seed);
}

std::string name_of(const core::HashRing& ring, uint32_t id) {
  return id != 0 ? ring.find(id)->name : std::string();
}

}  // namespace

HashRing::HashRing() noexcept = default;
HashRing::HashRing(std::unique_ptr<MemoryRing>&& ring) noexcept : ring_(std::move(ring)) {}
HashRing::HashRing(HashRing&&) noexcept = default;
HashRing& HashRing::operator=(HashRing&&) noexcept = default;
HashRing::HashRing(const HashRing& other)
    : ring_(other.ring_ != nullptr ? std::make_unique<MemoryRing>(*other.ring_) : nullptr) {}
HashRing& HashRing::operator=(const HashRing& other) {
  if (this != &other) {
    *this = HashRing(other);
  }
  return *this;
}
HashRing::~HashRing() = default;

Result<HashRing> HashRing::make(const HashRingOptions& options) {
  CUCKOO_ASSIGN_OR_RETURN(const core::RingOptions core, core_options(options));
  const bool is_ketama = options.algorithm == RingAlgorithm::kKetama;
  CUCKOO_ASSIGN_OR_RETURN(std::shared_ptr<core::HashRing> ring,
                          core::HashRing::make(core, options.md5));
  ring->build();
  return HashRing(std::make_unique<MemoryRing>(
      std::move(ring), options.text_keys ? RingKeyType::kText : RingKeyType::kNone,
      is_ketama ? options.md5 : nullptr));
}

Result<HashRing> HashRing::from_bytes(std::span<const std::byte> image, Md5 md5) {
  CUCKOO_ASSIGN_OR_RETURN(const RingImage read, decode_ring_image(image));
  if (read.key_type == RingKeyType::kNumeric || read.key_type == RingKeyType::kReal) {
    return invalid(
        std::string("an image of a hash_ring(key ") +
        (read.key_type == RingKeyType::kReal ? "REAL" : "INTEGER") +
        "), which makes numbers of texts; expected one whose key has the type TEXT or none");
  }
  const bool is_ketama = read.options.algorithm == RingAlgorithm::kKetama;
  if (is_ketama) {
    CUCKOO_TRY(check_md5(md5));
  }
  CUCKOO_ASSIGN_OR_RETURN(std::shared_ptr<core::HashRing> ring,
                          ring_of(read, nullptr, Poll(), md5));
  return HashRing(
      std::make_unique<MemoryRing>(std::move(ring), read.key_type, is_ketama ? md5 : nullptr));
}

// --- keys ----------------------------------------------------------------------------------------

std::string_view HashRing::owner(const Key& key) const {
  if (ring_ == nullptr) {
    return {};
  }
  const core::HashRing& ring = ring_->ring();
  const core::RingNode* const node = ring.find(ring.owner(position_of(*ring_, key)));
  return node != nullptr ? std::string_view(node->name) : std::string_view();
}

std::vector<std::string_view> HashRing::replicas(const Key& key, size_t count) const {
  std::vector<std::string_view> names;
  if (ring_ == nullptr) {
    return names;
  }
  const core::HashRing& ring = ring_->ring();
  std::vector<uint32_t> ids;
  ring.owners(position_of(*ring_, key), count, ids);
  names.reserve(ids.size());
  for (const uint32_t id : ids) {
    names.emplace_back(ring.find(id)->name);
  }
  return names;
}

// --- nodes ---------------------------------------------------------------------------------------

size_t HashRing::size() const noexcept { return ring_ != nullptr ? ring_->ring().node_count() : 0; }

bool HashRing::contains(std::string_view name) const noexcept {
  return ring_ != nullptr && ring_->ring().find(name) != nullptr;
}

std::vector<RingNode> HashRing::nodes() const {
  std::vector<RingNode> nodes;
  if (ring_ != nullptr) {
    nodes.reserve(size());
    for (const core::RingNode* const node : ring_->ring().nodes_by_name()) {
      nodes.push_back({node->name, node->weight});
    }
  }
  return nodes;
}

double HashRing::weight(std::string_view name) const noexcept {
  const core::RingNode* const node = ring_ != nullptr ? ring_->ring().find(name) : nullptr;
  return node != nullptr ? node->weight : 0;
}

double HashRing::share(std::string_view name) const noexcept {
  const core::RingNode* const node = ring_ != nullptr ? ring_->ring().find(name) : nullptr;
  return node != nullptr ? ring_->ring().share(node->id).share() : 0;
}

// Calls change(ring), and builds the ring. If either throws, there is no ring afterwards.
template <class Change>
Status HashRing::change(std::string_view name, Change&& change) {
  if (ring_ == nullptr) {
    return no_ring();
  }
  std::unique_ptr<MemoryRing> changing = std::move(ring_);
  const Status status = change(changing->ring());
  changing->ring().build();
  ring_ = std::move(changing);
  return status.ok() ? Status() : of_node(name, status.error());
}

namespace {

Status update_node(core::HashRing& ring, std::string_view name, std::string_view new_name,
                   const double* weight) {
  const core::RingNode* const node = ring.find(name);
  if (node == nullptr) {
    return invalid("there is no node of that name");
  }
  return ring.update(node->id, std::string(new_name), weight != nullptr ? *weight : node->weight);
}

Status insert_node(core::HashRing& ring, std::string_view name, double weight) {
  return ring.insert(std::string(name), weight).take_status();
}

}  // namespace

Status HashRing::add(std::string_view name, double weight) {
  return change(name, [&](core::HashRing& ring) { return insert_node(ring, name, weight); });
}

Status HashRing::set_weight(std::string_view name, double weight) {
  return change(name, [&](core::HashRing& ring) { return update_node(ring, name, name, &weight); });
}

Status HashRing::rename(std::string_view name, std::string_view new_name) {
  return change(name,
                [&](core::HashRing& ring) { return update_node(ring, name, new_name, nullptr); });
}

Result<bool> HashRing::remove(std::string_view name) {
  if (ring_ != nullptr && ring_->ring().find(name) == nullptr) {
    return false;
  }
  CUCKOO_TRY(change(name, [&](core::HashRing& ring) {
    ring.remove(ring.find(name)->id);
    return Status();
  }));
  return true;
}

Status HashRing::clear() {
  return change({}, [](core::HashRing& ring) {
    ring.clear();
    return Status();
  });
}

Status HashRing::add_all(std::span<const RingNode> nodes) {
  if (ring_ == nullptr) {
    return no_ring();
  }
  auto next = std::make_unique<MemoryRing>(*ring_);
  for (const RingNode& node : nodes) {
    if (const Status added = insert_node(next->ring(), node.name, node.weight); !added.ok()) {
      return of_node(node.name, added.error());
    }
  }
  next->ring().build();
  ring_ = std::move(next);
  return {};
}

// Removes and shrinks nodes before it grows and adds others, so that these have room.
Status HashRing::set_nodes(std::span<const RingNode> nodes) {
  if (ring_ == nullptr) {
    return no_ring();
  }
  auto next = std::make_unique<MemoryRing>(*ring_);
  core::HashRing& ring = next->ring();
  std::map<std::string_view, double> weights;
  for (const RingNode& node : nodes) {
    if (!weights.emplace(node.name, node.weight).second) {
      return of_node(node.name, invalid("it is there twice"));
    }
  }
  for (const RingNode& node : this->nodes()) {
    if (!weights.contains(node.name)) {
      ring.remove(ring.find(node.name)->id);
    }
  }
  const auto set_weights = [&](bool larger) -> Status {
    for (const RingNode& node : nodes) {
      const core::RingNode* const old = ring.find(node.name);
      if (old != nullptr && old->weight != node.weight && (node.weight > old->weight) == larger) {
        if (const Status set = update_node(ring, node.name, node.name, &node.weight); !set.ok()) {
          return of_node(node.name, set.error());
        }
      }
    }
    return {};
  };
  CUCKOO_TRY(set_weights(false));
  CUCKOO_TRY(set_weights(true));
  for (const RingNode& node : nodes) {
    if (ring.find(node.name) == nullptr) {
      if (const Status added = insert_node(ring, node.name, node.weight); !added.ok()) {
        return of_node(node.name, added.error());
      }
    }
  }
  ring.build();
  ring_ = std::move(next);
  return {};
}

// --- the ring as a whole -------------------------------------------------------------------------

HashRingOptions HashRing::options() const noexcept {
  HashRingOptions options;
  if (ring_ != nullptr) {
    const core::RingOptions& core = ring_->ring().options();
    options.algorithm = core.algorithm;
    options.vnodes = core.vnodes;
    options.seed = core.seed;
    options.text_keys = ring_->has_text_keys();
    options.dialect = core.dialect;
    options.key_hash = core.key_hash;
    options.md5 = ring_->md5();
  }
  return options;
}

Result<std::vector<RingMove>> HashRing::moves_to(const HashRing& after) const {
  if (ring_ == nullptr || after.ring_ == nullptr) {
    return no_ring();
  }
  const core::HashRing& from = ring_->ring();
  const core::HashRing& to = after.ring_->ring();
  const core::RingOptions& a = from.options();
  const core::RingOptions& b = to.options();
  if (a.algorithm != b.algorithm || a.seed != b.seed || a.key_hash != b.key_hash ||
      a.format != b.format || ring_->key_type() != after.ring_->key_type()) {
    return invalid(
        "moves between rings that place keys differently, expected the same algorithm, seed, key"
        " hash and text_keys");
  }
  std::vector<RingMove> moves;
  for (const core::RingMove& move : ring_moves(from, to)) {
    moves.push_back({name_of(from, move.from), name_of(to, move.to), move.part.share()});
  }
  std::sort(moves.begin(), moves.end(), [](const RingMove& x, const RingMove& y) {
    return std::tie(x.from, x.to) < std::tie(y.from, y.to);
  });
  return moves;
}

uint64_t HashRing::mark() const noexcept {
  return ring_ != nullptr ? ring_mark(ring_->ring(), ring_->key_type()) : 0;
}

std::string HashRing::mark_text() const { return cuckoo::mark_text(mark()); }

Result<std::vector<std::byte>> HashRing::to_bytes() const {
  if (ring_ == nullptr) {
    return no_ring();
  }
  return encode_ring_image(ring_->ring(), ring_->key_type());
}

Status HashRing::check() const {
  if (ring_ == nullptr) {
    return {};
  }
  const std::string problem = ring_->check();
  return problem.empty() ? Status() : Status(corrupt("a ring with " + problem));
}

}  // namespace v1
}  // namespace cuckoo
