// Loading reads nothing from the file, so it works where the schema can't be read. In defensive
// mode SQLite protects the shadow tables at once. Both hold for each way of loading:
// sqlite3_load_extension(), SELECT load_extension(), an automatic extension.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/ext/table/bare_database.hpp"
#include "tests/support/database.hpp"
#include "tests/support/extension_path.hpp"
#include "tests/support/names.hpp"
#include "tests/support/shared_library.hpp"

namespace cuckoo::test::table_load_schema_test {
namespace {

enum class Way { kFunction, kStatement, kAutomatic };
std::ostream& operator<<(std::ostream& out, Way way) {
  constexpr const char* kNames[] = {"function", "statement", "automatic"};
  return out << kNames[static_cast<size_t>(way)];
}

// While it lives, each new connection gets the extension.
class AutomaticExtension {
 public:
  AutomaticExtension() {
    entry_ = reinterpret_cast<void (*)()>(library_.find("sqlite3_cuckoo_init"));
    EXPECT_EQ(sqlite3_auto_extension(entry_), SQLITE_OK);
  }
  ~AutomaticExtension() {
    sqlite3_cancel_auto_extension(entry_);
    library_.close();
  }
  AutomaticExtension(const AutomaticExtension&) = delete;
  AutomaticExtension& operator=(const AutomaticExtension&) = delete;

 private:
  SharedLibrary library_{extension_path()};
  void (*entry_)();
};

int cache_reads(sqlite3* db) {
  int hits = 0;
  int misses = 0;
  int highest = 0;
  EXPECT_EQ(sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &highest, 0), SQLITE_OK);
  EXPECT_EQ(sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 0), SQLITE_OK);
  return hits + misses;
}

// True: SQLite itself reads the schema before SELECT load_extension() calls us.
bool select_reads_schema() { return sqlite3_libversion_number() >= 3049000; }

class LoadSchema : public ::testing::TestWithParam<Way> {
 protected:
  // Opens `path` and loads; `between` runs before the load, where the way allows that.
  void open_and_load(const std::string& between = "") {
    if (GetParam() == Way::kAutomatic) {
      const AutomaticExtension automatic;
      db_ = std::make_unique<BareDatabase>(path_);
      ASSERT_EQ(db_->open_code(), SQLITE_OK) << db_->message();
    } else {
      db_ = std::make_unique<BareDatabase>(path_);
      ASSERT_EQ(db_->run(between), SQLITE_OK) << db_->message();
      ASSERT_EQ(GetParam() == Way::kFunction ? db_->load() : db_->load_by_statement(), SQLITE_OK)
          << db_->message();
    }
    EXPECT_EQ(sqlite3_errcode(db_->handle()), SQLITE_OK) << db_->message();
  }
  void make_tables() const {
    BareDatabase db(path_);
    ASSERT_EQ(db.load(), SQLITE_OK);
    ASSERT_EQ(db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k);"
                     "CREATE VIRTUAL TABLE b USING bloom_filter(k);"
                     "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
                     "CREATE VIRTUAL TABLE ring USING hash_ring;"
                     "INSERT INTO f VALUES ('a'); INSERT INTO b VALUES ('a')"),
              SQLITE_OK);
  }
  // Defensive mode comes after the load, as with `.load` and `.dbconfig defensive on`.
  void expect_protected() const {
    sqlite3_db_config(db_->handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    for (const std::string table : {"f_config", "b_config", "kv_config", "ring_config"}) {
      EXPECT_EQ(db_->run("DELETE FROM " + table), SQLITE_ERROR);
      EXPECT_EQ(db_->message(), "table " + table + " may not be modified");
    }
    EXPECT_EQ(db_->run("INSERT INTO f VALUES ('b')"), SQLITE_OK) << db_->message();
    EXPECT_EQ(db_->text("SELECT filter_contains('f', 'a') + filter_contains('f', 'b')"), "2");
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("test.db");
  std::unique_ptr<BareDatabase> db_;
};

INSTANTIATE_TEST_SUITE_P(Ways, LoadSchema,
                         ::testing::Values(Way::kFunction, Way::kStatement, Way::kAutomatic),
                         kParameterName);

TEST_P(LoadSchema, reads_nothing) {
  make_tables();
  open_and_load();
  if (GetParam() != Way::kStatement || !select_reads_schema()) {
    EXPECT_EQ(cache_reads(db_->handle()), 0);
  }
}

TEST_P(LoadSchema, needs_no_database_that_can_be_read) {
  std::ofstream(path_) << std::string(8192, '?');  // as an encrypted one before its key
  if (GetParam() == Way::kStatement && select_reads_schema()) {
    GTEST_SKIP() << "SQLite can't run the statement itself";
  }
  open_and_load();
  EXPECT_EQ(db_->run("SELECT count(*) FROM sqlite_schema"), SQLITE_NOTADB);
  // The extension works as soon as the database can be read.
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(db_->run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES (1)"),
            SQLITE_OK)
      << db_->message();
}

TEST_P(LoadSchema, waits_for_no_lock) {
  make_tables();
  BareDatabase writer(path_);
  ASSERT_EQ(writer.run("BEGIN EXCLUSIVE"), SQLITE_OK);
  if (GetParam() == Way::kStatement && select_reads_schema()) {
    GTEST_SKIP() << "SQLite can't run the statement itself";
  }
  open_and_load();
  EXPECT_EQ(db_->run("SELECT count(*) FROM sqlite_schema"), SQLITE_BUSY);
  EXPECT_EQ(writer.run("COMMIT"), SQLITE_OK);
  expect_protected();
}

TEST_P(LoadSchema, leaves_a_malformed_schema_to_be_mended) {
  make_tables();
  {
    BareDatabase db(path_);
    ASSERT_EQ(db.run("CREATE TABLE t(a);"
                     "PRAGMA writable_schema = ON;"
                     "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(' WHERE name = 't'"),
              SQLITE_OK);
  }
  if (GetParam() == Way::kStatement && select_reads_schema()) {
    GTEST_SKIP() << "SQLite can't run the statement itself";
  }
  open_and_load();
  EXPECT_EQ(db_->run("SELECT count(*) FROM sqlite_schema"), SQLITE_CORRUPT);
  EXPECT_EQ(db_->run("PRAGMA writable_schema = ON;"
                     "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a)' WHERE name = 't';"
                     "PRAGMA writable_schema = RESET"),
            SQLITE_OK)
      << db_->message();
  EXPECT_EQ(db_->text("SELECT filter_contains('f', 'a')"), "1");
}

// A load leaves the schema writable while somebody mends it. So does a second load.
TEST_P(LoadSchema, leaves_the_schema_writable_where_it_is) {
  make_tables();
  open_and_load("PRAGMA writable_schema = ON; SELECT count(*) FROM sqlite_schema");
  if (GetParam() != Way::kAutomatic) {
    EXPECT_EQ(db_->text("PRAGMA writable_schema"), "1");
  }
  EXPECT_EQ(db_->run("PRAGMA writable_schema = ON"), SQLITE_OK);
  EXPECT_EQ(db_->load(), SQLITE_OK);
  EXPECT_EQ(db_->text("PRAGMA writable_schema"), "1");
}

TEST_P(LoadSchema, protects_shadow_tables_at_once) {
  make_tables();
  open_and_load();
  expect_protected();
}

TEST_P(LoadSchema, protects_shadow_tables_of_a_schema_that_was_read_before) {
  make_tables();
  open_and_load("PRAGMA journal_mode = WAL; SELECT * FROM f_config");
  expect_protected();
}

// --- another extension's module, registered after ours -------------------------------------------

int connect_other(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** vtab, char**) {
  *vtab = new sqlite3_vtab{};
  return sqlite3_declare_vtab(db, "CREATE TABLE x(a)");
}
int disconnect_other(sqlite3_vtab* vtab) {
  delete vtab;
  return SQLITE_OK;
}
int plan_other(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
int is_shadow_of_other(const char* name) { return std::string(name) == "data" ? 1 : 0; }

void register_other(BareDatabase& db) {
  static const sqlite3_module module = [] {
    sqlite3_module made{};
    made.iVersion = 3;
    made.xCreate = made.xConnect = connect_other;
    made.xDestroy = made.xDisconnect = disconnect_other;
    made.xBestIndex = plan_other;
    made.xShadowName = is_shadow_of_other;
    return made;
  }();
  EXPECT_EQ(sqlite3_create_module(db.handle(), "other", &module, nullptr), SQLITE_OK);
}

TEST_P(LoadSchema, leaves_those_of_an_extension_that_is_loaded_later_protected) {
  {
    BareDatabase db(path_);
    register_other(db);
    ASSERT_EQ(db.run("CREATE VIRTUAL TABLE o USING other; CREATE TABLE o_data(a)"), SQLITE_OK);
  }
  open_and_load();
  register_other(*db_);
  sqlite3_db_config(db_->handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  EXPECT_EQ(db_->run("DELETE FROM o_data"), SQLITE_ERROR);
  EXPECT_EQ(db_->message(), "table o_data may not be modified");
}

// --- while something else goes on ----------------------------------------------------------------

TEST(LoadInTheMiddle, of_a_transaction_leaves_it_as_it_is) {
  const TemporaryFolder folder;
  const std::string path = folder.file("test.db");
  for (const bool by_statement : {false, true}) {
    BareDatabase db(path);
    ASSERT_EQ(db.run("CREATE TABLE IF NOT EXISTS kept(a); BEGIN; CREATE TABLE t(a);"
                     "CREATE TEMP TABLE u(a); INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)"),
              SQLITE_OK);
    ASSERT_EQ(by_statement ? db.load_by_statement() : db.load(), SQLITE_OK) << db.message();
    EXPECT_EQ(db.text("SELECT a + (SELECT a FROM u) FROM t"), "3");
    EXPECT_EQ(db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES (1)"),
              SQLITE_OK);
    EXPECT_EQ(db.text("SELECT filter_contains('f', 1)"), "1");
    EXPECT_EQ(db.run("ROLLBACK"), SQLITE_OK);
    EXPECT_EQ(db.text("SELECT group_concat(name) FROM sqlite_schema"), "kept");
  }
}

TEST(LoadInTheMiddle, of_statements_lets_them_go_on) {
  for (const bool by_statement : {false, true}) {
    BareDatabase db;
    ASSERT_EQ(db.run("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)"), SQLITE_OK);
    sqlite3_stmt* select = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(db.handle(),
                                 "SELECT a FROM json_each('[1, 2, 3]') CROSS JOIN t ON value = a",
                                 -1, &select, nullptr),
              SQLITE_OK);
    ASSERT_EQ(sqlite3_step(select), SQLITE_ROW);
    ASSERT_EQ(by_statement ? db.load_by_statement() : db.load(), SQLITE_OK) << db.message();
    EXPECT_EQ(db.text("SELECT count(*) FROM t"), "3");
    for (int expected : {2, 3}) {
      EXPECT_EQ(sqlite3_step(select), SQLITE_ROW);
      EXPECT_EQ(sqlite3_column_int(select, 0), expected);
    }
    EXPECT_EQ(sqlite3_step(select), SQLITE_DONE);
    sqlite3_finalize(select);
  }
}

// If the authorizer says no, the load succeeds. Each table is protected from its first use on.
TEST(LoadInTheMiddle, of_an_authorizer_that_allows_no_pragma) {
  BareDatabase db;
  const auto deny = [](void*, int action, const char*, const char*, const char*, const char*) {
    return action == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
  };
  sqlite3_set_authorizer(db.handle(), deny, nullptr);
  EXPECT_EQ(db.load(), SQLITE_OK) << db.message();
  EXPECT_EQ(sqlite3_errcode(db.handle()), SQLITE_OK) << db.message();
  EXPECT_EQ(db.load_by_statement(), SQLITE_OK) << db.message();
  EXPECT_EQ(db.text("SELECT sha1('a')"), db.text("SELECT cuckoo_sha1('a')"));
}

// Where SQLite can't tell whether an application has its own sha1(), the load leaves sha1() alone.
TEST(LoadInTheMiddle, of_limits_that_forbid_any_statement) {
  BareDatabase db;
  db.function("sha1", 1);
  sqlite3_limit(db.handle(), SQLITE_LIMIT_FUNCTION_ARG, 0);
  EXPECT_EQ(db.load(), SQLITE_OK) << db.message();
  sqlite3_limit(db.handle(), SQLITE_LIMIT_FUNCTION_ARG, 10);
  EXPECT_EQ(db.text("SELECT sha1('a')"), "the application's");
}

// A connection of a shared cache can prepare nothing while another one changes the schema.
TEST(LoadInTheMiddle, of_a_change_of_a_shared_schema) {
  EXPECT_EQ(sqlite3_enable_shared_cache(1), SQLITE_OK);
  {
    const TemporaryFolder folder;
    const std::string path = folder.file("test.db");
    BareDatabase other(path);
    ASSERT_EQ(other.run("BEGIN; CREATE TABLE t(a)"), SQLITE_OK);
    BareDatabase db(path);
    EXPECT_EQ(db.load(), SQLITE_OK) << db.message();
    EXPECT_EQ(other.run("COMMIT"), SQLITE_OK);
    EXPECT_EQ(db.text("SELECT cuckoo_sha1('a') || count(*) FROM t"),
              "86f7e437faa5a7fce15d1ddcb9eaeaea377667b80");
  }
  EXPECT_EQ(sqlite3_enable_shared_cache(0), SQLITE_OK);
}

}  // namespace
}  // namespace cuckoo::test::table_load_schema_test
