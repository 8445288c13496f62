// Tests of the SQL view. See ../test.js
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const { readme, root } = require("./page.js");

module.exports = {
  async examples_give_what_the_readme_says({ page }) {
    const blocks = [...readme.matchAll(/```sql\n[^]*?```\n```text\n([^]*?)\n```/g)].map(
      ([, text]) => text,
    );
    const options = await page.page.$$eval('#sql-example [label="README.md"] option', (all) =>
      all.map((option) => option.value),
    );
    assert.equal(options.length, blocks.length);
    for (const [i, value] of options.entries()) {
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      const rows = await page.page.$$eval("#sql-results tbody tr", (all) =>
        all.map((row) => [...row.cells].map((cell) => cell.innerText).join("|")),
      );
      assert.equal(rows.join("\n"), blocks[i]);
    }
  },

  async recipes_give_what_their_page_says({ page }) {
    const text = fs.readFileSync(path.join(root, "docs/recipes.md"), "utf8");
    const recipes = text
      .split(/^## /m)
      .slice(1)
      .filter((section) => section.includes("```sql"));
    const options = await page.page.$$eval('#sql-example [label="Recipes"] option', (all) =>
      all.map((option) => [option.value, option.innerText]),
    );
    assert.deepEqual(
      options.map(([, title]) => title),
      recipes.map((section) => section.slice(0, section.indexOf("\n"))),
    );
    let before = [];
    for (const [i, [value, title]] of options.entries()) {
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      assert.match(await page.text("#sql-said"), /^Done in/, title);
      const rows = await page.page.$$eval("#sql-results tbody tr", (all) =>
        all.map((row) => [...row.cells].map((cell) => cell.innerText).join("|")),
      );
      const own = /```text\n([^]*?)\n```/.exec(recipes[i])[1].split("\n");
      const goesOn = /goes on with the tables of the one before/.test(recipes[i]);
      assert.deepEqual(rows, goesOn ? [...before, ...own] : own, title);
      before = own;
    }
  },

  async tables_are_listed_beside_the_editor({ page }) {
    const listed = () =>
      page.page.$$eval("#sql-tables > details", (all) =>
        all.map((one) => [
          one.querySelector("summary").textContent,
          [...one.querySelectorAll("li")].map((column) => column.textContent),
        ]),
      );
    const run = async (sql) => {
      await page.set("#sql-text", sql);
      await page.click('#sql-form [type="submit"]');
    };
    await page.click("#sql-new");
    assert.deepEqual(await listed(), []);
    assert.equal(await page.text("#sql-tables"), "none yet");
    await run(`CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT);
      CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT);
      CREATE TEMP TABLE "a b"(x); CREATE VIEW v AS SELECT * FROM users`);
    const lists = await listed();
    assert.deepEqual(
      lists.slice(0, 4),
      [
        ["seen cuckoo_filter", ["email TEXT"]],
        ["users table", ["id INTEGER", "email TEXT"]],
        ["v view", ["id INTEGER", "email TEXT"]],
        ["temp.a b table", ["x"]],
      ].map(([name, columns]) => [name, columns]),
    );
    assert.match(lists[4][0], /^\d+ shadow tables/);
    assert(lists[4][1].includes("seen_data"), lists[4][1]);
    await run("DROP TABLE users; DROP TABLE seen");
    assert.deepEqual(
      (await listed()).map(([name]) => name),
      ["v view", "temp.a b table"],
    );
    await page.click("#sql-new");
    assert.deepEqual(await listed(), []);
  },

  async scripts_give_what_their_files_say({ page }) {
    const scripts = await page.page.$$eval('#sql-example [label="sql/"] option', (all) =>
      all.map((option) => [option.value, option.innerText]),
    );
    const folder = path.join(root, "sql");
    const missing = fs
      .readdirSync(folder)
      .filter((name) => name.endsWith(".sql"))
      .filter((name) => !scripts.some(([, title]) => title === name));
    assert.deepEqual(missing, [
      "04_spelling.sql",
      "10_legacy_bloom_file.sql",
      "13_content_addressed_chunks.sql",
    ]);
    const short = (text) => text.replace(/\s+/g, " ").trim();
    for (const [value, title] of scripts) {
      // Its tables, each a list of lines; plans are drawn in another way there.
      const expected = fs
        .readFileSync(path.join(folder, title.replace(".sql", ".expected")), "utf8")
        .split("\n")
        .filter((line) => line.startsWith("| "))
        .map((line) => line.slice(2, -2).split(" | ").map(short).join("|"));
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      assert.match(await page.text("#sql-said"), /^Done in/, title);
      const rows = await page.page.$$eval("#sql-results table", (tables) =>
        tables.map((table) =>
          [...table.rows].map((row) =>
            [...row.cells].map((cell) => (cell.className === "null" ? "" : cell.innerText)),
          ),
        ),
      );
      const shown = rows
        .filter((table) => table[0].join() !== "id,parent,notused,detail")
        .flat()
        .map((row) => row.map(short).join("|"));
      assert.deepEqual(
        shown,
        expected.filter((line) => line !== ""),
        title,
      );
    }
  },

  async errors_and_odd_values_are_shown({ page }) {
    await page.click("#sql-new");
    const run = async (sql) => {
      await page.set("#sql-text", sql);
      await page.page.focus("#sql-text");
      await page.page.keyboard.down("Control");
      await page.page.keyboard.press("Enter");
      await page.page.keyboard.up("Control");
      return `${await page.text("#sql-results")}\n${await page.text("#sql-said")}`;
    };
    assert.match(
      await run("SELECT 1; SELECT * FROM nowhere; SELECT 2"),
      /1\s+1 row\s+Statement 2, line 1: no such table: nowhere$/,
    );
    const lines = "-- one\n;\nSELECT 1;\n\n/* two\n   ; */ SELECT 2; -- ;\nSELECT 'a\nb',\n absent";
    assert.match(await run(lines), /Statement 3, line 7: no such column: absent$/);
    assert.match(
      await run("SELECT 1;\nSELECT 'naïve 😀';\n\nSELECT json('{')"),
      /Statement 3, line 4: malformed JSON$/,
    );
    assert.match(await run("SELECT 1;\nSELECT FROM"), /Statement 2, line 2: .*syntax error$/);
    assert.match(await run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 7)"), /fpr/);
    assert.match(
      await run("SELECT NULL, x'00ff', 9223372036854775807, 0.5, 1.0, 'naïve 😀', ''"),
      /NULL\s+x'00ff', 2 bytes\s+9223372036854775807\s+0\.5\s+1\.0\s+naïve 😀/,
    );
    assert.match(await run("SELECT hex(zeroblob(5000))"), /…, 10000 characters/);
    assert.match(await run("SELECT 1\0; SELECT 2"), /NUL/);
    assert.match(await run("SELECT length(hex(zeroblob(900000000)))"), /out of memory|too big/);
    assert.match(await run("-- nothing\n;;"), /Done in/);
    assert.match(
      await run(
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      ),
      /The first 500 rows/,
    );
    const endless = await page.page.evaluate(() => {
      try {
        sqlView.database.run(
          "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n",
          [],
          { milliseconds: 200 },
        );
        return "ended";
      } catch (error) {
        return error.message;
      }
    });
    assert.equal(endless, "interrupted");
  },
};
