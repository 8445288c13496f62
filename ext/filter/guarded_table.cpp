#include "ext/filter/guarded_table.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/shadow_tables.hpp"

namespace cuckoo {
namespace {

SqlError refusal(const GuardedTable& table, const std::string& why) {
  return {SQLITE_ERROR, table.schema + "." + printable(table.name) + ": " + why};
}

const char* type_of_affinity(Affinity affinity) noexcept {
  constexpr const char* kTypes[] = {"", "TEXT", "NUMERIC", "INTEGER", "REAL"};
  return kTypes[static_cast<size_t>(affinity)];
}

// Returns whether the type consists of words, and perhaps numbers in parentheses at the end:
// VARCHAR(20), DOUBLE PRECISION. A type may have been quoted, so it may be any text. In the
// declaration of a virtual table, HIDDEN has a meaning, and a keyword can't be a type.
bool is_harmless_type(const std::string& type) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ 0123456789";
  constexpr std::string_view kDigits = "0123456789, ";
  constexpr std::array<std::string_view, 6> kWords = {"INT",     "INTEGER", "TEXT",
                                                      "NUMERIC", "REAL",    "BLOB"};
  if (std::any_of(kWords.begin(), kWords.end(),
                  [&](std::string_view word) { return equal_names(word, type); })) {
    return true;
  }
  const size_t open = std::min(type.find('('), type.size());
  const std::string words = type.substr(0, open);
  const std::string rest = type.substr(open);
  if (words.find_first_not_of(kLetters) != std::string::npos ||
      (!rest.empty() &&
       (rest.back() != ')' || rest.size() < 3 ||
        rest.substr(1, rest.size() - 2).find_first_not_of(kDigits) != std::string::npos))) {
    return false;
  }
  for (std::string_view left = words; !left.empty();) {
    const std::string word = take_name(left);
    const bool digit = !word.empty() && word[0] >= '0' && word[0] <= '9';
    if (digit || (!word.empty() &&
                  (sqlite3_keyword_check(word.c_str(), static_cast<int>(word.size())) != 0 ||
                   equal_names(word, "hidden")))) {
      return false;
    }
  }
  return words.find_first_not_of(' ') != std::string::npos;
}

// Refuses anything but an ordinary table. Then spells the name as the schema does.
void expect_ordinary_table(sqlite3* db, GuardedTable& table) {
  SchemaRows rows(db, table.schema, "type = 'table' OR type = 'view'");
  if (!rows.find(table.name)) {
    throw refusal(table, "no such table in this schema");
  }
  if (rows.root_page() == 0) {
    throw refusal(table, "expected an ordinary table, not a view or a virtual table");
  }
  table.name = rows.name();
}

// Returns the column that may be the rowid: an INTEGER that is the whole primary key; -1 if none
// is.
int read_columns(sqlite3* db, GuardedTable& table) {
  enum : int { kName = 1, kType = 2, kPrimaryKey = 5 };
  int alias = -1;
  int in_primary_key = 0;
  Statement info(
      db, sql_text(R"(PRAGMA "%w".table_xinfo("%w"))", table.schema.c_str(), table.name.c_str()));
  while (info.step()) {
    GuardedColumn column;
    column.name = info.text(kName);
    const std::string type = info.text(kType);
    if (info.integer(kPrimaryKey) != 0) {
      ++in_primary_key;
      alias = equal_names(type, "INTEGER") ? static_cast<int>(table.columns.size()) : -1;
    }
    const bool any = equal_names(type, "ANY") && is_strict(db, table.schema, table.name);
    column.affinity = any ? Affinity::kNone : affinity_of(type);
    column.type = !any && is_harmless_type(type) ? type : type_of_affinity(column.affinity);
    const char* collation = nullptr;
    const int code = sqlite3_table_column_metadata(db, table.schema.c_str(), table.name.c_str(),
                                                   column.name.c_str(), nullptr, &collation,
                                                   nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db));
    }
    column.collation = collation;
    table.columns.push_back(std::move(column));
  }
  return in_primary_key == 1 ? alias : -1;
}

void read_row_name(sqlite3* db, GuardedTable& table) {
  enum : int { kColumn = 1, kIsKey = 5 };
  // With a table's name, this PRAGMA gives the primary key of a WITHOUT ROWID table only.
  Statement info(
      db, sql_text(R"(PRAGMA "%w".index_xinfo("%w"))", table.schema.c_str(), table.name.c_str()));
  while (info.step()) {
    if (info.integer(kIsKey) != 0) {
      table.primary_key.push_back(static_cast<int>(info.integer(kColumn)));
    }
  }
  if (!table.has_rowid()) {
    return;
  }
  for (const char* name : {"rowid", "_rowid_", "oid"}) {
    if (table.column_named(name) < 0) {
      table.rowid = name;
      return;
    }
  }
  throw refusal(table,
                "columns have all three names of the rowid: rowid, _rowid_ and oid;"
                " rename one of them");
}

GuardedIndex read_index(sqlite3* db, const GuardedTable& table, const std::string& name,
                        bool unique) {
  enum : int { kColumn = 1, kCollation = 4, kIsKey = 5 };
  GuardedIndex index;
  index.unique = unique;
  Statement info(db,
                 sql_text(R"(PRAGMA "%w".index_xinfo("%w"))", table.schema.c_str(), name.c_str()));
  while (info.step()) {
    if (info.integer(kIsKey) == 0) {
      continue;
    }
    auto column = static_cast<int>(info.integer(kColumn));
    const auto at = static_cast<size_t>(column);
    if (column >= 0 && (at >= table.columns.size() ||
                        !equal_names(table.columns[at].collation, info.text(kCollation)))) {
      column = GuardedIndex::kOther;
    }
    index.columns.push_back(column);
  }
  return index;
}

// Reads how many rows there are, how many have one value in an index's first column, in its first
// two, and so on: "1000 20 5". Words may follow the numbers.
void read_statistics(sqlite3* db, GuardedTable& table, const std::vector<std::string>& names) {
  if (!table_exists(db, table.schema, "sqlite_stat1", "stat")) {
    return;
  }
  double counted = 0;
  Statement select(
      db, sql_text("SELECT tbl, idx, stat FROM \"%w\".sqlite_stat1", table.schema.c_str()));
  while (select.step()) {
    if (sqlite3_stricmp(select.text(0).c_str(), table.name.c_str()) != 0) {
      continue;
    }
    const std::string index = select.text(1);
    const std::string text = select.text(2);
    const char* at = text.c_str();
    char* end = nullptr;
    const double rows = std::strtod(at, &end);
    counted = std::max(counted, rows);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!equal_names(names[i], index)) {
        continue;
      }
      std::vector<double>& equal = table.indexes[i].equal_rows;
      for (at = end; equal.size() < table.indexes[i].columns.size(); at = end) {
        const double number = std::strtod(at, &end);
        if (end == at || !(number >= 1)) {
          break;
        }
        equal.push_back(number);
      }
    }
  }
  if (counted > 0) {
    table.rows = counted;
  }
}

void read_indexes(sqlite3* db, GuardedTable& table, int alias) {
  enum : int { kName = 1, kUnique = 2, kOrigin = 3, kPartial = 4 };
  std::vector<std::string> names;  // in sqlite_stat1
  bool has_key_index = false;
  Statement list(
      db, sql_text(R"(PRAGMA "%w".index_list("%w"))", table.schema.c_str(), table.name.c_str()));
  while (list.step()) {
    const bool of_key = list.text(kOrigin) == "pk";
    has_key_index = has_key_index || of_key;
    if (list.integer(kPartial) == 0) {
      table.indexes.push_back(read_index(db, table, list.text(kName), list.integer(kUnique) != 0));
      names.push_back(of_key && !table.has_rowid() ? table.name : list.text(kName));
    }
  }
  if (table.has_rowid()) {
    table.indexes.push_back({{GuardedIndex::kRowid}, {}, true});
    if (alias >= 0 && !has_key_index) {  // INTEGER PRIMARY KEY DESC has an index of its own
      table.indexes.push_back({{alias}, {}, true});
    }
  }
  read_statistics(db, table, names);
}

// Returns a name that no column has, for the hidden column.
std::string row_key_name(const GuardedTable& table) {
  std::string name = "filter_guard_row";
  while (table.column_named(name) >= 0) {
    name += '_';
  }
  return name;
}

}  // namespace

int GuardedTable::column_named(const std::string& column) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const GuardedColumn& one) {
    return equal_names(one.name, column);
  });
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

bool GuardedTable::same_declaration(const GuardedTable& other) const {
  return columns == other.columns && primary_key == other.primary_key;
}

GuardedTable read_guarded_table(sqlite3* db, const std::string& schema, const std::string& table) {
  GuardedTable read;
  read.schema = schema;
  read.name = table;
  expect_ordinary_table(db, read);
  const int alias = read_columns(db, read);
  read_row_name(db, read);
  read_indexes(db, read, alias);
  return read;
}

std::string names_of(const GuardedTable& table, const std::vector<int>& columns) {
  std::string names;
  for (const int column : columns) {
    names +=
        (names.empty() ? "" : ", ") + sql_name(table.columns[static_cast<size_t>(column)].name);
  }
  return names;
}

std::string declaration_of(const GuardedTable& table) {
  std::string columns;
  for (const GuardedColumn& column : table.columns) {
    columns += sql_text(R"(%s"%w" %s COLLATE "%w")", columns.empty() ? "" : ", ",
                        column.name.c_str(), column.type.c_str(), column.collation.c_str());
  }
  if (table.has_rowid()) {
    return "CREATE TABLE x(" + columns + ")";
  }
  return sql_text("CREATE TABLE x(%s, \"%w\" BLOB HIDDEN PRIMARY KEY) WITHOUT ROWID",
                  columns.c_str(), row_key_name(table).c_str());
}

}  // namespace cuckoo
