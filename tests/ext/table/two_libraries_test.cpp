// Two SQLite libraries in one process, because two packages of an application each bring their own.
// The module that serves the first library refuses the second. A copy of the module's file serves
// the second.
#include <string>

#include "tests/support/database.hpp"
#include "tests/support/extension_path.hpp"
#include "tests/support/shared_library.hpp"

namespace cuckoo::test::table_two_libraries_test {
namespace {

// A second copy of the program's SQLite, or none where a second one can't be loaded.
class SecondLibrary {
 public:
  explicit SecondLibrary(const TemporaryFolder& folder) {
    const std::string known = SharedLibrary::sqlite();
    if (!known.empty()) {
      std::filesystem::copy_file(known, folder.file("second.so"));
      library_ = SharedLibrary(folder.file("second.so"), /*own=*/true);
    }
  }

  explicit operator bool() const noexcept { return static_cast<bool>(library_); }

  template <class Function>
  Function* find(Function* /* the first library's, for its type */, const char* name) const {
    return reinterpret_cast<Function*>(library_.find(name));
  }

 private:
  SharedLibrary library_;  // never closed: a module may serve it
};

// A connection of the second library.
class SecondDatabase {
 public:
  explicit SecondDatabase(const SecondLibrary& library) : library_(library) {
    EXPECT_EQ(library_.find(sqlite3_open, "sqlite3_open")(":memory:", &db_), SQLITE_OK);
    library_.find(sqlite3_enable_load_extension, "sqlite3_enable_load_extension")(db_, 1);
  }
  ~SecondDatabase() { close(); }
  SecondDatabase(const SecondDatabase&) = delete;
  SecondDatabase& operator=(const SecondDatabase&) = delete;

  void close() {
    EXPECT_EQ(library_.find(sqlite3_close, "sqlite3_close")(db_), SQLITE_OK);
    db_ = nullptr;
  }
  Outcome load(const std::string& path) {
    char* error = nullptr;
    const auto load = library_.find(sqlite3_load_extension, "sqlite3_load_extension");
    Outcome outcome;
    outcome.code = load(db_, path.c_str(), nullptr, &error);
    outcome.message = error == nullptr ? "" : error;
    library_.find(sqlite3_free, "sqlite3_free")(error);
    return outcome;
  }
  // The last row's first column.
  std::string text(const std::string& sql) {
    std::string last = "none";
    const auto take = [](void* last, int, char** row, char**) {
      *static_cast<std::string*>(last) = row[0] == nullptr ? "NULL" : row[0];
      return 0;
    };
    const auto run = library_.find(sqlite3_exec, "sqlite3_exec");
    EXPECT_EQ(run(db_, sql.c_str(), take, &last, nullptr), SQLITE_OK)
        << sql << library_.find(sqlite3_errmsg, "sqlite3_errmsg")(db_);
    return last;
  }

 private:
  const SecondLibrary& library_;
  sqlite3* db_ = nullptr;
};

class TwoLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!second_) {
      GTEST_SKIP() << "no second SQLite library";
    }
  }

  const TemporaryFolder folder_;
  const SecondLibrary second_{folder_};
};

constexpr char kFill[] =
    "CREATE VIRTUAL TABLE f USING cuckoo_filter(k);"
    "INSERT INTO f WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    " SELECT i FROM n;";
constexpr char kCount[] =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    " SELECT count(*) FROM n JOIN f ON f.k = n.i";

TEST_F(TwoLibraries, a_copy_of_the_file_serves_the_second) {
  const std::string copy = folder_.file("cuckoo2.so");
  std::filesystem::copy_file(extension_path(), copy);
  for (const bool first_closes_first : {false, true}) {
    auto first = std::make_unique<Database>();
    SecondDatabase second(second_);
    const Outcome outcome = second.load(copy);
    EXPECT_EQ(outcome.code, SQLITE_OK) << outcome.message;
    first->run(kFill);
    second.text(kFill);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(first->text(kCount), "3000");
      EXPECT_EQ(second.text(kCount), "3000");
    }
    if (first_closes_first) {
      first.reset();
      EXPECT_EQ(second.text(kCount), "3000");
    } else {
      second.text("DROP TABLE f");
      second.close();
      EXPECT_EQ(first->text(kCount), "3000");
    }
  }
}

TEST_F(TwoLibraries, the_second_is_refused_and_told_the_way_out) {
  Database first;
  first.run(kFill);
  SecondDatabase second(second_);
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = second.load(extension_path());
    EXPECT_EQ(outcome.code, SQLITE_ERROR);
    EXPECT_NE(outcome.message.find("another SQLite library of this process"), std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find("a copy of its file"), std::string::npos) << outcome.message;
    EXPECT_EQ(second.text("SELECT 5"), "5");
    EXPECT_EQ(first.text(kCount), "3000");
    first.run("INSERT INTO f VALUES ('more'); INSERT INTO f(f) VALUES ('rebuild')");
  }
  Database another;
  another.run(kFill);
}

}  // namespace
}  // namespace cuckoo::test::table_two_libraries_test
