// Loads the module and shows one view at a time; the address says which: #filter, #flash …
"use strict";

const page = {
  views: {
    hashing: hashingView, filter: filterView, growth: growthView, flash: flashView,
    index: indexView, ring: ringView, sql: sqlView,
  },
  started: new Set(),

  async start() {
    if (typeof initSqliteCuckoo === "undefined") {
      throw new Error("cuckoo.js is missing: packages/wasm/build.sh makes it.");
    }
    const sqlite = await initSqliteCuckoo();
    Database.start(sqlite);
    core.start(sqlite.module);
    const { version, commit, sqlite: ofSqlite } = cuckooBuild;
    dom.byId("about").textContent =
      `sqlite-cuckoo ${version}, built from commit ${commit}, with SQLite ${ofSqlite}.`;
    this.tabs = [...document.querySelectorAll('[role="tab"]')];
    this.linkNext();
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.open(tab.getAttribute("aria-controls")));
      tab.addEventListener("keydown", (event) => this.step(event));
    }
    window.addEventListener("hashchange", () => this.open(location.hash.slice(1)));
    window.addEventListener("resize", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    dom.byId("loading").hidden = true;
    this.open(location.hash.slice(1));
    document.body.dataset.ready = Math.round(performance.now());
  },

  // At the end of each view, to the one that the order of the tabs has next.
  linkNext() {
    this.tabs.slice(1).forEach((next, i) => {
      const link = dom.make("a", { href: `#${next.getAttribute("aria-controls")}` },
        `Next: ${next.textContent}`);
      dom.byId(this.tabs[i].getAttribute("aria-controls")).append(
        dom.make("p", { class: "next" }, link));
    });
  },

  open(asked) {
    const name = Object.hasOwn(this.views, asked) ? asked : Object.keys(this.views)[0];
    for (const tab of this.tabs) {
      const selected = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", selected);
      tab.tabIndex = selected ? 0 : -1;
      dom.byId(tab.getAttribute("aria-controls")).hidden = !selected;
    }
    if (location.hash !== `#${name}`) {
      history.replaceState(null, "", `#${name}`);
    }
    this.current = name;
    if (this.started.has(name)) {
      this.views[name].show();
    } else {
      this.started.add(name);
      this.views[name].start();
    }
  },

  // The pictures alone: what has the focus stays.
  redraw() {
    this.views[this.current].draw();
  },

  // Arrow keys go from tab to tab.
  step(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const at = this.tabs.indexOf(event.currentTarget);
    const last = this.tabs.length - 1;
    const to = { Home: 0, End: last }[event.key] ??
      (at + steps[event.key] + this.tabs.length) % this.tabs.length;
    if (Number.isInteger(to)) {
      event.preventDefault();
      this.tabs[to].focus();
      this.open(this.tabs[to].getAttribute("aria-controls"));
    }
  },
};

page.start().catch((error) => {
  dom.byId("loading").hidden = false;
  dom.say(dom.byId("loading"), dom.reason(error), true);
});
