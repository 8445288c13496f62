// Tests of the filter view. See ../test.js
"use strict";

const assert = require("node:assert/strict");
const path = require("node:path");

const { count } = require("./page.js");

module.exports = {
  async filter_figures_are_those_of_tables({ page }) {
    for (const [words, rate] of [
      [40, 0.03],
      [700, 0.03],
      [1000, 0.001],
      [1000, 0.25],
    ]) {
      await page.set("#filter-capacity", 1000);
      await page.set("#filter-rate", rate);
      await page.set("#filter-count", words);
      const shown = await page.figures("#filter-figures");
      const table = (kind) => `CREATE TABLE numbers AS WITH RECURSIVE n(value) AS
          (VALUES (0) UNION ALL SELECT value + 1 FROM n WHERE value < 19999) SELECT value FROM n;
        CREATE VIRTUAL TABLE ${kind} USING ${kind}_filter(word TEXT, capacity = 1000, fpr =
          ${rate}, seed = 1);
        INSERT INTO ${kind} SELECT 'word ' || value FROM numbers WHERE value BETWEEN 1 AND
          ${words};`;
      for (const [column, kind] of ["cuckoo", "bloom"].entries()) {
        const [[counted, capacity, fpr]] = await page.sql(
          `${table(kind)} SELECT items, capacity, fpr FROM filter_info('${kind}')`,
        );
        const [[bits]] =
          await page.sql(`SELECT round(bits_per_key * 1000) FROM filter_plan(1000, ${rate})
          WHERE module = '${kind}_filter' AND ifnull(layout, '') IN ('', 'standard')`);
        // An image has all that the table holds in its cells, as the view's filters have.
        const [[load, now, wrong]] = await page.sql(
          `${table(kind)} CREATE TABLE image AS SELECT filter_export('${kind}') AS bytes;
           SELECT load_factor, fpr_now, (SELECT count(*) FROM numbers, image
             WHERE filter_contains(bytes, 'stranger ' || value)) FROM image, filter_info(bytes)`,
        );
        const cell = (name) => shown[name][column];
        // A Bloom filter counts, when it is folded, what did not look as if it were there: the view
        // folds more often than the table.
        const items = count(cell("words counted"));
        const differs = kind === "bloom" ? Math.floor(words * rate) : 0;
        assert(
          Math.abs(items - counted) <= differs,
          `${kind}: ${items} words, the table says ${counted}`,
        );
        assert.equal(count(cell("made for so many words")), capacity);
        assert.equal(
          cell("size of the cells"),
          `${Math.round(bits / 8).toLocaleString("en-US")} bytes`,
        );
        assert.equal(cell("bits a word"), (bits / items).toFixed(1));
        assert.equal(cell("wrong “probably”, at most"), `${(100 * fpr).toFixed(1)} %`);
        assert.equal(cell("of these taken, or set"), `${(100 * load).toFixed(1)} %`);
        assert.equal(cell("expected now"), `${(100 * now).toFixed(2)} %`);
        assert.equal(cell("measured, 20,000 strangers"), `${(100 * (wrong / 20000)).toFixed(2)} %`);
      }
    }
  },

  async filter_answers_as_tables_do({ page }) {
    await page.set("#filter-capacity", 64);
    await page.set("#filter-rate", 0.25);
    await page.set("#filter-count", 60);
    const words = [
      "word 1",
      "word 60",
      ...Array.from({ length: 40 }, (_, i) => `other ${i}`),
      "naïve 😀",
      "'",
    ];
    const holds = (
      kind,
    ) => `CREATE VIRTUAL TABLE t USING ${kind}_filter(word TEXT, capacity = 64, fpr = 0.25,
        seed = 1);
      INSERT INTO t WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n
        WHERE value < 60)
        SELECT 'word ' || value FROM n;
      SELECT filter_contains(filter_export('t'), value) FROM
        json_each('${JSON.stringify(words).replaceAll("'", "''")}')`;
    const expected = [await page.sql(holds("cuckoo")), await page.sql(holds("bloom"))];
    let wrong = 0;
    for (const [i, word] of words.entries()) {
      await page.set("#filter-word", word);
      await page.click("#filter-ask");
      const said = await page.text("#filter-said");
      const answers = [
        ...said.matchAll(/filter: (probably there|definitely not there)(, which is wrong)?;/g),
      ];
      // What it read, from filters that the view knows nothing of.
      const read = await page.page.evaluate(
        (asked) =>
          ["cuckoo", "bloom"].map((kind) => {
            const filter = core.filterNew(filterView.kinds[kind], 64, 0.25, 1);
            const answer = core.filterAsk(filter, asked);
            core.filterDelete(filter);
            return answer;
          }),
        word,
      );
      assert(
        said.includes(
          `fingerprint ${read[0].fingerprint.toString(16)} in buckets ` +
            `${[...new Set(read[0].buckets)].join(" and ")}.`,
        ),
        said,
      );
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
    const buckets = () =>
      page.page.evaluate(() => core.filterState(filterView.filters.cuckoo).buckets);
    for (let i = 0; i < 5; ++i) {
      await page.click("#filter-relocate");
      const said = await page.text("#filter-said");
      const [, word, first, into] =
        /^“(.*)”: fingerprint (\w+) went into bucket (\d+), whose/.exec(said) ?? [];
      assert(word, said);
      const moves = [...said.matchAll(/(\w+) moved to its other bucket, (\d+)/g)];
      assert(moves.length > 0, said);
      const after = await buckets();
      for (const [fingerprint, bucket] of [
        [first, into],
        ...moves.map(([, moved, to]) => [moved, to]),
      ]) {
        assert(
          after[Number(bucket)].includes(parseInt(fingerprint, 16)),
          `${said}: ${fingerprint} in ${bucket}`,
        );
      }
      await page.set("#filter-word", word);
      await page.click("#filter-ask");
      assert.match(
        await page.text("#filter-said"),
        /^[^:]*cuckoo filter: probably there; .*Bloom filter: probably there;/,
      );
    }
  },

  async filter_shows_an_insert_one_move_at_a_time({ page }) {
    await page.set("#filter-capacity", 250);
    await page.set("#filter-count", 225);
    const buckets = (from) =>
      page.page.evaluate((text) => eval(text).map((values) => values.slice().sort()), from);
    const held = () => buckets("core.filterState(filterView.filters.cuckoo).buckets");
    const drawn = () =>
      buckets("filterView.stepped ?? core.filterState(filterView.filters.cuckoo).buckets");
    let moves = 0;
    for (let i = 0; i < 60 && moves < 3; ++i) {
      const before = await held();
      await page.click("#filter-step");
      let said = await page.text("#filter-said");
      const after = await held();
      const [, first, ways] =
        /fingerprint (\w+) belongs .* both are full.* has (\d+) move/.exec(said) ?? [];
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
        const [, moved, from, to] =
          /^(\w+) moved from bucket (\d+) to its other bucket, (\d+)/.exec(said) ?? [];
        assert(moved, said);
        const now = await drawn();
        const changed = now.flatMap((values, bucket) =>
          values.join() === last[bucket].join() ? [] : [String(bucket)],
        );
        assert.deepEqual(
          changed,
          [from, to].sort((a, b) => a - b),
          said,
        );
        assert(
          last[from].includes(parseInt(moved, 16)) && now[to].includes(parseInt(moved, 16)),
          said,
        );
        moves += 1;
      }
      await page.click("#filter-step");
      assert.match(
        await page.text("#filter-said"),
        new RegExp(`^${first} took the place in bucket`),
      );
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
    const [[times]] =
      await page.sql(`CREATE VIRTUAL TABLE t USING cuckoo_filter(word TEXT, capacity = 250, fpr ` +
        `= 0.03,
        seed = 1);
      WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 100)
        INSERT INTO t SELECT 'word ' || value FROM n;
      WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 20)
        INSERT INTO t SELECT 'kiwi' FROM n;
      SELECT count FROM t WHERE word = 'kiwi'`);
    const { buckets, fingerprint, all } = await page.page.evaluate(() => ({
      ...core.filterAsk(filterView.filters.cuckoo, "kiwi"),
      all: core.filterState(filterView.filters.cuckoo).buckets,
    }));
    const inBuckets = [...new Set(buckets)]
      .flatMap((bucket) => all[bucket])
      .filter((value) => value === fingerprint);
    const shown = await page.figures("#filter-overflow");
    assert.deepEqual(Object.keys(shown), [fingerprint.toString(16)]);
    const [lower, counted] = Object.values(shown)[0].map(count);
    assert.equal(lower, Math.min(...buckets));
    assert(counted > 0);
    assert.equal(inBuckets.length + counted, times, "what SQL counts");
    assert.match(
      await page.text("#filter-cuckoo-caption"),
      new RegExp(`${counted} are counted in the overflow table`),
    );
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
    assert.match(
      await press("ask", "kiwi"),
      /cuckoo filter: probably there; .* Bloom filter: probably there;/,
    );
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
    assert.match(
      denied,
      /definitely not there, because a Remove of a word that wasn't took its fingerprint/,
    );
  },

  async filter_takes_a_large_list({ page }) {
    await page.click("#filter summary");
    await page.set("#filter-list", Array.from({ length: 60000 }, (_, i) => `line ${i}`).join("\n"));
    await page.click("#filter-list-add");
    assert.match(await page.text("#filter-said"), /60,000 words were added/);
    assert.match(await page.text("#filter-cuckoo-caption"), /the first 2,000 buckets are drawn/);
    assert(await page.page.$eval("#filter-cuckoo", (canvas) => canvas.clientHeight < 3000));
  },

  async filter_grows_forgets_and_is_emptied({ page }) {
    await page.set("#filter-capacity", 64);
    await page.set("#filter-count", 900);
    let shown = await page.figures("#filter-figures");
    assert(
      shown["made for so many words"].every((room) => count(room) >= 900),
      shown["made for so many words"],
    );
    const [cuckoo, bloom] = shown["made for so many words"];
    assert.equal(
      await page.text("#filter-grown"),
      `grown to ${cuckoo}${cuckoo === bloom ? "" : ` and ${bloom}`}`,
    );
    await page.set("#filter-count", 30);
    shown = await page.figures("#filter-figures");
    assert.deepEqual(shown["words counted"], ["30", "30"]);
    await page.write("#filter-word", "kiwi");
    await page.click("#filter-add");
    await page.click("#filter-ask");
    assert.match(
      await page.text("#filter-said"),
      /cuckoo filter: probably there; .*Bloom filter: probably there;/,
    );
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
};
