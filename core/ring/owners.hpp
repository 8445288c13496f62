// The table of `slots`: the owner of each of 65,536 equal parts of the key space. A look-up is one
// load.
//
// The table depends on its history, so it is stored. The number of slots of each node does not:
// it is Webster's quota (core/ring/quotas.hpp).
//
// Invariants
//   I1  each slot has an owner as long as there is a node; without one the table is empty.
//   I2  each node owns exactly its quota.
//   I3  a change moves as few slots as the new quotas allow, because each goes from a node that is
//       above its quota to one that is below.
//   I4  digest() is the sum over the slots of a hash of slot and owner.
//
// A change. New quotas are computed. Nodes above their quota give slots, nodes below it receive.
//   which slots   If there is one receiver (a node came, or grew), each giver gives the slots with
//                 the smallest hash(seed, slot, receiver's name). If there are several (a node
//                 went, or shrank), it gives those with the smallest hash(seed, slot, giver's
//                 name). A node that goes gives all its slots.
//   receiver      In the order of the slots, each goes to the receiver that lacks most. If two lack
//                 equally many, the name that sorts first decides.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/page_size.hpp"
#include "core/base/result.hpp"
#include "core/ring/node.hpp"
#include "core/ring/points.hpp"
#include "core/ring/quotas.hpp"

namespace cuckoo::core {

class SlotOwners {
 public:
  // Slots are stored in rows of so many, two bytes each; the last row has the rest.
  static constexpr uint32_t kRowSlots = kPageBytes / 2;
  static constexpr unsigned kSlotShift = 48;
  static constexpr uint32_t kRows = (kRingSlots + kRowSlots - 1) / kRowSlots;
  using ChangedRows = std::bitset<kRows>;

  bool empty() const noexcept { return owners_.empty(); }
  uint32_t owner_at(size_t slot) const noexcept { return owners_[slot] + 1U; }  // an id
  static size_t slot_of(uint64_t position) noexcept { return position >> kSlotShift; }
  static RingPart part(uint32_t slots) noexcept { return RingPart(uint128{slots} << kSlotShift); }
  // Returns the slots of a node. ids: 1 … 65,536.
  uint32_t count(uint32_t id) const noexcept { return counts_[id - 1]; }

  // Moves slots until each of these nodes has its quota. `nodes` are in the order of their names. A
  // node that is not among them gives all its slots.
  void meet_quotas(std::span<const RingNode* const> nodes, uint64_t seed);
  void clear() noexcept;

  // Returns a row as it is stored: each slot's id - 1, two bytes, little-endian.
  std::vector<std::byte> encode_row(uint32_t row) const;
  // Loads all rows, in order. known[id - 1]: whether there is such a node. kCorrupt: a slot's owner
  // is no node.
  Status load(std::span<const std::vector<std::byte>> rows, std::span<const bool> known);

  // Returns the rows that changed since the last call.
  ChangedRows take_changed() noexcept;
  void change_all() noexcept { changed_.set(); }
  uint64_t digest() const noexcept { return digest_; }
  std::string check(
      std::span<const RingNode* const> nodes) const;  // I1, I2, I4; empty: nothing wrong

 private:
  struct Transfer {
    uint64_t hash;
    uint16_t slot;
  };
  void assign(uint32_t slot, uint32_t id);
  uint64_t sum_digest() const noexcept;
  std::vector<uint16_t> given_slots(std::span<const RingNode* const> nodes,
                                    const std::vector<uint32_t>& quotas, const RingNode* receiver,
                                    uint64_t seed) const;

  std::vector<uint16_t> owners_;  // id - 1
  std::vector<uint32_t> counts_;  // by id - 1; none in an empty table
  ChangedRows changed_;
  uint64_t digest_ = 0;
};

}  // namespace cuckoo::core
