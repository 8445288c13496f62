// The flash view: a small flash_kv in a database file of its own, whose keys are overwritten.
"use strict";

const flashView = {
  kFile: "/flash.db",
  kKeys: 160,
  kValueBytes: 60,
  kBatch: 500,     // overwrites of one transaction, by the button
  kPerFrame: 100,  // … while it runs
  kMostSteps: 5000,  // overwrites until a block is collected

  start() {
    const on = (id, event, action) =>
      dom.byId(id).addEventListener(event, () => this.guard(action));
    this.steps = new Steps();
    on("flash-run", "click", () => this.setRunning(!this.running));
    on("flash-one", "click", () => this.step());
    on("flash-step", "click", () => this.overwrite(this.kBatch));
    dom.byId("flash-collect").addEventListener("click", () =>
      dom.attempt(this, () => this.untilCollected(), () => this.show()));
    on("flash-cut", "click", () => this.cutPower());
    on("flash-new", "click", () => this.insertChip());
    on("flash-endurance", "change", () => this.insertChip());
    this.guard(() => this.insertChip());
  },

  // What was shown in steps is done: a button shows what the store holds now.
  guard(action) {
    this.steps = new Steps();
    this.shown = null;
    dom.attempt(this, action, () => this.show());
  },

  failed() {
    this.setRunning(false);
  },

  say(text, warning = false) {
    dom.say(dom.byId("flash-said"), text, warning);
  },

  open() {
    this.database = new Database(this.kFile);
    // So small a cache that a transaction's pages reach the file before its end.
    this.database.run("PRAGMA journal_mode = delete; PRAGMA cache_size = 4");
  },

  files: () => [flashView.kFile, `${flashView.kFile}-journal`],

  insertChip() {
    this.setRunning(false);
    this.database?.close();
    for (const file of this.files()) {
      if (Database.module.FS.analyzePath(file).exists) {
        Database.module.FS.unlink(file);
      }
    }
    this.open();
    this.overwritten = 0;
    this.random = 1;  // with the same buttons the same happens
    const endurance = dom.byId("flash-endurance").value;
    this.database.run(
      `CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, size = '64KB', sector_size = 512,
         erase_block = 4, endurance = ${endurance}, seed = 1)`,
    );
    this.database.transaction(() => {
      for (let key = 1; key <= this.kKeys; ++key) {
        this.database.run("INSERT INTO kv VALUES (?, ?)", [`key ${key}`, this.content("first")]);
      }
    });
    this.say(`A new chip of 64 KB holds ${this.kKeys} keys. Overwrite them.`);
  },

  content(word) {
    return `${word} `.padEnd(this.kValueBytes, ".");
  },

  nextRandom(below) {
    this.random = (Math.imul(this.random, 1103515245) + 12345) >>> 0;
    return Math.floor((this.random / 2 ** 32) * below);
  },

  nextKey() {
    const hot = Math.floor(this.kKeys / 10);
    if (document.querySelector('[name="flash-keys"]:checked').value === "uniform") {
      return 1 + this.nextRandom(this.kKeys);
    }
    return this.nextRandom(10) < 9 ? 1 + this.nextRandom(hot)
      : 1 + hot + this.nextRandom(this.kKeys - hot);
  },

  // One overwrite in one transaction, and what the chip did for it.
  step() {
    this.setRunning(false);
    const counts = () => this.database.row(
      "SELECT bytes_written, bytes_programmed, collections, erases FROM flash_kv_info('kv')");
    const before = counts();
    this.overwrite(1);
    const [written, programmed, collections, erases] =
      counts().map((after, i) => after - before[i]);
    const what = `${this.lastKey} got another value: you wrote ${dom.bytes(written)}, and ` +
      `${dom.bytes(programmed)} were programmed into free space. What it held before is dead.`;
    const collected = collections === 0 ? "" :
      ` Little was free: ${collections === 1 ? "one block was" : `${collections} blocks were`} ` +
      `collected first; ` +
      "their live values were copied.";
    const erased = erases === 0 ? "" :
      ` ${erases === 1 ? "One block was" : `${erases} blocks were`} erased to be written anew.`;
    this.say(what + collected + erased);
  },

  // Overwrites value after value until that takes a collection, and shows this in steps.
  untilCollected() {
    this.setRunning(false);
    if (this.steps.left > 0) {
      this.take(this.steps.next());
      return;
    }
    let before;
    let after = flashCollection.lookAt(this.database);
    let writes = 0;
    do {
      if (++writes > this.kMostSteps) {
        throw new DatabaseError(`${dom.count(this.kMostSteps)} overwrites collected no block.`);
      }
      before = after;
      this.overwrite(1);
      after = flashCollection.lookAt(this.database);
    } while (flashCollection.collected(before, after).length === 0);
    const [first, ...others] = flashCollection.frames(before, after);
    const text = `${dom.count(writes)} ${writes === 1 ? "value was" : "values were"} ` +
      `overwritten. ` +
      first.text;
    this.take(this.steps.begin([{ ...first, text }, ...others]));
  },

  take(frame) {
    this.shown = frame;
    this.say(`${frame.text}${this.steps.leftText()}`);
  },

  // What was overwritten before one that is refused stays.
  overwrite(count) {
    let refused = null;
    this.database.transaction(() => {
      for (let i = 0; i < count && refused === null; ++i) {
        try {
          this.lastKey = `key ${this.nextKey()}`;
          this.database.run("UPDATE kv SET value = ? WHERE key = ?",
            [this.content(`version ${this.overwritten + 1}`), this.lastKey]);
          this.overwritten += 1;
        } catch (error) {
          refused = error;
        }
      }
    });
    if (refused !== null) {
      throw refused;
    }
    if (!this.running || performance.now() > this.silentUntil) {
      this.say(`${dom.count(this.overwritten)} values were overwritten.`);
      this.silentUntil = performance.now() + 2000;  // for who has it read out
    }
  },

  setRunning(running) {
    this.running = running;
    dom.byId("flash-run").textContent = running ? "Pause" : "Run";
    cancelAnimationFrame(this.asked);
    if (running) {
      this.asked = requestAnimationFrame(() => this.frame());
    }
  },

  frame() {
    if (page.current === "flash") {
      this.guard(() => this.overwrite(this.kPerFrame));
    }
    if (this.running) {
      this.asked = requestAnimationFrame(() => this.frame());
    }
  },

  // What is in the files after some step of a transaction is all that there is afterwards.
  cutPower() {
    this.setRunning(false);
    const before = this.database.value("SELECT count(*) FROM kv");
    const { moment, steps, left } = this.watchFiles(() =>
      this.database.run("UPDATE kv SET value = 'the last one'"));
    this.database.close();
    for (const [file, bytes] of left) {
      Database.module.FS.writeFile(file, bytes);
    }
    this.open();
    const after = this.database.value("SELECT count(*) FROM kv");
    const written = this.database.value("SELECT count(*) FROM kv WHERE value = 'the last one'");
    const check = this.database.value("SELECT cuckoo_check('kv')");
    const journal = left.get(`${this.kFile}-journal`);
    this.say(
      `The power went after step ${moment} of the ${steps} in which a transaction overwrites all ` +
        `values; ${journal ? `a journal of ${dom.bytes(journal.length)} was` : "no journal was"} ` +
        `beside the database. After power-on: ${after} of ${before} keys are there, ${written} ` +
        `have a value of that transaction, and ` +
        `cuckoo_check('kv') says ${check}.`,
    );
  },

  // The files as they are after one of the writes and deletions that an action makes, any of them.
  watchFiles(action) {
    const { FS } = Database.module;
    const { write, unlink } = FS;
    const files = this.files();
    let [moment, steps, left] = [0, 0, new Map()];
    const watched = (step) => (...call) => {
      const result = step.apply(FS, call);
      steps += 1;
      if (Math.random() * steps < 1) {
        moment = steps;
        left = new Map(files.filter((file) => FS.analyzePath(file).exists)
          .map((file) => [file, FS.readFile(file)]));
      }
      return result;
    };
    FS.write = watched(write);
    FS.unlink = watched(unlink);
    try {
      action();
    } finally {
      Object.assign(FS, { write, unlink });
    }
    return { moment, steps, left };
  },

  draw() {
    const life = this.database.value("SELECT endurance FROM flash_kv_info('kv')");
    flashMap.draw(this.shown?.sectors ?? flashMap.read(this.database), life, this.shown?.marks);
  },

  show() {
    this.draw();
    const of = (column) => this.database.value(`SELECT ${column} FROM flash_kv_info('kv')`);
    dom.fill(dom.byId("flash-figures").tBodies[0], [
      ["keys", dom.count(of("entries"))],
      ["live, dead, free",
        ["live_bytes", "dead_bytes", "free_bytes"].map((c) => dom.bytes(of(c))).join(", ")],
      ["written by you", dom.bytes(of("bytes_written"))],
      ["programmed into the chip", dom.bytes(of("bytes_programmed"))],
      ["write amplification", dom.rounded(of("write_amplification"), 2)],
      ["blocks collected", dom.count(of("collections"))],
      ["erases", dom.count(of("erases"))],
      ["of a block: fewest, mean, most",
        `${of("erase_min")}, ${dom.rounded(of("erase_avg"), 1)}, ${of("erase_max")}`],
      ["blocks that went bad", dom.count(of("bad_blocks"))],
      ["room for live values", dom.bytes(of("usable_bytes"))],
    ]);
  },
};
