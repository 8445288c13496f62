// The installed package in Chromium: browser.mjs setup.sql question.sql answer to.db
//
// In a page by <script> and by import, and in a worker; files are saved, and read by a second
// Chromium. The last of them is written to to.db; prints sha1(filter_export()) of it.
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import puppeteer from "puppeteer-core";

const [, , setup, question, answer, to] = process.argv;
const known = {
  setup: readFileSync(setup, "utf8"),
  question: readFileSync(question, "utf8"),
  answer,
};
const types = { ".html": "text/html", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  try {
    const bytes = readFileSync(join(".", new URL(request.url, "http://x").pathname));
    response.writeHead(200, { "content-type": types[extname(request.url)] ?? "text/javascript" });
    response.end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "localhost", resolve));
const url = `http://localhost:${server.address().port}/page.html`;
const profile = mkdtempSync(join(tmpdir(), "chromium-"));

async function inBrowser(action) {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],  // root has none
    userDataDir: profile,
  });
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(url);
    const result = await action(page);
    if (complaints.length > 0) throw new Error(complaints.join("\n"));
    return result;
  } finally {
    await browser.close();
  }
}

const saved = await inBrowser((page) => page.evaluate(async (about) => {
  const { runAll, save } = await import("/cases.mjs");
  const imported = await import("/node_modules/sqlite-cuckoo-wasm/sqlite-cuckoo.mjs");
  const SQL = await initSqliteCuckoo();  // the script's
  await runAll(SQL, about);
  await runAll(await imported.default(), about);
  return [await save(SQL, SQL.indexedDb), await save(SQL, SQL.opfs)];
}, known));

const opened = await inBrowser((page) => page.evaluate(async (about) => {
  const { reopen } = await import("/cases.mjs");
  const SQL = await initSqliteCuckoo();
  const images = [await reopen(SQL, SQL.indexedDb), await reopen(SQL, SQL.opfs)];
  const worker = new Worker("/worker.mjs", { type: "module" });
  const { image, error } = await new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => resolve({ error: message ?? "no worker" });
    worker.postMessage(about);
  });
  if (error !== undefined) throw new Error(`worker: ${error}`);
  const bytes = await SQL.indexedDb.load("a/b ö.db");
  return { images: [...images, image], bytes: [...bytes] };
}, known));

const expected = [...saved, saved[1]].join();
if (opened.images.join() !== expected) {
  throw new Error(`saved ${expected}, read ${opened.images}`);
}
writeFileSync(to, Uint8Array.from(opened.bytes));
console.log(saved[0]);
server.close();
server.closeAllConnections();
rmSync(profile, { recursive: true, force: true });
