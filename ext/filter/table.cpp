#include "ext/filter/table.hpp"

#include "ext/filter/commands.hpp"
#include "ext/filter/probe_plan.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

FilterTable::FilterTable(const ModuleArguments& arguments, FilterModule module)
    : StoredTable(arguments),
      connection_(arguments.connection),
      db_(arguments.db),
      module_(module),
      declared_name_(arguments.table()),
      options_(arguments, connection_.modules(), ColumnRules::kTypeAndCollation),
      key_(name(), options_.columns(), arguments.creating),
      source_(*live_, key_, options_, arguments.creating),
      rows_(*live_, key_),
      binary_probes_(db_) {
  live_->declare_key(key_.domain().form, key_.names());
  try {
    key_.refuse_replaced_collations(db_);
  } catch (const SqlError& error) {
    if (arguments.creating || !is_finding(error.code())) {
      throw;
    }
    live_->set_damage(error);
  }
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

void FilterTable::create() {
  Surroundings around;
  around.key = key_.domain().form;
  around.seed_of = seed_source();
  around.page_bytes = page_bytes_for(db_, live_->schema());
  if (source_.declared() && !options_.has("capacity")) {
    around.capacity = source_.capacity();
  }
  live_->create(chosen_options(declared_name_, module_, options_, around));
  if (source_.declared()) {
    source_.create();
  }
}

void FilterTable::destroy() {
  source_.drop();
  live_->destroy();
}

void FilterTable::rename(const std::string& name) {
  key_.refuse_table_name(name);
  live_->refuse_amid_parts();
  const bool in_step = source_.detach();
  live_->rename(name);
  if (in_step) {
    source_.attach();
  }
}

// SQLite plans statements anew if the schema changes, or if a collation is replaced.
bool FilterTable::best_index(sqlite3_index_info* info) {
  if (live_->follows_source() || key_.domain().form.collations != 0) {
    checked_.update(db_, live_->schema(), true, [this] {
      const bool sound = source_.check_triggers();
      key_.refuse_replaced_collations(db_);
      return sound;
    });
  }
  binary_probes_.forget_ended();
  plan_probe(info, key_);
  return true;
}

FilterCommands FilterTable::commands() { return {connection_, *live_, key_, source_, rows_}; }

// Brings the table up to date. Returns true if it could not be read, and is made anew for that
// command. `command`: null if there is none.
bool FilterTable::follow_for(sqlite3_value* command) {
  try {
    live_->follow();
    return false;
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_CORRUPT || live_->has_damage() || command == nullptr ||
        is_null(command) || !commands().replaces_all(command)) {
      throw;
    }
  }
  live_->make_anew();
  return true;
}

bool FilterTable::update(int count, sqlite3_value** values, sqlite3_int64& rowid) {
  rowid = sqlite3_last_insert_rowid(db_);
  struct Kept {
    KeyColumns& key;
    ~Kept() { key.keep_if_small(); }
  } const kept{key_};
  sqlite3_value* const row_key = values[0];
  const bool inserting = count > 1 && is_null(row_key);
  const bool anew = follow_for(inserting ? values[2 + key_.command_column()] : nullptr);
  if (!inserting) {
    binary_probes_.refuse_change(key_);
  }
  if (count == 1) {
    rows_.remove(row_key);
    return true;
  }
  sqlite3_value** const keys = values + 2;
  sqlite3_value* const occurrences = keys[key_.count_column()];
  sqlite3_value* const command = keys[key_.command_column()];
  if (key_.several()) {
    key_.refuse_row_key(row_key, keys[key_.row_key_column()]);
  }
  if (!inserting) {
    rows_.refuse_count(row_key, occurrences);
  }
  if (!is_null(command)) {
    using Event = DeclaredSource::TriggerEvent;
    if (const auto event = inserting ? source_.event_of(command) : std::nullopt) {
      if (*event == Event::kDelete) {
        rows_.remove_copies(keys, occurrences);
      }
      return *event != Event::kInsert || rows_.insert(keys, occurrences);
    }
    if (!inserting) {
      throw SqlError(SQLITE_ERROR, name() + ": a command is given by INSERT, not by UPDATE");
    }
    try {
      commands().run(command, keys, occurrences);
    } catch (...) {
      if (anew) {
        live_->drop_made_anew();
      }
      throw;
    }
    return true;
  }
  return inserting ? rows_.insert(keys, occurrences) : rows_.update(row_key, keys);
}

}  // namespace cuckoo
