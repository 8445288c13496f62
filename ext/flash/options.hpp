// The options of flash_kv, as CREATE takes them and as %_config keeps them; and the row `record`,
// which names the state of the pages.
//
// Invariants
//   I1  all options are stored, defaults too, so a later default never reinterprets an old table.
//   I2  the record has the digest of all options on which the meaning of stored bytes depends. So
//       an option row that was changed from outside is noticed.
//   I3  only the record has the number of sectors, because 'resize' changes it with the state.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/flash/store.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

extern const std::array<ShadowTable, 2> kFlashTables;

// The format of the shadow tables.
inline constexpr uint32_t kFlashFormat = 4;

struct FlashOptions {
  FlashGeometry geometry;  // with the number of blocks as CREATE said it
  DigestKind digest = DigestKind::kSha1;
  uint32_t hashes = 2;
  uint32_t ways = 4;
  uint64_t seed = 0;
  uint32_t page_bytes = 0;
};

std::span<const OptionSpec> flash_option_specs() noexcept;

// Throws SqlError that names the table if options contradict one another. If the seed is not given,
// it is random.
FlashOptions chosen_flash_options(const std::string& table, const Options& options,
                                  uint32_t page_bytes);
// Returns how many whole erase blocks have that many bytes. Throws SqlError that names the range if
// they are too few or too many.
uint32_t flash_blocks_for(const std::string& table, const FlashGeometry& geometry, double bytes,
                          const std::string& what);

// Returns the digest of all options except the number of blocks.
uint64_t digest_of(const FlashOptions& options) noexcept;

// `key`: the affinity with which the key is declared, which is stored beside them.
void store_flash_options(ShadowStore& store, const FlashOptions& options, Affinity key);
// Reads all options except the number of blocks. Throws SqlError (SQLITE_CORRUPT_VTAB) that names
// the row that is not valid, or says how the key was declared when the table was made.
FlashOptions stored_flash_options(ShadowStore& store, Affinity key);

struct FlashStateRecord {
  uint64_t options_digest = 0;
  uint64_t state = 0;  // FlashStore::state()
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint64_t page_rows = 0;
  uint64_t page_id_sum = 0;
  uint64_t page_history = 0;  // FlashPages::history()
  FlashStoreStats stats;      // without the counts of reads
};

std::vector<std::byte> encode_flash_state(const FlashStateRecord& record);
// Returns kCorrupt if the record is damaged or has another format.
Result<FlashStateRecord> decode_flash_state(std::span<const std::byte> bytes);

}  // namespace cuckoo
