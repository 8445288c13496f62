// Random SQL on a table whose triggers keep a filter in step. The filter must hold what a plain
// query of the table gives, as often, whatever was done and undone. It holds a column, or an
// expression, of all rows or of those that meet a condition. Only a REPLACE that deletes rows
// without their triggers (recursive_triggers off) may leave a value behind, until 'rebuild'.
#include <algorithm>

#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_source_model_test {
namespace {

// A table with an integer `id`, the source column `c`, and `d`, which triggers of the application
// read. If c is generated, it follows from d and id.
struct Shape {
  const char* create;
  bool generated = false;
  bool key_is_integer = false;  // c is INTEGER PRIMARY KEY
};
constexpr Shape kShapes[] = {
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c, d)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c TEXT COLLATE NOCASE UNIQUE, d)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c TEXT COLLATE NOCASE, d)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c INTEGER UNIQUE, d)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c REAL, d UNIQUE)"},
    {"CREATE TABLE %t(id INT UNIQUE, c NUMERIC, d)"},
    {"CREATE TABLE %t(id INT UNIQUE, c DECIMAL(10, 5), d, rowid TEXT)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c ANY, d ANY) STRICT"},
    {"CREATE TABLE %t(id INT, c INTEGER PRIMARY KEY, d)", false, true},
    {"CREATE TABLE %t(id INT UNIQUE, c TEXT COLLATE NOCASE PRIMARY KEY, d) WITHOUT ROWID"},
    {"CREATE TABLE %t(id INT, c, d, PRIMARY KEY (id)) WITHOUT ROWID"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c TEXT AS (d || id % 5) STORED, d)", true},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c AS (nullif(d, id % 3)), d)", true},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c TEXT DEFAULT 'p1' REFERENCES p(k)"
     " ON UPDATE CASCADE ON DELETE SET NULL, d)"},
    {"CREATE TABLE %t(id INTEGER PRIMARY KEY, c TEXT DEFAULT 'p1' REFERENCES p(k)"
     " ON UPDATE SET NULL ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, d)"},
};

// What the filter holds, %c being the source column.
struct Held {
  const char *key, *where;
};
constexpr Held kHeld[] = {
    {"%c", ""},
    {"%c", "d % 2 = 0"},
    {"%c", "%c = '5' OR %c > 10 OR %c < 'c'"},  // by the column's affinity and collation
    {"lower(%c)", ""},
    {"coalesce(%c, d)", "id % 3"},
    {"%c || d", "%c IS NOT 'p1'"},
};

constexpr const char* kFilters[] = {
    "cuckoo_filter(fingerprint_bits = 28, capacity = 20, seed = %s, ",
    "cuckoo_filter(fingerprint_bits = 28, capacity = 1000, seed = %s, ",
    "cuckoo_filter(fingerprint_bits = 28, capacity = 60, growth = off, seed = %s, ",
    "bloom_filter(counting = on, fpr = 1e-8, capacity = 20, seed = %s, ",
    "bloom_filter(counting = on, fpr = 1e-8, capacity = 60, growth = off, seed = %s, ",
    "bloom_filter(fpr = 1e-8, capacity = 20, seed = %s, ",  // it only adds
};

class SourceScript : public Script {
 public:
  explicit SourceScript(uint64_t seed) : Script(seed), shape_(pick(kShapes)), held_(pick(kHeld)) {
    connections_.resize(1 + random(3));
    for (Connection& one : connections_) {
      one.name = std::to_string(&one - connections_.data());
      open(one);
    }
    Connection& first = connections_[0];
    for (const std::string& sql :
         {std::string("PRAGMA page_size = ") + pick({"512", "4096"}),
          std::string("PRAGMA journal_mode = ") + pick({"WAL", "DELETE"}),
          std::string("CREATE TABLE p(k TEXT PRIMARY KEY)"),
          std::string("INSERT INTO p VALUES ('p1'), ('p2'), ('p3'), ('a'), ('B')"),
          std::string("CREATE TABLE other(x)"), replaced(shape_.create, "%t", "t")}) {
      must(first, sql);
    }
    insert(first);
    if (one_in(2)) {  // older than the filter's triggers, so they run after those
      must(first,
           "CREATE TRIGGER own AFTER INSERT ON t WHEN new.d BETWEEN 90 AND 99 BEGIN"
           " DELETE FROM t WHERE id = new.id AND new.d = 90;"
           " UPDATE t SET d = 0, id = id + 1000 WHERE id = new.id AND new.d = 91;"
           " SELECT CASE new.d WHEN 92 THEN RAISE(ABORT, 'stop') WHEN 93 THEN RAISE(FAIL, 'stop')"
           " WHEN 94 THEN RAISE(ROLLBACK, 'stop') END; END");
      must(
          first,
          "CREATE TRIGGER own2 BEFORE INSERT ON t WHEN new.d = 95 BEGIN SELECT RAISE(IGNORE); END");
    }
    make_filter(first);
  }

  void run() {
    for (uint64_t steps = 30 + random(50); steps > 0; --steps) {
      Connection* actor = &pick(connections_);
      for (Connection& one : connections_) {
        if (one.wrote && !one_in(5)) {
          actor = &one;
        }
      }
      step(*actor);
      for (Connection& one : connections_) {
        if (one_in(2) || &one == actor) {
          compare(one);
        }
      }
    }
    for (Connection& one : connections_) {
      if (in_transaction(*one.db)) {
        run(one, one_in(2) ? "COMMIT" : "ROLLBACK");
      }
      if (in_transaction(*one.db)) {
        run(one, "ROLLBACK");  // a deferred foreign key
      }
      one.wrote = false;
    }
    compare_all();
    rebuild(connections_[0]);
    compare_all();
    Connection stranger{"stranger", nullptr};
    open(stranger);
    compare(stranger);
    run(stranger,  // a source that is gone is an error by now
        "INSERT INTO " + filter(stranger) + "(" + filter(stranger) + ") VALUES ('check')");
    require(stranger.db->text("PRAGMA integrity_check") == "ok", "integrity_check");
  }

 private:
  struct Connection {
    std::string name;
    std::unique_ptr<QuickDatabase> db;
    bool wrote = false;  // in this transaction
    bool recursive = false;
    int marks = 0;
  };

  void open(Connection& one) {
    one = {one.name, std::make_unique<QuickDatabase>(folder_.file("f.db")), false, one_in(2)};
    one.db->run(std::string("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ") +
                (one.recursive ? "ON" : "OFF"));
  }

  void note(const Connection& one, const std::string& sql, const std::string& message) {
    Script::note("/* " + one.name + (one.recursive ? "r" : "") + " */ " + sql + ";" +
                 (message.empty() ? "" : "  -- " + message));
  }
  // Runs a statement. It may fail by a constraint, with BUSY if others are at work, with "full", or
  // by a name that a lock hides.
  bool run(Connection& one, const std::string& sql) {
    const Outcome outcome = one.db->attempt(sql);
    note(one, sql, outcome.code == SQLITE_OK ? "" : outcome.message);
    const int code = outcome.code & 0xFF;
    const auto says = [&](const char* part) {
      return outcome.message.find(part) != std::string::npos;
    };
    const bool expected =
        code == SQLITE_OK || code == SQLITE_CONSTRAINT || code == SQLITE_BUSY ||
        code == SQLITE_MISMATCH || (code == SQLITE_LOCKED && connections_.size() > 1) ||
        (code == SQLITE_ERROR &&
         (says("full: ") || says("triggers on its source") || says("VACUUM") ||
          (stale_ && says(" does not have;") && !says("lacks")) || says("no such table") ||
          says("no such savepoint") || says("no such column") || says("already exists")));
    require(expected, sql + "\ncode " + std::to_string(outcome.code) + ": " + outcome.message);
    if (!in_transaction(*one.db)) {
      one.wrote = false;
      one.marks = 0;
    } else if (code == SQLITE_OK && sqlite3_txn_state(one.db->handle(), "main") == 2) {
      one.wrote = true;
    }
    return code == SQLITE_OK;
  }
  void must(Connection& one, const std::string& sql) { require(run(one, sql), "fails: " + sql); }

  // ---- names as the connection sees them; every query is of one and the same snapshot, as the
  // connections act in turn

  static std::string name(Connection& one, const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    std::string found;
    if (sqlite3_prepare_v2(one.db->handle(), sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
      found = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return found;
  }
  static std::string filter(Connection& one) {
    return name(one,
                "SELECT '\"' || replace(name, '\"', '\"\"') || '\"' FROM sqlite_schema"
                " WHERE sql LIKE 'CREATE VIRTUAL%' AND name NOT LIKE '%\\_source\\_%' ESCAPE '\\'");
  }
  // The source is the only table with an integer column `id`.
  static std::string table(Connection& one) {
    return name(one,
                "SELECT '\"' || replace(name, '\"', '\"\"') || '\"' FROM sqlite_schema AS s"
                " WHERE type = 'table' AND sql LIKE 'CREATE TABLE%id I%' AND name <> 'other'");
  }
  static std::string column(Connection& one) {
    return name(one,
                "SELECT '\"' || replace(name, '\"', '\"\"') || '\"' FROM pragma_table_xinfo("
                "(SELECT name FROM sqlite_schema WHERE type = 'table' AND"
                " sql LIKE 'CREATE TABLE%id I%' AND name <> 'other')) WHERE cid = 1");
  }

  // ---- looking

  int64_t ask(Connection& one, const std::string& sql, bool& busy) {
    sqlite3* db = one.db->handle();
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
    int64_t value = -1;
    if (code == SQLITE_OK) {
      code = sqlite3_step(statement);
      value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    }
    const std::string message = sqlite3_errmsg(db);
    sqlite3_finalize(statement);
    note(one, sql, code == SQLITE_ROW ? "" : message);
    busy = busy || (code & 0xFF) == SQLITE_BUSY;
    require(busy || code == SQLITE_ROW, sql + "\ncode " + std::to_string(code) + ": " + message);
    return value;
  }

  void compare(Connection& one) {
    bool busy = false;
    ask(one, "SELECT count(*) FROM sqlite_schema", busy);
    const std::string f = filter(one);
    if (busy || f.empty()) {
      return;
    }
    const std::string t = table(one);
    const std::string c = column(one);
    // Triggers that were made again before the filter got its old name back are not its own.
    const std::string own =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND"
        " instr('\"' || replace(name, '\"', '\"\"'), '" +
        replaced(f.substr(0, f.size() - 1), "'", "''") + "_source_') = 1";
    const int64_t triggers = ask(one, own, busy);
    const int64_t made_again = ask(one, own + " AND sql LIKE '%/*again*/%'", busy);
    const bool only_adds =
        ask(one, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%bloom_filter(fpr%'", busy) !=
        0;
    if (!busy && (triggers != (only_adds ? 2 : 3) || made_again != 0)) {
      const Outcome outcome = one.db->attempt("SELECT count(*) FROM " + f + " WHERE key = 1");
      require((outcome.code & 0xFF) == SQLITE_ERROR || (outcome.code & 0xFF) == SQLITE_BUSY,
              "probes go on without the triggers, or with others");
      return;
    }
    const std::string who = "connection " + one.name + ": ";
    const std::string k = replaced(held_.key, "%c", c);
    const std::string from =
        t + " WHERE " + k + " IS NOT NULL" +
        (*held_.where == '\0' ? "" : " AND (" + replaced(held_.where, "%c", c) + ")");
    const int64_t missing =
        ask(one,
            "SELECT count(*) FROM (SELECT " + k + " AS k FROM " + from +
                ") AS y WHERE NOT EXISTS (SELECT 1 FROM " + f + " AS x WHERE x.key = y.k)",
            busy);
    const int64_t fewer =
        ask(one,
            "SELECT count(*) FROM (SELECT " + k + " AS k, count(*) AS n FROM " + from +
                " GROUP BY 1) JOIN " + f + " AS x ON x.key = k WHERE x.count " +
                (stale_ ? "<" : "<>") + " n",
            busy);
    const int64_t in_table = ask(one, "SELECT count(*) FROM " + from, busy);
    const int64_t in_filter = ask(one, "SELECT count(*) FROM " + f, busy);
    if (busy) {
      return;
    }
    require(missing == 0, who + std::to_string(missing) + " values are not in the filter");
    if (only_adds) {
      return;
    }
    require(fewer == 0, who + std::to_string(fewer) + " values have another count in the filter");
    require(stale_ ? in_filter >= in_table : in_filter == in_table,
            who + std::to_string(in_filter) + " items, " + std::to_string(in_table) + " values");
  }

  void compare_all() {
    for (Connection& one : connections_) {
      compare(one);
    }
  }

  // ---- steps

  void step(Connection& one) {
    if (filter(one).empty()) {
      make_filter(one);
      return;
    }
    using Step = void (SourceScript::*)(Connection&);
    static constexpr std::pair<unsigned, Step> kSteps[] = {
        {14, &SourceScript::insert},   {10, &SourceScript::update},
        {8, &SourceScript::remove},    {4, &SourceScript::upsert},
        {4, &SourceScript::parent},    {12, &SourceScript::transaction},
        {6, &SourceScript::rename},    {4, &SourceScript::other_ddl},
        {3, &SourceScript::rebuild},   {2, &SourceScript::command},
        {2, &SourceScript::drop},      {1, &SourceScript::drop_trigger},
        {1, &SourceScript::vacuum},    {2, &SourceScript::reopen},
        {2, &SourceScript::recursion},
    };
    (this->*pick_step(kSteps))(one);
  }

  std::string value() {
    const std::string n = number(30);
    const std::string letter(1, static_cast<char>(one_in(2) ? 'a' + random(8) : 'A' + random(8)));
    return shape_.key_is_integer
               ? pick<std::string>({"NULL", n, n, number(60), number(60), number(60)})
               : pick<std::string>({"NULL", "'" + n + "'", n + ".5", n + ".0",
                                    "x'6" + number(10) + "'", "'p" + number(4) + "'",
                                    "'" + letter + "'", "'" + letter + "'", "'" + letter + "'", n,
                                    n, n});
  }
  std::string id() { return number(60); }
  std::string mode() { return std::to_string(one_in(8) ? 90 + random(6) : random(80)); }
  std::string conflict(bool replace_allowed = true) {
    constexpr const char* kClauses[] = {
        "", "", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ABORT ", "OR ROLLBACK "};
    const std::string clause = pick(kClauses);
    return !replace_allowed && clause == "OR REPLACE " ? "" : clause;
  }
  // Notes a statement that may delete rows without running their triggers.
  void note_replace(const Connection& one, const std::string& clause) {
    stale_ = stale_ || (clause == "OR REPLACE " && !one.recursive);
  }

  void insert(Connection& one) {
    const std::string clause = conflict();
    note_replace(one, clause);
    const std::string c = column(one);
    const std::string columns = shape_.generated ? "(id, d)" : "(id, " + c + ", d)";
    std::string rows;
    for (uint64_t i = 1 + random(6); i > 0; --i) {
      rows += rows.empty() ? "(" : ", (";
      rows += (one_in(5) ? "NULL" : id()) + ", " + (shape_.generated ? "" : value() + ", ") +
              mode() + ")";
    }
    run(one, "INSERT " + clause + "INTO " + table(one) + columns + " VALUES " + rows);
  }

  std::string where(Connection& one) {
    return pick<std::string>({" WHERE id = " + id(), " WHERE id % 4 = " + number(4),
                              " WHERE " + column(one) + " = " + value(),
                              " WHERE " + column(one) + " IS NULL",
                              one_in(3) ? "" : " WHERE id < " + id()});
  }

  void update(Connection& one) {
    const std::string clause = conflict();
    note_replace(one, clause);
    const std::string c = column(one);
    const bool rowid = std::string(shape_.create).find("WITHOUT") == std::string::npos;
    const std::string letter(1, static_cast<char>('a' + random(3)));
    const std::string sets[] = {
        "id = id + " + id(),
        "d = " + mode(),
        c + " = " + c,
        c + " = " + c + " || '" + letter + "'",
        c + " = CASE WHEN id % 2 THEN upper(" + c + ") ELSE " + value() + " END",
        rowid ? (one_in(2) ? "rowid = " : "OID = ") + id() : "d = 5",
        c + " = " + value() + ", id = id + 1"};
    const std::string set = sets[random(shape_.generated ? 2 : std::size(sets))];
    run(one, "UPDATE " + clause + table(one) + " SET " + set + where(one));
  }

  void remove(Connection& one) {
    run(one, "DELETE FROM " + table(one) + (one_in(8) ? "" : where(one)));
  }

  void upsert(Connection& one) {
    if (shape_.generated) {
      return;
    }
    const std::string c = column(one);
    const std::string target = one_in(2) ? "(id)" : one_in(2) ? "(" + c + ")" : "";
    const std::string action = target.empty() || one_in(4)
                                   ? " DO NOTHING"
                                   : " DO UPDATE SET " + c + " = " +
                                         (one_in(2) ? "excluded." + c : value()) + ", d = d + 1";
    const std::string sql = "INSERT INTO " + table(one) + "(id, " + c + ", d) VALUES (" + id() +
                            ", " + value() + ", 1), (" + id() + ", " + value() +
                            ", 2) ON CONFLICT " + target + action;
    const Outcome tried = one.db->attempt("EXPLAIN " + sql);
    if (tried.code == SQLITE_OK) {  // there is such a conflict to be resolved
      run(one, sql);
    }
  }

  void parent(Connection& one) {
    const std::string k = "'p" + number(4) + "'";
    run(one,
        pick<std::string>({"INSERT OR IGNORE INTO p VALUES ('p0'), (" + k + "), (upper(" + k + "))",
                           "UPDATE OR IGNORE p SET k = k || 'x' WHERE k = " + k,
                           "DELETE FROM p WHERE k = " + k, "REPLACE INTO p VALUES (" + k + ")"}));
  }

  void transaction(Connection& one) {
    const std::string name = "s" + number(3);
    if (!in_transaction(*one.db)) {
      run(one, one_in(3) ? "SAVEPOINT " + name : one_in(2) ? "BEGIN IMMEDIATE" : "BEGIN");
      return;
    }
    const std::string sql =
        pick<std::string>({"COMMIT", "ROLLBACK", "RELEASE " + name, "ROLLBACK TO " + name,
                           "ROLLBACK TO " + name, "SAVEPOINT " + name, "SAVEPOINT " + name});
    if (sql[0] != 'S' || ++one.marks < 8) {
      run(one, sql);
    }
  }

  void rename(Connection& one) {
    constexpr const char* kFilterNames[] = {"f", "\"g h\"", "\"it's \"\"f\"\"\""};
    constexpr const char* kTableNames[] = {"t", "\"u v\"", "\"the 't'\""};
    constexpr const char* kColumnNames[] = {"c", "\"c d\"", "\"key\""};
    switch (random(3)) {
      case 0:
        rename_to(one, "ALTER TABLE " + filter(one) + " RENAME TO ", filter(one),
                  pick(kFilterNames));
        return;
      case 1:
        rename_to(one, "ALTER TABLE " + table(one) + " RENAME TO ", table(one), pick(kTableNames));
        return;
      default:
        rename_to(one, "ALTER TABLE " + table(one) + " RENAME COLUMN " + column(one) + " TO ",
                  column(one), pick(kColumnNames));
    }
  }
  void rename_to(Connection& one, const std::string& sql, const std::string& from,
                 const std::string& to) {
    const std::string quoted = to[0] == '"' ? to : "\"" + to + "\"";
    if (from != quoted) {
      run(one, sql + to);
    }
  }

  void other_ddl(Connection& one) {
    const std::string n = std::to_string(++made_);
    run(one,
        pick<std::string>({"ALTER TABLE " + table(one) + " DROP COLUMN e" + number(made_),
                           "ALTER TABLE other ADD COLUMN c" + n,
                           "CREATE INDEX i" + n + " ON " + table(one) + "(d)",
                           "ALTER TABLE other RENAME TO other2; ALTER TABLE other2 RENAME TO"
                           " other",
                           "ALTER TABLE " + table(one) + " ADD COLUMN e" + n + " ANY", "ANALYZE"}));
  }

  void rebuild(Connection& one) {
    const std::string f = filter(one);
    if (f.empty() || !run(one, "INSERT INTO " + f + "(" + f + ") VALUES ('rebuild')")) {
      return;
    }
    const bool was_stale = stale_;
    stale_ = false;
    compare(one);
    // The rebuild may be undone, and older snapshots still have what was left behind.
    stale_ =
        was_stale && std::any_of(connections_.begin(), connections_.end(),
                                 [](const Connection& other) { return in_transaction(*other.db); });
  }

  void command(Connection& one) {
    const std::string f = filter(one);
    if (one_in(2)) {
      run(one, "INSERT INTO " + f + "(" + f + ") VALUES ('check')");
    } else {  // from the hashes: what is left behind stays
      run(one, "INSERT INTO " + f + "(" + f + ", key) VALUES ('resize', " +
                   std::to_string(60 + random(500)) + ")");
    }
  }

  void make_filter(Connection& one) {
    const std::string create = replaced(pick(kFilters), "%s", number(1000));
    const std::string t = table(one);
    const std::string c = column(one);
    if (!t.empty() && !c.empty()) {
      const std::string where = replaced(held_.where, "%c", c);
      run(one, "CREATE VIRTUAL TABLE f USING " + create + "source = " + t + "(" +
                   replaced(held_.key, "%c", c) + ")" +
                   (where.empty() ? "" : ", where = [" + where + "]") + ", triggers = on)");
    }
  }

  // A new filter is stale only if the DROP of this filter is undone.
  void drop(Connection& one) {
    if (run(one, "DROP TABLE " + filter(one))) {
      require(name(one,
                   "SELECT name FROM sqlite_schema WHERE name LIKE '%\\_source\\_%'"
                   " ESCAPE '\\'")
                  .empty(),
              "a trigger outlived its filter");
      make_filter(one);
    }
  }

  // Drops one trigger or all. It may make them again from their own SQL, marked for compare().
  void drop_trigger(Connection& one) {
    std::vector<std::string> made;
    for (uint64_t left = one_in(2) ? 1 : 3; left > 0; --left) {
      const std::string of =
          " FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%\\_source\\_%' ESCAPE '\\'"
          " ORDER BY rowid";
      const std::string trigger =
          name(one, "SELECT '\"' || replace(name, '\"', '\"\"') || '\"'" + of);
      const std::string sql = name(one, "SELECT replace(sql, ' BEGIN ', ' BEGIN /*again*/ ')" + of);
      if (trigger.empty() || !run(one, "DROP TRIGGER " + trigger)) {
        break;
      }
      made.push_back(sql);
    }
    if (made.empty()) {
      return;
    }
    const bool inside = in_transaction(*one.db);
    insert(one);
    remove(one);
    compare(one);
    if (in_transaction(*one.db) != inside) {
      return;  // undone by OR ROLLBACK: the triggers are there, or another filter's
    }
    if (one_in(2)) {
      for (const std::string& sql : made) {
        run(one, sql);
      }
      compare(one);
      insert(one);
      remove(one);
    }
    if (one_in(3)) {
      transaction(one);
    }
    rebuild(one);
  }

  void vacuum(Connection& one) {
    if (!in_transaction(*one.db)) {
      run(one, "VACUUM");
    }
  }

  void reopen(Connection& one) {
    const bool others_idle = std::none_of(
        connections_.begin(), connections_.end(),
        [&](const Connection& other) { return &other != &one && in_transaction(*other.db); });
    if (others_idle) {
      note(one, "-- closed and opened", "");
      one.db.reset();
      open(one);
    }
  }

  void recursion(Connection& one) {
    if (!in_transaction(*one.db)) {
      one.recursive = !one.recursive;
      run(one, std::string("PRAGMA recursive_triggers = ") + (one.recursive ? "ON" : "OFF"));
    }
  }

  const Shape shape_;
  const Held held_;
  TemporaryFolder folder_;
  std::vector<Connection> connections_;
  bool stale_ = false;
  uint64_t made_ = 0;
};

TEST(SourceModel, random_scripts_lose_no_value) { run_scripts<SourceScript>(150); }

}  // namespace
}  // namespace cuckoo::test::filter_source_model_test
