// The view of growth: the segments of a real cuckoo_filter, as words are added in transactions.
"use strict";

const growthView = {
  kBatch: 500,          // words of one transaction
  kMostWords: 200000,

  start() {
    const on = (id, action) =>
      dom.byId(id).addEventListener("click", () => dom.attempt(this, action, () => this.draw()));
    on("growth-step", () => this.step());
    on("growth-split", () => this.untilSplit());
    on("growth-remove", () => this.remove());
    on("growth-new", () => this.make());
    dom.attempt(this, () => this.make(), () => this.draw());
  },

  show() {
    this.draw();
  },

  say(text, warning = false) {
    dom.say(dom.byId("growth-said"), text, warning);
  },

  // Small pages and a low rate: so a segment has room for few thousand words.
  make() {
    this.database?.close();
    this.database = new Database();
    this.database.run(
      `PRAGMA page_size = 512;
       CREATE VIRTUAL TABLE words USING cuckoo_filter(word TEXT, capacity = 500, fpr = 1e-8, seed = 1)`,
    );
    this.first = this.added = 0;  // words "word first + 1" … "word added" are in
    this.transactions = 0;
    this.hits = [];               // numbers of segments that the last transaction changed
    this.say("An empty filter is one segment, with room for 500 words. Step adds 500 in one transaction.");
  },

  now() {
    return core.filterSegments(this.database.connection.handle, "words");
  },

  name: ({ prefix, depth }) => (depth === 0 ? "of all" : prefix.toString(2).padStart(depth, "0")),

  // --- one step: one transaction

  step() {
    if (this.added >= this.kMostWords) {
      this.say(`${dom.count(this.kMostWords)} words are enough for a picture.`, true);
      return false;
    }
    this.change("added", () => {
      this.database.run(this.numbers("INSERT INTO words SELECT 'word ' || i FROM n"), [this.added, this.added + this.kBatch]);
      this.added += this.kBatch;
    });
    return true;
  },

  remove() {
    if (this.added - this.first < this.kBatch) {
      this.say("There are no words to remove.", true);
      return;
    }
    this.change("removed", () => {
      this.database.run(this.numbers("DELETE FROM words WHERE word IN (SELECT 'word ' || i FROM n)"),
        [this.first, this.first + this.kBatch]);
      this.first += this.kBatch;
    });
  },

  numbers: (statement) =>
    `WITH RECURSIVE n(i) AS (VALUES (?1 + 1) UNION ALL SELECT i + 1 FROM n WHERE i < ?2) ${statement}`,

  untilSplit() {
    const before = this.now().segments.length;
    while (this.step() !== false && this.now().segments.length === before);
  },

  change(what, action) {
    const before = this.now();
    action();
    this.transactions += 1;
    const after = this.now();
    const texts = this.textsOf(before, after);
    this.say(`Transaction ${this.transactions} ${what} ${this.kBatch} words: as many entries at the end of the log. ` +
      (texts.length > 0 ? texts.join(" ")
        : `${dom.count(after.pending)} entries pend, too few to fold a segment: a commit that writes the log alone is short.`));
  },

  // What became of the segments, a sentence each.
  textsOf(before, after) {
    this.hits = [];
    const texts = [];
    const known = new Map(before.segments.map((segment) => [this.name(segment), segment]));
    const made = new Map();  // name of a segment that was split -> its pieces
    for (const segment of after.segments) {
      const name = this.name(segment);
      const old = known.get(name);
      if (old === undefined) {
        const parent = before.segments.find((one) => one.depth < segment.depth &&
          segment.prefix >> (segment.depth - one.depth) === one.prefix);
        made.set(parent, [...(made.get(parent) ?? []), segment]);
        this.hits.push(segment.number);
      } else if (old.number !== segment.number) {
        this.hits.push(segment.number);
        texts.push(`Segment ${name} had the entry that pended longest, and was made anew of its hashes: room for ` +
          `${dom.count(segment.capacity)} words instead of ${dom.count(old.capacity)}. No other segment changed.`);
      } else if (old.items !== segment.items || old.run_entries !== segment.run_entries) {
        this.hits.push(segment.number);
        texts.push(`Segment ${name} had the entry that pended longest, so its turn came: ` +
          `its pending entries were folded into its pages, and it holds ${dom.count(segment.items)} words now.`);
      }
    }
    for (const [parent, pieces] of made) {
      texts.push(`Segment ${this.name(parent)} would have had more than the ${dom.count(after.most_keys)} words that a ` +
        `segment may hold, so it was split by the next ${pieces[0].depth - parent.depth === 1 ? "bit" : "bits"} of the ` +
        `hashes, into ${pieces.map((piece) => this.name(piece)).join(" and ")}. No other segment changed.`);
    }
    return texts;
  },

  // --- what is seen

  draw() {
    const { segments, most_keys: most, pending } = this.now();
    const ordered = segments.map((segment) => ({ ...segment, left: segment.prefix / 2 ** segment.depth }))
      .sort((a, b) => a.left - b.left);
    dom.byId("growth-picture").replaceChildren(...ordered.map((segment) => {
      const part = (value) => `${Math.min(100, (100 * value) / most).toFixed(2)}%`;
      const style = `left: ${100 * segment.left}%; width: ${100 / 2 ** segment.depth}%`;
      return dom.make("div", { class: `segment${this.hits.includes(segment.number) ? " hit" : ""}`, style },
        dom.make("div", { class: "room", style: `height: ${part(segment.capacity)}` }),
        dom.make("div", { class: "held", style: `height: ${part(segment.items)}` }),
        dom.make("div", { class: "pends", style: `bottom: ${part(segment.items)}; height: ${part(segment.pending)}` }));
    }));
    dom.byId("growth-picture").setAttribute("aria-label",
      `${segments.length} ${segments.length === 1 ? "segment" : "segments"}, side by side by the first bits of their hashes`);
    const of = (column) => this.database.value(`SELECT ${column} FROM filter_info('words')`);
    dom.fill(dom.byId("growth-figures").tBodies[0], [
      ["words", dom.count(of("items"))],
      ["segments", dom.count(of("segments"))],
      ["room for", dom.count(segments.reduce((sum, { capacity }) => sum + capacity, 0))],
      ["a segment is split beyond", dom.count(most)],
      ["entries that pend", dom.count(pending)],
      ["entries in the log", dom.count(of("log_entries"))],
      ["size on disk", dom.bytes(of("disk_bytes"))],
    ]);
    dom.fill(dom.byId("growth-segments").tBodies[0], ordered.map((segment) =>
      [this.name(segment), ...["items", "capacity", "pending", "overflow"].map((field) => dom.count(segment[field]))]));
  },
};
