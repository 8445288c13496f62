// Tests of the ring view. See ../test.js
"use strict";

const assert = require("node:assert/strict");

const { count } = require("./page.js");

module.exports = {
  async ring_says_nothing_of_a_change_before_there_was_one({ page }) {
    const said = () => page.text("#ring");
    assert.doesNotMatch(await said(), /last change/);
    assert.equal(await page.page.$eval("#ring-moves", (table) => table.hidden), true);
    await page.click("#ring-step");
    assert.match(
      await said(),
      /that the last change moved stand out[^]*Keys that the last change moved/,
    );
  },

  // By SQL; the arrow ends at the owner's point, and a replica's number stands at its.
  async ring_follows_a_key_to_its_owner_and_replicas({ page }) {
    await page.click("#ring-step");
    const names = ["cache1", "cache2", "cache3", "cache4"];
    for (const algorithm of ["ring", "ketama", "slots"]) {
      await page.set("#ring-algorithm", algorithm);
      for (const key of ["user:42", "key 7", "'", "naïve 😀"]) {
        await page.set("#ring-key", key);
        await page.click('#ring-key-form [type="submit"]');
        const said = await page.text("#ring-said");
        const options = await page.page.evaluate((name) => ringView.options(name), algorithm);
        const replicas = (
          await page.sql(`CREATE VIRTUAL TABLE r USING hash_ring(${options});
          ${names.map((node) => `INSERT INTO r(node) VALUES ('${node}');`).join("")}
          SELECT node FROM r WHERE key = '${key.replaceAll("'", "''")}' AND replicas = 3
          ORDER BY replica`)
        ).flat();
        const [owner, ...others] = replicas;
        const turn = Number(/stands at ([\d.]+) % of the circle/.exec(said)?.[1]);
        assert(
          said.endsWith(
            `Replicas go to the next other nodes on the way: ${others.join(", then ")}.`,
          ),
          said,
        );
        if (algorithm === "slots") {
          assert(said.includes(`this one is ${owner}’s.`), said);
          continue;
        }
        const [, place] =
          new RegExp(`next point is one of ${owner}, at ([\\d.]+) %: ${owner} owns the key`).exec(
            said,
          ) ?? [];
        assert(place, said);
        // No point lies between the key and that one.
        const between = await page.page.evaluate(
          ([from, to]) => {
            const { points } = core.ringPicture(ringView.rings[ringView.drawn()], 1);
            const inside = (at) => (from <= to ? at > from && at < to : at > from || at < to);
            return points.filter(([at]) => inside(at)).length;
          },
          [(turn + 0.06) / 100, (place - 0.06) / 100].map((at) => at % 1),
        );
        assert(Number(place) - turn < 0.12 || between === 0, `${said}: ${between} points between`);
        const numbers = await page.page.$$eval("#ring-picture .replica", (all) =>
          all.map((one) => {
            const [, x, y] = /translate\((\S+) (\S+)\)/
              .exec(one.getAttribute("transform"))
              .map(Number);
            return [one.textContent, (Math.atan2(y, x) / (2 * Math.PI) + 1.25) % 1];
          }),
        );
        assert.deepEqual(
          numbers.map(([number]) => number),
          ["0", "1", "2"],
        );
        const owners = await page.page.evaluate(
          (turns) => {
            const { points } = core.ringPicture(ringView.rings[ringView.drawn()], 1);
            const names_of = new Map(ringView.nodes().map(([node]) => [ringView.id(node), node]));
            return turns.map((at) =>
              points
                .filter(([point]) => Math.abs(point - at) < 1e-4)
                .map(([, id]) => names_of.get(id)),
            );
          },
          numbers.map(([, at]) => at),
        );
        replicas.forEach((node, i) => assert(owners[i].includes(node), `${node}: ${owners[i]}`));
      }
    }
    await page.set("#ring-key", "");
    await page.click('#ring-key-form [type="submit"]');
    assert.match(await page.text("#ring-said"), /^Which key\?$/);
    assert.match(await page.text("#ring-picture"), /^next$/);
  },

  async ring_has_as_many_points_as_the_slider_says({ page }) {
    const shares = async (vnodes) =>
      (
        await page.sql(`CREATE VIRTUAL TABLE r USING hash_ring(
        vnodes = ${vnodes}, seed = 1);
      INSERT INTO r(node) VALUES ('cache1'); INSERT INTO r(node) VALUES ('cache2');
      INSERT INTO r(node) VALUES ('cache3'); SELECT share FROM r ORDER BY node`)
      ).flat();
    const even = await page.figures("#ring-evenness");
    for (const [i, vnodes] of [1, 10, 40, 200].entries()) {
      await page.set("#ring-vnodes", i);
      assert.equal(await page.text("#ring-vnodes-shown"), String(vnodes));
      const wanted = await shares(vnodes);
      const nodes = await page.figures("#ring-nodes");
      assert.deepEqual(
        Object.values(nodes).map(([, share]) => share),
        wanted.map((share) => `${(100 * share).toFixed(2)} %`),
      );
      assert.match(
        await page.text("#ring-caption"),
        new RegExp(`the ${3 * vnodes} points .*vnodes = ${vnodes},`),
      );
      assert.match(
        await page.text("#ring-said"),
        new RegExp(`has ${vnodes} points? on the ring now`),
      );
      assert.deepEqual(
        even[String(vnodes)],
        [Math.min(...wanted), Math.max(...wanted)].map((share) => `${(3 * share).toFixed(2)} ×`),
      );
    }
    const standard = await shares(1000);
    assert.deepEqual(
      even["1,000, the default"],
      [Math.min(...standard), Math.max(...standard)].map((share) => `${(3 * share).toFixed(2)} ×`),
    );
    await page.click("#ring-step");
    assert.match(await page.text("#ring-said"), /^cache4 came: by ring, /);
    assert.notDeepEqual(await page.figures("#ring-evenness"), even);
  },

  async ring_goes_node_by_node({ page }) {
    await page.click('[aria-label="Remove cache2"]');
    for (const node of ["cache2", "cache4", "cache5"]) {
      await page.click("#ring-step");
      assert.match(
        await page.text("#ring-said"),
        new RegExp(`^${node} came: by ring, [\\d.]+ % of the keys moved`),
      );
      assert((await page.figures("#ring-nodes"))[node], node);
      assert.equal((await page.figures("#ring-moves")).ring[1], "0"); // none moved needlessly
    }
    for (let i = 0; i < 8; ++i) {
      await page.click("#ring-step");
    }
    assert.match(await page.text("#ring-said"), /12 nodes are enough for a picture/);
    assert.equal(Object.keys(await page.figures("#ring-nodes")).length, 12);
  },

  async ring_owners_and_shares_are_those_of_tables({ page }) {
    const change = async (node, weight) => {
      await page.write("#ring-node", node);
      await page.set("#ring-weight", weight);
      await page.click('#ring-form [type="submit"]');
    };
    await change("cache4", 1);
    await change("cache1", 2.5);
    await page.click('[aria-label="Remove cache2"]');
    const foretold = /hash_ring_moves\(\) had said ([\d.]+) % of the circle/.exec(
      await page.text("#ring-said"),
    )[1];
    const rings = await page.page.evaluate(() =>
      ringView.algorithms.map((name) => [name, ringView.options(name)]),
    );
    for (const [name, options] of rings) {
      await page.set("#ring-algorithm", name);
      const ring = `CREATE VIRTUAL TABLE r USING hash_ring(${options});
        INSERT INTO r(node, weight) VALUES ('cache1', 1); INSERT INTO r(node, weight) VALUES
          ('cache2', 1);
        INSERT INTO r(node, weight) VALUES ('cache3', 1); INSERT INTO r(node, weight) VALUES
          ('cache4', 1);
        UPDATE r SET weight = 2.5 WHERE node = 'cache1';`;
      const keys = `WITH RECURSIVE n(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n ` +
        `WHERE number < 10000)
        SELECT number, node FROM n JOIN r ON r.key = 'key ' || number ORDER BY 1`;
      const before = await page.sql(`${ring} ${keys}`);
      const after = await page.sql(`${ring} DELETE FROM r WHERE node = 'cache2'; ${keys}`);
      const moved = after.filter(([, node], i) => node !== before[i][1]);
      const needless = after.filter(
        ([, node], i) => node !== before[i][1] && before[i][1] !== "cache2",
      );
      const shown = await page.figures("#ring-moves");
      assert.deepEqual(shown[name].map(count), [moved.length, needless.length], name);
      assert.equal(
        needless.length === 0,
        name !== "ketama",
        `${name}: ${needless.length} needlessly`,
      );

      if (name === "ring") {
        // which was drawn when cache2 went
        const [[share]] = await page.sql(
          `${ring} SELECT total(share) FROM hash_ring_moves('r', 'remove', 'cache2')`,
        );
        assert.equal(foretold, (100 * share).toFixed(1));
      }
      const shares = await page.sql(`${ring} DELETE FROM r WHERE node = 'cache2';
        SELECT node, weight, share FROM r ORDER BY node`);
      const nodes = await page.figures("#ring-nodes");
      assert.deepEqual(
        Object.keys(nodes),
        shares.map(([node]) => node),
      );
      for (const [node, weight, share] of shares) {
        assert.deepEqual(nodes[node].slice(0, 2), [
          String(weight),
          `${(100 * share).toFixed(2)} %`,
        ]);
      }
      // What is drawn is core's ring: it must own as SQL says.
      const drawn = await page.page.evaluate((ringName) => {
        const numbers = Array.from({ length: 10000 }, (_, i) => `key ${i + 1}`);
        const ids = core.ringKeys(ringView.rings[ringName], numbers);
        const names = new Map(ringView.nodes().map(([node]) => [ringView.id(node), node]));
        return ids.map(([, id]) => names.get(id));
      }, name);
      assert.deepEqual(
        drawn,
        after.map(([, node]) => node),
        name,
      );
      // … and so must the picture.
      const wrong = await page.page.evaluate((ringName) => {
        const ring = ringView.rings[ringName];
        const complaints = [];
        const expect = (what, is, to) => {
          if (JSON.stringify(is) !== JSON.stringify(to)) {
            complaints.push(
              `${what}: ${JSON.stringify(is).slice(0, 300)}, expected ` +
              `${JSON.stringify(to).slice(0, 300)}`,
            );
          }
        };
        const all = (selector) => [...document.querySelectorAll(`#ring-picture ${selector}`)];
        const { points, arcs } = core.ringPicture(ring, ringView.kArcs);
        const runs = arcs.filter((owner, i) => i === 0 || owner !== arcs[i - 1]);
        expect(
          "arcs",
          all(".arc").map((arc) => arc.getAttribute("stroke")),
          runs.map(ringView.colourOf),
        );
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
        expect(
          "keys",
          all("circle:not(.followed)").map((key) => key.getAttribute("fill")),
          core.ringKeys(ring, numbers).map(([, id]) => ringView.colourOf(id)),
        );
        const colours = [...document.querySelectorAll("#ring-nodes .swatch")].map(
          (swatch) => swatch.style.background,
        );
        const probe = document.createElement("i");
        expect(
          "swatches",
          colours,
          ringView.nodes().map(([node]) => {
            probe.style.background = ringView.colourOf(ringView.id(node));
            return probe.style.background;
          }),
        );
        return complaints;
      }, name);
      assert.deepEqual(wrong, [], name);
      const litCircles = await page.page.$$eval("#ring-picture circle", (all) =>
        all
          .map((circle, i) => [i + 1, circle.hasAttribute("stroke")])
          .filter(([, lit]) => lit)
          .map(([number]) => number),
      );
      assert.deepEqual(
        litCircles,
        moved.map(([number]) => number).filter((number) => number <= 150),
        name,
      );
      const lit = moved.filter(([number]) => number <= 150).length;
      const caption = await page.text("#ring-caption");
      assert.match(caption, new RegExp(`The ${lit} that the last change moved`));
      // A table that is told nothing has other points than the drawn ring.
      const asDrawn = /\(vnodes = (\d+), .* the default is ([\d,]+)\)/.exec(caption) ?? [];
      if (name === "ring") {
        const vnodes = (all) =>
          page.sql(`CREATE VIRTUAL TABLE v USING hash_ring(algorithm = ring, seed = 1${all});
          INSERT INTO v(node) VALUES ('a'), ('b'); SELECT share FROM v`);
        assert.deepEqual(
          await vnodes(`, vnodes = ${count(asDrawn[2])}`),
          await vnodes(""),
          caption,
        );
        assert.match(options, new RegExp(`vnodes = ${asDrawn[1]},`));
      } else {
        assert.equal(asDrawn.length, 0, caption);
      }
    }
    const modulo = Array.from({ length: 10000 }, (_, i) => i + 1)
      .map((number) => [
        ["cache1", "cache2", "cache3", "cache4"][number % 4],
        ["cache1", "cache3", "cache4"][number % 3],
      ])
      .filter(([before, after]) => before !== after);
    const shown = await page.figures("#ring-moves");
    assert.deepEqual(shown.modulo.map(count), [
      modulo.length,
      modulo.filter(([node]) => node !== "cache2").length,
    ]);
  },

  async ring_refuses_what_it_must({ page }) {
    for (const node of Object.keys(await page.figures("#ring-nodes"))) {
      await page.click(`[aria-label="Remove ${node}"]`);
    }
    assert.match(await page.text("#ring-said"), /last node stays/);
    assert.equal(Object.keys(await page.figures("#ring-nodes")).length, 1);
  },
};
