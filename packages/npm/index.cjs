"use strict";
// Where the library of this platform is, and loading it. Each platform's library is a package of its
// own, an optional dependency of this one.

const { optionalDependencies } = require("./package.json");

const platform = `${process.platform}-${process.arch}`;
const platformPackage = `sqlite-cuckoo-${platform}`;
const library = process.platform === "win32" ? "cuckoo.dll" : "cuckoo.so";

function missing(cause) {
  const version = optionalDependencies[platformPackage];
  if (version === undefined) {
    const names = Object.keys(optionalDependencies).map((name) => name.slice("sqlite-cuckoo-".length));
    return new Error(`sqlite-cuckoo has no library for ${platform}, only for ${names.sort().join(", ")}`);
  }
  return new Error(
    `sqlite-cuckoo's library for ${platform} is not installed: the package ${platformPackage} is ` +
      `missing. Optional dependencies may have been left out (--omit=optional), or Linux's C library is ` +
      `not glibc. To install it: npm install ${platformPackage}@${version}`,
    { cause },
  );
}

function getLoadablePath() {
  try {
    return require.resolve(`${platformPackage}/${library}`);
  } catch (error) {
    throw missing(error);
  }
}

function load(db) {
  if (typeof db?.loadExtension !== "function") {
    throw new TypeError("load() takes a connection of node:sqlite, better-sqlite3 or bun:sqlite");
  }
  db.loadExtension(getLoadablePath());
}

module.exports = { getLoadablePath, load };
