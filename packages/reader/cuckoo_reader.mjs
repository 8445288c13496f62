// Asks an image of a filter whether it has a key, without SQLite.
//
//   const image = new FilterImage(bytes);  // a Uint8Array, a Buffer, an ArrayBuffer
//   image.contains("ann");                 // of two columns: image.contains(1, "ann")
//
// filter_export(), cuckoo_build(), bloom_build() and filter_union() of sqlite-cuckoo make images. docs/FORMAT.md
// says what their bytes mean. FilterImage checks them once, contains() reads them in place.
//
// A number of 64 bits is two halves of 32 bits, low and high. A function that gives one returns the lower half and
// leaves the upper one in halves[UP]. With BigInt, a question takes 1.3 times as long in Node.js 20, 1.6 times in 24.

/** The bytes are no image of a filter, or a damaged one. */
export class ImageError extends Error {
  name = "ImageError";
}

/** kind is "cuckoo_filter" or "bloom_filter"; items says how many keys it holds; columns, of how many a key is. */
export class FilterImage {
  #filters;
  #columns;

  constructor(bytes) {
    const data = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    this.#filters = sections(data).map((section) => new Filter(section));
    const first = this.#filters[0];
    if (this.#filters.some((other) => other.keys !== first.keys)) {
      throw new ImageError("damaged image: its generations have different keys");
    }
    this.#columns = first.columns;
    this.kind = first.kind === 1 ? "cuckoo_filter" : "bloom_filter";
    this.items = this.#filters.reduce((sum, one) => sum + one.items, 0);
    this.columns = first.columns.length;
  }

  /**
   * Whether the filter may have the key. False is certain. A key with null or NaN in it is never there.
   * A bigint or a safe integer is an INTEGER, another number a REAL, a string a TEXT, a Uint8Array a BLOB.
   */
  contains(...key) {
    const columns = this.#columns, first = this.#filters[0];
    if (key.length !== columns.length) {
      throw new TypeError(`a key of this image has ${columns.length} columns, not ${key.length}`);
    }
    let type = 3, end = 4;
    if (columns.length === 1) {
      type = put(key[0], columns[0], 0);
      end = putEnd;
    } else {
      scratch.set([0x43, 0x4b, 0x54, columns.length]);
      for (let i = 0; i < columns.length; i++) {
        const part = put(key[i], columns[i], end + 5);
        if (part < 0) return false;
        scratch[end] = part;
        new DataView(scratch.buffer).setUint32(end + 1, putEnd - end - 5, true);
        end = putEnd;
      }
    }
    if (type < 0) return false;
    if (first.kind === 5) return type > 1 && first.hasLegacy(end);
    let low = xxh3(scratch, end, first.seeds[type][0], first.seeds[type][1]), high = halves[UP];
    low &= first.hashBits === 63 ? ~1 : 0xfffe0000;
    for (const one of this.#filters) {
      if (one.has(low >>> 0, high >>> 0)) return true;
    }
    return false;
  }
}

function check(condition, what) {
  if (!condition) throw new ImageError(`damaged image: ${what}`);
}

function viewOf(data) {
  return new DataView(data.buffer, data.byteOffset, data.length);
}

// A field that counts something, and so is below 2^53.
function count(view, at) {
  const value = view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  check(value < 2 ** 53, "a number is too large");
  return value;
}

function beginsWith(data, magic) {
  return data.length >= 4 && String.fromCharCode(...data.subarray(0, 4)) === magic;
}

function checkStart(view, size, version, known) {
  if (version !== known) throw new ImageError(`image of version ${version}; this reader knows version ${known}`);
  check(view.byteLength >= size && count(view, 8) === view.byteLength, "its length is wrong");
}

// The images of a window's generations, or the one image.
function sections(data) {
  if (!beginsWith(data, "CKIW")) return [data];
  const view = viewOf(data), end = data.length - 4, found = [];
  check(data.length >= 164, "its length is wrong");
  checkStart(view, 164, view.getUint32(4, true), 3);
  let crc = crc32c(data, 0, 160, 0), before = -1, ascend = true;
  for (let at = 160; at < end;) {
    check(end - at >= 20, "a section's length");
    const rotation = count(view, at), length = count(view, at + 8), next = at + 16 + length;
    check(length >= 4 && next <= end, "a section's length");
    crc = crc32c(data, next - 4, next, crc32c(data, at, at + 16, crc));
    found.push(data.subarray(at + 16, next));
    ascend &&= rotation > before;
    before = rotation;
    at = next;
  }
  check(crc === view.getUint32(end, true), "its checksum is wrong");
  if (data[25] === 1) throw new ImageError("these are changes of a window, and no image");
  check(found.length && ascend && data[24] === found.length && data.subarray(25, 32).every((byte) => byte === 0),
    "the window's header");
  return found;
}

// One image: what it says of its keys, and its pieces.
class Filter {
  constructor(data) {
    if (!beginsWith(data, "CKMS")) throw new ImageError("no image of a filter");
    check(data.length >= 188, "its length is wrong");
    const view = viewOf(data), end = data.length - 4;
    checkStart(view, 188, data[4], 4);
    const [flags, fields, zero] = data.subarray(5, 8);
    this.items = view.getUint32(20, true) * 2 ** 32 + view.getUint32(16, true);
    this.kind = count(view, 56);
    this.hashBits = count(view, 64);
    this.pieces = [];
    let start = 0, crc = crc32c(data, 0, 184, 0);  // start: the upper half of the first hash of a piece
    for (let at = 184; at < end;) {
      check(end - at >= 68, "a piece's length");
      const piece = new Piece(data, view, at, end, this.kind);
      const hashes = 2 ** (32 - piece.depth);
      check(piece.prefix === start && start % hashes === 0, "a piece's prefix");
      check(crc32c(data, at, piece.end, 0) === view.getUint32(piece.end, true), "its checksum is wrong");
      this.pieces.push(piece);
      at = piece.end + 4;
      crc = crc32c(data, at - 4, at, crc);
      start += hashes;
    }
    check(crc === view.getUint32(end, true), "its checksum is wrong");
    if (flags & 8) throw new ImageError("these are changes, and no image");
    const columns = count(view, 88);
    check(flags < 8 && fields === 21 && zero === 0 && count(view, 40) === 0 && count(view, 48) === 0 &&
      count(view, 32) === this.pieces.length && start === 2 ** 32 && columns >= 1 && columns <= 8 &&
      (this.hashBits === 47 || this.hashBits === 63), "its header");
    const affinities = count(view, 96), collations = count(view, 104);
    check(affinities < 16 ** columns && collations < 4 ** columns, "its header");
    this.columns = Array.from({ length: columns }, (_, i) => [
      Math.floor(affinities / 16 ** i) % 16, Math.floor(collations / 4 ** i) % 4]);
    for (const [affinity, collation] of this.columns) {
      check(affinity <= 4, `affinity ${affinity} is not known`);
      check(collation <= 2, `collation ${collation} is not known`);
    }
    const seed = view.getBigUint64(72, true);
    this.keys = String([this.kind, this.hashBits, seed, this.columns]);
    this.seeds = [0n, 1n, 2n, 3n].map((type) => {
      const sum = BigInt.asUintN(64, seed + type * 0x9e3779b97f4a7c15n);
      return [Number(sum & 0xffffffffn), Number(sum >> 32n)];
    });
  }

  has(low, high) {
    let first = 0;
    for (let last = this.pieces.length - 1; first < last;) {
      const middle = (first + last + 1) >> 1;
      if (this.pieces[middle].prefix <= high) first = middle;
      else last = middle - 1;
    }
    const piece = this.pieces[first], depth = piece.depth;
    if (depth > 0) {
      high = ((high << depth) | (low >>> (32 - depth))) >>> 0;
      low = (low << depth) >>> 0;
    }
    return piece.has(low, high);
  }

  hasLegacy(size) {
    const piece = this.pieces[0];
    if (piece.occupied === 0) return false;
    let low = murmur64a(scratch, size, this.seeds[0][0]), high = halves[UP];
    const step = murmur64a(scratch, size, (high ^ low) >>> 0), stepUp = halves[UP];
    for (let i = 0; i < piece.shape; i++) {
      const rest = ((high % piece.size) * 65536 + (low >>> 16)) % piece.size;
      if (!piece.isSet((rest * 65536 + (low & 65535)) % piece.size)) return false;
      low = add(low, high, step, stepUp);
      high = halves[UP];
    }
    return true;
  }
}

// The filter of the hashes that begin with a prefix.
class Piece {
  constructor(data, view, at, end, kind) {
    this.data = data;
    this.view = view;
    this.kind = kind;
    this.cells = at + 64;
    this.depth = data[at];
    this.detail = data[at + 1];
    this.shape = view.getUint16(at + 2, true);
    this.overflows = view.getUint32(at + 4, true);
    this.occupied = count(view, at + 24);
    this.size = count(view, at + 32);
    this.prefix = view.getUint32(at + 60, true);
    this.width = [0, 4 * this.detail + ({ 16: 12, 19: 13, 23: 14, 28: 15 }[this.shape] ?? 999), 1, 512, 4, 1][kind];
    let perPage = 4032, pageBytes = this.width * 504;  // they do not matter, as pages of bits have no gaps
    if (kind === 1) {
      check(this.width <= 128, "a piece's buckets");
      this.values = this.shape * 2 ** this.detail - 1;
      perPage = this.perPage = Math.floor(8 * 4032 / this.width);
      pageBytes = this.pageBytes = Math.ceil(this.width * perPage / 8);
    } else {
      check(this.width && this.detail === 0 && this.shape >= 1 && this.shape <= (kind === 3 ? 4 : 64),
        "a piece's shape");
    }
    const pages = Math.floor(this.size / perPage), rest = this.size % perPage;
    this.overflow = this.cells + (this.occupied ? pages * pageBytes + Math.ceil(this.width * rest / 8) : 0);
    this.end = this.overflow + 16 * this.overflows + count(view, at + 48);
    check(this.size && this.depth <= 30 && this.end <= end - 4 && view.getUint32(at + 56, true) === 0,
      "a piece's length");
  }

  has(low, high) {
    if (this.kind === 1) return this.hasFingerprint(low, high);
    return this.occupied > 0 && (this.kind === 3 ? this.hasMask(low, high) : this.hasCells(low, high));
  }

  hasFingerprint(low, high) {
    const size = this.size, values = this.values;
    const bucket1 = place(low, high, size);
    const value = 1 + place(halves[0], halves[1], values);
    const mixed = murmurMix(value >>> 0, Math.floor(value / 2 ** 32));
    let bucket2 = place(mixed, halves[UP], size) - bucket1;
    if (bucket2 < 0) bucket2 += size;
    if (this.occupied > 0 && (this.isIn(bucket1, value) || this.isIn(bucket2, value))) return true;
    return this.overflows > 0 && this.overflowsAt(Math.min(bucket1, bucket2), value);
  }

  isIn(bucket, value) {
    const page = Math.floor(bucket / this.perPage), detail = this.detail;
    let bit = (bucket - page * this.perPage) * this.width;
    const page0 = this.cells + page * this.pageBytes, power = 2 ** detail;
    const valueHigh = Math.floor(value / power), valueLow = value - valueHigh * power;
    const highs = RANKS[this.bits(page0, bit + 4 * detail, this.width - 4 * detail)];
    for (let slot = 0; slot < 20; slot += 5) {
      if (((highs >>> slot) & 31) === valueHigh && (detail === 0 || this.bits(page0, bit, detail) === valueLow)) {
        return true;
      }
      bit += detail;
    }
    return false;
  }

  bits(start, bit, width) {  // halves[UP] to 29 of them; behind the cells there are 8 bytes of checksums at least
    const at = start + (bit >>> 3), shift = bit & 7;
    const more = shift ? this.data[at + 4] << (32 - shift) : 0;
    return ((this.view.getUint32(at, true) >>> shift) | more) & (2 ** width - 1);
  }

  overflowsAt(bucket, value) {
    multiply(bucket >>> 0, Math.floor(bucket / 2 ** 32), this.values >>> 0, Math.floor(this.values / 2 ** 32));
    const low = add(halves[0], halves[1], (value - 1) >>> 0, Math.floor((value - 1) / 2 ** 32)), high = halves[UP];
    for (let first = 0, end = this.overflows; first < end;) {
      const middle = Math.floor((first + end) / 2), at = this.overflow + 16 * middle;
      const foundLow = this.view.getUint32(at, true), foundHigh = this.view.getUint32(at + 4, true);
      if (foundLow === low && foundHigh === high) return true;
      if (foundHigh < high || (foundHigh === high && foundLow < low)) first = middle + 1;
      else end = middle;
    }
    return false;
  }

  isSet(cell) {  // a bit or a counter of a Bloom filter
    return this.width === 1 ? (this.data[this.cells + Math.floor(cell / 8)] >> (cell % 8)) & 1
      : (this.data[this.cells + Math.floor(cell / 2)] >> (cell % 2 * 4)) & 15;
  }

  hasCells(low, high) {
    let sum = low, sumUp = high, mixed = 0, mixedUp = 0;
    for (let i = 0; i < this.shape; i++) {
      if (i % 2 === 0) {
        sum = add(sum, sumUp, 0x7f4a7c15, 0x9e3779b9);
        sumUp = halves[UP];
        mixed = mix64(sum, sumUp);
        mixedUp = halves[UP];
      } else {
        [mixed, mixedUp] = [mixedUp, mixed];
      }
      if (!this.isSet(place(mixed, mixedUp, this.size))) return false;
    }
    return true;
  }

  hasMask(low, high) {
    let mask = low, maskUp = high, sum = low, sumUp = high;
    for (let i = 0; i < this.shape; i++) {
      const first = Math.floor(this.size * i / this.shape);
      const blocks = Math.floor(this.size * (i + 1) / this.shape) - first;
      const block = this.cells + 64 * (first + place(mask, maskUp, blocks));
      sum = add(sum, sumUp, 0x7f4a7c15, 0x9e3779b9);
      sumUp = halves[UP];
      mask = mix64(sum, sumUp);
      maskUp = halves[UP];
      for (let lane = 0, low32 = mask, high32 = maskUp; lane < 8; lane++) {
        if (!(this.data[block + 8 * lane + ((low32 & 63) >> 3)] >> (low32 & 7) & 1)) return false;
        low32 = (low32 >>> 6) | (high32 << 26);
        high32 >>>= 6;
      }
    }
    return true;
  }
}

// RANKS[rank]: the four highs of a bucket, five bits each, the lowest one first.
const RANKS = new Uint32Array(2 ** 15);
for (let d = 0, rank = 0; d < 28; d++) {
  for (let c = 0; c <= d; c++) {
    for (let b = 0; b <= c; b++) {
      for (let a = 0; a <= b; a++) RANKS[rank++] = a | b << 5 | c << 10 | d << 15;
    }
  }
}

// Keys: put() writes the bytes of a column into `scratch`, from `at` to `putEnd`, and returns its type: 0 INTEGER,
// 1 REAL, 2 TEXT, 3 BLOB; -1 is NULL.
let scratch = new Uint8Array(256), putEnd = 0;
const TEXT = 1, REAL = 4;  // affinities
const INTEGER_TEXT = /^[\t-\r ]*([+-]?[0-9]+)[\t-\r ]*$/;
const NUMBER_TEXT = /^[\t-\r ]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[\t-\r ]*$/;

function reserve(end) {
  if (end > scratch.length) {
    const old = scratch;
    scratch = new Uint8Array(2 * end);
    scratch.set(old);
  }
}

function put(value, [affinity, collation], at) {
  reserve(at + 8);
  let isReal = typeof value === "number" && !Number.isSafeInteger(value);
  if (value === null || value === undefined || Number.isNaN(value)) return -1;
  if (affinity === TEXT && (typeof value === "number" || typeof value === "bigint")) {
    value = isReal ? textOfReal(value) : String(value);
  }
  if (typeof value === "string") {
    const found = affinity > TEXT && (INTEGER_TEXT.exec(value) ?? NUMBER_TEXT.exec(value));
    if (!found) return putText(value, collation, at);
    isReal = found.length > 2 || BigInt.asIntN(64, BigInt(found[1])) !== BigInt(found[1]);
    value = isReal ? Number(found[1]) : BigInt(found[1]);
  }
  if (typeof value === "bigint") {
    if (BigInt.asIntN(64, value) !== value) throw new RangeError("an INTEGER has 64 bits");
    if (affinity === REAL) value = Number(value);
  }
  putEnd = at + 8;
  const view = new DataView(scratch.buffer);
  if (typeof value === "bigint") {
    view.setBigInt64(at, value, true);
    return 0;
  }
  if (typeof value === "number") {
    if (!Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 63) {
      view.setFloat64(at, value, true);
      return 1;
    }
    view.setUint32(at, value >>> 0, true);
    view.setInt32(at + 4, Math.floor(value / 2 ** 32), true);
    return 0;
  }
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) {
    throw new TypeError("a key is a number, a bigint, a string, a Uint8Array or null");
  }
  const bytes = ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  putEnd = at + bytes.length;
  reserve(putEnd);
  scratch.set(bytes, at);
  return 3;
}

// UTF-8; half a surrogate pair becomes three bytes.
function putText(text, collation, at) {
  reserve(at + 3 * text.length);
  const start = at;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      scratch[at++] = code;
      continue;
    }
    if (code >= 0xd800 && code < 0xdc00) code = text.codePointAt(i);
    if (code < 0x800) {
      scratch[at++] = 0xc0 | code >> 6;
    } else {
      if (code < 0x10000) {
        scratch[at++] = 0xe0 | code >> 12;
      } else {
        scratch[at++] = 0xf0 | code >> 18;
        scratch[at++] = 0x80 | code >> 12 & 63;
        i++;
      }
      scratch[at++] = 0x80 | code >> 6 & 63;
    }
    scratch[at++] = 0x80 | code & 63;
  }
  if (collation === 2) {
    while (at > start && scratch[at - 1] === 0x20) at--;
  } else if (collation === 1) {
    let i = start;
    for (; i < at && scratch[i] !== 0; i++) {
      if (scratch[i] >= 0x41 && scratch[i] <= 0x5a) scratch[i] += 32;
    }
    scratch.fill(0, i, at);
  }
  putEnd = at;
  return 2;
}

// As SQLite casts a REAL to TEXT, halves[UP] to 15 digits. (Newer versions of SQLite write halves[UP] to 17.)
function textOfReal(real) {
  const sign = real < 0 ? "-" : "";
  if (!Number.isFinite(real)) return `${sign}Inf`;
  const [mantissa, exponent] = Math.abs(real).toExponential(14).split("e");
  const digits = mantissa.replace(".", "").replace(/0+$/, ""), power = Number(exponent);
  if (power < -4 || power > 14) {
    const shown = String(Math.abs(power)).padStart(2, "0");
    return `${sign}${digits[0]}.${digits.slice(1) || 0}e${power < 0 ? "-" : "+"}${shown}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
  return `${sign}${digits.slice(0, power + 1).padEnd(power + 1, "0")}.${digits.slice(power + 1) || 0}`;
}

// Arithmetic of 64 bits.
const UP = 4, halves = new Uint32Array(5);  // first those of multiply(), the lowest one first

function add(low, high, otherLow, otherHigh) {
  const sum = low + otherLow;
  halves[UP] = (high + otherHigh + (sum >= 2 ** 32 ? 1 : 0)) >>> 0;
  return sum >>> 0;
}

// The upper half of a product of two halves: a * b is off by 2^11 at most.
function upper(a, b, low) {
  return Math.round((a * b - low) / 2 ** 32);
}

function multiply(a0, a1, b0, b1) {
  const low00 = Math.imul(a0, b0) >>> 0, low01 = Math.imul(a0, b1) >>> 0;
  const low10 = Math.imul(a1, b0) >>> 0, low11 = Math.imul(a1, b1) >>> 0;
  const middle = upper(a0, b0, low00) + low01 + low10;
  halves[0] = low00;
  halves[1] = middle >>> 0;
  const high = upper(a0, b1, low01) + upper(a1, b0, low10) + low11 + (middle - halves[1]) / 2 ** 32;
  halves[2] = high >>> 0;
  halves[3] = upper(a1, b1, low11) + (high - halves[2]) / 2 ** 32;
}

function times(a0, a1, b0, b1) {  // modulo 2^64
  const low = Math.imul(a0, b0) >>> 0;
  halves[UP] = (upper(a0, b0, low) + Math.imul(a0, b1) + Math.imul(a1, b0)) >>> 0;
  return low;
}

// The upper 64 bits of hash * size, below 2^53.
function place(low, high, size) {
  multiply(low, high, size >>> 0, Math.floor(size / 2 ** 32));
  return halves[3] * 2 ** 32 + halves[2];
}

function fold(a0, a1, b0, b1) {
  multiply(a0, a1, b0, b1);
  halves[UP] = (halves[1] ^ halves[3]) >>> 0;
  return (halves[0] ^ halves[2]) >>> 0;
}

function mix64(low, high) {  // the finalizer of SplitMix64
  low = times((low ^ (low >>> 30 | high << 2)) >>> 0, (high ^ high >>> 30) >>> 0, 0x1ce4e5b9, 0xbf58476d);
  high = halves[UP];
  low = times((low ^ (low >>> 27 | high << 5)) >>> 0, (high ^ high >>> 27) >>> 0, 0x133111eb, 0x94d049bb);
  const mixed = (low ^ (low >>> 31 | halves[UP] << 1)) >>> 0;
  halves[UP] = (halves[UP] ^ halves[UP] >>> 31) >>> 0;
  return mixed;
}

function murmurMix(low, high) {  // the finalizer of MurmurHash3
  low = times((low ^ high >>> 1) >>> 0, high, 0xed558ccd, 0xff51afd7);
  low = times((low ^ halves[UP] >>> 1) >>> 0, halves[UP], 0x1a85ec53, 0xc4ceb9fe);
  return (low ^ halves[UP] >>> 1) >>> 0;
}

function murmur64a(data, size, seed) {
  const m0 = 0x5bd1e995, m1 = 0xc6a4a793;
  let low = (times(size, 0, m0, m1) ^ seed) >>> 0, high = halves[UP];
  let at = 0;
  for (; at + 8 <= size; at += 8) {
    let k = times(read32(data, at), read32(data, at + 4), m0, m1);
    k = times((k ^ halves[UP] >>> 15) >>> 0, halves[UP], m0, m1);
    low = times((low ^ k) >>> 0, (high ^ halves[UP]) >>> 0, m0, m1);
    high = halves[UP];
  }
  if (at < size) {
    const rest = new Uint8Array(8);
    rest.set(data.subarray(at, size));
    low = times((low ^ read32(rest, 0)) >>> 0, (high ^ read32(rest, 4)) >>> 0, m0, m1);
    high = halves[UP];
  }
  low = times((low ^ high >>> 15) >>> 0, high, m0, m1);
  return (low ^ halves[UP] >>> 15) >>> 0;
}

// XXH3, by https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
const SECRET = Uint8Array.from(
  ("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
    .match(/../g), (byte) => parseInt(byte, 16));
const P1 = [0x85ebca87, 0x9e3779b1];  // the first prime of 64 bits
const SUMS = [0xc2b2ae3d, 0, ...P1, 0x27d4eb4f, 0xc2b2ae3d, 0x9e3779f9, 0x165667b1, 0xc2b2ae63, 0x85ebca77,
  0x85ebca77, 0, 0x165667c5, 0x27d4eb2f, 0x9e3779b1, 0];

function read32(data, at) {
  return (data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24) >>> 0;
}

function swapped(x) {
  return (x << 24 | (x & 0xff00) << 8 | x >>> 8 & 0xff00 | x >>> 24) >>> 0;
}

function avalanche(low, high) {
  low = times((low ^ high >>> 5) >>> 0, high, 0x9e3779f9, 0x16566791);
  return (low ^ halves[UP]) >>> 0;
}

function xxh3(data, size, seed, seedUp) {
  if (size <= 16) return xxh3Short(data, size, seed, seedUp);
  if (size > 240) return xxh3Long(data, size, seed, seedUp);
  let low = times(size, 0, P1[0], P1[1]), high = halves[UP];
  if (size <= 128) {
    for (let i = 0; 32 * i < size; i++) {
      low = mixed(low, high, data, 16 * i, 32 * i, seed, seedUp);
      low = mixed(low, halves[UP], data, size - 16 * i - 16, 32 * i + 16, seed, seedUp);
      high = halves[UP];
    }
    return avalanche(low, high);
  }
  for (let i = 0; i < 8; i++) {
    low = mixed(low, high, data, 16 * i, 16 * i, seed, seedUp);
    high = halves[UP];
  }
  low = avalanche(low, high);
  high = halves[UP];
  for (let i = 8; 16 * i + 16 <= size; i++) {
    low = mixed(low, high, data, 16 * i, 16 * (i - 8) + 3, seed, seedUp);
    high = halves[UP];
  }
  low = mixed(low, high, data, size - 16, 119, seed, seedUp);
  return avalanche(low, halves[UP]);
}

function mixed(low, high, data, at, words, seed, seedUp) {  // low, high, and what 16 bytes add to it
  const a = add(read32(SECRET, words), read32(SECRET, words + 4), seed, seedUp);
  const a0 = (a ^ read32(data, at)) >>> 0, a1 = (halves[UP] ^ read32(data, at + 4)) >>> 0;
  const b = subtract(read32(SECRET, words + 8), read32(SECRET, words + 12), seed, seedUp);
  const b0 = (b ^ read32(data, at + 8)) >>> 0, b1 = (halves[UP] ^ read32(data, at + 12)) >>> 0;
  const folded = fold(a0, a1, b0, b1);
  return add(low, high, folded, halves[UP]);
}

function subtract(low, high, otherLow, otherHigh) {
  halves[UP] = (high - otherHigh - (low < otherLow ? 1 : 0)) >>> 0;
  return (low - otherLow) >>> 0;
}

// The exclusive or of two words of 64 bits of the secret.
function secrets(at) {
  halves[UP] = (read32(SECRET, at + 4) ^ read32(SECRET, at + 12)) >>> 0;
  return (read32(SECRET, at) ^ read32(SECRET, at + 8)) >>> 0;
}

function xxh3Short(data, size, seed, seedUp) {
  if (size > 8) {
    let low = secrets(24);
    low = add(low, halves[UP], seed, seedUp);
    const low0 = (low ^ read32(data, 0)) >>> 0, low1 = (halves[UP] ^ read32(data, 4)) >>> 0;
    let high = secrets(40);
    high = subtract(high, halves[UP], seed, seedUp);
    const high0 = (high ^ read32(data, size - 8)) >>> 0, high1 = (halves[UP] ^ read32(data, size - 4)) >>> 0;
    let sum = add(swapped(low1), swapped(low0), size, 0);
    sum = add(sum, halves[UP], high0, high1);
    const sumUp = halves[UP], folded = fold(low0, low1, high0, high1);
    sum = add(sum, sumUp, folded, halves[UP]);
    return avalanche(sum, halves[UP]);
  }
  if (size >= 4) {
    let low = secrets(8);
    low = subtract(low, halves[UP], seed, (seedUp ^ swapped(seed)) >>> 0);
    low = (low ^ read32(data, size - 4)) >>> 0;
    const high = (halves[UP] ^ read32(data, 0)) >>> 0;
    // Exclusive or of it, rotated by 49 and by 24 bits.
    low = times((low ^ (high << 17 | low >>> 15) ^ (low << 24 | high >>> 8)) >>> 0,
      (high ^ (low << 17 | high >>> 15) ^ (high << 24 | low >>> 8)) >>> 0, 0x1e98df25, 0x9fb21c65);
    low = times((low ^ (halves[UP] >>> 3) + size) >>> 0, halves[UP], 0x1e98df25, 0x9fb21c65);
    low = (low ^ (low >>> 28 | halves[UP] << 4)) >>> 0;
    halves[UP] = (halves[UP] ^ halves[UP] >>> 28) >>> 0;
    return low;
  }
  let low = 0, high = 0;
  if (size) {
    low = (read32(SECRET, 0) ^ read32(SECRET, 4)) >>> 0;
    low = add(low, 0, seed, seedUp);
    high = halves[UP];
    low = (low ^ (data[size - 1] | size << 8 | data[0] << 16 | data[size >> 1] << 24)) >>> 0;
  } else {
    low = (secrets(56) ^ seed) >>> 0;
    high = (halves[UP] ^ seedUp) >>> 0;
  }
  low = times((low ^ high >>> 1) >>> 0, high, 0x27d4eb4f, 0xc2b2ae3d);
  high = halves[UP];
  low = times((low ^ (low >>> 29 | high << 3)) >>> 0, (high ^ high >>> 29) >>> 0, 0x9e3779f9, 0x165667b1);
  return (low ^ halves[UP]) >>> 0;
}

function xxh3Long(data, size, seed, seedUp) {
  const secret = new Uint8Array(192), view = new DataView(secret.buffer);
  for (let at = 0; at < 192; at += 8) {
    const change = at % 16 ? subtract : add;
    view.setUint32(at, change(read32(SECRET, at), read32(SECRET, at + 4), seed, seedUp), true);
    view.setUint32(at + 4, halves[UP], true);
  }
  const sums = Uint32Array.from(SUMS);
  const addTo = (i, low, high) => {
    sums[i] = add(sums[i], sums[i + 1], low, high);
    sums[i + 1] = halves[UP];
  };
  const last = Math.floor((size - 1) / 64);
  for (let stripe = 0; stripe <= last; stripe++) {
    const at = stripe < last ? stripe * 64 : size - 64, words = stripe < last ? stripe % 16 * 8 : 121;
    for (let i = 0; i < 16; i += 2) {
      const low = read32(data, at + 4 * i), high = read32(data, at + 4 * i + 4);
      const a = (low ^ read32(secret, words + 4 * i)) >>> 0, b = (high ^ read32(secret, words + 4 * i + 4)) >>> 0;
      const product = Math.imul(a, b) >>> 0;
      addTo(i ^ 2, low, high);
      addTo(i, product, upper(a, b, product));
    }
    for (let i = 0; stripe % 16 === 15 && stripe < last && i < 16; i += 2) {
      const low = sums[i] ^ sums[i + 1] >>> 15 ^ read32(secret, 128 + 4 * i);
      sums[i] = times(low >>> 0, (sums[i + 1] ^ read32(secret, 132 + 4 * i)) >>> 0, 0x9e3779b1, 0);
      sums[i + 1] = halves[UP];
    }
  }
  let low = times(size >>> 0, Math.floor(size / 2 ** 32), ...P1), high = halves[UP];
  for (let i = 0; i < 16; i += 4) {
    const [a0, a1, b0, b1] = [0, 1, 2, 3].map((j) => (sums[i + j] ^ read32(secret, 11 + 4 * (i + j))) >>> 0);
    low = add(low, high, fold(a0, a1, b0, b1), halves[UP]);
    high = halves[UP];
  }
  return avalanche(low, high);
}

// CRC-32C, four bytes at a time: CRC_TABLE[256 * n + byte] is that of a byte before n zero bytes.
const CRC_TABLE = new Uint32Array(1024);
for (let i = 0; i < 1024; i++) {
  let value = i < 256 ? i : CRC_TABLE[i - 256];
  for (let bit = 0; bit < 8; bit++) value = value >>> 1 ^ (value & 1 ? 0x82f63b78 : 0);
  CRC_TABLE[i] = value;
}

function crc32c(data, at, end, before) {  // before: the CRC of the bytes before them, or 0
  let crc = ~before;
  for (; at + 4 <= end; at += 4) {
    crc ^= read32(data, at);
    crc = CRC_TABLE[768 | crc & 255] ^ CRC_TABLE[512 | crc >>> 8 & 255] ^ CRC_TABLE[256 | crc >>> 16 & 255] ^
      CRC_TABLE[crc >>> 24];
  }
  for (; at < end; at++) crc = CRC_TABLE[(crc ^ data[at]) & 255] ^ crc >>> 8;
  return ~crc >>> 0;
}
