// Runs the cases of tests/ext/**/*.test: statements of SQL, and the rows or the error of each.
// "A case in SQL" in docs/CHANGING.md has the form. CUCKOO_SQL_CASES names another folder.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test::sql_cases {
namespace {

struct Line {
  int number;
  std::string text;
};
using Lines = std::vector<Line>;

struct Mistake {
  int line;
  std::string what;
};

#define CODE(name) \
  { #name, SQLITE_##name }
const std::map<std::string, int> kCodes = {{"error", SQLITE_ERROR},
                                           CODE(AUTH),
                                           CODE(BUSY),
                                           CODE(CONSTRAINT),
                                           CODE(CORRUPT),
                                           CODE(CORRUPT_VTAB),
                                           CODE(FULL),
                                           CODE(ABORT),
                                           CODE(INTERRUPT),
                                           CODE(IOERR),
                                           CODE(LOCKED),
                                           CODE(MISMATCH),
                                           CODE(READONLY),
                                           CODE(TOOBIG),
                                           CODE(CONSTRAINT_CHECK),
                                           CODE(CONSTRAINT_NOTNULL),
                                           CODE(CONSTRAINT_PRIMARYKEY),
                                           CODE(CONSTRAINT_TRIGGER),
                                           CODE(CONSTRAINT_UNIQUE)};
#undef CODE

std::string trimmed(const std::string& text) {
  const size_t from = std::min(text.find_first_not_of(" \n"), text.size());
  return text.substr(from, text.find_last_not_of(" \n") + 1 - from);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Splits at each "|" that stands alone; "1..5" becomes five cells.
std::vector<std::string> cells_of(const std::string& text) {
  std::vector<std::string> cells;
  const std::string all = replaced(" " + text + " ", " | ", "  |  ");
  for (size_t from = 0, to = 0; to != std::string::npos; from = to + 3) {
    to = all.find(" | ", from);
    const std::string cell = trimmed(all.substr(from, to - from));
    const size_t dots = cell.find("..");
    if (dots == std::string::npos || cell.find_first_not_of("0123456789.") != std::string::npos) {
      cells.push_back(cell);
      continue;
    }
    for (int i = std::stoi(cell); i <= std::stoi(cell.substr(dots + 2)); ++i) {
      cells.push_back(std::to_string(i));
    }
  }
  return cells;
}

// Writes out each "foreach {name} … | cell | …": what follows, up to "end" or the last line, once
// for each row of cells.
Lines unrolled(const Lines& lines, size_t& at, bool in_loop = false) {
  Lines result;
  while (at < lines.size()) {
    const Line& line = lines[at++];
    if (line.text == "end" && in_loop) {
      break;
    }
    if (!line.text.starts_with("foreach ")) {
      result.push_back(line);
      continue;
    }
    std::string table = line.text.substr(8);
    for (; at < lines.size() && lines[at].text.starts_with("|"); ++at) {
      table += " " + lines[at].text;
    }
    std::vector<std::string> cells = cells_of(table);
    std::istringstream words(cells.front());
    const std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
    cells.erase(cells.begin());
    if (names.empty() || cells.empty() || cells.size() % names.size() != 0) {
      throw Mistake{line.number, std::to_string(cells.size()) + " cells for " +
                                     std::to_string(names.size()) + " names"};
    }
    const Lines body = unrolled(lines, at, true);
    for (size_t cell = 0; cell < cells.size(); cell += names.size()) {
      for (auto [number, text] : body) {
        for (size_t i = 0; i < names.size(); ++i) {
          text = replaced(text, names[i], cells[cell + i]);
        }
        result.push_back({number, text});
      }
    }
  }
  return result;
}

// numbers(a, b) is a query of the whole numbers i = a … b.
std::string with_numbers(const std::string& text) {
  const size_t at = text.find(" numbers("), comma = text.find(", ", at),
               end = text.find(')', comma);
  if (end == std::string::npos) {
    return text;
  }
  return text.substr(0, at) + " (WITH RECURSIVE n(i) AS (SELECT " +
         text.substr(at + 9, comma - at - 9) + " UNION ALL SELECT i + 1 FROM n WHERE i < " +
         text.substr(comma + 2, end - comma - 2) + ") SELECT i FROM n)" +
         with_numbers(text.substr(end + 1));
}

class Session {
 public:
  Session(std::string path, const Lines& lines) : path_(std::move(path)) {
    for (const auto& [number, text] : lines) {
      in_files_ = in_files_ || text.starts_with("@") || text.starts_with("close @");
    }
  }

  void run_all(const Lines& lines) {
    for (size_t at = 0; at < lines.size(); ++at) {
      const auto& [number, text] = lines[at];
      if (text.starts_with("----")) {
        std::string expected = trimmed(text.substr(4));
        const bool listed = expected.empty();  // a row a line, up to an empty one
        while (at + 1 < lines.size() &&
               (listed ? !lines[at + 1].text.empty() : lines[at + 1].text.starts_with("|"))) {
          expected += (!listed ? " " : expected.empty() ? "" : ",") + lines[++at].text;
        }
        expect(number, expected.starts_with("as {") ? expected : filled_in(expected));
      } else if (text.starts_with("@")) {
        run();
        const size_t blank = std::min(text.find(' '), text.size());
        name_ = text.substr(1, blank - 1);
        add(number, text.substr(blank));
      } else if (text.starts_with("close @")) {
        run();
        databases_.erase(text.substr(7));
      } else if (text == "new database") {
        run();
        databases_.clear();
        folder_ = std::make_unique<TemporaryFolder>();
      } else if (text.starts_with("since SQLite 3.") || text.starts_with("before SQLite 3.")) {
        run();
        const int minor = std::stoi(text.substr(text.find('.') + 1));
        if ((sqlite3_libversion_number() >= 3000000 + minor * 1000) == text.starts_with('b')) {
          return;
        }
      } else if (text.starts_with("#")) {
        throw Mistake{number, text};
      } else {
        add(number, text);
      }
    }
    run();
    if (expectations_ == 0) {
      throw Mistake{lines.empty() ? 0 : lines.back().number, "nothing is expected"};
    }
  }

 private:
  std::string filled_in(std::string text) const {
    text = replaced(text, "{folder}/", folder_->file(""));
    for (const auto& [name, value] : values_) {
      text = replaced(text, name, value);
    }
    return text;
  }

  Database& database() {
    std::unique_ptr<Database>& db = databases_[name_];
    if (db == nullptr) {
      const size_t slash = name_.find('/');  // "@b/other.db" is a connection to another file
      const std::string file = slash == std::string::npos ? "f.db" : name_.substr(slash + 1);
      db = std::make_unique<Database>(in_files_ ? folder_->file(file) : ":memory:");
      db->attempt("PRAGMA synchronous = OFF");  // it may be locked
    }
    return *db;
  }

  void add(int line, const std::string& text) {
    first_ = trimmed(statements_).empty() ? line : first_;
    statements_ += text + "\n";
  }

  // Runs the statements up to here, until one fails; the rows are those of the last one.
  struct Result {
    std::string rows;
    Outcome outcome;
    bool is_last = true;
  };
  Result step() {
    Result result;
    std::string text = with_numbers(filled_in(statements_));
    statements_.clear();
    sqlite3* const db = database().handle();
    for (size_t end = 0; result.outcome.code == SQLITE_OK && !trimmed(text).empty();) {
      do {
        end = std::min(text.find(';', end), text.size() - 1) + 1;
      } while (end < text.size() && sqlite3_complete(text.substr(0, end).c_str()) == 0);
      sqlite3_stmt* statement = nullptr;
      int code = sqlite3_prepare_v2(db, text.c_str(), static_cast<int>(end), &statement, nullptr);
      result.rows.clear();
      const char* between = "";
      while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); ++i) {
          const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
          result.rows += std::string(between) + (value == nullptr ? "NULL" : value);
          between = "|";
        }
        between = ",";
        code = SQLITE_OK;
      }
      result.rows = *between == 0 ? "none" : result.rows;
      text = text.substr(end);
      end = 0;
      if (code != SQLITE_DONE) {
        result.outcome = {code, sqlite3_errmsg(db)};
        result.is_last = trimmed(text).empty();
      }
      sqlite3_finalize(statement);
    }
    return result;
  }

  void fail(int line, const std::string& text, const std::string& what) const {
    ADD_FAILURE_AT(path_.c_str(), line) << text << what;
  }
  void fail(int line, const std::string& text, const Outcome& outcome) const {
    fail(line, text, "code " + std::to_string(outcome.code) + ": " + outcome.message);
  }

  void run() {
    const std::string text = statements_;
    const Outcome outcome = step().outcome;
    if (outcome.code != SQLITE_OK) {
      fail(first_, text, outcome);
    }
  }

  void expect(int line, const std::string& expected) {
    if (trimmed(statements_).empty() || expected.empty()) {
      throw Mistake{line, "no statement, or nothing expected of it"};
    }
    ++expectations_;
    const std::string text = statements_;
    const auto [rows, outcome, is_last] = step();
    const size_t colon = std::min(expected.find(": "), expected.size());
    const auto wanted = kCodes.find(expected.substr(0, colon));
    if (wanted != kCodes.end()) {
      if (!is_last || (outcome.code != wanted->second && (outcome.code & 255) != wanted->second)) {
        fail(line, text, outcome);
      }
      for (const std::string& part :
           cells_of(expected.substr(std::min(colon + 1, expected.size())))) {
        if (outcome.message.find(part) == std::string::npos) {
          fail(line, text, "says: " + outcome.message + "\nwithout: " + part);
        }
      }
    } else if (outcome.code != SQLITE_OK) {
      fail(line, text, outcome);
    } else if (expected.starts_with("as {")) {
      values_[expected.substr(3)] = rows;
      --expectations_;
    } else if (rows != expected) {
      fail(line, text, "gives:    " + rows + "\nexpected: " + expected);
    }
  }

  const std::string path_;
  bool in_files_ = false;
  std::unique_ptr<TemporaryFolder> folder_ = std::make_unique<TemporaryFolder>();
  std::map<std::string, std::unique_ptr<Database>> databases_;
  std::string name_ = "a";
  std::map<std::string, std::string> values_;
  std::string statements_;
  int first_ = 0;  // their first line
  int expectations_ = 0;
};

class Case : public testing::Test {
 public:
  Case(std::string path, Lines lines) : path_(std::move(path)), lines_(std::move(lines)) {}

  void TestBody() override {
    try {
      size_t at = 0;
      const Lines lines = unrolled(lines_, at);
      Session(path_, lines).run_all(lines);
    } catch (const Mistake& mistake) {
      ADD_FAILURE_AT(path_.c_str(), mistake.line) << mistake.what;
    }
  }

 private:
  const std::string path_;
  const Lines lines_;
};

// "# Suite.name" begins a case, "# Suite" what runs before each case of the suite in this file.
void register_cases(const std::string& path) {
  std::map<std::string, Lines> before;
  std::vector<std::pair<Line, Lines>> cases;
  Lines nowhere;
  Lines* to = &nowhere;
  std::ifstream file(path, std::ios::binary);
  for (Line line{1, ""}; std::getline(file, line.text); ++line.number) {
    line.text = line.text.substr(0, line.text.find_last_not_of(" \r") + 1);
    if (line.text.starts_with("# ")) {
      const std::string name = line.text.substr(2);
      const size_t dot = name.find('.');
      if (dot == std::string::npos) {
        to = &before[name];
      } else {
        cases.push_back({{line.number, name}, before[name.substr(0, dot)]});
        to = &cases.back().second;
      }
    } else if (!line.text.starts_with("--") || line.text.starts_with("----")) {
      const size_t dashes = std::min((line.text + " ").find(" ---- "), line.text.size());
      to->push_back({line.number, line.text.substr(0, dashes)});
      if (dashes < line.text.size()) {
        to->push_back({line.number, line.text.substr(dashes + 1)});
      }
    }
  }
  for (const auto& [number, text] : nowhere) {
    if (!text.empty()) {
      cases.push_back({{number, "SqlCases." + std::filesystem::path(path).stem().string()},
                       {{number, "# text before the first case"}}});
    }
  }
  static std::set<std::string> known;
  for (auto& [title, lines] : cases) {
    const size_t dot = title.text.find('.');
    if (!known.insert(title.text).second) {
      title.text += "_again";
      lines = {{title.number, "# a name that is there already"}};
    }
    testing::RegisterTest(
        title.text.substr(0, dot).c_str(), title.text.substr(dot + 1).c_str(), nullptr, nullptr,
        path.c_str(), title.number,
        [path = path, lines = lines]() -> testing::Test* { return new Case(path, lines); });
  }
}

const bool registered = [] {
  const char* const folder = std::getenv("CUCKOO_SQL_CASES");
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           folder != nullptr ? folder : source_path("tests/ext"))) {
    if (entry.path().extension() == ".test") {
      paths.insert(entry.path().generic_string());
    }
  }
  for (const std::string& path : paths) {
    register_cases(path);
  }
  return true;
}();

}  // namespace
}  // namespace cuckoo::test::sql_cases
