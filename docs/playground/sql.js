// The SQL view.
"use strict";

const sqlView = {
  kRows: 500,  // of a result, how many are shown
  kBytes: 40,  // of a BLOB
  kCharacters: 2000,  // of a text
  kScript: 120000,  // milliseconds that a script of sql/ may take: some make millions of rows
  kMemory: 512 << 20,  // bytes that SQLite may take

  start() {
    const select = dom.byId("sql-example");
    const text = dom.byId("sql-text");
    const { examples, recipes, scripts } = cuckooBuild;
    this.examples = [...examples, ...recipes, ...scripts];
    const group = (label, from) => select.append(dom.make("optgroup", { label },
      ...from.map((example) =>
        dom.make("option", { value: this.examples.indexOf(example) }, example.title))));
    group("README.md", examples);
    group("Recipes", recipes);
    group("sql/", scripts);
    this.own = "";
    const choose = () => {
      if (!this.isExample(text.value)) {
        this.own = text.value;
      }
      text.value = this.examples[Number(select.value)]?.sql ?? this.own;
      if (this.own !== "" && select.querySelector('[value="own"]') === null) {
        select.append(dom.make("option", { value: "own" }, "Your own"));
      }
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
  draw() {},

  isExample: (text) => text === "" || sqlView.examples.some(({ sql }) => sql === text),
  isScript: (text) => cuckooBuild.scripts.some(({ sql }) => sql === text),

  say(text, wrong = false) {
    const said = dom.byId("sql-said");
    said.textContent = text;
    said.className = wrong ? "error" : "hint";
  },

  anew() {
    this.database?.close();
    this.database = new Database();
    this.database.run(`PRAGMA hard_heap_limit = ${this.kMemory}`);
    dom.byId("sql-results").replaceChildren();
    this.showTables();
    this.say("A new, empty database.");
  },

  // An example makes its tables: it begins with a new database.
  run() {
    const text = dom.byId("sql-text").value;
    if (!this.database || this.isExample(text)) {
      this.anew();
    }
    const milliseconds = this.isScript(text) ? this.kScript : Database.kLongest;
    const start = performance.now();
    let results = [];
    try {
      results = this.database.run(text, [], { most: this.kRows, show: true, milliseconds });
      const seconds = ((performance.now() - start) / 1000).toFixed(3);
      this.say(`Done in ${seconds} s: ` +
        `${results.length} result${results.length === 1 ? "" : "s"}.`);
    } catch (error) {
      results = error.results ?? [];
      const late = error.message !== "interrupted" ? ""
        : `: more than ${milliseconds / 1000} seconds`;
      const { number, line } = error.statement ?? {};
      const where = number === undefined ? "" : `Statement ${number}, line ${line}: `;
      this.say(`${where}${dom.reason(error)}${late}`, true);
    }
    dom.byId("sql-results").replaceChildren(...results.map((result) => this.table(result)));
    this.showTables();
  },

  // Each with its columns; those that hold what a virtual table stores come last.
  showTables() {
    const tables = this.database.rows(
      `SELECT l.schema, l.name, l.type, s.sql FROM pragma_table_list l LEFT JOIN
         (SELECT 'main' AS schema, name, sql FROM main.sqlite_schema
          UNION ALL SELECT 'temp', name, sql FROM temp.sqlite_schema) s USING (schema, name)
       WHERE l.name NOT LIKE 'sqlite_%' ORDER BY l.type = 'shadow', l.schema, l.name`);
    const moduleOf = (sql) => /^CREATE VIRTUAL TABLE.*? USING\s+(\w+)/is.exec(sql)?.[1];
    const isShadow = ([, , type, sql]) =>
      type === "shadow" || moduleOf(sql) === "cuckoo_source_row";  // that triggers insert into
    const shadows = tables.filter(isShadow);
    const entries = tables.filter((table) => !isShadow(table)).map(([schema, name, type, sql]) => {
      const module = moduleOf(sql);
      const columns = this.columnsOf(schema, name).map((column) => dom.make("li", {}, column));
      return dom.make("details", { "aria-label": name },
        dom.make("summary", {}, schema === "main" ? name : `${schema}.${name}`, " ",
          dom.make("span", { class: "hint" }, module ?? type)),
        dom.make("ul", {}, ...columns));
    });
    if (shadows.length > 0) {
      entries.push(dom.make("details", { "aria-label": "Shadow tables" },
        dom.make("summary", {}, dom.make("span", { class: "hint" },
          `${shadows.length} shadow tables, in which these are stored`)),
        dom.make("ul", {}, ...shadows.map(([, name]) => dom.make("li", {}, name)))));
    }
    dom.byId("sql-tables").replaceChildren(
      ...(entries.length > 0 ? entries : [dom.make("p", { class: "hint" }, "none yet")]));
  },

  columnsOf(schema, name) {
    try {
      return this.database.rows(
        "SELECT trim(name || ' ' || type) FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1",
        name, schema).flat();
    } catch (error) {  // a view of what is gone
      return [dom.reason(error)];
    }
  },

  table({ columns, rows, more }) {
    const head = dom.make("tr", {},
      ...columns.map((name) => dom.make("th", { scope: "col" }, name)));
    const body = rows.map((row) => dom.make("tr", {}, ...row.map((value) => this.cell(value))));
    const note = more ? `The first ${rows.length} rows.`
      : `${rows.length} row${rows.length === 1 ? "" : "s"}`;
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
      const hex = [...value.slice(0, this.kBytes)]
        .map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return dom.make("td", {},
        `x'${hex}${value.length > this.kBytes ? "…" : ""}', ${value.length} bytes`);
    }
    if (typeof value === "string") {
      const long = value.length > this.kCharacters;
      return dom.make("td", {},
        long ? `${value.slice(0, this.kCharacters)}…, ${value.length} characters` : value);
    }
    return dom.make("td", { class: "number" }, value.number);
  },
};
