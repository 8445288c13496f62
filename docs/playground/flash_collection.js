// What one collection of a flash store did, told in steps: which block was chosen and why, the rows
// that were copied, the erase. It compares the store before and after a statement that collected.
"use strict";

const flashCollection = {
  // What is asked before each statement, because it may be the one that collects.
  lookAt(database) {
    return {
      ...core.flashBlocks(database.connection.handle, "kv"),
      sectors: flashMap.read(database),
      places: new Map(database.rows("SELECT key, sector FROM kv")),
    };
  },

  // dead / (all + live), times the age: core/flash/collector.hpp says why.
  score: ({ live, age }, room) => (room - live) * age / (room + live),

  blockOf: (sector) => Math.floor(sector / flashMap.kSectors),

  // The blocks that were collected: they had data, and were erased.
  collected: (before, after) => before.blocks.flatMap(({ data, erases }, block) =>
    (data && after.blocks[block].erases > erases ? [block] : [])),

  // A frame: {sectors, marks, text}
  frames(before, after) {
    const all = this.collected(before, after);
    const block = all.includes(before.victim) ? before.victim : all[0];
    const moved = [...before.places].filter(([, sector]) => this.blockOf(sector) === block)
      .map(([key]) => [key, after.places.get(key)]);
    const targets = [...new Set(moved.map(([, sector]) => sector))];
    const { erases } = before.blocks[block];
    const copied = after.sectors.map((sector, i) =>
      (this.blockOf(i) === block ? { ...before.sectors[i], dead: before.sectors[i].dead +
        before.sectors[i].live, live: 0 } : sector));
    return [
      { sectors: before.sectors, marks: { hits: [block] }, text: this.chosenText(before, block) },
      { sectors: copied, marks: { hits: [block], got: targets },
        text: this.copiedText(block, moved, targets) },
      { sectors: after.sectors, marks: { hits: [block] },
        text: `Block ${block} holds nothing that is needed, so it was erased, for the ` +
          `${this.nth(erases + 1)} time: all of its ${flashMap.kSectors} sectors at once, ` +
          "because flash can't erase less. They are free." },
    ];
  },

  nth: (number) => {
    const last = number % 10;
    const teen = Math.floor(number / 10) % 10 === 1;
    const ending = teen || last === 0 || last > 3 ? "th" : ["st", "nd", "rd"][last - 1];
    return `${dom.count(number)}${ending}`;
  },

  chosenText({ blocks, room, victim, unit }, block) {
    const { live, age } = blocks[block];
    const bytes = (units) => dom.count(units * unit);
    if (block !== victim) {
      return `Few blocks are free. Block ${block} was chosen because it is the least worn one ` +
        "with data: what never changes would keep it young while all others wear out.";
    }
    const scores = blocks.map((one, i) => [this.score(one, room), i])
      .filter(([, i]) => i !== block && blocks[i].data && !blocks[i].open && blocks[i].live < room)
      .sort(([a], [b]) => b - a);
    const second = scores.length === 0 ? "" :
      ` Next would be block ${scores[0][1]}, with ${dom.count(scores[0][0])}.`;
    return `Few blocks are free. Block ${block} was chosen: a copy of its ${bytes(live)} live ` +
      `bytes gives back ${bytes(room - live)} dead ones, and nothing was written to it for ` +
      `${dom.count(age)} ` +
      `changes, so what is live in it may stay so. Dead × age ÷ (block + live) = ` +
      `${bytes(room - live)} × ${dom.count(age)} ÷ (${bytes(room)} + ${bytes(live)}) = ` +
      `${dom.count(this.score(blocks[block], room))}, more than of any other.${second}`;
  },

  copiedText(block, moved, targets) {
    if (moved.length === 0) {
      return `No row of block ${block} was live: nothing had to be copied.`;
    }
    const kNamed = 6;
    const named = moved.slice(0, kNamed).map(([key]) => key).join(", ") +
      (moved.length > kNamed ? ` and ${moved.length - kNamed} more` : "");
    const into = [...new Set(targets.map((sector) => this.blockOf(sector)))].join(" and ");
    return `Its ${moved.length} live ${moved.length === 1 ? "row was" : "rows were"} copied to ` +
      `block ${into}: ${named}. You did not ask for these writes: they are what amplifies yours. ` +
      "The originals are dead now.";
  },
};
