// The view of growth: the segments of a real cuckoo_filter, as words are added in transactions.
"use strict";

const growthView = {
  kBatch: 500,          // words of one transaction
  kMostWords: 200000,
  kMostLogged: 40,      // transactions of the log that are drawn

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
       CREATE VIRTUAL TABLE words USING cuckoo_filter(word TEXT, capacity = 500, fpr = 1e-8,
         seed = 1)`,
    );
    this.first = this.added = 0;  // words "word first + 1" … "word added" are in
    this.transactions = 0;
    this.hits = [];               // numbers of segments that the last transaction changed
    this.say("An empty filter is one segment, with room for 500 words. Step adds 500 in one " +
      "transaction.");
  },

  now() {
    return core.filterSegments(this.database.connection.handle, "words");
  },

  name: ({ prefix, depth }) => (depth === 0 ? "all" : prefix.toString(2).padStart(depth, "0")),
  // As the subject of a sentence about its turn.
  whose: (segment) => (segment.depth === 0 ? "The only segment"
    : `Segment ${growthView.name(segment)}, which had the oldest pending entry,`),

  // --- one step: one transaction

  step() {
    if (this.added >= this.kMostWords) {
      this.say(`${dom.count(this.kMostWords)} words are enough for a picture.`, true);
      return false;
    }
    this.change("added", () => {
      this.database.run(this.numbers("INSERT INTO words SELECT 'word ' || i FROM n"),
        [this.added, this.added + this.kBatch]);
      this.added += this.kBatch;
    });
    return true;
  },

  remove() {
    this.change("removed", () => {
      this.database.run(
        this.numbers("DELETE FROM words WHERE word IN (SELECT 'word ' || i FROM n)"),
        [this.first, this.first + this.kBatch]);
      this.first += this.kBatch;
    });
  },

  numbers: (statement) =>
    "WITH RECURSIVE n(i) AS (VALUES (?1 + 1) UNION ALL SELECT i + 1 FROM n WHERE i < ?2) " +
    statement,

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
    this.say(`Transaction ${this.transactions} ${what} ${this.kBatch} words: as many entries at ` +
      `the end of the log. ${texts.length > 0 ? texts.join(" ")
        : `${dom.count(after.pending)} entries pend, too few to fold a segment: a commit that ` +
          "writes the log alone is short."}`);
  },

  // What became of the segments, a sentence each.
  textsOf(before, after) {
    this.hits = [];
    const texts = [];
    const alone = before.segments.length > 1 ? " No other segment changed." : "";
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
        texts.push(`${this.whose(segment)} was too full, and was made anew of its hashes: room ` +
          `for ${dom.count(segment.capacity)} words instead of ` +
          `${dom.count(old.capacity)}.${alone}`);
      } else if (old.items !== segment.items || old.run_entries !== segment.run_entries) {
        this.hits.push(segment.number);
        texts.push(`${this.whose(segment)} was folded: its pending entries went into its pages, ` +
          `and it holds ${dom.count(segment.items)} words now.`);
      }
    }
    for (const [parent, pieces] of made) {
      texts.push(`${this.whose(parent)} would have got more than the ` +
        `${dom.count(after.most_keys)} ` +
        "words that a segment may hold. So it was split by the next " +
        `${pieces[0].depth - parent.depth === 1 ? "bit" : "bits"} of the hashes, into segments ` +
        `${pieces.map((piece) => this.name(piece)).join(" and ")}.${alone}`);
    }
    return texts;
  },

  // --- what is seen

  draw() {
    const { segments, most_keys: most, pending, position } = this.now();
    const of = (column) => this.database.value(`SELECT ${column} FROM filter_info('words')`);
    const ordered = segments
      .map((segment) => ({ ...segment, left: segment.prefix / 2 ** segment.depth }))
      .sort((a, b) => a.left - b.left);
    dom.byId("growth-picture").replaceChildren(...ordered.map((segment) => {
      const part = (value) => `${Math.min(100, (100 * value) / most).toFixed(2)}%`;
      const style = `left: ${100 * segment.left}%; width: ${100 / 2 ** segment.depth}%`;
      const pends = `bottom: ${part(segment.items)}; height: ${part(segment.pending)}`;
      return dom.make("div", {
        class: `segment${this.hits.includes(segment.number) ? " hit" : ""}`, style,
      },
      dom.make("div", { class: "room", style: `height: ${part(segment.capacity)}` }),
      dom.make("div", { class: "held", style: `height: ${part(segment.items)}` }),
      dom.make("div", { class: "pends", style: pends }),
      dom.make("span", { class: "name" }, ordered.length > 16 ? "" : this.name(segment)));
    }));
    dom.byId("growth-picture").setAttribute("aria-label",
      `${segments.length} ${segments.length === 1 ? "segment" : "segments"}, side by side by the ` +
      "first bits of their hashes");
    this.drawLog(ordered, position, of("log_entries"));
    dom.byId("growth-remove").disabled = this.added - this.first < this.kBatch;
    dom.byId("growth-new").disabled = this.transactions === 0;
    dom.fill(dom.byId("growth-figures").tBodies[0], [
      ["words", dom.count(of("items"))],
      ["segments", dom.count(of("segments"))],
      ["room for", dom.count(segments.reduce((sum, { capacity }) => sum + capacity, 0))],
      ["a segment is split beyond", dom.count(most)],
      ["entries that pend", dom.count(pending)],
      ["entries in the log", dom.count(of("log_entries"))],
      ["size on disk", dom.bytes(of("disk_bytes"))],
    ]);
    const fields = ["items", "capacity", "pending", "overflow"];
    dom.fill(dom.byId("growth-segments").tBodies[0], ordered.map((segment) =>
      [this.name(segment), ...fields.map((field) => dom.count(segment[field]))]));
  },

  // A cell for each transaction's entries, the newest at the right, and for each segment a bar over
  // those among which some pend for it.
  drawLog(segments, end, entries) {
    const cells = Math.min(this.kMostLogged, Math.ceil(entries / this.kBatch));
    const begin = end - cells * this.kBatch;
    const pending = segments.filter((segment) => segment.pending > 0)
      .sort((a, b) => a.from - b.from);
    const oldest = pending[0]?.from ?? end;
    dom.byId("growth-log").replaceChildren(...Array.from({ length: cells }, (_, i) => {
      const to = begin + (i + 1) * this.kBatch;
      return dom.make("span", { class: `logged${to > oldest ? " pends" : ""}${
        to === end ? " hit" : ""}` });
    }));
    const left = (from) => 100 * Math.max(0, from - begin) / Math.max(1, end - begin);
    const named = pending.length <= 6;
    const height = named ? 14 : Math.max(1, 60 / pending.length);
    dom.byId("growth-pending").replaceChildren(...pending.map((segment) => dom.make("div", {
      class: "pends", style: `margin-left: ${left(segment.from)}%; height: ${height}px`,
    }, named ? this.name(segment) : "")));
    dom.byId("growth-log-text").textContent = cells === 0 ? "The log is empty."
      : `The log: a cell is the ${this.kBatch} entries of a transaction, the newest at the ` +
        `right. ${entries > cells * this.kBatch ? `The last ${cells} are drawn. ` : ""}Grey ones ` +
        "are folded; they are kept for a while, for copies of the filter that ask what is new. " +
        `${pending.length === 0 ? "Nothing pends." : "Each bar is a segment: it reaches back to " +
        `the oldest entry that pends for it. The longest is that of ${pending[0].depth === 0
          ? "the only segment" : `segment ${this.name(pending[0])}`}: it is folded next.`}`;
  },
};
