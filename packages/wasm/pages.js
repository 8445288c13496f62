// Makes HTML of the Markdown pages of a folder, in place, for readers who have a browser alone. A
// link to what the folder doesn't have becomes plain text. usage: pages.js folder style.css
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");

const [folder, style] = process.argv.slice(2);

const all = fs.readdirSync(folder, { recursive: true }).map(String);
const pages = all.filter((name) => name.endsWith(".md")).sort();

// As GitHub names headings.
const slug = (heading) => heading.replace(/<[^>]*>/g, "").replace(/&\w+;/g, "").toLowerCase()
  .replace(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-");

for (const page of pages) {
  const here = path.dirname(page);
  const known = (target) => all.includes(path.normalize(path.join(here, target)));
  const taken = new Map();
  const markdown = path.join(folder, page);
  const body = execFileSync("cmark-gfm", ["--extension", "table", markdown], { encoding: "utf8" })
    .replace(/<h(\d)>(.*?)<\/h\1>/g, (_, level, heading) => {
      const name = slug(heading);
      taken.set(name, (taken.get(name) ?? -1) + 1);
      const id = taken.get(name) === 0 ? name : `${name}-${taken.get(name)}`;
      return `<h${level} id="${id}">${heading}</h${level}>`;
    })
    .replace(/<a href="([^"]*)">([^]*?)<\/a>/g, (link, href, text) => {
      const [target, part] = href.split("#");
      if (target === "" || /^\w+:/.test(target)) {
        return link;
      }
      const html = target.replace(/\.md$/, ".html");
      return known(target) ? `<a href="${html}${part ? `#${part}` : ""}">${text}</a>` : text;
    });
  const [, title] = /<h1[^>]*>(.*?)<\/h1>/.exec(body) ?? [];
  fs.writeFileSync(path.join(folder, page.replace(/md$/, "html")), `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${(title ?? page).replace(/<[^>]*>/g, "")}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${path.relative(here, style)}">
</head>
<body class="page">
${body}</body>
</html>
`);
  fs.rmSync(markdown);
}
