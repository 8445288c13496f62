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
// --- creating and connecting -------------------------------------------------------------------

FilterTable::FilterTable(const ModuleArguments& arguments, FilterModule module)
    : connection_(arguments.connection),
      db_(arguments.db),
      module_(module),
      declared_name_(arguments.table()),
      options_(arguments.table(), option_specs(module),
               std::span(arguments.texts + 3, static_cast<size_t>(arguments.count - 3)),
               !arguments.creating, ColumnRules::kTypeAndCollation),
      key_(options_.columns().empty() ? std::vector<ColumnSpec>{{"key", ""}} : options_.columns()) {
  if (arguments.creating) {
    check_columns();
    refuse_name(declared_name_);
  }
  key_.resize(std::min(key_.size(), kMaxKeyColumns));  // of a schema that was changed from outside
  several_ = key_.size() > 1;
  attach(arguments);
  resolve_key(arguments.creating);
  live_->declare_key(domain_.form, key_names());
  live_->declare_source(has_source() ? std::optional(CheckedSource{triggers_}) : std::nullopt);
}

void FilterTable::check_columns() const {
  if (key_.size() > kMaxKeyColumns) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": a key of 1 to 8 columns expected, not of " +
                                     std::to_string(key_.size()) + "; the ninth is " +
                                     printable(key_[kMaxKeyColumns].name));
  }
  for (size_t i = 0; i < key_.size(); ++i) {
    const std::string& name = key_[i].name;
    if (equal_names(name, "count")) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": the key column may not be called count");
    }
    if (key_.size() > 1 && equal_names(name, kRowKey)) {
      throw SqlError(SQLITE_ERROR, declared_name_ + ": of several key columns none may be called " +
                                       kRowKey + ", which is a hidden column's name");
    }
    for (size_t before = 0; before < i; ++before) {
      if (equal_names(name, key_[before].name)) {
        throw SqlError(SQLITE_ERROR,
                       declared_name_ + ": two key columns are called " + printable(name));
      }
    }
  }
}

void FilterTable::refuse_name(const std::string& table) const {
  std::vector<std::string_view> names = {"count"};
  for (const ColumnSpec& column : key_) {
    names.push_back(column.name);
  }
  if (key_.size() > 1) {
    names.emplace_back(kRowKey);
  }
  refuse_own_column("a filter", table, names);
}

std::string FilterTable::declaration() const {
  std::string key;
  for (size_t i = 0; i < columns(); ++i) {
    key += sql_text("\"%w\" %s COLLATE %s%s, ", key_[i].name.c_str(), key_[i].type.c_str(),
                    collation_name(domain_.column(i).collation), several_ ? "" : " PRIMARY KEY");
  }
  const std::string row_key =
      several_ ? std::string(", ") + kRowKey + " BLOB HIDDEN PRIMARY KEY" : "";
  return sql_text("CREATE TABLE x(%scount INTEGER HIDDEN, \"%w\" TEXT HIDDEN%s) WITHOUT ROWID",
                  key.c_str(), declared_name_.c_str(), row_key.c_str());
}

// As it stands behind the column's name.
Collation FilterTable::given_collation(const ColumnSpec& column) const {
  if (column.collation.empty()) {
    return Collation::kBinary;
  }
  const std::optional<Collation> collation = collation_named(column.collation);
  if (!collation) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": column " + column.name + ": collation " +
                                     printable(column.collation) +
                                     ", expected BINARY, NOCASE or RTRIM");
  }
  return *collation;
}

// A source's column gives the key its type and its collation: read from the source at CREATE,
// stored, and read from there ever after, whatever becomes of the source. Damage must not keep
// SQLite from connecting: the table could not be dropped.
void FilterTable::resolve_key(bool creating) {
  live_->set_damage({});
  std::vector<Collation> collations;
  for (const ColumnSpec& column : key_) {
    collations.push_back(given_collation(column));
  }
  if (!creating && has_source()) {
    triggers_ = options_.on("triggers").value_or(false);
    try {
      const FilterSource::Stored stored = source().stored();
      for (size_t i = 0; i < std::min(columns(), stored.key_types.size()); ++i) {
        key_[i].type = stored.key_types[i];
        collations[i] = static_cast<Collation>(stored.form.collation(static_cast<unsigned>(i)));
      }
    } catch (const SqlError& error) {
      if ((error.code() & 0xFF) != SQLITE_CORRUPT) {
        throw;
      }
      live_->set_damage(error.message());
    }
  } else if (creating && has_source()) {
    chosen_source_ = given_source();
    const std::vector<SourceKey> from =
        resolve_source(db_, declared_name_, live_->schema(), chosen_source_);
    for (size_t i = 0; i < columns(); ++i) {
      if (from[i].of_column) {
        take_key(i, from[i], collations[i]);
      }
    }
    triggers_ = options_.on("triggers").value_or(false);
  }
  domain_ = KeyDomain();
  domain_.form.columns = static_cast<uint8_t>(columns());
  for (size_t i = 0; i < columns(); ++i) {
    domain_.set(i, {affinity_of(key_[i].type), collations[i], 0});
  }
  affinity_ = domain_.column(0).affinity;
}

// The options source and where.
SourceSpec FilterTable::given_source() const {
  SourceText text = parse_source(*options_.text("source")).value();
  if (text.keys.size() != columns()) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": its source gives keys of " +
                                     std::to_string(text.keys.size()) +
                                     " column(s), and the key has " + std::to_string(columns()) +
                                     "; name as many in front of the options");
  }
  return {std::move(text.table), std::move(text.keys), options_.text("where").value_or(""), {}};
}

void FilterTable::take_key(size_t index, const SourceKey& from, Collation& collation) {
  ColumnSpec& key = key_[index];
  const std::string what = several_ ? "key column " + key.name : "the key";
  if (!key.type.empty() && affinity_of(key.type) != affinity_of(from.type)) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": " + what +
                                     " takes the type of its source, \"" + printable(from.type) +
                                     "\", not \"" + printable(key.type) + "\"; leave it out");
  }
  if (!key.collation.empty() && collation != from.collation) {
    throw SqlError(SQLITE_ERROR, declared_name_ + ": " + what +
                                     " takes the collation of its source, " +
                                     collation_name(from.collation) + ", not " +
                                     collation_name(collation) + "; leave it out");
  }
  key.type = key.type.empty() ? from.type : key.type;
  collation = from.collation;
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

std::vector<std::string> FilterTable::key_names() const {
  std::vector<std::string> names;
  for (const ColumnSpec& column : key_) {
    names.push_back(column.name);
  }
  return names;
}

FilterSource FilterTable::source() { return FilterSource(live_->store(), key_names()); }

void FilterTable::load_from(const FilterSource& from, uint64_t capacity) {
  Intake(*live_, "rebuild")
      .replace(
          [&](const auto& visit) {
            from.for_each_row(
                [&](std::span<sqlite3_value*> keys) { visit(given_key(keys.data())); });
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
  around.key = domain_.form;
  around.seed_of = seed_source();
  around.page_bytes = page_bytes_for(db_, live_->schema());
  if (options_.has("source") && !options_.has("capacity")) {
    around.capacity = source_capacity();
  }
  live_->create(chosen_options(declared_name_, module_, options_, around));
  if (has_source()) {
    FilterSource from = source();
    std::vector<std::string> types;
    for (const ColumnSpec& column : key_) {
      types.push_back(column.type);
    }
    from.store({chosen_source_, std::move(types), {}, triggers_});
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

// --- changing ----------------------------------------------------------------------------------

SqlError FilterTable::null_key(size_t column, const char* why) const {
  return {SQLITE_CONSTRAINT_NOTNULL,
          "NOT NULL constraint failed: " + name() + "." + key_[column].name + ": " + why};
}

KeyView FilterTable::given_key(sqlite3_value** keys) {
  return several_ ? tuple_.make(domain_, keys) : key_of(keys[0], affinity_);
}

KeyView FilterTable::key_to_store(sqlite3_value** keys) {
  const KeyView key = given_key(keys);
  if (key.type == SQLITE_NULL) [[unlikely]] {
    size_t column = 0;
    while (column + 1 < columns() && !is_null(keys[column])) {
      ++column;
    }
    throw null_key(column, "a filter can't hold NULL");
  }
  return key;
}

// The key that a row gets by UPDATE. Of a column that the statement leaves alone SQLite hands over
// no value: that is in the row's whole key, but without what the column's collation changes.
KeyView FilterTable::changed_key(sqlite3_value* row, sqlite3_value** keys) {
  if (!several_) {
    return key_to_store(keys);
  }
  const TupleColumns old = *decode_tuple(bytes_of(key_of_row(row)));
  tuple_.begin(columns());
  for (size_t i = 0; i < columns(); ++i) {
    const ColumnDomain column = domain_.column(i);
    if (sqlite3_value_nochange(keys[i]) != 0) {
      const bool folded = old.keys[i].type == SQLITE_TEXT && column.collation != Collation::kBinary;
      tuple_.add(old.keys[i], Collation::kBinary, folded ? kCasedKeys | kPaddedKeys : 0);
      continue;
    }
    const KeyView key = key_of(keys[i], column.affinity);
    if (key.type == SQLITE_NULL) {
      throw null_key(i, "a filter can't hold NULL");
    }
    tuple_.add(key, column.collation);
  }
  return tuple_.view();
}

// SQLite read it from a cursor, except where a statement sets it.
KeyView FilterTable::key_of_row(sqlite3_value* row) const {
  const KeyView key = key_of(row, several_ ? Affinity::kNone : affinity_);
  if (several_) {
    const std::optional<TupleColumns> found =
        key.type == SQLITE_BLOB ? decode_tuple(bytes_of(key)) : std::nullopt;
    if (!found || found->count != columns()) {
      throw SqlError(SQLITE_MISMATCH, name() + ": " + kRowKey + " is no key of " +
                                          std::to_string(columns()) + " columns; set these");
    }
  }
  return key;
}

// `row` is NULL for an INSERT.
void FilterTable::refuse_row_key(sqlite3_value* row, sqlite3_value* given) const {
  if (is_null(given) || sqlite3_value_nochange(given) != 0) {
    return;
  }
  const auto a = blob_of(row);
  const auto b = blob_of(given);
  if (is_null(row) || !std::equal(a.begin(), a.end(), b.begin(), b.end())) {
    throw SqlError(SQLITE_ERROR, name() + ": " + kRowKey + " is made of " + names_of_key() +
                                     "; give or set these, and leave it out");
  }
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

bool FilterTable::remove(const KeyView& key, uint64_t copies) {
  refuse_removal("DELETE");
  if (key.type == SQLITE_NULL) {
    return false;
  }
  return copies == 1 ? live_->remove(key) : live_->remove_copies(key, copies) > 0;
}

// Of a key that is present, or seems to be. OR IGNORE, row by row the cheapest way to add what is
// new, comes here at every other one: no exception, no text.
bool FilterTable::refuse_present() {
  if (sqlite3_vtab_on_conflict(db_) != SQLITE_IGNORE) {
    std::string columns;
    for (const ColumnSpec& column : key_) {
      columns += (columns.empty() ? "" : ", ") + name() + "." + column.name;
    }
    throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY, "UNIQUE constraint failed: " + columns);
  }
  return false;
}

bool FilterTable::insert(sqlite3_value** keys) {
  if (!several_ && is_plain_integer(keys[0], affinity_) && !unique()) {
    live_->insert_integer(sqlite3_value_int64(keys[0]));
    return true;
  }
  const KeyView key = key_to_store(keys);
  if (!unique()) {
    live_->insert(key);
  } else if (!live_->insert_new(key) && sqlite3_vtab_on_conflict(db_) != SQLITE_REPLACE) {
    return refuse_present();
  }
  return true;
}

// A set has a key or lacks it. To take a count there would hide that it counts for nothing.
bool FilterTable::insert_copies(sqlite3_value** keys, sqlite3_value* count) {
  const uint64_t copies = copies_argument(count);
  if (copies == 1) {
    return insert(keys);
  }
  const FilterOptions& options = live_->filter().options();
  if (!options.counts_copies()) {
    throw SqlError(SQLITE_ERROR,
                   name() + ": count is " + std::to_string(copies) + ", and " +
                       (unique() ? "unique = on holds each key once; leave count out"
                                 : "this Bloom filter does not count its keys; make it with"
                                   " counting = on, or use a cuckoo_filter"));
  }
  live_->insert_copies(key_to_store(keys), copies);
  return true;
}

bool FilterTable::update_key(sqlite3_value* row, sqlite3_value** keys) {
  refuse_removal("UPDATE");
  const KeyView added = changed_key(row, keys);
  const KeyView removed = key_of_row(row);
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
bool FilterTable::is_count_of(sqlite3_value* occurrences, const KeyView& key) {
  return sqlite3_value_type(occurrences) == SQLITE_INTEGER && key.type != SQLITE_NULL &&
         sqlite3_value_int64(occurrences) == static_cast<int64_t>(live_->count(key));
}

void FilterTable::refuse_more_arguments(const std::string& command, sqlite3_value** keys) const {
  for (size_t i = 1; i < columns(); ++i) {
    if (!is_null(keys[i])) {
      throw SqlError(SQLITE_ERROR, name() + ": the argument of '" + printable(command) +
                                       "' goes into the first key column, " + key_[0].name +
                                       "; leave " + key_[i].name + " out");
    }
  }
}

bool FilterTable::run(sqlite3_value* command, sqlite3_value** keys, sqlite3_value* count) {
  const std::string word = lower(text_argument(command));
  if (word != "delete") {
    refuse_more_arguments(word, keys);
    if (!is_null(count)) {
      throw SqlError(SQLITE_ERROR, name() + ": of the commands only 'delete' takes a count");
    }
  }
  command_keys_ = keys;
  command_count_ = count;
  run_command(*this, commands(), command, keys[0]);
  return true;
}

bool FilterTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  const bool inserting = count > 1 && is_null(values[0]);
  live_->follow();
  if (!inserting && !binary_probes_.empty()) {
    refuse_binary_change();
  }
  if (count == 1) {
    remove(key_of_row(values[0]));
    return true;
  }
  sqlite3_value** const keys = values + 2;
  sqlite3_value* const occurrences = keys[count_column()];
  sqlite3_value* const command = keys[command_column()];
  if (several_) {
    refuse_row_key(values[0], keys[row_key_column()]);
  }
  if (!inserting && !is_null(occurrences) && !is_count_of(occurrences, key_of_row(values[0]))) {
    throw SqlError(SQLITE_ERROR, name() +
                                     ": UPDATE can't set count, in which other keys may count;"
                                     " INSERT adds so many, the command 'delete' removes them");
  }
  if (!is_null(command)) {
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    return run(command, keys, occurrences);
  }
  if (inserting) {
    return is_null(occurrences) ? insert(keys) : insert_copies(keys, occurrences);
  }
  const bool unchanged = std::all_of(
      keys, keys + columns(), [](sqlite3_value* key) { return sqlite3_value_nochange(key) != 0; });
  return unchanged || update_key(values[0], keys);
}

}  // namespace cuckoo
