// Only compiled: the types fit the drivers' own.
import { DatabaseSync } from "node:sqlite";
import BetterSqlite3 from "better-sqlite3";
import { getLoadablePath, load, type Database } from "sqlite-cuckoo";

load(new DatabaseSync(":memory:", { allowExtension: true }));
load(new BetterSqlite3(":memory:"));
const path: string = getLoadablePath();
const own: Database = { loadExtension: (file: string) => file + path };
load(own);
// @ts-expect-error: not a connection
load({});
