// Prints, as JavaScript, from what a build is and the SQL of README.md; before it as a comment the
// licences.
// usage: about.js version commit sqlite3.h README.md licence …
"use strict";
const fs = require("fs");

const [version, commit, header, readme, ...licences] = process.argv.slice(2);
const sqlite = /#define SQLITE_VERSION +"(.*)"/.exec(fs.readFileSync(header, "utf8"))[1];

// A bold phrase says what the SQL behind it does.
const examples = [];
const text = fs.readFileSync(readme, "utf8");
for (const match of text.matchAll(/\*\*([^*]+)\*\*(?:(?!\*\*)[^])*?```sql\n([^]*?)```/g)) {
  examples.push({ title: match[1].replace(/\.$/, ""), sql: match[2] });
}
if (examples.length === 0) {
  throw new Error(`${readme}: no examples`);
}
const notices = licences.map((file) => fs.readFileSync(file, "utf8").replaceAll("*/", "* /"));
console.log(`/*\n${notices.join("\n")}*/`);
console.log(`var cuckooBuild = ${JSON.stringify({ version, commit, sqlite, examples })};`);
