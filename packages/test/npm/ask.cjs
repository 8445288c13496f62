// As ask.mjs, from a CommonJS module: ask.cjs node:sqlite setup.sql question.sql
const assert = require("node:assert");
const { readFileSync } = require("node:fs");
const { DatabaseSync } = require("node:sqlite");
const { load } = require("sqlite-cuckoo");

const [, , , setup, question] = process.argv;
const db = new DatabaseSync(":memory:", { allowExtension: true });
for (const other of [null, undefined, {}, "my.db"]) {
  assert.throws(() => load(other), { name: "TypeError", message: /takes a connection of/ });
}
load(db);
db.exec(readFileSync(setup, "utf8"));
console.log(db.prepare(readFileSync(question, "utf8")).get().answer);
