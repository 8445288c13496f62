#include "ext/filter/table.hpp"

#include <algorithm>
#include <cmath>

#include "core/filter/sizing.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/filter/intake.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// A probe and a unique look-up both give one row for each row, so both orders of a join cost SQLite
// the same, and the rounding of its logarithms decides. Of all costs this one puts the filter first
// most often (DESIGN.md, "The order of a join"). To SQLite 144 to 159 are one number.
constexpr double kProbeCost = 150;
constexpr double kCountCost = 1e6;
constexpr double kRefusedCost = 1e99;

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

FilterTable::FilterTable(const ModuleArguments& arguments, FilterModule module)
    : connection_(arguments.connection),
      db_(arguments.db),
      module_(module),
      declared_name_(arguments.table()),
      options_(arguments.table(), option_specs(module),
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating, ColumnRules::kTypeAndCollation),
      key_(options_.columns().empty() ? ColumnSpec{"key", ""} : options_.columns()[0]) {
  if (arguments.creating) {
    if (options_.columns().size() > 1) {
      throw SqlError(SQLITE_ERROR, declared_name_ +
                                       ": one column, the key, expected; there is also " +
                                       printable(options_.columns()[1].name));
    }
    if (equal_names(key_.name, "count")) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": the key column may not be called count");
    }
    refuse_name(declared_name_);
  }
  attach(arguments);
  resolve_key(arguments.creating);
  live_->declare_key(affinity_, collation_);
  live_->declare_source(has_source() ? std::optional(CheckedSource{key_.name, triggers_})
                                     : std::nullopt);
}

void FilterTable::refuse_name(const std::string& table) const {
  refuse_own_column("a filter", table, std::array<std::string_view, 2>{key_.name, "count"});
}

std::string FilterTable::declaration() const {
  return sql_text(
      "CREATE TABLE x(\"%w\" %s COLLATE %s PRIMARY KEY, count INTEGER HIDDEN, \"%w\" TEXT HIDDEN)"
      " WITHOUT ROWID",
      key_.name.c_str(), key_.type.c_str(), collation_name(collation_), declared_name_.c_str());
}

// As it stands behind the key's name.
Collation FilterTable::given_collation() const {
  if (key_.collation.empty()) {
    return Collation::kBinary;
  }
  const std::optional<Collation> collation = collation_named(key_.collation);
  if (!collation) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": column " + key_.name + ": collation " +
                                     printable(key_.collation) +
                                     ", expected BINARY, NOCASE or RTRIM");
  }
  return *collation;
}

// A source's column gives the key its type and its collation: read from the source at CREATE,
// stored, and read from there ever after, whatever becomes of the source. Damage must not keep
// SQLite from connecting: the table could not be dropped.
void FilterTable::resolve_key(bool creating) {
  live_->set_damage({});
  collation_ = given_collation();
  if (!creating && has_source()) {
    triggers_ = options_.on("triggers").value_or(false);
    try {
      const FilterSource::Stored stored = source().stored();
      key_.type = stored.key_type;
      collation_ = stored.collation;
    } catch (const SqlError& error) {
      if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
        throw;
      }
      live_->set_damage(error.message());
    }
  } else if (creating && has_source()) {
    chosen_source_ = given_source();
    const SourceKey from =
        resolve_source(db_, declared_name_, live_->schema(), chosen_source_).front();
    triggers_ = options_.on("triggers").value_or(false);
    if (from.of_column) {
      take_key(from);
    }
  }
  affinity_ = affinity_of(key_.type);
}

// The options source and where.
SourceSpec FilterTable::given_source() const {
  SourceText text = parse_source(*options_.text("source")).value();
  if (text.keys.size() != 1) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": its source has " +
                                     std::to_string(text.keys.size()) +
                                     " columns, expected 1, as the filter's key has");
  }
  return {std::move(text.table), std::move(text.keys), options_.text("where").value_or(""), {}};
}

void FilterTable::take_key(const SourceKey& from) {
  if (!key_.type.empty() && affinity_of(key_.type) != affinity_of(from.type)) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": the key takes the type of its source, \"" +
                                     printable(from.type) + "\", not \"" + printable(key_.type) +
                                     "\"; leave it out");
  }
  if (!key_.collation.empty() && collation_ != from.collation) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": the key takes the collation of its source, " +
                                     collation_name(from.collation) + ", not " +
                                     collation_name(collation_) + "; leave it out");
  }
  key_.type = key_.type.empty() ? from.type : key_.type;
  collation_ = from.collation;
}

std::optional<SeedSource> FilterTable::seed_source() const {
  const std::optional<std::string> other = options_.text("seed_of");
  if (!other) {
    return std::nullopt;
  }
  if (equal_names(*other, declared_name_)) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": seed_of names another table");
  }
  const auto found = connection_.find<LiveFilter>(*other);
  const FilterOptions& options = found->filter().options();
  return SeedSource{options.seed, options.width, options.spec.kind};
}

FilterSource FilterTable::source() { return FilterSource(live_->store(), {key_.name}); }

void FilterTable::load_from(const FilterSource& from, uint64_t capacity) {
  Intake(*live_, "rebuild")
      .replace(
          [&](const auto& visit) {
            from.for_each_row([&](std::span<sqlite3_value* const> keys) {
              visit(key_of(keys.front(), affinity_));
            });
          },
          capacity);
}

// Room for a quarter more than the source has.
uint64_t FilterTable::source_capacity() {
  constexpr uint64_t kLeast = 1000;
  const uint64_t keys = count_source(db_, live_->schema(), chosen_source_);
  return std::clamp(keys + (keys + 3) / 4, kLeast, kMaxCapacity);
}

void FilterTable::create() {
  Surroundings around;
  around.collation = collation_;
  around.seed_of = seed_source();
  around.page_bytes = page_bytes_for(db_, live_->schema());
  if (options_.has("source") && !options_.has("capacity")) {
    around.capacity = source_capacity();
  }
  live_->create(chosen_options(declared_name_, module_, options_, around));
  if (has_source()) {
    FilterSource from = source();
    from.store({chosen_source_, key_.type, triggers_});
    load_from(from, 0);
    live_->finish_create();
    if (triggers_) {
      from.create_triggers();
    }
  }
}

void FilterTable::destroy() {
  if (triggers_) {
    source().drop_triggers();
  }
  live_->destroy();
}

void FilterTable::rename(const std::string& name) {
  refuse_name(name);
  live_->refuse_amid_parts();
  const bool in_step = triggers_ && source().triggers() == FilterSource::Triggers::kInPlace;
  if (triggers_) {
    source().detach_triggers();
  }
  live_->rename(name);
  if (in_step) {
    source().create_triggers();
  }
}

// --- planning ----------------------------------------------------------------------------------

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

bool FilterTable::best_index(sqlite3_index_info* info) {
  if (triggers_) {
    expect_triggers();  // a change of the schema plans every statement anew
  }
  if (!binary_probes_.empty()) {
    drop_ended_runs();
  }
  // count(*) reads no column; but newer versions of SQLite say of a WITHOUT ROWID table that its
  // primary key is always read. If it really is, xColumn refuses.
  constexpr uint64_t kKeyBit = uint64_t{1} << kKeyColumn;
  int plan = (info->colUsed & ~kKeyBit) == 0 ? kCountPlan : kRefuseListPlan;
  int probe = -1;       // the constraint that gives the key
  bool others = false;  // is it compared by another collation, too?
  bool limited = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    limited = limited || constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT;
    if (constraint.iColumn != kKeyColumn || !is_comparison(constraint.op)) {
      continue;  // LIMIT and OFFSET come with column 0, too
    }
    const char* const collation = sqlite3_vtab_collation(info, i);
    const bool own = sqlite3_stricmp(collation, collation_name(collation_)) == 0;
    others = others || !own;
    if (constraint.op != SQLITE_INDEX_CONSTRAINT_EQ &&
        constraint.op != SQLITE_INDEX_CONSTRAINT_IS) {
      continue;
    }
    if (constraint.usable == 0) {
      plan = plan == kCountPlan ? kRefuseListPlan : plan;
    } else if (!own && sqlite3_stricmp(collation, "BINARY") != 0) {
      plan = probe < 0 ? kRefuseCollationPlan : plan;
    } else if (own || probe < 0) {
      plan = own ? kProbePlan : kBinaryProbePlan;
      probe = i;
    }
  }
  if (plan == kProbePlan && others && collation_ != Collation::kBinary) {
    plan = kBinaryProbePlan;  // SQLite compares what was asked for, not what is stored
  }
  info->idxNum = plan == kCountPlan && limited ? kSomeRowsPlan : plan;
  if (probe >= 0) {
    info->aConstraintUsage[probe].argvIndex = 1;
    info->aConstraintUsage[probe].omit = 1;
    info->estimatedCost = kProbeCost;
    info->estimatedRows = 1;
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    describe_plan(info, sql_text("%s=?", key_.name.c_str()));
  } else {
    info->estimatedCost = plan == kCountPlan ? kCountCost : kRefusedCost;
    info->estimatedRows = 1000000;
  }
  return true;
}

// --- changing ----------------------------------------------------------------------------------

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

void FilterTable::refuse_binary_change() {
  drop_ended_runs();
  if (!binary_probes_.empty()) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": DELETE and UPDATE find keys by the collation of the key"
                                     " only; write " +
                                     key_.name + " = value, the key on the left of =");
  }
}

KeyView FilterTable::key_to_store(sqlite3_value* value) const {
  const KeyView key = key_of(value, affinity_);
  if (key.type == SQLITE_NULL) {
    throw SqlError(SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: " + name() + "." +
                                                  key_.name + ": a filter can't hold NULL");
  }
  return key;
}

// Where a remove could lose another key.
void FilterTable::refuse_removal(const char* what) {
  const FilterOptions& options = live_->filter().options();
  if (options.generations > 1) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": a sliding window forgets by 'rotate' and 'clear' only, " +
                                     what + " could lose another generation's key");
  }
  if (!is_multiset(options.spec.kind)) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": a Bloom filter can't " + what +
                       "; make it with counting = on, use a cuckoo_filter, or empty it with"
                       " 'clear' (with a source: 'rebuild')");
  }
}

// A whole REAL is taken as an INTEGER, as an ordinary column of that type does: some languages bind
// every number as REAL.
uint64_t FilterTable::copies_argument(sqlite3_value* count) const {
  if (is_null(count)) {
    return 1;
  }
  const int type = sqlite3_value_type(count);
  const double number = sqlite3_value_double(count);
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || std::floor(number) != number ||
      number < 1 || number > static_cast<double>(kMostCopies)) {
    const std::string text = type == SQLITE_BLOB ? "a BLOB" : printable(text_argument(count));
    throw SqlError(SQLITE_ERROR, name() + ": count is " + text +
                                     (type == SQLITE_TEXT ? ", a TEXT" : "") +
                                     ", expected an INTEGER from 1 to 2^31, or NULL for 1");
  }
  return static_cast<uint64_t>(number);
}

bool FilterTable::remove(sqlite3_value* value, uint64_t copies) {
  refuse_removal("DELETE");
  const KeyView key = key_of(value, affinity_);
  if (key.type == SQLITE_NULL) {
    return false;
  }
  return copies == 1 ? live_->remove(key) : live_->remove_copies(key, copies) > 0;
}

// Of a key that is present, or seems to be. OR IGNORE, row by row the cheapest way to add what is
// new, comes here at every other one: no exception, no text.
bool FilterTable::refuse_present() {
  if (sqlite3_vtab_on_conflict(db_) != SQLITE_IGNORE) {
    throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY,
                   "UNIQUE constraint failed: " + name() + "." + key_.name);
  }
  return false;
}

bool FilterTable::insert(sqlite3_value* value) {
  if (is_plain_integer(value, affinity_) && !unique()) {
    live_->insert_integer(sqlite3_value_int64(value));
    return true;
  }
  const KeyView key = key_to_store(value);
  if (!unique()) {
    live_->insert(key);
  } else if (!live_->insert_new(key) && sqlite3_vtab_on_conflict(db_) != SQLITE_REPLACE) {
    return refuse_present();
  }
  return true;
}

// A set has a key or lacks it. To take a count there would hide that it counts for nothing.
bool FilterTable::insert_copies(sqlite3_value* value, sqlite3_value* count) {
  const uint64_t copies = copies_argument(count);
  if (copies == 1) {
    return insert(value);
  }
  const FilterOptions& options = live_->filter().options();
  if (!options.counts_copies()) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": count is " + std::to_string(copies) + ", and " +
                       (unique() ? "unique = on holds each key once; leave count out"
                                 : "this Bloom filter does not count its keys; make it with"
                                   " counting = on, or use a cuckoo_filter"));
  }
  live_->insert_copies(key_to_store(value), copies);
  return true;
}

bool FilterTable::update_key(sqlite3_value* old_key, sqlite3_value* new_key) {
  refuse_removal("UPDATE");
  const KeyView added = key_to_store(new_key);
  const KeyView removed = key_of(old_key, affinity_);
  if (removed.type == SQLITE_NULL) {
    return true;
  }
  using IfPresent = LiveFilter::IfPresent;
  const IfPresent if_present = !unique() ? IfPresent::kAdd
                               : sqlite3_vtab_on_conflict(db_) == SQLITE_REPLACE
                                   ? IfPresent::kLeave
                                   : IfPresent::kRefuse;
  return live_->replace_key(removed, added, if_present) != LiveFilter::Replaced::kRefused ||
         refuse_present();
}

// UPDATE … FROM writes every column back as it was read, and the same row once.
bool FilterTable::is_count_of(sqlite3_value* occurrences, sqlite3_value* value) {
  const KeyView key = key_of(value, affinity_);
  return sqlite3_value_type(occurrences) == SQLITE_INTEGER && key.type != SQLITE_NULL &&
         sqlite3_value_int64(occurrences) == static_cast<int64_t>(live_->count(key));
}

bool FilterTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  const bool inserting = count > 1 && is_null(values[0]);
  sqlite3_value* const command = count > 1 ? values[2 + kCommandColumn] : nullptr;
  live_->follow();
  if (!inserting && !binary_probes_.empty()) {
    refuse_binary_change();
  }
  if (count == 1) {
    remove(values[0]);
    return true;
  }
  sqlite3_value* const key = values[2 + kKeyColumn];
  sqlite3_value* const occurrences = values[2 + kCountColumn];
  if (!inserting && !is_null(occurrences) && !is_count_of(occurrences, values[0])) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": UPDATE can't set count, in which other keys may count;"
                                     " INSERT adds so many, the command 'delete' removes them");
  }
  if (!is_null(command)) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    if (!is_null(occurrences) && lower(text_argument(command)) != "delete") {
      throw SqlError(SQLITE_ERROR, name() + ": of the commands only 'delete' takes a count");
    }
    command_count_ = occurrences;
    run_command(*this, commands(), command, key);
    return true;
  }
  if (inserting) {
    return is_null(occurrences) ? insert(key) : insert_copies(key, occurrences);
  }
  return sqlite3_value_nochange(key) != 0 || update_key(values[0], key);
}

}  // namespace cuckoo
