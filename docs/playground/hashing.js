// The view of plain cuckoo hashing: two tables with a cell for each word, and words that evict one
// another. It is a simulation of its own, for teaching: no table of the extension works like this.
// Where a word belongs it asks the extension's sha1().
//
// Invariants
//   after the last step of an insert, each word that is in is in one of its two cells, and no cell
//   has two words;
//   the tables have at least as many cells each as there are words: they are half full at most.
"use strict";

const hashingView = {
  kFirstCells: 16,   // of each table
  kMostWords: 64,

  start() {
    this.database = new Database();
    const on = (id, event, action) =>
      dom.byId(id).addEventListener(event, (happened) => {
        happened.preventDefault();
        dom.attempt(this, action, () => this.draw());
      });
    on("hashing-step", "click", () => this.step());
    on("hashing-finish", "click", () => this.finish());
    on("hashing-form", "submit", () => this.begin(dom.written("hashing-word")));
    on("hashing-ask", "click", () => this.ask(dom.written("hashing-word")));
    on("hashing-remove", "click", () => this.remove(dom.written("hashing-word")));
    on("hashing-clear", "click", () => this.clear());
    dom.attempt(this, () => this.clear(), () => this.draw());
  },

  show() {
    this.draw();
  },

  say(text, warning = false) {
    dom.say(dom.byId("hashing-said"), text, warning);
  },

  clear() {
    this.cells = this.kFirstCells;
    this.tables = [this.empty(), this.empty()];
    this.round = 1;      // number of the pair of hash functions
    this.numbered = 0;   // of the words "word 1", "word 2" …, how many the step button took
    this.hand = null;    // the word that has no cell now: {word, table, moves}
    this.figures = { evictions: 0, longest: 0, rehashes: 0 };
    this.marks = [];     // [table, cell], to be drawn
    this.arrows = [];    // [table, cell, cell of the other table], of words that were evicted
    this.say("Both tables are empty. Step takes the next word, and moves one word at a time.");
  },

  empty() {
    return Array.from({ length: this.cells }, () => null);
  },

  // In each of the tables.
  placesOf(word) {
    return this.database.row(
      `SELECT ${[1, 2].map((table) => `'0x' || substr(sha1(?1 || ':${table}:' || ?2), 1, 8)`)}`,
      String(this.round), word,
    ).map((hex) => Number(hex) % this.cells);
  },

  words() {
    return this.tables.flat().filter((word) => word !== null);
  },

  where(word) {
    return this.placesOf(word).map((cell, table) => [table, cell])
      .filter(([table, cell]) => this.tables[table][cell] === word);
  },

  // Says so if there is no word.
  given(word) {
    if (word === "") {
      this.say("Which word?", true);
    }
    return word !== "";
  },

  // --- one step

  step() {
    if (this.hand !== null) {
      this.move();
    } else if (this.hasRoom()) {
      this.numbered += 1;
      this.begin(`word ${this.numbered}`);
    }
  },

  finish() {
    while (this.hand !== null) {
      this.move();
    }
  },

  begin(word) {
    if (!this.given(word)) {
      return;
    }
    this.finish();
    this.arrows = [];
    if (this.where(word).length > 0) {
      this.marks = this.where(word);
      this.say(`“${word}” is there already: a table of words has each once.`);
    } else if (this.words().length === this.cells && this.hasRoom()) {
      this.grow(word);
    } else if (this.hasRoom()) {
      this.hand = { word, table: 0, moves: 0 };
      this.move();
    }
  },

  // Says so if there is none.
  hasRoom() {
    const room = this.words().length < this.kMostWords;
    if (!room) {
      this.say(`${dom.count(this.kMostWords)} words are enough for a picture.`, true);
    }
    return room;
  },

  // More moves than this are taken for a circle that never ends.
  mostMoves() {
    return 2 * Math.ceil(Math.log2(2 * this.cells)) + 6;
  },

  move() {
    const { word, table, moves } = this.hand;
    if (moves >= this.mostMoves()) {
      this.rehash();
      return;
    }
    const cell = this.placesOf(word)[table];
    const evicted = this.tables[table][cell];
    this.tables[table][cell] = word;
    this.marks = [[table, cell]];
    const went = `“${word}” belongs in cell ${cell} of table ${table + 1}`;
    if (evicted === null) {
      this.hand = null;
      this.say(`${went}, which was empty. ${this.endText(moves)}`);
    } else {
      const other = 1 - table;
      const to = this.placesOf(evicted)[other];
      this.arrows.push([table, cell, to]);
      this.hand = { word: evicted, table: other, moves: moves + 1 };
      this.figures.evictions += 1;
      this.figures.longest = Math.max(this.figures.longest, moves + 1);
      this.say(`${went}. “${evicted}” was there and is evicted: its other place is cell ` +
        `${to} of table ${other + 1}.`);
    }
  },

  endText(moves) {
    if (moves === 0) {
      return "No word had to move.";
    }
    return `${moves} ${moves === 1 ? "word" : "words"} had to move for it.`;
  },

  // All words anew, by other hash functions.
  remake(words) {
    for (let tries = 1; !this.fill(words); ++tries) {
      if (tries % 20 === 0) {
        this.cells *= 2;
      }
    }
    this.hand = null;
    this.arrows = [];
    this.marks = this.where(words.at(-1));
  },

  rehash() {
    const { word, moves } = this.hand;
    const before = this.cells;
    this.remake([...this.words(), word]);
    this.say(`${moves} evictions found no empty cell, so the words probably go round in a ` +
      `circle. Both tables are made anew with other hash functions, number ${this.round}` +
      `${this.cells > before ? `, and grew to ${this.cells} cells each` : ""}.`);
  },

  grow(word) {
    const before = this.cells;
    const words = this.words();
    this.cells *= 2;
    this.remake([...words, word]);
    this.say(`The ${words.length} words fill half of the cells. With more of them circles get ` +
      `likely, so both tables are made anew before “${word}” comes, with ${this.cells} cells ` +
      `each instead of ${before}, and with other hash functions, number ${this.round}.`);
  },

  // False: these hash functions won't do either.
  fill(words) {
    this.round += 1;
    this.figures.rehashes += 1;
    this.tables = [this.empty(), this.empty()];
    return words.every((word) => {
      let [homeless, table] = [word, 0];
      for (let moves = 0; homeless !== null && moves <= this.mostMoves(); ++moves) {
        const cell = this.placesOf(homeless)[table];
        [homeless, this.tables[table][cell]] = [this.tables[table][cell], homeless];
        table = 1 - table;
      }
      return homeless === null;
    });
  },

  // --- other buttons

  ask(word) {
    if (!this.given(word)) {
      return;
    }
    this.finish();
    this.arrows = [];
    const [first, second] = this.placesOf(word);
    this.marks = [[0, first], [1, second]];
    const found = this.where(word).length > 0;
    this.say(`“${word}” can only be in cell ${first} of table 1 or cell ${second} of table 2: ` +
      `${found ? "it is there" : "it is not there"}. Two cells are read, however many words ` +
      "there are.");
  },

  remove(word) {
    if (!this.given(word)) {
      return;
    }
    this.finish();
    this.arrows = [];
    const places = this.where(word);
    this.marks = places;
    for (const [table, cell] of places) {
      this.tables[table][cell] = null;
    }
    this.say(places.length > 0 ? `“${word}” was removed: its cell is empty.`
      : `“${word}” is not there.`);
  },

  // --- what is seen

  draw() {
    this.tables.forEach((cells, table) => {
      dom.byId(`hashing-table-${table + 1}`).replaceChildren(...cells.map((word, cell) => {
        const marked = this.marks.some(([ofTable, ofCell]) => ofTable === table && ofCell === cell);
        return dom.make("li", {
          class: `${word === null ? "empty" : "taken"}${marked ? " hit" : ""}`,
          style: word === null ? "" : `background: ${this.colourOf(word)}`,
        }, dom.make("span", { class: "index" }, String(cell)), word ?? "");
      }));
    });
    dom.byId("hashing-tables").classList.toggle("small", this.cells > this.kFirstCells);
    this.drawArrows();
    const words = this.words().length;
    dom.byId("hashing-finish").disabled = this.hand === null;
    dom.byId("hashing-remove").disabled = words === 0;
    dom.byId("hashing-clear").disabled = words === 0 && this.round === 1;
    dom.fill(dom.byId("hashing-figures").tBodies[0], [
      ["words", dom.count(words + (this.hand === null ? 0 : 1))],
      ["without a cell now", this.hand === null ? "none" : this.hand.word],
      ["cells", dom.count(2 * this.cells)],
      ["load", dom.percent(words / (2 * this.cells))],
      ["evictions so far", dom.count(this.figures.evictions)],
      ["most for one word", dom.count(this.figures.longest)],
      ["times that all was made anew", dom.count(this.figures.rehashes)],
    ]);
  },

  // From the cell that a word had to leave to its other one. The last one waits, if a word does.
  drawArrows() {
    const picture = dom.byId("hashing-arrows");
    const [width, height] = [picture.clientWidth, picture.clientHeight];
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const top = picture.getBoundingClientRect().top;
    const middle = (table, cell) => {
      const { top: from, height: of } =
        dom.byId(`hashing-table-${table + 1}`).children[cell].getBoundingClientRect();
      return from - top + of / 2;
    };
    const waits = this.hand === null ? -1 : this.arrows.length - 1;
    picture.innerHTML = this.arrows.map(([table, from, to], i) => {
      const [x1, x2] = table === 0 ? [5, width - 2] : [width - 5, 2];
      const [y1, y2] = [middle(table, from), middle(1 - table, to)];
      const back = table === 0 ? x2 - 8 : x2 + 8;
      const angle = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI;
      return `<g class="arrow${i === waits ? " waits" : ""}">` +
        `<circle cx="${x1}" cy="${y1}" r="4"/>` +
        `<line x1="${x1}" y1="${y1}" x2="${(x2 + back) / 2}" y2="${y2 - (y2 - y1) * 4 / width}"/>` +
        `<path d="M 0 0 L -9 -5 L -9 5 Z" transform="translate(${x2} ${y2}) ` +
        `rotate(${angle})"/></g>`;
    }).join("");
    picture.setAttribute("aria-label", this.arrows.length === 0 ? "No word was evicted"
      : `${this.arrows.length} evicted, one after another, each to its cell of the other table`);
  },

  // The same for a word wherever it is.
  colourOf: (word) => {
    const sum = [...word].reduce((all, letter) => all * 31 + letter.codePointAt(0), 7);
    return `hsl(${dom.hue(sum % 9973)} 60% 66%)`;
  },
};
