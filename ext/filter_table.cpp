#include "ext/filter_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/filter_sizing.hpp"

#include "ext/connection.hpp"
#include "ext/function.hpp"
#include "ext/statement.hpp"

namespace cuckoo {
namespace {

enum Column : int { kKeyColumn = 0, kCountColumn = 1, kCommandColumn = 2 };

constexpr double kProbeCost = 190;  // puts the filter before rowid and primary-key look-ups
constexpr double kCountCost = 1e6;
constexpr double kRefusedCost = 1e99;

bool is_null(sqlite3_value* value) noexcept { return sqlite3_value_type(value) == SQLITE_NULL; }

}  // namespace

// --- creating and connecting -------------------------------------------------------------------

FilterTable::FilterTable(const ModuleArguments& arguments, FilterModule module)
    : connection_(arguments.connection),
      db_(arguments.db),
      module_(module),
      declared_name_(arguments.table()),
      options_(arguments.table(), option_specs(module),
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating),
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
    refuse_own_column(declared_name_);
  }
  live_ = connection_.attach<LiveFilter>(arguments.schema(), arguments.table(), arguments.creating);
  live_->add_instance();
  try {
    settle_key_type(arguments.creating);
  } catch (...) {
    live_->drop_instance();
    throw;
  }
  live_->set_key_affinity(affinity_);
}

FilterTable::~FilterTable() { live_->drop_instance(); }

// The hidden command column is called like the table.
void FilterTable::refuse_own_column(const std::string& table) const {
  if (equal_names(table, key_.name) || equal_names(table, "count")) {
    throw SqlError(SQLITE_ERROR, "a filter may not be called like one of its columns: " + table);
  }
}

std::string FilterTable::declaration() const {
  return sql_text(R"(CREATE TABLE x("%w" %s PRIMARY KEY, count HIDDEN, "%w" HIDDEN) WITHOUT ROWID)",
                  key_.name.c_str(), key_.type.c_str(), declared_name_.c_str());
}

// A source's column gives the key its type: read from the source at CREATE, stored, and read from
// there ever after, whatever becomes of the source. Damage must not keep SQLite from connecting:
// the table could not be dropped.
void FilterTable::settle_key_type(bool creating) {
  live_->set_damage({});
  if (!creating && has_source()) {
    triggers_ = options_.on("triggers").value_or(false);
    try {
      key_.type = source().stored().key_type;
    } catch (const SqlError& error) {
      if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
        throw;
      }
      live_->set_damage(error.message());
    }
  } else if (const std::optional<std::string> text = options_.text("source"); creating && text) {
    const SourceColumn column = parse_source(*text).value();
    const std::string type = source_column_type(db_, declared_name_, live_->schema(), column);
    if (!key_.type.empty() && affinity_of(key_.type) != affinity_of(type)) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": the key takes the type of its source, \"" +
                                       printable(type) + "\", not \"" + printable(key_.type) +
                                       "\"; leave it out");
    }
    key_.type = key_.type.empty() ? type : key_.type;
    triggers_ = options_.on("triggers").value_or(false);
  }
  affinity_ = affinity_of(key_.type);
}

std::optional<SeedSource> FilterTable::seed_source() const {
  const std::optional<std::string> other = options_.text("seed_of");
  if (!other) {
    return std::nullopt;
  }
  if (equal_names(*other, declared_name_)) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": seed_of names another table");
  }
  const std::shared_ptr<LiveFilter> live = connection_.find<LiveFilter>(*other);
  const LiveFilter::Reading reading(*live);
  const FilterOptions& options = live->filter().options();
  return SeedSource{options.seed, options.width, options.spec.kind};
}

FilterSource FilterTable::source() { return FilterSource(live_->store(), key_.name); }

void FilterTable::load_from(const FilterSource& from, uint64_t capacity) {
  live_->replace([&](const LiveFilter::KeyVisitor& visit) { from.for_each_key(affinity_, visit); },
                 capacity);
}

void FilterTable::create() {
  live_->create(chosen_options(declared_name_, module_, options_, seed_source(),
                               page_bytes_for(db_, live_->schema())));
  if (const std::optional<std::string> text = options_.text("source")) {
    FilterSource from = source();
    from.store({*text, key_.type, triggers_});
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
  refuse_own_column(name);
  const bool in_step = triggers_ && source().has_triggers();
  if (triggers_) {
    source().detach_triggers();
  }
  live_->rename(live_, name);
  if (in_step) {
    source().create_triggers();
  }
}

void FilterTable::check() {
  if (has_source()) {
    (void)source().stored();
  }
  live_->check();
}

std::string FilterTable::integrity() {
  try {
    check();
    return {};
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) == SQLITE_CORRUPT) {
      return error.message();
    }
    throw;
  }
}

// --- planning ----------------------------------------------------------------------------------

bool FilterTable::best_index(sqlite3_index_info* info) {
  if (triggers_) {
    source().check_triggers();  // a change of the schema plans every statement anew
  }
  // count(*) reads no column; but newer versions of SQLite say of a WITHOUT ROWID table that its
  // primary key is always read. If it really is, xColumn refuses.
  constexpr uint64_t kKeyBit = uint64_t{1} << kKeyColumn;
  int plan = (info->colUsed & ~kKeyBit) == 0 ? kCountPlan : kRefuseListPlan;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != kKeyColumn || (constraint.op != SQLITE_INDEX_CONSTRAINT_EQ &&
                                             constraint.op != SQLITE_INDEX_CONSTRAINT_IS)) {
      continue;  // LIMIT and OFFSET come with column 0, too
    }
    if (constraint.usable == 0) {
      plan = plan == kCountPlan ? kRefuseListPlan : plan;
      continue;
    }
    if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) {
      plan = kRefuseCollationPlan;
      continue;
    }
    plan = kProbePlan;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    break;
  }
  info->idxNum = plan;
  if (plan == kProbePlan) {
    info->estimatedCost = kProbeCost;
    info->estimatedRows = 1;
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  } else {
    info->estimatedCost = plan == kCountPlan ? kCountCost : kRefusedCost;
    info->estimatedRows = 1000000;
  }
  return true;
}

// --- probing -----------------------------------------------------------------------------------

FilterTable::Cursor::Cursor(FilterTable& table) : live_(table.live()), affinity_(table.affinity()) {
  live_.follow();
}

void FilterTable::Cursor::probe_any(sqlite3_value* value) {
  const KeyView key = key_of(value, affinity_);
  if (key.type != SQLITE_NULL && live_.contains(key)) {
    rows_left_ = 1;
    key_.assign(key);
  }
}

void FilterTable::Cursor::filter_other(int plan, sqlite3_value** values) {
  live_.follow();  // a roll-back may have come between
  if (plan == kProbePlan) {
    probe_any(values[0]);
    return;
  }
  if (plan == kCountPlan) {
    rows_left_ = live_.filter().items();
    return;
  }
  if (plan == kRefuseCollationPlan) {
    throw SqlError(SQLITE_ERROR, live_.table() +
                                     ": a filter compares keys with BINARY collation only; write"
                                     " key = value COLLATE BINARY, or put the filter's key on the"
                                     " left of =");
  }
  refuse_to_list();
}

void FilterTable::Cursor::refuse_to_list() const {
  const std::string& name = live_.table();
  throw SqlError(SQLITE_ERROR,
                 name +
                     ": a filter does not know its keys and can't list them; give a key (key = ?,"
                     " JOIN, EXISTS, filter_contains); to empty it: INSERT INTO " +
                     name + "(" + name + ") VALUES ('clear')");
}

void FilterTable::Cursor::column(sqlite3_context* context, int column) {
  if (plan_ == kCountPlan) {
    refuse_to_list();
  }
  if (column == kKeyColumn) {
    if (sqlite3_vtab_nochange(context) == 0) {
      key_.result(context);
    }
  } else if (column == kCountColumn && sqlite3_vtab_nochange(context) == 0) {
    live_.follow();  // a roll-back may have come between
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(live_.count(key_.view())));
  }
}

// --- changing ----------------------------------------------------------------------------------

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

bool FilterTable::remove(sqlite3_value* value) {
  refuse_removal("DELETE");
  const KeyView key = key_of(value, affinity_);
  return key.type != SQLITE_NULL && live_->remove(key);
}

void FilterTable::update_key(sqlite3_value* old_key, sqlite3_value* new_key) {
  refuse_removal("UPDATE");
  const KeyView added = key_to_store(new_key);
  const KeyView removed = key_of(old_key, affinity_);
  if (removed.type != SQLITE_NULL) {
    live_->replace_key(removed, added);
  }
}

void FilterTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  live_->follow();
  if (count == 1) {
    remove(values[0]);
    return;
  }
  sqlite3_value* const key = values[2 + kKeyColumn];
  sqlite3_value* const occurrences = values[2 + kCountColumn];
  sqlite3_value* const command = values[2 + kCommandColumn];
  const bool inserting = is_null(values[0]);
  if (!is_null(occurrences)) {
    throw SqlError(SQLITE_ERROR, name() + ": column count is computed and can't be written");
  }
  if (!is_null(command)) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    run_command(command, key);
  } else if (inserting) {
    live_->insert(key_to_store(key));
  } else if (sqlite3_value_nochange(key) == 0) {
    update_key(values[0], key);
  }
}

// --- commands ----------------------------------------------------------------------------------

void FilterTable::run_resize(const std::string& argument) {
  const std::optional<double> capacity = parse_number(argument);
  if (!capacity || *capacity < 1 || *capacity > static_cast<double>(kMaxCapacity) ||
      std::floor(*capacity) != *capacity) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": resize takes a capacity, a whole number from 1 to 2^40");
  }
  const auto whole = static_cast<uint64_t>(*capacity);
  if (live_->filter().newest().keeps_hashes()) {
    live_->resize(whole);
  } else {
    run_rebuild(whole);
  }
}

// From the source, else from the stored hashes.
void FilterTable::run_rebuild(uint64_t capacity) {
  if (!has_source()) {
    live_->resize(capacity);
    return;
  }
  FilterSource from = source();
  load_from(from, capacity);
  if (triggers_ && !from.has_triggers()) {
    from.detach_triggers();
    from.create_triggers();
  }
}

// Of a filter's name or an image.
void FilterTable::run_merge(sqlite3_value* argument) {
  if (sqlite3_value_type(argument) == SQLITE_BLOB) {
    live_->merge(blob_argument(argument));
  } else if (sqlite3_value_type(argument) == SQLITE_TEXT) {
    live_->merge(*connection_.find<LiveFilter>(text_argument(argument)));
  } else {
    throw SqlError(SQLITE_ERROR, name() + ": merge takes a filter's name or an image");
  }
}

void FilterTable::run_import(sqlite3_value* argument) {
  if (sqlite3_value_type(argument) != SQLITE_BLOB) {
    throw SqlError(
        SQLITE_ERROR,
        name() + ": import takes an image, a BLOB made by filter_export(); " + kBindAsBlob);
  }
  live_->import(blob_argument(argument));
}

void FilterTable::run_command(sqlite3_value* command, sqlite3_value* argument) {
  const std::string word = lower(text_argument(command));
  if (triggers_ && (word == "clear" || word == "import")) {
    throw SqlError(SQLITE_ERROR, name() + ": " + word +
                                     " would lose keys that its source still has; 'rebuild' loads"
                                     " them anew");
  }
  if (word == "delete") {
    remove(argument);
  } else if (word == "resize") {
    run_resize(text_argument(argument));
  } else if (word == "merge") {
    run_merge(argument);
  } else if (word == "import") {
    run_import(argument);
  } else if (word != "clear" && word != "rebuild" && word != "rotate" && word != "check") {
    throw SqlError(SQLITE_ERROR, name() + ": unknown command \"" +
                                     printable(text_argument(command)) +
                                     "\"; the commands are check, clear, delete, import, merge,"
                                     " rebuild, resize, rotate");
  } else if (!is_null(argument)) {
    throw SqlError(SQLITE_ERROR, name() + ": " + word + " takes no argument");
  } else if (word == "clear") {
    live_->clear();
  } else if (word == "rebuild") {
    run_rebuild(0);
  } else if (word == "rotate") {
    live_->rotate();
  } else {
    check();
  }
}

}  // namespace cuckoo
