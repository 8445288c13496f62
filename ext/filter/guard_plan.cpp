#include "ext/filter/guard_plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ext/sqlite/statement.hpp"
#include "ext/sqlite/tokens.hpp"

namespace cuckoo {
namespace {

// One look-up by an index costs its depth and the rows that it finds, a scan costs all rows, and a
// question to the filter saves most look-ups. A list repeats what is done for one value.
constexpr double kCostOfFoundRow = 4;
constexpr double kCostOfScannedRow = 3;
// The same, of a guard whose filter could be asked if another table were read first. SQLite forgets
// the cost of sorting where it begins with a virtual table, so such a guard would be read from end
// to end before ORDER BY and GROUP BY, and its filter never asked. This adds that cost.
constexpr double kCostOfUnaskedRow = 1000;
constexpr double kShareOfAsked = 0.5;      // this share of the cost remains if the filter is asked
constexpr double kAbsentKeys = 10;         // of so many keys that are asked for, one is there
constexpr double kListValues = 25;         // values of an IN, as SQLite assumes them
constexpr double kRangeShare = 4;          // one row in so many fulfils a range
constexpr double kUnknownEqualRows = 10;   // rows with one value in a column that is not unique
constexpr double kUnknownLeadRows = 1000;  // the same, to be compared with questions

bool is_equal(GuardOperator op) noexcept { return op == GuardOperator::kEqual; }
bool is_value(GuardOperator op) noexcept { return is_equal(op) || op == GuardOperator::kIs; }

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

// Constraints that are IN, and that a plan would take in addition to its terms.
using Lists = std::vector<int>;

// How a set of conditions finds rows: by an index, or by a scan.
struct Way {
  double cost = 0;
  double rows = 0;
  const GuardedIndex* index = nullptr;
};

class Planner {
 public:
  Planner(sqlite3_index_info* info, const GuardPlanning& planning)
      : info_(info), planning_(planning), table_(planning.table) {}

  PlannedGuard plan() {
    take_terms();
    const Way way = choose_way();
    choose_columns();
    choose_asked();
    choose_one_row();
    info_->estimatedCost = way.cost;
    info_->estimatedRows = static_cast<sqlite3_int64>(std::clamp(way.rows, 1.0, 0x1p60));
    for (size_t i = 0; i < plan_.terms.size(); ++i) {
      info_->aConstraintUsage[of_terms_[i]].argvIndex = static_cast<int>(i) + 1;
    }
    PlannedGuard planned;
    planned.text = text();
    planned.name = name();
    planned.plan = std::move(plan_);
    return planned;
  }

 private:
  using Kind = bool (*)(GuardOperator);

  std::optional<GuardTerm> term_of(int i) const;
  bool has_like(int column) const;
  void take_terms();
  void add(const GuardTerm& term, int constraint);
  int term_on(int column, Kind kind) const;
  bool has_list(const Lists& lists, int column) const;
  Lists lists_of_key() const;
  bool asks(const Lists& lists) const;
  double rows_by(const GuardedIndex& index, const Lists& lists, double unknown) const;
  Way way_with(const Lists& lists) const;
  Way choose_way();
  void add_lists(const Lists& lists, const GuardedIndex& index);
  bool may_be_asked_later() const;
  void choose_columns();
  void choose_asked();
  void choose_one_row();
  std::string text() const;
  std::string name() const;

  sqlite3_index_info* info_;
  const GuardPlanning& planning_;
  const GuardedTable& table_;
  GuardPlan plan_;
  std::vector<int> of_terms_;  // the constraint of each term
  Lists lists_;                // all of them
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
  const auto key = std::find(planning_.keys.begin(), planning_.keys.end(), term.column);
  plan_.terms.push_back(term);
  of_terms_.push_back(constraint);
  if (key != planning_.keys.end() &&
      table_.columns[static_cast<size_t>(term.column)].affinity == Affinity::kNone) {
    plan_.terms.back().untyped_key = static_cast<int>(key - planning_.keys.begin());
  }
}

void Planner::take_terms() {
  // SQLite can't say of later constraints whether they are an IN.
  constexpr auto kToldApart = static_cast<int>(GuardPlan::kMostTerms);
  for (int i = 0; i < std::min(info_->nConstraint, kToldApart); ++i) {
    const std::optional<GuardTerm> term = term_of(i);
    if (term && sqlite3_vtab_in(info_, i, -1) != 0) {
      lists_.push_back(i);
    } else if (term && !(is_upper_bound(term->op) && has_like(term->column))) {
      add(*term, i);
    }
  }
}

// Returns the term of that kind on the column, preferably by its own collation; -1 if none is.
int Planner::term_on(int column, Kind kind) const {
  int found = -1;
  for (size_t i = 0; i < plan_.terms.size(); ++i) {
    const GuardTerm& term = plan_.terms[i];
    if (term.column == column && kind(term.op) &&
        (found < 0 ||
         (term.own_collation && !plan_.terms[static_cast<size_t>(found)].own_collation))) {
      found = static_cast<int>(i);
    }
  }
  return found;
}

bool Planner::has_list(const Lists& lists, int column) const {
  return std::any_of(lists.begin(), lists.end(),
                     [&](int list) { return info_->aConstraint[list].iColumn == column; });
}

// Returns a list for each column of the key that has no other value, as far as there are lists.
Lists Planner::lists_of_key() const {
  Lists lists;
  for (const int key : planning_.keys) {
    const auto list = std::find_if(lists_.begin(), lists_.end(), [&](int one) {
      return info_->aConstraint[one].iColumn == key && term_of(one)->own_collation;
    });
    if (list != lists_.end() && term_on(key, is_value) < 0) {
      lists.push_back(*list);
    }
  }
  return lists;
}

// Returns whether the terms and these lists give a value for each column of the key.
bool Planner::asks(const Lists& lists) const {
  return planning_.may_ask &&
         std::all_of(planning_.keys.begin(), planning_.keys.end(),
                     [&](int key) { return term_on(key, is_value) >= 0 || has_list(lists, key); });
}

// --- costs ---------------------------------------------------------------------------------------

// Returns how many rows one look-up finds by the index, with a single value of each list; more than
// the table has if no condition is on its first column. `unknown`: the rows with one value in the
// first column, without ANALYZE.
double Planner::rows_by(const GuardedIndex& index, const Lists& lists, double unknown) const {
  size_t equal = 0;
  while (equal < index.columns.size() && (term_on(index.columns[equal], is_equality) >= 0 ||
                                          has_list(lists, index.columns[equal]))) {
    ++equal;
  }
  const bool range = equal < index.columns.size() && term_on(index.columns[equal], is_range) >= 0;
  double rows = std::max(1.0, unknown + 1 - static_cast<double>(equal));
  if (equal == 0) {
    rows = range ? table_.rows : HUGE_VAL;
  } else if (equal == index.columns.size() && index.unique) {
    rows = 1;
  } else if (equal <= index.equal_rows.size()) {
    rows = index.equal_rows[equal - 1];
  }
  return range ? std::max(1.0, rows / kRangeShare) : rows;
}

Way Planner::way_with(const Lists& lists) const {
  Way way = {table_.rows * (may_be_asked_later() ? kCostOfUnaskedRow : kCostOfScannedRow),
             table_.rows};
  for (const GuardedIndex& index : table_.indexes) {
    const double rows = rows_by(index, lists, kUnknownEqualRows);
    const double cost = std::log2(table_.rows + 2) + kCostOfFoundRow * rows;
    if (cost < way.cost) {
      way = {cost, rows, &index};
    }
  }
  double values = kListValues;
  if (asks(lists)) {
    way.cost *= kShareOfAsked;
    way.rows = std::max(1.0, way.rows / kAbsentKeys);
    values /= kAbsentKeys;
  }
  if (!lists.empty()) {
    way.cost *= values;
    way.rows *= values;
  }
  return way;
}

// Takes lists only if that makes the plan cheaper, because the cursor makes a look-up for each
// value: a single list, or those with which the key has a value for each column.
Way Planner::choose_way() {
  std::vector<Lists> sets = {lists_of_key()};
  for (const int list : lists_) {
    sets.push_back({list});
  }
  Way best = way_with({});
  Lists chosen;
  for (const Lists& lists : sets) {
    const Way way = way_with(lists);
    if (way.cost < best.cost && (lists.size() < 2 || asks(lists))) {
      best = way;
      chosen = lists;
    }
  }
  if (!chosen.empty()) {
    add_lists(chosen, *best.index);
  }
  return best;
}

// A list is taken as a whole. If SQLite passed its values one by one, it would compare the rows
// found by a value with that value alone, without the affinity of the values' column.
void Planner::add_lists(const Lists& lists, const GuardedIndex& index) {
  Lists leads;
  std::copy_if(lists.begin(), lists.end(), std::back_inserter(leads),
               [&](int list) { return has_list({list}, index.columns[0]); });
  // A power of two, so that each ANALYZE does not make another plan.
  plan_.lead_rows = std::exp2(std::ceil(std::log2(rows_by(index, leads, kUnknownLeadRows))));
  for (const int list : lists) {
    GuardTerm term = *term_of(list);
    sqlite3_vtab_in(info_, list, 1);
    term.list = true;
    plan_.lists.push_back(static_cast<int>(plan_.terms.size()));
    add(term, list);
  }
  plan_.lead = term_on(index.columns[0], is_equality);
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

void Planner::choose_asked() {
  if (asks({})) {
    for (const int key : planning_.keys) {
      plan_.asked.push_back(term_on(key, is_value));
    }
  }
}

// Finds terms that together find one row at most. SQLite may rely on this only if all columns are
// numbers, because two texts may equal one number.
void Planner::choose_one_row() {
  for (const GuardedIndex& index : table_.indexes) {
    uint32_t terms = 0;
    bool all = index.unique;
    bool numbers = plan_.lists.empty();
    for (const int column : index.columns) {
      const int term = term_on(column, is_equal);
      all = all && term >= 0 && plan_.terms[static_cast<size_t>(term)].own_collation;
      terms |= all ? uint32_t{1} << term : 0;
      numbers = numbers && (column < 0 || table_.columns[static_cast<size_t>(column)].affinity >=
                                              Affinity::kNumeric);
    }
    if (all) {
      plan_.one_row = terms;
      info_->idxFlags = numbers ? SQLITE_INDEX_SCAN_UNIQUE : 0;
      return;
    }
  }
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
  name += "||" + std::to_string(plan_.one_row) + '|' + std::to_string(plan_.lead) + '|' +
          std::to_string(plan_.lead_rows) + '|' + table_.name + '|';
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
