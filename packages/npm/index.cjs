"use strict";

const fs = require("fs");
const { createRequire } = require("module");
const cuckoo = require("./index.common.cjs");

module.exports = cuckoo(fs, (file) => createRequire(__filename).resolve(file));
