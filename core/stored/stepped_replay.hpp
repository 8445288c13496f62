// A folded log read back as core/stored/replay.hpp does, but a part at a time: first its raw rows,
// then, in ascending order, what is left of all hashes.
//
// Invariants
//   I1  nothing is believed: before all is handed over, ids, positions, chain values and checksums
//       of all rows have been found to follow.
//   I2  the hashes, their counts and which of them make a batch depend on the log alone, not on how
//       many are taken at a time. They are those that LogReplay hands over.
//
// Memory: 8 bytes a raw entry. Time: constant per entry, but for the sorting of raw entries, which
// is done in 256 parts, each when its turn comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/stored/log.hpp"
#include "core/stored/replay.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

class SteppedReplay {
 public:
  // `first_raw_row`: behind the compacted rows; behind the extent's last row if there is none.
  SteppedReplay(FilterStorage& storage, HashWidth width, bool unique, const LogExtent& extent,
                int64_t first_raw_row, uint64_t compacted_entries);

  uint64_t raw_rows() const noexcept {
    return static_cast<uint64_t>(extent_.last_row + 1 - first_raw_row_);
  }
  // Raw rows up to so many are read.
  Status read_raw(uint64_t rows);
  // The next hashes, replaced in `batch`: kBatch of them, fewer at the end, none behind it. All raw
  // rows were read.
  static constexpr size_t kBatch = 1024;
  Status next(std::vector<CountedHash>& batch);

  // As LogReplay's; once there is no more.
  uint64_t dropped() const noexcept { return dropped_; }

  size_t memory_bytes() const noexcept;

 private:
  static constexpr unsigned kPartBits = 8;

  Status take_raw(int64_t id, std::span<const std::byte> bytes);
  Status find_compacted();
  Status take_compacted(int64_t id, std::span<const std::byte> bytes);
  void find_raw();
  std::span<const uint64_t> take_run(uint64_t hash) noexcept;

  FilterStorage& storage_;
  HashWidth width_;
  Counting counting_;
  LogExtent extent_;
  int64_t first_raw_row_;
  uint64_t raw_position_;  // entries before the raw ones

  std::optional<LogFollower> raw_;            // behind the raw rows that are read
  LogRowHeader first_raw_;                    // if there is one
  std::vector<std::vector<uint64_t>> parts_;  // raw entries in log order, by their leading bits

  LogFollower compacted_;  // behind the compacted rows that are decoded
  uint64_t previous_ = 0;
  std::vector<CountedHash> row_;  // the last one's hashes
  size_t next_in_row_ = 0;
  size_t next_part_ = 0;
  LargeVector<uint64_t> part_;  // the raw entries of the last part, sorted
  size_t next_in_part_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace cuckoo
