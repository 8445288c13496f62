// Tests of the flash view. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

// The pictures, of what SQL says of the sectors.
async function drawsWhatTheSectorsHold(page) {
  const { sectors, life, held, worn } = await page.page.evaluate(() => {
    const { database } = flashView;
    const part = (one) => Math.round(parseFloat(one.style.height) * 1000);
    return {
      sectors: database.rows(`SELECT state, erase_count, live_bytes, dead_bytes,
        live_bytes + dead_bytes + free_bytes FROM flash_kv_sectors('kv')`),
      life: database.value("SELECT endurance FROM flash_kv_info('kv')"),
      held: [...document.querySelectorAll("#flash-holds .sector")].map((sector) =>
        [...sector.children].map((one) => [one.className, part(one)]),
      ),
      worn: [...document.querySelectorAll("#flash-wear .block")].map((block) => [
        block.innerText,
        block.getAttribute("style"),
      ]),
    };
  });
  assert.equal(sectors.length, 128);
  assert.deepEqual(
    held,
    sectors.map(([state, , live, dead, all]) => [
      ["dead", Math.round((100000 * dead) / all)],
      [
        ["anchor", "checkpoint"].includes(state) ? "anchor" : "live",
        Math.round((100000 * live) / all),
      ],
    ]),
  );
  // A block has four sectors, which are erased as one; the scale goes from 0 to a block's life.
  assert.equal(worn.length, 32);
  worn.forEach(([text, style], block) => {
    const [state, erases] = sectors[4 * block];
    assert.equal(text, state === "bad" ? `${erases} ×` : String(erases));
    const [, percent] = /--worn\) (\d+)%/.exec(style);
    assert.equal(Number(percent), Math.min(100, Math.round((100 * erases) / life)));
  });
}

module.exports = {
  async flash_figures_are_those_of_the_table({ page }) {
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
      const bytes = (number) =>
        number < 10240
          ? `${number.toLocaleString("en-US")} bytes`
          : `${Math.round(number / 1024)} KB`;
      assert.equal(
        shown["live, dead, free"][0],
        [info.live_bytes, info.dead_bytes, info.free_bytes].map(bytes).join(", "),
      );
      assert.equal(shown["written by you"][0], bytes(info.bytes_written));
      assert.equal(shown["programmed into the chip"][0], bytes(info.bytes_programmed));
      assert.equal(
        shown["of a block: fewest, mean, most"][0],
        `${info.erase_min}, ${info.erase_avg.toFixed(1)}, ${info.erase_max}`,
      );
      assert.equal(shown["room for live values"][0], bytes(info.usable_bytes));
      assert.equal(shown["blocks that went bad"][0], "0");
      assert(info.collections > 100 && info.write_amplification > 1, JSON.stringify(info));
      await drawsWhatTheSectorsHold(page);
      assert(
        (await page.text("#flash-wear-text")).includes(
          `with ${info.erase_max} of 100,000 erases: `,
        ),
        "the map's wear is the table's",
      );
      // Of the last 500 overwrites uniform ones reach nearly all of the 160 keys, skewed ones not
      // half of the cold.
      const fresh = await page.page.evaluate(() =>
        flashView.database.value(
          "SELECT count(*) FROM kv WHERE CAST(substr(value, 9) AS INTEGER) > 2500",
        ),
      );
      assert(keys === "uniform" ? fresh > 140 : fresh < 100, `${keys}: ${fresh} keys`);
      console.log(`  ${keys}: write amplification ${info.write_amplification.toFixed(2)}`);
    }
  },

  async flash_goes_step_by_step({ page }) {
    await page.click("#flash-new");
    const info = () =>
      page.page.evaluate(() =>
        flashView.database.row(
          "SELECT bytes_written, bytes_programmed, collections, erases FROM flash_kv_info('kv')",
        ),
      );
    const seen = { collected: 0, erased: 0, neither: 0 };
    for (let i = 1; i <= 900; ++i) {
      const before = await info();
      await page.click("#flash-one");
      const [written, programmed, collections, erases] = (await info()).map(
        (after, at) => after - before[at],
      );
      const said = await page.text("#flash-said");
      const [, key, ...bytes] =
        /^(key \d+) got another value: you wrote (\d+) bytes, and ([\d,]+) bytes/.exec(said);
      assert.deepEqual(bytes.map(count), [written, programmed], said);
      const [value] = await page.page.evaluate(
        (of) => flashView.database.row("SELECT value FROM kv WHERE key = ?", of),
        key,
      );
      assert(value.startsWith(`version ${i} `), `${key}: ${value}`);
      assert.equal(/collected first/.test(said), collections > 0, said);
      assert.equal(/erased to be written anew/.test(said), erases > 0, said);
      seen.collected += collections > 0 ? 1 : 0;
      seen.erased += erases > 0 ? 1 : 0;
      seen.neither += collections === 0 && erases === 0 ? 1 : 0;
    }
    assert(
      Object.values(seen).every((times) => times > 0),
      JSON.stringify(seen),
    );
  },

  async flash_shows_a_collection_step_by_step({ page }) {
    assert.match(await page.text("#flash"), /“cuckoo slot cache” of the articles/);
    const sectors = () => page.page.evaluate(() => flashMap.read(flashView.database));
    let copies = 0;
    for (let i = 0; i < 12; ++i) {
      await page.click("#flash-collect");
      const chosen = await page.text("#flash-said");
      const [, block, live, dead, age, room, score] =
        new RegExp(
          "Block (\\d+) was chosen: a copy of its " +
            "([\\d,]+) live bytes gives back ([\\d,]+) dead ones, and nothing was written to it " +
            "for ([\\d,]+) " +
            "changes, .* ÷ \\(([\\d,]+) \\+ [\\d,]+\\) = ([\\d,]+), more than of any other",
        ).exec(chosen) ?? [];
      assert(block, chosen);
      const [bytesLive, bytesDead, changes, bytesRoom, result] = [live, dead, age, room, score].map(
        count,
      );
      assert.equal(bytesLive + bytesDead, bytesRoom);
      assert.equal(Math.round((bytesDead * changes) / (bytesRoom + bytesLive)), result, chosen);
      const shown = await page.page.evaluate(() => flashView.shown.sectors);
      const of = (list) => list.slice(4 * block, 4 * block + 4);
      const sum = (list, part) => of(list).reduce((total, sector) => total + sector[part], 0);
      assert.equal(sum(shown, "live"), bytesLive + 2048 - bytesRoom, "with the block's header");
      const marked = await page.page.$$eval("#flash-holds .block.hit .index", (list) =>
        list.map((one) => one.innerText),
      );
      assert.deepEqual(marked, [block]);

      await page.click("#flash-collect");
      const copied = await page.text("#flash-said");
      const [, rows, into, named] =
        /^Its (\d+) live rows? (?:was|were) copied to block ([\d and]+): (.*?)\. You/.exec(
          copied,
        ) ?? [];
      assert(rows !== undefined || /No row of block/.test(copied), copied);
      if (rows !== undefined) {
        copies += Number(rows);
        const keys = named.replace(/ and \d+ more/, "").split(", ");
        assert.equal(keys.length, Math.min(6, Number(rows)));
        const places = await page.page.evaluate(
          (all) =>
            all.map((key) =>
              Math.floor(flashView.database.value("SELECT sector FROM kv WHERE key = ?", key) / 4),
            ),
          keys,
        );
        assert(
          places.every((place) => into.split(" and ").map(Number).includes(place)),
          copied,
        );
      }

      await page.click("#flash-collect");
      const erased = await page.text("#flash-said");
      const [, same, times] =
        /^Block (\d+) .* was erased, for the (\d+)\w\w time/.exec(erased) ?? [];
      assert.equal(same, block, erased);
      assert.doesNotMatch(erased, /left/);
      const now = await sectors();
      assert.equal(of(now)[0].erases, Number(times));
      assert.equal(of(now)[0].erases, of(shown)[0].erases + 1);
      await drawsWhatTheSectorsHold(page);
    }
    assert(copies > 12, `${copies} copies`);
    // The block that core would collect now has the highest score of those that may be.
    for (let i = 0; i < 30; ++i) {
      await page.click("#flash-one");
      const wrong = await page.page.evaluate(() => {
        const { blocks, victim, room } = flashCollection.lookAt(flashView.database);
        const scores = blocks.map((one) =>
          one.data && !one.open && one.live < room ? flashCollection.score(one, room) : -1,
        );
        return scores.filter((score) => score > scores[victim]);
      });
      assert.deepEqual(wrong, []);
    }
    // Another button ends what is shown in steps.
    await page.click("#flash-collect");
    await page.click("#flash-one");
    assert.equal(await page.page.evaluate(() => flashView.steps.left), 0);
    await drawsWhatTheSectorsHold(page);
  },

  async flash_stacks_its_halves_on_a_phone({ page }) {
    for (const [width, stacked] of [
      [390, true],
      [1280, false],
    ]) {
      await page.page.setViewport({ width, height: 900 });
      const [holds, wear] = await page.page.evaluate(() =>
        ["flash-holds", "flash-wear"].map((id) => {
          const { left, right, top, bottom } = document.getElementById(id).getBoundingClientRect();
          return { left, right, top, bottom };
        }),
      );
      assert.equal(wear.top > holds.bottom, stacked, `${width}`);
      assert.equal(wear.left > holds.right, !stacked, `${width}`);
    }
  },

  async flash_wears_out_and_says_so({ page }) {
    await page.set("#flash-endurance", 40);
    await page.click("#flash-run");
    const worn = async () =>
      count((await page.figures("#flash-figures"))["blocks that went bad"][0]);
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
    const [, most, percent] = /with (\d+) of 40 erases: (\d{2,3}) % of its life/.exec(
      await page.text("#flash-wear-text"),
    );
    assert.equal(percent, ((100 * most) / 40).toFixed(0));
    await drawsWhatTheSectorsHold(page);
    const entries = await page.page.evaluate(() =>
      flashView.database.row("SELECT count(*), count(value), cuckoo_check('kv') FROM kv"),
    );
    assert.deepEqual(entries, [160, 160, "ok"], "nothing is lost");
    await page.set("#flash-endurance", 100000);
  },

  async flash_keeps_what_was_committed_when_the_power_goes({ page }) {
    await page.click("#flash-step");
    const rows = () =>
      page.page.evaluate(() => flashView.database.rows("SELECT key, value FROM kv ORDER BY key"));
    const before = await rows();
    let journals = 0;
    for (let i = 0; i < 30; ++i) {
      await page.click("#flash-cut");
      const said = await page.text("#flash-said");
      const [, moment, steps, journal, all] =
        new RegExp("^The power went after step (\\d+) of the (\\d+) .*; (a|no) journal .* " +
          "160 of 160 keys are there, (0|160) have .* says ok").exec(
          said,
        ) ?? [];
      assert(Number(moment) >= 1 && Number(moment) <= Number(steps) && Number(steps) > 20, said);
      journals += journal === "a" ? 1 : 0;
      // The journal's deletion is the commit.
      assert.deepEqual(
        await rows(),
        all === "0" ? before : before.map(([key]) => [key, "the last one"]),
        said,
      );
      if (all !== "0") {
        assert.equal(journal, "no", said);
        break;
      }
    }
    assert(journals > 0, `${journals} cuts left a journal`);
  },

  async flash_runs_once_however_often_one_clicks({ page }) {
    await page.page.evaluate(() => {
      for (let i = 0; i < 9; ++i) {
        document.getElementById("flash-run").click();
      }
    });
    const [frames, overwritten] = await page.page.evaluate(
      () =>
        new Promise((resolve) => {
          const start = flashView.overwritten;
          let count = 0;
          const next = () =>
            ++count === 20
              ? resolve([count, flashView.overwritten - start])
              : requestAnimationFrame(next);
          requestAnimationFrame(next);
        }),
    );
    assert(
      overwritten > 0 && overwritten <= 100 * (frames + 1),
      `${overwritten} in ${frames} frames`,
    );
    await page.click("#flash-run");
  },
};
