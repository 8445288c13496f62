#include "core/base/page_row.hpp"

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"

namespace cuckoo {
namespace {

uint32_t page_crc(std::span<const std::byte> content, int64_t id, uint64_t seed) noexcept {
  std::byte salt[16];
  store_le(&salt[0], static_cast<uint64_t>(id));
  store_le(&salt[8], seed);
  return crc32c(salt, crc32c(content));
}

}  // namespace

std::vector<std::byte> encode_page_row(std::span<const std::byte> content, int64_t id,
                                       uint64_t seed) {
  std::vector<std::byte> row(content.size() + kPageCrcBytes);
  std::copy(content.begin(), content.end(), row.begin());
  store_le(&row[content.size()], page_crc(content, id, seed));
  return row;
}

Result<std::span<const std::byte>> decode_page_row(std::span<const std::byte> row, int64_t id,
                                                   uint64_t seed) {
  if (row.size() < kPageCrcBytes) {
    return corrupt("a row of " + std::to_string(row.size()) + " bytes");
  }
  const auto content = row.first(row.size() - kPageCrcBytes);
  if (page_crc(content, id, seed) != load_le<uint32_t>(&row[content.size()])) {
    return corrupt("a wrong checksum");
  }
  return content;
}

}  // namespace cuckoo
