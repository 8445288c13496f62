// Takes the pictures of ../README.md, without what differs from run to run, and without the papers.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

module.exports = async function takePictures(page) {
  const take = async (view) => {
    const file = path.join(__dirname, `../../pictures/playground_${view}.png`);
    await page.page.$$eval(`#${view} :is(h3:has(+ .papers), .papers, .next, p ~ details)`, (all) =>
      all.forEach((one) => one.remove()));
    await (await page.page.$(`#${view}`)).screenshot({ path: file });
    console.log(`  ${path.relative(process.cwd(), file)}: ${fs.statSync(file).size} bytes`);
  };
  await page.page.setViewport({ width: 900, height: 900 });
  await page.load("filter");
  await page.set("#filter-count", 55);
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
  await page.click("#flash-collect");
  await take("flash");
  await page.click("#tab-ring");
  await page.click('#ring-key-form [type="submit"]');
  await page.click('#ring-form [type="submit"]');
  await take("ring");
  await page.click("#tab-sql");
  await page.page.$$eval(".hint", (hints) => hints.forEach((hint) => hint.remove()));
  await take("sql");
};
