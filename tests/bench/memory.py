#!/usr/bin/env python3
"""How much memory a process needs at most, to load a filter or to build an image.

  memory.py build/release/cuckoo.so [KEYS ...]    (1e6 1e7 if not told)

Each is a process of its own. From its peak goes what it had before. 1e8 takes half a gigabyte of memory.
"""

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile

KEYS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
WORK = {
    "a load in one transaction": KEYS + "INSERT INTO f SELECT i FROM n",
    "cuckoo_build": KEYS + "SELECT length(cuckoo_build(i)) FROM n",
    "cuckoo_build with 'hashes'": KEYS + "SELECT length(cuckoo_build(i, NULL, NULL, NULL, 'hashes')) FROM n",
}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(extension, what, keys):
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(os.path.join(folder, "memory.db"), isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(extension)
        db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, fpr = 0.001)")
        before = peak()
        db.execute(WORK[what], (keys,)).fetchall()
        print(f"{keys:>12,}  {what:28} {(peak() - before) / 1e6:7.0f} MB", flush=True)


def main():
    if sys.argv[2:3] == ["--one"]:
        measure(sys.argv[1], sys.argv[3], int(sys.argv[4]))
        return
    for keys in [int(float(text)) for text in sys.argv[2:]] or [10**6, 10**7]:
        for what in WORK:
            subprocess.run([sys.executable, __file__, os.path.abspath(sys.argv[1]), "--one", what, str(keys)],
                           check=True)


if __name__ == "__main__":
    main()
