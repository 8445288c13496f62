"""Kills a writer again and again, and looks at what is left; kill.sh calls it.

  kill.py kill DIRECTORY MINUTES
  kill.py write DATABASE MODE FIRST SEED   writes until it is killed; its marks begin at FIRST
"""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from workload import KEYS, Failure, Writer, ask_everything, make, require, verify

EXTENSION = os.environ["CUCKOO_EXTENSION"]
KILLS_OF_A_FILE = 50
KEYS_OF_A_FILE = 200_000  # with more, a new file begins
MODES = ("WAL", "DELETE", "TRUNCATE", "PERSIST")
# Segments split when a filter has tens of thousands of keys.
MOST_ROWS = 20_000
FILTERS = sum(len(names) for names in KEYS.values())


def connect(path):
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


# --- the writer ---


def say(*words):
    """At once, and whole: what was said before a kill is read after it."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def write(path, mode, first, seed):
    say("begun")  # and may be killed while it reads the journal of the one before
    db = connect(path)
    db.execute(f"PRAGMA journal_mode = {mode}")
    if mode == "WAL":  # where SQLite 3.40.1 loses commits after a spill and ROLLBACK TO
        db.execute("PRAGMA cache_spill = OFF")
    else:
        db.execute("PRAGMA cache_size = 50")  # large transactions spill
    writer = Writer(seed, prefix=f"k{first}-", tried=first, most=MOST_ROWS)

    def execute(sql):
        if sql in ("COMMIT", "ROLLBACK"):
            say(sql, writer.tried)
        db.execute(sql)

    while True:
        writer.transaction(execute)
        say("ended", writer.tried)


# --- the one who kills ---


class File:
    """A database, what was committed to it for sure, and how many commits may be there or not."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        self.record = Writer(0)
        db = connect(path)
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("BEGIN")
        make(db.execute)
        db.execute("COMMIT")
        db.close()

    def live(self, seed, seconds):
        """One life of a writer. Returns what it was doing when it was killed."""
        writer = subprocess.Popen(
            [sys.executable, __file__, "write", self.path, self.mode, str(self.record.tried),
             str(seed)], stdout=subprocess.PIPE)
        said = [writer.stdout.readline()]
        time.sleep(seconds)
        ended = writer.poll()
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.readlines()
        writer.wait()
        require(ended is None, f"the writer ended with {ended}")
        doing, number = "BEGIN", self.record.tried
        for line in said:
            before = doing
            doing, *numbers = line.decode().split()
            number = int(numbers[0]) if numbers else number
            if doing == "ended" and before == "COMMIT":
                self.record.acknowledged.add(number)
        self.record.uncertain += doing == "COMMIT"
        self.record.tried = max(self.record.tried, number) + 1
        return doing

    def look(self):
        """Returns how many keys and segments there are."""
        db = connect(self.path)
        query = lambda sql: db.execute(sql).fetchall()
        verify(query)
        self.record.compare(query)
        ask_everything(query)
        require(query("PRAGMA integrity_check") == [("ok",)], "integrity_check")
        keys = query("SELECT count(*) FROM present")[0][0]
        segments = query("SELECT sum(segments) FROM filter_info")[0][0]
        db.close()
        return keys, segments


def kill(directory, minutes, seed):
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + 60 * minutes
    kills, commits, doing = 0, 0, {}
    files, most_keys, most_segments = 0, 0, 0
    while time.monotonic() < end:
        path = os.path.join(directory, f"{files}.db")
        file = File(path, MODES[files % len(MODES)])
        files += 1
        try:
            for _ in range(KILLS_OF_A_FILE):
                # Some before the first statement, most in one of the first transactions.
                seconds = chance.choice((0.1, 0.5, 2, 2)) * chance.random()
                was = file.live(chance.randrange(2**31), seconds)
                doing[was] = doing.get(was, 0) + 1
                kills += 1
                keys, segments = file.look()
                most_keys, most_segments = max(most_keys, keys), max(most_segments, segments)
                if keys > KEYS_OF_A_FILE or time.monotonic() > end:
                    break
        except (Failure, sqlite3.Error) as failure:
            kept = shutil.copytree(directory, tempfile.mkdtemp(prefix="cuckoo-kill-"),
                                   dirs_exist_ok=True)
            raise Failure(f"after {kills} kills, seed {seed}, {file.mode}: {failure}\n"
                          f"the files: {kept}") from None
        commits += len(file.record.acknowledged)
        for name in os.listdir(directory):
            os.remove(os.path.join(directory, name))
    print(f"{kills} kills of {files} files, {commits} commits acknowledged; none was lost")
    print("killed in: " + ", ".join(f"{name} {number}" for name, number in sorted(doing.items())))
    print(f"the largest file had {most_keys} keys in its ordinary table and {most_segments} segments"
          " in its filters")
    require(most_segments > FILTERS, "no filter was split")


def main(verb, *arguments):
    try:
        if verb == "write":
            path, mode, first, seed = arguments
            write(path, mode, int(first), int(seed))
        else:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
            seed = int(os.environ.get("CUCKOO_SEED", random.SystemRandom().randrange(2**31)))
            kill(arguments[0], int(arguments[1]), seed)
    except Failure as failure:
        return f"FAILED: {failure}"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
