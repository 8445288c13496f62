// BlockStorage in memory, with faults.
//
// Fault model
//   - A call can fail: the n-th from now returns an error of the asked code and changes nothing.
//     After a failure the test restores a snapshot, as SQLite's roll-back does.
//   - Blocks are handed to a visitor in memory of their own size that is freed after the visit, so
//     that the address sanitizer sees every read behind a block or after the visit.
//   - A write that is wrong about `stored`, or that writes an empty block, fails the test. Headers
//     that lie lead to such writes: `trusting` is off there.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "core/segments/block_storage.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

class MemoryBlocks final : public segments::BlockStorage {
 public:
  using Rows = std::map<int64_t, Bytes>;
  struct Calls {
    uint64_t reads = 0;
    uint64_t blocks_read = 0;
    uint64_t writes = 0;
    uint64_t erases = 0;
    uint64_t polls = 0;
  };

  Rows rows;
  Calls calls;
  bool trusting = true;

  // The n-th call from now fails, 1 is the next one; 0: none does any more.
  bool fault_is_due() const noexcept { return fail_in_ > 0; }
  void fail_at(uint64_t n, ErrorCode code = ErrorCode::kStorage) {
    fail_in_ = n;
    fail_code_ = code;
  }

  Status read(int64_t first, int64_t last, const Visitor& visitor) override {
    CUCKOO_TRY(called(calls.reads));
    for (auto at = rows.lower_bound(first); at != rows.end() && at->first <= last; ++at) {
      ++calls.blocks_read;
      const Bytes copy = at->second;
      CUCKOO_TRY(visitor(at->first, copy));
    }
    return {};
  }
  Status write(int64_t id, std::span<const std::byte> block, bool stored) override {
    CUCKOO_TRY(called(calls.writes));
    EXPECT_FALSE(block.empty());
    EXPECT_TRUE(!trusting || rows.contains(id) == stored) << id;
    rows[id] = Bytes(block.begin(), block.end());
    return {};
  }
  Status erase(int64_t first, int64_t last) override {
    CUCKOO_TRY(called(calls.erases));
    rows.erase(rows.lower_bound(first), rows.upper_bound(last));
    return {};
  }
  Status poll() override { return called(calls.polls); }

 private:
  Status called(uint64_t& counter) {
    ++counter;
    if (fail_in_ > 0 && --fail_in_ == 0) {
      return Error{fail_code_, "a fault", 0};
    }
    return {};
  }

  uint64_t fail_in_ = 0;
  ErrorCode fail_code_ = ErrorCode::kStorage;
};

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::MemoryBlocks;

}  // namespace cuckoo::segments
