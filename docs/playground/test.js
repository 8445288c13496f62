// The page's tests, in Chromium: those of each view are in tests/.
// usage: test.js node_modules [--pictures]; see test.sh
// PLAYGROUND=dir is another folder with the page; PLAYGROUND_TESTS=part runs the tests with that in
// their names.
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");

const { Page, views } = require("./tests/page.js");
const takePictures = require("./tests/pictures.js");

const [modules, option] = process.argv.slice(2);
const puppeteer = require(path.resolve(modules, "puppeteer-core"));

// The files of a view begin with its name; it is open when their tests begin.
const files = [...views, "filter_why", "everybody"];
const tests = files.flatMap((file) => {
  const [view] = file.split("_");
  return Object.entries(require(`./tests/${file}.js`))
    .map(([name, test]) => ({ name, test, view }));
});

async function main() {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic"],  // root has no sandbox
  });
  let failed = 0;
  const chosen = tests.filter(({ name }) => name.includes(process.env.PLAYGROUND_TESTS ?? ""));
  for (const { name, test, view } of chosen) {
    const context = await browser.createBrowserContext();
    const page = new Page(await context.newPage());
    await page.page.setViewport({ width: 1100, height: 900 });
    try {
      await page.load(views.includes(view) ? view : "");
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
