// Tests of the growth view. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

module.exports = {
  async growth_shows_the_segments_of_the_table({ page }) {
    assert.equal(await page.page.$$eval(".three figure", (figures) => figures.length), 3);
    const batches = 33;
    const said = [];
    for (let i = 0; i < batches; ++i) {
      const [, next] =
        /that of (?:segment )?(\d+|the only segment): it is folded next/.exec(
          await page.text("#growth-log-text"),
        ) ?? [];
      await page.click("#growth-step");
      said.push(await page.text("#growth-said"));
      const turns = [
        ...said.at(-1).matchAll(/Segment (\d+), which had the oldest pending entry,/g),
      ].map(([, name]) => name);
      assert(turns.length === 0 || turns.includes(next), `${next} was next: ${said.at(-1)}`);
    }
    const all = said.join("\n");
    assert.doesNotMatch(all, /of all/);
    assert.match(all, /too few to fold a segment/);
    assert.match(all, /was made anew of its hashes: room for/);
    assert.match(all, /The only segment was folded: its pending entries went into its pages/);
    assert.match(
      all,
      /The only segment would have got more than the [\d,]+ words .* into segments 0 and 1\./,
    );
    assert.match(all, /Segment [01]+, which had the oldest pending entry, was /);
    // The same table elsewhere.
    const columns = ["items", "segments", "log_entries", "disk_bytes"];
    const [info] = await page.sql(`PRAGMA page_size = 512;
      CREATE VIRTUAL TABLE words USING cuckoo_filter(word TEXT, capacity = 500, fpr = 1e-8, seed
        = 1);
      ${Array.from(
        { length: batches },
        (_, i) => `INSERT INTO words WITH RECURSIVE n(i) AS (VALUES (${500 * i + 1})
        UNION ALL SELECT i + 1 FROM n WHERE i < ${500 * (i + 1)}) SELECT 'word ' || i FROM n;`,
      ).join("")}
      SELECT ${columns} FROM filter_info('words')`);
    const shown = await page.figures("#growth-figures");
    const segments = await page.page.$$eval("#growth-segments tbody tr", (rows) =>
      rows.map((row) => [...row.cells].map((cell) => cell.innerText)),
    );
    const bytes = (number) =>
      number < 10240
        ? `${number.toLocaleString("en-US")} bytes`
        : `${Math.round(number / 1024).toLocaleString("en-US")} KB`;
    assert.deepEqual(
      [
        count(shown.words[0]),
        count(shown.segments[0]),
        count(shown["entries in the log"][0]),
        shown["size on disk"][0],
      ],
      [...info.slice(0, 3), bytes(info[3])],
    );
    assert.equal(info[0], 500 * batches);
    const sum = (column) => segments.reduce((total, cells) => total + count(cells[column]), 0);
    assert.equal(segments.length, info[1]);
    assert(info[1] > 1, "it was split");
    assert.equal(sum(1) + sum(3), info[0], "what is held and what pends is all");
    assert.equal(sum(3), count(shown["entries that pend"][0]));
    assert.equal(sum(2), count(shown["room for"][0]));
    // The log: a cell for each transaction, and a bar from each segment's oldest pending entry on.
    const log = await page.page.evaluate(() => {
      const { segments: list, position } = growthView.now();
      const widths = [...document.getElementById("growth-pending").children].map(
        (bar) => bar.getBoundingClientRect().width / bar.parentElement.clientWidth,
      );
      return {
        position,
        widths,
        cells: document.querySelectorAll(".logged").length,
        pending: document.querySelectorAll(".logged.pends").length,
        from: list.filter(({ pending: some }) => some > 0).map(({ from }) => from),
      };
    });
    assert.equal(log.cells, Math.min(40, Math.ceil(info[2] / 500)));
    assert.equal(log.position, 500 * batches);
    assert.equal(log.pending, Math.ceil((log.position - Math.min(...log.from)) / 500));
    const bars = log.from.map((from) => Math.min(1, (log.position - from) / (500 * log.cells)));
    bars
      .sort((a, b) => b - a)
      .forEach((part, i) =>
        assert(Math.abs(log.widths[i] - part) < 0.01, `bar ${i}: ${log.widths[i]}, not ${part}`),
      );
    // The prefixes partition the hashes, and the picture has a segment for each.
    const parts = segments.map(([prefix]) => 2 ** -prefix.length);
    assert.equal(
      parts.reduce((total, part) => total + part, 0),
      1,
    );
    const drawn = await page.page.$$eval("#growth-picture .segment", (list) =>
      list.map((one) => [
        one.offsetWidth / one.parentElement.clientWidth,
        one.querySelector(".held").offsetHeight / one.clientHeight,
      ]),
    );
    const most = count(shown["a segment is split beyond"][0]);
    segments.forEach(([, held], i) => {
      assert(Math.abs(drawn[i][0] - parts[i]) < 0.01, `width of segment ${i}: ${drawn[i][0]}`);
      assert(
        Math.abs(drawn[i][1] - count(held) / most) < 0.02,
        `height of segment ${i}: ${drawn[i][1]}`,
      );
    });
  },

  async growth_forgets_and_begins_anew({ page }) {
    const disabled = () =>
      page.page.$$eval("#growth button:disabled", (buttons) => buttons.map((button) => button.id));
    assert.deepEqual(await disabled(), ["growth-remove", "growth-new"]);
    await page.click("#growth-split");
    assert.deepEqual(await disabled(), []);
    assert.match(await page.text("#growth-said"), /was split by the next bit/);
    const words = count((await page.figures("#growth-figures")).words[0]);
    await page.click("#growth-remove");
    assert.equal(count((await page.figures("#growth-figures")).words[0]), words - 500);
    assert.equal(
      await page.page.evaluate(() => growthView.database.value("SELECT cuckoo_check('words')")),
      "ok",
    );
    await page.click("#growth-new");
    assert.deepEqual((await page.figures("#growth-figures")).words, ["0"]);
    assert.deepEqual(await disabled(), ["growth-remove", "growth-new"]);
  },
};
