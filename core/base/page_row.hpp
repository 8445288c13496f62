// A stored page: content, then CRC-32C of content, row id and the table's seed. So a page that was
// damaged, moved to another id or copied from another table is found when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/page_size.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

std::vector<std::byte> encode_page_row(std::span<const std::byte> content, int64_t id,
                                       uint64_t seed);
// Writes the checksum into the last kPageCrcBytes of a row whose content is there.
void seal_page_row(std::span<std::byte> row, int64_t id, uint64_t seed) noexcept;
// Returns the content, as a view of the row.
Result<std::span<const std::byte>> decode_page_row(std::span<const std::byte> row, int64_t id,
                                                   uint64_t seed);

// Returns the history after one more row of a page was written, or deleted (then without content).
// It is a hash of all rows that were ever written, in their order.
uint64_t history_with(uint64_t history, uint64_t index,
                      std::span<const std::byte> content) noexcept;

// How many pages have a row, and the sum of their indexes. A table stores both for its pages, so
// that a reader finds that a row is missing, or was added.
struct PageCount {
  uint64_t pages = 0;
  uint64_t index_sum = 0;

  void add(uint64_t index) noexcept {
    ++pages;
    index_sum += index;
  }
  void remove(uint64_t index) noexcept {
    --pages;
    index_sum -= index;
  }
  // Returns kCorrupt if the pages that were read are not the stored ones. `of`: "segment 3".
  Status expect(const PageCount& stored, const std::string& of) const;

  friend bool operator==(const PageCount&, const PageCount&) = default;
};

}  // namespace cuckoo
