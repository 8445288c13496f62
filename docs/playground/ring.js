// The ring view: three hash rings of the same nodes, and what a change of the nodes moves.
"use strict";

const ringView = {
  kKeys: 10000,
  kDrawnKeys: 150,
  kVnodes: 40,  // few enough to be seen one by one
  kSeed: 1,
  kArcs: 720,
  kMostSteps: 12,
  algorithms: ["ring", "ketama", "slots"],  // in the order of their numbers in core/ring/hash_ring.hpp

  start() {
    this.database = new Database();
    this.rings = {};
    this.ids = {};  // of the nodes in them
    this.algorithms.forEach((name, number) => {
      this.ids[name] = new Map();
      this.rings[name] = core.ringNew(number, this.kVnodes, this.kSeed);
      this.database.run(`CREATE VIRTUAL TABLE ${name} USING hash_ring(${this.options(name)})`);
    });
    this.database.run(
      `CREATE TABLE keys(number INTEGER PRIMARY KEY, key TEXT);
       INSERT INTO keys SELECT value, 'key ' || value FROM
         (WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < ${this.kKeys})
          SELECT value FROM n);
       CREATE TABLE owners("by" TEXT, number INTEGER, node TEXT, PRIMARY KEY ("by", number)) WITHOUT ROWID;
       CREATE TABLE old_owners("by" TEXT, number INTEGER, node TEXT, PRIMARY KEY ("by", number)) WITHOUT ROWID`,
    );
    this.movedBy = [];
    for (const node of ["cache1", "cache2", "cache3"]) {
      this.put(node, 1);
    }
    dom.byId("ring-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const weight = Number(dom.byId("ring-weight").value);
      this.guard(() => this.change(dom.written("ring-node").trim(), weight));
    });
    dom.byId("ring-step").addEventListener("click", () => this.guard(() => this.step()));
    dom.byId("ring-algorithm").addEventListener("change", () => this.guard(() => {}));
    this.guard(() => {
      this.keepOwners();
      this.say("Add a node, or remove one, and see which keys move.");
    });
  },

  // ketama has its own points, slots none.
  options: (name) =>
    `algorithm = ${name}` +
    (name === "ring" ? `, vnodes = ${ringView.kVnodes}` : "") +
    (name === "ketama" ? "" : `, seed = ${ringView.kSeed}`),

  guard(action) {
    dom.attempt(this, action, () => this.show());
  },

  say(text, warning = false) {
    dom.say(dom.byId("ring-said"), text, warning);
  },

  drawn: () => dom.byId("ring-algorithm").value,

  put(node, weight) {
    for (const name of this.algorithms) {
      const known = this.database.value(`SELECT count(*) FROM ${name} WHERE node = ?`, node);
      this.database.run(
        known ? `UPDATE ${name} SET weight = ?2 WHERE node = ?1` : `INSERT INTO ${name}(node, weight) VALUES (?1, ?2)`,
        [node, weight],
      );
      this.ids[name].set(node, core.ringPut(this.rings[name], node, weight).id);
    }
  },

  remove(node) {
    for (const name of this.algorithms) {
      this.database.run(`DELETE FROM ${name} WHERE node = ?`, [node]);
      core.ringRemove(this.rings[name], node);
    }
  },

  // The owner of each key, by each algorithm and by "number modulo nodes"; those before are kept.
  keepOwners() {
    const all = this.algorithms.map((name) =>
      `INSERT INTO owners SELECT '${name}', number, node FROM keys JOIN ${name} r ON r.key = keys.key`);
    this.database.transaction(() => this.database.run(
      `DELETE FROM old_owners; INSERT INTO old_owners SELECT * FROM owners; DELETE FROM owners;
       ${all.join(";")};
       INSERT INTO owners SELECT 'modulo', number, node FROM keys
         JOIN (SELECT row_number() OVER (ORDER BY node) - 1 AS rank, count(*) OVER () AS nodes, node FROM ring)
         ON rank = number % nodes`,
    ));
  },

  // The first of cache1, cache2 … that is no node comes.
  step() {
    const known = new Set(this.nodes().map(([node]) => node));
    if (known.size >= this.kMostSteps) {
      throw new DatabaseError(`${this.kMostSteps} nodes are enough for a picture. Remove some.`);
    }
    let number = 1;
    while (known.has(`cache${number}`)) {
      ++number;
    }
    this.change(`cache${number}`, 1);
  },

  // weight 0: the node goes
  change(node, weight) {
    if (node === "") {
      throw new DatabaseError("Which node?");
    }
    const before = this.nodes().find(([name]) => name === node)?.[1] ?? 0;
    const nodes = this.nodes().length;
    if (weight === 0 && nodes === 1) {
      throw new DatabaseError("The last node stays: without it no key has an owner.");
    }
    const drawn = this.drawn();
    const foretold = before > 0 && weight > 0 ? null : this.database.value(
      `SELECT total(share) FROM hash_ring_moves('${drawn}', ${weight > 0 ? "'add', ?1, ?2" : "'remove', ?1"})`,
      ...(weight > 0 ? [node, weight] : [node]));
    if (weight > 0) {
      this.put(node, weight);
    } else {
      this.remove(node);
    }
    this.keepOwners();
    this.findMoved(node, weight > before);
    const what = weight === 0 ? "went" : before === 0 ? "came" : `weighs ${weight} now`;
    const moved = this.movedBy.find(([by]) => by === drawn)[1] / this.kKeys;
    this.say(
      `${node} ${what}: by ${drawn}, ${dom.percent(moved)} of the keys moved. ` +
        (foretold === null ? "" : `hash_ring_moves() had said ${dom.percent(foretold)} of the circle.`),
    );
  },

  // A key moves needlessly if the node that came or grew didn't get it, or the one that went or
  // shrank hadn't had it.
  findMoved(node, grew) {
    const needed = grew ? "owners.node" : "old.node";
    const moved = this.database.rows(
      `SELECT owners."by", count(*), count(*) FILTER (WHERE ${needed} <> ?)
       FROM owners JOIN old_owners old USING ("by", number) WHERE old.node <> owners.node GROUP BY 1`,
      node,
    );
    this.movedBy = [...this.algorithms, "modulo"].map(
      (by) => moved.find(([found]) => found === by) ?? [by, 0, 0],
    );
  },

  nodes() {
    return this.database.rows(`SELECT node, weight, share FROM ${this.drawn()} ORDER BY node`);
  },

  // --- what is seen

  show() {
    this.draw();
    this.showNodes();
    dom.fill(
      dom.byId("ring-moves").tBodies[0],
      this.movedBy.map(([by, count, needless]) => [by, dom.count(count), dom.count(needless)]),
    );
  },

  draw() {
    const { points, arcs } = core.ringPicture(this.rings[this.drawn()], this.kArcs);
    const numbers = Array.from({ length: this.kDrawnKeys }, (_, i) => i + 1);
    const keys = core.ringKeys(this.rings[this.drawn()], numbers.map((number) => `key ${number}`));
    const moved = new Set(
      this.database
        .rows(
          `SELECT number FROM owners JOIN old_owners old USING ("by", number)
           WHERE "by" = ? AND number <= ? AND old.node <> owners.node`,
          this.drawn(),
          this.kDrawnKeys,
        )
        .flat(),
    );
    this.drawRing(points, arcs, keys.map(([turn, id], i) => [turn, id, moved.has(i + 1)]));
  },

  showNodes() {
    dom.byId("ring-nodes").tBodies[0].replaceChildren(
      ...this.nodes().map(([node, weight, share]) => {
        const remove = dom.make("button", { type: "button", "aria-label": `Remove ${node}` }, "×");
        remove.addEventListener("click", () => {
          const at = this.nodes().findIndex(([name]) => name === node);
          this.guard(() => this.change(node, 0));
          const buttons = dom.byId("ring-nodes").querySelectorAll("button");
          buttons[Math.min(at, buttons.length - 1)].focus();  // this one is gone
        });
        const swatch = dom.make("span", { class: "swatch" });
        swatch.style.background = this.colourOf(this.id(node));
        return dom.make(
          "tr",
          {},
          dom.make("th", { scope: "row" }, swatch, node),
          dom.make("td", { class: "number" }, String(weight)),
          dom.make("td", { class: "number" }, dom.percent(share, 2)),
          dom.make("td", {}, remove),
        );
      }),
    );
  },

  pointsText() {
    switch (this.drawn()) {
      case "ring":
        return ` (vnodes = ${this.kVnodes}, so that each is seen; the default is 1,000, and shares are evener)`;
      case "slots":
        return " (slots has none)";
      default:
        return "";
    }
  },

  id: (node) => ringView.ids[ringView.drawn()].get(node),

  colourOf: (id) => `hsl(${dom.hue(id)} 60% 50%)`,

  drawRing(points, arcs, keys) {
    const at = (turn, radius) => {
      const angle = 2 * Math.PI * turn - Math.PI / 2;
      return `${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
    };
    const shapes = [];
    for (let from = 0, to = 0; from < arcs.length; from = to) {
      while (to < arcs.length && arcs[to] === arcs[from]) {
        ++to;
      }
      // Half a circle at most: a longer arc's ends would not say which way it goes.
      for (let start = from; start < to; start += arcs.length / 2) {
        const end = Math.min(to, start + arcs.length / 2);
        shapes.push(
          `<path class="arc" d="M ${at(start / arcs.length, 84)} A 84 84 0 0 1 ${at(end / arcs.length, 84)}" fill="none" ` +
            `stroke="${this.colourOf(arcs[from])}" stroke-width="9"/>`,
        );
      }
    }
    const lines = new Map();  // of each node, its points
    for (const [turn, id] of points) {
      lines.set(id, `${lines.get(id) ?? ""}M ${at(turn, 90)} L ${at(turn, 98)}`);
    }
    for (const [id, line] of lines) {
      shapes.push(`<path class="points" d="${line}" stroke="${this.colourOf(id)}" stroke-width="0.8"/>`);
    }
    for (const [turn, id, moved] of keys) {
      const [x, y] = at(turn, moved ? 66 : 73).split(" ");
      shapes.push(
        `<circle cx="${x}" cy="${y}" r="${moved ? 2.6 : 1.6}" fill="${this.colourOf(id)}"` +
          `${moved ? ` stroke="${dom.colour("hit")}" stroke-width="1.3"` : ""}/>`,
      );
    }
    const picture = dom.byId("ring-picture");
    picture.innerHTML = shapes.join("");
    const lit = keys.filter(([, , moved]) => moved).length;
    picture.setAttribute("aria-label",
      `A circle of ${this.nodes().length} nodes with ${points.length} points; ${lit} of ${keys.length} keys drawn moved`);
    dom.byId("ring-caption").textContent =
      `Outside the ${dom.count(points.length)} points of the nodes${this.pointsText()}, ` +
      `on the circle who owns what, inside ${keys.length} keys. The ${lit} that the last change moved stand out.`;
  },
};
