#include "ext/flash/table.hpp"

#include <algorithm>

#include "ext/flash/cursor.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr double kFlashProbeCost = 40;      // more than a look-up by rowid, less than one by a text
constexpr double kCostOfScannedRecord = 8;  // its header is read from the log
constexpr double kCostOfPassedRecord = 4;   // its header is read, but the row is not given

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

FlashTable::FlashTable(const ModuleArguments& arguments)
    : StoredTable(arguments),
      connection_(arguments.connection),
      db_(arguments.db),
      declared_name_(arguments.table()),
      options_(arguments, arguments.connection.modules()),
      columns_(declared_name_, options_.columns(), arguments.creating),
      equal_keys_(*live_, columns_),
      rows_(*live_, columns_, connection_) {
  live_->declare_key(columns_.key_affinity());
}

void FlashTable::create() {
  live_->create(
      chosen_flash_options(declared_name_, options_, page_bytes_for(db_, live_->schema())));
}

void FlashTable::rename(const std::string& name) {
  columns_.refuse_table_name(name);
  live_->rename(name);
}

// --- planning ----------------------------------------------------------------------------------

// Returns the plan, and chooses its argument. Returns kScanPlan if there is no look-up.
int FlashTable::plan_look_up(sqlite3_index_info* info) const {
  int by_seq = -1;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const bool equal =
        constraint.op == SQLITE_INDEX_CONSTRAINT_EQ || constraint.op == SQLITE_INDEX_CONSTRAINT_IS;
    if (!equal || constraint.usable == 0) {
      continue;
    }
    // If the condition has another collation, SQLite gets all rows and compares them itself.
    if (constraint.iColumn == kKeyColumn &&
        sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0) {
      info->aConstraintUsage[i].argvIndex = 1;
      info->aConstraintUsage[i].omit =
          columns_.has_number_keys() ? 1 : 0;  // equal_keys.hpp, I1, I2
      // If SQLite passed the values of a list one by one, it would compare each value as if the
      // value had no affinity. If SQLite passes the whole list, it tests the condition itself.
      return !columns_.has_number_keys() && sqlite3_vtab_in(info, i, 1) != 0 ? kListPlan
                                                                             : kProbePlan;
    }
    if (columns_.is_seq(constraint.iColumn)) {
      by_seq = i;
    }
  }
  if (by_seq < 0) {
    return kScanPlan;
  }
  info->aConstraintUsage[by_seq].argvIndex = 1;  // SQLite compares again, by its own rules
  return kSeqPlan;
}

bool FlashTable::best_index(sqlite3_index_info* info) {
  const auto uses = [info](int column) { return (info->colUsed >> column & 1) != 0; };
  const int plan = plan_look_up(info);
  const uint64_t count = live_->ready() ? live_->flash().size() : 1000000;
  const auto rows = static_cast<double>(std::max<uint64_t>(count, 10));
  if (plan == kScanPlan) {
    info->estimatedRows = static_cast<sqlite3_int64>(rows);
    info->estimatedCost = kCostOfScannedRecord * rows;
  } else {
    info->estimatedRows = 1;
    info->estimatedCost =
        plan == kSeqPlan ? kFlashProbeCost + kCostOfPassedRecord * rows : kFlashProbeCost;
  }
  // One number may equal several texts: 5 equals '5' and '05'. If SQLite were told that there is
  // only one row, an UPDATE would stop at the first, and SQLite would leave out a sort or a LEFT
  // JOIN. The table may get such texts after the statement was prepared. A column of numbers can't
  // get them.
  const bool unique = plan == kSeqPlan || (plan == kProbePlan && columns_.has_number_keys());
  info->idxFlags = unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
  if (plan != kScanPlan) {
    describe_plan(info, (plan == kSeqPlan ? "seq" : sql_name(columns_.key_name())) + "=?");
  }
  const bool by_order = info->nOrderBy == 1 && columns_.is_seq(info->aOrderBy[0].iColumn) &&
                        info->aOrderBy[0].desc == 0;
  info->orderByConsumed = unique || by_order ? 1 : 0;
  bool needs_place = uses(kSectorColumn) || uses(kSeqColumn);
  for (int column = kCommandColumn + 1; column < columns_.end(); ++column) {
    needs_place = needs_place || uses(column);
  }
  info->idxNum = plan | (uses(kKeyColumn) ? kNeedsKey : 0) |
                 (uses(kValueColumn) || uses(kDigestColumn) ? kNeedsValue : 0) |
                 (needs_place ? kNeedsPlace : 0);
  return true;
}

// --- changing ----------------------------------------------------------------------------------

void FlashTable::list_scans() {
  while (!unlisted_.empty()) {
    unlisted_.back()->list();
  }
}

void FlashTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  // A command follows by itself, because 'clear' works on a store that can't be read.
  if (count == 1 || is_null(values[2 + kCommandColumn]) || !unlisted_.empty()) {
    live_->follow();
    list_scans();
  }
  if (count == 1) {
    rows_.remove(values[0]);
    return;
  }
  sqlite3_value** const columns = values + 2;
  const bool inserting = is_null(values[0]);
  if (inserting) {
    rows_.expect_none_computed(columns);
  }
  if (!is_null(columns[kCommandColumn])) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    if (!is_null(columns[kValueColumn])) {
      throw SqlError(SQLITE_ERROR,
                     name() + ": a command's argument goes in column " + columns_.key_name());
    }
    run_command(*this, commands(), columns[kCommandColumn], columns[kKeyColumn]);
    return;
  }
  if (inserting) {
    rows_.insert(columns);
  } else {
    rows_.update(values[0], columns);
  }
}

// --- commands ----------------------------------------------------------------------------------

std::span<const Command<FlashTable>> FlashTable::commands() noexcept {
  using Argument = Command<FlashTable>::Argument;
  static constexpr Command<FlashTable> kAll[] = {
      {"check", Argument::kNone, &FlashTable::run_check},
      {"clear", Argument::kNone, &FlashTable::run_clear},
      {"collect", Argument::kNone, &FlashTable::run_collect},
      {"resize", Argument::kTaken, &FlashTable::run_resize},
  };
  return kAll;
}

}  // namespace cuckoo
