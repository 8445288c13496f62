// The view of a flash_kv's index: the slot cache of a real table, and where its records are.
"use strict";

const indexView = {
  kValueBytes: 20,
  kMany: 20,  // writes, by the button

  start() {
    this.steps = new Steps();
    const on = (id, event, action) =>
      dom.byId(id).addEventListener(event, (happened) => {
        happened.preventDefault();
        dom.attempt(this, action, () => this.draw());
      });
    on("index-step", "click", () => this.step());
    on("index-many", "click", () => this.writeMany());
    on("index-form", "submit", () => this.write(dom.written("index-key")));
    on("index-ask", "click", () => this.ask(dom.written("index-key")));
    on("index-remove", "click", () => this.remove(dom.written("index-key")));
    on("index-ways", "change", () => this.make());
    on("index-new", "click", () => this.make());
    dom.attempt(this, () => this.make(), () => this.draw());
  },

  show() {
    this.draw();
  },

  say(text, warning = false) {
    dom.say(dom.byId("index-said"), text, warning);
  },

  make() {
    this.database?.close();
    this.database = new Database();
    this.database.run(
      `CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, size = '256KB',
         sector_size = 512, erase_block = 4,
         hashes = 2, ways = ${dom.byId("index-ways").value}, seed = 1)`,
    );
    this.numbered = 0;  // of the keys "key 1", "key 2" …, how many the step button wrote
    this.versions = 0;
    this.steps = new Steps();
    this.frame = { index: this.now(), buckets: [], slots: [] };
    this.say("A new store, and an empty index of eight buckets. Step writes the next key.");
  },

  now() {
    return core.flashIndex(this.database.connection.handle, "kv");
  },
  keyOf(key) {
    return core.flashKey(this.database.connection.handle, "kv", key);
  },
  hex: (hash) => hash.toString(16).padStart(8, "0"),

  take(frame) {
    this.frame = frame;
    this.say(`${frame.text}${this.steps.leftText()}`);
  },

  // --- one step

  step() {
    if (this.steps.left > 0) {
      this.take(this.steps.next());
    } else {
      this.numbered += 1;
      this.write(`key ${this.numbered}`);
    }
  },

  writeMany() {
    this.database.transaction(() => {
      for (let i = 0; i < this.kMany; ++i) {
        this.numbered += 1;
        this.put(`key ${this.numbered}`);
      }
    });
    this.steps = new Steps();
    this.frame = { index: this.now(), buckets: [], slots: [] };
    this.say(`${this.kMany} keys were written; the index has had to move ` +
      `${dom.count(this.frame.index.moves)} ` +
      `entries so far, and grew ${this.frame.index.expansions} times.`);
  },

  put(key) {
    this.versions += 1;
    this.database.run("INSERT OR REPLACE INTO kv VALUES (?, ?)",
      [key, `version ${this.versions} `.padEnd(this.kValueBytes, ".")]);
  },

  write(key) {
    if (key === "") {
      this.say("Which key?", true);
      return;
    }
    const before = { index: this.now(), key: this.keyOf(key) };
    this.put(key);
    const after = { index: this.now(), key: this.keyOf(key) };
    this.take(this.steps.begin(this.framesOf(key, before, after)));
  },

  // What a write did to the index, from what it was before and is after it.
  framesOf(key, before, after) {
    const { hash, position, sector } = after.key;
    const written = `“${key}”: its record was programmed at unit ${position} of the log, in ` +
      `sector ${sector}.`;
    const last = { index: after.index, buckets: after.key.buckets,
      slots: this.slotsOf(after.index, hash, position) };
    const names = (buckets) => [...new Set(buckets)].join(" or ");
    if (before.key.position !== 0) {
      return [{ ...last, text: `${written} The slot of hash ${this.hex(hash)} stays where it is ` +
        `and points there now; ` +
        `the record before, at unit ${before.key.position}, is dead.` }];
    }
    if (after.index.expansions > before.index.expansions) {
      const [from, to] = [before, after].map(({ index }) => index.slots.length / index.ways);
      return [
        { index: before.index, buckets: before.key.buckets, slots: [],
          text: `${written} Hash ${this.hex(hash)} may stand in bucket ` +
            `${names(before.key.buckets)}: both are full, and ` +
            "no chain of moves that the search tried ends at an empty slot." },
        { ...last, text: `So the index grew from ${from} to ${to} buckets. Each entry's buckets ` +
          `follow from its hash ` +
          "alone, so no record was read for that." },
      ];
    }
    const chain = this.chainOf(before.index, after.index, hash, position);
    if (chain.length === 0) {
      return [{ ...last, text: `${written} No slot was found for hash ${this.hex(hash)}: it ` +
        `waits in the stash.` }];
    }
    if (chain.length === 1) {
      return [{ ...last, text: `${written} Hash ${this.hex(hash)} may stand in bucket ` +
        `${names(after.key.buckets)}; it ` +
        `took a free slot of bucket ${this.bucketOf(after.index, chain[0])}.` }];
    }
    return this.relocationFrames(written, before, after, chain, last);
  },

  // The free end moves first: an entry is written to its new slot before it leaves the old one.
  relocationFrames(written, before, after, chain, last) {
    const bucket = (slot) => this.bucketOf(after.index, slot);
    const slots = before.index.slots.slice();
    const frames = [{
      index: before.index, buckets: after.key.buckets, slots: [],
      text: `${written} Hash ${this.hex(after.key.hash)} may stand in bucket ` +
        `${[...new Set(after.key.buckets)].join(" or ")}, and both are full. The shortest chain ` +
        `to an empty slot has ` +
        `${chain.length - 1} ${chain.length === 2 ? "move" : "moves"}.`,
    }];
    for (let i = chain.length - 1; i > 0; --i) {
      const [from, to] = [chain[i - 1], chain[i]];
      slots[to] = slots[from];
      slots[from] = [0, 0];
      frames.push({
        index: { ...after.index, slots: slots.slice() },
        buckets: [bucket(from), bucket(to)], slots: [to],
        text: `${this.hex(slots[to][0])} moved from bucket ${bucket(from)} to its other bucket, ` +
          `${bucket(to)}, where a ` +
          "slot was empty.",
      });
    }
    frames.push({ ...last, text: `${this.hex(after.key.hash)} took the slot in bucket ` +
      `${bucket(chain[0])} that is free now.` });
    return frames;
  },

  // Slots: the one that the new entry is in, the one that its entry of before is in now, and so on.
  chainOf(before, after, hash, position) {
    const same = ([hash1, position1], [hash2, position2]) =>
      hash1 === hash2 && position1 === position2;
    const chain = [];
    let entry = [hash, position];
    while (entry[1] !== 0) {
      const moved = entry;
      const slot = after.slots.findIndex((one) => same(one, moved));
      if (slot < 0 || chain.includes(slot)) {
        break;
      }
      chain.push(slot);
      entry = before.slots[slot];
    }
    return chain;
  },

  slotsOf: (index, hash, position) =>
    index.slots.flatMap(([slotHash, slotPosition], slot) =>
      (slotHash === hash && slotPosition === position ? [slot] : [])),
  bucketOf: (index, slot) => Math.floor(slot / index.ways),

  // --- other buttons

  ask(key) {
    const index = this.now();
    const { hash, buckets, position, sector } = this.keyOf(key);
    this.steps = new Steps();
    const slots = position === 0 ? [] : this.slotsOf(index, hash, position);
    this.frame = { index, buckets, slots };
    const read = `“${key}”: hash ${this.hex(hash)} may stand in bucket ` +
      `${[...new Set(buckets)].join(" or ")}.`;
    if (position !== 0) {
      const value = this.database.value("SELECT value FROM kv WHERE key = ?", key);
      this.say(`${read} It does, and points to unit ${position}: the record there, in sector ` +
        `${sector}, has the key, so ` +
        `its value is the answer: “${value}”.`);
    } else {
      this.say(`${read} No slot leads to a record with this key: it is not there.`);
    }
  },

  remove(key) {
    const before = this.keyOf(key);
    this.database.run("DELETE FROM kv WHERE key = ?", [key]);
    this.steps = new Steps();
    this.frame = { index: this.now(), buckets: before.buckets, slots: [] };
    this.say(before.position === 0
      ? `“${key}” is not there: nothing to remove.`
      : `“${key}”: its slot points to a record that says “removed” now, until a collection drops ` +
        `both.`);
  },

  // --- what is seen

  draw() {
    const { index, buckets, slots } = this.frame;
    const all = [];
    for (let first = 0; first < index.slots.length; first += index.ways) {
      const bucket = first / index.ways;
      const cells = index.slots.slice(first, first + index.ways).map(([hash, position], way) =>
        dom.make("span", {
          class: ["slot", position === 0 ? "" : "taken", slots.includes(first + way) ? "hit" : ""]
            .join(" "),
          style: position === 0 ? "" : `background: hsl(${dom.hue(hash % 9973)} 60% 66%)`,
          title: position === 0 ? "empty" : `hash ${this.hex(hash)}, unit ${position}` },
        position === 0 ? "" : String(position)));
      all.push(dom.make("li", { class: buckets.includes(bucket) ? "hit" : "" },
        dom.make("span", { class: "index" }, String(bucket)), ...cells));
    }
    const picture = dom.byId("index-buckets");
    picture.style.setProperty("--ways", index.ways);
    picture.replaceChildren(...all);
    const of = (column) => this.database.value(`SELECT ${column} FROM flash_kv_info('kv')`);
    dom.fill(dom.byId("index-figures").tBodies[0], [
      ["keys", dom.count(of("entries"))],
      ["slots", dom.count(index.slots.length)],
      ["load of the slots", dom.percent(index.load)],
      ["entries moved", dom.count(index.moves)],
      ["times that it grew", dom.count(index.expansions)],
      ["entries in the stash", dom.count(index.stash)],
      ["memory of the index", dom.bytes(of("index_bytes"))],
    ]);
  },
};
