#include "core/ring/mark.hpp"

#include <cstdio>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"

namespace cuckoo::core {
namespace {

// The first byte that is hashed says how many different owners the keys have.
constexpr auto kNoOwner = std::byte{0};
constexpr auto kOneOwner = std::byte{1};
constexpr auto kManyOwners = std::byte{2};

class Hasher {
 public:
  Hasher() noexcept { XXH3_64bits_reset(&state_); }

  void add(std::span<const std::byte> bytes) noexcept {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  void add(uint64_t number) noexcept {
    std::byte bytes[8];
    store_le(bytes, number);
    add(bytes);
  }
  uint64_t digest() const noexcept { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

uint64_t name_hash(const HashRing& ring, uint32_t id) noexcept {
  const std::string& name = ring.find(id)->name;
  return XXH3_64bits(name.data(), name.size());
}

// The runs of places that have one owner, in the order of their positions.
class Runs {
 public:
  Runs(const HashRing& ring, Hasher& hasher) noexcept : ring_(ring), hasher_(hasher) {}

  void add(uint64_t position, uint32_t owner) noexcept {
    if (owner != owner_ && owner_ != 0) {
      take();
    }
    first_owner_ = first_owner_ == 0 ? owner : first_owner_;
    position_ = position;
    owner_ = owner;
  }
  // Ends the last run. After the last place the ring closes. So if the last run has the first one's
  // owner, it is a part of the first one.
  void close() noexcept {
    if (owner_ != first_owner_) {
      take();
    }
  }
  uint32_t first_owner() const noexcept { return first_owner_; }  // 0: there is no place
  bool one_owner() const noexcept { return runs_ == 0; }

 private:
  void take() noexcept {
    hasher_.add(position_);
    hasher_.add(name_hash(ring_, owner_));
    ++runs_;
  }

  const HashRing& ring_;
  Hasher& hasher_;
  uint64_t position_ = 0;
  uint32_t owner_ = 0;
  uint32_t first_owner_ = 0;
  size_t runs_ = 0;
};

void add_places(const HashRing& ring, Runs& runs) noexcept {
  if (ring.options().algorithm == RingAlgorithm::kSlots) {
    constexpr uint64_t kSlotPositions = uint64_t{1} << SlotOwners::kSlotShift;
    for (uint64_t slot = 0; slot < kRingSlots && !ring.slots().empty(); ++slot) {
      runs.add(slot * kSlotPositions + (kSlotPositions - 1), ring.slots().owner_at(slot));
    }
  } else {
    for (PointRing::Walk point(ring.points()); !point.at_end(); point.next()) {
      runs.add(point.position(), point.owner());
    }
  }
  runs.close();
}

void add_key_rules(const RingOptions& options, RingKeyType key_type, Hasher& hasher) noexcept {
  const bool is_ketama = options.algorithm == RingAlgorithm::kKetama;
  const bool sees_reals = key_type == RingKeyType::kNone || key_type == RingKeyType::kReal;
  const std::byte rules[] = {kManyOwners, static_cast<std::byte>(is_ketama),
                             static_cast<std::byte>(key_type),
                             is_ketama ? static_cast<std::byte>(options.key_hash) : std::byte{0},
                             static_cast<std::byte>(is_ketama && sees_reals && options.format > 1)};
  hasher.add(rules);
  hasher.add(is_ketama ? 0 : options.seed);
}

}  // namespace

uint64_t ring_mark(const HashRing& ring, RingKeyType key_type) noexcept {
  Hasher hasher;
  add_key_rules(ring.options(), key_type, hasher);
  Runs runs(ring, hasher);
  add_places(ring, runs);
  if (!runs.one_owner()) {
    return hasher.digest();
  }
  Hasher few;
  few.add({runs.first_owner() == 0 ? &kNoOwner : &kOneOwner, 1});
  few.add(runs.first_owner() == 0 ? 0 : name_hash(ring, runs.first_owner()));
  return few.digest();
}

std::string mark_text(uint64_t mark) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(mark));
  return text;
}

}  // namespace cuckoo::core
