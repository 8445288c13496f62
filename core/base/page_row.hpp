// A stored page: content, then CRC-32C of content, row id and the table's seed. So a page that was
// damaged, moved to another id or copied from another table is found when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/page_size.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

std::vector<std::byte> encode_page_row(std::span<const std::byte> content, int64_t id,
                                       uint64_t seed);
// The content, a view into the row.
Result<std::span<const std::byte>> decode_page_row(std::span<const std::byte> row, int64_t id,
                                                   uint64_t seed);

}  // namespace cuckoo
