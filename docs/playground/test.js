// The page's tests, in Chromium. usage: test.js node_modules [--pictures]; see test.sh
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [modules, option] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, "puppeteer-core"));
const here = __dirname;
const readme = fs.readFileSync(path.join(here, "../../README.md"), "utf8");

const kFirstView = 1000;  // milliseconds from the start of loading
const views = ["filter", "flash", "ring", "sql"];

// --- the page as a person sees it

class Page {
  constructor(page) {
    this.page = page;
    this.complaints = [];
    page.on("console", (message) => this.complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!/^(file|data):/.test(request.url())) {
        this.complaints.push(`network: ${request.url()}`);
      }
    });
  }

  async load(view = "") {
    await this.page.goto(`${pathToFileURL(path.join(here, "index.html"))}${view && `#${view}`}`);
    await this.page.waitForSelector("body[data-ready]", { timeout: 20000 });
  }

  click(selector) {
    return this.page.click(selector);
  }
  text(selector) {
    return this.page.$eval(selector, (element) => (element.innerText ?? element.textContent).trim());
  }
  // A table's body: the heading of each row -> its other cells.
  async figures(selector) {
    const rows = await this.page.$$eval(`${selector} tbody tr`, (all) =>
      all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
    return Object.fromEntries(rows.map(([name, ...cells]) => [name, cells]));
  }
  async write(selector, text) {
    await this.page.$eval(selector, (element) => {
      element.value = "";
    });
    await this.page.type(selector, text);
  }
  async set(selector, value) {
    await this.page.$eval(
      selector,
      (element, wanted) => {
        element.value = wanted;
        element.dispatchEvent(new Event("input", { bubbles: true }));
        element.dispatchEvent(new Event("change", { bubbles: true }));
      },
      String(value),
    );
  }
  // What SQL answers in a database of its own, which the page's views know nothing of: the rows of
  // the last statement.
  sql(text) {
    return this.page.evaluate((sql) => {
      const database = new Database();
      try {
        return database.run(sql).at(-1).rows;
      } finally {
        database.close();
      }
    }, text);
  }
}

const count = (text) => Number(text.replaceAll(",", "").replace(/ (bytes|KB|%)$/, ""));

// --- tests

const tests = {
  async shows_something_at_once({ page }) {
    const times = [];
    for (let i = 0; i < 3; ++i) {
      await page.load();
      times.push(await page.page.$eval("body", (body) => Number(body.dataset.ready)));
    }
    console.log(`  first view after ${times.join(", ")} ms`);
    assert(Math.min(...times) < kFirstView, `first view after ${times} ms`);
  },

  async says_what_it_was_built_from({ page }) {
    const about = await page.text("#about");
    assert(about.includes(process.env.PLAYGROUND_COMMIT), about);
    assert.match(about, /SQLite 3\.\d+\.\d+/);
  },

  // --- filter

  async filter_figures_are_those_of_tables({ page }) {
    for (const [words, rate] of [[40, 0.03], [700, 0.03], [1000, 0.001], [1000, 0.25]]) {
      await page.set("#filter-capacity", 1000);
      await page.set("#filter-rate", rate);
      await page.set("#filter-count", words);
      const shown = await page.figures("#filter-figures");
      const table = (kind) => `CREATE TABLE numbers AS WITH RECURSIVE n(value) AS
          (VALUES (0) UNION ALL SELECT value + 1 FROM n WHERE value < 19999) SELECT value FROM n;
        CREATE VIRTUAL TABLE ${kind} USING ${kind}_filter(word TEXT, capacity = 1000, fpr = ${rate}, seed = 1);
        INSERT INTO ${kind} SELECT 'word ' || value FROM numbers WHERE value BETWEEN 1 AND ${words};`;
      for (const [column, kind] of ["cuckoo", "bloom"].entries()) {
        const [[items, capacity, fpr]] = await page.sql(
          `${table(kind)} SELECT items, capacity, fpr FROM filter_info('${kind}')`);
        // An image has all that the table holds in its cells, as the view's filters have.
        const [[load, now, wrong]] = await page.sql(
          `${table(kind)} CREATE TABLE image AS SELECT filter_export('${kind}') AS bytes;
           SELECT load_factor, fpr_now, (SELECT count(*) FROM numbers, image
             WHERE filter_contains(bytes, 'stranger ' || value)) FROM image, filter_info(bytes)`);
        const cell = (name) => shown[name][column];
        assert.equal(count(cell("words")), items);
        assert.equal(count(cell("room for")), capacity);
        assert.equal(cell("wrong “probably”, at most"), `${(100 * fpr).toFixed(1)} %`);
        assert.equal(cell("load"), `${(100 * load).toFixed(1)} %`);
        assert.equal(cell("expected now"), `${(100 * now).toFixed(2)} %`);
        assert.equal(cell("measured, 20,000 strangers"), `${(100 * (wrong / 20000)).toFixed(2)} %`);
      }
    }
  },

  async filter_answers_as_tables_do({ page }) {
    await page.set("#filter-capacity", 64);
    await page.set("#filter-rate", 0.25);
    await page.set("#filter-count", 60);
    const words = ["word 1", "word 60", ...Array.from({ length: 40 }, (_, i) => `other ${i}`), "naïve 😀", "'"];
    const holds = (kind) => `CREATE VIRTUAL TABLE t USING ${kind}_filter(word TEXT, capacity = 64, fpr = 0.25,
        seed = 1);
      INSERT INTO t WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 60)
        SELECT 'word ' || value FROM n;
      SELECT filter_contains(filter_export('t'), value) FROM json_each('${JSON.stringify(words).replaceAll("'", "''")}')`;
    const expected = [await page.sql(holds("cuckoo")), await page.sql(holds("bloom"))];
    let wrong = 0;
    for (const [i, word] of words.entries()) {
      await page.set("#filter-word", word);
      await page.click("#filter-ask");
      const said = await page.text("#filter-said");
      const answers = [...said.matchAll(/filter: (probably there|definitely not there)(, which is wrong)?/g)];
      assert.equal(answers.length, 2, said);
      for (const [kind, [, answer, lie]] of answers.entries()) {
        assert.equal(answer === "probably there", expected[kind][i][0] === 1, said);
        wrong += lie ? 1 : 0;
        assert.equal(Boolean(lie), answer === "probably there" && !word.startsWith("word "), said);
      }
    }
    assert(wrong > 5, `${wrong} wrong answers at a rate of 25 %`);
  },

  async filter_shows_the_way_of_entries_that_move({ page }) {
    await page.set("#filter-capacity", 250);
    await page.set("#filter-rate", 0.03);
    await page.set("#filter-count", 200);
    const buckets = () => page.page.evaluate(() => core.filterState(filterView.filters.cuckoo).buckets);
    for (let i = 0; i < 5; ++i) {
      await page.click("#filter-relocate");
      const said = await page.text("#filter-said");
      const [, word, first, into] = /^“(.*)”: fingerprint (\w+) went into bucket (\d+), whose/.exec(said) ?? [];
      assert(word, said);
      const moves = [...said.matchAll(/(\w+) moved to its other bucket, (\d+)/g)];
      assert(moves.length > 0, said);
      const after = await buckets();
      for (const [fingerprint, bucket] of [[first, into], ...moves.map(([, moved, to]) => [moved, to])]) {
        assert(after[Number(bucket)].includes(parseInt(fingerprint, 16)), `${said}: ${fingerprint} in ${bucket}`);
      }
      await page.set("#filter-word", word);
      await page.click("#filter-ask");
      assert.match(await page.text("#filter-said"), /^[^:]*cuckoo filter: probably there; .*Bloom filter: probably there;/);
    }
  },

  async filter_grows_forgets_and_is_emptied({ page }) {
    await page.set("#filter-capacity", 64);
    await page.set("#filter-count", 900);
    let shown = await page.figures("#filter-figures");
    assert(shown["room for"].every((room) => count(room) >= 900), shown["room for"]);
    await page.set("#filter-count", 30);
    shown = await page.figures("#filter-figures");
    assert.deepEqual(shown.words, ["30", "30"]);
    await page.write("#filter-word", "kiwi");
    await page.click("#filter-add");
    await page.click("#filter-ask");
    assert.match(await page.text("#filter-said"), /cuckoo filter: probably there; .*Bloom filter: probably there;/);
    await page.click("#filter-remove");
    assert.match(await page.text("#filter-said"), /forgot “kiwi”.*made anew without it/);
    await page.click("#filter-ask");
    assert.doesNotMatch(await page.text("#filter-said"), /probably there;/);
    await page.click("#filter summary");
    await page.set("#filter-list", "one\ntwo\n\nthree\n");
    await page.click("#filter-list-add");
    assert.deepEqual((await page.figures("#filter-figures")).words, ["33", "33"]);
    await page.click("#filter-clear");
    assert.deepEqual((await page.figures("#filter-figures")).words, ["0", "0"]);
  },

  // --- flash

  async flash_figures_are_those_of_the_table({ page }) {
    await page.click("#tab-flash");
    for (const keys of ["uniform", "skewed"]) {
      await page.click("#flash-new");
      await page.click(`[name="flash-keys"][value="${keys}"]`);
      for (let i = 0; i < 6; ++i) {
        await page.click("#flash-step");
      }
      assert.match(await page.text("#flash-said"), /3,000 values were overwritten/);
      const shown = await page.figures("#flash-figures");
      const info = await page.page.evaluate(() => {
        const { columns, rows } = flashView.database.run("SELECT * FROM flash_kv_info('kv')")[0];
        return Object.fromEntries(columns.map((name, i) => [name, rows[0][i]]));
      });
      assert.equal(count(shown.keys[0]), info.entries);
      assert.equal(info.entries, 160);
      assert.equal(count(shown.erases[0]), info.erases);
      assert.equal(count(shown["blocks collected"][0]), info.collections);
      assert.equal(shown["write amplification"][0], info.write_amplification.toFixed(2));
      assert(info.collections > 100 && info.write_amplification > 1, JSON.stringify(info));
      assert.match(await page.text("#flash-map svg"), /160 entries/);
      console.log(`  ${keys}: write amplification ${info.write_amplification.toFixed(2)}`);
    }
  },

  async flash_wears_out_and_says_so({ page }) {
    await page.click("#tab-flash");
    await page.set("#flash-endurance", 40);
    await page.click("#flash-run");
    const worn = async () => count((await page.figures("#flash-figures"))["blocks that went bad"][0]);
    for (let i = 0; i < 600 && (await worn()) === 0; ++i) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert((await worn()) > 0, "no block went bad");
    for (let i = 0; i < 600 && (await page.text("#flash-run")) === "Pause"; ++i) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(await page.text("#flash-said"), /^full: .*worn out/);
    const entries = await page.page.evaluate(() =>
      flashView.database.row("SELECT count(*), count(value), cuckoo_check('kv') FROM kv"));
    assert.deepEqual(entries, [160, 160, "ok"], "nothing is lost");
    await page.set("#flash-endurance", 100000);
  },

  async flash_keeps_what_was_committed_when_the_power_goes({ page }) {
    await page.click("#tab-flash");
    await page.click("#flash-step");
    const rows = () => page.page.evaluate(() => flashView.database.rows("SELECT key, value FROM kv ORDER BY key"));
    const before = await rows();
    let journals = 0;
    for (let i = 0; i < 25; ++i) {
      await page.click("#flash-cut");
      const said = await page.text("#flash-said");
      assert.match(said, /160 of 160 keys are there, 0 have a value of that transaction, and .* says ok/);
      journals += / a journal of 0 bytes/.test(said) ? 0 : 1;
      assert.deepEqual(await rows(), before);
    }
    assert(journals > 10, `${journals} cuts left a journal`);
  },

  // --- ring

  async ring_owners_and_shares_are_those_of_tables({ page }) {
    await page.click("#tab-ring");
    const change = async (node, weight) => {
      await page.write("#ring-node", node);
      await page.set("#ring-weight", weight);
      await page.click('#ring-form [type="submit"]');
    };
    await change("cache4", 1);
    await change("cache1", 2.5);
    await page.click('[aria-label="Remove cache2"]');
    const rings = await page.page.evaluate(() => ringView.algorithms.map((name) => [name, ringView.options(name)]));
    for (const [name, options] of rings) {
      await page.set("#ring-algorithm", name);
      const ring = `CREATE VIRTUAL TABLE r USING hash_ring(${options});
        INSERT INTO r(node, weight) VALUES ('cache1', 1); INSERT INTO r(node, weight) VALUES ('cache2', 1);
        INSERT INTO r(node, weight) VALUES ('cache3', 1); INSERT INTO r(node, weight) VALUES ('cache4', 1);
        UPDATE r SET weight = 2.5 WHERE node = 'cache1';`;
      const keys = `WITH RECURSIVE n(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n WHERE number < 10000)
        SELECT number, node FROM n JOIN r ON r.key = 'key ' || number ORDER BY 1`;
      const before = await page.sql(`${ring} ${keys}`);
      const after = await page.sql(`${ring} DELETE FROM r WHERE node = 'cache2'; ${keys}`);
      const moved = after.filter(([, node], i) => node !== before[i][1]);
      const needless = after.filter(([, node], i) => node !== before[i][1] && before[i][1] !== "cache2");
      const shown = await page.figures("#ring-moves");
      assert.deepEqual(shown[name].map(count), [moved.length, needless.length], name);
      assert.equal(needless.length === 0, name !== "ketama", `${name}: ${needless.length} needlessly`);

      const shares = await page.sql(`${ring} DELETE FROM r WHERE node = 'cache2';
        SELECT node, weight, share FROM r ORDER BY node`);
      const nodes = await page.figures("#ring-nodes");
      assert.deepEqual(Object.keys(nodes), shares.map(([node]) => node));
      for (const [node, weight, share] of shares) {
        assert.deepEqual(nodes[node].slice(0, 2), [String(weight), `${(100 * share).toFixed(2)} %`]);
      }
      // What is drawn is core's ring: it must own as SQL says.
      const drawn = await page.page.evaluate((ringName) => {
        const numbers = Array.from({ length: 10000 }, (_, i) => `key ${i + 1}`);
        const ids = core.ringKeys(ringView.rings[ringName], numbers.join("\n"));
        const names = new Map(ringView.nodes().map(([node]) => [ringView.id(node), node]));
        return ids.map(([, id]) => names.get(id));
      }, name);
      assert.deepEqual(drawn, after.map(([, node]) => node), name);
      const lit = moved.filter(([number]) => number <= 150).length;
      assert.match(await page.text("#ring-caption"), new RegExp(`The ${lit} that the last change moved`));
    }
    const modulo = Array.from({ length: 10000 }, (_, i) => i + 1)
      .map((number) => [["cache1", "cache2", "cache3", "cache4"][number % 4], ["cache1", "cache3", "cache4"][number % 3]])
      .filter(([before, after]) => before !== after);
    const shown = await page.figures("#ring-moves");
    assert.deepEqual(shown.modulo.map(count), [modulo.length, modulo.filter(([node]) => node !== "cache2").length]);
  },

  async ring_refuses_what_it_must({ page }) {
    await page.click("#tab-ring");
    for (const node of Object.keys(await page.figures("#ring-nodes"))) {
      await page.click(`[aria-label="Remove ${node}"]`);
    }
    assert.match(await page.text("#ring-said"), /last node stays/);
    assert.equal(Object.keys(await page.figures("#ring-nodes")).length, 1);
  },

  // --- SQL

  async examples_give_what_the_readme_says({ page }) {
    await page.click("#tab-sql");
    const blocks = [...readme.matchAll(/```sql\n[^]*?```\n```text\n([^]*?)\n```/g)].map(([, text]) => text);
    const options = await page.page.$$eval("#sql-example option", (all) => all.map((option) => option.value));
    assert.equal(options.length, blocks.length);
    for (const [i, value] of options.entries()) {
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      const rows = await page.page.$$eval("#sql-results tbody tr", (all) =>
        all.map((row) => [...row.cells].map((cell) => cell.innerText).join("|")));
      assert.equal(rows.join("\n"), blocks[i]);
    }
  },

  async errors_and_odd_values_are_shown({ page }) {
    await page.click("#tab-sql");
    await page.click("#sql-new");
    const run = async (sql) => {
      await page.set("#sql-text", sql);
      await page.page.focus("#sql-text");
      await page.page.keyboard.down("Control");
      await page.page.keyboard.press("Enter");
      await page.page.keyboard.up("Control");
      return page.text("#sql-results");
    };
    assert.match(await run("SELECT 1; SELECT * FROM nowhere; SELECT 2"), /1\s+1 row\s+no such table: nowhere$/);
    assert.match(await run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 7)"), /fpr/);
    assert.match(await run("SELECT NULL, x'00ff', 9223372036854775807, 0.5, 'naïve 😀', ''"),
      /NULL\s+x'00ff', 2 bytes\s+9223372036854775807\s+0\.5\s+naïve 😀/);
    assert.match(await run("-- nothing\n;;"), /Done in/);
    assert.match(await run("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"),
      /The first 500 rows/);
    const endless = await page.page.evaluate(() => {
      try {
        sqlView.database.run("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n",
          [], { milliseconds: 200 });
        return "ended";
      } catch (error) {
        return error.message;
      }
    });
    assert.equal(endless, "interrupted");
  },

  // --- for everybody

  async works_by_keyboard({ page }) {
    await page.page.focus("#tab-filter");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "End", "Home", "ArrowLeft"]) {
      await page.page.keyboard.press(key);
    }
    assert.equal(await page.page.evaluate(() => document.activeElement.id), "tab-sql");
    assert.equal(await page.page.$eval("#sql", (section) => section.hidden), false);
    assert.equal(await page.page.$$eval('[role="tab"][tabindex="0"]', (tabs) => tabs.length), 1);
    await page.page.keyboard.press("Home");
    await page.page.keyboard.press("Tab");  // the link
    await page.page.keyboard.press("Tab");  // the slider
    await page.page.keyboard.press("End");
    assert.equal((await page.figures("#filter-figures")).words[0], "1,000");
  },

  async everything_has_a_name({ page }) {
    const roles = ["button", "textbox", "combobox", "slider", "spinbutton", "radio", "img", "image", "tab", "tabpanel",
      "group", "link"];
    for (const view of views) {
      await page.click(`#tab-${view}`);
      const nameless = [];
      const visit = (node) => {
        if (roles.includes(node.role) && !node.name) {
          nameless.push(JSON.stringify({ ...node, children: undefined }));
        }
        (node.children ?? []).forEach(visit);
      };
      visit(await page.page.accessibility.snapshot({ interestingOnly: false }));
      assert.deepEqual(nameless, [], view);
    }
  },

  async fits_a_phone_dark_and_light({ page }) {
    const ratio = (selector) =>
      page.page.$eval(selector, (element) => {
        const numbers = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
        const light = (colour) => {
          const [r, g, b] = numbers(colour).map((part) =>
            part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        let behind = element;
        while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)" && behind.parentElement) {
          behind = behind.parentElement;
        }
        const two = [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)];
        return (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
      });
    for (const scheme of ["light", "dark"]) {
      await page.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      for (const width of [340, 800]) {
        await page.page.setViewport({ width, height: 800 });
        for (const view of views) {
          await page.click(`#tab-${view}`);
          const wide = await page.page.evaluate(() => document.documentElement.scrollWidth);
          assert(wide <= width, `${view}: ${wide} pixels of ${width}, ${scheme}`);
          for (const part of ["h2", "p", "a", "button", ".said", "th"]) {
            const selector = `#${view} ${part}`;
            if ((await page.page.$(selector)) !== null) {
              const contrast = await ratio(selector);
              assert(contrast >= 4.5, `${selector}: contrast ${contrast.toFixed(1)}, ${scheme}`);
            }
          }
          assert((await ratio(`#tab-${view}`)) >= 4.5, `#tab-${view}, ${scheme}`);
        }
      }
    }
    await page.page.emulateMediaFeatures([]);
    await page.page.setViewport({ width: 1100, height: 900 });
  },
};

// --- pictures: without what differs from run to run

async function takePictures(page) {
  const take = async (view) => {
    const file = path.join(here, `../pictures/playground_${view}.png`);
    await (await page.page.$(`#${view}`)).screenshot({ path: file });
    console.log(`  ${path.relative(process.cwd(), file)}: ${fs.statSync(file).size} bytes`);
  };
  await page.page.setViewport({ width: 1000, height: 900 });
  await page.load();
  await page.set("#filter-capacity", 250);
  await page.set("#filter-count", 180);
  for (let i = 0, moves = 0; i < 20 && moves < 2; ++i) {
    await page.click("#filter-relocate");
    moves = (await page.text("#filter-said")).split("moved to").length - 1;
  }
  await take("filter");
  await page.click("#tab-flash");
  await page.click('[value="skewed"]');
  for (let i = 0; i < 8; ++i) {
    await page.click("#flash-step");
  }
  await take("flash");
  await page.click("#tab-ring");
  await page.click('#ring-form [type="submit"]');
  await take("ring");
  await page.click("#tab-sql");
  await page.page.$$eval(".hint", (hints) => hints.forEach((hint) => hint.remove()));
  await take("sql");
}

async function main() {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],  // root has none
  });
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const context = await browser.createBrowserContext();
    const page = new Page(await context.newPage());
    await page.page.setViewport({ width: 1100, height: 900 });
    try {
      await page.load();
      await test({ page });
      assert.deepEqual(page.complaints, []);
      console.log(`ok    ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${name}\n${error.stack}\n${page.complaints.join("\n")}`);
    }
    await context.close();
  }
  if (failed === 0 && option === "--pictures") {
    const page = new Page(await browser.newPage());
    await takePictures(page);
  }
  await browser.close();
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

main();
