// The SQL view.
"use strict";

const sqlView = {
  kRows: 500,  // of a result, how many are shown
  kBytes: 40,  // of a BLOB

  start() {
    const select = dom.byId("sql-example");
    const text = dom.byId("sql-text");
    cuckooBuild.examples.forEach(({ title }, i) => select.append(dom.make("option", { value: i }, title)));
    const choose = () => {
      text.value = cuckooBuild.examples[Number(select.value)].sql;
      this.anew();
    };
    select.addEventListener("change", choose);
    dom.byId("sql-new").addEventListener("click", () => this.anew());
    dom.byId("sql-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.run();
      }
    });
    choose();
    this.run();
  },

  show() {},

  anew() {
    this.database?.close();
    this.database = new Database();
    dom.byId("sql-results").replaceChildren(dom.make("p", { class: "hint" }, "A new, empty database."));
  },

  run() {
    const start = performance.now();
    const parts = [];
    let results = [];
    try {
      results = this.database.run(dom.byId("sql-text").value, [], { most: this.kRows });
    } catch (error) {
      results = error.results ?? [];
      parts.push(dom.make("p", { class: "error" }, error.message));
    }
    const seconds = (performance.now() - start) / 1000;
    const tables = results.map((result) => this.table(result));
    if (parts.length === 0) {
      parts.push(dom.make("p", { class: "hint" }, `Done in ${seconds.toFixed(3)} s.`));
    }
    dom.byId("sql-results").replaceChildren(...tables, ...parts);
  },

  table({ columns, rows, more }) {
    const head = dom.make("tr", {}, ...columns.map((name) => dom.make("th", { scope: "col" }, name)));
    const body = rows.map((row) => dom.make("tr", {}, ...row.map((value) => this.cell(value))));
    const note = more ? `The first ${rows.length} rows.` : `${rows.length} row${rows.length === 1 ? "" : "s"}`;
    return dom.make(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Result" },
      dom.make("table", {}, dom.make("thead", {}, head), dom.make("tbody", {}, ...body)),
      dom.make("p", { class: "hint" }, note),
    );
  },

  cell(value) {
    if (value === null) {
      return dom.make("td", { class: "null" }, "NULL");
    }
    if (value instanceof Uint8Array) {
      const hex = [...value.slice(0, this.kBytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return dom.make("td", {}, `x'${hex}${value.length > this.kBytes ? "…" : ""}', ${value.length} bytes`);
    }
    return dom.make("td", typeof value === "string" ? {} : { class: "number" }, String(value));
  },
};
