#!/usr/bin/env python3
"""Sizes, counts and other figures without a clock, measured and compared with the pages in docs/.

  sizes.py build/release/cuckoo.so          17 seconds of processor time, as one of the tests
  sizes.py build/release/cuckoo.so --all    also copies of a million keys, and values of 400 to 16,000
                                            bytes beside a rowid table: minutes

A check quotes the page, with {} for each figure, and has what was measured. A figure is right if it is
what was measured, rounded to as many digits as it has, or differs by no more than the check allows: a
filter has a random seed if the page's has one, and an index depends on SQLite's version. If the page
does not say what is quoted, that fails too. It needs a Python whose sqlite3 loads extensions, as
Debian's does.
"""
import contextlib
import io
import os
import random
import re
import sqlite3
import sys
import tempfile

sys.dont_write_bytecode = True  # the tests change nothing here
import copies
import figures

DEBIANS = "/usr/bin/python3"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
extension = os.path.abspath(sys.argv[1])
failures = checks = 0


def check(page, quoted, *measured, within=0.0):
    """Compares the figures in the quoted text of a page with those measured."""
    global failures, checks
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = " ".join(file.read().split())
    pattern = re.escape(" ".join(quoted.split())).replace(r"\{\}", r"(\d[\d,]*(?:\.\d+)?)")
    found = re.findall(pattern, text)
    checks += sum(value is not None for value in measured)
    if len(found) != 1:
        failures += 1
        print(f"FAILED  {page} says it {len(found)} times, not once: {quoted}; measured {measured}")
        return
    told = found[0] if isinstance(found[0], tuple) else (found[0],)
    for figure, value in zip(told, measured, strict=True):
        if value is None:  # a time
            continue
        number = figure.replace(",", "")
        digits = len(number.partition(".")[2])
        if abs(float(number) - value) > max(0.5001 * 10**-digits, within * value):
            failures += 1
            print(f"FAILED  {page}: {figure}, measured {value:.{digits + 2}f}, in: {quoted}")


def connect(path=":memory:"):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(extension)
    db.execute("PRAGMA synchronous = off")
    return db


def value(db, sql, *bound):
    return db.execute(sql, bound).fetchone()[0]


def length(db, sql, *bound):
    return len(value(db, sql, *bound))


def used(db):
    """Bytes of the pages in use."""
    return value(db, "SELECT (page_count - freelist_count) * page_size"
                     " FROM pragma_page_count, pragma_freelist_count, pragma_page_size")


NUMBERS = ("WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)"
           " SELECT (i * 2654435761) & 0x7fffffffffff FROM n")


def before_an_index(folder):
    db = figures.Database(os.path.join(folder, "users.db"), extension)
    db.run("CREATE TABLE users(email TEXT)")
    db.fill("users", figures.addresses(random.Random(1), figures.USERS))
    sizes, before = [], db.megabytes()
    for sql in ("CREATE UNIQUE INDEX by_email ON users(email)",
                f"CREATE VIRTUAL TABLE f USING cuckoo_filter(email, fpr = 0.001, source = users(email),"
                f" triggers = off, capacity = {figures.USERS})",
                f"CREATE VIRTUAL TABLE g USING cuckoo_filter(email, fpr = 0.001, source = users(email),"
                f" triggers = off, growth = off, capacity = {figures.USERS})"):
        db.run(sql)
        sizes.append(db.megabytes() - before)
        before += sizes[-1]
    page = "docs/benchmarks.md"
    check(page, "| unique index | {} |", sizes[0], within=0.02)
    check(page, "| cuckoo filter at 0.1 % | {} |", sizes[1], within=0.02)
    check(page, "| the same with `growth = off` | {} |", sizes[2], within=0.02)
    check("README.md", "the filter takes {} MB and the index {} MB", sizes[1], sizes[0], within=0.02)


def bits_per_key():
    db = connect()
    for percent in ("25", "3", "1", "0.1", "0.01", "0.0001"):
        rate = float(percent) / 100
        bits = {(module, layout): bits for module, layout, bits in db.execute(
            "SELECT module, layout, bits_per_key FROM filter_plan(1e6, ?)", (rate,))}
        check("docs/filters.md", f"| {percent} % | {{}} | {{}} | {{}} | {{}} |",
              bits["cuckoo_filter", None], bits["bloom_filter", "standard"],
              bits["bloom_filter", "blocked"], bits["bloom_filter", "counting"], within=0.001)


def messages():
    db = connect()
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(key INTEGER, capacity = 1e6, fpr = 0.001)")
    db.execute("INSERT INTO f " + NUMBERS, (1, 1_000_000))
    check("docs/images.md", "| a million keys at 0.1 % | {} MB | {} MB |",
          length(db, "SELECT filter_export('f', 'hashes')") / 1e6,
          length(db, "SELECT filter_export('f')") / 1e6)
    check("docs/images.md", "names what the filter holds: {} bytes", length(db, "SELECT filter_mark('f')"))
    check("docs/web.md", "A worker with a million tokens takes in the image of {} MB",
          length(db, "SELECT filter_export('f')") / 1e6)
    db.execute("CREATE VIRTUAL TABLE large USING cuckoo_filter(key INTEGER, capacity = 2e6, fpr = 0.001)")
    db.execute("INSERT INTO large " + NUMBERS, (1, 1_000_000))
    mark = value(db, "SELECT filter_mark('large')")
    db.execute("INSERT INTO large " + NUMBERS, (1_000_001, 1_010_000))
    db.execute(f"DELETE FROM large WHERE key IN ({NUMBERS})", (1, 1_000))
    changes = length(db, "SELECT filter_changes('large', ?)", mark) / 1e3
    check("docs/benchmarks.md", "size of the changes; time to make them; to apply them | {} KB;", changes)
    check("docs/images.md", "So 10,000 adds and 1,000 removes take {} KB.", changes)
    check("docs/benchmarks.md", "(capacity 2 M): its size; time to export it; to import it | {} MB;",
          length(db, "SELECT filter_export('large')") / 1e6)

    db.execute("CREATE VIRTUAL TABLE tokens USING cuckoo_filter(key INTEGER, capacity = 1e5)")
    db.execute("INSERT INTO tokens " + NUMBERS, (1, 100_000))
    image = length(db, "SELECT filter_export('tokens')") / 1e3
    mark = value(db, "SELECT filter_mark('tokens')")
    same = length(db, "SELECT filter_changes('tokens', ?)", mark)
    db.execute(f"DELETE FROM tokens WHERE key IN ({NUMBERS})", (1, 500))
    db.execute("INSERT INTO tokens " + NUMBERS, (100_001, 100_500))
    day = length(db, "SELECT filter_changes('tokens', ?)", mark) / 1e3
    check("docs/web.md", "the first message has {} KB, and each later one {} KB.", image, day)
    check("docs/web.md", "If nothing has changed, the message has {} bytes.", same)
    check("docs/scale.md", "takes {} KB, and a day's 1,000 changes take {} KB.", image, day)


def rounds_of_copies(everything):
    lives = [(10**5, True, 0.01), (10**5, True, 0.08), (10**5, False, 0.08)]
    if everything:
        lives += [(10**6, True, 0.01), (10**6, True, 0.08), (10**6, False, 0.01)]
    for keys, replaced, share in lives:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            image, images, sizes = copies.live(extension, folder, keys, share, replaced, 48)
        unit, kilo = (1e3, "KB") if keys == 10**5 else (1e6, "MB")
        row = [f"{keys:,}" if keys < 10**6 else "1 million", "replaced" if replaced else "added",
               f"{share:.0%}".replace("%", " %")]
        counted = "{} of 48" if (keys, replaced, share) == (10**5, True, 0.01) else "{}"
        mean, largest = sum(sizes) / len(sizes), max(sizes)
        message = (1e6, "MB") if mean > 1e6 else (1e3, "KB")
        check("docs/scale.md",
              f"| {row[0]} | {row[1]} | {row[2]} | {counted} | {{}} {message[1]} | {{}} {message[1]} |"
              f" {{}} {kilo}", images, mean / message[0], largest / message[0], image / unit, within=0.03)


def store():
    db = connect()
    check("docs/flash_kv.md", "With the defaults, a key has at most {} bytes.",
          value(db, "SELECT max_key_bytes FROM flash_kv_plan('16MB')"))

    sizes = []
    for table in ("VIRTUAL TABLE t USING flash_kv(k INTEGER, v, size = '16MB')",
                  "TABLE t(k INTEGER PRIMARY KEY, v)"):
        db = connect()
        db.execute(f"CREATE {table}")
        db.execute("BEGIN")
        before = used(db)
        db.executemany("INSERT INTO t VALUES (?, ?)", ((i * 7919, i * 7919) for i in range(100_000)))
        db.execute("COMMIT")
        sizes.append((used(db) - before) / 100_000)
    check("docs/flash_kv.md", "a row whose key and value are numbers takes {} bytes on disk, and in a rowid table {}.",
          *sizes, within=0.02)

    db = connect()
    db.execute("CREATE VIRTUAL TABLE t USING flash_kv(k TEXT, v)")
    db.execute("INSERT INTO t VALUES ('12345678', zeroblob(100))")
    check("docs/flash_kv.md", "a key of 8 bytes with a value of 100 bytes takes {}:",
          value(db, "SELECT charged_bytes FROM flash_kv_info('t')"))


def beside_a_rowid_table():
    for size, row in ((400, "400"), (700, "700"), (1000, "1,000"), (1500, "1,500"), (2000, "2,000"),
                      (4000, "4,000"), (16000, "16,000")):
        rows = min(100_000, 40_000_000 // size)
        sizes = []
        for table in ("TABLE t(address TEXT PRIMARY KEY, piece)",
                      "VIRTUAL TABLE t USING flash_kv(address TEXT, piece, size = '128MB')",
                      "VIRTUAL TABLE t USING flash_kv(address TEXT, piece, size = '128MB',"
                      " erase_block = 16)"):
            with tempfile.TemporaryDirectory() as folder:
                db = connect(os.path.join(folder, "t.db"))
                db.execute("PRAGMA journal_mode = wal")
                db.execute(f"CREATE {table}")
                before = used(db)
                db.execute("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                           " WHERE i < ?1) SELECT lower(hex(randomblob(20))), randomblob(?2) FROM n",
                           (rows, size))
                sizes.append(used(db) - before)
                db.close()
        check("docs/benchmarks.md", f"| {row} | " + "{}; {} | " * 5 + "{}; {} |",
              *[None] * 10, sizes[0] / sizes[1], sizes[0] / sizes[2], within=0.03)


def main():
    try:
        connect()
    except (AttributeError, sqlite3.OperationalError) as error:
        if sys.executable != DEBIANS and os.path.exists(DEBIANS):
            os.execv(DEBIANS, [DEBIANS, *sys.argv])
        print(f"this Python can't load {extension}: {error}")
        return 77  # skipped
    everything = "--all" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        before_an_index(folder)
    bits_per_key()
    messages()
    store()
    rounds_of_copies(everything)
    if everything:
        beside_a_rowid_table()
    print(f"{checks} figures, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
