#include "tests/ext/filter/guard_queries.hpp"

#include <algorithm>

namespace cuckoo::test {
namespace {

// Lists all columns, each in `call`(…) if `call` is given.
std::string all_of(const std::string& table, const std::string& call = "") {
  std::string columns;
  for (const char* name : {"k", "t", "n", "r", "u", "v", "gen"}) {
    columns += (columns.empty() ? "" : ", ") + call + "(" + table + "." + name + ")";
  }
  return columns;
}

// In this order two rows are equal only if all of their bytes are. By NOCASE alone 'abc' could come
// before or after 'ABC', and DISTINCT could keep either of them. quote() makes U+FFFD of all halves
// of surrogate pairs.
std::string order_of(const std::string& table) {
  return all_of(table, "quote") + ", hex(CAST(" + table + ".k AS BLOB)), hex(CAST(" + table +
         ".u AS BLOB)), hex(CAST(" + table + ".t AS BLOB)), hex(CAST(" + table + ".v AS BLOB))";
}

}  // namespace

void GuardQueries::add_texts_of(const std::string& encoding) {
  values_.insert(values_.end(), {"'\xF0\x9F\x98\x80'", "'a' || char(0) || 'b'", "'5' || char(0)",
                                 "char(65533)", "char(65534)", "char(65535)"});
  if (encoding == "UTF-8") {  // there char() makes half a pair, too
    values_.insert(values_.end(), {"char(55296)", "'a' || char(56320)", "char(65279) || 'a'"});
    return;
  }
  for (std::string units : {"D800", "D801", "D8000041", "0061DC00", "D83DDE00", "FFFE", "FFFE0061",
                            "FFFF", "FEFF0061", "006100000062", "00350000"}) {
    for (size_t i = 0; encoding == "UTF-16le" && i < units.size(); i += 4) {
      std::swap_ranges(&units[i], &units[i + 2], &units[i + 2]);
    }
    values_.push_back("CAST(x'" + units + "' AS TEXT)");
  }
}

std::string GuardQueries::column(const std::string& table) {
  if (rowid_ && chance(8)) {
    return table + "." + pick({"rowid", "oid", "_rowid_"});
  }
  return table + "." + (chance(45) ? "k" : pick({"k", "t", "n", "r", "u", "v", "gen"}));
}

std::string GuardQueries::operand(bool with_o) {
  if (with_o && chance(60)) {
    return pick({"", "", "", "+"}) + other_column();
  }
  switch (random(8)) {
    case 0:
      return "CAST(" + value() + " AS " + pick({"TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB"}) +
             ")";
    case 1:
      return "(SELECT " + pick({"max", "min"}) + "(" + other_column() + ") FROM o)";
    case 2:
      return "(SELECT " + other_column() + " FROM o ORDER BY o.i LIMIT 1 OFFSET " +
             std::to_string(random(9)) + ")";
    default:
      return value();
  }
}

std::string GuardQueries::list() {
  std::string values = value();
  for (uint64_t i = random(5); i > 0; --i) {
    values += ", " + value();
  }
  return "(" + values + ")";
}

std::string GuardQueries::values_of_o() {
  return "(SELECT " + other_column() + " FROM o" +
         (chance(30) ? " WHERE o.i % 3 = " + std::to_string(random(3)) : "") + ")";
}

// A comparison beside OR names no collation: SQLite turns two comparisons with one column into an
// IN, and an IN has only one collation.
std::string GuardQueries::comparison(const std::string& table, bool with_o, bool collate) {
  const std::string c = column(table);
  const std::string op = pick({"=", "=", "=", "==", "IS", "<", "<=", ">", ">=", "<>", "IS NOT"});
  switch (random(17)) {
    case 16:  // of columns with one type: SQLite compares such rows with a virtual table's without
              // the affinity of the values
      return "(" + table + ".n, " + table + ".t) IN (SELECT o.x, o.c FROM o)";
    case 0:
      return c + pick({" IS NULL", " IS NOT NULL", " NOTNULL"});
    case 1:
      return c + " BETWEEN " + operand(with_o) + " AND " + operand(with_o);
    case 2:
      return c + (collate ? collation() : "") + pick({" IN ", " IN ", " NOT IN "}) + list();
    case 3:
      return c + pick({" IN ", " IN ", " NOT IN "}) + values_of_o();
    case 4:              // not of a rowid: a LEFT JOIN by it loses rows in SQLite 3.40
      if (chance(25)) {  // not of t: a join of it with a key of another collation loses rows
        return table + pick({".u", ".v", ".gen"}) + " GLOB 'a*'";
      }
      return table + pick({".t", ".u", ".v", ".gen"}) +
             pick({" LIKE 'a%'", " LIKE '5%'", " NOT LIKE '%b%'"});
    case 5:
      return "(" + table + ".k, " + table + ".n) " + pick({"<", "<=", ">", ">=", "="}) + " (" +
             operand(with_o) + ", " + operand(with_o) + ")";
    case 6:
      return pick({"", "+", "-"}) + c + " " + op + " " + operand(with_o);
    case 7:
    case 8:
      return operand(with_o) + (collate ? collation() : "") + " " + op + " " + c;
    default:
      return c + (collate ? collation() : "") + " " + op + " " + operand(with_o) +
             (collate ? collation() : "");
  }
}

// A condition that gives a value to every column of the key, mostly those of a row.
std::string GuardQueries::whole_key(const std::string& table, bool with_o) {
  const bool of_row = !row_.empty() && chance(60);
  std::string conditions;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const std::string column = table + "." + keys_[i];
    const std::string of = of_row ? row_[i] : value();
    std::string values;  // not of one value: with LIKE a LEFT JOIN by it loses rows in SQLite 3.40
    for (uint64_t more = 1 + random(3); more > 0; --more) {
      values += ", " + value();
    }
    conditions += conditions.empty() ? "" : " AND ";
    switch (random(8)) {
      case 0:
        conditions += column + " IN " + values_of_o();
        break;
      case 1:
      case 2:
        conditions += column + " IN (" + of + values + ")";
        break;
      case 3:
        conditions += column + " IS " + of;
        break;
      case 4:
        conditions += column + " = " + operand(with_o);
        break;
      default:
        conditions += column + " = " + of;
        break;
    }
  }
  return "(" + conditions + ")";
}

std::string GuardQueries::predicate(const std::string& table, bool with_o, int depth) {
  if (depth < 2 && chance(35)) {
    return "(" + predicate(table, with_o, depth + 1) +
           pick({" AND ", " OR ", " OR ", " AND NOT "}) + predicate(table, with_o, depth + 1) + ")";
  }
  if (keys_.size() > 1 && chance(50)) {
    return whole_key(table, with_o);
  }
  return comparison(table, with_o, depth == 0);
}

GuardQueries::Query GuardQueries::alone() {
  const std::string where = " FROM @T AS g WHERE " + predicate("g", false);
  switch (random(7)) {
    case 0:
      return {"SELECT count(*), min(g.gen), max(g.n), max(g.r)" + where};
    case 1:
      return {"SELECT g.n, count(*), min(g.gen)" + where + " GROUP BY g.n"};
    case 2:
      return {"SELECT DISTINCT g.n, g.gen" + where};
    case 3:
      return {"SELECT g.k, count(*) OVER (PARTITION BY g.n), row_number() OVER (ORDER BY " +
              order_of("g") + ")" + where};
    case 4: {
      // SQLite leaves a column out of ORDER BY where it equals a constant, even if texts as unlike
      // as '5' and '05' equal that number.
      const std::string select = "SELECT " + all_of("g");
      const std::string order = " ORDER BY " + column("g") + ", " + order_of("g") + " LIMIT " +
                                std::to_string(1 + random(9)) + " OFFSET " +
                                std::to_string(random(3));
      return {select + where + order, true,
              select + " FROM (SELECT " + all_with_rowids() + where + " LIMIT -1) AS g" + order};
    }
    case 5:
      return {"SELECT g.n, g.gen" + where +
              pick({" UNION ", " EXCEPT ", " INTERSECT ", " UNION ALL "}) +
              "SELECT g.n, g.gen FROM @T AS g WHERE " + predicate("g", false)};
    default:
      return {"SELECT " + std::string(rowid_ ? "g.rowid, " : "") + all_of("g") + where};
  }
}

GuardQueries::Query GuardQueries::joined() {
  const std::string on = predicate("g", true);
  const std::string columns =
      pick({"o.i, g.k, g.t", "o.i, g.n, g.gen", "o.i, count(*)", "o.*, g.*"});
  const std::string tail = columns == "o.i, count(*)" ? " GROUP BY o.i" : "";
  switch (random(8)) {
    case 0:
      return {"SELECT " + columns + " FROM o LEFT JOIN @T AS g ON " + on + tail};
    case 1:
      return {"SELECT o.i FROM o LEFT JOIN @T AS g ON " + on + " WHERE g.k IS NULL"};
    case 2:
      return {"SELECT " + columns + " FROM @T AS g LEFT JOIN o ON " + on + tail};
    case 3:
      return {"SELECT " + columns + " FROM o " + pick({"RIGHT", "FULL"}) + " JOIN @T AS g ON " +
              on + tail};
    case 4:
      return {"SELECT " + columns + " FROM @T AS g " + pick({"RIGHT", "FULL"}) + " JOIN o ON " +
              on + tail};
    case 5:
      return {"SELECT a.k, b.k, a.n FROM @T AS a JOIN @T AS b ON a." + pick({"k", "n", "t"}) +
              " = b." + pick({"k", "n", "u", "v"}) + " WHERE " + predicate("a", false)};
    default:
      return {"SELECT " + columns + " FROM o " + pick({"JOIN", "JOIN", "CROSS JOIN"}) +
              " @T AS g ON " + on + (chance(40) ? " WHERE " + predicate("g", true) : "") + tail};
  }
}

GuardQueries::Query GuardQueries::inside() {
  const std::string from = "FROM @T AS g WHERE " + predicate("g", true);
  switch (random(6)) {
    case 0:
      return {"SELECT o.i FROM o WHERE " + pick({"", "NOT "}) + "EXISTS (SELECT 1 " + from + ")"};
    case 1:
      return {"SELECT o.i, (SELECT count(*) " + from + ") FROM o"};
    case 2:
      return {"SELECT o.i FROM o WHERE " + other_column() + pick({" IN ", " NOT IN "}) +
              "(SELECT g.k FROM @T AS g WHERE " + predicate("g", false) + ")"};
    case 3:
      return {"WITH c AS (SELECT " + all_with_rowids() + " FROM @T AS g WHERE " +
              predicate("g", false) + ") SELECT o.i, c.k, c.u FROM o JOIN c ON " +
              comparison("c", true, true)};
    case 4:
      return {
          "SELECT o.i, s.gen, s.c FROM o LEFT JOIN (SELECT g.gen, count(*) AS c FROM @T AS g "
          "WHERE " +
          predicate("g", false) + " GROUP BY g.gen) AS s ON s.gen = " + other_column()};
    default:
      return {"SELECT o.i FROM o WHERE (SELECT max(g.n) " + from + ") > 2"};
  }
}

std::string GuardQueries::write(const std::string& columns) {
  const std::string found = "SELECT 1 FROM @T AS g WHERE ";
  const std::string exists = pick({"", "", "NOT "}) + std::string("EXISTS (") + found;
  const std::string of_users = "g." + pick({"k", "k", "n", "u", "t"}) + " = users." +
                               pick({"k", "k", "n", "u", "v"}) + " AND " + predicate("g", false);
  const std::string set = "UPDATE users SET " + pick({"k", "k", "n", "t", "u"}) + " = " + value();
  const std::string into = "INSERT " + pick({"", "OR IGNORE ", "OR REPLACE ", "OR FAIL "}) +
                           "INTO users(" + columns + ") ";
  const bool id = columns.ends_with(", id");
  switch (random(9)) {
    case 0:
      return "UPDATE o SET hits = hits + 1 FROM @T AS g WHERE " + predicate("g", true);
    case 1:
      return "UPDATE o SET hits = (SELECT count(*) FROM @T AS g WHERE " + predicate("g", true) +
             ")";
    case 2:
      return "DELETE FROM o WHERE " + exists + predicate("g", true) + ")";
    case 3:
      return "INSERT INTO taken SELECT " + all_of("g") + " FROM @T AS g JOIN o ON " +
             predicate("g", true);
    case 4:
      return set + " FROM @T AS g WHERE " + of_users;
    case 5:
      return set + " WHERE " + exists + of_users + ")";
    case 6:
      return "DELETE FROM users WHERE " + exists + of_users + ")";
    case 7:
      return into + "SELECT g." + pick({"k", "t", "u"}) + ", g.u, g.n + 1, g.r, g.t, g.v" +
             (id ? ", g.n + 7" : "") + " FROM @T AS g WHERE " + predicate("g", false) +
             " ORDER BY " + order_of("g") + " LIMIT 5";
    default:  // each row may be what the next one asks for
      return into + "SELECT o.x, o.y, o.i, o.q, o.z, o.c" + (id ? ", o.i" : "") + " FROM o WHERE " +
             exists + pick({"g.k = o.x", "g.t = o.y", "g.u = o.z"}) +
             (chance(50) ? " OR " + predicate("g", true) : "") + ") ORDER BY o.i";
  }
}

GuardQueries::Query GuardQueries::query() {
  switch (random(5)) {
    case 0:
    case 1:
      return alone();
    case 2:
      return inside();
    default:
      return joined();
  }
}

}  // namespace cuckoo::test
