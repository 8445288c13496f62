// Only compiled.
import initSqliteCuckoo, { type Database, type SqlValue } from "sqlite-cuckoo-wasm";

const SQL = await initSqliteCuckoo({ locateFile: (file) => `/assets/${file}` });
const db: Database = new SQL.Database();
db.run("INSERT INTO t VALUES (?, ?)", [1n, new Uint8Array(2)]).run("SELECT 1");
const rows: SqlValue[][] = db.exec("SELECT 1", { ":a": true }, { useBigInt: true })[0]!.values;
const statement = db.prepare("SELECT ?", [rows.length]);
if (statement.step()) {
  const { name } = statement.getAsObject();
  const text: string | null = statement.getText(0);
  console.log(name, text, statement.get([null]), statement instanceof SQL.Statement);
}
db.create_function("twice", (x: number) => 2 * x);
db.create_aggregate<number>("total", { init: () => 0, step: (sum, x: number) => sum + x });
for (const each of db.iterateStatements("SELECT 1; SELECT 2")) each.run();
await SQL.opfs.save("my.db", db);
const bytes: Uint8Array | null = await SQL.indexedDb.load("my.db");
const again = new SQL.Database(bytes);
try {
  again.each("SELECT 1 AS one", (row) => console.log(row["one"]));
} catch (error) {
  if (error instanceof SQL.SqliteError) console.log(error.code);
}
// @ts-expect-error: not bytes
new SQL.Database("my.db");
// @ts-expect-error: SQLite has no type for a date
db.run("SELECT ?", [new Date()]);
