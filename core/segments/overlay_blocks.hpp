// A filter's storage with changes that are only in memory. A write goes to memory. A read finds it
// there, and all else in the storage below. So it shows how storage would be before it is written.
//
// Invariants
//   I1  the storage below is read only.
//   I2  a read visits the blocks that it would visit if every write and erase had been made below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/block_storage.hpp"

namespace cuckoo::segments {

class OverlayBlocks final : public BlockStorage {
 public:
  explicit OverlayBlocks(BlockStorage& below) noexcept : below_(below) {}

  Status read(int64_t first, int64_t last, const Visitor& visitor) override;
  Status write(int64_t id, std::span<const std::byte> block, bool stored) override;
  Status erase(int64_t first, int64_t last) override;
  Status poll() override { return below_.poll(); }

 private:
  bool is_erased(int64_t id) const noexcept;

  BlockStorage& below_;
  std::map<int64_t, std::vector<std::byte>> written_;
  std::map<int64_t, int64_t> erased_;  // ranges of the ids below: first, last; they don't overlap
};

}  // namespace cuckoo::segments
