// The options of flash_kv: what CREATE takes, how %_config keeps them; and the row `record`, the
// state that the pages have.
//
// Invariants
//   I1  what was chosen is stored, defaults too: a later default never reinterprets an old table.
//   I2  the digest of all that decides what stored bytes mean is in the record: an option row that
//       was changed from outside is found.
//   I3  the number of sectors is in the record alone: 'resize' changes it with the state.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/flash/store.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

extern const std::array<ShadowTable, 2> kFlashTables;

// Of the shadow tables.
inline constexpr uint32_t kFlashFormat = 3;

struct FlashOptions {
  FlashGeometry geometry;  // blocks: as chosen
  DigestKind digest = DigestKind::kSha1;
  uint32_t hashes = 2;
  uint32_t ways = 4;
  uint64_t seed = 0;
  uint32_t page_bytes = 0;
};

std::span<const OptionSpec> flash_option_specs() noexcept;

// Throws SqlError that names the table when options contradict one another. Without the option the
// seed is random.
FlashOptions chosen_flash_options(const std::string& table, const Options& options,
                                  uint32_t page_bytes);
// Whole erase blocks for that many bytes; throws SqlError, naming the range, when they are too few
// or too many.
uint32_t flash_blocks_for(const std::string& table, const FlashGeometry& geometry, double bytes,
                          const std::string& what);

// Of all options but the number of blocks.
uint64_t digest_of(const FlashOptions& options) noexcept;

void store_flash_options(ShadowStore& store, const FlashOptions& options);
// Without the number of blocks. Throws SqlError (SQLITE_CORRUPT_VTAB) that names the row that is
// not valid.
FlashOptions stored_flash_options(ShadowStore& store);

struct FlashStateRecord {
  uint64_t options_digest = 0;
  uint64_t state = 0;  // FlashStore::state()
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint64_t page_rows = 0;
  uint64_t page_id_sum = 0;
  FlashStoreStats stats;  // without those of reads
};

std::vector<std::byte> encode_flash_state(const FlashStateRecord& record);
// kCorrupt when it is damaged or of another format.
Result<FlashStateRecord> decode_flash_state(std::span<const std::byte> bytes);

}  // namespace cuckoo
