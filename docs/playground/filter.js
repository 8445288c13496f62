// The filter view: a cuckoo filter and a Bloom filter of the same words.
"use strict";

const filterView = {
  kSeed: 1,
  kStrangers: 20000,   // words that nobody adds, to measure false positives by
  kCopies: 10,         // of a word, by the button
  kinds: { cuckoo: 1, bloom: 2 },  // their numbers in core/filter/kind.hpp

  start() {
    this.counted = 0;  // of the words "word 1", "word 2" …, how many are in
    this.own = [];     // other words that are in, each as often as it was added
    this.extras = 0;   // words that addUntilRelocated() made up
    this.filters = {};
    this.marks = {};   // what the last action read or wrote, to be drawn
    this.why = null;   // {bucket, fingerprint}, whose other bucket is explained
    this.wrong = {};   // strangers taken for members, as measured
    this.steps = new Steps();
    this.stepped = null;  // the buckets of the cuckoo filter while an insert is shown in steps
    this.lies = filterLies.none();

    const on = (id, event, action, changes = true) =>
      dom.byId(id).addEventListener(event, (happened) => {
        happened.preventDefault();
        this.guard(action, changes);
      });
    on("filter-count", "input", () => this.setCount(Number(dom.byId("filter-count").value)));
    on("filter-rate", "change", () => this.remake());
    on("filter-capacity", "change", () => this.remake());
    on("filter-word-form", "submit", () => this.ask(dom.written("filter-word")), false);
    on("filter-add", "click", () => this.add(dom.written("filter-word")));
    on("filter-remove", "click", () => this.remove(dom.written("filter-word")));
    on("filter-relocate", "click", () => this.addUntilRelocated());
    on("filter-copies", "click", () => this.addCopies(dom.written("filter-word")));
    on("filter-lie", "click", () => this.findLies(), false);
    dom.byId("filter-step").addEventListener("click", () =>
      dom.attempt(this, () => this.step(), () => this.measure(), () => this.show()));
    on("filter-list-add", "click", () => this.addList());
    on("filter-clear", "click", () => this.clear());
    this.guard(() => {
      this.remake();
      this.setCount(Number(dom.byId("filter-count").value));
      this.ask(dom.written("filter-word"));
    });
  },

  // What was shown in steps is done: a button shows what the filters hold now.
  guard(action, changes = true) {
    this.steps = new Steps();
    this.stepped = null;
    this.lies = { ...this.lies, bits: null };
    dom.attempt(this, action, () => {
      if (changes) {
        this.measure();
      }
      this.show();
    });
  },

  say(text, warning = false) {
    dom.say(dom.byId("filter-said"), text, warning);
  },

  nth: (i) => `word ${i}`,
  hex: (fingerprint) => fingerprint.toString(16),
  words() {
    return [...Array.from({ length: this.counted }, (_, i) => this.nth(i + 1)), ...this.own];
  },
  holds(word) {
    const [, number] = /^word ([1-9]\d*)$/.exec(word) ?? [];
    return Number(number) <= this.counted || this.own.includes(word);
  },
  // Says so if there is no word.
  given(word) {
    if (word === "") {
      this.say("Which word?", true);
    }
    return word !== "";
  },

  // Both anew, with the words that are in.
  remake(kinds = Object.keys(this.kinds)) {
    const rate = Number(dom.byId("filter-rate").value);
    const capacity = Number(dom.byId("filter-capacity").value);
    for (const kind of kinds) {
      if (this.filters[kind]) {
        core.filterDelete(this.filters[kind]);
      }
      this.filters[kind] = core.filterNew(this.kinds[kind], capacity, rate, this.kSeed);
      core.filterInsertLines(this.filters[kind], this.words());
    }
    this.marks = {};
    this.why = null;
  },

  setCount(count) {
    this.marks = {};
    const before = this.counted;
    const changed = (from, to) =>
      Array.from({ length: to - from }, (_, i) => this.nth(from + i + 1));
    this.counted = count;
    if (count >= before) {
      for (const filter of Object.values(this.filters)) {
        core.filterInsertLines(filter, changed(before, count));
      }
      this.say(`${dom.count(this.words().length)} words are in the filters.`);
    } else {
      for (const word of changed(count, before)) {
        core.filterRemove(this.filters.cuckoo, word);
      }
      this.remake(["bloom"]);
      this.say(
        `The cuckoo filter forgot ${dom.count(before - count)} words. ` +
          "A Bloom filter can't: it was made anew from those that remain.",
      );
    }
  },

  add(word) {
    if (!this.given(word)) {
      return [];
    }
    const { bits } = core.filterState(this.filters.bloom);
    const cuckoo = core.filterInsert(this.filters.cuckoo, word);
    const bloom = core.filterInsert(this.filters.bloom, word);
    this.own.push(word);
    this.marks = { path: cuckoo.path, cells: bloom.cells };
    const [, fingerprint] = cuckoo.path.at(-1) ?? [];
    const [bucket] = cuckoo.path.at(-2) ?? cuckoo.path.at(-1) ?? [];  // from there it moved
    this.why = bucket === undefined ? null : { bucket, fingerprint };
    this.say(`“${word}”: ${this.pathText(cuckoo)} ${this.bitsText(bloom, bits)}`);
    return cuckoo.path;
  },

  pathText({ path, grew }) {
    if (grew) {
      return "the cuckoo filter was full, and was made anew with room for half as many words more.";
    }
    if (path.length === 0) {
      return "all places were taken, so it is counted in the overflow table.";
    }
    const [[bucket, fingerprint], ...moves] = path;
    const start = `fingerprint ${this.hex(fingerprint)} went into bucket ${bucket}`;
    if (moves.length === 0) {
      return `${start}, where there was room.`;
    }
    const steps = moves.map(([to, moved]) => `${this.hex(moved)} moved to its other bucket, ${to}`);
    return `${start}, whose ${steps.join("; there ")}.`;
  },

  bitsText({ cells, grew }, before) {
    if (grew) {
      return "The Bloom filter was full, and was made anew.";
    }
    const fresh = cells.filter((cell) => before[cell] === "0").length;
    return fresh === 0
      ? `All ${cells.length} bits of the Bloom filter were set already: it looks as if it were ` +
        "there, and is not counted."
      : `In the Bloom filter ${fresh} of its ${cells.length} bits had to be set.`;
  },

  remove(word) {
    if (!this.given(word)) {
      return;
    }
    const place = this.own.indexOf(word);
    if (place < 0 && this.holds(word)) {
      this.say(`“${word}” is there by the slider: move that.`, true);
      return;
    }
    const { buckets } = core.filterAsk(this.filters.cuckoo, word);
    const { removed } = core.filterRemove(this.filters.cuckoo, word);
    if (place >= 0) {
      this.own.splice(place, 1);
      this.remake(["bloom"]);
    }
    this.marks = { buckets };
    if (!removed) {
      this.say(`“${word}” is definitely not there: nothing to remove.`, place >= 0);
    } else if (this.holds(word)) {
      this.say(`“${word}” was there more than once; the cuckoo filter forgot one of them.`);
    } else if (place >= 0) {
      this.say(`The cuckoo filter forgot “${word}”. ` +
        "A Bloom filter can't: it was made anew without it.");
    } else {
      this.say(
        `“${word}” was never added, but looked as if: some other word has lost its fingerprint. ` +
          "Remove only what you added.",
        true,
      );
    }
  },

  addCopies(word) {
    for (let i = 0; i < this.kCopies && this.add(word).length >= 0 && word !== ""; ++i);
  },

  // --- an insert, one move at a time

  step() {
    this.lies = { ...this.lies, bits: null };
    if (this.steps.left > 0) {
      this.take(this.steps.next());
      return;
    }
    this.extras += 1;
    const word = `extra ${this.extras}`;
    const before = core.filterState(this.filters.cuckoo).buckets;
    const { buckets, fingerprint } = core.filterAsk(this.filters.cuckoo, word);
    this.add(word);
    const frames = this.framesOf(word, fingerprint, [...new Set(buckets)], before);
    this.take(this.steps.begin(frames));
  },

  take({ buckets, marks, text, why }) {
    this.stepped = buckets;
    this.marks = marks;
    this.why = why ?? this.why;
    this.say(`${text}${this.steps.leftText()}`);
  },

  // The insert is done: `marks` say what it moved, and `before` where all was.
  framesOf(word, fingerprint, roots, before) {
    const last = { buckets: null, marks: this.marks };
    const path = this.marks.path;
    const belongs =
      `“${word}”: fingerprint ${this.hex(fingerprint)} belongs in bucket ${roots.join(" or ")}`;
    if (path.length === 0) {
      return [{ ...last, text: dom.byId("filter-said").textContent }];
    }
    const [[first]] = path;
    const own = { bucket: roots[0], fingerprint };
    if (path.length === 1) {
      return [{ ...last, why: own, text: `${belongs}. It went into bucket ${first}, the emptier ` +
        "one, and nothing had to move." }];
    }
    const ways = path.length - 1;
    const frames = [{ buckets: before, marks: { buckets: roots }, why: own,
      text: `${belongs}, and both are full. The shortest way to an empty place has ${ways} ` +
        `${ways === 1 ? "move" : "moves"}; the last one is made first, so that no entry is ever ` +
        "without a place." }];
    const buckets = before.map((values) => values.slice());
    const swap = (bucket, from, to) => {  // and sorts, as the filter does
      buckets[bucket][buckets[bucket].indexOf(from)] = to;
      buckets[bucket].sort((a, b) => a - b);
    };
    for (let i = path.length - 1; i > 0; --i) {
      const [[from], [to, moved]] = [path[i - 1], path[i]];
      swap(to, 0, moved);
      swap(from, moved, 0);
      const move = { from: [from, 0], to: [to, buckets[to].lastIndexOf(moved)] };
      frames.push({ buckets: buckets.map((values) => values.slice()),
        marks: { buckets: [from, to], moves: [move] }, why: { bucket: from, fingerprint: moved },
        text: `${this.hex(moved)} moved from bucket ${from} to its other bucket, ${to}, where a ` +
          "place was empty." });
    }
    frames.push({ ...last, text: `${this.hex(fingerprint)} took the place in bucket ${first} ` +
      "that is free now. The arrows are the ways of all that moved." });
    return frames;
  },

  addUntilRelocated() {
    const kMost = 1000;
    for (let i = 0; i < kMost; ++i) {
      this.extras += 1;
      if (this.add(`extra ${this.extras}`).length > 1) {
        return;
      }
    }
    this.say(`${dom.count(kMost)} words were added, and none had to move others.`);
  },

  addList() {
    const words = dom.written("filter-list").split("\n").filter((word) => word !== "");
    for (const filter of Object.values(this.filters)) {
      core.filterInsertLines(filter, words);
    }
    this.own = this.own.concat(words);
    this.marks = {};
    this.why = null;
    this.say(`${dom.count(words.length)} words were added.`);
  },

  clear() {
    this.own = [];
    this.counted = 0;
    dom.byId("filter-count").value = 0;
    this.remake();
    this.say("Both filters are empty.");
  },

  ask(word) {
    if (!this.given(word)) {
      return;
    }
    const cuckoo = core.filterAsk(this.filters.cuckoo, word);
    const bloom = core.filterAsk(this.filters.bloom, word);
    this.marks = { buckets: cuckoo.buckets, fingerprint: cuckoo.fingerprint, cells: bloom.cells };
    this.why = { bucket: cuckoo.buckets[0], fingerprint: cuckoo.fingerprint };
    const known = this.holds(word);
    const answer = ({ present }) => {
      if (present) {
        return `probably there${known ? "" : ", which is wrong"}`;
      }
      return `definitely not there${known ? ", because a Remove of a word that wasn't took its " +
        "fingerprint" : ""}`;
    };
    const buckets = [...new Set(cuckoo.buckets)].join(" and ");
    this.say(
      `“${word}” – cuckoo filter: ${answer(cuckoo)}; it looked for fingerprint ` +
        `${this.hex(cuckoo.fingerprint)} in buckets ${buckets}. Bloom filter: ${answer(bloom)}; ` +
        `it looked at bits ${bloom.cells.join(", ")}.`,
    );
  },

  findLies() {
    this.lies = filterLies.find(this, this.lies);
    this.marks = { ...this.lies.marks };
    this.why = this.lies.why;
    this.say(this.lies.text);
  },

  // --- what is seen

  measure() {
    for (const [kind, filter] of Object.entries(this.filters)) {
      this.wrong[kind] = core.filterStrangers(filter, this.kStrangers) / this.kStrangers;
    }
  },

  show() {
    dom.byId("filter-count-shown").textContent = dom.count(this.counted);
    dom.byId("filter-clear").disabled = this.words().length === 0;
    const { cuckoo, bloom } = this.draw();
    dom.byId("filter-grown").textContent = this.grownText(cuckoo.capacity, bloom.capacity);
    dom.byId("filter-why").textContent = this.whyText(cuckoo.buckets.length);
    filterLies.show(this.lies);
    const perItem = ({ cells_bits: bits, items }) =>
      (items > 0 ? dom.rounded(bits / items, 1) : "–");
    const asIs = (text) => text;
    const rows = [
      ["words counted", cuckoo.items, bloom.items, dom.count],
      ["made for so many words", cuckoo.capacity, bloom.capacity, dom.count],
      ["has", `${dom.count(4 * cuckoo.buckets.length)} places`,
        `${dom.count(bloom.bits.length)} bits`, asIs],
      ["of these taken, or set", cuckoo.load, bloom.load, dom.percent],
      ["size of the cells", cuckoo.cells_bits / 8, bloom.cells_bits / 8, dom.bytes],
      ["bits a word", cuckoo, bloom, perItem],
      ["wrong “probably”, at most", cuckoo.rate, bloom.rate, dom.percent],
      ["expected now", cuckoo.rate_now, bloom.rate_now, (rate) => dom.percent(rate, 2)],
      [`measured, ${dom.count(this.kStrangers)} strangers`, this.wrong.cuckoo, this.wrong.bloom,
        (rate) => dom.percent(rate, 2)],
    ];
    dom.fill(
      dom.byId("filter-figures").tBodies[0],
      rows.map(([name, a, b, text]) => [name, text(a), text(b)]),
    );
  },

  // What it was made for is not what it has room for now.
  grownText(cuckoo, bloom) {
    const made = Number(dom.byId("filter-capacity").value);
    if (cuckoo === made && bloom === made) {
      return "";
    }
    return `grown to ${dom.count(cuckoo)}${bloom === cuckoo ? "" : ` and ${dom.count(bloom)}`}`;
  },

  // Why an entry can move without its word.
  whyText(buckets) {
    if (this.why === null || this.why.bucket >= buckets) {
      return "";
    }
    const { bucket, fingerprint } = this.why;
    const { other, sum } = core.filterOther(this.filters.cuckoo, bucket, fingerprint);
    const less = (from) => `${sum} − ${from}${sum < from ? ` + ${buckets}` : ""}`;
    const back = other === bucket ? "" : `, and ${less(other)} = ${bucket}`;
    return `Why ${other} is the other bucket of ${bucket}: the hash of fingerprint ` +
      `${this.hex(fingerprint)} is ${sum}, and ${less(bucket)} = ${other}${back}. ` +
      "So the filter needs no word to move an entry.";
  },

  draw() {
    const cuckoo = core.filterState(this.filters.cuckoo);
    const bloom = core.filterState(this.filters.bloom);
    filterPicture.drawCuckoo({ ...cuckoo, buckets: this.stepped ?? cuckoo.buckets }, this.marks);
    filterPicture.drawOverflow(cuckoo.overflow_cells);
    filterPicture.drawBloom(bloom, this.marks);
    return { cuckoo, bloom };
  },
};
