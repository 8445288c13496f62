// Prints the answer to question.sql: ask.mjs node:sqlite|better-sqlite3|bun:sqlite setup.sql question.sql
import { readFileSync } from "node:fs";
import { getLoadablePath, load } from "sqlite-cuckoo";

const [, , driver, setup, question] = process.argv;

async function open() {
  switch (driver) {
    case "node:sqlite": {
      const { DatabaseSync } = await import("node:sqlite");
      return new DatabaseSync(":memory:", { allowExtension: true });
    }
    case "better-sqlite3": {
      const { default: Database } = await import("better-sqlite3");
      return new Database(":memory:");
    }
    case "bun:sqlite": {
      const { Database } = await import("bun:sqlite");
      return new Database(":memory:");
    }
    default:
      throw new Error(`${driver}?`);
  }
}

const db = await open();
load(db);
load(db); // a second time changes nothing
db.exec(readFileSync(setup, "utf8"));
console.log(db.prepare(readFileSync(question, "utf8")).get().answer);
db.close();
if (!/[/\\]cuckoo\.(so|dll)$/.test(getLoadablePath())) throw new Error(getLoadablePath());
