// The filter view: a cuckoo filter and a Bloom filter of the same words, drawn.
"use strict";

const filterView = {
  kSeed: 1,
  kStrangers: 20000,   // words that nobody adds, to measure false positives by
  kMostBuckets: 2000,  // that are drawn
  kMostBits: 60000,
  kCopies: 10,         // of a word, by the button
  kinds: { cuckoo: 1, bloom: 2 },  // their numbers in core/filter/kind.hpp

  start() {
    this.counted = 0;  // of the words "word 1", "word 2" …, how many are in
    this.own = [];     // other words that are in, each as often as it was added
    this.extras = 0;   // words that addUntilRelocated() made up
    this.filters = {};
    this.marks = {};   // what the last action read or wrote, to be drawn
    this.wrong = {};   // strangers taken for members, as measured
    this.steps = new Steps();
    this.stepped = null;  // the buckets of the cuckoo filter while an insert is shown in steps

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
  words() {
    return [...Array.from({ length: this.counted }, (_, i) => this.nth(i + 1)), ...this.own];
  },
  holds(word) {
    const [, number] = /^word ([1-9]\d*)$/.exec(word) ?? [];
    return Number(number) <= this.counted || this.own.includes(word);
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
  },

  setCount(count) {
    this.marks = {};
    const before = this.counted;
    const changed = (from, to) => Array.from({ length: to - from }, (_, i) => this.nth(from + i + 1));
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
    if (word === "") {
      this.say("Which word?", true);
      return [];
    }
    const { bits } = core.filterState(this.filters.bloom);
    const cuckoo = core.filterInsert(this.filters.cuckoo, word);
    const bloom = core.filterInsert(this.filters.bloom, word);
    this.own.push(word);
    this.marks = { path: cuckoo.path, cells: bloom.cells };
    this.say(`“${word}”: ${this.pathText(cuckoo)} ${this.bitsText(bloom, bits)}`);
    return cuckoo.path;
  },

  pathText({ path, grew }) {
    const hex = (fingerprint) => fingerprint.toString(16);
    if (grew) {
      return "the cuckoo filter was full, and was made anew with room for half as many words more.";
    }
    if (path.length === 0) {
      return "all places were taken, so it is counted in the overflow table.";
    }
    const [[bucket, fingerprint], ...moves] = path;
    const start = `fingerprint ${hex(fingerprint)} went into bucket ${bucket}`;
    if (moves.length === 0) {
      return `${start}, where there was room.`;
    }
    const steps = moves.map(([to, moved]) => `${hex(moved)} moved to its other bucket, ${to}`);
    return `${start}, whose ${steps.join("; there ")}.`;
  },

  bitsText({ cells, grew }, before) {
    if (grew) {
      return "The Bloom filter was full, and was made anew.";
    }
    const fresh = cells.filter((cell) => before[cell] === "0").length;
    return fresh === 0
      ? `All ${cells.length} bits of the Bloom filter were set already: it looks as if it were there, and is not counted.`
      : `In the Bloom filter ${fresh} of its ${cells.length} bits had to be set.`;
  },

  remove(word) {
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
      this.say(`The cuckoo filter forgot “${word}”. A Bloom filter can't: it was made anew without it.`);
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

  take({ buckets, marks, text }) {
    this.stepped = buckets;
    this.marks = marks;
    this.say(`${text}${this.steps.leftText()}`);
  },

  // The insert is done: `marks` say what it moved, and `before` where all was.
  framesOf(word, fingerprint, roots, before) {
    const hex = (value) => value.toString(16);
    const last = { buckets: null, marks: this.marks };
    const path = this.marks.path;
    const belongs = `“${word}”: fingerprint ${hex(fingerprint)} belongs in bucket ${roots.join(" or ")}`;
    if (path.length === 0) {
      return [{ ...last, text: dom.byId("filter-said").textContent }];
    }
    const [[first]] = path;
    if (path.length === 1) {
      return [{ ...last, text: `${belongs}. It went into bucket ${first}, the emptier one, and nothing had to move.` }];
    }
    const frames = [{ buckets: before, marks: { buckets: roots },
      text: `${belongs}, and both are full. The shortest way to an empty place has ${path.length - 1} ` +
        `${path.length === 2 ? "move" : "moves"}; the last one is made first, so that no entry is ever without a place.` }];
    const buckets = before.map((values) => values.slice());
    for (let i = path.length - 1; i > 0; --i) {
      const [[from], [to, moved]] = [path[i - 1], path[i]];
      buckets[to][buckets[to].indexOf(0)] = moved;
      buckets[from][buckets[from].indexOf(moved)] = 0;
      frames.push({ buckets: buckets.map((values) => values.slice()), marks: { path: [[from, moved], [to, moved]] },
        text: `${hex(moved)} moved from bucket ${from} to its other bucket, ${to}, where a place was empty.` });
    }
    frames.push({ ...last, text: `${hex(fingerprint)} took the place in bucket ${first} that is free now. ` +
      "The line is the way of all that moved." });
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
    const cuckoo = core.filterAsk(this.filters.cuckoo, word);
    const bloom = core.filterAsk(this.filters.bloom, word);
    this.marks = { buckets: cuckoo.buckets, fingerprint: cuckoo.fingerprint, cells: bloom.cells };
    const known = this.holds(word);
    const answer = ({ present }) => {
      if (present) {
        return `probably there${known ? "" : ", which is wrong"}`;
      }
      return `definitely not there${known ? ", because a Remove of a word that wasn't took its fingerprint" : ""}`;
    };
    const buckets = [...new Set(cuckoo.buckets)].join(" and ");
    const fingerprint = cuckoo.fingerprint.toString(16);
    this.say(
      `“${word}” – cuckoo filter: ${answer(cuckoo)}; it looked for fingerprint ${fingerprint} in buckets ` +
        `${buckets}. Bloom filter: ${answer(bloom)}; it looked at bits ${bloom.cells.join(", ")}.`,
    );
  },

  // --- what is seen

  measure() {
    for (const [kind, filter] of Object.entries(this.filters)) {
      this.wrong[kind] = core.filterStrangers(filter, this.kStrangers) / this.kStrangers;
    }
  },

  show() {
    dom.byId("filter-count-shown").textContent = dom.count(this.counted);
    const { cuckoo, bloom } = this.draw();
    dom.byId("filter-grown").textContent = this.grownText(cuckoo.capacity, bloom.capacity);
    const perItem = ({ cells_bits: bits, items }) => (items > 0 ? dom.rounded(bits / items, 1) : "–");
    const rows = [
      ["words counted", cuckoo.items, bloom.items, dom.count],
      ["room for", cuckoo.capacity, bloom.capacity, dom.count],
      ["load", cuckoo.load, bloom.load, dom.percent],
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

  draw() {
    const cuckoo = core.filterState(this.filters.cuckoo);
    const bloom = core.filterState(this.filters.bloom);
    this.drawCuckoo({ ...cuckoo, buckets: this.stepped ?? cuckoo.buckets });
    this.drawOverflow(cuckoo.overflow_cells);
    this.drawBloom(bloom);
    return { cuckoo, bloom };
  },

  // Of a fingerprint; black is read on each of them.
  cellColour: (value) => (value === 0 ? dom.colour("empty") : `hsl(${dom.hue(value)} 60% 66%)`),

  drawCuckoo({ buckets: all, items, overflow }) {
    const canvas = dom.byId("filter-cuckoo");
    const width = canvas.parentElement.clientWidth;
    if (width === 0) {
      return;
    }
    const buckets = all.slice(0, this.kMostBuckets);
    // Buckets of four cells in rows; as large as a picture of about 400 pixels' height allows.
    const side = Math.max(6, Math.min(26, Math.floor(Math.sqrt((width * 360) / (buckets.length * 6.5)))));
    const stepX = 4 * side + Math.ceil(side / 2);
    const stepY = side + Math.ceil(side / 2);
    const inRow = Math.max(1, Math.floor((width - 4) / stepX));
    const corner = (bucket) => [2 + (bucket % inRow) * stepX, 4 + Math.floor(bucket / inRow) * stepY];
    const pen = dom.pen(canvas, width, 8 + Math.ceil(buckets.length / inRow) * stepY);
    const isDrawn = (bucket) => bucket < buckets.length;
    const path = (this.marks.path ?? []).map(([bucket]) => bucket).filter(isDrawn);
    const asked = (this.marks.buckets ?? []).filter(isDrawn);
    pen.font = `${Math.floor(side * 0.5)}px ui-monospace, monospace`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    buckets.forEach((values, bucket) => {
      const [left, top] = corner(bucket);
      values.forEach((value, slot) => {
        const x = left + slot * side;
        pen.fillStyle = this.cellColour(value);
        pen.fillRect(x, top, side - 1, side - 1);
        if (value !== 0 && side >= 20) {
          pen.fillStyle = "#000000";
          pen.fillText(value.toString(16), x + side / 2, top + side / 2);
        }
        if (value !== 0 && value === this.marks.fingerprint && asked.includes(bucket)) {
          pen.strokeStyle = dom.colour("hit");
          pen.lineWidth = 2;
          pen.strokeRect(x, top, side - 1, side - 1);
        }
      });
    });
    pen.strokeStyle = dom.colour("hit");
    pen.lineWidth = 2;
    for (const bucket of [...asked, ...path]) {
      const [left, top] = corner(bucket);
      pen.strokeRect(left - 1.5, top - 1.5, 4 * side + 2, side + 2);
    }
    this.drawPath(pen, path.map(corner), side);
    this.cuckooPlaces = { corner, side };

    const taken = items - overflow;
    canvas.setAttribute("aria-label",
      `Cuckoo filter: ${all.length} buckets of four, ${taken} of ${4 * all.length} places taken`);
    dom.byId("filter-cuckoo-caption").textContent =
      `Cuckoo filter: ${dom.count(all.length)} buckets of four` +
      `${isDrawn(all.length - 1) ? "" : `, the first ${dom.count(buckets.length)} of them drawn`}. ` +
      `A colour is a fingerprint; each may stand in two buckets. ` +
      `${path.length > 1 ? "The line is the way of the entries that moved. " : ""}` +
      `${overflow > 0 ? `${overflow} are counted in the overflow table.` : ""}`;
  },

  drawOverflow(cells) {
    dom.byId("filter-overflow").hidden = cells.length === 0;
    dom.fill(dom.byId("filter-overflow").tBodies[0],
      cells.map(([bucket, fingerprint, count]) => [fingerprint.toString(16), dom.count(bucket), dom.count(count)]));
  },

  // From bucket to bucket, with a point at the end.
  drawPath(pen, corners, side) {
    if (corners.length < 2) {
      return;
    }
    const middles = corners.map(([left, top]) => [left + 2 * side, top + side / 2]);
    pen.strokeStyle = pen.fillStyle = dom.colour("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    middles.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
    pen.stroke();
    middles.forEach(([x, y], i) => {
      pen.beginPath();
      pen.arc(x, y, i === middles.length - 1 ? 6 : 3, 0, 2 * Math.PI);
      pen.fill();
    });
  },

  drawBloom({ bits: all }) {
    const canvas = dom.byId("filter-bloom");
    const width = canvas.parentElement.clientWidth;
    if (width === 0) {
      return;
    }
    const bits = all.slice(0, this.kMostBits);
    const side = Math.max(2, Math.min(20, Math.floor(Math.sqrt((width * 300) / bits.length))));
    const inRow = Math.max(1, Math.floor((width - 4) / side));
    const pen = dom.pen(canvas, width, 8 + Math.ceil(bits.length / inRow) * side);
    const gap = side > 4 ? 1 : 0;
    const corner = (bit) => [2 + (bit % inRow) * side, 4 + Math.floor(bit / inRow) * side];
    for (const [digit, name] of [["0", "empty"], ["1", "set"]]) {
      pen.fillStyle = dom.colour(name);
      for (let bit = bits.indexOf(digit); bit >= 0; bit = bits.indexOf(digit, bit + 1)) {
        const [x, y] = corner(bit);
        pen.fillRect(x, y, side - gap, side - gap);
      }
    }
    pen.strokeStyle = dom.colour("hit");
    pen.lineWidth = 2;
    for (const bit of (this.marks.cells ?? []).filter((cell) => cell < bits.length)) {
      const [x, y] = corner(bit);
      const around = Math.max(0, 3 - side / 4);
      pen.strokeRect(x - around, y - around, side - gap + 2 * around, side - gap + 2 * around);
    }
    this.bloomPlaces = { corner, side };
    const set = [...all].filter((digit) => digit === "1").length;
    canvas.setAttribute("aria-label", `Bloom filter: ${set} of ${all.length} bits are set`);
    dom.byId("filter-bloom-caption").textContent =
      `Bloom filter: ${dom.count(set)} of ${dom.count(all.length)} bits are set` +
      `${all.length > bits.length ? `; the first ${dom.count(bits.length)} are drawn` : ""}. A word is there if all ` +
      "of its bits are, marked for the word that was asked or added.";
  },
};
