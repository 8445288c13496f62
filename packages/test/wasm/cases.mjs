// What the package has to do anywhere. node.mjs runs these in Node.js; browser.mjs in a page and in
// a worker.

function shown(value) {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return `${part}n`;
    if (part instanceof Uint8Array) return `bytes ${[...part]}`;
    return part;
  });
}

function equal(found, expected, what = "") {
  if (shown(found) !== shown(expected)) {
    throw new Error(`${what}: ${shown(found)}, expected ${shown(expected)}`);
  }
}

function refuses(action, pattern, what = "") {
  try {
    action();
  } catch (error) {
    if (!(error instanceof Error) || !pattern.test(error.message)) {
      throw new Error(`${what}: ${error}, expected ${pattern}`);
    }
    return error;
  }
  throw new Error(`${what}: nothing was thrown, expected ${pattern}`);
}

// Of one row and one column.
const value = (db, sql, values, config) => db.exec(sql, values, config)[0].values[0][0];

const filter = `
  CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT, capacity = 1000, seed = 7);
  INSERT INTO seen SELECT 'user' || value FROM generate_numbers`;
const numbers = (count) => `CREATE TEMP TABLE generate_numbers AS WITH RECURSIVE n(value) AS
  (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < ${count}) SELECT value FROM n;`;

export const cases = {
  runs_several_statements(SQL) {
    const db = new SQL.Database();
    equal(db.run("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y')") === db, true);
    equal(db.getRowsModified(), 2);
    equal(db.exec("SELECT a FROM t; SELECT 1 WHERE 0; -- none\n SELECT b, a FROM t WHERE a = 2;"), [
      { columns: ["a"], values: [[1], [2]] },
      { columns: ["b", "a"], values: [["y", 2]] },
    ]);
    equal(db.exec(" ; -- nothing"), []);
    db.run("INSERT INTO t VALUES ($a, :b)", { $a: 3, ":b": "z", "@no": 1 });
    db.run("UPDATE t SET b = ? WHERE a = ?", ["w", 3]);
    equal(value(db, "SELECT b FROM t WHERE a = ?", [3]), "w");
    const rows = [];
    let done = 0;
    db.each("SELECT a, b FROM t WHERE a >= $from ORDER BY a", { $from: 2 }, (row) => rows.push(row),
      () => { done += 1; });
    db.each("SELECT count(*) AS n FROM t", (row) => rows.push(row));
    equal([rows, done], [[{ a: 2, b: "y" }, { a: 3, b: "w" }, { n: 3 }], 1]);
    db.close();
    db.close();
    refuses(() => db.exec("SELECT 1"), /^Database closed$/);
  },

  statements_are_bound_stepped_and_freed(SQL) {
    const db = new SQL.Database();
    db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)");
    const insert = db.prepare("INSERT INTO t(name) VALUES (?) RETURNING id");
    insert.run(["a"]);
    insert.run(["b"]);
    equal(insert.get(["c"]), [3]);
    equal(insert.free(), true);
    equal(insert.free(), true);
    refuses(() => insert.step(), /^Statement closed$/);
    const sql = "SELECT id, name, id * 1.5 AS \"__proto__\" FROM t WHERE id >= ?";
    const select = db.prepare(sql, [2]);
    equal(select instanceof SQL.Statement, true);
    equal(select.get(), []);
    equal([select.step(), select.get(), select.getText(2), select.step(), select.step()],
      [true, [2, "b", 3], "3.0", true, false]);
    equal(select.getColumnNames(), ["id", "name", "__proto__"]);
    equal(Object.entries(select.getAsObject([3])), [["id", 3], ["name", "c"], ["__proto__", 4.5]]);
    equal(select.reset(), true);
    equal(select.step(), false, "reset() forgets the values");
    equal(select.getSQL(), sql);
    refuses(() => db.prepare("-- nothing"), /^Nothing to prepare$/);
    refuses(() => db.prepare("SELECT ?", [1, 2]), /column index out of range/);
    refuses(() => select.bind(7), /takes an array or an object, not 7/);
    db.close();  // with a statement that is open
    refuses(() => select.step(), /^Statement closed$/);
  },

  values_come_back_as_they_went(SQL) {
    const db = new SQL.Database();
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    for (const [put, type, got = put] of [
      [0, "integer"], [-1, "integer"], [2 ** 31, "integer"], [-(2 ** 40) - 1, "integer"],
      [2 ** 53 - 1, "integer"], [-(2 ** 53) + 1, "integer"], [2 ** 53, "real"],
      [2n ** 63n - 1n, "integer"], [-(2n ** 63n), "integer"], [42n, "integer", 42],
      [9007199254740993n, "integer"], [0.1, "real"], [1e300, "real"], [-5.5, "real"],
      ["", "text"], ["naïve 😀", "text"], ["a\0b", "text"], ["\uFEFFx", "text"],
      [bytes, "blob"], [new Uint8Array(0), "blob"], [bytes.buffer, "blob", bytes],
      [new Uint16Array(bytes.buffer, 2, 1), "blob", Uint8Array.of(2, 3)],
      [[7, 8], "blob", Uint8Array.of(7, 8)], [true, "integer", 1], [null, "null"],
    ]) {
      equal(db.exec("SELECT typeof(?1), ?1", [put])[0].values[0], [type, got], shown(put));
    }
    equal(value(db, "SELECT 42", null, { useBigInt: true }), 42n);
    equal(db.prepare("SELECT 1, 1.0").getAsObject([], { useBigInt: true }), { 1: 1n, "1.0": 1 });
    refuses(() => db.run("SELECT ?", [2n ** 63n]), /parameter 1: 9223372036854775808 does not fit/);
    refuses(() => db.run("SELECT ?", [undefined]), /parameter 1: SQLite has no type for undefined/);
    refuses(() => db.run("SELECT ?", [new Date(0)]), /parameter 1: SQLite has no type for Date/);
    const large = "x".repeat(20_000_000);  // memory grows while values are in it
    equal(db.exec("SELECT length(?), ?", [large, large])[0].values[0][1] === large, true);
    db.close();
  },

  errors_are_sqlites(SQL) {
    const db = new SQL.Database();
    db.run("CREATE TABLE t(a UNIQUE)");
    const error = refuses(() => db.run("INSERT INTO t VALUES (1), (1)"),
      /^UNIQUE constraint failed: t.a$/);
    equal([error instanceof SQL.SqliteError, error.name, error.code], [true, "SqliteError", 2067]);
    refuses(() => db.exec("SELECT * FROM nowhere"), /^no such table: nowhere$/);
    refuses(() => db.exec("SELECT 1\0; DROP TABLE t"), /^SQL has a NUL character$/);
    refuses(() => db.exec(7), /SQL is to be a string, not 7/);
    refuses(() => db.exec("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 7)"), /f: .*fpr/);
    const all = db.iterateStatements("INSERT INTO t VALUES (2); SELEC 1; INSERT INTO t VALUES (3)");
    refuses(() => { for (const statement of all) statement.run(); }, /syntax error/);
    equal(all.getRemainingSQL(), " SELEC 1; INSERT INTO t VALUES (3)");
    equal(value(db, "SELECT group_concat(a) FROM t"), "2");
    for (const statement of db.iterateStatements("SELECT 1; SELECT 2")) {
      equal(statement.getAsObject({}), { 1: 1 });
      break;
    }
    refuses(() => new SQL.Database(Uint8Array.from({ length: 4096 }, (_, i) => i % 251)),
      /file is not a database/);
    refuses(() => new SQL.Database("my.db"), /made of bytes, not of my.db/);
    db.close();
  },

  functions_in_javascript(SQL) {
    const db = new SQL.Database();
    equal(db.create_function("twice", (x) => x + x) === db, true);
    equal(db.exec("SELECT twice(21), twice('ab'), twice(0.25)")[0].values[0], [42, "abab", 0.5]);
    db.create_function("echo", (x) => x);
    for (const each of [null, 7, 2 ** 40, 2n ** 62n, 1.5, "é\0", Uint8Array.of(1, 0, 2)]) {
      equal(value(db, "SELECT echo(?)", [each]), each);
    }
    db.create_function("void", () => {});
    equal(db.exec("SELECT void(), typeof(void())")[0].values[0], [null, "null"]);
    db.create_function("fails", () => { throw new Error("no, nö"); });
    refuses(() => db.exec("SELECT fails()"), /^no, nö$/);
    db.create_function("odd", () => new Date(0));
    refuses(() => db.exec("SELECT odd()"), /a function's result: SQLite has no type for Date/);
    db.create_function("twice", (x) => `anew ${x}`);
    equal(value(db, "SELECT twice(1)"), "anew 1");
    refuses(() => db.exec("SELECT twice(1, 2)"), /wrong number of arguments/);
    db.create_function("ask", (sql) => value(db, sql));  // SQL in a function of SQL
    equal(value(db, "SELECT ask('SELECT twice(2)')"), "anew 2");
    let self = null;
    db.create_function("again", () => self.free());
    self = db.prepare("SELECT again()");
    refuses(() => self.step(), /this statement runs/);
    db.create_function("end_all", () => db.close());
    refuses(() => db.exec("SELECT end_all()"), /this statement runs/);

    db.create_aggregate("joined", {
      init: () => [],
      step: (state, text) => [...state, text],
      finalize: (state) => state.join("+"),
    });
    db.run("CREATE TABLE t(g, v); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (1, 'c')");
    equal(db.exec("SELECT g, joined(v) FROM t GROUP BY g ORDER BY g")[0].values,
      [[1, "a+c"], [2, "b"]]);
    for (let i = 0; i < 20; ++i) {
      equal(value(db, "SELECT joined(v) FROM t"), "a+b+c", "a state is of one query");
    }
    equal(value(db, "SELECT joined(v) FROM t WHERE 0"), "");
    equal(value(db, "SELECT (SELECT joined(v) FROM t) || joined(g) FROM t"), "a+b+c1+2+1");
    db.create_aggregate("total_of", { step: (state, x) => (state ?? 0) + x });
    equal(value(db, "SELECT total_of(g) FROM t"), 4);
    db.create_aggregate("breaks", { step: () => { throw new Error("broken"); } });
    refuses(() => db.exec("SELECT breaks(g) FROM t"), /^broken$/);
    refuses(() => db.create_aggregate("none", {}), /no function step/);
    db.close();
  },

  databases_are_exported_and_opened(SQL) {
    const db = new SQL.Database();
    equal(new SQL.Database(db.export()).exec("PRAGMA integrity_check; SELECT * FROM sqlite_schema"),
      [{ columns: ["integrity_check"], values: [["ok"]] }], "nothing was written");
    db.run(numbers(500));
    db.run(filter);
    const statement = db.prepare("SELECT filter_contains('seen', ?)");
    db.create_function("one", () => 1);
    db.run("BEGIN; INSERT INTO seen VALUES ('late')");
    refuses(() => db.export(), /within a transaction/);
    db.run("ROLLBACK");
    const bytes = db.export();
    equal(new TextDecoder().decode(bytes.slice(0, 15)), "SQLite format 3");
    equal([statement.get(["user7"]), value(db, "SELECT one()")], [[1], 1], "they stay");
    equal(value(db, "SELECT count(*) FROM generate_numbers"), 500, "temporary tables stay");

    const image = value(db, "SELECT sha1(filter_export('seen'))");
    const copy = new SQL.Database(bytes);
    equal(value(copy, "SELECT sha1(filter_export('seen'))"), image);
    copy.run("BEGIN; INSERT INTO seen VALUES ('gone'); ROLLBACK; INSERT INTO seen VALUES ('kept')");
    copy.run("SAVEPOINT s; INSERT INTO seen VALUES ('undone'); ROLLBACK TO s; RELEASE s");
    copy.run("CREATE TABLE grows(x); INSERT INTO grows VALUES (zeroblob(3000000)); VACUUM");
    equal(["gone", "kept", "undone", "user500"].map((email) =>
      value(copy, "SELECT filter_contains('seen', ?)", [email])), [0, 1, 0, 1]);
    equal(copy.exec("SELECT cuckoo_check('seen'); PRAGMA integrity_check").map(
      (result) => result.values), [[["ok"]], [["ok"]]]);
    equal(value(db, "SELECT sha1(filter_export('seen'))"), image, "a copy is a copy");
    const third = new SQL.Database(copy.export());
    equal(value(third, "SELECT filter_contains('seen', 'kept')"), 1);

    const wal = bytes.slice();
    wal.fill(2, 18, 20);
    equal(value(new SQL.Database(wal), "SELECT filter_contains('seen', 'user7')"), 1, "WAL");
    equal([wal[18], wal[19]], [2, 2], "what is opened stays");

    const file = new SQL.Database(null, { filename: "/a.db" });
    file.run("CREATE TABLE t(a); INSERT INTO t VALUES (5)");
    equal(value(new SQL.Database(file.export()), "SELECT a FROM t"), 5);
    equal(value(new SQL.Database(SQL.module.FS.readFile("/a.db")), "SELECT a FROM t"), 5);
    refuses(() => new SQL.Database(bytes, { filename: "/b.db" }), /not of both/);
    for (const each of [db, copy, third, file]) {
      each.close();
    }
    SQL.module.FS.unlink("/a.db");
  },

  all_four_tables_are_there(SQL, { setup, question, answer }) {
    const db = new SQL.Database();
    db.run(setup);
    equal(value(db, question), answer);
    db.run("CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('to be or not')");
    db.run("CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1); INSERT INTO boxes VALUES (7, 1, 2)");
    equal(db.exec(`SELECT (SELECT text FROM words('be')) || pow(2, 3), id FROM boxes
      WHERE x0 < 1.5 AND x1 > 1.5`)[0].values, [["to be or not8.0", 7]]);
    db.close();
  },

  // 150 MB of whatever is not given back each time are more than the memory has room for.
  memory_is_given_back(SQL) {
    const megabyte = 1_000_000;
    const use = () => {
      const db = new SQL.Database();
      db.run("CREATE TABLE t(a)");
      db.run("INSERT INTO t VALUES (?)", [new Uint8Array(megabyte)]);
      db.create_function("f", (x) => x);
      db.prepare("SELECT f(?)").get(["x".repeat(megabyte)]);
      refuses(() => db.run(`SELECT '${"y".repeat(megabyte)}'; SELEC`), /syntax error/);
      db.iterateStatements(`SELECT '${"z".repeat(megabyte)}'; SELECT 1`).next();
      const copy = new SQL.Database(db.export());
      equal(value(copy, "SELECT length(a) FROM t"), megabyte);
      copy.close();
      db.close();
    };
    for (let i = 0; i < 10; ++i) {
      use();
    }
    const size = SQL.module.HEAPU8.length;
    for (let i = 0; i < 150; ++i) {
      use();
    }
    equal(SQL.module.HEAPU8.length, size);
  },
};

export async function runAll(SQL, known) {
  for (const [name, test] of Object.entries(cases)) {
    try {
      await test(SQL, known);
    } catch (error) {
      error.message = `${name}: ${error.message}`;
      throw error;
    }
  }
  return Object.keys(cases).length;
}

// IndexedDB or OPFS: files are saved, come back after a reload, are replaced and removed.
export async function save(SQL, storage) {
  const db = new SQL.Database();
  db.run(numbers(300));
  db.run(filter);
  equal(await storage.load("a/b ö.db"), null);
  await storage.save("a/b ö.db", db);
  db.run("INSERT INTO seen VALUES ('later')");
  const stored = new SQL.Database(await storage.load("a/b ö.db"));
  equal(value(stored, "SELECT filter_contains('seen', 'later')"), 0, "stored without save()");
  await storage.save("a/b ö.db", db);
  await storage.save("..", new Uint8Array(0));
  await storage.save("short", Uint8Array.of(1, 2, 3));
  await storage.save("short", Uint8Array.of(9));
  equal(await storage.load("short"), Uint8Array.of(9));
  equal(await storage.names(), ["..", "a/b ö.db", "short"]);
  await storage.remove("short");
  await storage.remove("short");
  equal(await storage.names(), ["..", "a/b ö.db"]);
  for (const name of ["", undefined]) {
    let said = "nothing";
    await storage.save(name, db).catch((error) => { said = error.message; });
    equal(said, "a database is stored under a name");
  }
  return value(db, "SELECT sha1(filter_export('seen'))");
}

export async function reopen(SQL, storage) {
  const db = new SQL.Database(await storage.load("a/b ö.db"));
  equal(db.exec("SELECT filter_contains('seen', 'later'), cuckoo_check('seen')")[0].values,
    [[1, "ok"]]);
  return value(db, "SELECT sha1(filter_export('seen'))");
}
