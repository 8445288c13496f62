"use strict";
// Where the library of this platform is, and loading it. Each platform's library is a package of its
// own, an optional dependency of this one. index.cjs and index.mjs give fs, and resolve(), which finds
// a file of another package. This file requires no module of Node.js, because esbuild can't put such
// a require() into an ES module.

const { optionalDependencies } = require("./package.json");

module.exports = function cuckoo(fs, resolve) {
  const library = { darwin: "cuckoo.dylib", win32: "cuckoo.dll" }[process.platform] ?? "cuckoo.so";
  const platform = `${process.platform}-${process.arch}${needsMusl() ? "-musl" : ""}`;
  const platformPackage = `sqlite-cuckoo-${platform}`;

  // Does this program use musl as its C library? The beginning of its file, an ELF, names the loader:
  // a program header of type PT_INTERP. process.report would tell, too, but looks at each open socket.
  function needsMusl() {
    if (process.platform !== "linux") {
      return false;
    }
    try {
      const head = Buffer.alloc(4096);
      const file = fs.openSync(process.execPath, "r");
      try {
        fs.readSync(file, head, 0, head.length, 0);
      } finally {
        fs.closeSync(file);
      }
      const number = (at) => Number(head.readBigUInt64LE(at));
      const headers = number(32), size = head.readUInt16LE(54), count = head.readUInt16LE(56);
      for (let at = headers; at < headers + count * size; at += size) {
        if (head.readUInt32LE(at) === 3) {
          const from = number(at + 8);
          return head.toString("latin1", from, from + number(at + 32)).includes("/ld-musl-");
        }
      }
    } catch {
      // Not a file that can be read so: as if it were glibc's.
    }
    return false;
  }

  function missing(cause) {
    const version = optionalDependencies[platformPackage];
    if (version === undefined) {
      const names = Object.keys(optionalDependencies).map((name) => name.slice("sqlite-cuckoo-".length));
      return new Error(`sqlite-cuckoo has no library for ${platform}, only for ${names.sort().join(", ")}`);
    }
    return new Error(
      `sqlite-cuckoo's library for ${platform} is not installed: the package ${platformPackage} is ` +
        `missing. Optional dependencies may have been left out (--omit=optional). ` +
        `If a bundler made this program, mark sqlite-cuckoo external. ` +
        `To install the package from its file: npm install ./${platformPackage}-${version}.tgz; ` +
        `from a registry: npm install ${platformPackage}@${version}`,
      { cause },
    );
  }

  // SQLite can't open a file in Electron's archive app.asar. The builder of the application puts such
  // a file beside the archive, into the same path below app.asar.unpacked.
  function outsideOfArchive(file) {
    const unpacked = file.replace(/\.asar(?=[\\/])/, ".asar.unpacked");
    return unpacked !== file && fs.existsSync(unpacked) ? unpacked : file;
  }

  function getLoadablePath() {
    let file;
    try {
      file = resolve(`${platformPackage}/${library}`);
    } catch (error) {
      throw missing(error);
    }
    return outsideOfArchive(file);
  }

  function load(db) {
    if (typeof db?.loadExtension !== "function") {
      throw new TypeError("load() takes a connection of node:sqlite, better-sqlite3 or bun:sqlite");
    }
    db.loadExtension(getLoadablePath());
  }

  return { getLoadablePath, load };
};
