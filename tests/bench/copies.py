#!/usr/bin/env python3
"""What a copy of a filter costs, and how often it takes an image.

  copies.py build/release/cuckoo.so [--rounds N] [KEYS ...]    (1e5 1e6 1e7 if not told)

A machine's filter changes, and a copy without hashes asks for the changes since its own mark, once
a round. "replaced": the oldest keys go as new ones come; "added": keys only come. After each round
the two marks must be equal. Bytes and the number of images are the same on every machine; times are
processor time. 1e8 takes 4 GB on disk.
"""

import os
import sqlite3
import sys
import tempfile
import time



def connect(extension, path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(extension)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("PRAGMA synchronous = off")
    return db


def fill(db, first, end):
    # A factor that is odd makes of numbers in a row keys in no order, each of them once.
    db.execute(
        "INSERT INTO f WITH RECURSIVE n(i) AS"
        " (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)"
        " SELECT (i * 2654435761) & 0x7fffffffffff FROM n", (first, end - 1))


def empty(db, first, end):
    db.execute(
        "INSERT INTO f(f, key) WITH RECURSIVE n(i) AS"
        " (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)"
        " SELECT 'delete', (i * 2654435761) & 0x7fffffffffff FROM n", (first, end - 1))


def timed(work):
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def live(extension, folder, keys, share, replaced, rounds):
    origin = connect(extension, os.path.join(folder, "origin.db"))
    copy = connect(extension, os.path.join(folder, "copy.db"))
    for db in (origin, copy):
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(key INTEGER, fpr = 0.001)")
    _, load = timed(lambda: fill(origin, 0, keys))
    image, made = timed(lambda: origin.execute("SELECT filter_changes('f', NULL)").fetchone()[0])
    _, taken = timed(lambda: copy.execute("INSERT INTO f(f, key) VALUES ('apply', ?)", (image,)))
    each = max(1, int(keys * share))
    sizes, images, ask, apply = [], 0, [], []
    for round_ in range(rounds):
        origin.execute("BEGIN")
        fill(origin, keys + round_ * each, keys + (round_ + 1) * each)
        if replaced:
            empty(origin, round_ * each, (round_ + 1) * each)
        origin.execute("COMMIT")
        mark = copy.execute("SELECT filter_mark('f')").fetchone()[0]
        message, seconds = timed(
            lambda: origin.execute("SELECT filter_changes('f', ?)", (mark,)).fetchone()[0])
        ask.append(seconds)
        _, seconds = timed(
            lambda: copy.execute("INSERT INTO f(f, key) VALUES ('apply', ?)", (message,)))
        apply.append(seconds)
        marks = [db.execute("SELECT filter_mark('f')").fetchone()[0] for db in (origin, copy)]
        assert marks[0] == marks[1], round_
        sizes.append(len(message))
        images += not message[5] & 8
    print(f"{keys:>11,} {'replaced' if replaced else 'added':>9} {share:5.0%}   {load:7.2f}"
          f" {len(image) / 1e6:8.2f} {made * 1e3:8.1f} {taken * 1e3:8.1f}"
          f" {images:4d}/{rounds} {sum(sizes) / rounds / 1e3:9.1f} {max(sizes) / 1e3:9.1f}"
          f" {sum(ask) / rounds * 1e3:7.1f} {sum(apply) / rounds * 1e3:7.1f}", flush=True)
    return len(image), images, sizes


def main():
    extension = os.path.abspath(sys.argv[1])
    arguments = sys.argv[2:]
    rounds = 48
    if arguments[:1] == ["--rounds"]:
        rounds = int(arguments[1])
        arguments = arguments[2:]
    print("       keys      life share   load, s image, MB made, ms taken, ms images   mean, KB"
          "   max, KB ask, ms apply, ms")
    for keys in [int(float(text)) for text in arguments] or [10**5, 10**6, 10**7]:
        for replaced in (True, False):
            for share in (0.01, 0.08):
                with tempfile.TemporaryDirectory() as folder:
                    live(extension, folder, keys, share, replaced, rounds)


if __name__ == "__main__":
    main()
