"""Runs the statements of statements.py on two databases and compares them; replay.sh calls it.

  replay.py (seeds | 'no seeds') SEED COUNT DIRECTORY
  replay.py one-by-one SEED SCRIPT DATABASE     the second process
"""
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from statements import Script

EXTENSION = os.environ["CUCKOO_EXTENSION"]
ABSENT = 2000  # keys that nobody added, asked of each filter


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


def rows(db, sql, *parameters):
    return db.execute(sql, parameters).fetchall()


def virtual_tables(db):
    """Name and module of each."""
    sql = "SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY name"
    tables = [re.match(r'CREATE VIRTUAL TABLE "?(\w+)"? USING (\w+)', sql).groups()
              for sql, in rows(db, sql)]
    return [table for table in tables if table[1] != "cuckoo_source_row"]


# --- the two processes: each gives what failed, and how many rows the others changed ---


def as_a_script(script, path):
    """{line: text of the error}, {line: rows} from the sqlite3 shell."""
    with open(script, encoding="utf-8") as lines:
        shell = subprocess.run(
            ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {EXTENSION}",
             "-cmd", "PRAGMA synchronous = OFF", path],
            stdin=lines, capture_output=True, text=True, check=False)
    errors, changes = {}, {}
    for line in shell.stderr.splitlines():
        found = re.match(r"(?:Runtime|Parse) error near line (\d+): (.*?)(?: \(\d+\))?$", line)
        require(found, f"the shell said: {line}")
        errors[int(found[1])] = found[2]
    for line in shell.stdout.splitlines():
        number, changed = line.split("|")
        changes[int(number)] = int(changed)
    return errors, changes


def one_by_one(seed, script, path):
    """Prints "error|line|text" and "line|rows", for the other process to read."""
    chance = random.Random(seed)
    db = None
    with open(script, encoding="utf-8") as lines:
        for number, sql in enumerate(lines, 1):
            asks = "changes()" in sql  # about the statement before it, on the same connection
            if db is None or not db.in_transaction and not asks and chance.random() < 0.02:
                if db is not None:
                    db.close()
                db = connect(path)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = OFF")
                db.execute(f"PRAGMA cache_size = {chance.choice((10, 50, 2000))}")
            try:
                for row in db.execute(sql):
                    print("|".join(map(str, row)))
            except sqlite3.Error as error:
                print(f"error|{number}|{error}")
            if not asks and chance.random() < 0.1:
                ask(db, chance)
    db.close()


def ask(db, chance):
    """Reads of all kinds: no write may depend on them. A wild table may refuse to be exported."""
    tables = virtual_tables(db)
    if not tables:
        return
    name, module = chance.choice(tables)
    key = f"key-{chance.randrange(400)}"
    if module.endswith("_filter"):
        rows(db, f"SELECT count(*) FROM {name}")
        rows(db, f"SELECT count FROM {name} WHERE key IN (?, ?)", key, "bulk-1")
        rows(db, "SELECT filter_contains(?, ?)", name, key)
        rows(db, "SELECT fpr_now, disk_bytes FROM filter_info")
        if rows(db, "SELECT generations FROM filter_info(?)", name) == [(1,)]:
            rows(db, "SELECT length(filter_export(?))", name)
    elif module == "flash_kv":
        rows(db, f"SELECT * FROM {name} WHERE key = ?", key)
        rows(db, f"SELECT count(*) FROM {name} WHERE value LIKE '%1%'")
        rows(db, "SELECT * FROM flash_kv_info")
        rows(db, "SELECT length(flash_kv_map(?))", name)
    else:
        rows(db, f"SELECT * FROM {name}")
        rows(db, f"SELECT node FROM {name} WHERE key = ? AND replicas = 2", key)
        rows(db, "SELECT * FROM hash_ring_moves(?, 'add', 'new:1')", name)
        rows(db, "SELECT hash_ring_mark(?1), hash_ring_export(?1)", name)


def in_another_process(seed, script, path):
    other = subprocess.run([sys.executable, __file__, "one-by-one", str(seed), script, path],
                           capture_output=True, text=True, check=False)
    require(other.returncode == 0, f"the second process failed: {other.stderr}")
    errors, changes = {}, {}
    for line in other.stdout.splitlines():
        fields = line.split("|", 2)
        if fields[0] == "error":
            errors[int(fields[1])] = fields[2]
        else:
            changes[int(fields[0])] = int(fields[1])
    return errors, changes


# --- comparing ---


def write_script(statements, path):
    """A statement a line. The number of the line, with what its statement should do."""
    predicted, number = {}, 0
    with open(path, "w", encoding="utf-8") as script:
        for statement in statements:
            number += 1
            predicted[number] = statement
            script.write(f"{statement.sql};\n")
            if statement.changes is not None:
                script.write(f"SELECT {number}, changes();\n")
                number += 1
    return predicted


def compare_outcomes(predicted, first, second):
    for number, statement in predicted.items():
        errors = [errors.get(number) for errors, _ in (first, second)]
        where = f"line {number}, {statement.sql[:200]}"
        require(errors[0] == errors[1],
                f"{where}\n  one said: {errors[0]}\n  one said: {errors[1]}")
        if statement.fails is not None:
            require(statement.fails == (errors[0] is not None),
                    f"{where}\n  should fail: {statement.fails}; it said: {errors[0]}")
        if statement.changes is None or errors[0] is not None:
            continue
        changes = [changes[number] for _, changes in (first, second)]
        require(changes[0] == changes[1], f"{where}\n  changes() was {changes}")
        if statement.changes >= 0:
            require(changes[0] == statement.changes,
                    f"{where}\n  changes() was {changes[0]}, should be {statement.changes}")


def compare_bytes(paths):
    """All that is stored, by SQLite's own .dump, which looks into the tables behind. Each node draws
    the suffix of a filter's triggers; their first occurrences number the suffixes here."""
    dumps = []
    for path in paths:
        shell = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", path, ".dump"],
                               capture_output=True, check=True)
        numbers = {}
        dumps.append(re.sub(rb"(_source_(?:insert|update|delete|row)_|'insert |'delete |'triggers',')"
                            rb"([0-9a-f]{8})\b",
                            lambda one: one[1] + b"%d" % numbers.setdefault(one[2], len(numbers)),
                            shell.stdout).splitlines())
    for one, other in zip(*dumps):
        require(one == other, f"the dumps differ:\n  {one[:300]}\n  {other[:300]}")
    require(len(dumps[0]) == len(dumps[1]), "one dump is longer")
    return sum(len(line) for line in dumps[0])


def compare_with_mirror(db, table, mirror):
    """The table is what its ordinary table says; no filter misses a key."""
    name = table.name
    if table.is_filter():
        missed = [key for key, in rows(mirror, f"SELECT key FROM {name}")
                  if rows(db, "SELECT filter_contains(?, ?)", name, key) != [(1,)]]
        require(not missed, f"{name} misses {len(missed)} keys, such as {missed[:3]}")
        if table.removes:  # it counts occurrences
            counts = [rows(where, f"SELECT count(*) FROM {name}") for where in (db, mirror)]
            require(counts[0] == counts[1], f"{name}: count(*) is {counts[0]}, not {counts[1]}")
        return
    columns = "key, value" if table.module == "flash_kv" else "node, weight"
    contents = [sorted(rows(where, f"SELECT {columns} FROM {name}"), key=repr)
                for where in (db, mirror)]
    require(contents[0] == contents[1], f"{name} is not what its ordinary table is")


def compare_answers(databases, table, rates):
    """Rings name the same owners; filters differ by false positives alone, at their rate."""
    name = table.name
    if table.module == "hash_ring":
        marks = [rows(db, "SELECT hash_ring_mark(?)", name) for db in databases]
        require(marks[0] == marks[1], f"{name}: the marks are {marks}")
        sql = f"SELECT node FROM {name} WHERE key = ? AND replicas = 2"
        for key in range(500):
            owners = [rows(db, sql, key) for db in databases]
            require(owners[0] == owners[1], f"{name}: the owners of {key} are {owners}")
    elif table.is_filter():
        for db in databases:
            yes = sum(rows(db, "SELECT filter_contains(?, ?)", name, f"nobody-{key}")[0][0]
                      for key in range(ABSENT))
            fpr = rows(db, "SELECT fpr FROM filter_info(?)", name)[0][0]
            require(yes <= 2 * fpr * ABSENT + 10,
                    f"{name} says yes to {yes} of {ABSENT} absent keys")
            rates.append(yes / ABSENT)


def replay(mode, seed, count, directory):
    started = time.monotonic()
    made = Script(seed, with_seeds=mode == "seeds")
    made.generate(count)
    script, *paths = (os.path.join(directory, f"{mode}.{end}") for end in ("sql", "one", "other"))
    predicted = write_script(made.statements, script)
    first = as_a_script(script, paths[0])
    second = in_another_process(seed, script, paths[1])
    compare_outcomes(predicted, first, second)

    databases = [connect(path) for path in paths]
    rates = []
    for table in made.tables.values():
        for db in databases:
            rows(db, f"INSERT INTO {table.name}({table.name}) VALUES ('check')")
            if not table.wild:
                compare_with_mirror(db, table, made.mirror)
        compare_answers(databases, table, rates)
    for db in databases:
        db.close()
    same = "the same answers"
    if mode == "seeds":
        same = f"the same {compare_bytes(paths) / 1e6:.1f} MB of dump"
    print(f"{mode}, seed {seed}: {len(made.statements)} statements,"
          f" {len(first[0])} of them refused; {len(made.tables)} tables at the end: {same};"
          f" false positives {100 * max(rates, default=0):.2f} % at most;"
          f" {time.monotonic() - started:.1f} s")


def main(mode, seed, *arguments):
    if mode == "one-by-one":
        return one_by_one(int(seed), *arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    count, directory = arguments
    try:
        return replay(mode, int(seed), int(count), directory)
    except Failure as failure:
        kept = shutil.copytree(directory, tempfile.mkdtemp(prefix="cuckoo-replay-"),
                               dirs_exist_ok=True)
        return f"FAILED: {mode}, seed {seed}: {failure}\nstatements and files: {kept}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
