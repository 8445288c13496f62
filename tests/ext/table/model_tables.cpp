// The steps of a ModelScript that make, rename and drop tables, begin and end transactions, give
// commands, and handle the file as a whole.
#include <algorithm>

#include "tests/ext/table/model_script.hpp"

namespace cuckoo::test {

void ModelScript::step(Connection& connection) {
  using Step = void (ModelScript::*)(Connection&);
  static constexpr std::pair<unsigned, Step> kSteps[] = {
      {8, &ModelScript::insert_one},      {8, &ModelScript::insert_values},
      {12, &ModelScript::insert_bulk},    {3, &ModelScript::insert_copies},
      {2, &ModelScript::insert_from_app}, {12, &ModelScript::remove_few},
      {6, &ModelScript::insert_counted},  {6, &ModelScript::remove_counted},
      {6, &ModelScript::remove_bulk},     {4, &ModelScript::remove_absent},
      {3, &ModelScript::remove_and_fail}, {6, &ModelScript::update_few},
      {3, &ModelScript::update_bulk},     {6, &ModelScript::app_insert},
      {3, &ModelScript::app_insert_bulk}, {3, &ModelScript::app_remove},
      {3, &ModelScript::app_update},      {7, &ModelScript::command},
      {8, &ModelScript::begin},           {10, &ModelScript::finish},
      {10, &ModelScript::savepoint},      {6, &ModelScript::release},
      {8, &ModelScript::rollback_to},     {4, &ModelScript::toggle_orphan},
      {5, &ModelScript::rename},          {4, &ModelScript::drop},
      {4, &ModelScript::other_ddl},       {2, &ModelScript::vacuum},
      {1, &ModelScript::swap_file},       {6, &ModelScript::backup},
      {2, &ModelScript::reopen},          {3, &ModelScript::reset_schema},
      {2, &ModelScript::rotate_any},      {3, &ModelScript::merge},
      {2, &ModelScript::import},
  };
  if (!filter_of(connection, 0).exists && !filter_of(connection, 1).exists) {
    create(connection, random(2));
    return;
  }
  (this->*pick_step(kSteps))(connection);
}

// ---- tables

size_t ModelScript::any_filter(const Connection& connection) {
  const size_t first = one_in(4) ? 1 : 0;
  return filter_of(connection, first).exists ? first : 1 - first;
}

// SQLite looks for used names, and for the tables that triggers write to, in the schema as it last
// saw it. A query makes SQLite look again. False if the query was BUSY.
bool ModelScript::knows_schema(Connection& connection) {
  return file_.ask(connection, "SELECT count(*) FROM app").code == SQLITE_OK;
}

bool ModelScript::create(Connection& connection, size_t filter) {
  constexpr uint64_t kCapacities[] = {1, 3, 10, 100, 500, 1000, 3000};
  constexpr double kRates[] = {0.25, 0.03, 0.01, 0.001, 1e-6};
  constexpr const char* kTypes[] = {"", "", " TEXT", " INTEGER", " NUMERIC", " BLOB"};
  constexpr const char* kModules[] = {"cuckoo_filter", "bloom_filter", "bloom_filter",
                                      "bloom_filter", "bloom_filter"};
  constexpr const char* kKinds[] = {"", ", layout = standard", ", layout = blocked",
                                    ", counting = on", ", hash = murmur2"};
  if (!knows_schema(connection)) {
    return false;
  }
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  state.exists = true;
  state.kind = member_.kind ? *member_.kind : static_cast<Kind>(random(5));
  const bool legacy = state.kind == Kind::kLegacy;  // TEXT and BLOB keys, fixed in size
  state.generations = !legacy && one_in(member_.window ? 1 : 1000) ? 2 + random(3) : 1;
  state.clear();
  state.capacity = pick(kCapacities);
  state.growth = !legacy && !one_in(3);
  state.rate = pick(kRates);
  std::string rate = "fpr = " + std::to_string(state.rate);
  if (state.kind == Kind::kCuckoo && one_in(5)) {
    const uint64_t bits = 6 + random(16);
    state.rate =
        static_cast<double>(state.generations) * 8.0 / static_cast<double>(uint64_t{1} << bits);
    rate = "fingerprint_bits = " + std::to_string(bits);
  }
  state.type = legacy ? " TEXT" : pick(kTypes);
  state.seed = one_in(2) ? 7 : random(1000000);  // filters of one seed can be merged
  const auto kind = static_cast<size_t>(state.kind);
  const std::string window =
      state.generations > 1 ? ", generations = " + std::to_string(state.generations) : "";
  const std::string sql = "CREATE VIRTUAL TABLE " + state.quoted() + " USING " + kModules[kind] +
                          "(key" + state.type + ", capacity = " + std::to_string(state.capacity) +
                          ", " + rate + kKinds[kind] + window +
                          ", growth = " + (state.growth ? "on" : "off") +
                          ", seed = " + std::to_string(state.seed) + ")";
  return file_.write(connection, sql, done(after));
}

void ModelScript::create_triggers(Connection& connection) {
  file_.maintain(connection,
                 "CREATE TRIGGER app_insert AFTER INSERT ON app BEGIN"
                 " INSERT INTO f VALUES (new.k);"
                 " SELECT CASE new.mode WHEN 1 THEN RAISE(ABORT, 'stop')"
                 " WHEN 2 THEN RAISE(FAIL, 'stop') WHEN 3 THEN RAISE(ROLLBACK, 'stop')"
                 " WHEN 4 THEN RAISE(IGNORE) END; END;"
                 "CREATE TRIGGER app_delete AFTER DELETE ON app BEGIN"
                 " DELETE FROM f WHERE key = old.k; END;"
                 "CREATE TRIGGER app_update AFTER UPDATE OF k ON app BEGIN"
                 " DELETE FROM f WHERE key = old.k;"
                 " INSERT INTO f VALUES (new.k); END");
}

void ModelScript::rename(Connection& connection) {
  constexpr const char* kNames[] = {"f", "g", "h", "second filter", "a.b c"};
  if (!knows_schema(connection)) {
    return;
  }
  State after = file_.seen(connection);
  if (!after.filters[0].exists) {
    return;  // the triggers would name a table that is not there, and SQLite refuses
  }
  FilterState& state = after.filters[any_filter(connection)];
  const std::string old_name = state.quoted();
  const std::string name = pick(kNames);
  for (const FilterState& filter : after.filters) {
    if (filter.name == name) {
      return;
    }
  }
  state.name = name;
  file_.write(connection, "ALTER TABLE " + old_name + " RENAME TO " + state.quoted(), done(after));
}

// Drops a filter, or makes it again if there is none. Often does both.
void ModelScript::drop(Connection& connection) {
  const size_t filter = one_in(2) ? 1 : 0;
  if (!filter_of(connection, filter).exists) {
    create(connection, filter);
    return;
  }
  State after = file_.seen(connection);
  after.filters[filter].exists = false;
  after.filters[filter].clear();
  const bool dropped =
      file_.write(connection, "DROP TABLE " + after.filters[filter].quoted(), done(after));
  if (dropped && !one_in(3) && create(connection, filter) && one_in(4)) {
    reset_schema(connection);
    look(connection);
  }
}

// Changes tables that are no filters, so that SQLite prepares all statements again.
void ModelScript::other_ddl(Connection& connection) {
  if (!knows_schema(connection)) {
    return;
  }
  State after = file_.seen(connection);
  std::string& other = after.other_table;
  std::string sql;
  if (other.empty()) {
    other = "other";
    sql = "CREATE TABLE other(x)";
  } else {
    switch (random(5)) {
      case 0:
        sql = "DROP TABLE " + other;
        other.clear();
        break;
      case 1:
        sql = "CREATE INDEX i" + std::to_string(++made_) + " ON " + other + "(x)";
        break;
      case 2:
        sql = "ANALYZE";
        break;
      default: {
        if (!after.filters[0].exists) {
          return;  // as in rename()
        }
        if (one_in(2)) {
          sql = "ALTER TABLE " + other + " ADD COLUMN c" + std::to_string(++made_);
        } else {
          const std::string name = other == "other" ? "another" : "other";
          sql = "ALTER TABLE " + other + " RENAME TO " + name;
          other = name;
        }
      }
    }
  }
  file_.write(connection, sql, done(after));
}

// SQLite forgets its schema and connects every table anew, in the middle of whatever is going on.
void ModelScript::reset_schema(Connection& connection) { file_.reset_schema(connection); }

// ---- commands

void ModelScript::command(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const std::string table = state.quoted();
  const std::string into = "INSERT INTO " + table + "(" + table;
  switch (random(7)) {
    case 0:
      state.clear();
      file_.write(connection, into + ") VALUES ('clear')", done(after));
      break;
    case 1:
      rotate(connection, filter);
      break;
    case 2:
      file_.write(connection, into + ") VALUES ('check')", done(after));
      break;
    default: {
      const std::string sql =
          one_in(2) ? into + ") VALUES ('rebuild')"
                    : into + ", key) VALUES ('resize', " + std::to_string(1 + random(4000)) + ")";
      const char* const way_out = state.kind == Kind::kLegacy ? "source" : "growth = on";
      file_.write(connection, sql,
                  state.growth
                      ? done(after)
                      : Expected{Expected::End::kError, file_.seen(connection), false, way_out});
    }
  }
}

void ModelScript::rotate(Connection& connection, size_t filter) {
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const std::string into = "INSERT INTO " + state.quoted() + "(" + state.quoted();
  if (state.generations == 1) {
    file_.write(connection, into + ") VALUES ('rotate')",
                {Expected::End::kError, after, false, "generations"});
    return;
  }
  const uint64_t turns = one_in(2) ? 1 : random(state.generations + 2);
  for (uint64_t turn = 0; turn < turns; ++turn) {
    state.rotate();
  }
  file_.write(connection,
              turns == 1 ? into + ") VALUES ('rotate')"
                         : into + ", key) SELECT 'rotate', rotation + " + std::to_string(turns) +
                               " FROM filter_info('" + state.name + "')",
              done(after));
}

void ModelScript::rotate_any(Connection& connection) { rotate(connection, any_filter(connection)); }

// True if the hashes of `other` can be added to `target`.
bool ModelScript::can_follow(const FilterState& target, const FilterState& other) const {
  constexpr uint64_t kMostItems = 10000;
  const auto keeps_hashes = [](const FilterState& state) {
    return state.exists && state.growth && state.generations == 1 && state.kind != Kind::kLegacy;
  };
  return keeps_hashes(target) && keeps_hashes(other) && target.type == other.type &&
         target.keys.size() + other.keys.size() < kMostItems;
}

void ModelScript::merge(Connection& connection) {
  const State before = file_.seen(connection);
  const size_t filter = any_filter(connection);
  const FilterState& other = before.filters[one_in(3) ? filter : 1 - filter];
  State after = before;
  FilterState& state = after.filters[filter];
  const bool own = &other == &before.filters[filter];
  if (!can_follow(before.filters[filter], other) || other.seed != state.seed) {
    return;
  }
  for (uint64_t key = 0; key < keys_; ++key) {
    for (uint64_t copies = other.count(key); copies > 0; --copies) {
      state.add(key);
    }
  }
  const std::string what =
      own || one_in(2) ? "filter_export('" + other.name + "', 'hashes')" : "'" + other.name + "'";
  file_.write(
      connection,
      "INSERT INTO " + state.quoted() + "(" + state.quoted() + ", key) SELECT 'merge', " + what,
      [&](const Outcome& outcome) {
        // Below this rate it may have been made with hashes of 63 bits, and takes none of 47.
        const bool too_short =
            state.rate < 0.0003 && outcome.message.find("bits of each hash") != std::string::npos;
        return too_short ? Expected{Expected::End::kError, before, false, "this table needs 63"}
                         : done(after);
      });
}

// Imports another filter's image, or its own.
void ModelScript::import(Connection& connection) {
  const size_t filter = any_filter(connection);
  State after = file_.seen(connection);
  FilterState& state = after.filters[filter];
  const FilterState other = after.filters[one_in(3) ? filter : 1 - filter];
  if (!can_follow(state, other) || other.kind != state.kind) {
    return;
  }
  if (other.name != state.name) {
    state.clear();
    for (uint64_t key = 0; key < keys_; ++key) {
      for (uint64_t copies = other.count(key); copies > 0; --copies) {
        state.add(key);
      }
    }
    state.capacity = other.capacity;
    state.rate = other.rate;
    state.seed = other.seed;
  }
  file_.write(connection,
              "INSERT INTO " + state.quoted() + "(" + state.quoted() +
                  ", key) SELECT 'import', filter_export('" + other.name + "', 'hashes')",
              done(after));
}

// ---- transactions

void ModelScript::begin(Connection& connection) {
  constexpr const char* kKinds[] = {"DEFERRED", "DEFERRED", "IMMEDIATE", "EXCLUSIVE"};
  if (connection.in_transaction) {
    return;
  }
  file_.begin(connection, pick(kKinds));
  if (connection.in_transaction && one_in(2)) {  // a snapshot
    file_.ask(connection, "SELECT count(*) FROM app");
  }
}

void ModelScript::finish(Connection& connection) {
  if (!connection.in_transaction) {
    begin(connection);
  } else if (one_in(4)) {
    file_.rollback(connection);
  } else {
    if (connection.view && connection.view->orphan && one_in(2)) {
      toggle_orphan(connection);
    }
    file_.commit(connection);
  }
}

void ModelScript::savepoint(Connection& connection) {
  constexpr const char* kNames[] = {"a", "b", "C", "a"};
  if (connection.marks.size() < 6 && (connection.in_transaction || one_in(2))) {
    file_.savepoint(connection, pick(kNames));
  }
}

// The name means its newest savepoint.
static size_t newest(const std::vector<ModelFile::Mark>& marks, size_t mark) {
  for (size_t later = marks.size(); later-- > mark + 1;) {
    if (marks[later].name == marks[mark].name) {
      return later;
    }
  }
  return mark;
}

void ModelScript::release(Connection& connection) {
  if (!connection.marks.empty()) {
    file_.release(connection, newest(connection.marks, random(connection.marks.size())));
  }
}

void ModelScript::rollback_to(Connection& connection) {
  if (!connection.marks.empty()) {
    file_.rollback_to(connection, newest(connection.marks, random(connection.marks.size())));
  }
}

// While there is a child without its parent, COMMIT fails and leaves the transaction open.
void ModelScript::toggle_orphan(Connection& connection) {
  if (!connection.in_transaction) {
    return;
  }
  State after = file_.seen(connection);
  after.orphan = !after.orphan;
  const char* sql = after.orphan ? "INSERT INTO child VALUES (1)" : "DELETE FROM child";
  file_.write(connection, sql, done(after));
}

// ---- the file

void ModelScript::vacuum(Connection& connection) {
  if (connection.in_transaction) {
    return;
  }
  constexpr int kPageSizes[] = {512, 1024, 4096};
  const std::string size = std::to_string(pick(kPageSizes));
  const bool sized = !file_.options().wal && one_in(3);  // in WAL mode the size stays
  file_.maintain(connection, sized ? "PRAGMA page_size = " + size + "; VACUUM" : "VACUUM");
}

void ModelScript::swap_file(Connection& connection) {
  if (!connection.in_transaction && file_.others_idle(connection)) {
    file_.swap_with_vacuumed();
  }
}

void ModelScript::backup(Connection& connection) {
  if (connection.in_transaction) {
    return;
  }
  if (file_.has_backup() && !one_in(3)) {
    file_.restore_backup(connection);
  } else if (file_.others_idle(connection)) {
    file_.save_backup(connection);
  }
}

// A transaction may still be open. Opening reads the file, so no other lock may be in the way.
void ModelScript::reopen(Connection& connection) {
  if (file_.options().wal || file_.others_idle(connection)) {
    file_.reopen(connection);
  }
}

}  // namespace cuckoo::test
