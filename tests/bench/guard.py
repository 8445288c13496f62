#!/usr/bin/env python3
"""What a filter in front of a table gains, by how the query is written, and for one key at a time.

  guard.py build/release/cuckoo.so

Takes a minute or two, and 200 MB on disk. It needs a Python whose sqlite3 loads extensions (Debian's
does) and nothing else. Prints the median of alternated runs: of queries in ms, of single keys in µs.
It is processor time, but for "on disk", which is time on the clock.

"on disk" drops the database file from the operating system's cache before each run
(posix_fadvise). Where that has no effect, its figures are those of "file cached".
"""
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time

USERS = 1_000_000
REQUESTS = 300_000
ABSENT = 90  # % of the requests
ROUNDS = 3
RESTS = (
    ("nothing more", "u.name", ""),
    ("ORDER BY", "u.name", "ORDER BY u.name"),
    ("GROUP BY", "r.email, count(*)", "GROUP BY r.email"),
    ("DISTINCT", "DISTINCT u.name", ""),
    ("window function", "u.name, row_number() OVER (ORDER BY r.id)", ""),
)
USER = "CROSS JOIN users u USING (email)"
SEEN = "CROSS JOIN seen USING (email)"
WAYS = (
    ("without a filter", USER),
    ("filter last", f"{USER} {SEEN}"),
    ("filter first", f"{SEEN} {USER}"),
    ("filter_contains", f"{USER} WHERE filter_contains('seen', r.email)"),
)
FIND = "SELECT name FROM users WHERE email = ?1"
ASK = "SELECT filter_contains('seen', ?1)"
BOTH = "SELECT name FROM users WHERE email = iif(filter_contains('seen', ?1), ?1, NULL)"
WRONG = "SELECT name FROM users WHERE email = ?1 AND filter_contains('seen', ?1)"


def connect(path, extension, kilobytes):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(extension)
    db.execute(f"PRAGMA cache_size = -{kilobytes}")
    db.execute("PRAGMA synchronous = OFF")
    return db


def fill(db, chance):
    """Users, and requests in a table of their own; absent addresses lie between the present ones."""
    known = [f"user{number:08}@example.org" for number in chance.sample(range(10**8), 2 * USERS)]
    absent = known[USERS:]
    del known[USERS:]
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT)")
    db.execute("CREATE TABLE requests(id INTEGER PRIMARY KEY, email TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO users(email, name) VALUES (?, ?)",
                   ((email, f"name {i}") for i, email in enumerate(known)))
    db.executemany("INSERT INTO requests(email) VALUES (?)",
                   ((chance.choice(absent if i % 100 < ABSENT else known),)
                    for i in range(REQUESTS)))
    db.execute("COMMIT")
    db.execute("CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on, seed = 1)")
    return known, absent


def alternated(actions, before=lambda: None, clock=time.process_time):
    times = [[] for _ in actions]
    for _ in range(ROUNDS):
        for action, spent in zip(actions, times):
            before()
            start = clock()
            action()
            spent.append(clock() - start)
    return [statistics.median(spent) for spent in times]


def measure_forms(db):
    print(f"\n{REQUESTS} requests, {ABSENT} % absent, {USERS} users, all in SQLite's cache, ms")
    print(f"{'':18}" + "".join(f"{name:>18}" for name, _ in WAYS))
    for name, columns, rest in RESTS:
        queries = [f"SELECT {columns} FROM requests r {joins} {rest}" for _, joins in WAYS]
        rows = [sorted(db.execute(query).fetchall()) for query in queries]
        assert all([row[0] for row in found] == [row[0] for row in rows[0]] for found in rows), name
        times = alternated([lambda query=query: db.execute(query).fetchall() for query in queries])
        print(f"{name:18}" + "".join(f"{spent * 1e3:18.0f}" for spent in times))


def drop_from_cache(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def measure_keys(path, extension, chance, known, absent):
    def alone(db, keys):
        for key in keys:
            db.execute(FIND, (key,)).fetchall()

    def first(db, keys):
        for key in keys:
            if db.execute(ASK, (key,)).fetchone()[0]:
                db.execute(FIND, (key,)).fetchall()

    def one_statement(db, keys, statement):
        for key in keys:
            db.execute(statement, (key,)).fetchall()

    ways = (("index alone", alone), ("filter_contains, then", first),
            ("iif, one statement", lambda db, keys: one_statement(db, keys, BOTH)),
            ("AND filter_contains", lambda db, keys: one_statement(db, keys, WRONG)))
    print("\nOne key, a statement each, µs")
    print(f"{'':32}" + "".join(f"{name:>24}" for name, _ in ways))
    for title, kilobytes, count, cold in (("in SQLite's cache", 1_000_000, 50_000, False),
                                          ("file cached", 2000, 50_000, False),
                                          ("on disk", 2000, 500, True)):
        for percent in (100, 90, 0):
            db = connect(path, extension, kilobytes)
            keys = [chance.choice(absent if i % 100 < percent else known) for i in range(count)]
            db.execute("SELECT count(*) FROM users WHERE email > '' AND name > ''").fetchall()
            db.execute("SELECT count(*) FROM users").fetchall()
            db.execute("SELECT count(*) FROM requests r CROSS JOIN seen USING (email)").fetchall()
            actions = [lambda way=way: way(db, keys) for _, way in ways]
            times = (alternated(actions, lambda: drop_from_cache(path), time.perf_counter) if cold
                     else alternated(actions))
            print(f"{title + f', {percent} % absent':32}" +
                  "".join(f"{spent / count * 1e6:24.1f}" for spent in times))
            db.close()


def main(extension):
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "users.db")
        db = connect(path, extension, 1_000_000)
        known, absent = fill(db, chance)
        print(f"SQLite {sqlite3.sqlite_version}")
        measure_forms(db)
        db.close()
        measure_keys(path, extension, chance, known, absent)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
