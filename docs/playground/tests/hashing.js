// Tests of the view of plain cuckoo hashing. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

module.exports = {
  async hashing_has_each_word_in_one_of_its_two_cells({ page }) {
    assert.match(await page.text("#hashing"), /This view is a simulation/);
    assert.equal((await page.figures("#hashing-figures")).cells[0], "32");
    let [evictions, rehashes] = [0, 0];
    for (let i = 0; i < 120; ++i) {
      await page.click("#hashing-step");
      const said = await page.text("#hashing-said");
      evictions += / is evicted: /.test(said) ? 1 : 0;
      rehashes += /went|made anew/.test(said) ? 1 : 0;
      const [, word, cell, table] = /^“(.*)” belongs in cell (\d+) of table (\d)/.exec(said) ?? [];
      if (word !== undefined) {
        const marked = await page.page.$$eval(".cells .hit", (all) =>
          all.map((one) => [one.parentElement.id, one.innerText.replace(/\s+/g, " ")]),
        );
        assert.deepEqual(marked, [[`hashing-table-${table}`, `${cell} ${word}`]], said);
      }
      // At most half of the cells are taken, and a button that would do nothing is disabled.
      const {
        words: [all],
        cells: [room],
        "without a cell now": [waits],
      } = await page.figures("#hashing-figures");
      assert(count(all) <= count(room) / 2, `${all} words in ${room} cells`);
      assert.equal(
        await page.page.$eval("#hashing-finish", (one) => one.disabled),
        waits === "none",
      );
      // An arrow from the cell that each evicted word had to leave to its other one.
      const [, next, other] = /its other place is cell (\d+) of table (\d)/.exec(said) ?? [];
      const arrows = await page.page.$$eval("#hashing-arrows .arrow", (list) =>
        list.map((one) => {
          const [dot, tip] = [...one.querySelectorAll("circle, path")].map((end) => {
            const { left, width, top, height } = end.getBoundingClientRect();
            return [left + width / 2, top + height / 2];
          });
          return { dot, tip, waits: one.classList.contains("waits") };
        }),
      );
      assert.equal(arrows.filter((one) => one.waits).length, waits === "none" ? 0 : 1);
      if (next !== undefined) {
        const { dot, tip, waits: last } = arrows.at(-1);
        assert(last, said);
        for (const [[, y], of, at] of [
          [dot, table, cell],
          [tip, other, next],
        ]) {
          const [top, bottom] = await page.page.$eval(
            `#hashing-table-${of}`,
            (list, number) => {
              const box = list.children[number].getBoundingClientRect();
              return [box.top, box.bottom];
            },
            Number(at),
          );
          assert(y > top - 3 && y < bottom + 3, `${said}: ${y}, not ${top} … ${bottom}`);
        }
      }
      // Nothing is said twice.
      const lines = (await page.text("#hashing")).split("\n").filter((line) => line.length > 20);
      assert.equal(new Set(lines).size, lines.length, lines.join("\n"));
    }
    if (await page.page.$eval("#hashing-finish", (button) => !button.disabled)) {
      await page.click("#hashing-finish");
    }
    assert(evictions > 10 && rehashes > 1, `${evictions} evictions, ${rehashes} times anew`);
    const shown = await page.figures("#hashing-figures");
    const [round, numbered] = await page.page.evaluate(() => [
      hashingView.round,
      hashingView.numbered,
    ]);
    const cells = await page.page.$$eval(".cells", (tables) =>
      tables.map((table) => [...table.children].map((cell) => cell.lastChild.nodeValue)),
    );
    const found = cells.flatMap((table, which) =>
      table.flatMap((word, cell) => (word ? [[word, which + 1, cell]] : [])),
    );
    // SQL's sha1() says where each belongs.
    const places = await page.sql(
      found
        .map(
          ([word, table]) =>
            `SELECT '${word}' AS word, '0x' || substr(sha1('${round}:${table}:${word}'), 1, 8)`,
        )
        .join(" UNION ALL "),
    );
    found.forEach(([word, , cell], i) => {
      assert.equal(places[i][0], word);
      assert.equal(Number(places[i][1]) % cells[0].length, cell, word);
    });
    assert.deepEqual(
      found.map(([word]) => word).sort(),
      Array.from({ length: numbered }, (_, i) => `word ${i + 1}`).sort(),
    );
    assert.equal(count(shown.words[0]), numbered);
    assert.equal(count(shown.cells[0]), cells.flat().length);
    assert.equal(shown.load[0], `${((100 * numbered) / cells.flat().length).toFixed(1)} %`);
    assert.equal(count(shown["times that all was made anew"][0]), round - 1);
  },

  async hashing_asks_adds_and_removes({ page }) {
    const disabled = () =>
      page.page.$$eval("#hashing-form button", (buttons) =>
        buttons.filter((button) => button.disabled).map((button) => button.id),
      );
    assert.deepEqual(await disabled(), ["hashing-finish", "hashing-remove", "hashing-clear"]);
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
    for (const button of [add, "#hashing-ask", "#hashing-remove"]) {
      assert.match(await press(button, ""), /^Which word\?$/, button);
    }
    assert.deepEqual(await disabled(), ["hashing-finish"]);
    assert.match(await press("#hashing-ask", "'; DROP"), /: it is not there\./);
    assert.match(await press("#hashing-remove", "kiwi"), /was removed/);
    assert.match(await press("#hashing-ask", "kiwi"), /: it is not there\./);
    await press(add, "<b>long</b>".repeat(7));
    assert.equal((await page.figures("#hashing-figures")).words[0], "1");
    await page.click("#hashing-clear");
    assert.equal((await page.figures("#hashing-figures")).words[0], "0");
  },
};
