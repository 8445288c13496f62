// What the filter view draws: the buckets of the cuckoo filter with the ways of the entries that
// moved, its overflow table, and the bits of the Bloom filter.
//
// Invariant: no arrow covers a cell or a number. It leaves a cell by its lower edge, enters another
// by its upper edge, and runs between the rows and between the columns of buckets.
"use strict";

const filterPicture = {
  kMostBuckets: 2000,  // that are drawn
  kMostBits: 60000,
  kPale: 0.3,          // of the colours of cells that no move is about
  kLane: 12,           // pixels between two columns of buckets, for arrows

  // Of a fingerprint; black is read on each of them.
  cellColour: (value, pale = false) => (value === 0 ? dom.colour("empty")
    : `hsl(${dom.hue(value)} 60% 66%${pale ? ` / ${filterPicture.kPale}` : ""})`),

  // Where buckets of four cells stand: in rows, as large as a picture of some height allows.
  places(width, buckets) {
    const digits = String(buckets - 1).length;
    const most = width < 500 ? 620 : 460;
    for (let side = 30; ; --side) {
      const numbered = side >= 12;  // each bucket; below, the first one of each row
      const font = numbered ? Math.max(9, Math.min(12, Math.round(side / 2))) : 9;
      const label = Math.ceil(digits * font * 0.62) + 4;
      const left = this.kLane + (numbered ? 0 : label);
      const stepX = 4 * side + this.kLane + (numbered ? label : 0);
      const gap = Math.max(4, Math.round(side * 0.6));
      const inRow = Math.max(1, Math.floor((width - left) / stepX));
      const rows = Math.ceil(buckets / inRow);
      if (side === 6 || rows * (side + gap) <= most) {
        const row = (bucket) => Math.floor(bucket / inRow);
        const lane = (bucket) => left + (bucket % inRow) * stepX;  // where its column begins
        const top = (ofRow) => gap + ofRow * (side + gap);
        return {
          side, gap, font, numbered, inRow, row, height: gap + rows * (side + gap),
          number: (bucket) => [lane(bucket) - (numbered ? 0 : label), top(row(bucket))],
          corner: (bucket) => [lane(bucket) + (numbered ? label : 0), top(row(bucket))],
          laneLeft: (bucket) =>
            lane(bucket) - this.kLane / 2 - (numbered || bucket % inRow > 0 ? 0 : label),
          gutter: (ofRow) => top(ofRow) + side + gap / 2,  // below the row
        };
      }
    }
  },

  drawCuckoo({ buckets: all, items, overflow, capacity }, marks) {
    const canvas = dom.byId("filter-cuckoo");
    const width = canvas.parentElement.clientWidth;
    if (width === 0) {
      return;
    }
    const buckets = all.slice(0, this.kMostBuckets);
    const places = this.places(width, buckets.length);
    const isDrawn = (bucket) => bucket < buckets.length;
    const pen = dom.pen(canvas, width, places.height);
    const moves = this.movesOf(marks, all)
      .filter(({ from, to }) => isDrawn(from[0]) && isDrawn(to[0]));
    this.drawCells(pen, places, buckets, moves);
    this.mark(pen, places, buckets, marks, moves);
    const routes = moves.map((move, i) => this.route(places, move, i));
    routes.forEach((route) => this.drawArrow(pen, route));
    this.drawn = { places, moves, routes };  // for tests

    const [taken, room] = [items - overflow, 4 * all.length];
    canvas.setAttribute("aria-label",
      `Cuckoo filter: ${all.length} buckets of four, ${taken} of ${room} places taken`);
    dom.byId("filter-cuckoo-caption").textContent =
      `Cuckoo filter: ${dom.count(all.length)} buckets of four are ${dom.count(room)} places` +
      `${isDrawn(all.length - 1) ? "" :
        `, the first ${dom.count(buckets.length)} buckets are drawn`}. ` +
      `With ${dom.count(capacity)} words ${dom.percent(capacity / room, 0)} of them are taken: ` +
      "of more, too many would find no place. A colour is a fingerprint, in base 16; each may " +
      "stand in two buckets. A bucket keeps its four sorted, which saves a bit for each: so old " +
      "ones shift when one comes or goes. " +
      `${moves.length === 0 ? ""
        : "An arrow begins, with a dot, where the entry was, and ends where it is. "}` +
      `${overflow > 0 ? `${overflow} are counted in the overflow table.` : ""}`;
  },

  // From the places of the entries that take one another's place, each to the next one's.
  movesOf({ path = [], moves }, buckets) {
    const cell = ([bucket, value]) => [bucket, buckets[bucket].lastIndexOf(value)];
    return moves ?? path.slice(1).map((to, i) => ({ from: cell(path[i]), to: cell(to) }));
  },

  drawCells(pen, places, buckets, moves) {
    const { side, font, numbered, inRow, corner, number } = places;
    const moved = new Set(moves.flatMap(({ from, to }) => [from[0], to[0]]));
    pen.textBaseline = "middle";
    buckets.forEach((values, bucket) => {
      const [left, top] = corner(bucket);
      const pale = moved.size > 0 && !moved.has(bucket);
      if (numbered || bucket % inRow === 0) {
        const [x, y] = number(bucket);
        pen.font = `${moved.has(bucket) ? "bold " : ""}${font}px ui-monospace, monospace`;
        pen.fillStyle = dom.colour(moved.has(bucket) ? "hit" : "quiet");
        pen.textAlign = "left";
        pen.fillText(String(bucket), x, y + side / 2);
      }
      pen.font = `${Math.floor(side * 0.5)}px ui-monospace, monospace`;
      pen.textAlign = "center";
      values.forEach((value, slot) => {
        const x = left + slot * side;
        pen.fillStyle = this.cellColour(value, pale);
        pen.fillRect(x, top, side - 1, side - 1);
        if (value !== 0 && side >= 16) {
          pen.fillStyle = pale ? dom.colour("quiet") : "#000000";
          pen.fillText(value.toString(16), x + side / 2, top + side / 2);
        }
      });
    });
  },

  mark(pen, { side, corner }, buckets, marks, moves) {
    const outline = (x, y, width, height, line) => {
      pen.lineWidth = line;
      pen.strokeRect(x, y, width, height);
    };
    pen.strokeStyle = dom.colour("hit");
    const outlined = [...(marks.buckets ?? []), ...(marks.path ?? []).map(([bucket]) => bucket)]
      .filter((bucket) => bucket < buckets.length);
    for (const bucket of outlined) {
      const [left, top] = corner(bucket);
      outline(left - 1.5, top - 1.5, 4 * side + 2, side + 2, 2);
      buckets[bucket].forEach((value, slot) => {
        if (value !== 0 && value === marks.fingerprint) {
          outline(left + slot * side + 0.5, top + 0.5, side - 2, side - 2, 3);
        }
      });
    }
    for (const [bucket, slot] of moves.flatMap(({ from, to }) => [from, to])) {
      const [left, top] = corner(bucket);
      outline(left + slot * side + 0.5, top + 0.5, side - 2, side - 2, 3);
    }
  },

  // Points from the lower edge of a cell to the upper edge of another.
  route({ side, gap, row, corner, laneLeft, gutter }, { from, to }, number) {
    const shift = ((number % 3) - 1) * Math.min(3, gap / 5);  // beside other arrows
    const middle = ([bucket, slot]) => corner(bucket)[0] + (slot + 0.5) * side;
    const [x1, x2] = [middle(from), middle(to)];
    const [y1, y2] = [corner(from[0])[1] + side, corner(to[0])[1]];
    const [out, into] = [row(from[0]), row(to[0]) - 1]
      .map((above) => Math.round(gutter(above) + shift));
    if (row(from[0]) === row(to[0]) - 1) {
      return [[x1, y1], [x1, out], [x2, out], [x2, y2]];
    }
    const lane = Math.round(laneLeft(x1 < x2 ? to[0] : from[0]) + shift);
    return [[x1, y1], [x1, out], [lane, out], [lane, into], [x2, into], [x2, y2]];
  },

  drawArrow(pen, route) {
    const [[x1, y1], [x2, y2]] = [route[0], route.at(-1)];
    for (const [colour, width] of [["back", 5], ["ink", 2]]) {
      pen.strokeStyle = dom.colour(colour);
      pen.lineWidth = width;
      pen.beginPath();
      pen.moveTo(x1, y1 + 2);
      for (let i = 1; i < route.length - 1; ++i) {
        pen.arcTo(...route[i], ...route[i + 1], 3);
      }
      pen.lineTo(x2, y2 - 3);
      pen.stroke();
    }
    pen.fillStyle = dom.colour("ink");
    pen.beginPath();
    pen.arc(x1, y1 + 2, 3.5, 0, 2 * Math.PI);
    pen.moveTo(x2, y2);
    pen.lineTo(x2 - 4, y2 - 6);
    pen.lineTo(x2 + 4, y2 - 6);
    pen.fill();
  },

  drawOverflow(cells) {
    dom.byId("filter-overflow").hidden = cells.length === 0;
    dom.fill(dom.byId("filter-overflow").tBodies[0], cells.map(([bucket, fingerprint, count]) =>
      [fingerprint.toString(16), dom.count(bucket), dom.count(count)]));
  },

  drawBloom({ bits: all }, marks) {
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
    for (const bit of (marks.cells ?? []).filter((cell) => cell < bits.length)) {
      const [x, y] = corner(bit);
      const around = Math.max(0, 3 - side / 4);
      pen.strokeRect(x - around, y - around, side - gap + 2 * around, side - gap + 2 * around);
    }
    this.bloomPlaces = { corner, side };
    const set = [...all].filter((digit) => digit === "1").length;
    canvas.setAttribute("aria-label", `Bloom filter: ${set} of ${all.length} bits are set`);
    dom.byId("filter-bloom-caption").textContent =
      `Bloom filter: ${dom.count(set)} of ${dom.count(all.length)} bits are set` +
      `${all.length > bits.length ? `; the first ${dom.count(bits.length)} are drawn` : ""}. ` +
      "A word is there if all of its bits are, marked for the word that was asked or added. " +
      "Nobody can see whose a bit is.";
  },
};
