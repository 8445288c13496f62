// Loading can't hurt: an application's functions stay its own, a load that fails half-way leaves a
// connection that works and closes, and the next load completes it.
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "tests/ext/table/bare_database.hpp"
#include "tests/support/database.hpp"
#include "tests/support/extension_path.hpp"
#include "tests/support/shared_library.hpp"

namespace cuckoo::test::table_load_test {
namespace {

// sha1('a').
constexpr char kSha1[] = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8";

void expect_all_works(BareDatabase& db) {
  EXPECT_EQ(db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k);"
                   "CREATE VIRTUAL TABLE b USING bloom_filter(k);"
                   "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
                   "CREATE VIRTUAL TABLE ring USING hash_ring;"
                   "INSERT INTO f VALUES ('a'); INSERT INTO b VALUES ('a');"
                   "INSERT INTO kv(v) VALUES ('a'); INSERT INTO ring(node) VALUES ('a');"
                   "SELECT node, bad_blocks, state FROM hash_ring_moves('ring', 'add', 'b'),"
                   " flash_kv_info, flash_kv_sectors('kv')"),
            SQLITE_OK)
      << db.message();
  EXPECT_EQ(db.text("SELECT filter_contains('f', 'a') + filter_contains('b', 'a') + count(*)"
                    " FROM filter_info"),
            "4");
  EXPECT_EQ(db.text("SELECT filter_contains(filter_union(i), 'a')"
                    " FROM (SELECT cuckoo_build('a', 0.01, 10, 7) AS i)"),
            "1");
  EXPECT_EQ(db.text("SELECT cuckoo_sha1('a')"), kSha1);
  EXPECT_EQ(db.text("SELECT k FROM kv"), kSha1);
  EXPECT_EQ(db.run("DROP TABLE f; DROP TABLE b; DROP TABLE kv; DROP TABLE ring"), SQLITE_OK)
      << db.message();
}

TEST(Load, an_application_keeps_its_own_sha1) {
  for (const bool by_statement : {false, true}) {
    BareDatabase db;
    db.function("sha1", 1);
    EXPECT_EQ(by_statement ? db.load_by_statement() : db.load(), SQLITE_OK) << db.message();
    EXPECT_EQ(db.text("SELECT sha1('a')"), "the application's");
    EXPECT_EQ(db.text("SELECT cuckoo_sha1('a')"), kSha1);
    EXPECT_EQ(db.load_by_statement(), SQLITE_OK);
    EXPECT_EQ(db.text("SELECT sha1('a')"), "the application's");
    expect_all_works(db);
  }
}

TEST(Load, sha1_is_there_where_the_application_has_none_of_one_argument) {
  BareDatabase db;
  db.function("sha1", 2);
  EXPECT_EQ(db.load_by_statement(), SQLITE_OK) << db.message();
  EXPECT_EQ(db.text("SELECT sha1('a')"), kSha1);
  EXPECT_EQ(db.text("SELECT sha1('a', 'b')"), "the application's");
  EXPECT_EQ(db.load(), SQLITE_OK);
  EXPECT_EQ(db.text("SELECT sha1('a')"), kSha1);

  BareDatabase any;
  any.function("sha1", -1);
  EXPECT_EQ(any.load(), SQLITE_OK);
  EXPECT_EQ(any.text("SELECT sha1('a')"), "the application's");
}

TEST(Load, leaves_no_error_behind_and_no_authorizer_in_the_dark) {
  BareDatabase db;
  const auto deny = [](void*, int action, const char*, const char* name, const char*, const char*) {
    return action == SQLITE_FUNCTION && name != nullptr && std::string(name) == "sha1" ? SQLITE_DENY
                                                                                       : SQLITE_OK;
  };
  sqlite3_set_authorizer(db.handle(), deny, nullptr);
  EXPECT_EQ(db.load(), SQLITE_OK);
  EXPECT_EQ(sqlite3_errcode(db.handle()), SQLITE_OK) << db.message();
  EXPECT_EQ(db.load(), SQLITE_OK);
  EXPECT_EQ(sqlite3_errcode(db.handle()), SQLITE_OK) << db.message();
  sqlite3_set_authorizer(db.handle(), nullptr, nullptr);
  EXPECT_EQ(db.text("SELECT sha1('a')"), kSha1);
}

// While a statement runs SQLite lets no function be replaced: the load fails half-way.
TEST(Load, that_fails_half_way_leaves_a_connection_that_works) {
  std::set<std::string> complete;
  {
    BareDatabase db;
    db.load();
    complete = db.catalogue();
  }
  for (const auto& [name, arguments] : {std::pair("filter_contains", 2), {"filter_union", 1}}) {
    BareDatabase db;
    db.function(name, arguments);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(db.load_by_statement(), SQLITE_ERROR);
      EXPECT_NE(db.message().find("active statements"), std::string::npos) << db.message();
      EXPECT_EQ(db.text("SELECT count(*) FROM pragma_module_list WHERE name = 'cuckoo_filter'"),
                "0");
      EXPECT_EQ(db.run("SELECT cuckoo_version()"), SQLITE_ERROR);
    }
    EXPECT_EQ(db.load(), SQLITE_OK) << db.message();
    EXPECT_EQ(db.catalogue(), complete);
    expect_all_works(db);
  }
}

TEST(Load, of_a_copy_of_the_file_changes_nothing) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(extension_path(), folder.file("cuckoo2.so"));
  BareDatabase db;
  EXPECT_EQ(db.load(), SQLITE_OK);
  EXPECT_EQ(db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES (1)"),
            SQLITE_OK);
  EXPECT_EQ(db.load(folder.file("cuckoo2.so").c_str()), SQLITE_OK) << db.message();
  EXPECT_EQ(db.text("SELECT filter_contains('f', 1) FROM filter_info"), "1");
}

TEST(Load, of_a_file_that_was_renamed) {
  const TemporaryFolder folder;
  for (const char* name : {"sqlite-cuckoo.so", "libcuckoo0.1.so", "7.so"}) {
    std::filesystem::copy_file(extension_path(), folder.file(name));
    BareDatabase db;
    EXPECT_EQ(db.load(folder.file(name).c_str()), SQLITE_OK) << db.message();
    expect_all_works(db);
  }
}

TEST(Load, in_several_threads_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 20; ++round) {
        BareDatabase db;
        EXPECT_EQ(round % 2 == 0 ? db.load() : db.load_by_statement(), SQLITE_OK);
        EXPECT_EQ(db.load(), SQLITE_OK);
        EXPECT_EQ(db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k);"
                         "INSERT INTO f VALUES (1)"),
                  SQLITE_OK);
        EXPECT_EQ(db.text("SELECT filter_contains('f', 1)"), "1");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// --- each allocation fails in turn ---------------------------------------------------------------

sqlite3_mem_methods real_memory;
int64_t until_failure = 0;  // allocations; 0: none fails
bool fails_from_then_on = false;
bool failed = false;

bool is_refused() noexcept {
  if (until_failure == 0) {
    return false;
  }
  if (until_failure > 1) {
    --until_failure;
    return false;
  }
  failed = true;
  until_failure = fails_from_then_on ? 1 : 0;
  return true;
}

// All of the process uses this memory. No connection may be open when it is made or destroyed.
class FaultyMemory {
 public:
  FaultyMemory() {
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods faulty = real_memory;
    faulty.xMalloc = [](int bytes) { return is_refused() ? nullptr : real_memory.xMalloc(bytes); };
    faulty.xRealloc = [](void* memory, int bytes) {
      return is_refused() ? nullptr : real_memory.xRealloc(memory, bytes);
    };
    EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty), SQLITE_OK);
    EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
  }
  ~FaultyMemory() {
    sqlite3_shutdown();
    EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &real_memory), SQLITE_OK);
    EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
  }
  FaultyMemory(const FaultyMemory&) = delete;
  FaultyMemory& operator=(const FaultyMemory&) = delete;

  // Lets the n-th allocation of `body` fail, with `for_good` all later ones, too. True if one
  // failed.
  static bool during(int64_t n, bool for_good, const std::function<void()>& body) {
    failed = false;
    fails_from_then_on = for_good;
    until_failure = n;
    body();
    until_failure = 0;
    return failed;
  }
};

class LoadFaults : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  bool by_statement() const { return std::get<0>(GetParam()); }
  bool for_good() const { return std::get<1>(GetParam()); }

  bool load(BareDatabase& db, int64_t n, int& code) const {
    return FaultyMemory::during(
        n, for_good(), [&] { code = by_statement() ? db.load_by_statement() : db.load(); });
  }

  FaultyMemory memory_;
};

INSTANTIATE_TEST_SUITE_P(Ways, LoadFaults, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "by_statement"
                                                                      : "by_call") +
                                  (std::get<1>(info.param) ? "_for_good" : "_once");
                         });

TEST_P(LoadFaults, leave_a_connection_that_works_and_can_load_again) {
  std::set<std::string> complete;
  {
    BareDatabase db;
    ASSERT_EQ(db.load(), SQLITE_OK);
    complete = db.catalogue();
    expect_all_works(db);
  }
  const sqlite3_int64 used = sqlite3_memory_used();
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    int code = SQLITE_OK;
    {
      BareDatabase db;  // fails, is used as it is, is closed
      if (!load(db, n, code)) {
        break;
      }
      failures += code != SQLITE_OK ? 1 : 0;
      for (const char* sql :
           {"SELECT cuckoo_sha1('a')", "CREATE VIRTUAL TABLE f USING cuckoo_filter",
            "SELECT * FROM filter_info", "SELECT filter_contains('f', 1)",
            "SELECT length(cuckoo_build(1))", "DROP TABLE f"}) {
        db.run(sql);
      }
      EXPECT_EQ(db.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)"), SQLITE_OK) << db.message();
    }
    {
      BareDatabase db;  // fails, and then does not
      load(db, n, code);
      EXPECT_EQ(by_statement() ? db.load_by_statement() : db.load(), SQLITE_OK) << db.message();
      EXPECT_EQ(db.catalogue(), complete);
      expect_all_works(db);
    }
    ASSERT_EQ(sqlite3_memory_used(), used);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(failures, 20);
}

// An application that links the extension in does this: every new connection gets the extension.
TEST_P(LoadFaults, of_an_automatic_extension_make_open_fail_and_nothing_else) {
  if (by_statement()) {
    return;
  }
  SharedLibrary library(extension_path());
  ASSERT_TRUE(library);
  const auto entry = reinterpret_cast<void (*)()>(library.find("sqlite3_cuckoo_init"));
  ASSERT_NE(entry, nullptr);
  ASSERT_EQ(sqlite3_auto_extension(entry), SQLITE_OK);
  const sqlite3_int64 used = sqlite3_memory_used();
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    int code = SQLITE_OK;
    const bool faulty = FaultyMemory::during(n, for_good(), [&] {
      const BareDatabase db;
      code = db.open_code();
    });
    failures += code != SQLITE_OK ? 1 : 0;
    ASSERT_EQ(sqlite3_memory_used(), used);
    if (!faulty) {
      EXPECT_EQ(code, SQLITE_OK);
      break;
    }
    BareDatabase db;
    EXPECT_EQ(db.open_code(), SQLITE_OK);
    expect_all_works(db);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(failures, 20);
  sqlite3_reset_auto_extension();
  library.close();
}

}  // namespace
}  // namespace cuckoo::test::table_load_test
