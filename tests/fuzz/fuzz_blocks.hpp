// A filter's blocks in memory, as a fuzz target changes them. Their checksums are right always.
#pragma once

#include <map>

#include "core/base/page_row.hpp"
#include "core/segments/block_storage.hpp"
#include "core/stored/filter_options.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace cuckoo::test {

class FuzzBlocks final : public segments::BlockStorage {
 public:
  std::map<int64_t, Bytes> rows;

  void put(int64_t id, std::span<const std::byte> content, uint64_t seed) {
    rows[id] = encode_page_row(content, id, seed);
  }
  std::span<const std::byte> content(int64_t id) const {
    return std::span(rows.at(id)).first(rows.at(id).size() - kPageCrcBytes);
  }

  Status read(int64_t first, int64_t last, const Visitor& visitor) override {
    for (auto at = rows.lower_bound(first); at != rows.end() && at->first <= last; ++at) {
      const Bytes copy = at->second;  // the sanitizer sees reads past its end, or after the visit
      CUCKOO_TRY(visitor(at->first, copy));
    }
    return {};
  }
  Status write(int64_t id, std::span<const std::byte> block, bool) override {
    rows[id].assign(block.begin(), block.end());
    return {};
  }
  Status erase(int64_t first, int64_t last) override {
    rows.erase(rows.lower_bound(first), rows.upper_bound(last));
    return {};
  }
  Status poll() override { return {}; }
};

}  // namespace cuckoo::test
