// The record of a filter: the few numbers that say what its pages, log rows and overflow entries
// mean. Rewritten by every flush; what another connection reads first.
//
// Bytes (FORMAT.md, "Record"): magic, version, the fields below as 64-bit little-endian words in
// this order, CRC-32C of all before it. Version 1, of tables of format 1, lacks the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo {

// The versions this code reads and writes; a table's stays what it was made with.
inline constexpr uint32_t kOldestRecordVersion = 1;
inline constexpr uint32_t kFilterRecordVersion = 2;

struct FilterRecord {
  uint32_t version = kFilterRecordVersion;

  uint64_t options_digest = 0;  // of the options that were chosen at CREATE
  uint64_t epoch = 0;           // owns the ids epoch·2^40 + i of pages and log rows

  uint64_t capacity = 0;  // what the geometry was computed for
  GeometryWords geometry;

  // the log: where it starts
  uint64_t start_chain = 0;
  uint64_t start_position = 0;
  uint64_t start_items = 0;
  uint64_t first_row = 0;
  uint64_t compacted_entries = 0;  // length just after the last compaction
  uint64_t dead = 0;  // 2·removes + adds whose cell was there already, folded since then
  // … how far it is folded into the pages
  uint64_t fold_position = 0;
  uint64_t fold_chain = 0;
  uint64_t fold_items = 0;
  uint64_t fold_row = 0;  // first row behind the fold
  // … where it ends
  uint64_t end_position = 0;
  uint64_t end_chain = 0;
  uint64_t end_items = 0;
  uint64_t end_row = 0;  // first id that no row has used

  // the pages as last folded
  uint64_t base_id = 0;  // of the geometry and all folds that made them: equal ids, equal bytes
  uint64_t occupied = 0;
  uint64_t cells_digest = 0;
  uint64_t overflow_cells = 0;
  uint64_t overflow_items = 0;
  uint64_t overflow_digest = 0;
  uint64_t page_rows = 0;
  uint64_t page_id_sum = 0;  // modulo 2^64

  uint64_t hashless = 0;  // 1: the pages hold what the log lacks, so they can't be made anew
  // A sliding window's generations: which one this is, and how many older ones there are.
  uint64_t rotation = 0;
  uint64_t older = 0;

  // Which types of keys were hashed since the filter was empty: bits that mean nothing to core.
  uint64_t key_types = 0;

  friend bool operator==(const FilterRecord&, const FilterRecord&) = default;
};

// Generations of rows are never used again; ids of pages and log rows stay below 2^62.
inline constexpr uint64_t kMaxEpoch = (uint64_t{1} << 22) - 1;
inline int64_t first_row_id(uint64_t epoch) noexcept { return static_cast<int64_t>(epoch << 40); }

// The base_id of pages made anew, from the log up to `fold_chain`, with the record's geometry.
uint64_t first_base_id(const FilterRecord& record) noexcept;

std::vector<std::byte> encode_record(const FilterRecord& record);
// Checks length, magic, version, checksum and that the numbers fit together, but for the geometry.
Result<FilterRecord> decode_record(std::span<const std::byte> bytes);

}  // namespace cuckoo
