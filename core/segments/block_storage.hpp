// Keeps the blocks of a stored filter: one table of numbered blobs. core owns the interface. ext
// implements it over a shadow table, and tests implement it in memory.
//
// Reads visit blocks in ascending order of their ids. A block that does not exist is not visited. A
// visitor's failure ends the read and is returned. The bytes are valid during the visit only. A
// write replaces the whole block; `stored` says whether the block exists already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/result.hpp"

namespace cuckoo::segments {

class BlockStorage {
 public:
  using Visitor = std::function<Status(int64_t id, std::span<const std::byte> block)>;

  virtual ~BlockStorage() = default;

  virtual Status read(int64_t first, int64_t last, const Visitor& visitor) = 0;
  virtual Status write(int64_t id, std::span<const std::byte> block, bool stored) = 0;
  virtual Status erase(int64_t first, int64_t last) = 0;

  // Called every few thousand steps of a long operation; a failure (kInterrupted) stops it.
  virtual Status poll() = 0;
};

}  // namespace cuckoo::segments
