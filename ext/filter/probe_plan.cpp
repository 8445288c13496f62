#include "ext/filter/probe_plan.hpp"

#include <array>

#include "ext/sqlite/module.hpp"

namespace cuckoo {
namespace {

// A probe and a unique look-up both give one row for each row of the other table. So for SQLite
// both orders of a join cost the same, and the rounding of its logarithms decides. This cost puts
// the filter first most often (DESIGN.md, "The order of a join"). To SQLite, all costs from 144 to
// 159 are the same number.
constexpr double kProbeCost = 150;
constexpr double kCountCost = 1e6;
constexpr double kRefusedCost = 1e99;

bool is_comparison(unsigned char op) noexcept {
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

// The conditions on one column of the key, summed up.
struct ColumnProbe {
  int constraint = -1;    // gives the column its value
  bool own = false;       // `constraint` has the column's collation
  bool others = false;    // a condition has another collation
  bool unusable = false;  // there is an equality without a value in this plan
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

// Returns the plan for a key that lacks a value: it refuses, and has the columns at fault. Returns
// `unprobed` if no column has an equality.
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
  const int why = lacking == 0 ? kRefuseCollationPlan : kRefuseListPlan;
  const int at_fault = lacking == 0 ? foreign : lacking;
  return columns == 1 ? why : why | at_fault << kColumnsShift;
}

}  // namespace

void plan_probe(sqlite3_index_info* info, const KeyColumns& key) {
  ColumnProbes probes;
  bool limited = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    limited = limited || constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT;
    // LIMIT and OFFSET have column 0, too.
    if (constraint.iColumn >= 0 && constraint.iColumn < key.count_column() &&
        is_comparison(constraint.op)) {
      const auto column = static_cast<size_t>(constraint.iColumn);
      take_condition(info, i, key.domain().column(column).collation, probes[column]);
    }
  }
  bool found = true;
  bool binary = false;  // SQLite will compare the key that was asked for, not the stored one
  for (size_t i = 0; i < key.count(); ++i) {
    const bool other = !probes[i].own || probes[i].others;
    found = found && probes[i].finds();
    binary = binary || (other && key.domain().column(i).collation != Collation::kBinary);
  }
  if (found) {
    info->idxNum = binary ? kBinaryProbePlan : kProbePlan;
    for (size_t i = 0; i < key.count(); ++i) {
      auto& usage = info->aConstraintUsage[probes[i].constraint];
      usage.argvIndex = static_cast<int>(i) + 1;
      usage.omit = 1;
    }
    info->estimatedCost = kProbeCost;
    info->estimatedRows = 1;
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    describe_plan(info, key.equalities("=?"));
    return;
  }
  // count(*) reads no column. But newer versions of SQLite say that the primary key of a WITHOUT
  // ROWID table is always read. If a statement really reads the key, xColumn refuses.
  const bool counts = (info->colUsed & ~(uint64_t{1} << key.row_key_column())) == 0;
  const int unprobed = !counts ? kRefuseListPlan : limited ? kSomeRowsPlan : kCountPlan;
  info->idxNum = refusal_of(probes, key.count(), unprobed);
  const bool refused = info->idxNum != kCountPlan && info->idxNum != kSomeRowsPlan;
  info->estimatedCost = refused ? kRefusedCost : kCountCost;
  describe_plan(info, refused ? "an error: no " + key.equalities("=?")
                              : "a count; an error if keys are read");
  info->estimatedRows = 1000000;
}

}  // namespace cuckoo
