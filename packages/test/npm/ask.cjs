// As ask.mjs, from a CommonJS module: ask.cjs node:sqlite setup.sql question.sql
const { readFileSync } = require("node:fs");
const { DatabaseSync } = require("node:sqlite");
const { load } = require("sqlite-cuckoo");

const [, , , setup, question] = process.argv;
const db = new DatabaseSync(":memory:", { allowExtension: true });
load(db);
db.exec(readFileSync(setup, "utf8"));
console.log(db.prepare(readFileSync(question, "utf8")).get().answer);
