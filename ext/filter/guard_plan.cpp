#include "ext/filter/guard_plan.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "ext/sqlite/statement.hpp"
#include "ext/sqlite/tokens.hpp"

namespace cuckoo {
namespace {

constexpr double kRangeShare = 4;         // one row in so many fulfils a range
constexpr double kEqualShare = 4;         // one row in so many fulfils an equality without an index
constexpr double kListValues = 25;        // values of an IN, as SQLite assumes them
constexpr double kUnknownEqualRows = 10;  // rows with one value in a column that is not unique
constexpr double kCostOfScannedRow = 3;
// The same, of a guard whose filter could be asked if another table were read first. SQLite forgets
// the cost of sorting where it begins with a virtual table, so such a guard would be read from end
// to end before ORDER BY and GROUP BY, and its filter never asked. This adds that cost.
constexpr double kCostOfUnaskedRow = 1000;
constexpr double kCostOfFoundRow = 4;
constexpr double kCostOfQuestion = 0.5;  // to ask the filter
constexpr double kShareOfAsked = 0.5;    // this share of the cost remains if the filter is asked
constexpr double kAbsentKeys = 10;       // of so many keys that are asked for, one is there

const char* sql_of(GuardOperator op) noexcept {
  constexpr const char* kSql[] = {"=?", " IS ?", "<?", "<=?", ">?", ">=?", " IS NULL"};
  return kSql[static_cast<size_t>(op)];
}

std::optional<GuardOperator> operator_of(unsigned char op) noexcept {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return GuardOperator::kEqual;
    case SQLITE_INDEX_CONSTRAINT_IS:
      return GuardOperator::kIs;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return GuardOperator::kLess;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return GuardOperator::kLessOrEqual;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return GuardOperator::kGreater;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return GuardOperator::kGreaterOrEqual;
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
      return GuardOperator::kIsNull;
    // SQLite offers IS NOT NULL and LIKE of an outer join's ON as if they were in a WHERE. LIMIT
    // has no column.
    default:
      return std::nullopt;
  }
}

}  // namespace

// --- the statement -------------------------------------------------------------------------------

// Returns the column with the table's name before it. If the column is gone, SQLite would take its
// quoted name alone for a text.
static std::string column_text(const GuardedTable& table, int column) {
  return sql_text("t.\"%w\"", column < 0 ? table.rowid.c_str()
                                         : table.columns[static_cast<size_t>(column)].name.c_str());
}

std::string GuardPlan::statement(const GuardedTable& table, uint32_t pushed) const {
  std::vector<std::string> results(places.size() + 1);
  size_t count = 0;
  const auto add = [&](int place, int column) {
    if (place >= 0) {
      results[static_cast<size_t>(place)] = column_text(table, column);
      ++count;
    }
  };
  add(rowid_place, GuardTerm::kRowid);
  for (size_t i = 0; i < places.size(); ++i) {
    add(places[i], static_cast<int>(i));
  }
  std::string sql = "SELECT ";
  for (size_t i = 0; i < count; ++i) {
    sql += (i == 0 ? "" : ", ") + results[i];
  }
  sql += sql_text(R"( FROM "%w"."%w" AS t)", table.schema.c_str(), table.name.c_str());
  const char* joint = " WHERE ";
  for (size_t i = 0; i < terms.size(); ++i) {
    if ((pushed >> i & 1) != 0) {
      sql += joint + column_text(table, terms[i].column) + sql_of(terms[i].op);
      joint = " AND ";
    }
  }
  return sql;
}

// --- planning ------------------------------------------------------------------------------------

namespace {

// The cost of a set of conditions, by the best index for it.
struct Estimate {
  double cost = 0;
  double rows = 0;
};

// Constraints that are IN, and that a plan would take in addition to its terms.
using Lists = std::span<const int>;

class Planner {
 public:
  Planner(sqlite3_index_info* info, const GuardPlanning& planning)
      : info_(info), planning_(planning), table_(planning.table) {}

  PlannedGuard plan() {
    take_terms();
    cost_of_scan_ = table_.rows * (may_be_asked_later() ? kCostOfUnaskedRow : kCostOfScannedRow);
    Estimate best = estimate({});
    choose_lists(best);
    choose_columns();
    choose_asked();
    choose_one_row();
    if (plan_.asks()) {
      best.cost *= kShareOfAsked;
      best.rows /= kAbsentKeys;
    }
    info_->estimatedCost = best.cost;
    info_->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, best.rows));
    for (size_t i = 0; i < plan_.terms.size(); ++i) {
      info_->aConstraintUsage[of_terms_[i]].argvIndex = plan_.terms[i].argument + 1;
    }
    PlannedGuard planned;
    planned.text = text();
    planned.name = name();
    planned.plan = std::move(plan_);
    return planned;
  }

 private:
  std::optional<GuardTerm> term_of(int i) const;
  bool has_like(int column) const;
  void take_terms();
  void add(const GuardTerm& term, int constraint);
  void choose_lists(Estimate& best);
  std::vector<int> lists_of_key() const;
  void add_list(int constraint);
  void choose_columns();
  int value_of(int key) const;
  void choose_asked();
  void choose_one_row();
  bool has_list(int column, Lists lists) const;
  bool has_term(int column, bool (*kind)(GuardOperator), Lists lists) const;
  bool may_be_asked_later() const;
  Estimate estimate(Lists lists) const;
  Estimate estimate_by(const GuardedIndex& index, Lists lists) const;
  double share_of_others(const GuardedIndex* index, size_t equal, Lists lists) const;
  std::string text() const;
  std::string name() const;

  sqlite3_index_info* info_;
  const GuardPlanning& planning_;
  const GuardedTable& table_;
  GuardPlan plan_;
  std::vector<int> of_terms_;  // the constraint of each term
  std::vector<int> lists_;     // constraints that are IN
  int arguments_ = 0;
  double cost_of_scan_ = 0;
};

std::optional<GuardTerm> Planner::term_of(int i) const {
  const auto& constraint = info_->aConstraint[i];
  const std::optional<GuardOperator> op = operator_of(constraint.op);
  const bool rowid = constraint.iColumn < 0;
  if (constraint.usable == 0 || !op || (rowid && !table_.has_rowid()) ||
      constraint.iColumn >= static_cast<int>(table_.columns.size())) {
    return std::nullopt;
  }
  GuardTerm term;
  term.column = rowid ? GuardTerm::kRowid : constraint.iColumn;
  term.op = *op;
  if (!rowid) {
    const GuardedColumn& column = table_.columns[static_cast<size_t>(term.column)];
    term.own_collation =
        sqlite3_stricmp(sqlite3_vtab_collation(info_, i), column.collation.c_str()) == 0;
  }
  return term;
}

// Returns whether the column has a LIKE or GLOB. SQLite adds two bounds to such a condition. A BLOB
// that fulfils the condition may be beyond the upper bound.
bool Planner::has_like(int column) const {
  for (int i = 0; i < info_->nConstraint; ++i) {
    const auto& constraint = info_->aConstraint[i];
    if (constraint.iColumn == column && (constraint.op == SQLITE_INDEX_CONSTRAINT_LIKE ||
                                         constraint.op == SQLITE_INDEX_CONSTRAINT_GLOB)) {
      return true;
    }
  }
  return false;
}

// Adds a term. Every term has an argument, even IS NULL, because otherwise SQLite would not know
// that the term's place in an outer join matters to the plan.
void Planner::add(const GuardTerm& term, int constraint) {
  plan_.terms.push_back(term);
  of_terms_.push_back(constraint);
  plan_.terms.back().argument = arguments_++;
  const auto key = std::find(planning_.keys.begin(), planning_.keys.end(), term.column);
  if (key != planning_.keys.end() &&
      table_.columns[static_cast<size_t>(term.column)].affinity == Affinity::kNone) {
    plan_.terms.back().untyped_key = static_cast<int>(key - planning_.keys.begin());
  }
}

void Planner::take_terms() {
  constexpr int kToldApart = 32;  // SQLite can't say of later constraints whether they are an IN
  for (int i = 0; i < std::min(info_->nConstraint, kToldApart); ++i) {
    const std::optional<GuardTerm> term = term_of(i);
    if (!term) {
      continue;
    }
    if (sqlite3_vtab_in(info_, i, -1) != 0) {
      lists_.push_back(i);
    } else if (plan_.terms.size() < GuardPlan::kMostTerms &&
               !(is_upper_bound(term->op) && has_like(term->column))) {
      add(*term, i);
    }
  }
}

// Takes an IN only if that makes the plan cheaper, because SQLite or the cursor makes a look-up for
// each value. If SQLite passes the values one by one, it compares the rows found by a value with
// that value alone, without the affinity of the values' column. So texts and untyped values are
// taken as a whole list, which SQLite tests as an IN.
void Planner::choose_lists(Estimate& best) {
  std::vector<int> chosen;
  for (const int i : lists_) {
    const Estimate with = estimate({&i, 1});
    if (with.cost < best.cost) {
      best = with;
      chosen = {i};
    }
  }
  // Here the filter is asked for every combination of the values, and leaves few to be looked up.
  if (const std::vector<int> of_key = lists_of_key(); !of_key.empty()) {
    Estimate with = estimate(of_key);
    with.cost = std::pow(kListValues, of_key.size()) * kCostOfQuestion + with.cost / kListValues;
    if (with.cost < best.cost) {
      best = with;
      chosen = of_key;
    }
  }
  for (const int constraint : chosen) {
    add_list(constraint);
  }
}

// Returns the lists that, with the terms, give a value for each column of a key of several columns.
// Returns none if a column is left without a value, or if the terms alone suffice.
std::vector<int> Planner::lists_of_key() const {
  std::vector<int> lists;
  for (size_t i = 0; i < planning_.keys.size(); ++i) {
    if (value_of(planning_.keys[i]) >= 0) {
      continue;
    }
    const auto list = std::find_if(lists_.begin(), lists_.end(), [&](int one) {
      return info_->aConstraint[one].iColumn == planning_.keys[i] && term_of(one)->own_collation;
    });
    if (list == lists_.end() || !planning_.may_ask || planning_.keys.size() == 1) {
      return {};
    }
    lists.push_back(*list);
  }
  return lists;
}

void Planner::add_list(int constraint) {
  if (plan_.terms.size() == GuardPlan::kMostTerms) {
    return;
  }
  GuardTerm term = *term_of(constraint);
  const bool numeric =
      term.column == GuardTerm::kRowid ||
      table_.columns[static_cast<size_t>(term.column)].affinity >= Affinity::kNumeric;
  if (!numeric) {
    if (sqlite3_vtab_in(info_, constraint, 1) == 0) {
      return;
    }
    term.list = true;
    plan_.lists.push_back(static_cast<int>(plan_.terms.size()));
  }
  add(term, constraint);
}

void Planner::choose_columns() {
  constexpr size_t kLastBit = 63;  // the bit of column 63 and all later ones
  plan_.places.assign(table_.columns.size(), -1);
  int place = 0;
  if (table_.has_rowid()) {
    plan_.rowid_place = place++;
  }
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    const bool in_key = std::find(table_.primary_key.begin(), table_.primary_key.end(),
                                  static_cast<int>(i)) != table_.primary_key.end();
    if (in_key || (info_->colUsed >> std::min(i, kLastBit) & 1) != 0) {
      plan_.places[i] = place++;
    }
  }
}

// Returns the term that gives that column a value, preferably by its own collation; -1 if none
// does.
int Planner::value_of(int key) const {
  int found = -1;
  for (size_t i = 0; i < plan_.terms.size(); ++i) {
    const GuardTerm& term = plan_.terms[i];
    if (term.column == key && term.has_value() && is_equality(term.op) &&
        (found < 0 || term.own_collation)) {
      found = static_cast<int>(i);
      if (term.own_collation) {
        break;
      }
    }
  }
  return found;
}

void Planner::choose_asked() {
  for (size_t i = 0; planning_.may_ask && i < planning_.keys.size(); ++i) {
    const int term = value_of(planning_.keys[i]);
    if (term < 0) {
      plan_.asked.clear();
      return;
    }
    plan_.asked.push_back(term);
  }
}

// Finds terms that together find one row at most. SQLite may rely on this only if all columns are
// numbers, because two texts may equal one number.
void Planner::choose_one_row() {
  for (const GuardedIndex& index : table_.indexes) {
    uint32_t terms = 0;
    size_t found = 0;
    bool numbers = true;
    for (const int column : index.columns) {
      for (size_t i = 0; i < plan_.terms.size(); ++i) {
        if (plan_.terms[i].column == column && plan_.terms[i].op == GuardOperator::kEqual &&
            plan_.terms[i].own_collation) {
          terms |= uint32_t{1} << i;
          numbers = numbers &&
                    (column < 0 ||
                     table_.columns[static_cast<size_t>(column)].affinity >= Affinity::kNumeric);
          ++found;
          break;
        }
      }
    }
    if (index.unique && found == index.columns.size()) {
      plan_.one_row = terms;
      info_->idxFlags = numbers && plan_.lists.empty() ? SQLITE_INDEX_SCAN_UNIQUE : 0;
      return;
    }
  }
}

bool Planner::has_list(int column, Lists lists) const {
  return std::any_of(lists.begin(), lists.end(),
                     [&](int list) { return info_->aConstraint[list].iColumn == column; });
}

bool Planner::has_term(int column, bool (*kind)(GuardOperator), Lists lists) const {
  if (kind(GuardOperator::kEqual) && has_list(column, lists)) {
    return true;
  }
  return std::any_of(plan_.terms.begin(), plan_.terms.end(),
                     [&](const GuardTerm& term) { return term.column == column && kind(term.op); });
}

// Returns which share of the rows fulfils all conditions other than equalities on the first `equal`
// columns of the index.
double Planner::share_of_others(const GuardedIndex* index, size_t equal, Lists lists) const {
  double share = 1;
  for (const GuardTerm& term : plan_.terms) {
    const auto* const begin = index == nullptr ? nullptr : index->columns.data();
    if (index != nullptr && is_equality(term.op) &&
        std::find(begin, begin + equal, term.column) != begin + equal) {
      continue;
    }
    share /= is_equality(term.op) ? kEqualShare : is_range(term.op) ? kRangeShare : 1;
  }
  return lists.empty() ? share : std::min(1.0, share * kListValues);
}

Estimate Planner::estimate_by(const GuardedIndex& index, Lists lists) const {
  const double all = table_.rows;
  size_t equal = 0;
  bool list_helps = false;
  while (equal < index.columns.size() && has_term(index.columns[equal], is_equality, lists)) {
    list_helps = list_helps || has_list(index.columns[equal], lists);
    ++equal;
  }
  const bool range = equal < index.columns.size() && has_term(index.columns[equal], is_range, {});
  const double times = lists.empty() ? 1 : kListValues;
  if ((equal == 0 && !range) || (!lists.empty() && !list_helps)) {
    return {cost_of_scan_ * times, all * share_of_others(nullptr, 0, lists)};
  }
  double rows = all;
  if (equal == index.columns.size() && index.unique) {
    rows = 1;
  } else if (equal > 0) {
    rows = equal <= index.equal_rows.size()
               ? index.equal_rows[equal - 1]
               : std::max(1.0, kUnknownEqualRows + 1 - static_cast<double>(equal));
  }
  double found = std::min(rows, all);
  for (const GuardTerm& term : plan_.terms) {
    if (range && term.column == index.columns[equal] && is_range(term.op)) {
      found = std::max(1.0, found / kRangeShare);
    }
  }
  return {times * (std::log2(all + 2) + kCostOfFoundRow * found),
          std::max(1.0, times * std::min(found, rows * share_of_others(&index, equal, {})))};
}

// Returns whether tables that are read before this one could give the filter a key.
bool Planner::may_be_asked_later() const {
  bool later = false;
  for (const int key : planning_.keys) {
    bool given = false;
    for (int i = 0; i < info_->nConstraint; ++i) {
      const auto& constraint = info_->aConstraint[i];
      if (constraint.iColumn == key && constraint.op == SQLITE_INDEX_CONSTRAINT_EQ) {
        given = true;
        later = later || constraint.usable == 0;
      }
    }
    if (!given) {
      return false;
    }
  }
  return later && planning_.may_ask;
}

Estimate Planner::estimate(Lists lists) const {
  Estimate best = {cost_of_scan_ * (lists.empty() ? 1 : kListValues),
                   table_.rows * share_of_others(nullptr, 0, lists)};
  for (const GuardedIndex& index : table_.indexes) {
    const Estimate by = estimate_by(index, lists);
    if (by.cost < best.cost) {
      best = by;
    }
  }
  return best;
}

// Returns the plan's text: "filter seen, then users(email)", "users(grp=? AND id>?)" or "users".
std::string Planner::text() const {
  if (plan_.asks()) {
    return "filter " + planning_.filter + ", then " + sql_name(table_.name) + "(" +
           names_of(table_, planning_.keys) + ")";
  }
  std::string conditions;
  for (const GuardTerm& term : plan_.terms) {
    conditions += conditions.empty() ? "(" : " AND ";
    conditions +=
        term.column < 0 ? "rowid" : sql_name(table_.columns[static_cast<size_t>(term.column)].name);
    conditions += sql_of(term.op);
  }
  return sql_name(table_.name) + conditions + (conditions.empty() ? "" : ")");
}

std::string Planner::name() const {
  std::string name;
  for (const GuardTerm& term : plan_.terms) {
    name += std::to_string(term.column) + '/' + std::to_string(static_cast<int>(term.op)) +
            (term.own_collation ? "o" : "") + (term.list ? "l" : "") + ' ';
  }
  for (const int term : plan_.asked) {
    name += '|' + std::to_string(term);
  }
  name += "||" + std::to_string(plan_.one_row) + '|' + table_.name + '|';
  for (const int place : plan_.places) {
    name += place < 0 ? '0' : '1';
  }
  return name;
}

}  // namespace

PlannedGuard plan_guard(sqlite3_index_info* info, const GuardPlanning& planning) {
  return Planner(info, planning).plan();
}

}  // namespace cuckoo
