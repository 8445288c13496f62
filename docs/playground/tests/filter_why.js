// Tests of what the filter view draws, and of how it explains. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

module.exports = {
  async filter_draws_what_it_holds({ page }) {
    const cases = [
      [64, 50, "light"],
      [250, 230, "dark"],
      [1000, 900, "light"],
    ];
    for (const [capacity, words, scheme] of cases) {
      await page.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.set("#filter-capacity", capacity);
      await page.set("#filter-count", words);
      await page.click("#filter-relocate");
      const wrong = await page.page.evaluate(() => {
        const { filters, marks } = filterView;
        const {
          drawn: { places, moves, routes },
          bloomPlaces,
        } = filterPicture;
        const wanted = document
          .createElement("canvas")
          .getContext("2d", { willReadFrequently: true });
        const pixels = new Map(); // of each canvas, read once
        const rgb = (colour) => {
          // on the page's background
          for (const one of [dom.colour("back"), colour]) {
            wanted.fillStyle = one;
            wanted.fillRect(0, 0, 1, 1);
          }
          return [...wanted.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const near = (canvas, x, y, colour) => {
          const scale = canvas.width / canvas.clientWidth;
          if (!pixels.has(canvas)) {
            pixels.set(
              canvas,
              canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data,
            );
          }
          const at = 4 * (Math.round(y * scale) * canvas.width + Math.round(x * scale));
          const [r, g, b, opaque] = pixels.get(canvas).slice(at, at + 4);
          const back = rgb(dom.colour("back"));
          const seen = [r, g, b].map((part, i) => (part * opaque + back[i] * (255 - opaque)) / 255);
          const to = rgb(colour);
          return seen.reduce((sum, part, i) => sum + Math.abs(part - to[i]), 0) < 90;
        };
        const complaints = [];
        const cuckoo = document.getElementById("filter-cuckoo");
        const { side, corner } = places;
        const involved = new Set(marks.path.map(([bucket]) => bucket));
        let cells = 0;
        const boxes = []; // what no arrow may cover
        core.filterState(filters.cuckoo).buckets.forEach((values, bucket) => {
          const [left, top] = corner(bucket);
          boxes.push([
            places.numbered ? places.number(bucket)[0] : left,
            left + 4 * side - 1,
            top,
            top + side - 1,
          ]);
          values.forEach((value, slot) => {
            const inset = involved.has(bucket) ? 4 : 2; // its edge is marked
            const colour = filterPicture.cellColour(value, !involved.has(bucket));
            cells += 1;
            if (side >= 12 && !near(cuckoo, left + slot * side + inset, top + inset, colour)) {
              complaints.push(`bucket ${bucket}, slot ${slot}: ${value}`);
            }
          });
        });
        if (cells < 40 || moves.length !== marks.path.length - 1) {
          complaints.push(`${cells} cells seen, ${moves.length} arrows`);
        }
        for (const [bucket] of marks.path) {
          const [left, top] = corner(bucket);
          if (!near(cuckoo, left - 2, top + side / 4, dom.colour("hit"))) {
            complaints.push(`bucket ${bucket} of the path is not marked`);
          }
        }
        // Each begins at the cell of the one that came, and ends at that of the one that left.
        const all = core.filterState(filters.cuckoo).buckets;
        moves.forEach(({ from, to }, i) => {
          const [[came, came_value], [left, left_value]] = [marks.path[i], marks.path[i + 1]];
          if (
            from[0] !== came ||
            to[0] !== left ||
            all[came][from[1]] !== came_value ||
            all[left][to[1]] !== left_value
          ) {
            complaints.push(`move ${i} is from ${from} to ${to}`);
          }
        });
        for (const [i, route] of routes.entries()) {
          const middle = (bucket, slot) => corner(bucket)[0] + (slot + 0.5) * side;
          const { from, to } = moves[i];
          if (route[0][0] !== middle(...from) || route.at(-1)[0] !== middle(...to)) {
            complaints.push(`arrow ${i} begins or ends elsewhere`);
          }
          route.slice(1).forEach(([x2, y2], k) => {
            const [x1, y1] = route[k];
            const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
            if (Math.hypot(x2 - x1, y2 - y1) > 12 && !near(cuckoo, x, y, dom.colour("ink"))) {
              complaints.push(`part ${k} of arrow ${i} is not drawn`);
            }
            for (const [left, right, top, bottom] of boxes) {
              if (
                Math.max(x1, x2) > left &&
                Math.min(x1, x2) < right &&
                Math.max(y1, y2) > top &&
                Math.min(y1, y2) < bottom
              ) {
                complaints.push(`part ${k} of arrow ${i} covers a bucket`);
              }
            }
          });
        }
        const bloom = document.getElementById("filter-bloom");
        [...core.filterState(filters.bloom).bits].forEach((bit, at) => {
          const [x, y] = bloomPlaces.corner(at);
          const inside = Math.floor(bloomPlaces.side / 2);
          const marked = marks.cells.some((cell) => {
            const [left, top] = bloomPlaces.corner(cell);
            return Math.hypot(left - x, top - y) < 2 * bloomPlaces.side + 6;
          });
          const colour = dom.colour(bit === "1" ? "set" : "empty");
          if (!marked && !near(bloom, x + inside, y + inside, colour)) {
            complaints.push(`bit ${at}: ${bit}`);
          }
          if (
            marks.cells.includes(at) &&
            bloomPlaces.side > 8 &&
            !near(bloom, x - 1, y + inside, dom.colour("hit"))
          ) {
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

  // The numbers of the line, from filters that the view knows nothing of.
  async filter_says_why_a_bucket_is_the_other_one({ page }) {
    const explained = async (moved) => {
      const why = await page.text("#filter-why");
      const [, other, bucket, hex, sum, result] =
        new RegExp("^Why (\\d+) is the other bucket of (\\d+): the hash of fingerprint (\\w+) " +
          "is (\\d+), and (.*?)\\. So").exec(
          why,
        ) ?? [];
      assert(result, why);
      const known = await page.page.evaluate(
        (at, value) => {
          const filter = core.filterNew(
            filterView.kinds.cuckoo,
            core.filterState(filterView.filters.cuckoo).capacity,
            0.03,
            1,
          );
          const answer = core.filterOther(filter, at, value);
          const { buckets } = core.filterState(filter);
          core.filterDelete(filter);
          return { ...answer, buckets: buckets.length };
        },
        Number(bucket),
        parseInt(hex, 16),
      );
      assert.deepEqual([Number(other), Number(sum)], [known.other, known.sum], why);
      for (const sentence of result.split(", and ")) {
        const [left, right] = sentence.split(" = ");
        const value = left.replaceAll("−", "-").split(" ").join("");
        assert.match(value, /^\d+-\d+(\+\d+)?$/);
        const [plus, minus, more = 0] = value.split(/[-+]/).map(Number);
        assert.equal(plus - minus + more, Number(right), why);
        assert(more === 0 || more === known.buckets, why);
      }
      if (moved !== undefined) {
        assert.deepEqual([hex, bucket, other], moved);
      }
      return { bucket: Number(bucket), other: Number(other), hex };
    };
    let wrapped = 0;
    for (let i = 0; i < 30; ++i) {
      await page.set("#filter-word", `other ${i}`);
      await page.click("#filter-ask");
      const { bucket, other, hex } = await explained();
      const said = await page.text("#filter-said");
      assert(
        said.includes(
          `fingerprint ${hex} in buckets ${[...new Set([bucket, other])].join(" and ")}.`,
        ),
        said,
      );
      wrapped += (await page.text("#filter-why")).includes("+") ? 1 : 0;
    }
    assert(wrapped > 0 && wrapped < 30, `${wrapped} times around`);
    await page.set("#filter-capacity", 250);
    await page.set("#filter-count", 225);
    let moves = 0;
    for (let i = 0; i < 60 && moves < 3; ++i) {
      await page.click("#filter-step");
      const [, ...moved] =
        /^(\w+) moved from bucket (\d+) to its other bucket, (\d+)/.exec(
          await page.text("#filter-said"),
        ) ?? [];
      if (moved.length > 0) {
        moves += 1;
        await explained(moved);
      }
    }
    assert(moves >= 3, `${moves} moves`);
  },

  async filter_finds_words_that_are_wrongly_there({ page }) {
    const seen = new Set();
    for (let i = 0; i < 6; ++i) {
      await page.click("#filter-lie");
      const said = await page.text("#filter-said");
      const [, word, hex, , where, same, owner, lied] =
        new RegExp(
          "^“(stranger \\d+)” was never added, but " +
            "the cuckoo filter says “probably there”: its fingerprint is (\\w+) too, and (bucket " +
            "([\\d and]+)" +
            "|the overflow table) has the (\\w+) of “(.*?)”\\. “(stranger \\d+)” was never added",
        ).exec(said) ?? [];
      assert(lied, said);
      assert(!seen.has(word), `${word} again`);
      seen.add(word);
      assert.equal(hex, same);
      const facts = await page.page.evaluate(
        (names, liar) => {
          const { cuckoo, bloom } = filterView.filters;
          return {
            asked: names.map((name) => core.filterAsk(cuckoo, name)),
            buckets: core.filterState(cuckoo).buckets,
            lie: core.filterAsk(bloom, liar),
          };
        },
        [word, owner],
        lied,
      );
      const [stranger, held] = facts.asked;
      assert(stranger.present && held.present && owner.startsWith("word "), said);
      assert.equal(held.fingerprint, stranger.fingerprint);
      assert.equal(held.fingerprint.toString(16), hex);
      assert.deepEqual([...held.buckets].sort(), [...stranger.buckets].sort());
      for (const bucket of where.split(" and ").map(Number)) {
        assert(
          facts.buckets[bucket].includes(stranger.fingerprint) && stranger.buckets.includes(bucket),
          said,
        );
      }
      assert.equal(facts.lie.present, 1);
      const table = await page.figures("#filter-bits");
      assert.deepEqual(
        Object.keys(table).map(count),
        [...new Set(facts.lie.cells)].sort((a, b) => a - b),
      );
      assert((await page.text("#filter-bits caption")).includes(`“${lied}”`));
      for (const [bit, [setter]] of Object.entries(table)) {
        const { cells } = await page.page.evaluate(
          (name) => core.filterAsk(filterView.filters.bloom, name),
          setter,
        );
        assert(setter.startsWith("word ") && cells.includes(count(bit)), `${setter} set ${bit}`);
      }
    }
    await page.click("#filter summary");
    await page.click("#filter-clear");
    await page.click("#filter-lie");
    assert.match(
      await page.text("#filter-said"),
      /cuckoo filter is wrong about none of 20,000 .*Bloom filter is wrong about none/,
    );
    assert.equal(await page.page.$eval("#filter-bits", (table) => table.hidden), true);
    assert.equal(await page.page.$eval("#filter-clear", (button) => button.disabled), true);
    for (const button of ["ask", "add", "remove", "copies"]) {
      await page.set("#filter-word", "");
      await page.click(`#filter-${button}`);
      assert.match(await page.text("#filter-said"), /^Which word\?$/, button);
    }
  },
};
