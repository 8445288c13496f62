// The lengths of the pages that are stored in rows, and where each number comes from. DESIGN.md,
// "2. State is in shadow tables, memory is a cache", gives the reasons.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cuckoo {

// A page has whole cache lines, so that no block of a blocked Bloom filter straddles two pages. The
// smallest page has one.
inline constexpr uint32_t kPageStepBytes = 64;
// The checksum after the content of every page row and log row.
inline constexpr uint32_t kPageCrcBytes = 4;

// SQLite's default length of a database page.
inline constexpr uint32_t kDatabasePageBytes = 4096;
// Bytes of a database page that a page row leaves free. If a row is longer than the usable bytes
// less 35, SQLite puts a part of it into another page; and the row's header takes 4.
inline constexpr uint32_t kDatabasePageOverhead = 35 + 4;

// Returns the content length of a page whose row fills a database page with so many usable bytes.
// The longest is that of 4096 bytes (4032), because longer ones loaded barely faster and cost up to
// seven times as much to write.
constexpr uint32_t page_bytes_in(int64_t usable_bytes) noexcept {
  constexpr int64_t kOverhead = kDatabasePageOverhead + kPageCrcBytes;
  const int64_t usable = std::min<int64_t>(usable_bytes, kDatabasePageBytes);
  const int64_t content = (usable - kOverhead) / kPageStepBytes * kPageStepBytes;
  return static_cast<uint32_t>(std::max<int64_t>(content, kPageStepBytes));
}

// Returns how many rows of that length fit one database page. Beside a row's bytes there are a
// header of 4, its length in 2, its id in up to 6 and its place in 2; a page begins with 8.
constexpr uint64_t rows_per_database_page(uint64_t row_bytes,
                                          uint64_t database_page_bytes) noexcept {
  constexpr uint64_t kBesideRow = 14;
  return std::max<uint64_t>(1, (database_page_bytes - 8) / (row_bytes + kBesideRow));
}

// The longest page that is stored. Images and the slots of a ring use this length too, because they
// have no database page to fill. Stored formats depend on it.
inline constexpr uint32_t kPageBytes = page_bytes_in(kDatabasePageBytes);
static_assert(kPageBytes == 4032);
inline constexpr size_t kPageRowBytes = kPageBytes + kPageCrcBytes;

// The longest page that filters in memory take, because their arithmetic is proved up to it.
inline constexpr uint32_t kMaxPageBytes = 8192;

// Returns whether a page may have so many bytes.
constexpr bool is_page_size(uint32_t bytes) noexcept {
  return bytes >= kPageStepBytes && bytes % kPageStepBytes == 0 && bytes <= kMaxPageBytes;
}

}  // namespace cuckoo
