// The page as a person sees it, for the tests.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const root = path.join(__dirname, "../../..");
const here = path.resolve(process.env.PLAYGROUND ?? path.join(__dirname, ".."));
const readme = fs.readFileSync(path.join(root, "README.md"), "utf8");
const views = ["hashing", "filter", "growth", "flash", "index", "ring", "sql"]; // as the tabs

class Page {
  constructor(page) {
    this.page = page;
    this.complaints = [];
    page.on("console", (message) => {
      if (!message.text().startsWith("Canvas2D: Multiple readback")) {
        // a test reads what is drawn
        this.complaints.push(`console: ${message.text()}`);
      }
    });
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!/^(file|data):/.test(request.url())) {
        this.complaints.push(`network: ${request.url()}`);
      }
    });
  }

  async load(view = "") {
    await this.page.goto(`${pathToFileURL(path.join(here, "index.html"))}${view && `#${view}`}`);
    await this.page.waitForSelector("body[data-ready]", { timeout: 20000 });
  }

  click(selector) {
    return this.page.click(selector);
  }
  text(selector) {
    return this.page.$eval(selector, (element) =>
      (element.innerText ?? element.textContent).trim(),
    );
  }
  // A table's body: the heading of each row -> its other cells.
  async figures(selector) {
    const rows = await this.page.$$eval(`${selector} tbody tr`, (all) =>
      all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())),
    );
    return Object.fromEntries(rows.map(([name, ...cells]) => [name, cells]));
  }
  async write(selector, text) {
    await this.page.$eval(selector, (element) => {
      element.value = "";
    });
    await this.page.type(selector, text);
  }
  async set(selector, value) {
    await this.page.$eval(
      selector,
      (element, wanted) => {
        element.value = wanted;
        element.dispatchEvent(new Event("input", { bubbles: true }));
        element.dispatchEvent(new Event("change", { bubbles: true }));
      },
      String(value),
    );
  }
  // What SQL answers in a database of its own, which the page's views know nothing of: the rows of
  // the last statement.
  sql(text) {
    return this.page.evaluate((sql) => {
      const database = new Database();
      try {
        return database.run(sql).at(-1).rows;
      } finally {
        database.close();
      }
    }, text);
  }
}

const count = (text) => Number(text.replaceAll(",", "").replace(/ (bytes|KB|%)$/, ""));

module.exports = { Page, count, here, readme, root, views };
