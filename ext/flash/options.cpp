#include "ext/flash/options.hpp"

#include <cmath>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/page_size.hpp"
#include "ext/table/stored_options.hpp"

namespace cuckoo {

constinit const std::array<ShadowTable, 2> kFlashTables = {kConfigTable, kPagesTable};
namespace {

constexpr uint32_t kFlashRecordMagic = 0x53464B43;  // "CKFS"
constexpr uint32_t kFlashRecordVersion = 4;
constexpr double kDefaultFlashBytes = 0x1p24;
constexpr uint64_t kLeastBlocks = 16;

constexpr OptionSpec kFlashSpecs[] = {
    // The geometry says how large both may be.
    {"size",
     OptionKind::kSize,
     1,
     0x1p62,
     "a size, such as '64KB' or '16MB', from 16 erase blocks to 2^32 program units",
     {}},
    {"sectors", OptionKind::kWhole, 1, 0x1p62, "a whole number of sectors", {}},
    {"sector_size", OptionKind::kSize, 512, 65536, "a power of two from 512 to 64KB", {}},
    {"erase_block", OptionKind::kWhole, 1, 1024, "a whole number of sectors from 1 to 1024", {}},
    {"program_unit", OptionKind::kWord, 0, 0, "16, 32 or 64", "16 32 64"},
    {"endurance", OptionKind::kWhole, 20, 1e9, "a whole number of erases from 20 to 10^9", {}},
    {"digest", OptionKind::kWord, 0, 0, "sha1 or sha256", "sha1 sha256"},
    {"hashes", OptionKind::kWhole, 2, 4, "a whole number from 2 to 4", {}},
    {"ways", OptionKind::kWhole, 1, 8, "a whole number from 1 to 8", {}},
    {"seed", OptionKind::kSeed, 0, 0, "a 64-bit integer", {}},
};

std::string size_text(double bytes) {
  const char* unit = " bytes";
  for (const char* larger : {"KB", "MB", "GB", "TB"}) {
    if (bytes < 1024 || std::fmod(bytes, 1024) != 0) {
      break;
    }
    bytes /= 1024;
    unit = larger;
  }
  return sql_text("%.0f%s", bytes, unit);
}

}  // namespace

std::span<const OptionSpec> flash_option_specs() noexcept { return kFlashSpecs; }

namespace {

// `bytes` is a size in bytes. The user counts it in units of `unit` bytes, and `text` writes such a
// number of units.
template <class Text>
uint32_t blocks_for(const std::string& table, const FlashGeometry& geometry, double bytes,
                    double unit, Text text, const std::string& what) {
  const double block = geometry.block_bytes();
  const double least = static_cast<double>(kLeastBlocks) * block;
  const double most = 0x1p32 * geometry.program_unit_bytes;
  const double blocks = std::ceil(bytes / block);
  if (blocks < static_cast<double>(kLeastBlocks) || blocks * block > most) {
    throw SqlError(SQLITE_ERROR, table + ": " + what + " is " + text(bytes / unit) + ", expected " +
                                     text(least / unit) + " (16 erase blocks of " +
                                     text(block / unit) + ") to " + text(most / unit) +
                                     " (2^32 program units of " +
                                     std::to_string(geometry.program_unit_bytes) + " bytes)");
  }
  return static_cast<uint32_t>(blocks);
}

}  // namespace

uint32_t flash_blocks_for(const std::string& table, const FlashGeometry& geometry, double bytes,
                          const std::string& what) {
  return blocks_for(table, geometry, bytes, 1, size_text, what);
}

FlashOptions chosen_flash_options(const std::string& table, const Options& options,
                                  uint32_t page_bytes) {
  if (options.has("size") && options.has("sectors")) {
    throw SqlError(SQLITE_ERROR, table + ": options size and sectors exclude one another");
  }
  FlashOptions chosen;
  FlashGeometry& geometry = chosen.geometry;
  const auto small = [&options](const char* name, uint32_t otherwise) {
    return static_cast<uint32_t>(options.whole(name).value_or(otherwise));
  };
  geometry.sector_size_bytes = small("sector_size", geometry.sector_size_bytes);
  geometry.sectors_per_block = small("erase_block", geometry.sectors_per_block);
  geometry.endurance_erases = small("endurance", geometry.endurance_erases);
  if (const std::optional<std::string> unit = options.text("program_unit")) {
    geometry.program_unit_bytes = static_cast<uint32_t>(std::stoul(*unit));
  }
  throw_if(table,
           check_geometry({geometry.sector_size_bytes, geometry.sectors_per_block,
                           geometry.program_unit_bytes, kLeastBlocks, geometry.endurance_erases}));
  const double sector = geometry.sector_size_bytes;
  if (const std::optional<double> sectors = options.number("sectors")) {
    const auto number = [](double count) { return sql_text("%.0f", count); };
    geometry.blocks =
        blocks_for(table, geometry, *sectors * sector, sector, number, "option sectors");
  } else {
    const auto least = static_cast<double>(kLeastBlocks * geometry.block_bytes());
    geometry.blocks = flash_blocks_for(
        table, geometry, options.number("size").value_or(std::max(kDefaultFlashBytes, least)),
        "option size");
  }
  chosen.digest =
      options.text("digest").value_or("sha1") == "sha1" ? DigestKind::kSha1 : DigestKind::kSha256;
  chosen.hashes = small("hashes", chosen.hashes);
  chosen.ways = small("ways", chosen.ways);
  chosen.page_bytes = page_bytes;
  if (const std::optional<int64_t> seed = options.seed("seed")) {
    chosen.seed = static_cast<uint64_t>(*seed);
  } else {
    sqlite3_randomness(sizeof chosen.seed, &chosen.seed);
  }
  return chosen;
}

uint64_t digest_of(const FlashOptions& options) noexcept {
  const FlashGeometry& geometry = options.geometry;
  const uint64_t words[] = {
      geometry.sector_size_bytes,
      geometry.sectors_per_block,
      geometry.program_unit_bytes,
      geometry.endurance_erases,
      static_cast<uint64_t>(options.digest),
      options.hashes,
      options.ways,
      options.seed,
      options.page_bytes,
      kFlashFormat,
  };
  std::byte bytes[sizeof words];
  for (size_t i = 0; i < std::size(words); ++i) {
    store_le(&bytes[8 * i], words[i]);
  }
  return XXH3_64bits(bytes, sizeof bytes);
}

// --- stored --------------------------------------------------------------------------------------

void store_flash_options(ShadowStore& store, const FlashOptions& options, Affinity key) {
  const FlashGeometry& geometry = options.geometry;
  const auto whole = [&store](const char* key, uint64_t value) {
    store.write_option(key, static_cast<int64_t>(value));
  };
  whole("format", kFlashFormat);
  whole("sector_size", geometry.sector_size_bytes);
  whole("erase_block", geometry.sectors_per_block);
  whole("program_unit", geometry.program_unit_bytes);
  whole("endurance", geometry.endurance_erases);
  store.write_option("digest", std::string(digest_name(options.digest)));
  whole("hashes", options.hashes);
  whole("ways", options.ways);
  whole("seed", options.seed);
  whole("page_bytes", options.page_bytes);
  store.write_option("affinity", std::string(affinity_word(key)));
}

FlashOptions stored_flash_options(ShadowStore& store, Affinity key) {
  const StoredOptions stored(store);
  stored.format(kFlashFormat, kFlashFormat);
  const auto small = [&stored](const char* key, int64_t least, int64_t most) {
    return static_cast<uint32_t>(stored.whole(key, least, most));
  };
  FlashOptions options;
  FlashGeometry& geometry = options.geometry;
  geometry.sector_size_bytes = small("sector_size", 512, 65536);
  geometry.sectors_per_block = small("erase_block", 1, 1024);
  geometry.program_unit_bytes = small("program_unit", 16, 64);
  geometry.endurance_erases = small("endurance", 1, 1000000000);
  geometry.blocks = kLeastBlocks;
  stored.expect(check_geometry(geometry).ok(), "sector_size");
  const std::string& digest = stored.text("digest");
  stored.expect(digest == "sha1" || digest == "sha256", "digest");
  options.digest = digest == "sha1" ? DigestKind::kSha1 : DigestKind::kSha256;
  options.hashes = small("hashes", 2, 4);
  options.ways = small("ways", 1, 8);
  options.seed = static_cast<uint64_t>(stored.whole("seed", INT64_MIN, INT64_MAX));
  options.page_bytes = small("page_bytes", kPageStepBytes, kPageBytes);
  stored.expect(is_page_size(options.page_bytes), "page_bytes");
  if (const std::string& made = stored.text("affinity"); made != affinity_word(key)) {
    throw SqlError(SQLITE_CORRUPT_VTAB, store.table() +
                                            ": corrupt: its key is declared with another type than"
                                            " the one it was made with, " +
                                            shown_types(made));
  }
  stored.expect_no_more();
  return options;
}

namespace {

// Calls the visitor with every field, in the order of the bytes.
template <class Record, class Visitor>
void for_each_field(Record& record, Visitor&& visit) {
  visit(record.options_digest);
  visit(record.state);
  visit(record.blocks);
  visit(record.entries);
  visit(record.page_rows);
  visit(record.page_id_sum);
  visit(record.page_history);
  visit(record.stats.user_bytes);
  visit(record.stats.programmed_bytes);
  visit(record.stats.erases);
  visit(record.stats.collections);
  visit(record.stats.checkpoints);
  visit(record.stats.notes);
}

constexpr size_t kFields = 13;
constexpr size_t kRecordBytes = 8 + 8 * kFields + 4;

}  // namespace

std::vector<std::byte> encode_flash_state(const FlashStateRecord& record) {
  std::vector<std::byte> bytes(kRecordBytes);
  store_le(&bytes[0], kFlashRecordMagic);
  store_le(&bytes[4], kFlashRecordVersion);
  size_t at = 8;
  for_each_field(record, [&](uint64_t field) {
    store_le(&bytes[at], field);
    at += 8;
  });
  store_le(&bytes[at], crc32c(std::span(bytes).first(at)));
  return bytes;
}

Result<FlashStateRecord> decode_flash_state(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || load_le<uint32_t>(bytes.data()) != kFlashRecordMagic) {
    return corrupt("record that is not one of a flash_kv");
  }
  if (const auto version = load_le<uint32_t>(&bytes[4]); version != kFlashRecordVersion) {
    return corrupt("record of format " + std::to_string(version) + ", this version reads format " +
                   std::to_string(kFlashRecordVersion));
  }
  if (bytes.size() != kRecordBytes) {
    return corrupt("record of " + std::to_string(bytes.size()) + " bytes, expected " +
                   std::to_string(kRecordBytes));
  }
  const auto fields = bytes.first(kRecordBytes - 4);
  if (crc32c(fields) != load_le<uint32_t>(&bytes[kRecordBytes - 4])) {
    return corrupt("record with a wrong checksum");
  }
  FlashStateRecord record;
  size_t at = 8;
  for_each_field(record, [&](uint64_t& field) {
    field = load_le<uint64_t>(&bytes[at]);
    at += 8;
  });
  if (record.blocks < kLeastBlocks || record.blocks > UINT32_MAX || record.entries > UINT32_MAX) {
    return corrupt("record with a number out of range");
  }
  return record;
}

}  // namespace cuckoo
