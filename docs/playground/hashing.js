// The view of plain cuckoo hashing: two tables with a cell for each word, and words that evict one
// another. It is a simulation of its own, for teaching: no table of the extension works like this.
// Where a word belongs it asks the extension's sha1().
//
// Invariant: after the last step of an insert, each word that is in is in one of its two cells, and
// no cell has two words.
"use strict";

const hashingView = {
  kFirstCells: 5,    // of each table
  kMostWords: 2000,

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

  // --- one step

  step() {
    if (this.hand === null) {
      this.numbered += 1;
      this.begin(`word ${this.numbered}`);
    } else {
      this.move();
    }
  },

  finish() {
    if (this.hand === null) {
      this.say("No word waits for a cell.");
    }
    while (this.hand !== null) {
      this.move();
    }
  },

  begin(word) {
    this.finish();
    if (word === "") {
      this.say("Which word?", true);
    } else if (this.where(word).length > 0) {
      this.marks = this.where(word);
      this.say(`“${word}” is there already: a table of words has each once.`);
    } else if (this.words().length >= this.kMostWords) {
      this.say(`${dom.count(this.kMostWords)} words are enough for a picture.`, true);
    } else {
      this.hand = { word, table: 0, moves: 0 };
      this.move();
    }
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
      this.hand = { word: evicted, table: other, moves: moves + 1 };
      this.figures.evictions += 1;
      this.figures.longest = Math.max(this.figures.longest, moves + 1);
      this.say(`${went}. “${evicted}” was there and is evicted: its other place is cell ` +
        `${this.placesOf(evicted)[other]} of table ${other + 1}.`);
    }
  },

  endText(moves) {
    if (moves === 0) {
      return "No word had to move.";
    }
    return `${moves} ${moves === 1 ? "word" : "words"} had to move for it.`;
  },

  // Other hash functions, and larger tables where these are nearly as full as they can get.
  rehash() {
    const { word, moves } = this.hand;
    const words = [...this.words(), word];
    const before = this.cells;
    if (words.length > 0.9 * this.cells) {
      this.cells = 2 * this.cells + 1;
    }
    for (let tries = 1; !this.fill(words); ++tries) {
      if (tries % 5 === 0) {
        this.cells = 2 * this.cells + 1;
      }
    }
    this.hand = null;
    this.marks = this.where(word);
    const grew = this.cells > before ? `, and the tables grew from ${before} to ${this.cells} cells each` : "";
    this.say(
      `${moves} evictions found no empty cell, so the words probably go round in a circle. Both tables are made ` +
        `anew with other hash functions, number ${this.round}${grew}.`,
    );
  },

  // False: these hash functions won't do either.
  fill(words) {
    this.round += 1;
    this.figures.rehashes += 1;
    this.tables = [this.empty(), this.empty()];
    return words.every((word) => {
      let [homeless, table] = [word, 0];
      for (let moves = 0; homeless !== null && moves <= this.mostMoves(); ++moves, table = 1 - table) {
        const cell = this.placesOf(homeless)[table];
        [homeless, this.tables[table][cell]] = [this.tables[table][cell], homeless];
      }
      return homeless === null;
    });
  },

  // --- other buttons

  ask(word) {
    this.finish();
    const [first, second] = this.placesOf(word);
    this.marks = [[0, first], [1, second]];
    const found = this.where(word).length > 0;
    this.say(`“${word}” can only be in cell ${first} of table 1 or cell ${second} of table 2: ` +
      `${found ? "it is there" : "it is not there"}. Two cells are read, however many words there are.`);
  },

  remove(word) {
    this.finish();
    const places = this.where(word);
    this.marks = places;
    for (const [table, cell] of places) {
      this.tables[table][cell] = null;
    }
    this.say(places.length > 0 ? `“${word}” was removed: its cell is empty.` : `“${word}” is not there.`);
  },

  // --- what is seen

  draw() {
    dom.byId("hashing-hand").textContent = this.hand === null
      ? "No word waits for a cell."
      : `“${this.hand.word}” waits for a cell of table ${this.hand.table + 1}.`;
    this.tables.forEach((cells, table) => {
      dom.byId(`hashing-table-${table + 1}`).replaceChildren(...cells.map((word, cell) => {
        const marked = this.marks.some(([markedTable, markedCell]) => markedTable === table && markedCell === cell);
        return dom.make("li", { class: `${word === null ? "empty" : "taken"}${marked ? " hit" : ""}`,
          style: word === null ? "" : `background: ${this.colourOf(word)}` },
        dom.make("span", { class: "index" }, String(cell)), word ?? "");
      }));
    });
    const words = this.words().length;
    dom.fill(dom.byId("hashing-figures").tBodies[0], [
      ["words", dom.count(words + (this.hand === null ? 0 : 1))],
      ["cells", dom.count(2 * this.cells)],
      ["load", dom.percent(words / (2 * this.cells))],
      ["evictions so far", dom.count(this.figures.evictions)],
      ["most for one word", dom.count(this.figures.longest)],
      ["times that all was made anew", dom.count(this.figures.rehashes)],
    ]);
  },

  // The same for a word wherever it is.
  colourOf: (word) => `hsl(${dom.hue([...word].reduce((sum, letter) => sum * 31 + letter.codePointAt(0), 7) % 9973)} 60% 66%)`,
};
