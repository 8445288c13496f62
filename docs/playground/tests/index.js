// Tests of the view of a flash store's index. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

module.exports = {
  async index_shows_the_slots_of_the_table({ page }) {
    for (const [ways, most] of [
      [4, 70],
      [1, 24],
      [2, 40],
    ]) {
      await page.set("#index-ways", ways);
      let [moves, grown] = [0, 0];
      while ((await page.page.evaluate(() => indexView.numbered)) < most) {
        await page.click("#index-step");
        const said = await page.text("#index-said");
        const [, hash, from, to] =
          /^(\w{8}) moved from bucket (\d+) to its other bucket, (\d+)/.exec(said) ?? [];
        if (hash !== undefined) {
          moves += 1;
          const marked = await page.page.$$eval("#index-buckets > .hit .index", (list) =>
            list.map((one) => one.innerText),
          );
          assert.deepEqual(
            marked,
            [from, to].sort((a, b) => a - b),
            said,
          );
          assert(
            (await page.page.$eval("#index-buckets .slot.hit", (slot) => slot.title)).startsWith(
              `hash ${hash}`,
            ),
            said,
          );
        }
        grown += /So the index grew from/.test(said) ? 1 : 0;
      }
      while ((await page.page.evaluate(() => indexView.steps.left)) > 0) {
        await page.click("#index-step");
      }
      assert(moves > 0 && grown > 0, `${ways} slots: ${moves} moves, ${grown} times larger`);
      const columns = "entries, load_factor, slot_moves, expansions, index_bytes";
      const [[entries, load, slotMoves, expansions, indexBytes]] = await page.sql(
        `CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, size = '256KB', sector_size = ` +
        `512, erase_block = 4,
           hashes = 2, ways = ${ways}, seed = 1);
         ${Array.from(
           { length: most },
           (_, i) =>
             `INSERT INTO kv VALUES ('key ${i + 1}', '${`version ${i + 1} `.padEnd(20, ".")}');`,
         ).join("")}
         SELECT ${columns} FROM flash_kv_info('kv')`,
      );
      const shown = await page.figures("#index-figures");
      assert.equal(count(shown.keys[0]), entries);
      assert.equal(entries, most);
      assert.equal(shown["load of the slots"][0], `${(100 * load).toFixed(1)} %`);
      assert.equal(count(shown["entries moved"][0]), slotMoves);
      assert.equal(count(shown["times that it grew"][0]), expansions);
      assert.equal(shown["memory of the index"][0], `${indexBytes.toLocaleString("en-US")} bytes`);
      const slots = await page.page.$$eval("#index-buckets .slot", (list) =>
        list.map((slot) => slot.innerText),
      );
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
          const at = all.findIndex(
            ([slotHash, slotPosition]) => slotHash === hash && slotPosition === position,
          );
          return (
            Math.floor((position * unit) / 512) !== sector ||
            !(buckets.includes(Math.floor(at / inBucket)) || (at < 0 && stash > 0))
          );
        });
      });
      assert.deepEqual(wrong, []);
    }
  },

  async index_asks_overwrites_and_removes({ page }) {
    await page.click("#index-many");
    const press = async (selector, key) => {
      await page.set("#index-key", key);
      await page.click(selector);
      return page.text("#index-said");
    };
    const write = '#index-form [type="submit"]';
    const [, place] =
      /points to unit (\d+).*“version 7 /.exec(await press("#index-ask", "key 7")) ?? [];
    assert(place);
    assert.match(
      await press(write, "key 7"),
      new RegExp(`the record before, at unit ${place}, is dead`),
    );
    assert.match(await press("#index-ask", "key 7"), /“version 21 /);
    assert.match(await press("#index-ask", "nobody"), /it is not there/);
    assert.match(await press("#index-remove", "nobody"), /nothing to remove/);
    await press("#index-remove", "key 7");
    assert.match(await press("#index-ask", "key 7"), /it is not there/);
    assert.equal((await page.figures("#index-figures")).keys[0], "19");
    assert.match(await press(write, ""), /Which key/);
    assert.match(await press(write, "naïve 😀"), /programmed at unit/);
    assert.match(await press("#index-ask", "naïve 😀"), /“version 22 /);
    assert.equal(
      await page.page.evaluate(() => indexView.database.value("SELECT cuckoo_check('kv')")),
      "ok",
    );
  },
};
