// Shadow rows that are damaged, missing, foreign or from the future give a clear message, not a
// crash. Damage of the config, the root, the directory or the log never makes a key silently
// absent. The table can always be dropped, and its neighbours are unaffected.
#include "tests/support/copy_over.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_corruption_test {
namespace {

constexpr int64_t kKeys = 3000;

// What a damaged table answers to probes for keys that are surely there, to changes and to
// commands.
struct Seen {
  Outcome probe;
  int64_t found = -1;
  Outcome function;
  Outcome insert;
  Outcome transaction;
  Outcome check;
  Outcome rebuild;

  bool reported() const {
    return probe.code != SQLITE_OK || insert.code != SQLITE_OK || check.code != SQLITE_OK;
  }
};

// A file with two filters and a table; `damage` is done by a connection that never opened them.
class Corruption : public testing::Test {
 protected:
  Corruption() {
    QuickDatabase db(file("good.db"));
    for (const char* name : {"f", "other"}) {
      const std::string table = name;
      db.run(
          "CREATE VIRTUAL TABLE {} USING cuckoo_filter(key, capacity = 4000, fpr = 0.0001, seed ="
          " 7)",
          table);
      db.run("INSERT INTO {} {}", table, numbers(1, kKeys));
      db.run("INSERT INTO {} SELECT 5 FROM ({})", table, numbers(1, 20));  // overflow
      db.run("INSERT INTO {}({}) VALUES ('rebuild')", table, table);
      db.run("INSERT INTO {} {}", table, numbers(kKeys + 1, kKeys + 900));
      db.run("INSERT INTO {} VALUES ('tail'); DELETE FROM {} WHERE key = 6", table, table);
    }
    db.run(
        "CREATE VIRTUAL TABLE small USING cuckoo_filter(growth = off, capacity = 100);"
        "INSERT INTO small VALUES (1)");
    EXPECT_GT(rows_of(db, "f", kOverflowRows), 0);
    EXPECT_GT(rows_of(db, "f", kLogRows), 1);
    EXPECT_GT(rows_of(db, "f", kPageRows), 1);
    EXPECT_GT(rows_of(db, "f", kRunRows), 1);
    EXPECT_EQ(rows_of(db, "f", kDirectoryRows), 1);
  }

  std::string file(const std::string& name) const { return folder.file(name); }

  std::string damaged(const std::string& damage) {
    const std::string copy = file("bad.db");
    copy_over(file("good.db"), copy);
    QuickDatabase db(copy);
    db.run(damage);
    return copy;
  }

  static Outcome attempt_on_copy(const std::string& path, const std::string& sql) {
    const std::string copy = path + ".copy";
    copy_over(path, copy);
    QuickDatabase db(copy);
    return db.attempt(sql);
  }

  // Nothing may crash. Every error must be CORRUPT, IOERR or ERROR, and its text must name the
  // table.
  Seen look(const std::string& damage) {
    const std::string path = damaged(damage);
    Seen seen;
    {
      QuickDatabase db(path);
      const std::string all =
          "SELECT count(*) FROM (" + numbers(1, kKeys + 900) + ") JOIN f ON key = i WHERE i <> 6";
      seen.probe = db.attempt(all);
      if (seen.probe.code == SQLITE_OK) {
        seen.found = db.number(all);
      }
      seen.function = db.attempt("SELECT filter_contains('f', 'tail'), filter_contains('f', 5)");
      db.attempt("SELECT * FROM filter_info('f')");
      db.attempt("SELECT count(*) FROM f");
      db.attempt("SELECT count FROM f WHERE key = 5");
      db.attempt("DELETE FROM f WHERE key = 5");
      db.attempt("DELETE FROM f WHERE key = 'nobody'");
    }
    seen.insert = attempt_on_copy(path, "INSERT INTO f VALUES ('new')");
    seen.transaction = attempt_on_copy(path, "BEGIN; INSERT INTO f " + numbers(1, 2000) +
                                                 "; SAVEPOINT s; DELETE FROM f WHERE"
                                                 " key IN (1, 2, 3); ROLLBACK TO s; COMMIT");
    seen.check = attempt_on_copy(path, "INSERT INTO f(f) VALUES ('check')");
    seen.rebuild = attempt_on_copy(path, "INSERT INTO f(f) VALUES ('rebuild')");
    Database reader(path, SQLITE_OPEN_READONLY);
    EXPECT_EQ(reader.text("SELECT cuckoo_check('f')"),
              seen.check.code == SQLITE_OK ? "ok" : seen.check.message)
        << damage;
    for (const Outcome* outcome : {&seen.probe, &seen.function, &seen.insert, &seen.transaction,
                                   &seen.check, &seen.rebuild}) {
      if (outcome->code != SQLITE_OK) {
        const bool in_savepoint = outcome == &seen.transaction;  // SQLite drops that text
        EXPECT_TRUE(in_savepoint || outcome->message.find("f_") != std::string::npos ||
                    outcome->message.find("f: ") != std::string::npos)
            << damage << ": " << outcome->message;
        EXPECT_TRUE((outcome->code & 0xFF) == SQLITE_CORRUPT ||
                    (outcome->code & 0xFF) == SQLITE_IOERR ||
                    (outcome->code & 0xFF) == SQLITE_ERROR)
            << damage << ": " << outcome->code << " " << outcome->message;
      }
    }
    attempt_on_copy(path, "INSERT INTO f(f) VALUES ('clear')");
    expect_neighbours_and_drop(path, damage);
    return seen;
  }

  static void expect_neighbours_and_drop(const std::string& path, const std::string& damage) {
    QuickDatabase db(path);
    EXPECT_EQ(db.number("SELECT count(*) FROM ({}) JOIN other ON key = i WHERE i <> 6",
                        numbers(1, kKeys)),
              kKeys - 1)
        << damage;
    db.run("INSERT INTO other VALUES ('x'); INSERT INTO small VALUES (2)");
    EXPECT_EQ(db.attempt("ALTER TABLE other RENAME TO another").code, SQLITE_OK) << damage;
    const Outcome drop = db.attempt("DROP TABLE f");
    EXPECT_EQ(drop.code, SQLITE_OK) << damage << ": " << drop.message;
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'f' OR name GLOB 'f_*'"),
              0)
        << damage;
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter; INSERT INTO f VALUES (1)");
    db.run("INSERT INTO f(f) VALUES ('check'); INSERT INTO another(another) VALUES ('check')");
  }

  static constexpr int64_t kPresent = kKeys + 899;

  // Expects that after each damage these outcomes say that the table is corrupt. Returns what the
  // last damage gave.
  Seen expect_corrupt(const std::vector<std::string>& damages,
                      const std::vector<Outcome Seen::*>& outcomes) {
    Seen seen;
    for (const std::string& damage : damages) {
      seen = look(damage);
      for (const auto outcome : outcomes) {
        EXPECT_EQ((seen.*outcome).code & 0xFF, SQLITE_CORRUPT)
            << damage << ": " << (seen.*outcome).message;
      }
    }
    return seen;
  }

  // Expects that the damage is an error at first use, or that no key is lost.
  void expect_never_silent(const std::string& damage) {
    const Seen seen = look(damage);
    if (seen.probe.code == SQLITE_OK) {
      EXPECT_GE(seen.found, kPresent) << damage << " loses keys silently";
    } else {
      EXPECT_EQ(seen.probe.code & 0xFF, SQLITE_CORRUPT) << damage << ": " << seen.probe.message;
      EXPECT_NE(seen.probe.message.find("f: "), std::string::npos) << seen.probe.message;
    }
  }

  TemporaryFolder folder;
};

const std::vector<std::string>& garbage(const std::string& column) {
  static std::vector<std::string> values;
  values = {"NULL",
            "5",
            "-1",
            "1.5",
            "x''",
            "x'00'",
            "'garbage'",
            "zeroblob(" + std::to_string(kPageRowBytes) + ")",
            "zeroblob(100000)",
            "randomblob(" + std::to_string(kPageRowBytes) + ")",
            "randomblob(7)",
            "substr(" + column + ", 1, length(" + column + ") - 1)",
            "substr(" + column + ", 1, length(" + column + ") / 2)",
            "substr(" + column + ", 2)",
            "CAST(" + column + " || x'00' AS BLOB)",
            "CAST(" + column + " || randomblob(5000) AS BLOB)",
            "CAST(substr(" + column + ", 1, 40) || CASE substr(" + column +
                ", 41, 1) WHEN x'5a' THEN x'5b' ELSE x'5a' END || substr(" + column +
                ", 42) AS BLOB)",
            "CAST(x'ffffffff' || substr(" + column + ", 5) AS BLOB)",
            "CAST(" + column + " AS TEXT)"};
  return values;
}

TEST_F(Corruption, of_nothing_is_none) {
  const Seen seen = look("SELECT 1");
  EXPECT_EQ(seen.probe.code, SQLITE_OK);
  EXPECT_EQ(seen.found, kPresent);
  for (const Outcome* outcome : {&seen.insert, &seen.transaction, &seen.check, &seen.rebuild}) {
    EXPECT_EQ(outcome->code, SQLITE_OK) << outcome->message;
  }
}

TEST_F(Corruption, of_each_config_value_is_never_silent) {
  for (const char* key :
       {"format", "capacity", "fpr", "growth", "seed", "hash_bits", "page_bytes"}) {
    const std::string where = std::string(" WHERE key = '") + key + "'";
    for (const std::string& value :
         split("NULL, 5, -1, 0, 1.5, x'', 'garbage', '', 'off', 9223372036854775807,"
               " -9223372036854775808, 0.01, 1e300, randomblob(8), zeroblob(1000000), CAST(value AS"
               " TEXT), 63, 4000, 64, value + 1")) {
      const std::string damage = std::string("UPDATE f_config SET value = ") + value + where;
      {
        QuickDatabase db(damaged("SELECT 1"));
        if (db.text("SELECT value IS {} FROM f_config{}", value, where) == "1") {
          continue;
        }
      }
      expect_corrupt({damage}, {&Seen::probe, &Seen::insert});
    }
    expect_never_silent("DELETE FROM f_config" + where);
    expect_never_silent(std::string("UPDATE f_config SET key = 'x'") + where);
    expect_never_silent(std::string("UPDATE f_config SET key = CAST(key AS BLOB)") + where);
  }
}

std::string row(const std::string& which, const std::string& rows) {
  return "id = (SELECT " + which + " FROM f_data WHERE " + rows + ")";
}

// Every connection reads the root, the directory and the last row of the log, and a probe reads its
// page and what overflowed. Only 'check', and code that makes a segment anew, read its hashes.
TEST_F(Corruption, of_each_block_is_an_error_where_it_is_read) {
  const std::vector<Outcome Seen::*> at_once = {&Seen::probe, &Seen::insert, &Seen::check};
  const std::vector<Outcome Seen::*> by_probe = {&Seen::probe, &Seen::check};
  const std::vector<Outcome Seen::*> by_rebuild = {&Seen::check, &Seen::rebuild};
  for (const auto& [which, outcomes] : std::vector<std::pair<std::string, decltype(at_once)>>{
           {kRootRows, at_once},
           {kDirectoryRows, at_once},
           {row("min(id)", kPageRows), by_probe},
           {row("max(id)", kPageRows), by_probe},
           {kOverflowRows, by_probe},
           {row("min(id)", kRunRows), by_rebuild},
           {row("max(id)", kRunRows), by_rebuild}}) {
    const std::string where = " WHERE " + which;
    std::vector<std::string> damages = {
        "DELETE FROM f_data" + where, "UPDATE f_data SET id = id + 4000" + where,
        "UPDATE f_data SET id = -5" + where,
        "UPDATE f_data SET block = (SELECT block FROM other_data WHERE id = 0) " + where};
    for (const std::string& value : garbage("block")) {
      damages.push_back("UPDATE f_data SET block = " + value + where);
    }
    for (const std::string& damage : damages) {
      const Seen seen = expect_corrupt({damage}, outcomes);
      if (outcomes == by_rebuild) {
        EXPECT_EQ(seen.found, kPresent) << damage << seen.probe.message;
      }
    }
  }
}

TEST_F(Corruption, of_all_rows_or_of_the_log_is_never_silent) {
  for (const char* which : {"min(id)", "max(id)"}) {
    const std::string where = " WHERE " + row(which, kLogRows);
    for (const std::string& value : garbage("block")) {
      expect_never_silent("UPDATE f_data SET block = " + value + where);
    }
    expect_never_silent("DELETE FROM f_data" + where);
    expect_never_silent("UPDATE f_data SET id = id + 1000000" + where);
    for (const char* table : {"other", "small"}) {
      expect_never_silent(std::string("UPDATE f_data SET block = (SELECT block FROM ") + table +
                          "_data WHERE " + kLogRows + " LIMIT 1)" + where);
    }
  }
  for (const std::string all :
       {"DELETE FROM f_config", "DELETE FROM f_data", "UPDATE f_data SET block = NULL"}) {
    expect_never_silent(all);
    expect_never_silent(all + " WHERE " + (all.ends_with("config") ? "key <> 'format'" : kLogRows));
  }
}

// The last row is read by every connection: damage there is an error at the first probe.
TEST_F(Corruption, of_the_last_log_row_is_an_error_at_first_use) {
  const std::string where = " WHERE " + row("max(id)", kLogRows);
  for (const char* value : {"NULL", "x''", "'garbage'", "randomblob(500)", "zeroblob(500)"}) {
    const Seen seen =
        expect_corrupt({std::string("UPDATE f_data SET block = ") + value + where}, {&Seen::probe});
    EXPECT_NE(seen.probe.message.find("of the log"), std::string::npos) << seen.probe.message;
  }
  expect_corrupt({"DELETE FROM f_data" + where}, {&Seen::probe});
}

// Only changes and 'check' read the log rows that are folded already.
TEST_F(Corruption, of_the_kept_log_and_by_strays_and_swaps_is_found_by_check) {
  const std::string oldest = row("min(id)", kLogRows);
  std::vector<std::string> damages = {"DELETE FROM f_data WHERE " + oldest,
                                      "UPDATE f_data SET block = randomblob(300) WHERE " + oldest,
                                      "INSERT INTO f_data SELECT max(id) + 5, block FROM f_data",
                                      "INSERT INTO f_data SELECT -7, block FROM f_data LIMIT 1",
                                      "INSERT INTO f_data VALUES (9223372036854775807, x'00')",
                                      "INSERT INTO f_data VALUES (-9223372036854775808, NULL)",
                                      "INSERT INTO f_data VALUES (-1, zeroblob(10))"};
  for (const char* rows : {kPageRows, kRunRows, kOverflowRows}) {
    for (const char* away : {"1000", "16777216"}) {
      damages.push_back(sql("INSERT INTO f_data SELECT id + {}, block FROM f_data WHERE {}", away,
                            row("max(id)", rows)));
    }
  }
  for (const char* rows : {kLogRows, kPageRows}) {
    for (const char* order : {"id", "id DESC"}) {
      damages.push_back(
          sql("CREATE TABLE s AS SELECT id, block, row_number() OVER (ORDER BY {}) r FROM f_data"
              " WHERE {}; UPDATE f_data SET block = (SELECT b.block FROM s a, s b WHERE"
              " a.id = f_data.id AND b.r = CASE a.r WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE a.r END)"
              " WHERE {}; DROP TABLE s",
              order, rows, rows));
    }
  }
  expect_corrupt(damages, {&Seen::check});
}

// Where every page has a row, the first use of a missing page is an error. A probe finds that out
// without reading more than the page.
TEST_F(Corruption, of_a_missing_page_row_is_an_error_at_its_first_use) {
  const std::string probe =
      "SELECT count(*) FROM (" + numbers(1, kKeys + 900) + ") JOIN f ON key = i WHERE i <> 6";
  QuickDatabase good(file("good.db"));
  for (const Row& row :
       good.rows("SELECT id, id >> 24 FROM f_data WHERE " + std::string(kPageRows))) {
    QuickDatabase db(damaged("DELETE FROM f_data WHERE id = " + row[0]));
    db.refuses(probe, SQLITE_CORRUPT_VTAB,
               {"f: corrupt: page ", " of segment " + row[1], " is missing"});
    EXPECT_EQ(db.attempt(probe).code, SQLITE_CORRUPT_VTAB) << "the next time, too";
    db.refuses("SELECT filter_export('f')", SQLITE_CORRUPT_VTAB, {"segment"});
    db.refuses(sql("BEGIN; INSERT INTO f {}; COMMIT", numbers(10001, 19000)), SQLITE_CORRUPT_VTAB,
               {"f: corrupt: "});
    db.attempt("ROLLBACK");
  }
}

// The table may be of any kind, and the page may be in a sliding window's older generation.
TEST_F(Corruption, of_a_missing_page_row_is_an_error_for_every_kind) {
  for (const std::string module :
       {"cuckoo_filter(", "cuckoo_filter(growth = off, ", "cuckoo_filter(generations = 3, ",
        "bloom_filter(", "bloom_filter(layout = blocked, ", "bloom_filter(counting = on, ",
        "bloom_filter(generations = 2, ",
        "bloom_filter(key TEXT, hash = murmur2, growth = off, "}) {
    const std::string path = file("kind.db");
    std::filesystem::remove(path);
    {
      QuickDatabase db(path);
      db.run("CREATE VIRTUAL TABLE f USING {}seed = 1, capacity = 9000)", module);
      for (int i = 0; i < 2; ++i) {
        db.run("BEGIN; INSERT INTO f {}; COMMIT", numbers(9000 * i + 1, 9000 * i + 8000));
        if (module.find("generations") != std::string::npos) {
          db.run("INSERT INTO f(f) VALUES ('rotate')");
        } else {
          break;
        }
      }
      db.run("DELETE FROM f_data WHERE " + row("min(id)", kPageRows));
    }
    QuickDatabase db(path);
    db.refuses(sql("SELECT sum(filter_contains('f', i)) FROM ({})", numbers(1, 8000)),
               SQLITE_CORRUPT_VTAB, {"f: corrupt: page ", " is missing"});
  }
}

// Where some pages never had a row, a missing row is found when all pages are read.
TEST_F(Corruption, of_a_missing_page_row_among_few_is_found_when_all_are_read) {
  const std::string path = file("sparse.db");
  {
    QuickDatabase db(path);
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(seed = 1, capacity = 6e4); INSERT INTO f {};"
        " INSERT INTO f(f) VALUES ('rebuild')",
        numbers(1, 20));
    db.run("DELETE FROM f_data WHERE " + row("min(id)", kPageRows));
  }
  const std::vector<std::string> reads = {
      "INSERT INTO f(f) VALUES ('check')", "SELECT filter_export('f')",
      // No page of these keys has a row. So all pages are read.
      "SELECT sum(filter_contains('f', i)) FROM (" + numbers(1000, 1100) + ")"};
  for (const std::string& sql : reads) {
    QuickDatabase db(path);
    db.refuses(sql, SQLITE_CORRUPT_VTAB, {"f: corrupt: page ", " is missing"});
  }
}

// 'rebuild' repairs the table from its runs.
TEST_F(Corruption, of_a_missing_page_row_is_repaired_by_rebuild) {
  QuickDatabase db(damaged("DELETE FROM f_data WHERE " + row("min(id)", kPageRows)));
  db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT);
  db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f) VALUES ('check')");
  db.gives(sql("SELECT count(*) FROM ({}) JOIN f ON key = i WHERE i <> 6", numbers(1, kKeys + 900)),
           kPresent);
}

// Whatever row is damaged, or gone: these commands replace all that the filter holds.
TEST_F(Corruption, of_any_row_leaves_clear_import_and_rebuild_from_a_source) {
  const std::string path = file("any.db");
  for (const std::string module :
       {"cuckoo_filter(", "bloom_filter(growth = off, capacity = 9000, ",
        "cuckoo_filter(generations = 3, ", "cuckoo_filter(source = 'src(k)', triggers = on, "}) {
    const bool sourced = module.find("source") != std::string::npos;
    std::filesystem::remove(path);
    std::vector<Row> ids;
    {
      QuickDatabase db(path);
      db.run("CREATE TABLE src(k INTEGER); INSERT INTO src {}", numbers(1, 3000));
      db.run("CREATE VIRTUAL TABLE f USING {}seed = 1)", module);
      if (!sourced) {
        db.run("INSERT INTO f {}; CREATE TABLE saved AS SELECT filter_export('f') AS image",
               numbers(1, 3000));
      }
      ids = db.rows("SELECT id FROM f_data ORDER BY id DESC");
    }
    for (size_t i = 0; i < ids.size(); i += i < 3 || i + 4 > ids.size() ? 1 : 5) {
      for (const char* damage :
           {"UPDATE f_data SET block = zeroblob(length(block))", "DELETE FROM f_data"}) {
        SCOPED_TRACE(module + ": " + damage + " WHERE id = " + ids[i][0]);
        copy_over(path, file("bad.db"));
        QuickDatabase(file("bad.db")).run("{} WHERE id = {}", damage, ids[i][0]);
        QuickDatabase db(file("bad.db"));
        const Outcome before = db.attempt("SELECT filter_contains('f', 1)");
        if (sourced) {
          db.run("INSERT INTO f(f) VALUES ('rebuild')");
          EXPECT_EQ(present(db, 1, 3000, "f"), 3000);
        } else {
          db.run("BEGIN");
          EXPECT_NE(db.attempt("INSERT INTO f(f, key) VALUES ('import', x'00')").code, SQLITE_OK);
          EXPECT_EQ(db.attempt("SELECT filter_contains('f', 1)").code, before.code);
          db.run("INSERT INTO f(f) VALUES ('clear'); INSERT INTO f VALUES (7)");
          EXPECT_EQ(present(db, 1, 20, "f"), 1);
          db.run("ROLLBACK");
          EXPECT_EQ(db.attempt("SELECT filter_contains('f', 1)").code, before.code);
          db.run("INSERT INTO f(f, key) SELECT 'import', image FROM saved");
          EXPECT_EQ(present(db, 1, 3000, "f"), 3000);
        }
        check(db, "f");
        QuickDatabase other(file("bad.db"));
        EXPECT_EQ(present(other, 1, 3000, "f"), 3000);
        check(other, "f");
      }
    }
  }
}

TEST_F(Corruption, of_a_table_that_needs_no_overflow_is_found_by_check) {
  QuickDatabase db(
      damaged("INSERT INTO small_data SELECT (1 << 24) + 12582912, block FROM f_data LIMIT 1"));
  db.gives("SELECT count(*) FROM small WHERE key = 1", 1);
  db.refuses("INSERT INTO small(small) VALUES ('check')", SQLITE_CORRUPT, {"small: corrupt"});
}

TEST_F(Corruption, by_a_newer_format_says_so) {
  const Seen seen = look("UPDATE f_config SET value = 5 WHERE key = 'format'");
  EXPECT_NE(seen.probe.message.find("format 5"), std::string::npos) << seen.probe.message;
  // The error comes at first use, not at connect.
  QuickDatabase db(damaged("UPDATE f_config SET value = 99 WHERE key = 'format'"));
  db.gives("SELECT name FROM pragma_table_info('f')", "key");
}

TEST_F(Corruption, by_dropped_shadow_tables_says_so) {
  for (const char* suffix : {"config", "data"}) {
    const std::string table = std::string("f_") + suffix;
    Seen seen = look("DROP TABLE " + table);
    EXPECT_TRUE(seen.reported()) << table;
    EXPECT_NE(seen.check.code, SQLITE_OK) << table;
    EXPECT_NE(seen.check.message.find(table), std::string::npos) << seen.check.message;
    seen = look("DROP TABLE " + table + "; CREATE TABLE " + table + "(a, b, c)");
    EXPECT_NE(seen.check.code, SQLITE_OK) << table;
    seen = look("DROP TABLE " + table + "; CREATE TABLE " + table + "(id, key, block, value)");
    EXPECT_NE(seen.check.code, SQLITE_OK) << table;
  }
  look("DROP TABLE f_config; DROP TABLE f_data");
}

TEST_F(Corruption, by_dropped_shadow_tables_lets_it_be_renamed) {
  for (const char* table : {"f_data", "f_config"}) {
    QuickDatabase db(damaged(std::string("DROP TABLE ") + table));
    db.run("ALTER TABLE f RENAME TO g; DROP TABLE g");
    db.gives("SELECT count(*) FROM sqlite_schema WHERE name GLOB '[fg]_*'", 0);
  }
}

// Damage done under a connection that has the filter in memory.
TEST_F(Corruption, under_an_open_connection_is_reported_and_droppable) {
  for (const std::string& damage : std::vector<std::string>{
           "UPDATE f_data SET block = x'00' WHERE id = 0", "DELETE FROM f_config",
           "DELETE FROM f_data", std::string("DELETE FROM f_data WHERE ") + kLogRows,
           "UPDATE f_data SET block = x'00'", "DROP TABLE f_data",
           "UPDATE f_data SET block = randomblob(99) WHERE " + row("max(id)", kLogRows),
           "DROP TABLE f_config", "UPDATE f_config SET value = 5 WHERE key = 'seed'"}) {
    const std::string path = damaged("SELECT 1");
    QuickDatabase db(path);
    db.gives("SELECT count(*) FROM f WHERE key = 'tail'", 1);
    db.run("BEGIN; INSERT INTO f VALUES ('mine'); COMMIT");
    QuickDatabase other(path);
    other.run(damage);
    const Outcome probe = db.attempt("SELECT 1 FROM f WHERE key = 'tail'");
    const Outcome insert = db.attempt("INSERT INTO f VALUES ('more')");
    if (probe.code == SQLITE_OK && insert.code == SQLITE_OK) {
      EXPECT_EQ(db.list("SELECT key FROM f WHERE key IN ('tail', 'mine', 'more')"),
                "mine,more,tail")
          << damage;
    }
    if (db.attempt("INSERT INTO f(f) VALUES ('check')").code == SQLITE_OK) {
      QuickDatabase fresh(path);  // writing the row again has repaired it, for all
      EXPECT_EQ(fresh.list("SELECT key FROM f WHERE key IN ('tail', 'mine', 'more')"),
                "mine,more,tail")
          << damage;
      fresh.run("INSERT INTO f(f) VALUES ('check')");
    }
    db.attempt("BEGIN; INSERT INTO f VALUES ('again')");
    db.attempt("ROLLBACK");
    expect_neighbours_and_drop(path, damage);
    db.gives("SELECT count(*) FROM f WHERE key = 1", 1);  // the new one
  }
}

// After an error before the first shadow write, the transaction goes on with all that it did.
TEST_F(Corruption, found_by_a_statement_lets_the_transaction_go_on) {
  QuickDatabase db(damaged(std::string("UPDATE f_data SET block = x'00' WHERE ") + kPageRows));
  db.run("BEGIN; INSERT INTO other VALUES ('kept')");
  db.refuses("DELETE FROM f WHERE key = 1", SQLITE_CORRUPT);
  db.refuses("SELECT 1 FROM f WHERE key = 1", SQLITE_CORRUPT);
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.gives("COMMIT; SELECT count(*) FROM other WHERE key = 'kept'", 1);
}

}  // namespace
}  // namespace cuckoo::test::table_corruption_test
