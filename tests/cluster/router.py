"""Machines with a part of the keys each, and a router with copies of their filters; router.sh calls
it. Some machines are there from the first day on; one more joins each day, until all did. Each hears
of the others in an order of its own.

  router.py DIRECTORY KEYS DAYS     KEYS a machine, once all joined
"""
import multiprocessing
import os
import random
import sqlite3
import sys
import time

from workload import require

EXTENSION = os.environ["CUCKOO_EXTENSION"]
MACHINES = [f"m{i:02}" for i in range(16)]
FIRST = 12  # of them are there from the beginning
RATE = 0.001
ABSENT = 0.9  # of the look-ups


def connect(path, nodes):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    # The owners follow from the nodes, in whatever order they come. With algorithm = slots they
    # would follow from that order, too.
    db.execute("CREATE VIRTUAL TABLE ring USING hash_ring")
    db.executemany("INSERT INTO ring(node) VALUES (?)", [(node,) for node in nodes])
    return db


def one(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def owners_digest(db):
    return one(db, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
                   " WHERE i < 10000) SELECT sha1(group_concat(node))"
                   " FROM (SELECT node FROM n JOIN ring ON ring.key = i ORDER BY i)")


# --- a machine ---


class Machine:
    """It begins with those of the keys 1 … last_key that it owns."""

    def __init__(self, name, path, nodes, last_key, capacity):
        self.name = name
        self.db = connect(path, nodes)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT)")
        self.db.execute(
            f"CREATE VIRTUAL TABLE seen USING cuckoo_filter(id INTEGER, capacity = {capacity},"
            f" fpr = {RATE})")
        self.db.execute("BEGIN")
        self.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n"
            " WHERE i < ?1) INSERT INTO users SELECT i, 'user ' || i FROM n"
            " JOIN ring ON ring.key = i WHERE node = ?2", (last_key, name))
        self.db.execute("INSERT INTO seen SELECT id FROM users")
        self.db.execute("COMMIT")

    def image(self):
        return one(self.db, "SELECT filter_export('seen')")

    def changes(self, mark):
        return one(self.db, "SELECT filter_changes('seen', ?)", mark)

    def write(self, added, removed):
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO users VALUES (?1, 'user ' || ?1)", [(k,) for k in added])
        self.db.executemany("INSERT INTO seen VALUES (?)", [(k,) for k in added])
        self.db.executemany("DELETE FROM users WHERE id = ?", [(k,) for k in removed])
        self.db.executemany("DELETE FROM seen WHERE id = ?", [(k,) for k in removed])
        self.db.execute("COMMIT")

    def owners(self):
        return owners_digest(self.db)

    def hear_of_machine(self, name):
        """The rows that the new machine owns; they are not here any more."""
        self.db.execute("INSERT INTO ring(node) VALUES (?)", (name,))
        rows = self.db.execute("SELECT id, name FROM users CROSS JOIN ring ON ring.key = id"
                               " WHERE node = ?", (name,)).fetchall()
        self.db.execute("BEGIN")
        self.db.executemany("DELETE FROM users WHERE id = ?", [row[:1] for row in rows])
        self.db.executemany("DELETE FROM seen WHERE id = ?", [row[:1] for row in rows])
        self.db.execute("COMMIT")
        return rows

    def take(self, rows):
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO users VALUES (?, ?)", rows)
        self.db.executemany("INSERT INTO seen VALUES (?)", [row[:1] for row in rows])
        self.db.execute("COMMIT")

    def make_room(self, parts):
        """For so many thousandths more keys than there are."""
        self.db.execute("INSERT INTO seen(seen, id) SELECT 'resize', count(*) * ? / 1000 FROM users",
                        (1000 + parts,))

    def get(self, keys):
        find = "SELECT name FROM users WHERE id = ?"
        return [row[0] if row else None
                for row in (self.db.execute(find, (key,)).fetchone() for key in keys)]

    def count(self):
        return one(self.db, "SELECT count(*) FROM users")

    def sound(self):
        return one(self.db, "SELECT cuckoo_check('seen')")


def serve(pipe, *arguments):
    machine = Machine(*arguments)
    pipe.send(None)
    while True:
        name, values = pipe.recv()
        if name == "stop":
            return
        pipe.send(getattr(machine, name)(*values))


class Remote:
    """A machine in a process of its own."""

    def __init__(self, *arguments):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(other, *arguments), daemon=True)
        self.process.start()

    def ready(self):
        self.pipe.recv()

    def call(self, name, *values):
        self.pipe.send((name, values))
        return self.pipe.recv()


# --- the router ---


class Router:
    def __init__(self, path, nodes, machines):
        self.db = connect(path, nodes)
        self.machines = machines
        self.shipped = {"images": 0, "changes": 0}
        # Keys that it wrote since it last heard of their machine: the copy does not know them yet.
        # No number comes twice, or hear_of() could delete a key that was written after it asked.
        self.db.execute("CREATE TABLE recent(n INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER)")
        self.db.execute("CREATE INDEX recent_id ON recent(id)")
        for name in machines:
            self.copy(name)

    def copy(self, name):
        self.db.execute(f"CREATE VIRTUAL TABLE {name} USING cuckoo_filter(id INTEGER)")
        self.import_image(name)

    def hear_of_machine(self, name):
        self.db.execute("INSERT INTO ring(node) VALUES (?)", (name,))
        self.copy(name)

    def import_image(self, name):
        image = self.machines[name].call("image")
        self.shipped["images"] += len(image)
        self.db.execute(f"INSERT INTO {name}({name}, id) VALUES ('import', ?)", (image,))

    def hear_of(self, name, twice, meanwhile):
        """True: the message was the image. meanwhile(): what is done while it is under way."""
        # Its machine had these before it was asked.
        known = one(self.db, "SELECT coalesce(max(n), 0) FROM recent")
        message = self.machines[name].call("changes", one(self.db, "SELECT filter_mark(?)", name))
        meanwhile()
        is_image = not message[5] & 8
        self.shipped["images" if is_image else "changes"] += len(message)
        for _ in range(2 if twice else 1):
            self.db.execute(f"INSERT INTO {name}({name}, id) VALUES ('apply', ?)", (message,))
        self.db.execute("DELETE FROM recent WHERE n <= ?"
                        " AND (SELECT node FROM ring WHERE key = id) = ?", (known, name))
        return is_image

    def owners(self, keys):
        self.db.execute("CREATE TEMP TABLE asked(id INTEGER)")
        self.db.executemany("INSERT INTO asked VALUES (?)", [(k,) for k in keys])
        owned = {name: [] for name in self.machines}
        for node, key in self.db.execute("SELECT node, id FROM asked JOIN ring ON ring.key = id"):
            owned[node].append(key)
        self.db.execute("DROP TABLE asked")
        return owned

    def write(self, added, removed):
        owned, gone = self.owners(added), self.owners(removed)
        for name, machine in self.machines.items():
            if owned[name] or gone[name]:
                machine.call("write", owned[name], gone[name])
        # Once the machines have them, and before the client is told. Not into the copies
        # themselves: any change of its own would end a copy's mark.
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO recent(id) VALUES (?)", [(k,) for k in added])
        self.db.execute("COMMIT")

    def may_have(self, name, keys):
        question = (f"SELECT filter_contains('{name}', ?1)"
                    " OR EXISTS (SELECT 1 FROM recent WHERE id = ?1)")
        return [key for key in keys if one(self.db, question, key)]

    def get(self, keys):
        """What is there of them, how many look-ups that took, and how long both parts took."""
        found, asked, routing = {}, 0, 0
        start = time.perf_counter()
        for name, owned in self.owners(keys).items():
            begin = time.perf_counter()
            worth = self.may_have(name, owned)
            routing += time.perf_counter() - begin
            asked += len(worth)
            names = self.machines[name].call("get", worth) if worth else []
            found.update((k, n) for k, n in zip(worth, names) if n is not None)
        return found, asked, routing, time.perf_counter() - start


# --- days ---


def shuffled(chance, names):
    return chance.sample(names, len(names))


def join(name, directory, machines, router, chance, capacity):
    """A machine comes: the others hand over the keys that it owns now. How many these are."""
    there = list(machines)
    newcomer = Remote(name, os.path.join(directory, name + ".db"),
                      shuffled(chance, there + [name]), 0, capacity)
    newcomer.ready()
    moved = 0
    for other in shuffled(chance, there):
        rows = machines[other].call("hear_of_machine", name)
        newcomer.call("take", rows)
        moved += len(rows)
    machines[name] = newcomer
    router.hear_of_machine(name)
    digests = {machine.call("owners") for machine in machines.values()}
    require(digests == {owners_digest(router.db)}, "all machines name the same owners")
    return moved


def megabytes(count):
    return f"{count / 1e6:.2f} MB"


def main(directory, keys, days):
    chance = random.Random(14)
    last = keys * len(MACHINES)
    machines = {}
    first, later = MACHINES[:FIRST], MACHINES[FIRST:]
    each = last // FIRST
    for name in first:
        machines[name] = Remote(name, os.path.join(directory, name + ".db"),
                                shuffled(chance, first), last, int(each * 1.4))
    for machine in machines.values():
        machine.ready()
    counts = [machine.call("count") for machine in machines.values()]
    require(sum(counts) == last, "every key has one owner")
    print(f"{len(machines)} machines, {min(counts):,} to {max(counts):,} keys each")
    router = Router(os.path.join(directory, "router.db"), shuffled(chance, first), machines)
    print(f"{megabytes(router.shipped['images'])} of images to the router, once")

    present = set(range(1, last + 1))
    changed = last // 50  # a day; a tenth of them are removals
    for day in range(1, days + 1):
        fresh = range(last + 1, last + 1 + changed * 9 // 10)
        last = fresh[-1]
        removed = chance.sample(range(1, last // 2), changed // 10)
        removed = [key for key in removed if key in present]
        through, elsewhere = list(fresh[::2]), list(fresh[1::2])
        late, through = through[:100], through[100:]
        router.write(through, removed)
        for name, owned in router.owners(elsewhere).items():
            machines[name].call("write", owned, [])
        present.update(fresh)
        present.difference_update(removed)

        # Before the router hears of it: what went through it is known, what did not may be denied.
        sample = chance.sample(through, min(500, len(through)))
        require(len(router.get(sample)[0]) == len(sample), "what the router wrote is found")
        sample = chance.sample(elsewhere, min(500, len(elsewhere)))
        denied = 1 - len(router.get(sample)[0]) / len(sample)

        before = dict(router.shipped)
        lost = chance.choice(list(machines)) if day < days else None
        start = time.perf_counter()
        late_at = router.owners(late)
        images = sum(router.hear_of(name, chance.random() < 0.2,
                                    lambda name=name: router.write(late_at[name], []))
                     for name in machines if name != lost)
        took = time.perf_counter() - start
        if lost:
            router.write(late_at[lost], [])
        require(len(router.get(late)[0]) == len(late), "what is written during a message is found")
        print(f"day {day}: {changed:,} changes; {100 * denied:.0f} % of what was written elsewhere"
              f" was denied until the router heard of it: in {1000 * took:.0f} ms,"
              f" {megabytes(router.shipped['changes'] - before['changes'])} of changes"
              + (f", {images} image ({megabytes(router.shipped['images'] - before['images'])})"
                 if images else "") + (f"; {lost}'s were lost" if lost else ""))
        if later:
            name = later.pop(0)
            before = dict(router.shipped)
            moved = join(name, directory, machines, router, chance, int(keys * 1.4))
            images = sum(router.hear_of(one, False, lambda: None) for one in machines)
            if name == MACHINES[FIRST]:  # it grows in the days that come, and needs an image then
                machines[name].call("make_room", 5)
            require(sum(machine.call("count") for machine in machines.values()) == len(present),
                    "every key has one owner after a machine came")
            print(f"{name} joined: {moved:,} keys moved to it, {100 * moved / len(present):.1f} %"
                  " of all; all machines name the same owners; the router heard of it at once:"
                  f" {megabytes(router.shipped['changes'] - before['changes'])} of changes,"
                  f" {images} image ({megabytes(router.shipped['images'] - before['images'])})")
    for name in machines:
        router.hear_of(name, False, lambda: None)

    # All machines were heard of: no key may be missing.
    wanted = set(chance.sample(sorted(present), 2000)).union(fresh[:2000])
    require(len(router.get(wanted)[0]) == len(wanted), "every key is found")
    for name, machine in machines.items():
        require(machine.call("sound") == "ok", name)
        require(one(router.db, "SELECT cuckoo_check(?)", name) == "ok", f"copy of {name}")

    count = 50000
    asked_for = [chance.randrange(last + 1, 10 * last) if chance.random() < ABSENT
                 else chance.randrange(1, last) for _ in range(count)]
    found, asked, routing, took = router.get(asked_for)
    require(set(found) == present.intersection(asked_for), "exactly what is there is found")
    there = sum(key in present for key in asked_for)
    print(f"{count:,} look-ups, {100 * (1 - there / count):.0f} % of them of keys that are nowhere:"
          f" {asked:,} asked a machine, {asked - there:,} of them in vain;"
          f" {1e6 * routing / count:.1f} us each to decide")
    require(asked - there <= 3 * RATE * count + 10, "the false positive rate holds")
    print(f"without filters all {count:,} would have; shipped in {days} days:"
          f" {megabytes(router.shipped['changes'])} of changes,"
          f" {megabytes(router.shipped['images'])} of images")
    for machine in machines.values():
        machine.pipe.send(("stop", ()))
    for machine in machines.values():
        machine.process.join(10)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
