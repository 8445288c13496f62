#!/usr/bin/env python3
"""The figures behind the README's number and picture: look-ups with and without a filter in front of
an index, what both take on disk, and what flash_kv costs where a B-tree is better.

  figures.py measure build/release/cuckoo.so >docs/pictures/figures.csv
  figures.py draw docs/pictures/figures.csv >docs/pictures/look_ups.svg

Measuring takes a minute or two, 1 GB of memory and half of that on disk. It needs a Python whose
sqlite3 loads extensions (Debian's does) and nothing else. Times are processor time of this process,
medians of alternated runs. A CSV row is: name, value, unit, what it is.
"""
import csv
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time

USERS = 3_000_000
REQUESTS = 300_000
ABSENT = (0, 50, 90, 100)  # % of the requests
ROWS = 200_000  # of the tables that are scanned
ROUNDS = 3

# --- measuring ---


def seconds(action):
    start = time.process_time()
    action()
    return time.process_time() - start


def alternated(*actions):
    """The median time of each action; each has run once before."""
    for action in actions:
        action()
    rounds = [[seconds(action) for action in actions] for _ in range(ROUNDS)]
    return [statistics.median(times) for times in zip(*rounds)]


class Database:
    def __init__(self, path, extension):
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.enable_load_extension(True)
        self.connection.load_extension(extension)
        self.run("PRAGMA synchronous = OFF")

    def run(self, sql):
        return self.connection.execute(sql).fetchall()

    def fill(self, table, values):
        self.run("BEGIN")
        self.connection.executemany(f"INSERT INTO {table} VALUES (?)", ((v,) for v in values))
        self.run("COMMIT")

    def value(self, sql):
        return self.run(sql)[0][0]

    def megabytes(self):
        return self.value("SELECT (page_count - freelist_count) * page_size / 1e6"
                          " FROM pragma_page_count, pragma_freelist_count, pragma_page_size")


def addresses(chance, count):
    """That many different ones, in no order."""
    return [f"user{number:08}@example.org" for number in chance.sample(range(10**8), count)]


def measure_look_ups(folder, extension, figure):
    db = Database(os.path.join(folder, "users.db"), extension)
    chance = random.Random(1)
    known = addresses(chance, 2 * USERS)
    absent = known[USERS:]
    del known[USERS:]
    db.run("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT)")
    db.fill("users(email)", known)
    for percent in ABSENT:
        db.run(f"CREATE TABLE absent_{percent}(email TEXT)")
        db.fill(f"absent_{percent}", [chance.choice(absent if i % 100 < percent else known)
                                      for i in range(REQUESTS)])

    def build(what, sql):
        before, start = db.megabytes(), time.process_time()
        db.run(sql)
        spent = time.process_time() - start
        figure(f"{what}_mb", db.megabytes() - before, "MB", f"{what}: {USERS} addresses")
        figure(f"{what}_build_s", spent, "s", "… made")
    build("index", "CREATE UNIQUE INDEX users_email ON users(email)")
    create = "CREATE VIRTUAL TABLE {} USING cuckoo_filter(email, source = users(email), triggers = off," \
        f" capacity = {USERS}, fpr = 0.001, seed = 1, growth = {{}})"
    build("filter", create.format("seen", "on"))
    build("fixed", create.format("fixed", "off"))

    def without(table):
        return lambda: db.value(f"SELECT count(u.id) FROM {table} r CROSS JOIN users u"
                                " ON u.email = r.email")

    def with_filter(table):
        return lambda: db.value(f"SELECT count(u.id) FROM {table} r CROSS JOIN seen USING (email)"
                                " CROSS JOIN users u USING (email)")
    microseconds = 1e6 / REQUESTS
    for cache, kilobytes, shares in (("", 2000, ABSENT), ("hot_", 1000000, (90,))):
        db.run(f"PRAGMA cache_size = -{kilobytes}")
        for percent in shares:
            name = f"absent_{percent}"
            assert without(name)() == with_filter(name)() == REQUESTS * (100 - percent) // 100
            alone, first = alternated(without(name), with_filter(name))
            figure(f"{cache}{name}_index_us", alone * microseconds, "µs",
                   f"a request, {percent} % absent, cache of {kilobytes} KB: index alone")
            figure(f"{cache}{name}_filter_us", first * microseconds, "µs", "… filter, then index")


def measure_scans(folder, extension, figure):
    db = Database(os.path.join(folder, "scan.db"), extension)
    db.run("PRAGMA cache_size = -1000000")
    db.run("CREATE TABLE tree(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID")
    db.run("CREATE TABLE source(k TEXT)")
    db.fill("source", addresses(random.Random(1), ROWS))
    db.run("INSERT INTO tree SELECT k, zeroblob(100) FROM source")
    db.run("CREATE VIRTUAL TABLE flash USING flash_kv(k TEXT, v, size = '64 MB', seed = 1)")
    db.run("INSERT INTO flash SELECT k, zeroblob(100) FROM source")
    first = db.value("SELECT k FROM tree ORDER BY k LIMIT 1 OFFSET 1000")
    last = db.value("SELECT k FROM tree ORDER BY k LIMIT 1 OFFSET 1099")
    queries = (
        ("scan", "count(length(v)) FROM {}", "ms", 1e3, f"all of {ROWS} rows"),
        ("order", "count(*) FROM (SELECT k FROM {} ORDER BY k LIMIT -1 OFFSET 0)", "ms", 1e3,
         "all keys in order"),
        ("range", f"count(*) FROM {{}} WHERE k BETWEEN '{first}' AND '{last}'", "ms", 1e3,
         "100 keys that follow one another"),
    )
    for name, query, unit, scale, what in queries:
        assert db.value(f"SELECT {query.format('tree')}") == \
            db.value(f"SELECT {query.format('flash')}")
        tree, flash = alternated(lambda: db.value(f"SELECT {query.format('tree')}"),
                                 lambda: db.value(f"SELECT {query.format('flash')}"))
        figure(f"{name}_tree_ms", tree * scale, unit, f"{what}: B-tree")
        figure(f"{name}_flash_ms", flash * scale, unit, "… flash_kv")


def measure(extension):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("name", "value", "unit", "what"))

    def figure(name, value, unit, what):
        out.writerow((name, f"{value:.2g}" if value < 10 else f"{value:.0f}", unit, what))
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        measure_look_ups(folder, extension, figure)
        measure_scans(folder, extension, figure)


# --- drawing ---

INK, SOFT, PLAIN, OURS = "#111827", "#4b5563", "#9aa5b1", "#2f6fb3"


def bar(x, y, value, most, full, colour, unit):
    width = max(2.0, full * value / most)
    yield f'<rect x="{x}" y="{y}" width="{width:.1f}" height="16" rx="2" fill="{colour}"/>'
    yield f'<text x="{x + width + 8:.1f}" y="{y + 13}" fill="{INK}">{value:g} {unit}</text>'


def heading(x, title, subtitle):
    yield f'<text x="{x}" y="74" font-size="15" font-weight="bold" fill="{INK}">{title}</text>'
    yield f'<text x="{x}" y="93" fill="{SOFT}">{subtitle}</text>'


def picture(figures):
    yield '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="310"' \
        ' viewBox="0 0 900 310" font-family="DejaVu Sans, Verdana, Helvetica, sans-serif"' \
        ' font-size="13">'
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    yield f'<text x="24" y="36" font-size="19" font-weight="bold" fill="{INK}">' \
        f'{USERS // 10**6} million users: look-ups by address</text>'

    yield from heading(24, "Time for a request", "by the share of requests that find nothing")
    times = {percent: [figures[f"absent_{percent}_{how}_us"] for how in ("index", "filter")]
             for percent in ABSENT}
    most = max(max(pair) for pair in times.values())
    for i, (percent, pair) in enumerate(times.items()):
        y = 108 + 46 * i
        yield f'<text x="24" y="{y + 22}" fill="{INK}">{percent} %</text>'
        for j, value in enumerate(pair):
            yield from bar(80, y + 18 * j, value, most, 260, (PLAIN, OURS)[j], "µs")

    yield from heading(490, "Size on disk", "false positive rate 0.1 %")
    sizes = (("index", "index", PLAIN), ("filter", "filter that grows", OURS),
             ("fixed", "filter of fixed size", OURS))
    most = max(figures[f"{name}_mb"] for name, _, _ in sizes)
    for i, (name, label, colour) in enumerate(sizes):
        y = 108 + 28 * i
        yield f'<text x="490" y="{y + 13}" fill="{INK}">{label}</text>'
        yield from bar(640, y, figures[f"{name}_mb"], most, 170, colour, "MB")

    for y, colour, label in ((236, PLAIN, "index alone"), (260, OURS, "filter, then index")):
        yield f'<rect x="490" y="{y}" width="16" height="16" rx="2" fill="{colour}"/>'
        yield f'<text x="516" y="{y + 13}" fill="{INK}">{label}</text>'
    yield '</svg>'


def draw(path):
    with open(path, encoding="utf-8", newline="") as file:
        figures = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
    print("\n".join(picture(figures)))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "measure":
        measure(os.path.abspath(sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] == "draw":
        draw(sys.argv[2])
    else:
        sys.exit(__doc__)
