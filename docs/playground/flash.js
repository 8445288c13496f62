// The flash view: a small flash_kv in a database file of its own, whose keys are overwritten.
"use strict";

const flashView = {
  kFile: "/flash.db",
  kKeys: 160,
  kValueBytes: 60,
  kBatch: 500,     // overwrites of one transaction, by the button
  kPerFrame: 100,  // … while it runs

  start() {
    this.random = 1;
    const on = (id, event, action) =>
      dom.byId(id).addEventListener(event, () => this.guard(action));
    on("flash-run", "click", () => this.setRunning(!this.running));
    on("flash-step", "click", () => this.overwrite(this.kBatch));
    on("flash-cut", "click", () => this.cutPower());
    on("flash-new", "click", () => this.insertChip());
    on("flash-endurance", "change", () => this.insertChip());
    this.guard(() => this.insertChip());
  },

  guard(action) {
    try {
      action();
    } catch (error) {
      this.setRunning(false);
      this.say(error.message, true);
    }
    this.show();
  },

  say(text, warning = false) {
    dom.say(dom.byId("flash-said"), text, warning);
  },

  open() {
    this.database = new Database(this.kFile);
    // So small a cache that a transaction's pages reach the file before its end.
    this.database.run("PRAGMA journal_mode = delete; PRAGMA cache_size = 4");
  },

  files: (name) => [name, `${name}-journal`],

  insertChip() {
    this.setRunning(false);
    this.database?.close();
    for (const file of this.files(this.kFile)) {
      if (Database.module.FS.analyzePath(file).exists) {
        Database.module.FS.unlink(file);
      }
    }
    this.open();
    this.overwritten = 0;
    const endurance = dom.byId("flash-endurance").value;
    this.database.run(
      `CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, size = '64KB', sector_size = 512,
         erase_block = 4, endurance = ${endurance}, seed = 1)`,
    );
    this.transaction(() => {
      for (let key = 1; key <= this.kKeys; ++key) {
        this.database.run("INSERT INTO kv VALUES (?, ?)", [`key ${key}`, this.content("first")]);
      }
    });
    this.say(`A new chip of 64 KB holds ${this.kKeys} keys. Overwrite them.`);
  },

  content(word) {
    return `${word} `.padEnd(this.kValueBytes, ".");
  },

  transaction(change) {
    this.database.run("BEGIN");
    try {
      change();
      this.database.run("COMMIT");
    } catch (error) {
      this.database.run("ROLLBACK");
      throw error;
    }
  },

  // The same keys every time: a chip's fate can be seen again.
  nextRandom(below) {
    this.random = (Math.imul(this.random, 1103515245) + 12345) >>> 0;
    return Math.floor((this.random / 2 ** 32) * below);
  },

  nextKey() {
    const skewed = document.querySelector('[name="flash-keys"]:checked').value === "skewed";
    const hot = Math.floor(this.kKeys / 10);
    return 1 + (skewed && this.nextRandom(10) < 9 ? this.nextRandom(hot) : this.nextRandom(this.kKeys));
  },

  overwrite(count) {
    this.transaction(() => {
      for (let i = 1; i <= count; ++i) {
        this.database.run("UPDATE kv SET value = ? WHERE key = ?",
          [this.content(`version ${this.overwritten + i}`), `key ${this.nextKey()}`]);
      }
    });
    this.overwritten += count;
    this.say(`${dom.count(this.overwritten)} values were overwritten.`);
  },

  setRunning(running) {
    this.running = running;
    dom.byId("flash-run").setAttribute("aria-pressed", running);
    dom.byId("flash-run").textContent = running ? "Pause" : "Run";
    if (running) {
      requestAnimationFrame(() => this.frame());
    }
  },

  frame() {
    if (this.running && page.current === "flash") {
      this.guard(() => this.overwrite(this.kPerFrame));
    }
    if (this.running) {
      requestAnimationFrame(() => this.frame());
    }
  },

  // What is in the files after some write of a transaction is all that there is afterwards.
  cutPower() {
    this.setRunning(false);
    const before = this.database.value("SELECT count(*) FROM kv");
    const { moment, writes, left } = this.watchWrites(() =>
      this.transaction(() => this.database.run("UPDATE kv SET value = 'unfinished'")));
    this.database.close();
    for (const [file, bytes] of left) {
      Database.module.FS.writeFile(file, bytes);
    }
    this.open();
    const after = this.database.value("SELECT count(*) FROM kv");
    const unfinished = this.database.value("SELECT count(*) FROM kv WHERE value = 'unfinished'");
    const check = this.database.value("SELECT cuckoo_check('kv')");
    const journal = left.get(`${this.kFile}-journal`)?.length ?? 0;
    this.say(
      `The power went after write ${moment} of the ${writes} of a transaction that overwrites all values; beside ` +
        `the database was a journal of ${dom.bytes(journal)}. After power-on: ${after} of ${before} keys are there, ` +
        `${unfinished} have a value of that transaction, and cuckoo_check('kv') says ${check}.`,
    );
  },

  // The files as they are after one of the writes that an action makes, any of them.
  watchWrites(action) {
    const { FS } = Database.module;
    const write = FS.write;
    let [moment, writes, left] = [0, 0, new Map()];
    FS.write = (...call) => {
      const written = write.apply(FS, call);
      writes += 1;
      if (Math.random() * writes < 1) {
        moment = writes;
        left = new Map(
          this.files(this.kFile)
            .filter((file) => FS.analyzePath(file).exists)
            .map((file) => [file, FS.readFile(file)]),
        );
      }
      return written;
    };
    try {
      action();
    } finally {
      FS.write = write;
    }
    return { moment, writes, left };
  },

  show() {
    const of = (column) => this.database.value(`SELECT ${column} FROM flash_kv_info('kv')`);
    dom.byId("flash-map").innerHTML = this.database.value("SELECT flash_kv_map('kv')");
    dom.fill(dom.byId("flash-figures").tBodies[0], [
      ["keys", dom.count(of("entries"))],
      ["live, dead, free", ["live_bytes", "dead_bytes", "free_bytes"].map((c) => dom.bytes(of(c))).join(", ")],
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
