#include "ext/flash/info.hpp"

#include "ext/sqlite/function.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// The columns, in the order of the declaration.
struct FlashInfoColumn {
  enum : int {
    kSchema,
    kName,
    kEntries,
    kSizeBytes,
    kSectorCount,
    kSectorSize,
    kEraseBlock,
    kProgramUnit,
    kEndurance,
    kDigest,
    kLiveBytes,
    kDeadBytes,
    kFreeBytes,
    kChargedBytes,
    kUsableBytes,
    kLoadFactor,
    kIndexBytes,
    kSlotMoves,
    kExpansions,
    kSectorReads,
    kRecordReads,
    kFalseReads,
    kBytesWritten,
    kBytesProgrammed,
    kWriteAmplification,
    kErases,
    kEraseMin,
    kEraseAvg,
    kEraseMax,
    kBadBlocks,
    kCollections,
    kCheckpoints,
    kMemoryBytes,
    kError,
    kInfoArgument,
  };
};

constexpr int kSurveys = 2;  // in idxNum, beside 1 for the argument

struct SectorColumn {
  enum : int {
    kSector,
    kState,
    kEraseCount,
    kSectorLive,
    kSectorDead,
    kSectorFree,
    kSectorArgument,
  };
};

}  // namespace

std::optional<std::string> flash_name_argument(sqlite3_value* name, const char* function) {
  if (sqlite3_value_type(name) == SQLITE_NULL) {
    return std::nullopt;
  }
  if (sqlite3_value_type(name) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, std::string(function) + ": the argument is a flash_kv's name");
  }
  return text_argument(name);
}

// --- flash_kv_info -------------------------------------------------------------------------------

std::string FlashInfo::declaration() const {
  return "CREATE TABLE x(schema TEXT, name TEXT, entries INTEGER, size_bytes INTEGER, sectors "
         "INTEGER,"
         " sector_size INTEGER, erase_block INTEGER, program_unit INTEGER, endurance INTEGER,"
         " digest TEXT, live_bytes INTEGER, dead_bytes INTEGER, free_bytes INTEGER,"
         " charged_bytes INTEGER, usable_bytes INTEGER, load_factor REAL, index_bytes INTEGER,"
         " slot_moves INTEGER, expansions INTEGER, sector_reads INTEGER, record_reads INTEGER,"
         " false_reads INTEGER, bytes_written INTEGER, bytes_programmed INTEGER,"
         " write_amplification REAL, erases INTEGER, erase_min INTEGER, erase_avg REAL,"
         " erase_max INTEGER, bad_blocks INTEGER, collections INTEGER, checkpoints INTEGER,"
         " memory_bytes INTEGER, error TEXT, \"table\" TEXT HIDDEN)";
}

bool FlashInfo::best_index(sqlite3_index_info* info) {
  info->estimatedCost = 1000;
  info->estimatedRows = 10;
  if (!take_arguments(info, FlashInfoColumn::kInfoArgument)) {
    return false;
  }
  if (info->idxNum == 1) {
    info->estimatedCost = 10;
    info->estimatedRows = 1;
  }
  constexpr uint64_t kSpace = uint64_t{1} << FlashInfoColumn::kLiveBytes |
                              uint64_t{1} << FlashInfoColumn::kDeadBytes |
                              uint64_t{1} << FlashInfoColumn::kFreeBytes;
  if ((info->colUsed & kSpace) != 0) {
    info->idxNum |= kSurveys;
  }
  return true;
}

void FlashInfo::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  rows_.clear();
  argument_ = {};
  surveys_ = (plan & kSurveys) != 0;
  if ((plan & ~kSurveys) == 0) {
    rows_.take_all(table_.connection());
  } else if (const auto name = flash_name_argument(values[0], "flash_kv_info")) {
    argument_.assign(values[0], Affinity::kNone);
    rows_.take(table_.connection(), *name);
  }
  survey();
}

void FlashInfo::Cursor::next() {
  rows_.next();
  survey();
}

// Reads the headers of all records. If one can't be read, that is an error of this row, too.
void FlashInfo::Cursor::survey() {
  survey_.reset();
  if (surveys_) {
    rows_.attempt([this](LiveFlash& live) { survey_.emplace(live); });
  }
}

void FlashInfo::Cursor::space_column(sqlite3_context* context, int column) const {
  const SectorFacts& total = survey_->total();
  result_count(context, column == FlashInfoColumn::kLiveBytes   ? total.live_bytes
                        : column == FlashInfoColumn::kDeadBytes ? total.dead_bytes
                                                                : total.free_bytes);
}

void FlashInfo::Cursor::column(sqlite3_context* context, int column) {
  if (column == FlashInfoColumn::kInfoArgument) {
    return argument_.result(context);
  }
  const TableRows<LiveFlash>::Found& found = rows_.row();
  const std::string* const text = column == FlashInfoColumn::kSchema  ? &found.schema
                                  : column == FlashInfoColumn::kName  ? &found.table
                                  : column == FlashInfoColumn::kError ? &found.error
                                                                      : nullptr;
  if (text != nullptr && !text->empty()) {
    result_text(context, *text);
  } else if (text == nullptr && found.error.empty()) {
    table_column(context, column);
  }
}

void FlashInfo::Cursor::table_column(sqlite3_context* context, int column) {
  LiveFlash& live = *rows_.row().live;
  live.follow();
  const FlashStore& flash = live.flash();
  const FlashGeometry& geometry = live.pages().geometry();
  const uint64_t unit = geometry.program_unit_bytes;
  switch (column) {
    case FlashInfoColumn::kEntries:
      return result_count(context, flash.size());
    case FlashInfoColumn::kSizeBytes:
      return result_count(context, geometry.size_bytes());
    case FlashInfoColumn::kSectorCount:
      return result_count(context, geometry.sectors());
    case FlashInfoColumn::kSectorSize:
      return result_count(context, geometry.sector_size_bytes);
    case FlashInfoColumn::kEraseBlock:
      return result_count(context, geometry.sectors_per_block);
    case FlashInfoColumn::kProgramUnit:
      return result_count(context, unit);
    case FlashInfoColumn::kEndurance:
      return result_count(context, geometry.endurance_erases);
    case FlashInfoColumn::kDigest:
      return result_text(context, digest_name(live.options().digest));
    case FlashInfoColumn::kLiveBytes:
    case FlashInfoColumn::kDeadBytes:
    case FlashInfoColumn::kFreeBytes:
      return space_column(context, column);
    case FlashInfoColumn::kChargedBytes:
      return result_count(context, flash.charged_units() * unit);
    case FlashInfoColumn::kUsableBytes:
      return result_count(context, flash.usable_units() * unit);
    case FlashInfoColumn::kLoadFactor:
    case FlashInfoColumn::kIndexBytes:
    case FlashInfoColumn::kSlotMoves:
    case FlashInfoColumn::kExpansions:
      return index_column(context, column);
    case FlashInfoColumn::kMemoryBytes:
      return result_count(context, live.pages().memory_bytes() + flash.index().memory_bytes() +
                                       flash.blocks().memory_bytes() +
                                       flash.undo_log().memory_bytes());
    default:
      return counter_column(context, column);
  }
}

// Shows a figure of the whole index. So first loads the index from the device.
void FlashInfo::Cursor::index_column(sqlite3_context* context, int column) const {
  LiveFlash& live = *rows_.row().live;
  live.expect(live.flash().load_index());
  const FlashIndex& index = live.flash().index();
  switch (column) {
    case FlashInfoColumn::kIndexBytes:
      return result_count(context, index.memory_bytes());
    case FlashInfoColumn::kLoadFactor:
      return sqlite3_result_double(context, index.figures().load_factor);
    case FlashInfoColumn::kSlotMoves:
      return result_count(context, index.figures().relocations);
    default:
      return result_count(context, index.figures().expansions);
  }
}

void FlashInfo::Cursor::counter_column(sqlite3_context* context, int column) const {
  LiveFlash& live = *rows_.row().live;
  const FlashStore& flash = live.flash();
  const FlashStoreStats& stats = flash.stats();
  switch (column) {
    case FlashInfoColumn::kSectorReads:
      return result_count(context, live.pages().sector_reads());
    case FlashInfoColumn::kRecordReads:
      return result_count(context, stats.record_reads);
    case FlashInfoColumn::kFalseReads:
      return result_count(context, stats.false_reads);
    case FlashInfoColumn::kBytesWritten:
      return result_count(context, stats.user_bytes);
    case FlashInfoColumn::kBytesProgrammed:
      return result_count(context, stats.programmed_bytes);
    case FlashInfoColumn::kWriteAmplification:
      return stats.user_bytes == 0
                 ? sqlite3_result_null(context)
                 : sqlite3_result_double(context, static_cast<double>(stats.programmed_bytes) /
                                                      static_cast<double>(stats.user_bytes));
    case FlashInfoColumn::kErases:
      return result_count(context, stats.erases);
    case FlashInfoColumn::kEraseMin:
      return result_count(context, flash.wear().min);
    case FlashInfoColumn::kEraseAvg:
      return sqlite3_result_double(context, flash.wear().mean);
    case FlashInfoColumn::kEraseMax:
      return result_count(context, flash.wear().max);
    case FlashInfoColumn::kBadBlocks:
      return result_count(context, flash.blocks().bad_count());
    case FlashInfoColumn::kCollections:
      return result_count(context, stats.collections);
    case FlashInfoColumn::kCheckpoints:
      return result_count(context, stats.checkpoints);
    default:
      return;
  }
}

// --- flash_kv_sectors ----------------------------------------------------------------------------

std::string FlashSectors::declaration() const {
  return "CREATE TABLE x(sector, state, erase_count, live_bytes, dead_bytes, free_bytes,"
         " \"table\" HIDDEN)";
}

bool FlashSectors::best_index(sqlite3_index_info* info) {
  if (!take_arguments(info, SectorColumn::kSectorArgument)) {
    return false;
  }
  info->estimatedCost = 100000;
  info->estimatedRows = 10000;
  info->orderByConsumed = info->nOrderBy == 1 &&
                                  info->aOrderBy[0].iColumn == SectorColumn::kSector &&
                                  info->aOrderBy[0].desc == 0
                              ? 1
                              : 0;
  return true;
}

void FlashSectors::Cursor::filter(int plan, const char*, int, sqlite3_value** values) {
  survey_.reset();
  sector_ = 0;
  if (plan == 0) {
    throw SqlError(SQLITE_ERROR, "flash_kv_sectors takes a flash_kv's name");
  }
  const auto name = flash_name_argument(values[0], "flash_kv_sectors");
  if (name) {
    argument_.assign(values[0], Affinity::kNone);
    survey_.emplace(*table_.connection().find<LiveFlash>(*name));
  }
}

void FlashSectors::Cursor::column(sqlite3_context* context, int column) {
  const SectorFacts facts = survey_->sector(sector_);
  switch (column) {
    case SectorColumn::kSector:
      return result_count(context, sector_);
    case SectorColumn::kState:
      return sqlite3_result_text(context, state_name(facts.state), -1, SQLITE_STATIC);
    case SectorColumn::kEraseCount:
      return result_count(context, facts.erase_count);
    case SectorColumn::kSectorLive:
      return result_count(context, facts.live_bytes);
    case SectorColumn::kSectorDead:
      return result_count(context, facts.dead_bytes);
    case SectorColumn::kSectorFree:
      return result_count(context, facts.free_bytes);
    default:
      return argument_.result(context);
  }
}

}  // namespace cuckoo
