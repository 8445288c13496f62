#include "core/base/page_row.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/mix.hpp"

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
  seal_page_row(row, id, seed);
  return row;
}

void seal_page_row(std::span<std::byte> row, int64_t id, uint64_t seed) noexcept {
  const size_t content = row.size() - kPageCrcBytes;
  store_le(&row[content], page_crc(row.first(content), id, seed));
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

uint64_t history_with(uint64_t history, uint64_t index,
                      std::span<const std::byte> content) noexcept {
  return XXH3_64bits_withSeed(content.data(), content.size(), mix64(history ^ index));
}

Status PageCount::expect(const PageCount& stored, const std::string& of) const {
  if (*this == stored) {
    return {};
  }
  return corrupt(of + ": " + std::to_string(pages) + " pages, expected " +
                 std::to_string(stored.pages) + ": some are missing or too many");
}

}  // namespace cuckoo
