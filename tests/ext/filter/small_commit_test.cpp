// What a transaction of one row writes: one row of one table.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_small_commit_test {
namespace {

class SmallCommit : public testing::TestWithParam<const char*> {
 protected:
  // The statements that the filter runs for `sql`, without the application's own.
  std::vector<std::string> nested(const std::string& sql) {
    std::vector<std::string> statements;
    sqlite3_trace_v2(
        db.handle(), SQLITE_TRACE_STMT,
        [](unsigned, void* list, void* statement, void*) {
          const char* text = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
          if (std::string(text).find("f_") != std::string::npos) {
            static_cast<std::vector<std::string>*>(list)->emplace_back(text);
          }
          return 0;
        },
        &statements);
    db.run(sql);
    sqlite3_trace_v2(db.handle(), 0, nullptr, nullptr);
    return statements;
  }

  TemporaryFolder folder;
  QuickDatabase db{folder.file("f.db")};
};

INSTANTIATE_TEST_SUITE_P(Kinds, SmallCommit,
                         testing::Values("cuckoo_filter(k", "cuckoo_filter(k, growth = off",
                                         "cuckoo_filter(k, unique = on, fpr = 1e-9",
                                         "bloom_filter(k", "bloom_filter(k, layout = blocked",
                                         "bloom_filter(k, counting = on",
                                         "cuckoo_filter(k, generations = 3"),
                         kParameterName);

TEST_P(SmallCommit, writes_one_row_of_one_table) {
  const std::vector<std::string> one = {R"(UPDATE "main"."f_data" SET block = ?2 WHERE id = ?1)"};
  // In a transaction the filter reads again, because an earlier statement may have written the
  // rows.
  std::vector<std::string> read = {
      R"(SELECT 1 FROM "main"."f_config" WHERE key = 'format')",
      R"(SELECT id, block FROM "main"."f_data" WHERE id BETWEEN ?1 AND ?2 ORDER BY id)"};
  if (std::string(GetParam()).find("generations") != std::string::npos) {  // which one is newest
    read.insert(read.begin() + 1,
                R"(SELECT id, block FROM "main"."f_data" WHERE id = ?1 AND id <= ?2)");
  }
  std::vector<std::string> read_and_one = read;
  read_and_one.push_back(one[0]);
  db.run("CREATE VIRTUAL TABLE f USING {}, seed = 1, capacity = 1e6)", GetParam());
  db.run("INSERT INTO f {}; INSERT INTO f VALUES ('a'), ('b')", numbers(1, 50000));
  EXPECT_EQ(nested("INSERT INTO f VALUES ('c')"), one);
  EXPECT_EQ(nested("BEGIN; INSERT INTO f VALUES ('d'); COMMIT"), read_and_one);
  EXPECT_EQ(nested("BEGIN; INSERT INTO f VALUES ('e'), ('f'), ('g'); COMMIT"), read_and_one);
  if (std::string(GetParam()).find("counting") != std::string::npos ||
      std::string(GetParam()) == "cuckoo_filter(k") {
    EXPECT_EQ(nested("DELETE FROM f WHERE k = 'c'"), one);
    EXPECT_EQ(nested("UPDATE f SET k = 'x' WHERE k = 'd'"), one);
  }
  EXPECT_EQ(nested("BEGIN; INSERT INTO f VALUES ('h'); ROLLBACK"), read);
  check(db);
}

}  // namespace
}  // namespace cuckoo::test::filter_small_commit_test
