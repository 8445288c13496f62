// The page's tests, in Chromium. usage: test.js node_modules [--pictures]; see test.sh
// PLAYGROUND=dir is another folder with the page; PLAYGROUND_TESTS=part runs the tests with that in
// their names.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const zlib = require("node:zlib");
const { pathToFileURL } = require("node:url");

const [modules, option] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, "puppeteer-core"));
const here = path.resolve(process.env.PLAYGROUND ?? __dirname);
const readme = fs.readFileSync(path.join(__dirname, "../../README.md"), "utf8");

const kFirstView = 1000;       // milliseconds from the start of loading
const kMostBytes = 1_500_000;  // of cuckoo.js, compressed
const views = ["filter", "hashing", "growth", "flash", "index", "ring", "sql"];

// --- the page as a person sees it

class Page {
  constructor(page) {
    this.page = page;
    this.complaints = [];
    page.on("console", (message) => {
      if (!message.text().startsWith("Canvas2D: Multiple readback")) {  // a test reads what is drawn
        this.complaints.push(`console: ${message.text()}`);
      }
    });
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

  async is_small() {
    const bytes = zlib.gzipSync(fs.readFileSync(path.join(here, "cuckoo.js")), { level: 9 }).length;
    assert(bytes < kMostBytes, `${bytes} bytes`);
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
        const [[counted, capacity, fpr]] = await page.sql(
          `${table(kind)} SELECT items, capacity, fpr FROM filter_info('${kind}')`);
        const [[bits]] = await page.sql(`SELECT round(bits_per_key * 1000) FROM filter_plan(1000, ${rate})
          WHERE module = '${kind}_filter' AND ifnull(layout, '') IN ('', 'standard')`);
        // An image has all that the table holds in its cells, as the view's filters have.
        const [[load, now, wrong]] = await page.sql(
          `${table(kind)} CREATE TABLE image AS SELECT filter_export('${kind}') AS bytes;
           SELECT load_factor, fpr_now, (SELECT count(*) FROM numbers, image
             WHERE filter_contains(bytes, 'stranger ' || value)) FROM image, filter_info(bytes)`);
        const cell = (name) => shown[name][column];
        // A Bloom filter counts, when it is folded, what did not look as if it were there: the view
        // folds more often than the table.
        const items = count(cell("words counted"));
        const differs = kind === "bloom" ? Math.floor(words * rate) : 0;
        assert(Math.abs(items - counted) <= differs, `${kind}: ${items} words, the table says ${counted}`);
        assert.equal(count(cell("room for")), capacity);
        assert.equal(cell("size of the cells"), `${Math.round(bits / 8).toLocaleString("en-US")} bytes`);
        assert.equal(cell("bits a word"), (bits / items).toFixed(1));
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
      const answers = [...said.matchAll(/filter: (probably there|definitely not there)(, which is wrong)?;/g)];
      // What it read, from filters that the view knows nothing of.
      const read = await page.page.evaluate((asked) => ["cuckoo", "bloom"].map((kind) => {
        const filter = core.filterNew(filterView.kinds[kind], 64, 0.25, 1);
        const answer = core.filterAsk(filter, asked);
        core.filterDelete(filter);
        return answer;
      }), word);
      assert(said.includes(`fingerprint ${read[0].fingerprint.toString(16)} in buckets ` +
        `${[...new Set(read[0].buckets)].join(" and ")}.`), said);
      assert(said.endsWith(`looked at bits ${read[1].cells.join(", ")}.`), said);
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

  async filter_draws_what_it_holds({ page }) {
    for (const [capacity, words, scheme] of [[64, 50, "light"], [250, 230, "dark"], [1000, 900, "light"]]) {
      await page.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.set("#filter-capacity", capacity);
      await page.set("#filter-count", words);
      await page.click("#filter-relocate");
      const wrong = await page.page.evaluate(() => {
        const { filters, marks, cuckooPlaces: places, bloomPlaces } = filterView;
        const wanted = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const pixels = new Map();  // of each canvas, read once
        const rgb = (colour) => {
          wanted.fillStyle = colour;
          wanted.fillRect(0, 0, 1, 1);
          return [...wanted.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const near = (canvas, x, y, colour) => {
          const scale = canvas.width / canvas.clientWidth;
          if (!pixels.has(canvas)) {
            pixels.set(canvas, canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
          }
          const at = 4 * (Math.round(y * scale) * canvas.width + Math.round(x * scale));
          const [r, g, b] = pixels.get(canvas).slice(at, at + 3);
          const to = rgb(colour);
          return Math.abs(r - to[0]) + Math.abs(g - to[1]) + Math.abs(b - to[2]) < 90;
        };
        const complaints = [];
        const cuckoo = document.getElementById("filter-cuckoo");
        const middle = (bucket) => {
          const [left, top] = places.corner(bucket);
          return [left + 2 * places.side, top + places.side / 2];
        };
        const path = marks.path.map(([bucket]) => middle(bucket));
        const onPath = (x, y) => path.some(([x1, y1], i) => {  // hidden by the line, or close to it
          const [x2, y2] = path[Math.max(0, i - 1)];
          const length = Math.hypot(x2 - x1, y2 - y1) || 1;
          const along = Math.min(1, Math.max(0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length ** 2));
          return Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1)) < 8;
        });
        let cells = 0;
        core.filterState(filters.cuckoo).buckets.forEach((values, bucket) => {
          const [left, top] = places.corner(bucket);
          values.forEach((value, slot) => {
            const [x, y] = [left + slot * places.side + 2, top + 2];
            if (!onPath(x, y)) {
              cells += 1;
              if (!near(cuckoo, x, y, filterView.cellColour(value))) {
                complaints.push(`bucket ${bucket}, slot ${slot}: ${value}`);
              }
            }
          });
        });
        if (cells < 40) {
          complaints.push(`${cells} cells seen`);
        }
        for (const [bucket] of marks.path) {
          const [left, top] = places.corner(bucket);
          if (!near(cuckoo, left - 1, top + places.side / 4, dom.colour("hit"))) {
            complaints.push(`bucket ${bucket} of the path is not marked`);
          }
        }
        path.slice(1).forEach(([x, y], i) => {
          if (!near(cuckoo, (x + path[i][0]) / 2, (y + path[i][1]) / 2, dom.colour("ink"))) {
            complaints.push(`no line from ${marks.path[i]} to ${marks.path[i + 1]}`);
          }
        });
        const bloom = document.getElementById("filter-bloom");
        [...core.filterState(filters.bloom).bits].forEach((bit, at) => {
          const [x, y] = bloomPlaces.corner(at);
          const inside = Math.floor(bloomPlaces.side / 2);
          const marked = marks.cells.some((cell) => {
            const [left, top] = bloomPlaces.corner(cell);
            return Math.hypot(left - x, top - y) < 2 * bloomPlaces.side + 6;
          });
          if (!marked && !near(bloom, x + inside, y + inside, dom.colour(bit === "1" ? "set" : "empty"))) {
            complaints.push(`bit ${at}: ${bit}`);
          }
          if (marks.cells.includes(at) && bloomPlaces.side > 8 && !near(bloom, x - 1, y + inside, dom.colour("hit"))) {
            complaints.push(`bit ${at} is not marked`);
          }
        });
        return complaints;
      });
      assert.deepEqual(wrong, [], `${capacity}, ${scheme}`);
      const said = await page.text("#filter-said");
      assert.match(said, /In the Bloom filter \d+ of its \d+ bits had to be set|were set already/);
    }
  },

  async filter_shows_an_insert_one_move_at_a_time({ page }) {
    await page.set("#filter-capacity", 250);
    await page.set("#filter-count", 225);
    const buckets = (from) => page.page.evaluate((text) => eval(text).map((values) => values.slice().sort()), from);
    const held = () => buckets("core.filterState(filterView.filters.cuckoo).buckets");
    const drawn = () => buckets("filterView.stepped ?? core.filterState(filterView.filters.cuckoo).buckets");
    let moves = 0;
    for (let i = 0; i < 60 && moves < 3; ++i) {
      const before = await held();
      await page.click("#filter-step");
      let said = await page.text("#filter-said");
      const after = await held();
      const [, first, ways] = /fingerprint (\w+) belongs .* both are full.* has (\d+) move/.exec(said) ?? [];
      if (first === undefined) {
        assert.match(said, /nothing had to move|made anew/);
        assert.deepEqual(await drawn(), after);
        continue;
      }
      assert.deepEqual(await drawn(), before, "before the first move");
      for (let left = Number(ways); left > 0; --left) {
        const last = await drawn();
        await page.click("#filter-step");
        said = await page.text("#filter-said");
        const [, moved, from, to] = /^(\w+) moved from bucket (\d+) to its other bucket, (\d+)/.exec(said) ?? [];
        assert(moved, said);
        const now = await drawn();
        const changed = now.flatMap((values, bucket) => (values.join() === last[bucket].join() ? [] : [String(bucket)]));
        assert.deepEqual(changed, [from, to].sort((a, b) => a - b), said);
        assert(last[from].includes(parseInt(moved, 16)) && now[to].includes(parseInt(moved, 16)), said);
        moves += 1;
      }
      await page.click("#filter-step");
      assert.match(await page.text("#filter-said"), new RegExp(`^${first} took the place in bucket`));
      assert.deepEqual(await drawn(), after, "after the last move");
    }
    assert(moves >= 3, `${moves} moves`);
    // Another button ends what is shown in steps.
    await page.click("#filter-ask");
    assert.deepEqual(await drawn(), await held());
  },

  async filter_counts_in_the_overflow_table_what_finds_no_place({ page }) {
    await page.set("#filter-capacity", 250);
    await page.set("#filter-count", 100);
    await page.set("#filter-word", "kiwi");
    await page.click("#filter-copies");
    await page.click("#filter-copies");
    const [[times]] = await page.sql(`CREATE VIRTUAL TABLE t USING cuckoo_filter(word TEXT, capacity = 250, fpr = 0.03,
        seed = 1);
      WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 100)
        INSERT INTO t SELECT 'word ' || value FROM n;
      WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 20)
        INSERT INTO t SELECT 'kiwi' FROM n;
      SELECT count FROM t WHERE word = 'kiwi'`);
    const { buckets, fingerprint, all } = await page.page.evaluate(() => ({
      ...core.filterAsk(filterView.filters.cuckoo, "kiwi"), all: core.filterState(filterView.filters.cuckoo).buckets,
    }));
    const inBuckets = [...new Set(buckets)].flatMap((bucket) => all[bucket]).filter((value) => value === fingerprint);
    const shown = await page.figures("#filter-overflow");
    assert.deepEqual(Object.keys(shown), [fingerprint.toString(16)]);
    const [lower, counted] = Object.values(shown)[0].map(count);
    assert.equal(lower, Math.min(...buckets));
    assert(counted > 0);
    assert.equal(inBuckets.length + counted, times, "what SQL counts");
    assert.match(await page.text("#filter-cuckoo-caption"), new RegExp(`${counted} are counted in the overflow table`));
    await page.click("#filter summary");
    await page.click("#filter-clear");
    assert.equal(await page.page.$eval("#filter-overflow", (table) => table.hidden), true);
  },

  async filter_says_what_became_of_doubles_and_strangers({ page }) {
    await page.set("#filter-rate", 0.25);
    await page.set("#filter-count", 60);
    const press = async (button, word) => {
      await page.set("#filter-word", word);
      await page.click(`#filter-${button}`);
      return page.text("#filter-said");
    };
    await press("add", "kiwi");
    await press("add", "kiwi");
    assert.match(await press("remove", "kiwi"), /more than once/);
    assert.match(await press("ask", "kiwi"), /cuckoo filter: probably there; .* Bloom filter: probably there;/);
    assert.match(await press("remove", "kiwi"), /forgot “kiwi”/);
    assert.match(await press("remove", "word 7"), /by the slider/);
    const items = async () => (await page.figures("#filter-figures"))["words counted"][0];
    assert.equal(await items(), "60");
    let denied = "";
    for (let i = 0; i < 200 && denied === ""; ++i) {
      if (/lost its fingerprint/.test(await press("remove", `stranger ${i}`))) {
        for (let j = 1; j <= 60 && denied === ""; ++j) {
          const said = await press("ask", `word ${j}`);
          denied = said.includes("cuckoo filter: definitely not there") ? said : "";
        }
      }
    }
    assert.match(denied, /definitely not there, because a Remove of a word that wasn't took its fingerprint/);
  },

  async filter_takes_a_large_list({ page }) {
    await page.click("#filter summary");
    await page.set("#filter-list", Array.from({ length: 60000 }, (_, i) => `line ${i}`).join("\n"));
    await page.click("#filter-list-add");
    assert.match(await page.text("#filter-said"), /60,000 words were added/);
    assert.match(await page.text("#filter-cuckoo-caption"), /the first 2,000 of them drawn/);
    assert(await page.page.$eval("#filter-cuckoo", (canvas) => canvas.clientHeight < 3000));
  },

  async filter_grows_forgets_and_is_emptied({ page }) {
    await page.set("#filter-capacity", 64);
    await page.set("#filter-count", 900);
    let shown = await page.figures("#filter-figures");
    assert(shown["room for"].every((room) => count(room) >= 900), shown["room for"]);
    const [cuckoo, bloom] = shown["room for"];
    assert.equal(await page.text("#filter-grown"), `grown to ${cuckoo}${cuckoo === bloom ? "" : ` and ${bloom}`}`);
    await page.set("#filter-count", 30);
    shown = await page.figures("#filter-figures");
    assert.deepEqual(shown["words counted"], ["30", "30"]);
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
    assert.deepEqual((await page.figures("#filter-figures"))["words counted"], ["33", "33"]);
    await page.click("#filter-clear");
    assert.deepEqual((await page.figures("#filter-figures"))["words counted"], ["0", "0"]);
    assert.equal(await page.text("#filter-grown"), "");
  },

  // --- plain cuckoo hashing

  async hashing_has_each_word_in_one_of_its_two_cells({ page }) {
    await page.click("#tab-hashing");
    assert.match(await page.text("#hashing"), /This view is a simulation/);
    let [evictions, rehashes] = [0, 0];
    for (let i = 0; i < 120; ++i) {
      await page.click("#hashing-step");
      const said = await page.text("#hashing-said");
      evictions += / is evicted: /.test(said) ? 1 : 0;
      rehashes += /went|made anew/.test(said) ? 1 : 0;
      const [, word, cell, table] = /^“(.*)” belongs in cell (\d+) of table (\d)/.exec(said) ?? [];
      if (word !== undefined) {
        const marked = await page.page.$$eval(".cells .hit", (all) =>
          all.map((one) => [one.parentElement.id, one.innerText.replace(/\s+/g, " ")]));
        assert.deepEqual(marked, [[`hashing-table-${table}`, `${cell} ${word}`]], said);
      }
    }
    await page.click("#hashing-finish");
    assert(evictions > 10 && rehashes > 1, `${evictions} evictions, ${rehashes} times anew`);
    const shown = await page.figures("#hashing-figures");
    const [round, numbered] = await page.page.evaluate(() => [hashingView.round, hashingView.numbered]);
    const cells = await page.page.$$eval(".cells", (tables) => tables.map((table) =>
      [...table.children].map((cell) => cell.lastChild.nodeValue)));
    const found = cells.flatMap((table, which) =>
      table.flatMap((word, cell) => (word ? [[word, which + 1, cell]] : [])));
    // SQL's sha1() says where each belongs.
    const places = await page.sql(found.map(([word, table]) =>
      `SELECT '${word}' AS word, '0x' || substr(sha1('${round}:${table}:${word}'), 1, 8)`).join(" UNION ALL "));
    found.forEach(([word, , cell], i) => {
      assert.equal(places[i][0], word);
      assert.equal(Number(places[i][1]) % cells[0].length, cell, word);
    });
    assert.deepEqual(found.map(([word]) => word).sort(),
      Array.from({ length: numbered }, (_, i) => `word ${i + 1}`).sort());
    assert.equal(count(shown.words[0]), numbered);
    assert.equal(count(shown.cells[0]), cells.flat().length);
    assert.equal(shown.load[0], `${(100 * numbered / cells.flat().length).toFixed(1)} %`);
    assert.equal(count(shown["times that all was made anew"][0]), round - 1);
  },

  async hashing_asks_adds_and_removes({ page }) {
    await page.click("#tab-hashing");
    const press = async (selector, word) => {
      await page.set("#hashing-word", word);
      await page.click(selector);
      return page.text("#hashing-said");
    };
    const add = '#hashing-form [type="submit"]';
    await press(add, "kiwi");
    assert.match(await press("#hashing-ask", "kiwi"), /: it is there\./);
    assert.equal(await page.page.$$eval(".cells .hit", (all) => all.length), 2);
    assert.match(await press(add, "kiwi"), /is there already/);
    assert.match(await press(add, ""), /Which word/);
    assert.match(await press("#hashing-ask", "'; DROP"), /: it is not there\./);
    assert.match(await press("#hashing-remove", "kiwi"), /was removed/);
    assert.match(await press("#hashing-ask", "kiwi"), /: it is not there\./);
    await press(add, "<b>long</b>".repeat(7));
    assert.equal((await page.figures("#hashing-figures")).words[0], "1");
    await page.click("#hashing-clear");
    assert.equal((await page.figures("#hashing-figures")).words[0], "0");
  },

  // --- growth

  async growth_shows_the_segments_of_the_table({ page }) {
    await page.click("#tab-growth");
    const batches = 33;
    const said = [];
    for (let i = 0; i < batches; ++i) {
      await page.click("#growth-step");
      said.push(await page.text("#growth-said"));
    }
    const all = said.join("\n");
    assert.match(all, /too few to fold a segment/);
    assert.match(all, /was made anew of its hashes: room for/);
    assert.match(all, /were folded into its pages/);
    assert.match(all, /Segment of all would have had more than the [\d,]+ words .* into 0 and 1\./);
    // The same table elsewhere.
    const columns = ["items", "segments", "log_entries", "disk_bytes"];
    const [info] = await page.sql(`PRAGMA page_size = 512;
      CREATE VIRTUAL TABLE words USING cuckoo_filter(word TEXT, capacity = 500, fpr = 1e-8, seed = 1);
      ${Array.from({ length: batches }, (_, i) => `INSERT INTO words WITH RECURSIVE n(i) AS (VALUES (${500 * i + 1})
        UNION ALL SELECT i + 1 FROM n WHERE i < ${500 * (i + 1)}) SELECT 'word ' || i FROM n;`).join("")}
      SELECT ${columns} FROM filter_info('words')`);
    const shown = await page.figures("#growth-figures");
    const segments = await page.page.$$eval("#growth-segments tbody tr", (rows) =>
      rows.map((row) => [...row.cells].map((cell) => cell.innerText)));
    const bytes = (number) => (number < 10240 ? `${number.toLocaleString("en-US")} bytes`
      : `${Math.round(number / 1024).toLocaleString("en-US")} KB`);
    assert.deepEqual([count(shown.words[0]), count(shown.segments[0]), count(shown["entries in the log"][0]),
      shown["size on disk"][0]], [...info.slice(0, 3), bytes(info[3])]);
    assert.equal(info[0], 500 * batches);
    const sum = (column) => segments.reduce((total, cells) => total + count(cells[column]), 0);
    assert.equal(segments.length, info[1]);
    assert(info[1] > 1, "it was split");
    assert.equal(sum(1) + sum(3), info[0], "what is held and what pends is all");
    assert.equal(sum(3), count(shown["entries that pend"][0]));
    assert.equal(sum(2), count(shown["room for"][0]));
    // The prefixes partition the hashes, and the picture has a segment for each.
    const parts = segments.map(([prefix]) => 2 ** -prefix.length);
    assert.equal(parts.reduce((total, part) => total + part, 0), 1);
    const drawn = await page.page.$$eval("#growth-picture .segment", (list) => list.map((one) =>
      [one.offsetWidth / one.parentElement.clientWidth, one.querySelector(".held").offsetHeight / one.clientHeight]));
    const most = count(shown["a segment is split beyond"][0]);
    segments.forEach(([, held], i) => {
      assert(Math.abs(drawn[i][0] - parts[i]) < 0.01, `width of segment ${i}: ${drawn[i][0]}`);
      assert(Math.abs(drawn[i][1] - count(held) / most) < 0.02, `height of segment ${i}: ${drawn[i][1]}`);
    });
  },

  async growth_forgets_and_begins_anew({ page }) {
    await page.click("#tab-growth");
    await page.click("#growth-split");
    assert.match(await page.text("#growth-said"), /was split by the next bit/);
    const words = count((await page.figures("#growth-figures")).words[0]);
    await page.click("#growth-remove");
    assert.equal(count((await page.figures("#growth-figures")).words[0]), words - 500);
    assert.equal(await page.page.evaluate(() => growthView.database.value("SELECT cuckoo_check('words')")), "ok");
    await page.click("#growth-new");
    assert.deepEqual((await page.figures("#growth-figures")).words, ["0"]);
    await page.click("#growth-remove");
    assert.match(await page.text("#growth-said"), /no words to remove/);
  },

  // --- the slot cache

  async index_shows_the_slots_of_the_table({ page }) {
    await page.click("#tab-index");
    for (const [ways, most] of [[4, 70], [1, 24], [2, 40]]) {
      await page.set("#index-ways", ways);
      let [moves, grown] = [0, 0];
      while (await page.page.evaluate(() => indexView.numbered) < most) {
        await page.click("#index-step");
        const said = await page.text("#index-said");
        const [, hash, from, to] = /^(\w{8}) moved from bucket (\d+) to its other bucket, (\d+)/.exec(said) ?? [];
        if (hash !== undefined) {
          moves += 1;
          const marked = await page.page.$$eval("#index-buckets > .hit .index", (list) => list.map((one) => one.innerText));
          assert.deepEqual(marked, [from, to].sort((a, b) => a - b), said);
          assert((await page.page.$eval("#index-buckets .slot.hit", (slot) => slot.title)).startsWith(`hash ${hash}`), said);
        }
        grown += /So the index grew from/.test(said) ? 1 : 0;
      }
      while (await page.page.evaluate(() => indexView.steps.left) > 0) {
        await page.click("#index-step");
      }
      assert(moves > 0 && grown > 0, `${ways} slots: ${moves} moves, ${grown} times larger`);
      const columns = "entries, load_factor, slot_moves, expansions, index_bytes";
      const [[entries, load, slotMoves, expansions, indexBytes]] = await page.sql(
        `CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, size = '256KB', sector_size = 512, erase_block = 4,
           hashes = 2, ways = ${ways}, seed = 1);
         ${Array.from({ length: most }, (_, i) =>
    `INSERT INTO kv VALUES ('key ${i + 1}', '${`version ${i + 1} `.padEnd(20, ".")}');`).join("")}
         SELECT ${columns} FROM flash_kv_info('kv')`);
      const shown = await page.figures("#index-figures");
      assert.equal(count(shown.keys[0]), entries);
      assert.equal(entries, most);
      assert.equal(shown["load of the slots"][0], `${(100 * load).toFixed(1)} %`);
      assert.equal(count(shown["entries moved"][0]), slotMoves);
      assert.equal(count(shown["times that it grew"][0]), expansions);
      assert.equal(shown["memory of the index"][0], `${indexBytes.toLocaleString("en-US")} bytes`);
      const slots = await page.page.$$eval("#index-buckets .slot", (list) => list.map((slot) => slot.innerText));
      assert.equal(slots.length, count(shown.slots[0]));
      assert.equal(slots.length % ways, 0);
      const taken = slots.filter((slot) => slot !== "").map(Number);
      assert.equal(taken.length + count(shown["entries in the stash"][0]), entries);
      assert.equal(new Set(taken).size, taken.length);
      // Where a number says that a record is, SQL finds the key in that sector.
      const wrong = await page.page.evaluate(() => {
        const { database } = indexView;
        const unit = 16;
        return database.rows("SELECT key, sector FROM kv").filter(([key, sector]) => {
          const { position, buckets, hash } = indexView.keyOf(key);
          const { slots: all, ways: inBucket, stash } = indexView.now();
          const at = all.findIndex(([slotHash, slotPosition]) => slotHash === hash && slotPosition === position);
          return Math.floor((position * unit) / 512) !== sector ||
            !(buckets.includes(Math.floor(at / inBucket)) || (at < 0 && stash > 0));
        });
      });
      assert.deepEqual(wrong, []);
    }
  },

  async index_asks_overwrites_and_removes({ page }) {
    await page.click("#tab-index");
    await page.click("#index-many");
    const press = async (selector, key) => {
      await page.set("#index-key", key);
      await page.click(selector);
      return page.text("#index-said");
    };
    const write = '#index-form [type="submit"]';
    const [, place] = /points to unit (\d+).*“version 7 /.exec(await press("#index-ask", "key 7")) ?? [];
    assert(place);
    assert.match(await press(write, "key 7"), new RegExp(`the record before, at unit ${place}, is dead`));
    assert.match(await press("#index-ask", "key 7"), /“version 21 /);
    assert.match(await press("#index-ask", "nobody"), /it is not there/);
    assert.match(await press("#index-remove", "nobody"), /nothing to remove/);
    await press("#index-remove", "key 7");
    assert.match(await press("#index-ask", "key 7"), /it is not there/);
    assert.equal((await page.figures("#index-figures")).keys[0], "19");
    assert.match(await press(write, ""), /Which key/);
    assert.match(await press(write, "naïve 😀"), /programmed at unit/);
    assert.match(await press("#index-ask", "naïve 😀"), /“version 22 /);
    assert.equal(await page.page.evaluate(() => indexView.database.value("SELECT cuckoo_check('kv')")), "ok");
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
      const bytes = (number) => (number < 10240 ? `${number.toLocaleString("en-US")} bytes`
        : `${Math.round(number / 1024)} KB`);
      assert.equal(shown["live, dead, free"][0], [info.live_bytes, info.dead_bytes, info.free_bytes].map(bytes).join(", "));
      assert.equal(shown["written by you"][0], bytes(info.bytes_written));
      assert.equal(shown["programmed into the chip"][0], bytes(info.bytes_programmed));
      assert.equal(shown["of a block: fewest, mean, most"][0],
        `${info.erase_min}, ${info.erase_avg.toFixed(1)}, ${info.erase_max}`);
      assert.equal(shown["room for live values"][0], bytes(info.usable_bytes));
      assert.equal(shown["blocks that went bad"][0], "0");
      assert(info.collections > 100 && info.write_amplification > 1, JSON.stringify(info));
      assert.match(await page.text("#flash-map svg"), /160 entries/);
      assert((await page.text("#flash-map svg")).includes(`least ${info.erase_min}, mean ${info.erase_avg.toFixed(1)}, ` +
        `most ${info.erase_max}`), "the map's wear is the table's");
      // Of the last 500 overwrites uniform ones reach nearly all of the 160 keys, skewed ones not half of the cold.
      const fresh = await page.page.evaluate(() =>
        flashView.database.value("SELECT count(*) FROM kv WHERE CAST(substr(value, 9) AS INTEGER) > 2500"));
      assert(keys === "uniform" ? fresh > 140 : fresh < 100, `${keys}: ${fresh} keys`);
      console.log(`  ${keys}: write amplification ${info.write_amplification.toFixed(2)}`);
    }
  },

  async flash_goes_step_by_step({ page }) {
    await page.click("#tab-flash");
    await page.click("#flash-new");
    const info = () => page.page.evaluate(() => flashView.database.row(
      "SELECT bytes_written, bytes_programmed, collections, erases FROM flash_kv_info('kv')"));
    const seen = { collected: 0, erased: 0, neither: 0 };
    for (let i = 1; i <= 900; ++i) {
      const before = await info();
      await page.click("#flash-one");
      const [written, programmed, collections, erases] = (await info()).map((after, at) => after - before[at]);
      const said = await page.text("#flash-said");
      const [, key, ...bytes] = /^(key \d+) got another value: you wrote (\d+) bytes, and ([\d,]+) bytes/.exec(said);
      assert.deepEqual(bytes.map(count), [written, programmed], said);
      const [value] = await page.page.evaluate((of) =>
        flashView.database.row("SELECT value FROM kv WHERE key = ?", of), key);
      assert(value.startsWith(`version ${i} `), `${key}: ${value}`);
      assert.equal(/collected first/.test(said), collections > 0, said);
      assert.equal(/erased to be written anew/.test(said), erases > 0, said);
      seen.collected += collections > 0 ? 1 : 0;
      seen.erased += erases > 0 ? 1 : 0;
      seen.neither += collections === 0 && erases === 0 ? 1 : 0;
    }
    assert(Object.values(seen).every((times) => times > 0), JSON.stringify(seen));
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
    const said = await page.text("#flash-said");
    const [, bad] = /^full: .*worn out: (\d+) of 32 erase blocks failed/.exec(said) ?? [];
    assert.equal(bad, (await page.figures("#flash-figures"))["blocks that went bad"][0], said);
    assert.match(await page.text("#flash-map svg"), / \d{2,3} % of the most worn sector's life/);
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
    for (let i = 0; i < 30; ++i) {
      await page.click("#flash-cut");
      const said = await page.text("#flash-said");
      const [, moment, steps, journal, all] =
        /^The power went after step (\d+) of the (\d+) .*; (a|no) journal .* 160 of 160 keys are there, (0|160) have .* says ok/
          .exec(said) ?? [];
      assert(Number(moment) >= 1 && Number(moment) <= Number(steps) && Number(steps) > 20, said);
      journals += journal === "a" ? 1 : 0;
      // The journal's deletion is the commit.
      assert.deepEqual(await rows(), all === "0" ? before : before.map(([key]) => [key, "the last one"]), said);
      if (all !== "0") {
        assert.equal(journal, "no", said);
        break;
      }
    }
    assert(journals > 0, `${journals} cuts left a journal`);
  },

  async flash_runs_once_however_often_one_clicks({ page }) {
    await page.click("#tab-flash");
    await page.page.evaluate(() => {
      for (let i = 0; i < 9; ++i) {
        document.getElementById("flash-run").click();
      }
    });
    const [frames, overwritten] = await page.page.evaluate(() => new Promise((resolve) => {
      const start = flashView.overwritten;
      let count = 0;
      const next = () => (++count === 20 ? resolve([count, flashView.overwritten - start]) : requestAnimationFrame(next));
      requestAnimationFrame(next);
    }));
    assert(overwritten > 0 && overwritten <= 100 * (frames + 1), `${overwritten} in ${frames} frames`);
    await page.click("#flash-run");
  },

  // --- ring

  async ring_goes_node_by_node({ page }) {
    await page.click("#tab-ring");
    await page.click('[aria-label="Remove cache2"]');
    for (const node of ["cache2", "cache4", "cache5"]) {
      await page.click("#ring-step");
      assert.match(await page.text("#ring-said"), new RegExp(`^${node} came: by ring, [\\d.]+ % of the keys moved`));
      assert((await page.figures("#ring-nodes"))[node], node);
      assert.equal((await page.figures("#ring-moves")).ring[1], "0");  // none moved needlessly
    }
    for (let i = 0; i < 8; ++i) {
      await page.click("#ring-step");
    }
    assert.match(await page.text("#ring-said"), /12 nodes are enough for a picture/);
    assert.equal(Object.keys(await page.figures("#ring-nodes")).length, 12);
  },

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
    const foretold = /hash_ring_moves\(\) had said ([\d.]+) % of the circle/.exec(await page.text("#ring-said"))[1];
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

      if (name === "ring") {  // which was drawn when cache2 went
        const [[share]] = await page.sql(`${ring} SELECT total(share) FROM hash_ring_moves('r', 'remove', 'cache2')`);
        assert.equal(foretold, (100 * share).toFixed(1));
      }
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
        const ids = core.ringKeys(ringView.rings[ringName], numbers);
        const names = new Map(ringView.nodes().map(([node]) => [ringView.id(node), node]));
        return ids.map(([, id]) => names.get(id));
      }, name);
      assert.deepEqual(drawn, after.map(([, node]) => node), name);
      // … and so must the picture.
      const wrong = await page.page.evaluate((ringName) => {
        const ring = ringView.rings[ringName];
        const complaints = [];
        const expect = (what, is, to) => {
          if (JSON.stringify(is) !== JSON.stringify(to)) {
            complaints.push(`${what}: ${JSON.stringify(is).slice(0, 300)}, expected ${JSON.stringify(to).slice(0, 300)}`);
          }
        };
        const all = (selector) => [...document.querySelectorAll(`#ring-picture ${selector}`)];
        const { points, arcs } = core.ringPicture(ring, ringView.kArcs);
        const runs = arcs.filter((owner, i) => i === 0 || owner !== arcs[i - 1]);
        expect("arcs", all(".arc").map((arc) => arc.getAttribute("stroke")), runs.map(ringView.colourOf));
        const drawnPoints = {};
        all(".points").forEach((line) => {
          drawnPoints[line.getAttribute("stroke")] = line.getAttribute("d").split("M").length - 1;
        });
        const counted = {};
        points.forEach(([, id]) => {
          counted[ringView.colourOf(id)] = (counted[ringView.colourOf(id)] ?? 0) + 1;
        });
        expect("points", Object.entries(drawnPoints).sort(), Object.entries(counted).sort());
        const numbers = Array.from({ length: ringView.kDrawnKeys }, (_, i) => `key ${i + 1}`);
        expect("keys", all("circle").map((key) => key.getAttribute("fill")),
          core.ringKeys(ring, numbers).map(([, id]) => ringView.colourOf(id)));
        const colours = [...document.querySelectorAll("#ring-nodes .swatch")].map((swatch) => swatch.style.background);
        const probe = document.createElement("i");
        expect("swatches", colours, ringView.nodes().map(([node]) => {
          probe.style.background = ringView.colourOf(ringView.id(node));
          return probe.style.background;
        }));
        return complaints;
      }, name);
      assert.deepEqual(wrong, [], name);
      const litCircles = await page.page.$$eval("#ring-picture circle", (all) =>
        all.map((circle, i) => [i + 1, circle.hasAttribute("stroke")]).filter(([, lit]) => lit).map(([number]) => number));
      assert.deepEqual(litCircles, moved.map(([number]) => number).filter((number) => number <= 150), name);
      const lit = moved.filter(([number]) => number <= 150).length;
      const caption = await page.text("#ring-caption");
      assert.match(caption, new RegExp(`The ${lit} that the last change moved`));
      // A table that is told nothing has other points than the drawn ring.
      const asDrawn = /\(vnodes = (\d+), .* the default is ([\d,]+), /.exec(caption) ?? [];
      if (name === "ring") {
        const vnodes = (all) => page.sql(`CREATE VIRTUAL TABLE v USING hash_ring(algorithm = ring, seed = 1${all});
          INSERT INTO v(node) VALUES ('a'), ('b'); SELECT share FROM v`);
        assert.deepEqual(await vnodes(`, vnodes = ${count(asDrawn[2])}`), await vnodes(""), caption);
        assert.match(options, new RegExp(`vnodes = ${asDrawn[1]},`));
      } else {
        assert.equal(asDrawn.length, 0, caption);
      }
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
    const options = await page.page.$$eval('#sql-example [label="README.md"] option', (all) => all.map((option) => option.value));
    assert.equal(options.length, blocks.length);
    for (const [i, value] of options.entries()) {
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      const rows = await page.page.$$eval("#sql-results tbody tr", (all) =>
        all.map((row) => [...row.cells].map((cell) => cell.innerText).join("|")));
      assert.equal(rows.join("\n"), blocks[i]);
    }
  },

  async scripts_give_what_their_files_say({ page }) {
    await page.click("#tab-sql");
    const scripts = await page.page.$$eval('#sql-example [label="sql/"] option', (all) =>
      all.map((option) => [option.value, option.innerText]));
    const folder = path.join(__dirname, "../../sql");
    const missing = fs.readdirSync(folder).filter((name) => name.endsWith(".sql"))
      .filter((name) => !scripts.some(([, title]) => title === name));
    assert.deepEqual(missing, ["04_spelling.sql", "10_legacy_bloom_file.sql", "13_content_addressed_chunks.sql"]);
    const short = (text) => text.replace(/\s+/g, " ").trim();
    for (const [value, title] of scripts) {
      // Its tables, each a list of lines; plans are drawn in another way there.
      const expected = fs.readFileSync(path.join(folder, title.replace(".sql", ".expected")), "utf8").split("\n")
        .filter((line) => line.startsWith("| ")).map((line) => line.slice(2, -2).split(" | ").map(short).join("|"));
      await page.set("#sql-example", value);
      await page.click('#sql-form [type="submit"]');
      assert.match(await page.text("#sql-said"), /^Done in/, title);
      const rows = await page.page.$$eval("#sql-results table", (tables) =>
        tables.map((table) => [...table.rows].map((row) => [...row.cells].map((cell) =>
          (cell.className === "null" ? "" : cell.innerText)))));
      const shown = rows.filter((table) => table[0].join() !== "id,parent,notused,detail").flat()
        .map((row) => row.map(short).join("|"));
      assert.deepEqual(shown, expected.filter((line) => line !== ""), title);
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
      return `${await page.text("#sql-results")}\n${await page.text("#sql-said")}`;
    };
    assert.match(await run("SELECT 1; SELECT * FROM nowhere; SELECT 2"), /1\s+1 row\s+no such table: nowhere$/);
    assert.match(await run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 7)"), /fpr/);
    assert.match(await run("SELECT NULL, x'00ff', 9223372036854775807, 0.5, 1.0, 'naïve 😀', ''"),
      /NULL\s+x'00ff', 2 bytes\s+9223372036854775807\s+0\.5\s+1\.0\s+naïve 😀/);
    assert.match(await run("SELECT hex(zeroblob(5000))"), /…, 10000 characters/);
    assert.match(await run("SELECT 1\0; SELECT 2"), /NUL/);
    assert.match(await run("SELECT length(hex(zeroblob(900000000)))"), /out of memory|too big/);
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
    for (const key of [...views.map(() => "ArrowRight"), "End", "Home", "ArrowLeft"]) {
      await page.page.keyboard.press(key);
    }
    assert.equal(await page.page.evaluate(() => document.activeElement.id), "tab-sql");
    assert.equal(await page.page.$eval("#sql", (section) => section.hidden), false);
    assert.equal(await page.page.$$eval('[role="tab"][tabindex="0"]', (tabs) => tabs.length), 1);
    await page.page.keyboard.press("Home");
    await page.page.keyboard.press("Tab");  // the link
    await page.page.keyboard.press("Tab");  // the slider
    await page.page.keyboard.press("End");
    assert.equal((await page.figures("#filter-figures"))["words counted"][0], "1,000");
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

  async keeps_the_focus_where_it_was({ page }) {
    await page.click("#tab-ring");
    const focus = () => page.page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    await page.page.focus('[aria-label="Remove cache2"]');
    await page.page.setViewport({ width: 700, height: 900 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(await focus(), "Remove cache2");
    await page.page.keyboard.press("Enter");
    assert.equal(await focus(), "Remove cache3");
  },

  async fits_a_phone_dark_and_light({ page }) {
    const long = "long".repeat(20);
    await page.click("#tab-hashing");
    await page.set("#hashing-word", long);
    await page.click('#hashing-form [type="submit"]');
    await page.click("#tab-growth");
    await page.click("#growth-split");
    await page.click("#tab-index");
    await page.set("#index-key", long);
    await page.click('#index-form [type="submit"]');
    await page.click("#tab-filter");
    await page.set("#filter-word", long);
    await page.click("#filter-add");
    await page.click("#tab-ring");
    await page.set("#ring-node", `<img src=x onerror=alert(1)>`);
    await page.click('#ring-form [type="submit"]');
    await page.click("#tab-sql");
    await page.set("#sql-text", `SELECT * FROM ${long}${long}${long}`);
    await page.click('#sql-form [type="submit"]');
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
      for (const width of [320, 390, 800, 1280]) {
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
    const file = path.join(__dirname, `../pictures/playground_${view}.png`);
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
  await page.click("#tab-growth");
  await page.click("#growth-split");
  await page.click("#growth-split");
  await take("growth");
  await page.click("#tab-index");
  await page.click("#index-many");
  await page.click("#index-many");
  for (let i = 0; i < 40 && !(await page.text("#index-said")).includes("moved from"); ++i) {
    await page.click("#index-step");
  }
  await take("index");
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
  const chosen = Object.entries(tests).filter(([name]) => name.includes(process.env.PLAYGROUND_TESTS ?? ""));
  for (const [name, test] of chosen) {
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
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

main();
