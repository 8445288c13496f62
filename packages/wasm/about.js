// Prints, as JavaScript, from what a build is, the SQL of README.md, and the scripts of sql/ that need
// no files; before it as a comment the licences.
// usage: about.js version commit sqlite3.h README.md sql licence …
"use strict";
const fs = require("fs");
const path = require("path");

const [version, commit, header, readme, folder, ...licences] = process.argv.slice(2);
const sqlite = /#define SQLITE_VERSION +"(.*)"/.exec(fs.readFileSync(header, "utf8"))[1];

// A bold phrase says what the SQL behind it does.
const examples = [];
const text = fs.readFileSync(readme, "utf8");
for (const match of text.matchAll(/\*\*([^*]+)\*\*(?:(?!\*\*)[^])*?```sql\n([^]*?)```/g)) {
  examples.push({ title: match[1].replace(/\.$/, ""), sql: match[2] });
}
// A line with a dot is a command of the sqlite3 shell: most of them say how it prints, and are left
// out. Files and other programs a page has not.
const scripts = fs.readdirSync(folder).filter((name) => name.endsWith(".sql")).sort()
  .map((name) => ({ title: name, sql: fs.readFileSync(path.join(folder, name), "utf8") }))
  .filter(({ sql }) => !/^\.(?!mode|timer)|\b(read|write)file\(/m.test(sql))
  .map(({ title, sql }) => ({
    title, sql: sql.replace(/^\..*\n/gm, "").replace(/^-- {3}sqlite3 .*\n/gm, ""),
  }));
if (examples.length === 0 || scripts.length === 0) {
  throw new Error(`${readme}, ${folder}: no examples`);
}
const notices = licences.map((file) => fs.readFileSync(file, "utf8").replaceAll("*/", "* /"));
console.log(`/*\n${notices.join("\n")}*/`);
console.log(`var cuckooBuild = ${JSON.stringify({ version, commit, sqlite, examples, scripts })};`);
