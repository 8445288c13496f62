// flash_kv_info([table]): a table-valued function with one row for each flash_kv, or only for that
// one. A table that can't be read has its error in its row, and the others are shown, too.
// flash_kv_sectors(table): one row for each sector.
#include <optional>
#include <span>
#include <string>

#include "ext/flash/functions.hpp"
#include "ext/flash/survey.hpp"
#include "ext/table/registration.hpp"
#include "ext/table/table_function.hpp"
#include "ext/table/table_rows.hpp"

namespace cuckoo {
namespace {

// --- flash_kv_info -------------------------------------------------------------------------------

using FlashInfoRow = const TableRows<LiveFlash>::Found;
class FlashInfo;
using FlashColumn = Column<FlashInfoRow, FlashInfo>;

class FlashInfo {
 public:
  static void plan(sqlite3_index_info& info) noexcept;
  bool start(Connection& connection, const Arguments& arguments);
  bool find(uint64_t number);
  bool show(sqlite3_context* context, const FlashColumn& column);

  LiveFlash& live() const noexcept { return *rows_.row().live; }
  FlashStore& flash() const noexcept { return live().flash(); }
  const FlashStoreStats& stats() const noexcept { return flash().stats(); }
  const FlashGeometry& geometry() const noexcept { return live().pages().geometry(); }
  uint64_t unit() const noexcept { return geometry().program_unit_bytes; }
  // Returns the index after all of it was loaded from the device, for figures of the whole.
  const FlashIndex& index() const {
    live().expect(flash().load_index());
    return flash().index();
  }
  const SectorFacts& space() const noexcept { return survey_->total(); }

 private:
  static constexpr int kSurveys = 2;  // in idxNum, beside 1 for the argument

  TableRows<LiveFlash> rows_;
  bool surveys_ = false;               // a column of this statement needs a survey
  std::optional<FlashSurvey> survey_;  // of the current row
};

constexpr FlashColumn kFlashColumns[] = {
    {"schema TEXT", [](FlashInfoRow& row) { return row.schema; }},
    {"name TEXT", [](FlashInfoRow& row) { return row.table; }},
    {"entries INTEGER", [](FlashInfo& row) { return row.flash().size(); }},
    {"size_bytes INTEGER", [](FlashInfo& row) { return row.geometry().size_bytes(); }},
    {"sectors INTEGER", [](FlashInfo& row) { return row.geometry().sectors(); }},
    {"sector_size INTEGER", [](FlashInfo& row) { return row.geometry().sector_size_bytes; }},
    {"erase_block INTEGER", [](FlashInfo& row) { return row.geometry().sectors_per_block; }},
    {"program_unit INTEGER", [](FlashInfo& row) { return row.unit(); }},
    {"endurance INTEGER", [](FlashInfo& row) { return row.geometry().endurance_erases; }},
    {"digest TEXT", [](FlashInfo& row) { return digest_name(row.live().options().digest); }},
    {"live_bytes INTEGER", [](FlashInfo& row) { return row.space().live_bytes; }},
    {"dead_bytes INTEGER", [](FlashInfo& row) { return row.space().dead_bytes; }},
    {"free_bytes INTEGER", [](FlashInfo& row) { return row.space().free_bytes; }},
    {"charged_bytes INTEGER",
     [](FlashInfo& row) { return row.flash().charged_units() * row.unit(); }},
    {"usable_bytes INTEGER",
     [](FlashInfo& row) { return row.flash().usable_units() * row.unit(); }},
    {"load_factor REAL", [](FlashInfo& row) { return row.index().figures().load_factor; }},
    {"index_bytes INTEGER", [](FlashInfo& row) { return row.index().memory_bytes(); }},
    {"slot_moves INTEGER", [](FlashInfo& row) { return row.index().figures().relocations; }},
    {"expansions INTEGER", [](FlashInfo& row) { return row.index().figures().expansions; }},
    {"sector_reads INTEGER", [](FlashInfo& row) { return row.live().pages().sector_reads(); }},
    {"record_reads INTEGER", [](FlashInfo& row) { return row.stats().record_reads; }},
    {"false_reads INTEGER", [](FlashInfo& row) { return row.stats().false_reads; }},
    {"bytes_written INTEGER", [](FlashInfo& row) { return row.stats().user_bytes; }},
    {"bytes_programmed INTEGER", [](FlashInfo& row) { return row.stats().programmed_bytes; }},
    {"write_amplification REAL",
     [](FlashInfo& row) {
       const FlashStoreStats& stats = row.stats();
       return stats.user_bytes == 0 ? std::nullopt
                                    : std::optional(static_cast<double>(stats.programmed_bytes) /
                                                    static_cast<double>(stats.user_bytes));
     }},
    {"erases INTEGER", [](FlashInfo& row) { return row.stats().erases; }},
    {"erase_min INTEGER", [](FlashInfo& row) { return row.flash().wear().min; }},
    {"erase_avg REAL", [](FlashInfo& row) { return row.flash().wear().mean; }},
    {"erase_max INTEGER", [](FlashInfo& row) { return row.flash().wear().max; }},
    {"bad_blocks INTEGER", [](FlashInfo& row) { return row.flash().blocks().bad_count(); }},
    {"collections INTEGER", [](FlashInfo& row) { return row.stats().collections; }},
    {"checkpoints INTEGER", [](FlashInfo& row) { return row.stats().checkpoints; }},
    {"memory_bytes INTEGER",
     [](FlashInfo& row) {
       return row.live().pages().memory_bytes() + row.flash().index().memory_bytes() +
              row.flash().blocks().memory_bytes() + row.flash().undo_log().memory_bytes();
     }},
    {"error TEXT",
     [](FlashInfoRow& row) { return row.error.empty() ? std::nullopt : std::optional(row.error); }},
    {"\"table\" TEXT HIDDEN"},
};

void FlashInfo::plan(sqlite3_index_info& info) noexcept {
  estimate(info, info.idxNum != 0 ? 10 : 1000, info.idxNum != 0 ? 1 : 10);
  constexpr size_t kSpace = 10;  // live_bytes, and the next two columns
  static_assert(std::string_view(kFlashColumns[kSpace].declaration) == "live_bytes INTEGER");
  if ((info.colUsed & uint64_t{7} << kSpace) != 0) {
    info.idxNum |= kSurveys;
  }
}

bool FlashInfo::start(Connection& connection, const Arguments& arguments) {
  rows_.clear();
  surveys_ = (arguments.plan() & kSurveys) != 0;
  if (arguments[0] == nullptr) {
    rows_.take_all(connection);
  } else if (const auto name = name_argument(arguments[0], "flash_kv_info", LiveFlash::kKinds)) {
    rows_.take(connection, *name);
  }
  return true;
}

// A survey reads the headers of all records. If one can't be read, that is an error of this row,
// too.
bool FlashInfo::find(uint64_t number) {
  survey_.reset();
  const bool found = rows_.find(number);
  if (surveys_) {
    rows_.attempt([this](LiveFlash& live) { survey_.emplace(live); });
  }
  return found;
}

bool FlashInfo::show(sqlite3_context* context, const FlashColumn& column) {
  const auto show_followed = [&] {
    (void)rows_.followed();
    return column.show(context, *this);
  };
  return column.show(context, rows_.row()) || (rows_.row().error.empty() && show_followed());
}

// --- flash_kv_sectors ----------------------------------------------------------------------------

struct FlashSectors {
  static constexpr int kFirstRowid = 0;
  static void plan(sqlite3_index_info& info) noexcept {
    estimate(info, 100000, 10000);
    note_order(info, 0);
  }
  bool start(Connection& connection, const Arguments& arguments) {
    survey.reset();
    if (const auto name = name_argument(arguments[0], "flash_kv_sectors", LiveFlash::kKinds)) {
      survey.emplace(*connection.find<LiveFlash>(*name));
    }
    return survey.has_value();
  }
  bool find(uint64_t number) {
    sector = number;
    return sector < survey->sectors();
  }
  SectorFacts facts() const noexcept { return survey->sector(sector); }

  std::optional<FlashSurvey> survey;
  uint64_t sector = 0;
};

constexpr Column<FlashSectors> kSectorColumns[] = {
    {"sector", [](FlashSectors& row) { return row.sector; }},
    {"state", [](FlashSectors& row) { return state_name(row.facts().state); }},
    {"erase_count", [](FlashSectors& row) { return row.facts().erase_count; }},
    {"live_bytes", [](FlashSectors& row) { return row.facts().live_bytes; }},
    {"dead_bytes", [](FlashSectors& row) { return row.facts().dead_bytes; }},
    {"free_bytes", [](FlashSectors& row) { return row.facts().free_bytes; }},
    {"\"table\" HIDDEN"},
};

}  // namespace

void register_flash_info(Registration& registration) {
  registration.module<TableFunction<FlashInfo, kFlashColumns>>("flash_kv_info");
  registration.module<TableFunction<FlashSectors, kSectorColumns>>("flash_kv_sectors");
}

}  // namespace cuckoo
