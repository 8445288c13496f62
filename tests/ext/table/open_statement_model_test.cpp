// Statements that were stepped part of the way and stay open while everything around them changes:
// DDL, roll-backs, ATTACH, commands, writes by the same and by another connection. Then they are
// stepped on. Each row must be right for a moment since the statement began, or the step fails with
// a text. AddressSanitizer finds code that reads freed memory.
//
// Ordinary tables that are written in the same transactions say what the tables hold.
#include <map>
#include <set>

#include "tests/support/sql_script.hpp"

namespace cuckoo::test::table_open_statement_model_test {
namespace {

constexpr char kList[] = "json_each('[0,1,2,3,4,5,6,7,8,9,10,11]')";
constexpr uint64_t kKeys = 12;
constexpr char kTables[] = {'c', 'b', 'f', 'r'};

// What the tables hold at one moment.
struct Moment {
  std::map<std::string, std::string> kv;     // key -> value
  std::map<std::string, std::string> nodes;  // name -> weight
  std::map<std::string, int> cuckoo, bloom;  // key -> how often
  std::map<std::string, Row> owners;         // key -> three nodes
};

enum class What {
  kCuckoo,
  kBloom,
  kScan,
  kPoint,
  kNodes,
  kOwner,
  kOwners,
  kFilterInfo,
  kFlashInfo,
  kSectors,
  kMoves,
  kPlan,
  kContains,
};
constexpr int kWhats = 13;

// @keys is a table of all keys; @c, @b, @f and @r are the tables' names. SQLite reads the second
// row of a pair without moving the cursor. Only that row reads the columns in @second(…).
constexpr const char* kSql[kWhats] = {
    R"(SELECT j.value, f.k, f.count FROM @keys j CROSS JOIN "@c" f ON f.k = j.value @twice)",
    R"(SELECT j.value, f.k, 1 FROM @keys j CROSS JOIN "@b" f ON f.k = j.value @twice)",
    R"(SELECT i.value, t.key, @second(t.value), @second(t.seq) FROM "@f" t @twice)",
    R"(SELECT i.value, t.key, t.value, @second(t.seq) FROM @keys j
       CROSS JOIN "@f" t ON t.key = 'k' || j.value @twice)",
    R"(SELECT i.value, r.node, r.weight, @second(r.share) FROM "@r" r @twice)",
    R"(SELECT j.value, r.node, r.weight, @second(r.share) FROM @keys j
       CROSS JOIN "@r" r ON r.key = j.value @twice)",
    R"(SELECT j.value, r.node, r.weight, @second(r.share), r.replica FROM @keys j
       CROSS JOIN "@r" r ON r.key = j.value AND r.replicas = 3 @twice)",
    R"(SELECT n.name, @second(n.items), n.error FROM filter_info('@c') n @twice)",
    R"(SELECT n.name, @second(n.entries), n.error, n.live_bytes FROM flash_kv_info('@f') n @twice)",
    R"(SELECT live_bytes + dead_bytes + free_bytes FROM flash_kv_sectors('@f') @twice LIMIT 40)",
    R"(SELECT m.from_node, m.to_node, m.share FROM hash_ring_moves('@r', 'add', 'new') m @twice)",
    R"(SELECT module, bits_per_key, capacity, fpr FROM filter_plan(1000, 0.01) @twice)",
    R"(SELECT j.value, filter_contains('@c', j.value) FROM @keys j @twice)",
};

std::string sql_of(What what, const std::map<char, std::string>& names) {
  std::string sql = kSql[static_cast<size_t>(what)];
  sql = replaced(sql, "@twice", "CROSS JOIN json_each('[1,2]') i");
  sql = replaced(sql, "@second(", "iif(i.value <> 2, NULL, ");
  sql = replaced(sql, "@keys", kList);
  for (const auto& [table, name] : names) {
    sql = replaced(sql, std::string("@") + table, name);
  }
  return sql;
}

class OpenStatement {
 public:
  OpenStatement(Database& db, What what, const std::map<char, std::string>& names)
      : db_(db), what_(what), sql_(sql_of(what, names)), query_(db, sql_) {}

  const std::string& sql() const noexcept { return sql_; }
  void see(const std::shared_ptr<const Moment>& moment) { moments_.push_back(moment); }
  // From now on the statement may end with an error, because SQLite connected its table anew, or
  // the table was renamed, dropped or rolled back.
  void excuse() noexcept { excused_ = true; }

  // False if the statement is over.
  bool step() {
    const int code = query_.step();
    if (code == SQLITE_ROW) {
      check_row();
      return true;
    }
    if (code == SQLITE_DONE) {
      check_end();
    } else {
      check_failure(code);
    }
    return false;
  }

 private:
  std::string text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query_.handle(), column));
    return text == nullptr ? "NULL" : text;
  }
  template <class Test>
  bool at_some_moment(Test&& test) const {
    return std::any_of(moments_.begin(), moments_.end(),
                       [&](const auto& moment) { return test(*moment); });
  }
  template <class Test>
  bool at_every_moment(Test&& test) const {
    return std::all_of(moments_.begin(), moments_.end(),
                       [&](const auto& moment) { return test(*moment); });
  }
  static bool has(const std::map<std::string, std::string>& map, const std::string& key,
                  const std::string& value) {
    const auto found = map.find(key);
    return found != map.end() && (value == "NULL" || found->second == value);
  }
  void expect(bool right) const {
    if (!right) {
      std::string row;
      for (int i = 0; i < sqlite3_column_count(query_.handle()); ++i) {
        row += text(i) + " | ";
      }
      ADD_FAILURE() << "a row that was never right: " << row << "\nof " << sql_;
    }
  }

  void check_row() {
    const bool again = what_ != What::kSectors && moments_.size() > 1;
    switch (what_) {
      case What::kCuckoo:
      case What::kBloom:
        return check_filter_row();
      case What::kScan:
      case What::kPoint:
        if (again && text(1) == "NULL") {
          return;  // gone since
        }
        seen_.insert(text(1) + "/" + std::to_string(times_[text(1)]++));
        return expect(
            at_some_moment([&](const Moment& one) { return has(one.kv, text(1), text(2)); }));
      case What::kNodes:
        if (again && text(1) == "NULL") {
          return;
        }
        seen_.insert(text(1) + "/" + std::to_string(times_[text(1)]++));
        return expect(
            at_some_moment([&](const Moment& one) { return has(one.nodes, text(1), text(2)); }));
      case What::kOwner:
      case What::kOwners:
        return check_owner_row(again);
      case What::kFilterInfo:
        return expect(text(2) == "NULL" && (text(1) == "NULL" || at_some_moment([&](auto& one) {
                                              return text(1) == std::to_string(total(one.cuckoo));
                                            })));
      case What::kFlashInfo:
        return expect(text(2) == "NULL" && (text(1) == "NULL" || at_some_moment([&](auto& one) {
                                              return text(1) == std::to_string(one.kv.size());
                                            })));
      case What::kSectors:
        return expect(text(0) == "512");
      case What::kMoves:
        // With ketama, keys also move between the nodes that were there before.
        return expect(
            std::stod(text(2)) > 0 && std::stod(text(2)) <= 1 && at_some_moment([&](auto& one) {
              return (text(1) == "new" || one.nodes.contains(text(1))) &&
                     (text(0) == "NULL" ? one.nodes.empty() : one.nodes.contains(text(0)));
            }));
      case What::kContains:
        return expect(at_some_moment(
            [&](auto& one) { return text(1) == (one.cuckoo.contains(text(0)) ? "1" : "0"); }));
      case What::kPlan:
        return expect(text(2) == "1000" && text(3) == "0.01");
    }
  }
  static int total(const std::map<std::string, int>& keys) {
    int sum = 0;
    for (const auto& [key, count] : keys) {
      sum += count;
    }
    return sum;
  }
  void check_filter_row() {
    seen_.insert(text(0) + "/" + std::to_string(times_[text(0)]++));
    // Seeds are fixed, and with them no two of the twelve keys have one fingerprint of 28 bits.
    expect(text(0) == text(1) && at_some_moment([&](const Moment& one) {
             const auto& keys = what_ == What::kCuckoo ? one.cuckoo : one.bloom;
             const auto found = keys.find(text(0));
             // The count may be read after the key went.
             const int count = found == keys.end() ? 0 : found->second;
             return what_ == What::kBloom ? found != keys.end() : text(2) == std::to_string(count);
           }));
  }
  void check_owner_row(bool again) {
    const size_t replica = what_ == What::kOwners ? std::stoul(text(4)) : 0;
    if (again && text(1) == "NULL") {
      return;
    }
    seen_.insert(text(0) + "." + std::to_string(replica) + "/" + text(1));
    expect(at_some_moment([&](const Moment& one) {
      const auto found = one.owners.find(text(0));
      return found != one.owners.end() && replica < found->second.size() &&
             found->second[replica] == text(1) && has(one.nodes, text(1), text(2));
    }));
  }

  // All that was there the whole time must have been found, once in each of the two rows.
  void check_end() const {
    switch (what_) {
      case What::kCuckoo:
        return expect_all(&Moment::cuckoo);
      case What::kBloom:
        return expect_all(&Moment::bloom);
      case What::kScan:
      case What::kPoint:
        return expect_all(&Moment::kv);
      case What::kNodes:
        return expect_all(&Moment::nodes);
      default:
        return;
    }
  }
  template <class Map>
  void expect_all(Map Moment::*of) const {
    for (const auto& entry : (*moments_[0]).*of) {
      if (at_every_moment([&](const Moment& one) {
            const auto found = (one.*of).find(entry.first);
            return found != (one.*of).end() && found->second == entry.second;
          })) {
        const std::string& key = entry.first;
        EXPECT_TRUE(seen_.contains(key + "/0") && seen_.contains(key + "/1") &&
                    !seen_.contains(key + "/2"))
            << key << " is missing or comes too often in " << sql_;
      }
    }
  }
  void check_failure(int code) const {
    const std::string message = sqlite3_errmsg(db_.handle());
    const bool known = code == SQLITE_ABORT_ROLLBACK || (code & 0xFF) == SQLITE_SCHEMA ||
                       message.find("no such table") != std::string::npos ||
                       message.find("no such filter") != std::string::npos;
    EXPECT_TRUE(excused_ && known && !message.empty())
        << "code " << code << ": " << message << "\nof " << sql_;
  }

  Database& db_;
  What what_;
  std::string sql_;
  Query query_;
  std::vector<std::shared_ptr<const Moment>> moments_;
  bool excused_ = false;
  std::set<std::string> seen_;
  std::map<std::string, int> times_;
};

class OpenStatementScript : public Script {
 public:
  explicit OpenStatementScript(uint64_t seed) : Script(seed) {
    if (one_in(2)) {
      db_.run("PRAGMA journal_mode = WAL");
    }
    for (const char table : kTables) {
      names_[table] = std::string(1, table);
      create(table);
    }
    db_.run(
        "CREATE TABLE kv(key PRIMARY KEY, value); CREATE TABLE nodes(node PRIMARY KEY, weight)");
    db_.run("CREATE TABLE keys(of, k)");
    for (int i = 0; i < 25; ++i) {
      write(db_);
    }
    moment_ = read();
  }

  void run() {
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i) {
      step();
    }
    for (const auto& open : open_) {
      while (!testing::Test::HasFailure() && open->step()) {
      }
    }
  }

 private:
  Outcome attempt(Database& db, const std::string& sql) {
    const Outcome outcome = db.attempt(sql);
    note((&db == &other_ ? "other: " : "") + sql + ";  -- " +
         (outcome.code == SQLITE_OK ? "" : std::to_string(outcome.code) + " " + outcome.message));
    const int code = outcome.code & 0xFF;
    EXPECT_TRUE(code != SQLITE_CORRUPT && code != SQLITE_INTERNAL && code != SQLITE_MISUSE)
        << sql << "\n"
        << outcome.message;
    return outcome;
  }

  void create(char table) {
    const std::string& name = names_[table];
    const std::string seed = number(1000);
    db_.run("CREATE VIRTUAL TABLE \"" + name + "\" USING " +
            (table == 'c'   ? "cuckoo_filter(k INTEGER, fingerprint_bits = 28, seed = " + seed
             : table == 'b' ? "bloom_filter(k INTEGER, counting = on, fpr = 1e-8, seed = " + seed
             : table == 'f'
                 ? "flash_kv(key TEXT, value, size = '64KB', sector_size = 512,"
                   " erase_block = 1, seed = " +
                       seed
                 : "hash_ring(algorithm = " +
                       pick({"ring, vnodes = 300", "ring, vnodes = 300", "slots", "ketama"})) +
            ")");
  }

  // A change of one of the four tables, and of the ordinary table beside it.
  void write(Database& db) {
    const std::string key = number(kKeys);
    const std::string k = "'k" + key + "'";
    const std::string node = "'n" + number(6) + "'";
    // Some are longer than a sector.
    const std::string value =
        "hex(zeroblob(" + pick({"350", "1", "1"}) + ")) || '." + std::to_string(++version_) + "'";
    const std::string weight = std::to_string(1 + random(4));
    const auto both = [&](const std::string& sql, const std::string& same) {
      if (attempt(db, sql).code == SQLITE_OK) {
        db.run(same);
      }
    };
    const auto of = [&](char table) { return "\"" + names_[table] + "\""; };
    switch (random(9)) {
      case 0:
      case 1:
        return both("INSERT INTO " + of('c') + " VALUES (" + key + ")",
                    "INSERT INTO keys VALUES ('c', " + key + ")");
      case 2:
        return both("DELETE FROM " + of('c') + " WHERE k = " + key,
                    "DELETE FROM keys WHERE rowid = (SELECT min(rowid) FROM keys WHERE of = 'c'"
                    " AND k = " +
                        key + ")");
      case 3:
        return both("INSERT INTO " + of('b') + " VALUES (" + key + ")",
                    "INSERT INTO keys VALUES ('b', " + key + ")");
      case 4:
      case 5:
        return both("INSERT OR REPLACE INTO " + of('f') + " VALUES (" + k + ", " + value + ")",
                    "INSERT OR REPLACE INTO kv VALUES (" + k + ", " + value + ")");
      case 6:
        return both("DELETE FROM " + of('f') + " WHERE key = " + k,
                    "DELETE FROM kv WHERE key = " + k);
      case 7:
        return both("INSERT OR REPLACE INTO " + of('r') + "(node, weight) VALUES (" + node + ", " +
                        weight + ")",
                    "INSERT OR REPLACE INTO nodes VALUES (" + node + ", " + weight + ")");
      default:
        return both("DELETE FROM " + of('r') + " WHERE node = " + node,
                    "DELETE FROM nodes WHERE node = " + node);
    }
  }

  void command() {
    const char table = pick(kTables);
    const std::string& name = names_[table];
    static const std::map<char, std::vector<std::string>> kCommands = {
        {'c', {"check", "rebuild", "clear"}},
        {'b', {"check", "rebuild", "clear"}},
        {'f', {"check", "collect", "clear"}},
        {'r', {"check", "check", "clear"}}};
    const std::string& word = pick(kCommands.at(table));
    const std::string run =
        "INSERT INTO \"" + name + "\"(\"" + name + "\") VALUES ('" + word + "')";
    if (attempt(db_, run).code == SQLITE_OK && word == "clear") {
      db_.run(table == 'f'   ? "DELETE FROM kv"
              : table == 'r' ? "DELETE FROM nodes"
                             : std::string("DELETE FROM keys WHERE of = '") + table + "'");
    }
  }

  void excuse_all() {
    for (const auto& open : open_) {
      open->excuse();
    }
  }

  void connect_anew() {
    attempt(db_, "PRAGMA writable_schema = reset");
    excuse_all();
  }

  void rename() {
    const char table = pick(kTables);
    const std::string to = std::string(1, table) + (names_[table].size() == 1 ? "2" : "");
    if (attempt(db_, "ALTER TABLE \"" + names_[table] + "\" RENAME TO \"" + to + "\"").code ==
        SQLITE_OK) {
      names_[table] = to;
      excuse_all();
    }
  }

  void drop_and_create() {
    const char table = pick(kTables);
    if (attempt(db_, "DROP TABLE \"" + names_[table] + "\"").code == SQLITE_OK) {
      create(table);
      db_.run(table == 'f'   ? "DELETE FROM kv"
              : table == 'r' ? "DELETE FROM nodes"
                             : std::string("DELETE FROM keys WHERE of = '") + table + "'");
      excuse_all();
    }
  }

  void transaction() {
    switch (random(6)) {
      case 0:
      case 1:
        if (attempt(db_, "BEGIN").code == SQLITE_OK) {
          begun_names_ = names_;
        }
        return;
      case 2:
        attempt(db_, "COMMIT");
        return;
      case 3:
        if (attempt(db_, "ROLLBACK").code == SQLITE_OK) {
          names_ = begun_names_;
          excuse_all();
        }
        return;
      case 4:
        if (in_transaction(db_)) {
          attempt(db_, "SAVEPOINT s");
          saved_names_ = names_;
        }
        return;
      default:
        if (in_transaction(db_) && attempt(db_, "ROLLBACK TO s").code == SQLITE_OK) {
          names_ = saved_names_;
          excuse_all();
        }
        return;
    }
  }

  void ddl() {
    const auto one_of = [&](std::initializer_list<const char*> sqls) { attempt(db_, pick(sqls)); };
    switch (random(8)) {
      case 0:
      case 1:
        return connect_anew();
      case 2:
        excuse_all();
        if (!in_transaction(db_)) {
          begun_names_ = names_;
          return one_of({"BEGIN; CREATE TABLE z(a); ROLLBACK",
                         "BEGIN; CREATE VIRTUAL TABLE z USING hash_ring(); ROLLBACK"});
        }
        return one_of({"SAVEPOINT d; CREATE TABLE z(a); ROLLBACK TO d; RELEASE d"});
      case 3:
        excuse_all();  // ALTER makes SQLite read the schema anew
        return one_of({"CREATE TABLE t(a)", "DROP TABLE t", "ALTER TABLE t ADD COLUMN b",
                       "ALTER TABLE t RENAME TO t2", "DROP TABLE t2", "CREATE INDEX ti ON t(a)"});
      case 4:
        return one_of(
            {"ATTACH ':memory:' AS m", "DETACH m", "CREATE VIRTUAL TABLE m.r USING hash_ring()"});
      case 5:
        return one_of({"VACUUM", "ANALYZE", "REINDEX"});
      case 6:
        return rename();
      default:
        return drop_and_create();
    }
  }

  void step() {
    switch (random(8)) {
      case 0:
      case 1:
        if (open_.size() < 6) {
          open();
        }
        return;
      case 2: {
        if (!open_.empty()) {
          const size_t at = random(open_.size());
          note("-- step " + open_[at]->sql());
          if (!open_[at]->step()) {
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
          }
        }
        return;
      }
      case 3:
        ddl();
        break;
      case 4:
        transaction();
        break;
      case 5:
        if (one_in(2)) {
          command();
        } else if (!in_transaction(db_)) {
          other_write();
        }
        break;
      default:
        write(db_);
        break;
    }
    if (testing::Test::HasFailure()) {
      return;
    }
    moment_ = read();
    for (const auto& open : open_) {
      open->see(moment_);
    }
  }

  // A change needs two statements, one of them for the model, so both are in one transaction.
  void other_write() {
    if (attempt(other_, "BEGIN IMMEDIATE").code == SQLITE_OK) {
      write(other_);
      if (attempt(other_, "COMMIT").code != SQLITE_OK) {
        attempt(other_, "ROLLBACK");
      }
    }
  }

  void open() {
    if (one_in(4)) {  // the statement's tables have nothing in memory yet
      connect_anew();
    }
    auto statement =
        std::make_unique<OpenStatement>(db_, static_cast<What>(random(kWhats)), names_);
    note("-- open " + statement->sql());
    // From its first step on, the statement sees what other connections wrote before.
    statement->see(moment_);
    moment_ = read();
    statement->see(moment_);
    if (statement->step()) {
      open_.push_back(std::move(statement));
    }
  }

  // Reads the state from the ordinary tables. The virtual tables must agree with it.
  std::shared_ptr<const Moment> read() {
    auto moment = std::make_shared<Moment>();
    const auto of = [&](char table) { return "\"" + names_[table] + "\""; };
    const auto map_of = [&](const std::string& sql) {
      std::map<std::string, std::string> map;
      for (const Row& row : db_.rows(sql)) {
        map.emplace(row[0], row[1]);
      }
      return map;
    };
    moment->kv = map_of("SELECT key, value FROM kv");
    moment->nodes = map_of("SELECT node, weight FROM nodes");
    for (const Row& row : db_.rows("SELECT of, k, count(*) FROM keys GROUP BY 1, 2")) {
      (row[0] == "c" ? moment->cuckoo : moment->bloom)[row[1]] = std::stoi(row[2]);
    }
    EXPECT_EQ(map_of("SELECT key, value FROM " + of('f')), moment->kv);
    EXPECT_EQ(map_of("SELECT node, weight FROM " + of('r')), moment->nodes);
    const auto keys_of = [&](char table) {
      std::set<std::string> keys;
      for (const Row& row : db_.rows("SELECT j.value FROM " + std::string(kList) +
                                     " j CROSS JOIN " + of(table) + " f ON f.k = j.value")) {
        keys.insert(row[0]);
      }
      return keys;
    };
    for (const auto& [table, keys] : {std::pair('c', &moment->cuckoo), {'b', &moment->bloom}}) {
      std::set<std::string> expected;
      for (const auto& [key, count] : *keys) {
        expected.insert(key);
      }
      EXPECT_EQ(keys_of(table), expected) << table;
    }
    for (const Row& row :
         db_.rows("SELECT j.value, r.node FROM " + std::string(kList) + " j CROSS JOIN " + of('r') +
                  " r ON r.key = j.value AND r.replicas = 3")) {
      moment->owners[row[0]].push_back(row[1]);
    }
    return moment;
  }

  TemporaryFolder folder_;
  QuickDatabase db_{folder_.file("f.db")}, other_{folder_.file("f.db")};
  std::map<char, std::string> names_, begun_names_, saved_names_;  // of the four tables
  int version_ = 0;
  std::shared_ptr<const Moment> moment_;
  std::vector<std::unique_ptr<OpenStatement>> open_;
};

TEST(OpenStatementModel, every_row_was_right_since_the_statement_began) {
  run_scripts<OpenStatementScript>(120);
}

}  // namespace
}  // namespace cuckoo::test::table_open_statement_model_test
