// The ring view: three hash rings of the same nodes, and what a change of the nodes moves.
"use strict";

const ringView = {
  kKeys: 10000,
  kDrawnKeys: 150,
  kVnodes: [1, 10, 40, 200],  // of the slider: few enough to be seen one by one
  kEven: [1, 10, 40, 200, 1000],  // whose shares are compared; the last is the default
  kReplicas: 3,
  kSeed: 1,
  kArcs: 720,
  kMostSteps: 12,
  algorithms: ["ring", "ketama", "slots"],  // as core/ring/hash_ring.hpp numbers them

  start() {
    this.database = new Database();
    this.rings = {};
    this.ids = {};  // of the nodes in them
    this.vnodes = 40;
    this.key = "";  // the one that is followed
    for (const name of this.algorithms) {
      this.make(name);
    }
    for (const vnodes of this.kEven) {
      this.database.run(`CREATE VIRTUAL TABLE even${vnodes} USING hash_ring(vnodes = ${vnodes},
        seed = ${this.kSeed})`);
    }
    this.database.run(
      `CREATE TABLE keys(number INTEGER PRIMARY KEY, key TEXT);
       INSERT INTO keys SELECT value, 'key ' || value FROM
         (WITH RECURSIVE n(value) AS
            (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < ${this.kKeys})
          SELECT value FROM n);
       CREATE TABLE owners("by" TEXT, number INTEGER, node TEXT, PRIMARY KEY ("by", number))
         WITHOUT ROWID;
       CREATE TABLE old_owners("by" TEXT, number INTEGER, node TEXT, PRIMARY KEY ("by", number))
         WITHOUT ROWID`,
    );
    this.movedBy = [];  // [algorithm, keys, needlessly] of the last change; none: there was none
    for (const node of ["cache1", "cache2", "cache3"]) {
      this.put(node, 1);
    }
    dom.byId("ring-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const weight = Number(dom.byId("ring-weight").value);
      this.guard(() => this.change(dom.written("ring-node").trim(), weight));
    });
    dom.byId("ring-step").addEventListener("click", () => this.guard(() => this.step()));
    dom.byId("ring-key-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.guard(() => this.follow(dom.written("ring-key")));
    });
    dom.byId("ring-vnodes").addEventListener("input", () =>
      this.guard(() => this.setVnodes(this.kVnodes[Number(dom.byId("ring-vnodes").value)])));
    dom.byId("ring-algorithm").addEventListener("change", () => this.guard(() => {}));
    this.guard(() => {
      this.keepOwners();
      this.say("Add a node, or remove one, and see which keys move.");
    });
  },

  // ketama has its own points, slots none.
  options: (name) =>
    `algorithm = ${name}` +
    (name === "ring" ? `, vnodes = ${ringView.vnodes}` : "") +
    (name === "ketama" ? "" : `, seed = ${ringView.kSeed}`),

  make(name) {
    this.ids[name] = new Map();
    this.rings[name] = core.ringNew(this.algorithms.indexOf(name), this.vnodes, this.kSeed);
    this.database.run(`CREATE VIRTUAL TABLE ${name} USING hash_ring(${this.options(name)})`);
  },

  // The ring anew, with the nodes that it has.
  setVnodes(vnodes) {
    const nodes = this.database.rows("SELECT node, weight FROM ring");
    core.ringDelete(this.rings.ring);
    this.database.run("DROP TABLE ring");
    this.vnodes = vnodes;
    this.make("ring");
    for (const [node, weight] of nodes) {
      this.putInto("ring", node, weight);
      this.ids.ring.set(node, core.ringPut(this.rings.ring, node, weight).id);
    }
    this.keepOwners();
    this.movedBy = [];
    this.say(`Each node of weight 1 has ${vnodes} ${vnodes === 1 ? "point" : "points"} on the ` +
      "ring now. A node’s share is the sum of the gaps before its points, and gaps differ " +
      `widely: ${vnodes <= 10 ? "so few don’t even out." : "many of them even out."}`);
  },

  guard(action) {
    dom.attempt(this, action, () => this.show());
  },

  say(text, warning = false) {
    dom.say(dom.byId("ring-said"), text, warning);
  },

  drawn: () => dom.byId("ring-algorithm").value,

  put(node, weight) {
    for (const name of this.algorithms) {
      this.putInto(name, node, weight);
      this.ids[name].set(node, core.ringPut(this.rings[name], node, weight).id);
    }
    this.kEven.forEach((vnodes) => this.putInto(`even${vnodes}`, node, weight));
  },

  putInto(table, node, weight) {
    const known = this.database.value(`SELECT count(*) FROM ${table} WHERE node = ?`, node);
    this.database.run(
      known ? `UPDATE ${table} SET weight = ?2 WHERE node = ?1`
        : `INSERT INTO ${table}(node, weight) VALUES (?1, ?2)`,
      [node, weight],
    );
  },

  remove(node) {
    for (const name of this.algorithms) {
      this.database.run(`DELETE FROM ${name} WHERE node = ?`, [node]);
      core.ringRemove(this.rings[name], node);
    }
    this.kEven.forEach((vnodes) =>
      this.database.run(`DELETE FROM even${vnodes} WHERE node = ?`, [node]));
  },

  // The owner of each key, by each algorithm and by "number modulo nodes"; those before are kept.
  keepOwners() {
    const all = this.algorithms.map((name) =>
      `INSERT INTO owners SELECT '${name}', number, node
       FROM keys JOIN ${name} r ON r.key = keys.key`);
    this.database.transaction(() => this.database.run(
      `DELETE FROM old_owners; INSERT INTO old_owners SELECT * FROM owners; DELETE FROM owners;
       ${all.join(";")};
       INSERT INTO owners SELECT 'modulo', number, node FROM keys
         JOIN (SELECT row_number() OVER (ORDER BY node) - 1 AS rank, count(*) OVER () AS nodes, node
               FROM ring)
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
      `SELECT total(share) FROM hash_ring_moves('${drawn}',
         ${weight > 0 ? "'add', ?1, ?2" : "'remove', ?1"})`,
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
        (foretold === null ? ""
          : `hash_ring_moves() had said ${dom.percent(foretold)} of the circle.`),
    );
  },

  // A key moves needlessly if the node that came or grew didn't get it, or the one that went or
  // shrank hadn't had it.
  findMoved(node, grew) {
    const needed = grew ? "owners.node" : "old.node";
    const moved = this.database.rows(
      `SELECT owners."by", count(*), count(*) FILTER (WHERE ${needed} <> ?)
       FROM owners JOIN old_owners old USING ("by", number) WHERE old.node <> owners.node
       GROUP BY 1`,
      node,
    );
    this.movedBy = [...this.algorithms, "modulo"].map(
      (by) => moved.find(([found]) => found === by) ?? [by, 0, 0],
    );
  },

  // --- a key

  follow(key) {
    this.key = key;
    if (key === "") {
      this.say("Which key?", true);
      return;
    }
    const { turn, replicas, points } = this.wayOf(key);
    const where = `“${key}” stands at ${dom.percent(turn)} of the circle, from the top clockwise. `;
    const [owner, ...others] = replicas;
    const next = points.length === 0
      ? `The circle has 65,536 equal parts here, each with its owner: this one is ${owner}’s. `
      : `The next point is one of ${owner}, at ${dom.percent(points[0])}: ${owner} owns the key. `;
    const further = others.length === 0 ? "There is no other node for a replica."
      : `Replicas go to the next other nodes on the way: ${others.join(", then ")}.`;
    this.say(where + next + further);
  },

  // Where a key is, whose it is, and the first point behind it of each of these; slots have none.
  wayOf(key) {
    const drawn = this.drawn();
    const [[turn]] = core.ringKeys(this.rings[drawn], [key.replaceAll("\n", " ")]);
    const replicas = this.database.rows(
      `SELECT node FROM ${drawn} WHERE key = ? AND replicas = ${this.kReplicas} ORDER BY replica`,
      key).flat();
    const { points } = core.ringPicture(this.rings[drawn], 1);
    const behind = [...points.filter(([at]) => at >= turn), ...points.filter(([at]) => at < turn)];
    const first = (node) => behind.find(([, id]) => id === this.id(node))[0];
    return { turn, replicas, points: points.length === 0 ? [] : replicas.map(first) };
  },

  nodes() {
    return this.database.rows(`SELECT node, weight, share FROM ${this.drawn()} ORDER BY node`);
  },

  // --- what is seen

  show() {
    this.draw();
    this.showNodes();
    this.showEvenness();
    dom.byId("ring-vnodes-shown").textContent = this.vnodes;
    dom.byId("ring-moves").hidden = this.movedBy.length === 0;
    dom.fill(
      dom.byId("ring-moves").tBodies[0],
      this.movedBy.map(([by, count, needless]) => [by, dom.count(count), dom.count(needless)]),
    );
  },

  // Each node's share, as a multiple of what its weight says.
  showEvenness() {
    const rows = this.kEven.map((vnodes) => {
      const [least, most] = this.database.row(
        `SELECT min(part), max(part) FROM (SELECT share * sum(weight) OVER () / weight AS part
           FROM even${vnodes})`);
      return [vnodes === this.kEven.at(-1) ? `${dom.count(vnodes)}, the default` : String(vnodes),
        `${dom.rounded(least, 2)} ×`, `${dom.rounded(most, 2)} ×`];
    });
    dom.fill(dom.byId("ring-evenness").tBodies[0], rows);
  },

  draw() {
    const { points, arcs } = core.ringPicture(this.rings[this.drawn()], this.kArcs);
    const numbers = Array.from({ length: this.kDrawnKeys }, (_, i) => i + 1);
    const keys = core.ringKeys(this.rings[this.drawn()],
      numbers.map((number) => `key ${number}`));
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
        return ` (vnodes = ${this.vnodes}, so that each is seen; the default is 1,000)`;
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
          `<path class="arc" d="M ${at(start / arcs.length, 84)} A 84 84 0 0 1 ` +
            `${at(end / arcs.length, 84)}" fill="none" stroke="${this.colourOf(arcs[from])}" ` +
            'stroke-width="9"/>',
        );
      }
    }
    const lines = new Map();  // of each node, its points
    for (const [turn, id] of points) {
      lines.set(id, `${lines.get(id) ?? ""}M ${at(turn, 90)} L ${at(turn, 98)}`);
    }
    for (const [id, line] of lines) {
      shapes.push(`<path class="points" d="${line}" stroke="${this.colourOf(id)}" ` +
        'stroke-width="0.8"/>');
    }
    for (const [turn, id, moved] of keys) {
      const [x, y] = at(turn, moved ? 66 : 73).split(" ");
      shapes.push(
        `<circle cx="${x}" cy="${y}" r="${moved ? 2.6 : 1.6}" fill="${this.colourOf(id)}"` +
          `${moved ? ` stroke="${dom.colour("hit")}" stroke-width="1.3"` : ""}/>`,
      );
    }
    shapes.push(this.direction(at), this.keyWay(at));
    const picture = dom.byId("ring-picture");
    picture.innerHTML = shapes.join("");
    const lit = keys.filter(([, , moved]) => moved).length;
    const changed = this.movedBy.length > 0;
    picture.setAttribute("aria-label",
      `A circle of ${this.nodes().length} nodes with ${points.length} points` +
      `${changed ? `; ${lit} of ${keys.length} keys drawn moved` : ""}`);
    dom.byId("ring-caption").textContent =
      `Outside the ${dom.count(points.length)} points of the nodes${this.pointsText()}, ` +
      `on the circle who owns what, inside ${keys.length} keys. “Next” is clockwise. ` +
      `${changed ? `The ${lit} that the last change moved stand out. ` : ""}` +
      `${this.key === "" ? "" : `The arrow goes from “${this.key}” to its owner; numbers lead ` +
      "to the points that give it its replicas."}`;
  },

  // Which way is next, in the middle.
  direction: (at) =>
    `<path class="way" d="M ${at(0.9, 38)} A 38 38 0 0 1 ${at(0.1, 38)}"/>` +
    `<path class="tip" transform="translate(${at(0.1, 38)}) rotate(36)" ` +
    'd="M 5 0 L -3 -4 L -3 4 Z"/>' +
    '<text y="-22">next</text>',

  // From the key to the first point behind it.
  keyWay(at) {
    if (this.key === "") {
      return "";
    }
    const { turn, points } = this.wayOf(this.key);
    const key = `<circle class="followed" cx="${at(turn, 84).replace(" ", '" cy="')}" r="4"/>`;
    if (points.length === 0) {
      return key;
    }
    const to = points[0] < turn ? points[0] + 1 : points[0];
    const leaders = points.map((point, i) =>  // apart, where the points are not
      `<path class="leader" d="M ${at(point, 79)} L ${at(point, 62 - 9 * i)}"/>`);
    const numbers = points.map((point, i) =>
      `<text class="replica" transform="translate(${at(point, 58 - 9 * i)})" y="3">${i}</text>`);
    return `<path class="way" d="M ${at(turn, 88)} L ${at(turn, 100)} A 100 100 0 ` +
      `${to - turn > 0.5 ? 1 : 0} 1 ${at(to, 100)}"/>` +
      `<path class="tip" transform="translate(${at(to, 100)}) rotate(${to * 360})" ` +
      `d="M 1 0 L -5 -3.5 L -5 3.5 Z"/>${key}${[...leaders, ...numbers].join("")}`;
  },
};
