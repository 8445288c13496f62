// kill -9 in the middle of 'apply': the process ends at its n-th call of the operating system that
// changes a file, for n = 1, 2 … until it ends by itself. The copy then holds what it held before
// or after the message, 'check' passes, and the next message brings it up to date.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_apply_crash_test {
namespace {

// The default VFS's files, whose n-th write, truncation or sync is the process's last.
class KillingVfs {
 public:
  static void arm(int64_t n) {
    left_ = n;
    sqlite3_vfs* const real = sqlite3_vfs_find(nullptr);
    open_ = real->xOpen;
    vfs_ = *real;
    vfs_.zName = "killing";
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }

 private:
  static void step() {
    if (--left_ == 0) {
      (void)raise(SIGKILL);
    }
  }
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    const int code = open_(vfs, name, file, flags, out);
    if (file->pMethods != nullptr) {
      file->pMethods = killing(file->pMethods);
    }
    return code;
  }
  // Kinds of files differ in how they lock, and write alike.
  static const sqlite3_io_methods* killing(const sqlite3_io_methods* real) {
    sqlite3_io_methods& own = methods_[real];
    own = *real;
    real_ = real;
    own.xWrite = [](sqlite3_file* of, const void* bytes, int count, sqlite3_int64 at) {
      step();
      return real_->xWrite(of, bytes, count, at);
    };
    own.xTruncate = [](sqlite3_file* of, sqlite3_int64 size) {
      step();
      return real_->xTruncate(of, size);
    };
    own.xSync = [](sqlite3_file* of, int how) {
      step();
      return real_->xSync(of, how);
    };
    return &own;
  }

  static inline int64_t left_ = 0;
  static inline sqlite3_vfs vfs_{};
  static inline int (*open_)(sqlite3_vfs*, const char*, sqlite3_file*, int, int*) = nullptr;
  static inline const sqlite3_io_methods* real_ = nullptr;
  static inline std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;
};

// Returns true if the statements ran to their end. The child process does nothing after them.
bool run_killed_at(int64_t n, const std::string& path, const std::string& sql) {
  const pid_t child = ::fork();
  if (child == 0) {
    KillingVfs::arm(n);
    Database db(path);
    const Outcome outcome = db.attempt("PRAGMA cache_size = 10; " + sql);
    _exit(outcome.code == SQLITE_OK ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0)
      << "n = " << n << ", status " << status;
  return !WIFSIGNALED(status);
}

class ApplyKilled : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    before_ = folder_.file("before.db");
    Database db(before_);
    db.run(std::string("PRAGMA journal_mode = ") + GetParam());
    db.run("CREATE VIRTUAL TABLE o USING cuckoo_filter(seed = 7); INSERT INTO o " +
           numbers(1, 20000));
    db.run(
        "CREATE VIRTUAL TABLE c USING cuckoo_filter(seed = 8);"
        "INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', NULL)");
    old_mark_ = mark_of(db, "c");
    db.run("INSERT INTO o {}; DELETE FROM o WHERE key IN ({})", numbers(20001, 20500),
           numbers(1, 100));
    new_mark_ = mark_of(db, "o");
    db.run(
        "CREATE TABLE sent AS SELECT filter_changes('o', filter_mark('c')) AS changes,"
        " filter_changes('o', NULL) AS image");
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 6000);
    db.run("CREATE TABLE parts AS SELECT part, piece FROM filter_parts('o', NULL, '1MB')");
    EXPECT_GE(db.number("SELECT count(*) FROM parts"), 5);
  }

  void expect_before_or_after(const std::string& sql) {
    bool was_before = false;
    bool was_after = false;
    bool ended = false;
    const auto step = static_cast<int64_t>(share_divisor());
    for (auto n = static_cast<int64_t>(1 + share_first()); !ended && !HasFailure();
         n += step * (1 + n / 16)) {
      SCOPED_TRACE("killed at " + std::to_string(n));
      const std::string path = folder_.file("c.db");
      for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
        std::filesystem::remove(path + suffix);
      }
      std::filesystem::copy_file(before_, path);
      ended = run_killed_at(n, path, sql);
      Database db(path);
      db.gives("PRAGMA integrity_check", "ok");
      db.gives("SELECT cuckoo_check('c')", "ok");
      const std::string now = mark_of(db, "c");
      was_before = was_before || now == old_mark_;
      was_after = was_after || now == new_mark_;
      EXPECT_TRUE(now == old_mark_ || now == new_mark_);
      EXPECT_TRUE(!ended || now == new_mark_);
      EXPECT_EQ(present(db, 101, 20000, "c"), 19900);
      db.gives("SELECT count(*) FROM c_data WHERE id < 0", 0);
      db.run("INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', filter_mark('c'))");
      EXPECT_EQ(mark_of(db, "c"), new_mark_);
      EXPECT_EQ(present(db, 101, 20500, "c"), 20400);
      db.gives("SELECT cuckoo_check('c')", "ok");
    }
    EXPECT_TRUE(was_before && was_after);
  }

  TemporaryFolder folder_;
  std::string before_;
  std::string old_mark_, new_mark_;
};

INSTANTIATE_TEST_SUITE_P(Journal, ApplyKilled, testing::Values("DELETE", "WAL"), kParameterName);

TEST_P(ApplyKilled, in_changes_leaves_before_or_after) {
  expect_before_or_after("INSERT INTO c(c, key) SELECT 'apply', changes FROM sent");
}

TEST_P(ApplyKilled, in_an_image_leaves_before_or_after) {
  expect_before_or_after("INSERT INTO c(c, key) SELECT 'apply', image FROM sent");
}

TEST_P(ApplyKilled, between_parts_leaves_before_or_after) {
  expect_before_or_after(
      "BEGIN; INSERT INTO c(c, key) SELECT 'apply', piece FROM parts ORDER BY part; COMMIT");
}

}  // namespace
}  // namespace cuckoo::test::filter_apply_crash_test
