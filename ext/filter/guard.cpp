#include "ext/filter/guard.hpp"

#include <algorithm>
#include <array>

#include "ext/filter/self_insert.hpp"
#include "ext/filter/source.hpp"
#include "ext/sqlite/running.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

constexpr std::array kSpecs = {
    OptionSpec{"source", OptionKind::kSource, 0, 0, "table(column) or table(column, …)", ""},
    OptionSpec{"stale", OptionKind::kWord, 0, 0, "allowed", "allowed"},
};

bool keeps_integers(Affinity affinity) noexcept {
  return affinity == Affinity::kInteger || affinity == Affinity::kNumeric;
}

// Returns whether keys of both columns hash alike.
bool same_keys(Affinity a, Affinity b) noexcept {
  return a == b || (keeps_integers(a) && keeps_integers(b));
}

// The tables for which guards of this connection were declared. SQLite connects a guard anew when
// the schema was changed or rolled back. If its filter is missing then, the guard keeps its
// columns. Without them, a statement that names a column would fail before the guard can say what
// is missing.
struct KnownTables {
  std::map<std::string, GuardedTable> tables;
};

}  // namespace

std::span<const OptionSpec> guard_option_specs() noexcept { return kSpecs; }

// --- creating and connecting -------------------------------------------------------------------

GuardTable::GuardTable(const ModuleArguments& arguments)
    : connection_(arguments.connection),
      db_(arguments.db),
      schema_(arguments.schema()),
      name_(arguments.table()),
      options_(arguments, connection_.modules()) {
  const std::vector<ColumnSpec>& names = options_.columns();
  const bool named = names.size() == 1 && names[0].type.empty();
  if (arguments.creating && !named) {
    throw wrong(
        "expected the name of one filter: filter_guard(seen), or"
        " filter_guard(seen, source = table(column))");
  }
  filter_name_ = named ? names[0].name : "";
  std::string known_as = lower(schema_) + '\0' + lower(name_);
  for (int i = 3; i < arguments.count; ++i) {
    known_as += std::string("\0", 1) + arguments.texts[i];
  }
  auto& known = connection_.kept<KnownTables>().tables;
  try {
    const bool compares = arguments.creating && has_filter();
    if (compares) {
      find_filter();
    }
    learn_table();
    if (compares) {
      compare_with_filter();
    }
    known.insert_or_assign(known_as, table_);
  } catch (const SqlError& error) {
    if (!is_finding(error.code()) || (arguments.creating && has_filter())) {
      throw;
    }
    problem_ = error.message();  // I3
    const auto found = known.find(known_as);
    table_ = found == known.end() ? GuardedTable() : found->second;
  }
}

// A dump may make a guard before its filter.
bool GuardTable::has_filter() const {
  return SchemaRows(db_, schema_, "type = 'table'").find(filter_name_);
}

SqlError GuardTable::wrong(const std::string& what, int code) const {
  return {code, name_ + ": " + what};
}

// Reads the guarded table. If the filter has a source, takes table and columns from it, because the
// filter notices when they are renamed. Changes nothing if it throws SqlError.
void GuardTable::learn_table() {
  std::optional<SourceSpec> of_filter;
  try {
    of_filter = source_of(db_, schema_, filter_name_);
  } catch (const SqlError& error) {
    if (!is_finding(error.code())) {
      throw;
    }
    if (!options_.has("source")) {
      throw wrong("its filter " + schema_ + "." + printable(filter_name_) +
                  " is missing or damaged (" + error.message() +
                  "); make or mend that filter, or drop the guard");
    }
  }
  const std::optional<std::string> text = options_.text("source");
  std::optional<SourceSpec> given;
  if (text) {
    SourceText parsed = parse_source(*text).value();
    given = SourceSpec{std::move(parsed.table), std::move(parsed.keys), {}, {}};
  }
  if (!of_filter && !given) {
    const bool several = live_ != nullptr && live_->key_form().columns > 1;
    throw wrong("the filter " + printable(filter_name_) +
                " has no source; name what it holds: filter_guard(" +
                sql_name(printable(filter_name_)) + ", source = table(column" +
                (several ? ", …" : "") + "))");
  }
  const SourceSpec& source = of_filter ? *of_filter : *given;
  if (of_filter && !of_filter->is_of_columns()) {  // the table may have keys that the filter lacks
    throw wrong("the filter " + printable(filter_name_) + " is over " + shown(schema_, source) +
                "; a guard needs one over columns of all rows");
  }
  if (given && !given->is_of_columns()) {
    throw wrong("source is " + shown(schema_, *given) +
                ", expected table(column), or table(column, …) for a key of several columns");
  }
  const std::vector<std::string> names = source.key_columns();
  const std::vector<std::string> given_names =
      given ? given->key_columns() : std::vector<std::string>();
  if (of_filter && given &&
      !(equal_names(source.table, given->table) &&
        std::equal(names.begin(), names.end(), given_names.begin(), given_names.end(),
                   equal_names))) {
    throw wrong("the filter " + printable(filter_name_) + " is over " + shown(schema_, *of_filter) +
                ", not over " + shown(schema_, *given) +
                "; leave the source out, or name another filter");
  }
  GuardedTable table;
  try {
    table = read_guarded_table(db_, schema_, source.table);
  } catch (const SqlError& error) {
    if (!is_finding(error.code())) {
      throw;
    }
    throw wrong("its table " + error.message() + "; make the guard anew");
  }
  std::vector<int> keys;
  for (const std::string& name : names) {
    keys.push_back(table.column_named(name));
    if (keys.back() < 0) {
      throw wrong(shown(schema_, source) + ": " +
                  (names.size() == 1 ? "" : printable(name) + ": ") +
                  "no such column; make the guard anew");
    }
  }
  table_ = std::move(table);
  keys_ = std::move(keys);
}

std::string GuardTable::declaration() const {
  return table_.columns.empty() ? "CREATE TABLE x(unavailable)" : declaration_of(table_);
}

void GuardTable::refuse_to_write() const {
  throw wrong(problem_.empty() ? "a filter_guard can't be written; write to " + table_.name
                               : problem_.substr(problem_.find(": ") + 2));
}

// --- filter and table ----------------------------------------------------------------------------

void GuardTable::find_filter() {
  try {
    live_ = nullptr;
    live_ = connection_.find_in<LiveFilter>(schema_, filter_name_).shared();
    names_version_ = connection_.names_version();
  } catch (const SqlError& error) {
    if (!is_finding(error.code())) {
      throw;
    }
    throw wrong("its filter " + schema_ + "." + printable(filter_name_) + " can't be asked: " +
                    error.message() + "; make or mend that filter, or drop the guard",
                error.code());
  }
}

// Throws SqlError if the filter could say "no" to a key that the table has.
void GuardTable::compare_with_filter() {
  const FilterOptions& options = live_->filter().options();
  const KeyDomain keys = live_->key_domain();
  const std::string what = sql_name(table_.name) + "(" + names_of(table_, keys_) + ")";
  if (options.generations > 1) {
    throw wrong("the filter " + printable(filter_name_) +
                " is a sliding window, which forgets keys that " + what +
                " has; name a filter without generations");
  }
  if (keys.columns() != keys_.size()) {
    throw wrong("the key of the filter " + printable(filter_name_) + " has " +
                std::to_string(keys.columns()) + (keys.columns() == 1 ? " column" : " columns") +
                ", and the source is " + what + "; name one column of the table for each");
  }
  for (size_t i = 0; i < keys_.size(); ++i) {
    compare_with_key(i, keys.column(i));
  }
  if (!live_->follows_source() && !options_.has("stale")) {
    throw wrong("nothing keeps the filter " + printable(filter_name_) + " in step with " + what +
                ", so the guard would not find a row whose key came later than the filter's; make"
                " the filter with source = " +
                what + ", triggers = on, or write stale = allowed");
  }
}

void GuardTable::compare_with_key(size_t index, const ColumnDomain& key) const {
  const GuardedColumn& column = key_column(index);
  const std::string what = table_.name + "(" + column.name + ")";
  const std::string of_filter =
      (keys_.size() == 1 ? "the key" : "column " + std::to_string(index + 1) + " of the key") +
      " of the filter " + printable(filter_name_);
  if (!same_keys(key.affinity, column.affinity)) {
    throw wrong(of_filter + " has another type than " + what + ", \"" + column.type +
                "\", so it would not find all of its keys; declare both alike");
  }
  if (!equal_names(collation_name(key.collation), column.collation)) {
    throw wrong(of_filter + " compares by " + collation_name(key.collation) + ", " + what + " by " +
                column.collation + "; declare both alike");
  }
}

// Looks at filter and table again if the schema changed. SQLite then plans every statement anew,
// and best_index() calls this. Returns false if there can be no plan yet. Throws SqlError.
bool GuardTable::look() {
  try {
    if (!looked_.update(db_, schema_, ever_looked_, [this] {
          look_anew();
          return true;
        })) {
      live_ = nullptr;
    }
    interrupted_ = false;
    return ever_looked_;
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_INTERRUPT) {
      throw;
    }
    interrupted_ = true;  // as an error of xBestIndex it would be SQLITE_ERROR
    return false;
  }
}

void GuardTable::plan_again() {
  if (std::exchange(interrupted_, false)) {
    throw SqlError(SQLITE_INTERRUPT, sqlite3_errstr(SQLITE_INTERRUPT));
  }
  throw SqlError(SQLITE_SCHEMA, "database schema has changed");
}

void GuardTable::look_anew() {
  find_filter();
  const GuardedTable declared = table_;
  learn_table();
  if (declared.columns.empty()) {
    table_ = declared;
    throw wrong(
        "its filter or its table was missing when this connection first read the guard; open the"
        " database anew");
  }
  if (!declared.same_declaration(table_)) {
    const std::string name = std::exchange(table_, declared).name;
    throw wrong("the columns of " + name +
                " are others than when the guard was made or the database opened; make the guard"
                " anew, or open the database anew");
  }
  compare_with_filter();
  // SQLite asks the authorizer here: the guard may ask the filter only about columns that the
  // authorizer lets it read.
  std::string columns;
  for (size_t i = 0; i < keys_.size(); ++i) {
    append_item(columns, ", ", sql_text(R"(t."%w")", key_column(i).name.c_str()));
  }
  const Statement allowed(
      db_, "SELECT " + columns +
               sql_text(R"( FROM "%w"."%w" AS t)", schema_.c_str(), table_.name.c_str()));
  trigger_inserts_ = trigger_inserts_rows_into(db_, schema_, table_.name);
  problem_.clear();
  ever_looked_ = true;
}

std::shared_ptr<LiveFilter> GuardTable::filter() {
  if (live_ == nullptr || names_version_ != connection_.names_version()) {
    find_filter();
  }
  return live_;
}

// --- planning ------------------------------------------------------------------------------------

bool GuardTable::best_index(sqlite3_index_info* info) {
  if (!look()) {
    info->idxNum = kPlanAgain;
    info->estimatedCost = 0;  // so that SQLite takes it
    info->estimatedRows = 1;
    return true;
  }
  PlannedGuard planned = plan_guard(info, {table_, keys_, filter_name_, live_ != nullptr});
  const auto [known, is_new] =
      plan_numbers_.try_emplace(planned.name, static_cast<int>(plans_.size()));
  if (is_new) {
    try {
      plans_.push_back(std::make_unique<Plan>());
    } catch (...) {
      plan_numbers_.erase(known);
      throw;
    }
    plans_.back()->plan = std::move(planned.plan);
  }
  info->idxNum = known->second;
  describe_plan(info, planned.text);
  return true;
}

// --- statements ----------------------------------------------------------------------------------

GuardTable::Prepared& GuardTable::prepared(Plan& plan, uint32_t pushed) {
  std::unique_ptr<Prepared>& found = plan.prepared[pushed];
  if (found == nullptr) {
    auto made = std::make_unique<Prepared>();
    made->sql = plan.plan.statement(table_, pushed);
    found = std::move(made);
  }
  return *found;
}

Statement GuardTable::take(Prepared& prepared) {
  prepared.used = ++uses_;
  if (prepared.idle.empty()) {
    return {db_, prepared.sql};
  }
  Statement statement = std::move(prepared.idle.back());
  prepared.idle.pop_back();
  --idle_;
  return statement;
}

void GuardTable::give_back(Prepared& prepared, Statement statement) noexcept {
  constexpr size_t kMostIdle = 64;
  guard([](const char*) {},
        [&] {
          prepared.idle.push_back(std::move(statement));
          if (++idle_ > kMostIdle) {
            drop_oldest_idle();
          }
        });
}

void GuardTable::drop_oldest_idle() noexcept {
  Prepared* oldest = nullptr;
  for (const auto& plan : plans_) {
    for (const auto& [pushed, one] : plan->prepared) {
      if (!one->idle.empty() && (oldest == nullptr || one->used < oldest->used)) {
        oldest = one.get();
      }
    }
  }
  oldest->idle.pop_back();
  --idle_;
}

// I5. A cursor calls this once, and EXISTS opens one for each row. It does not know which statement
// opened it.
void GuardTable::refuse_self_insert() const {
  int triggers_run = 1;
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &triggers_run);
  if ((live_ != nullptr && live_->follows_source() && triggers_run != 0) ||
      sqlite3_txn_state(db_, nullptr) != SQLITE_TXN_WRITE) {
    return;
  }
  if (trigger_inserts_ ? runs_writing_statement(db_)
                       : running_statement_inserts_rows_into(db_, schema_, table_.name)) {
    throw wrong(
        (trigger_inserts_
             ? "a trigger inserts into " + table_.name +
                   ", and a statement that writes might read those rows here"
             : "a statement that inserts into " + table_.name + " would read its own rows here") +
        ", because no trigger keeps the filter in step; read " + table_.name + " itself in it");
  }
}

}  // namespace cuckoo
