// FilterTable: which conditions on a key are a probe.
#include <algorithm>
#include <array>

#include "ext/filter/table.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

// A probe and a unique look-up both give one row for each row, so both orders of a join cost SQLite
// the same, and the rounding of its logarithms decides. Of all costs this one puts the filter first
// most often (DESIGN.md, "The order of a join"). To SQLite 144 to 159 are one number.
constexpr double kProbeCost = 150;
constexpr double kCountCost = 1e6;
constexpr double kRefusedCost = 1e99;

}  // namespace

// Once a schema: SQLite prepares the statement anew when it changed.
void FilterTable::expect_triggers() {
  ReadTransaction transaction;
  try {
    if (with_triggers_ && with_triggers_.begin_again()) {
      with_triggers_.end();
      return;
    }
    with_triggers_ = {};
    transaction = ReadTransaction(db_, live_->schema());
  } catch (const SqlError& error) {
    if (undoes_transaction(error.code())) {
      throw;
    }
    return;  // the schema is being changed: this statement will be planned again
  }
  source().check_triggers();
  transaction.end();
  with_triggers_ = std::move(transaction);
}

static bool is_comparison(unsigned char op) noexcept {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
    case SQLITE_INDEX_CONSTRAINT_NE:
    case SQLITE_INDEX_CONSTRAINT_ISNOT:
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
      return true;
    default:
      return false;
  }
}

namespace {

// What the conditions on one column of the key come to.
struct ColumnProbe {
  int constraint = -1;    // the one that gives its value
  bool own = false;       // … by the column's collation
  bool others = false;    // some condition compares by another one
  bool unusable = false;  // an equality, of which SQLite has no value in this plan
  bool foreign = false;   // an equality by a collation that is neither the column's nor BINARY

  bool finds() const noexcept { return constraint >= 0; }
  bool equal() const noexcept { return finds() || unusable || foreign; }
};

using ColumnProbes = std::array<ColumnProbe, kMaxKeyColumns>;

void take_condition(sqlite3_index_info* info, int index, Collation collation, ColumnProbe& column) {
  const auto& constraint = info->aConstraint[index];
  const char* const name = sqlite3_vtab_collation(info, index);
  const bool own = sqlite3_stricmp(name, collation_name(collation)) == 0;
  column.others = column.others || !own;
  if (constraint.op != SQLITE_INDEX_CONSTRAINT_EQ && constraint.op != SQLITE_INDEX_CONSTRAINT_IS) {
    return;
  }
  if (constraint.usable == 0) {
    column.unusable = true;
  } else if (!own && sqlite3_stricmp(name, "BINARY") != 0) {
    column.foreign = true;
  } else if (own || !column.finds()) {
    column.constraint = index;
    column.own = own;
  }
}

// Where not every column has a value: those at fault, and why.
int refusal_of(const ColumnProbes& probes, size_t columns, int unprobed) {
  int lacking = 0;
  int foreign = 0;
  bool any = false;
  for (size_t i = 0; i < columns; ++i) {
    const ColumnProbe& column = probes[i];
    any = any || column.equal();
    foreign |= column.foreign && !column.finds() ? 1 << i : 0;
    lacking |= column.foreign || column.finds() ? 0 : 1 << i;
  }
  if (!any) {
    return unprobed;
  }
  const int why = lacking == 0 ? FilterTable::kRefuseCollationPlan : FilterTable::kRefuseListPlan;
  const int at_fault = lacking == 0 ? foreign : lacking;
  return columns == 1 ? why : why | at_fault << FilterTable::kColumnsShift;
}

}  // namespace

bool FilterTable::best_index(sqlite3_index_info* info) {
  if (triggers_) {
    expect_triggers();  // a change of the schema plans every statement anew
  }
  if (!binary_probes_.empty()) {
    drop_ended_runs();
  }
  ColumnProbes probes;
  bool limited = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    limited = limited || constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT;
    // LIMIT and OFFSET come with column 0, too.
    if (constraint.iColumn >= 0 && constraint.iColumn < count_column() &&
        is_comparison(constraint.op)) {
      const auto column = static_cast<size_t>(constraint.iColumn);
      take_condition(info, i, domain_.column(column).collation, probes[column]);
    }
  }
  bool found = true;
  bool binary = false;  // SQLite compares what was asked for then, not what is stored
  for (size_t i = 0; i < columns(); ++i) {
    const bool other = !probes[i].own || probes[i].others;
    found = found && probes[i].finds();
    binary = binary || (other && domain_.column(i).collation != Collation::kBinary);
  }
  if (found) {
    info->idxNum = binary ? kBinaryProbePlan : kProbePlan;
    for (size_t i = 0; i < columns(); ++i) {
      auto& usage = info->aConstraintUsage[probes[i].constraint];
      usage.argvIndex = static_cast<int>(i) + 1;
      usage.omit = 1;
    }
    info->estimatedCost = kProbeCost;
    info->estimatedRows = 1;
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    describe_plan(info, equalities("=?"));
    return true;
  }
  // count(*) reads no column; but newer versions of SQLite say of a WITHOUT ROWID table that its
  // primary key is always read. If it really is, xColumn refuses.
  const bool counts = (info->colUsed & ~(uint64_t{1} << row_key_column())) == 0;
  const int unprobed = !counts ? kRefuseListPlan : limited ? kSomeRowsPlan : kCountPlan;
  info->idxNum = refusal_of(probes, columns(), unprobed);
  const bool refused = info->idxNum != kCountPlan && info->idxNum != kSomeRowsPlan;
  info->estimatedCost = refused ? kRefusedCost : kCountCost;
  info->estimatedRows = 1000000;
  return true;
}

// A "no" is right by either collation, and a "yes" only means maybe. But who deletes 'ADA' by
// BINARY where the key is NOCASE must not delete 'Ada', of which the filter knows no more than
// 'ada'. A cursor does not know what it is opened for, and may be closed before the rows are
// changed: so the running statements that write are remembered, and only those refused that come
// to a change.
void FilterTable::note_binary_probe() {
  if (sqlite3_txn_state(db_, nullptr) != SQLITE_TXN_WRITE) {
    return;  // no statement writes
  }
  for (sqlite3_stmt* one = sqlite3_next_stmt(db_, nullptr); one != nullptr;
       one = sqlite3_next_stmt(db_, one)) {
    const Run run{one, sqlite3_stmt_status(one, SQLITE_STMTSTATUS_RUN, 0)};
    if (sqlite3_stmt_busy(one) != 0 && sqlite3_stmt_readonly(one) == 0 &&
        std::find(binary_probes_.begin(), binary_probes_.end(), run) == binary_probes_.end()) {
      binary_probes_.push_back(run);
    }
  }
}

// Before a statement that could have the address of one that is gone comes to this table: it is
// planned first.
void FilterTable::drop_ended_runs() {
  std::vector<Run> running;
  for (sqlite3_stmt* one = sqlite3_next_stmt(db_, nullptr); one != nullptr;
       one = sqlite3_next_stmt(db_, one)) {
    const Run run{one, sqlite3_stmt_status(one, SQLITE_STMTSTATUS_RUN, 0)};
    if (sqlite3_stmt_busy(one) != 0 &&
        std::find(binary_probes_.begin(), binary_probes_.end(), run) != binary_probes_.end()) {
      running.push_back(run);
    }
  }
  binary_probes_ = std::move(running);
}

std::string FilterTable::names_of_key() const {
  std::string text;
  for (const ColumnSpec& column : key_) {
    text += (text.empty() ? "" : ", ") + column.name;
  }
  return text;
}

std::string FilterTable::equalities(const char* equality) const {
  std::string text;
  for (const ColumnSpec& column : key_) {
    text += (text.empty() ? "" : " AND ") + column.name + equality;
  }
  return text;
}

void FilterTable::refuse_binary_change() {
  drop_ended_runs();
  if (!binary_probes_.empty()) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": DELETE and UPDATE find keys by the collation of the key"
                                     " only; write " +
                                     equalities(" = value") + ", the key on the left of =");
  }
}

}  // namespace cuckoo
