// The two pictures of the flash view, of what flash_kv_sectors() says: what the erase blocks hold,
// and how worn they are.
"use strict";

const flashMap = {
  kRead: `SELECT state, erase_count, live_bytes, dead_bytes, free_bytes
    FROM flash_kv_sectors('kv')`,
  kSectors: 4,  // of an erase block

  read: (database) => database.rows(flashMap.kRead).map(
    ([state, erases, live, dead, free]) => ({ state, erases, live, dead, free })),

  // The sectors of each block.
  blocksOf: (sectors) => Array.from({ length: sectors.length / flashMap.kSectors }, (_, block) =>
    sectors.slice(block * flashMap.kSectors, (block + 1) * flashMap.kSectors)),

  // hits: blocks to mark; sectors: those that got something.
  draw(sectors, life, { hits = [], got = [] } = {}) {
    const blocks = this.blocksOf(sectors);
    dom.byId("flash-holds").replaceChildren(...blocks.map((inside, block) =>
      this.held(inside, block, hits.includes(block), got)));
    dom.byId("flash-wear").replaceChildren(...blocks.map(([{ state, erases }], block) =>
      this.worn(block, state, erases, life, hits.includes(block))));
    const most = Math.max(...sectors.map(({ erases }) => erases));
    const of = blocks.findIndex(([{ erases }]) => erases === most);
    dom.byId("flash-most").style.left = `${100 * Math.min(1, most / life)}%`;
    dom.byId("flash-life").textContent = `${dom.count(life)} erases`;
    dom.byId("flash-wear-text").textContent =
      `The most worn block is ${of}, with ${dom.count(most)} of ${dom.count(life)} erases: ` +
      `${dom.percent(most / life, most / life < 0.01 ? 3 : 0)} of its life.`;
    const sum = (part) => sectors.reduce((total, sector) => total + sector[part], 0);
    dom.byId("flash-holds-text").replaceChildren(...[
      ["live", `live ${dom.bytes(sum("live"))}`], ["dead", `dead ${dom.bytes(sum("dead"))}`],
      ["free", `free ${dom.bytes(sum("free"))}`], ["anchor", "anchors, checkpoints"],
    ].map(([part, text]) => dom.make("span", {}, dom.make("i", { class: `key ${part}` }), text)));
  },

  held(inside, block, hit, got) {
    const number = dom.make("span", { class: "index" }, String(block));
    const sectors = inside.map(({ state, live, dead, free }, i) => {
      const all = live + dead + free;
      const part = (bytes, name) =>
        dom.make("i", { class: name, style: `height: ${100 * bytes / all}%` });
      const kind = state === "anchor" || state === "checkpoint" ? "anchor" : "live";
      const taken = got.includes(block * this.kSectors + i);
      return dom.make("span", { class: `sector${taken ? " hit" : ""}` },
        part(dead, "dead"), part(live, kind));
    });
    const bytes = (part) => inside.reduce((total, sector) => total + sector[part], 0);
    const [{ state }] = inside;
    return dom.make("li", {
      class: `block ${state}${hit ? " hit" : ""}`,
      title: `block ${block}, ${state}: ${bytes("live")} bytes live, ${bytes("dead")} dead`,
    }, number, dom.make("span", { class: "sectors" }, ...sectors));
  },

  worn(block, state, erases, life, hit) {
    const part = Math.min(100, Math.round(100 * erases / life));
    return dom.make("li", {
      class: `block ${state}${hit ? " hit" : ""}${part > 55 ? " worn" : ""}`,
      style: `background: color-mix(in srgb, var(--worn) ${part}%, var(--empty))`,
      title: `block ${block}: ${erases} erases`,
    }, state === "bad" ? `${erases} ×` : String(erases));
  },
};
