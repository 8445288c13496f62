"""Makes images with the extension, and asks it about keys. Prints a case a line, as JSON, for check.*:

    {"image": base64, "kind": …, "items": …, "ask": [[key, answer], …]}
    {"image": base64, "ask": …, "mutant": true}     its checksums are right, but its contents are not
    {"image": base64, "error": …}                   it is refused, and the error contains these words

A key is a list of columns: "i" and an integer, "r" and the bytes of a double, "t" and UTF-8, "b" and bytes, in
hexadecimal; "n" is NULL. Half a surrogate pair is the three bytes of its number.

usage: cases.py module seed count        that many filters, and three mutants of each
       cases.py module seed count golden  small ones without mutants, some chosen ones, those in tests/golden/images
"""
import base64
import json
from pathlib import Path
import random
import sqlite3
import struct
import sys

import reader

AFFINITIES = ["", "TEXT", "NUMERIC", "INTEGER", "REAL", "BLOB"]
COLLATIONS = ["", "COLLATE BINARY", "COLLATE NOCASE", "COLLATE RTRIM"]
INTEGERS = [0, 1, -1, 5, 42, 255, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -2**53, -2**53 - 1, 2**62 + 1, 2**63 - 1, -2**63]
REALS = [0.0, -0.0, 0.1, 0.5, -2.5, 1.0, 5.0, 1e14, 1e15, 1e16, 123456789012345.0, 100000000000000.5, 2.0**53,
         2.0**63, -2.0**63, 2.0**63 - 1024, 1e19, 1e20, 1e100, -1e300, 1e-5, 1e-4, 5e-324, 1.7976931348623157e308,
         1 / 3, 2 / 3, float("inf"), -float("inf"), float("nan"), 4503599627370496.5, 0.30000000000000004]
TEXTS = ["", " ", "a", "A", "a ", "a  ", " a", "abc", "ABC", "Ab", "1", "1.0", "5", " 12 ", "\t12\n", "+5", "-0", ".5",
         "5.", "1e3", "1e", "e1", "0x10", "1_000", "007", "9007199254740993", "9007199254740993.0", "9223372036854775807",
         "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e400", "-1e400", "1e-400", "12abc",
         "0.1", "1e19", "Inf", "nan", "1.5 x", "\v1\f", "12\0", "a\0B ", "A\0b", "Ä", "ä", "ß", "İ", "€uro", "日本", "😀",
         "\ud800", "x\udc00", "\udfff\ud800", "\u00a01", "１２", "a\u00a0", "Z[`{@"]


def random_text(rng):
    if rng.random() < 0.5:
        return rng.choice(TEXTS)
    if rng.random() < 0.2:
        return rng.choice(["%d", "%.3f", "%g", "%e"]) % rng.choice([rng.randrange(-10**6, 10**6), rng.gauss(0, 1e6)])
    size = rng.choice([1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 100, 128, 129, 200, 240, 241, 300, 600])
    alphabet = rng.choice(["abAB ", "0123456789", "aÄ€😀", "xyz\ud801Q"])
    text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, size)))
    return text + rng.choice(["", "", " ", "   "])


def random_value(rng):
    """A value that SQL takes: an int, a float, a str or bytes."""
    how = rng.randrange(10)
    if how < 2:
        return rng.choice(INTEGERS)
    if how == 2:
        return rng.randrange(-2**63, 2**63) >> rng.randrange(64)
    if how == 3:
        return rng.choice(REALS)
    if how == 4:
        return rng.choice([struct.unpack("<d", rng.randbytes(8))[0], rng.gauss(0, 1000), round(rng.random(), 3),
                           float(rng.randrange(-2**53, 2**53) << rng.randrange(12)), rng.randrange(2000) / 16 + 1e14])
    if how < 9:
        return random_text(rng)
    return rng.randbytes(rng.choice([0, 1, 3, 4, 8, 9, 16, 17, 130, 241, 1024, 1025, 2100]))


def told(value):
    """The value as a case has it."""
    if value is None:
        return "n"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "r" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "t" + value.encode("utf-8", "surrogatepass").hex()
    return "b" + value.hex()


def is_doubtful(value, column):
    """Whether versions of SQLite differ in what this value becomes in the column."""
    if isinstance(value, float):
        return "TEXT" in column and value * 1024 % 1 != 0 and abs(value) != float("inf") or (
            "TEXT" in column and 1e12 < abs(value) < float("inf"))
    if not isinstance(value, str) or not any(word in column for word in ("NUMERIC", "INTEGER", "REAL")):
        return False
    try:
        number = float(value.strip(" \t\n\v\f\r"))
    except ValueError:
        return False
    return not (number == 0 or 1e-30 < abs(number) < 1e30 or abs(number) == float("inf"))


def put_crc(image, at, data):
    image[at:at + 4] = struct.pack("<I", reader.crc32c(bytes(data)))


class Maker:
    def __init__(self, module, seed):
        self.rng = rng = random.Random(seed)
        self.encoding = rng.choice(["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"])
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(module)
        self.db.execute(f"PRAGMA encoding = '{self.encoding}'")

    def sql(self, value):
        """An expression with this value; Python binds no half surrogate pairs."""
        if isinstance(value, str):
            codec = {"UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}.get(self.encoding, "utf-8")
            return f"CAST(x'{value.encode(codec, 'surrogatepass').hex()}' AS TEXT)", []
        return "?", [value]

    def run(self, text, keys=()):
        expressions, bound = [], []
        for value in keys:
            expression, values = self.sql(value)
            expressions.append(expression)
            bound += values
        return text.replace("KEYS", ", ".join(expressions)), bound

    def table(self, columns, options, keys, rotate=False, hashes=False):
        db = self.db
        names = [f"c{i}" for i in range(len(columns))]
        declared = ", ".join(f"{name} {column}" for name, column in zip(names, columns))
        module, options = options
        db.execute("DROP TABLE IF EXISTS f")
        db.execute(f"CREATE VIRTUAL TABLE f USING {module}({declared}{options})")
        db.execute("BEGIN")
        for i, key in enumerate(keys):
            if rotate and i % 7 == 3:
                db.execute("INSERT INTO f(f) VALUES ('rotate')")
            try:
                if not any(value != value for value in key):
                    db.execute(*self.run(f"INSERT OR IGNORE INTO f({', '.join(names)}) VALUES (KEYS)", key))
            except sqlite3.OperationalError as error:
                if "full" not in str(error):
                    raise
        db.execute("COMMIT")
        return db.execute(f"SELECT filter_export('f'{', ' + repr('hashes') if hashes else ''})").fetchone()[0]

    def built(self, function, options, keys):
        db = self.db
        db.execute("DROP TABLE IF EXISTS k")
        db.execute("CREATE TABLE k(key)")
        for key in keys:
            value = "KEYS" if len(key) == 1 else "cuckoo_key(KEYS)"
            db.execute(*self.run(f"INSERT INTO k VALUES ({value})", key))
        return db.execute(f"SELECT {function}(key{options}) FROM k").fetchone()[0]

    def case(self, image, columns, keys):
        ask = []
        for key in keys:
            if not any(map(is_doubtful, key, columns)):
                text, bound = self.run("SELECT filter_contains(?, KEYS)", key)
                found, = self.db.execute(text, [image] + bound).fetchone()
                ask.append([[told(value) for value in key], found == 1])
        info = self.db.execute("SELECT kind, items FROM filter_info(?)", [image]).fetchone()
        return {"image": base64.b64encode(image).decode(), "kind": info[0], "items": info[1], "ask": ask}

    def mutant(self, case, columns, keys):
        """The image with a wrong byte and right checksums: as a case if the extension takes it."""
        image = bytearray(base64.b64decode(case["image"]))
        parts = [(0, len(image))]
        if image[:4] == b"CKIW":
            parts, at = [], 160
            while at < len(image) - 4:
                length, = struct.unpack_from("<Q", image, at + 8)
                parts.append((at + 16, at + 16 + length))
                at += 16 + length
        start, end = self.rng.choice(parts)
        ends = [piece.end for piece in reader.pieces_of(image[start:end])]
        at = start + self.rng.choice([self.rng.randrange(end - start), self.rng.randrange(184, 248)])
        image[at] ^= self.rng.choice([1 << self.rng.randrange(8), self.rng.randrange(1, 256)])
        sums, before = bytes(image[start:start + 184]), start + 184
        for piece_end in ends:
            piece_end += start
            put_crc(image, piece_end, image[before:piece_end])
            sums += image[piece_end:piece_end + 4]
            before = piece_end + 4
        put_crc(image, end - 4, sums)
        if len(parts) > 1 or start:
            put_crc(image, len(image) - 4, image[:160] + b"".join(
                image[first - 16:first] + image[last - 4:last] for first, last in parts))
        image = bytes(image)
        try:
            return self.case(image, columns, keys)
        except sqlite3.OperationalError:
            return {"image": base64.b64encode(image).decode(), "mutant": True, "ask": case["ask"]}

    def random_columns(self, count):
        return [self.rng.choice(AFFINITIES) + " " + self.rng.choice(COLLATIONS) for _ in range(count)]

    def random_options(self, small):
        """The module, its options, and what else the case is."""
        rng = self.rng
        options = f", seed = {rng.choice([0, 1, rng.randrange(-2**63, 2**63)])}"
        capacity = rng.choice([1, 16, 60] if small else [1, 16, 100, 1000, 30000, 300000])
        options += f", capacity = {capacity}, growth = {rng.choice(['on', 'on', 'off'])}"
        window = rng.random() < 0.2
        if window:
            options += f", generations = {rng.randint(2, 5)}"
        kind = rng.choice(["cuckoo", "cuckoo", "standard", "counting", "blocked", "murmur2"])
        rate = rng.choice(["", ", fpr = 0.25", ", fpr = 0.03", f", fpr = {2.0 ** -rng.uniform(2, 30):.12g}"])
        if kind == "cuckoo":
            options += rng.choice([rate, rate, f", fingerprint_bits = {rng.randint(4, 32)}"])
            if rng.random() < 0.2:
                options += ", unique = on"
            return ("cuckoo_filter", options), window
        if kind == "murmur2":
            options = f", hash = murmur2, seed = {rng.randrange(2**32)}, capacity = {capacity}"
            return ("bloom_filter", options), False
        options += {"standard": "", "counting": ", counting = on", "blocked": ", layout = blocked"}[kind]
        options += rng.choice([rate, f", bits_per_key = {rng.randint(2, 40)}"] if kind == "blocked" else
                              [rate, f", bits_per_key = {rng.randint(1, 60)}", f", hashes = {rng.randint(1, 40)}"])
        return ("bloom_filter", options), window

    def random_case(self, small=False):
        rng = self.rng
        columns = self.random_columns(1 if rng.random() < 0.7 else rng.randint(2, 8))
        keys = [[random_value(rng) for _ in columns] for _ in range(rng.choice([0, 1, 3, 12, 40] if small
                                                                           else [0, 1, 5, 60, 200]))]
        keys += [rng.choice(keys) for _ in range(rng.choice([0, 0, 20]))] if keys else []
        if rng.random() < 0.25:
            parts = [rng.choice(["NULL", "0.25", "0.01", "1e-5"]), rng.choice(["NULL", "NULL", "1000"]),
                     str(rng.randrange(-2**63, 2**63)), "'hashes'"][:rng.randint(0, 4)]
            if not any(all(value == value for value in key) for key in keys):  # a NaN is NULL
                return []
            columns = [""] * len(columns)
            image = self.built(rng.choice(["cuckoo_build", "bloom_build"]), "".join(", " + p for p in parts), keys)
        else:
            options, window = self.random_options(small)
            if "murmur2" in options[1]:
                columns = [rng.choice(["", "TEXT", "BLOB"])]
                keys = [[value] for value in (key[0] for key in keys) if isinstance(value, (str, bytes))]
            hashes = "growth = on" in options[1] and rng.random() < 0.5
            image = self.table(columns, options, keys, window, hashes)
        asked = keys[:60] + [[random_value(rng) for _ in columns] for _ in range(10 if small else 100)]
        if small:
            asked = [key for key in rng.sample(asked, min(len(asked), 16)) if len(str(key)) < 1000]
        cases = [self.case(image, columns, asked)]
        return cases + [self.mutant(cases[0], columns, asked[-20:]) for _ in range(0 if small else 3)]


def refused_cases():
    golden = Path(__file__).parents[1] / "golden"
    image = (golden / "images" / "cuckoo_pieces.image").read_bytes()

    def changed(at, value):
        bytes_of = bytearray(image)
        bytes_of[at] = value
        sums = bytes(bytes_of[:184]) + b"".join(image[piece.end:piece.end + 4] for piece in reader.pieces_of(image))
        put_crc(bytes_of, len(bytes_of) - 4, sums)
        return bytes(bytes_of)

    changes = (golden / "images" / "window_cuckoo_grows_changes.image").read_bytes()
    for what, error in (
            (changed(104, 3), "collation 3 is not known"), (changed(96, 5), "affinity 5 is not known"),
            (changed(104, 8), "header"), (changed(4, 5), "version 5"), (changed(5, 64), "header"),
            (changed(6, 22), "header"), (changed(5, 8), "these are changes"), (changes, "these are changes of a window"),
            (changed(3, ord("T")), "no image of a filter"), (b"", "no image of a filter"), (image[:100], "length"),
            ((golden / "rings" / "ring.image").read_bytes(), "no image of a filter")):
        yield {"image": base64.b64encode(what).decode(), "error": error}


def stored_cases(module):
    """Of the images in tests/golden/images, which have keys that nobody knows, but also pieces."""
    maker = Maker(module, 0)
    for path in sorted((Path(__file__).parents[1] / "golden" / "images").glob("*.image")):
        if "_changes" not in path.name:
            yield maker.case(path.read_bytes(), [""], [[i] for i in range(25)])


def chosen_cases(module):
    """What a few random filters may miss."""
    maker = Maker(module, 0)
    for kind in AFFINITIES:
        keys = [[value] for value in INTEGERS + REALS + TEXTS[:40:2]]
        image = maker.table([kind], ("cuckoo_filter", ", seed = 1, fpr = 1e-6"), keys[::2])
        yield maker.case(image, [kind], [key for key in keys if key[0] == key[0]])
    keys = [["x" * size] for size in (3, 16, 17, 128, 129, 240, 241, 1024, 1025, 2049)]
    yield maker.case(maker.table([""], ("bloom_filter", ", seed = -1"), keys), [""], keys)


def main(module, seed, count, golden=""):
    for index in range(int(count)):
        for case in Maker(module, int(seed) + index).random_case(bool(golden)):
            print(json.dumps(case))
    for case in [*chosen_cases(module), *refused_cases(), *stored_cases(module)] if golden else []:
        print(json.dumps(case))


if __name__ == "__main__":
    main(*sys.argv[1:])
