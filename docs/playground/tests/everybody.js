// Tests of the page as a whole: its size, its names, keyboards, phones. See ../test.js
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const zlib = require("node:zlib");

const { here, views } = require("./page.js");

const kFirstView = 1000; // milliseconds from the start of loading
const kMostBytes = 1_500_000; // of cuckoo.js, compressed

module.exports = {
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

  async works_by_keyboard({ page }) {
    await page.page.focus("#tab-hashing");
    for (const key of [...views.map(() => "ArrowRight"), "End", "Home", "ArrowLeft"]) {
      await page.page.keyboard.press(key);
    }
    assert.equal(await page.page.evaluate(() => document.activeElement.id), "tab-sql");
    assert.equal(await page.page.$eval("#sql", (section) => section.hidden), false);
    assert.equal(await page.page.$$eval('[role="tab"][tabindex="0"]', (tabs) => tabs.length), 1);
    await page.page.keyboard.press("Home");
    await page.page.keyboard.press("ArrowRight");
    await page.page.keyboard.press("Tab"); // the link
    await page.page.keyboard.press("Tab"); // the slider
    await page.page.keyboard.press("End");
    assert.equal((await page.figures("#filter-figures"))["words counted"][0], "1,000");
  },

  // From the first view to the last, and the three kinds of cuckoo tables from one to another.
  async leads_from_view_to_view({ page }) {
    const open = () =>
      page.page.$eval('[role="tab"][aria-selected="true"]', (tab) => [
        tab.getAttribute("aria-controls"),
        tab.innerText,
      ]);
    const seen = [await open()];
    for (let i = 1; i < views.length; ++i) {
      await page.click(`#${views[i - 1]} .next a`);
      seen.push(await open());
      assert.equal(await page.page.$eval(`#${views[i]}`, (section) => section.hidden), false);
    }
    assert.deepEqual(
      seen.map(([view]) => view),
      views,
    );
    seen.forEach(([, text], i) => assert.match(text, new RegExp(`^${i + 1} `)));
    assert.equal(await page.page.$(`#${views.at(-1)} .next`), null);
    assert.match(await page.text("#chain"), /cuckoo hashing.*→.*cuckoo filter.*→.*slot cache/s);
    for (const view of ["hashing", "filter", "index"]) {
      await page.click(`#chain [href="#${view}"]`);
      assert.equal((await open())[0], view);
    }
    await page.click("#tab-flash");
    await page.click('#flash [href="#index"]');
    assert.equal((await open())[0], "index");
  },

  async everything_has_a_name({ page }) {
    const roles = [
      "button",
      "textbox",
      "combobox",
      "slider",
      "spinbutton",
      "radio",
      "img",
      "image",
      "tab",
      "tabpanel",
      "group",
      "link",
    ];
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
        const numbers = (colour) =>
          colour
            .match(/[\d.]+/g)
            .slice(0, 3)
            .map(Number);
        const light = (colour) => {
          const [r, g, b] = numbers(colour).map((part) =>
            part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
          );
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        let behind = element;
        while (
          getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)" &&
          behind.parentElement
        ) {
          behind = behind.parentElement;
        }
        const two = [
          light(getComputedStyle(element).color),
          light(getComputedStyle(behind).backgroundColor),
        ];
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
