// What the SQL benchmarks share: a connection with the extension loaded, a virtual table that does
// nothing, alternated timing, and the table that is printed.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cuckoo::bench {

// Which rows of a filter's "_data" are pages of its segments, and which its log
// (core/segments/blocks.hpp).
inline constexpr char kPageRows[] =
    "(id >> 24 BETWEEN 1 AND 1073741823 AND (id & 16777215) < 8388608)";
inline constexpr char kLogRows[] = "id >= 1 << 55";

// --- SQL. Every failure ends the program with SQLite's text.

// What the do-nothing table answers to the probes of this process.
//   kAlternately   hit, miss, hit, … : half of the work of a half absent join, well predictable
//   kAtRandom      by a generator: the branches after it cannot be predicted, as in a real join
enum class Answer { kNever, kAlways, kAlternately, kAtRandom };

// A database with cuckoo.so and the module do_nothing: the declaration, the plan and the callbacks
// of cuckoo_filter with nothing behind them. Its xFilter looks at no key and decides by `answer`;
// its xUpdate accepts every row and forgets it. So it costs what SQLite itself costs.
class Connection {
 public:
  explicit Connection(const std::string& path);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void run(const std::string& sql) const;
  // The first column of the first row.
  int64_t integer(const std::string& sql) const;
  std::string text(const std::string& sql) const;
  // The last line of the query plan: how the inner table of a join is reached.
  std::string inner_plan(const std::string& sql) const;
  void answer(Answer answer) { answer_ = answer; }

  int64_t changes() const;       // of the last INSERT, UPDATE or DELETE
  int64_t cache_misses() const;  // pages read since the connection was opened
  int64_t bytes_in_use() const;  // pages that are not free times their size

 private:
  friend class Prepared;
  sqlite3* db_ = nullptr;
  Answer answer_ = Answer::kAlternately;
};

class Prepared {
 public:
  Prepared(const Connection& connection, const std::string& sql);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared();

  // Binds ?1, steps to the end and resets. The first column of the last row, 0 without a row.
  int64_t run(int64_t parameter);
  int64_t run(const std::string& parameter);
  int64_t run();

 private:
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

// A file in the directory for temporary files; removed, with journal and WAL, at both ends.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The i-th of a sequence of distinct, evenly spread numbers of 63 bits.
int64_t random_key(uint64_t i);

// Fills a column of a table in one transaction; key(i) for i = 0 … count - 1.
void fill(const Connection& connection, const std::string& table, uint64_t count,
          const std::function<int64_t(uint64_t)>& key);

// --- time

// kProcessor counts this process's own time, user and system: other jobs on the machine are not in
// it, nor is waiting for a disk.
enum class Clock { kProcessor, kWall };
double seconds(Clock clock);
double median(std::vector<double> values);

// Seconds of several things run in turn, A B C, A B C, …: a slow spell of the machine hits all.
class Alternated {
 public:
  Alternated(int rounds, const std::vector<std::function<void()>>& runs,
             Clock clock = Clock::kProcessor);
  double time(size_t which) const { return median(times_[which]); }
  // Median over the rounds of time(a) / time(b) of one round.
  double ratio(size_t a, size_t b) const;

 private:
  std::vector<std::vector<double>> times_;
};

// --- the table

class Report {
 public:
  explicit Report(bool judge) : judge_(judge) {}

  void section(const std::string& title);
  void note(const std::string& text) const;  // before the section's first row
  // For information: no budget.
  void show(const std::string& what, double value, int decimals, const std::string& unit);
  void at_most(double limit, const std::string& what, double value, int decimals,
               const std::string& unit);
  void at_least(double limit, const std::string& what, double value, int decimals,
                const std::string& unit);
  // Says which budgets are missed; their number.
  int finish() const;

 private:
  void row(const std::string& what, const std::string& value, const std::string& budget,
           const std::string& verdict);
  void judge(bool good, const char* relation, double limit, const std::string& what, double value,
             int decimals, const std::string& unit);

  bool judge_;
  int judged_ = 0;
  std::string section_;
  bool open_ = false;  // the section's heading is printed
  std::vector<std::string> missed_;
};

}  // namespace cuckoo::bench
