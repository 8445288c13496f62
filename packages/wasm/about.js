// Prints, as JavaScript, from what a build is, the SQL of README.md and of docs/recipes.md, and the
// scripts of sql/ that need no files; before it as a comment the licences.
// usage: about.js version commit sqlite3.h README.md recipes.md sql licence …
"use strict";
const fs = require("fs");
const path = require("path");

const [version, commit, header, readme, cookbook, folder, ...licences] = process.argv.slice(2);
const sqlite = /#define SQLITE_VERSION +"(.*)"/.exec(fs.readFileSync(header, "utf8"))[1];

// A bold phrase says what the SQL behind it does.
const examples = [];
const text = fs.readFileSync(readme, "utf8");
for (const match of text.matchAll(/\*\*([^*]+)\*\*(?:(?!\*\*)[^])*?```sql\n([^]*?)```/g)) {
  examples.push({ title: match[1].replace(/\.$/, ""), sql: match[2] });
}
// The first SQL of each recipe. A parameter, which is a matter of the shell, becomes its value; a
// recipe that goes on with another begins with that.
const withValues = (sql) => {
  const values = new Map();
  return sql.split("\n").flatMap((line) => {
    const [, name, value] = /^\.parameter set (:\w+) "(.*)"$/.exec(line) ??
      /^\.parameter set (:\w+) (.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      values.set(name, value);
    }
    return line.startsWith(".") ? [] :
      [line.replace(/:\w+/g, (word) => values.get(word) ?? word)];
  }).join("\n");
};
const recipes = [];
for (const section of fs.readFileSync(cookbook, "utf8").split(/^## /m).slice(1)) {
  const [, title] = /^(.*)\n/.exec(section);
  const [, sql] = /```sql\n([^]*?)```/.exec(section) ?? [];
  if (sql !== undefined) {
    const goesOn = /goes on with the tables of the one before/.test(section);
    recipes.push({ title, sql: `${goesOn ? `${recipes.at(-1).sql}\n` : ""}${withValues(sql)}` });
  }
}
// A line with a dot is a command of the sqlite3 shell: most of them say how it prints, and are left
// out. Files and other programs a page has not.
const scripts = fs.readdirSync(folder).filter((name) => name.endsWith(".sql")).sort()
  .map((name) => ({ title: name, sql: fs.readFileSync(path.join(folder, name), "utf8") }))
  .filter(({ sql }) => !/^\.(?!mode|timer)|\b(read|write)file\(/m.test(sql))
  .map(({ title, sql }) => ({
    title, sql: sql.replace(/^\..*\n/gm, "").replace(/^-- {3}sqlite3 .*\n/gm, ""),
  }));
if (examples.length === 0 || recipes.length === 0 || scripts.length === 0) {
  throw new Error(`${readme}, ${cookbook}, ${folder}: no examples`);
}
const notices = licences.map((file) => fs.readFileSync(file, "utf8").replaceAll("*/", "* /"));
console.log(`/*\n${notices.join("\n")}*/`);
const build = { version, commit, sqlite, examples, recipes, scripts };
console.log(`var cuckooBuild = ${JSON.stringify(build)};`);
