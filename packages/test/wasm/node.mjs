// The installed package in Node.js: node.mjs setup.sql question.sql answer from.db to.db
//
// from.db was made by the extension elsewhere; to.db is written here, for it. Prints
// sha1(filter_export()) of each.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import initSqliteCuckoo from "sqlite-cuckoo-wasm";
import { runAll } from "./cases.mjs";

const [, , setup, question, answer, from, to] = process.argv;
const known = {
  setup: readFileSync(setup, "utf8"),
  question: readFileSync(question, "utf8"),
  answer,
};
const required = createRequire(import.meta.url)("sqlite-cuckoo-wasm");
const wasm = createRequire(import.meta.url).resolve("sqlite-cuckoo-wasm/sqlite-cuckoo.wasm");
await runAll(await initSqliteCuckoo(), known);
await runAll(await required({ locateFile: () => wasm }), known);
await required();

const SQL = await initSqliteCuckoo({ wasmBinary: readFileSync(wasm) });
for (const [storage, said] of [[SQL.indexedDb, "no IndexedDB"], [SQL.opfs, "no OPFS"]]) {
  const error = await storage.load("my.db").catch((refused) => refused);
  if (!error?.message.includes(said)) throw new Error(`${error}, expected ${said}`);
}

const image = (db) => db.exec("SELECT sha1(filter_export('seen'))")[0].values[0][0];
const there = new SQL.Database(readFileSync(from));
console.log(image(there));
const here = new SQL.Database();
here.run(known.setup);
here.run("INSERT INTO seen VALUES ('grace@example.org')");
writeFileSync(to, here.export());
console.log(image(here));
