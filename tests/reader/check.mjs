// As check.py, for packages/reader/cuckoo_reader.mjs.
// usage: node check.mjs cases.jsonl...

import { readFileSync } from "node:fs";
import { FilterImage, ImageError } from "../../packages/reader/cuckoo_reader.mjs";

function check(condition, what) {
  if (!condition) throw new Error(what);
}

// A text, with half a surrogate pair where UTF-8 has the three bytes of its number.
function textOf(bytes) {
  return bytes.toString("latin1").replace(/[\xc0-\xff][\x80-\xbf]+/g, (all) => {
    const [first, ...rest] = Buffer.from(all, "latin1");
    return String.fromCodePoint(rest.reduce((code, byte) => code << 6 | byte & 63, first & 127 >> rest.length + 1));
  });
}

// All that JavaScript has for a value. It has no REAL that is a safe integer: for a TEXT column that is another key.
function valuesOf(told) {
  const rest = told.slice(1), bytes = Buffer.from(rest, "hex");
  switch (told[0]) {
    case "i":
      return Number.isSafeInteger(Number(rest)) ? [BigInt(rest), Number(rest)] : [BigInt(rest)];
    case "r":
      return [bytes.readDoubleBE(0)];
    case "t":
      return [textOf(bytes)];
    case "b":
      return [bytes, new Uint8Array(bytes), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)];
  }
  return [null, undefined];
}

function isRefused(data) {  // the error, if it is
  try {
    new FilterImage(data);
  } catch (error) {
    if (error instanceof ImageError) return error;
    throw error;
  }
  return false;
}

let state = 1;
function random(end) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor(state / 2 ** 32 * end);
}

let images = 0, questions = 0;
function checkCase(line, name) {
  const { image: text, kind, items, ask, mutant, error } = JSON.parse(line), data = Buffer.from(text, "base64");
  images++;
  const refused = isRefused(data);
  check(!error || refused, `${name}: not refused`);
  if (refused) return check(mutant || error && refused.message.includes(error), `${name}: ${refused}`);
  const image = new FilterImage(data);
  const isNear = Math.abs(image.items - items) <= items / 2 ** 50;  // equal below 2^50
  check(mutant || image.kind === kind && isNear, `${name}: ${image.kind} ${image.items}`);
  const affinities = data.readUInt32LE((data.toString("latin1", 0, 4) === "CKIW" ? 176 : 0) + 96);
  const isText = (i) => (affinities >>> 4 * i & 15) === 1;
  for (const [key, answer] of ask) {
    const values = key.map(valuesOf), most = Math.max(...values.map((some) => some.length));
    if (key.some((told, i) => told[0] === "r" && isText(i) && Number.isSafeInteger(values[i][0]))) continue;
    for (let i = 0; i < most; i++) {
      const found = image.contains(...values.map((some) => some[i % some.length]));
      check(mutant || found === answer, `${name}: ${key}: ${found}`);
    }
    questions++;
  }
  if (mutant) return;
  check(isRefused(Buffer.concat([data, Buffer.alloc(1)])) && isRefused(Buffer.alloc(0)), name);
  for (let i = 0; i < 20; i++) {
    check(isRefused(data.subarray(0, random(data.length))), `${name}: truncated`);
    const flipped = Uint8Array.from(data), at = random(data.length);
    flipped[at] ^= 1 << random(8);
    check(isRefused(flipped), `${name}: byte ${at}`);
  }
}

for (const file of process.argv.slice(2)) {
  readFileSync(file, "utf8").trim().split("\n").forEach((line, i) => checkCase(line, `${file}:${i + 1}`));
}
check(questions, "no questions");
console.log(`${images} images, ${questions} questions`);
