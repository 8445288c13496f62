// Loads the module and shows one view at a time; the address says which: #filter, #flash …
"use strict";

const page = {
  views: {
    filter: filterView, hashing: hashingView, growth: growthView, flash: flashView, index: indexView, ring: ringView,
    sql: sqlView,
  },
  started: new Set(),

  async start() {
    if (typeof initSqliteCuckoo === "undefined") {
      throw new Error("cuckoo.js is missing: packages/wasm/build.sh makes it.");
    }
    const sqlite = await initSqliteCuckoo();
    Database.start(sqlite);
    core.start(sqlite.module);
    dom.byId("about").textContent =
      `sqlite-cuckoo ${cuckooBuild.version}, built from commit ${cuckooBuild.commit}, with SQLite ${cuckooBuild.sqlite}.`;
    this.tabs = [...document.querySelectorAll('[role="tab"]')];
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

  open(asked) {
    const name = Object.hasOwn(this.views, asked) ? asked : "filter";
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
    const to = { Home: 0, End: last }[event.key] ?? (at + steps[event.key] + this.tabs.length) % this.tabs.length;
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
