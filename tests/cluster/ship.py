"""Ships a database that is being written, and reads the copies; ship.sh calls it.

  ship.py ship DIRECTORY ROUNDS
  ship.py write DATABASE     writes until it is killed
  ship.py read WAY COPY      prints the number of transactions that the copy has
"""
import hashlib
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

from workload import Application, Failure, ask_everything, make, require, verify

EXTENSION = os.environ["CUCKOO_EXTENSION"]
NOBODY = 65534


def connect(path, options="mode=rw"):
    db = sqlite3.connect(f"file:{path}?{options}", uri=True, isolation_level=None, timeout=30)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


def querying(db):
    return lambda sql: db.execute(sql).fetchall()


# --- the writer ---


def write(path):
    db = connect(path, "mode=rwc")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("BEGIN")
    make(db.execute)
    db.execute("COMMIT")
    application = Application(1)
    while True:
        for sql in application.transaction():
            db.execute(sql)
        time.sleep(0.01)  # others get a turn


# --- ways to ship ---


class Wal:
    """Copies of the file and of its WAL, while the write lock is held: so at a commit. As long as
    the WAL was not begun anew since the last time, it alone is enough."""

    name, readers = "file and WAL", ("ro",)

    def __init__(self, primary):
        self.db, self.path = connect(primary), primary
        self.base, self.salt = primary + ".base", None
        self.whole = 0

    def ship(self, to):
        self.db.execute("BEGIN IMMEDIATE")
        with open(self.path + "-wal", "rb") as wal:
            salt = wal.read(24)[16:]
        if salt != self.salt:
            self.salt = salt
            shutil.copyfile(self.path, self.base)
            self.whole += 1
        shutil.copyfile(self.path + "-wal", to + "-wal")
        self.db.execute("ROLLBACK")
        shutil.copyfile(self.base, to)


class VacuumInto:
    name, readers = "VACUUM INTO", ("ro", "immutable", "permissions")

    def __init__(self, primary):
        self.db = connect(primary, "mode=ro")

    def ship(self, to):
        self.db.execute("VACUUM INTO ?", (to,))


class Backup:
    """A few pages at a time: SQLite begins again whenever somebody else has written meanwhile, so
    the last steps are one."""

    name, readers = "backup API", ("ro", "immutable")

    def __init__(self, primary):
        self.db = connect(primary, "mode=ro")

    def ship(self, to):
        target = sqlite3.connect(to)
        begun = time.monotonic()

        def hurry(_status, _remaining, _total):
            if time.monotonic() - begun > 0.3:
                raise TimeoutError

        try:
            self.db.backup(target, pages=50, progress=hurry, sleep=0.001)
        except TimeoutError:
            self.db.backup(target)
        target.close()


class ShellBackup:
    name, readers = ".backup", ("ro", "immutable")

    def __init__(self, primary):
        self.path = primary

    def ship(self, to):
        subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", "-cmd", ".timeout 30000",
                        "-cmd", f".load {EXTENSION}", self.path, f".backup {to}"], check=True)


# --- readers ---


def compare_owners(query):
    """A ring of the same nodes that was made just now names the same owners."""
    fresh = connect(":memory:", "mode=memory")
    fresh.execute("CREATE VIRTUAL TABLE ring USING hash_ring(vnodes = 100)")
    fresh.executemany("INSERT INTO ring(node, weight) VALUES (?, ?)",
                      query("SELECT node, weight FROM nodes ORDER BY node DESC"))
    for key in range(200):
        sql = f"SELECT node FROM ring WHERE key = {key} AND replicas = 2"
        require(query(sql) == fresh.execute(sql).fetchall(), f"another owner of {key}")


def read(way, path):
    if way == "permissions":  # root may write everywhere, so somebody else reads
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        require(not os.access(path, os.W_OK), f"{path} could be written")
    options = {"ro": "mode=ro", "immutable": "immutable=1", "permissions": "mode=rw"}[way]
    db = connect(path, options)
    query = querying(db)
    transactions = verify(query)
    ask_everything(query)
    compare_owners(query)
    require(verify(query) == transactions, "another answer the second time")
    require(db.total_changes == 0, "reading changed rows")
    db.close()
    print(transactions)


def content(path):
    return {end: hashlib.sha256(open(path + end, "rb").read()).hexdigest()
            for end in ("", "-wal") if os.path.exists(path + end) and os.path.getsize(path + end)}


def read_copy(way, path):
    before, mode = content(path), stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)
    if way == "permissions":
        os.chmod(path, 0o444)
        os.chmod(os.path.dirname(path), 0o555)
    reader = subprocess.run([sys.executable, __file__, "read", way, path], capture_output=True,
                            text=True, check=False)
    os.chmod(os.path.dirname(path), mode)
    require(reader.returncode == 0, f"a reader ({way}) said: {reader.stderr.strip()[-1500:]}")
    require(content(path) == before, f"a reader ({way}) changed the file")
    return int(reader.stdout)


class LiveReader:
    """Reads the file that is being written, and holds its snapshot for a round. In between SQLite
    can begin the WAL anew."""

    def __init__(self, primary):
        self.db = connect(primary, "mode=ro")
        self.query = querying(self.db)

    def begin(self):
        self.db.execute("BEGIN")
        self.transactions = verify(self.query)
        ask_everything(self.query)

    def end(self):
        require(verify(self.query) == self.transactions, "a snapshot did not hold")
        require(self.db.total_changes == 0, "reading changed rows")
        self.db.execute("COMMIT")


# --- all of it ---


def wait_for_tables(primary, writer):
    while writer.poll() is None:
        try:
            with open(primary, "rb"):
                db = connect(primary)
                if db.execute("SELECT transactions FROM progress").fetchone()[0] > 0:
                    return db
        except (OSError, sqlite3.OperationalError):
            pass
        time.sleep(0.05)
    raise Failure("the writer ended")


def ship_and_read(way, directory, number, progress):
    folder = os.path.join(directory, f"copy{number}")
    os.mkdir(folder)
    copy = os.path.join(folder, "copy.db")
    least, begun = progress(), time.monotonic()
    way.ship(copy)
    took, most = time.monotonic() - begun, progress()
    size = os.path.getsize(copy)
    try:
        for reader in way.readers:
            transactions = read_copy(reader, copy)
            require(least <= transactions <= most,
                    f"{transactions} transactions, expected {least} to {most}")
    except Failure as failure:
        kept = shutil.copytree(folder, tempfile.mkdtemp(prefix="cuckoo-ship-"), dirs_exist_ok=True)
        raise Failure(f"{way.name}: {failure}\nthe copy: {kept}") from None
    shutil.rmtree(folder)
    return took, size


def ship(directory, rounds):
    os.chmod(directory, 0o711)  # somebody else reads there
    global EXTENSION
    EXTENSION = shutil.copy(EXTENSION, os.path.join(directory, "cuckoo.so"))
    os.environ["CUCKOO_EXTENSION"] = EXTENSION
    primary = os.path.join(directory, "primary.db")
    writer = subprocess.Popen([sys.executable, __file__, "write", primary])
    with open(os.path.join(directory, "writer.pid"), "w", encoding="ascii") as file:
        file.write(str(writer.pid))
    try:
        db = wait_for_tables(primary, writer)
        progress = lambda: db.execute("SELECT transactions FROM progress").fetchone()[0]
        ways = [way(primary) for way in (Wal, VacuumInto, Backup, ShellBackup)]
        live = LiveReader(primary)
        took, size = {way.name: [] for way in ways}, 0
        for number in range(rounds):
            live.begin()
            for way in ways:
                seconds, size = ship_and_read(way, directory, number, progress)
                took[way.name].append(seconds)
            live.end()
            time.sleep(0.1)
            require(writer.poll() is None, "the writer ended")
        least = progress()
    finally:
        os.remove(os.path.join(directory, "writer.pid"))
        writer.kill()
        writer.wait()
    transactions = verify(querying(connect(primary)))
    require(transactions >= least, f"the killed writer's file has {transactions} of {least}")
    for name, seconds in took.items():
        print(f"{name}: {rounds} copies, {1000 * max(seconds):.0f} ms at most")
    readers = rounds * sum(len(way.readers) for way in ways)
    print(f"{transactions} transactions, {size / 1e6:.1f} MB; the file itself was copied"
          f" {ways[0].whole} times; {readers} readers of copies, none wrote")


def main(verb, *arguments):
    try:
        if verb == "write":
            write(*arguments)
        elif verb == "read":
            read(*arguments)
        else:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
            ship(arguments[0], int(arguments[1]))
    except Failure as failure:
        return f"FAILED: {failure}"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
