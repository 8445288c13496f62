// How long the pages are that are stored in rows, and where each number comes from. DESIGN.md, "2.
// State is in shadow tables, memory is a cache", says why these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cuckoo {

// Whole cache lines, so that no block of a blocked Bloom filter straddles two pages. Also the least
// that a page has.
inline constexpr uint32_t kPageStepBytes = 64;
// Behind the content of every page row and log row.
inline constexpr uint32_t kPageCrcBytes = 4;

// A database page unless somebody chose otherwise: SQLite's default.
inline constexpr uint32_t kDatabasePageBytes = 4096;
// What a page row leaves free of its database page: of a row longer than the usable bytes less 35
// SQLite puts a part into another page, and the row's header takes 4.
inline constexpr uint32_t kDatabasePageOverhead = 35 + 4;

// The content of a page whose row fills a database page with so many usable bytes. That of 4096
// bytes (4032) is the longest: more loaded barely faster and cost up to seven times as much to
// write.
constexpr uint32_t page_bytes_in(int64_t usable_bytes) noexcept {
  constexpr int64_t kOverhead = kDatabasePageOverhead + kPageCrcBytes;
  const int64_t usable = std::min<int64_t>(usable_bytes, kDatabasePageBytes);
  const int64_t content = (usable - kOverhead) / kPageStepBytes * kPageStepBytes;
  return static_cast<uint32_t>(std::max<int64_t>(content, kPageStepBytes));
}

// How many rows of that length stand in one database page. Beside a row's bytes there are a header
// of 4, its length in 2, its id in up to 6 and its place in 2; a page begins with 8.
constexpr uint64_t rows_per_database_page(uint64_t row_bytes,
                                          uint64_t database_page_bytes) noexcept {
  constexpr uint64_t kBesideRow = 14;
  return std::max<uint64_t>(1, (database_page_bytes - 8) / (row_bytes + kBesideRow));
}

// The longest page that is stored, and the length in everything that has no database page to fill
// (images; the slots of a ring). Stored formats depend on it.
inline constexpr uint32_t kPageBytes = page_bytes_in(kDatabasePageBytes);
static_assert(kPageBytes == 4032);
inline constexpr size_t kPageRowBytes = kPageBytes + kPageCrcBytes;

// The longest that filters in memory take: what their arithmetic is proved for.
inline constexpr uint32_t kMaxPageBytes = 8192;

// Is there a page of so many bytes?
constexpr bool is_page_size(uint32_t bytes) noexcept {
  return bytes >= kPageStepBytes && bytes % kPageStepBytes == 0 && bytes <= kMaxPageBytes;
}

}  // namespace cuckoo
