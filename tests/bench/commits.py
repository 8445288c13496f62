#!/usr/bin/env python3
"""What 100 inserts take in one transaction and in 100, into a table and into filters.

  commits.py build/release/cuckoo.so [directory]

Takes a minute. It needs a Python whose sqlite3 loads extensions (Debian's does) and nothing else.
Prints ms on the clock, medians of alternated runs, and what of it is processor time. Each table has
a file of its own in WAL mode, in that directory: a commit takes what its disk takes to write.
Tables and filters hold 100,000 random keys at first.
"""
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time

ROWS = 100
HELD = 100_000
ROUNDS = 31
TABLES = {
    "table": "TABLE t(key TEXT PRIMARY KEY) WITHOUT ROWID",
    "cuckoo_filter": "VIRTUAL TABLE t USING cuckoo_filter(key TEXT, capacity = 1e6)",
    "cuckoo_filter, unique": "VIRTUAL TABLE t USING cuckoo_filter"
                             "(key TEXT, capacity = 1e6, fpr = 1e-6, unique = on)",
    "bloom_filter": "VIRTUAL TABLE t USING bloom_filter(key TEXT, capacity = 1e6)",
}


class Keys:
    def __init__(self, name, definition, synchronous, folder, extension):
        path = os.path.join(folder, f"{name} {synchronous}.db")
        self.name, self.chance = name, random.Random(1)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(extension)
        self.db.enable_load_extension(False)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self.db.execute(f"CREATE {definition}")
        self.together(self.keys(HELD))
        self.times = {"together": [], "alone": []}

    def keys(self, count):
        return [f"{self.chance.getrandbits(64):016x}" for _ in range(count)]

    def together(self, keys):
        self.db.execute("BEGIN IMMEDIATE")
        self.alone(keys)
        self.db.execute("COMMIT")

    def alone(self, keys):
        for key in keys:
            self.db.execute("INSERT OR IGNORE INTO t VALUES (?)", [key])

    def run(self, way):
        keys, work = self.keys(ROWS), getattr(self, way)
        start = time.perf_counter(), time.process_time()
        work(keys)
        self.times[way].append((time.perf_counter() - start[0], time.process_time() - start[1]))

    def median(self, way):
        return [1000 * statistics.median(times) for times in zip(*self.times[way])]


def main(extension, folder=None):
    print(f"{'':24}{'synchronous':12}{'one transaction':>22}{'100 transactions':>22}")
    for synchronous in ("FULL", "NORMAL"):
        with tempfile.TemporaryDirectory(dir=folder) as files:
            tables = [Keys(*table, synchronous, files, extension) for table in TABLES.items()]
            for _ in range(ROUNDS):
                for table in tables:
                    table.run("together")
                    table.run("alone")
            for table in tables:
                print(f"{table.name:24}{synchronous:12}" + "".join(
                    "{:12.2f} (cpu {:.2f})".format(*table.median(way)).rjust(22)
                    for way in ("together", "alone")))
                table.db.close()


main(*sys.argv[1:])
