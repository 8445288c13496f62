// Words that nobody added and that a filter calls "probably there", and what they met: the
// fingerprint of another word, or bits that other words have set.
"use strict";

const filterLies = {
  none: () => ({ at: { cuckoo: 0, bloom: 0 }, bits: null, marks: {}, why: null, text: "" }),

  // The next stranger that each of the filters is wrong about.
  find(view, { at }) {
    const words = view.words();
    const cuckoo = this.next(view, "cuckoo", at.cuckoo);
    const bloom = this.next(view, "bloom", at.bloom);
    const met = cuckoo && this.metText(view, words, cuckoo);
    const lied = bloom && this.bitsText(bloom);
    const none = (kind) =>
      `The ${kind} filter is wrong about none of ${dom.count(view.kStrangers)} strangers.`;
    return {
      at: { cuckoo: cuckoo?.at ?? 0, bloom: bloom?.at ?? 0 },
      bits: bloom && { word: bloom.word, setters: this.settersOf(view, words, bloom.cells) },
      marks: { buckets: cuckoo?.buckets, fingerprint: cuckoo?.fingerprint, cells: bloom?.cells },
      why: cuckoo && { bucket: cuckoo.buckets[0], fingerprint: cuckoo.fingerprint },
      text: `${met ?? none("cuckoo")} ${lied ?? none("Bloom")}`,
    };
  },

  // Behind that one, and then from the first.
  next(view, kind, at) {
    for (let i = 0; i < view.kStrangers; ++i) {
      const number = (at + i) % view.kStrangers;
      const word = `stranger ${number}`;
      const answer = core.filterAsk(view.filters[kind], word);
      if (answer.present && !view.holds(word)) {
        return { ...answer, word, at: number + 1 };
      }
    }
    return null;
  },

  metText(view, words, { word, buckets, fingerprint }) {
    const hex = view.hex(fingerprint);
    const { buckets: all } = core.filterState(view.filters.cuckoo);
    const where = [...new Set(buckets)].filter((bucket) => all[bucket].includes(fingerprint));
    const same = words.find((held) => {
      const other = core.filterAsk(view.filters.cuckoo, held);
      return other.fingerprint === fingerprint && other.buckets.includes(buckets[0]);
    });
    return `“${word}” was never added, but the cuckoo filter says “probably there”: its ` +
      `fingerprint is ${hex} too, and ` +
      `${where.length > 0 ? `bucket ${where.join(" and ")} has` : "the overflow table has"} the ` +
      `${hex} of “${same ?? "a word that was removed"}”.`;
  },

  bitsText: ({ word, cells }) =>
    `“${word}” was never added, but the Bloom filter says “probably there”: other words have set ` +
    `all ${cells.length} of its bits, as the table says.`,

  // [bit, the first word that set it] of each.
  settersOf(view, words, cells) {
    const setters = new Map(cells.map((cell) => [cell, null]));
    for (const word of words) {
      for (const cell of core.filterAsk(view.filters.bloom, word).cells) {
        if (setters.get(cell) === null) {
          setters.set(cell, word);
        }
      }
      if (![...setters.values()].includes(null)) {
        break;
      }
    }
    return [...setters];
  },

  show({ bits }) {
    const table = dom.byId("filter-bits");
    table.hidden = bits === null;
    if (bits !== null) {
      table.caption.textContent = `Who set the bits of “${bits.word}”`;
      dom.fill(table.tBodies[0], bits.setters.map(([bit, word]) =>
        [dom.count(bit), dom.make("span", {}, word)]));
    }
  },
};
