"""Random statements over all four kinds of table, and what the tables must hold after them.

Each statement also runs, in a form for ordinary tables, in the mirror, a database without the
extension. There a filter is a table with a row for each occurrence of a key; so the mirror also
tells which keys may be removed, which statements fail and how many rows they change. A "wild" table
has no mirror: it gets full, wears out, and loses keys that were never added. All that is asked of
one is that it does so on every machine alike.
"""
import copy
import dataclasses
import hashlib
import random
import sqlite3

MOST_TABLES = 9


@dataclasses.dataclass
class Table:
    name: str
    module: str
    family: int  # filters of one family have one seed
    column: str = "key"
    layout: str = ""
    fpr: float = 0.001
    wild: bool = False
    removes: bool = True  # keys can be removed
    unique: bool = False
    source: str = ""  # an ordinary table, whose triggers keep this one in step
    generations: int = 1
    generation: int = 1
    megabytes: int = 4  # of a flash_kv

    def is_filter(self):
        return self.module.endswith("_filter")

    def goes_alone(self):
        return bool(self.wild or self.unique or self.source or self.generations > 1)

    def has_hashes_for(self, other):
        return self is not other and not (self.goes_alone() or other.goes_alone()) and (
            self.module, self.layout, self.column, self.has_long_hashes()) == (
            other.module, other.layout, other.column, other.has_long_hashes())

    def has_long_hashes(self):
        return self.fpr < 2 ** -12  # 63 bits instead of 47


@dataclasses.dataclass
class Statement:
    sql: str
    fails: object = False  # None: nobody knows
    changes: object = None  # rows; None: nobody asks, -1: nobody knows


class Script:
    def __init__(self, seed, with_seeds):
        self.random = random.Random(f"{seed} {with_seeds}")
        self.with_seeds = with_seeds
        self.statements = []
        self.tables = {}
        self.made = 0
        self.open = []  # (savepoint, the tables when it began); None for BEGIN
        self.mirror = sqlite3.connect(":memory:", isolation_level=None)
        self.mirror.create_function("sha1", 1, lambda v: hashlib.sha1(v.encode()).hexdigest())

    def generate(self, count):
        while len(self.statements) < count:
            self.step()
        if self.open:
            self.commit()

    def step(self):
        roll = self.random.random()
        if roll < 0.14:
            self.transaction()
        elif not self.tables or roll < 0.18 and len(self.tables) < MOST_TABLES:
            self.create()
        else:
            table = self.random.choice(list(self.tables.values()))
            if roll < 0.185:
                self.drop(table)
            elif roll < 0.195:
                self.rename(table)
            elif roll < 0.28:
                self.command(table)
            elif roll < 0.70:
                self.insert(table)
            elif roll < 0.84:
                self.delete(table)
            else:
                self.update(table)

    # --- what every statement needs ---

    def chance(self, share):
        return self.random.random() < share

    def emit(self, sql, *mirrored, changes=False):
        """The statement, and those that do its work in the mirror, the first the same rows."""
        statement = Statement(sql)
        try:
            changed = self.run_mirrored(mirrored or (sql,))
            statement.changes = changed if changes else None
        except sqlite3.IntegrityError:
            statement.fails = True
        self.statements.append(statement)

    def run_mirrored(self, statements):
        """All or nothing, as a single statement is."""
        self.mirror.execute("SAVEPOINT one_statement")
        try:
            self.mirror.execute(statements[0])
            changed = self.mirror.execute("SELECT changes()").fetchone()[0]
            for sql in statements[1:]:
                self.mirror.execute(sql)
            return changed
        except sqlite3.IntegrityError:
            self.mirror.execute("ROLLBACK TO one_statement")
            raise
        finally:
            self.mirror.execute("RELEASE one_statement")

    def change(self, table, sql, *mirrored):
        if table.wild:
            self.statements.append(Statement(sql, fails=None, changes=-1))
        else:
            self.emit(sql, *mirrored, changes=True)

    def key(self):
        """A literal. No two are equal keys, whatever the column's type and collation."""
        i = self.random.randrange(400)
        return (f"{i * 7_000_000_001}", f"x'{i:08x}'", f"{i + 0.5}", f"'key-{i}'")[min(i % 5, 3)]

    def keys(self, most):
        return [self.key() for _ in range(self.random.randint(1, most))]

    def value(self):
        i = self.random.randrange(100_000)
        length = self.random.choice((i % 60, i % 3000)) + 1
        return self.random.choice(
            ("NULL", f"{i}", f"{i / 8}", f"x'{i:010x}'", f"printf('%0{length}d', {i})"))

    def held(self, table):
        """A key that is there, as a literal, or one that may be absent where that does no harm."""
        harmless = table.wild or table.module == "flash_kv"
        count = 0 if table.wild else self.mirror.execute(
            f"SELECT count(*) FROM {table.name}").fetchone()[0]
        if harmless and (count == 0 or self.chance(0.1)):
            return self.key()
        if count == 0:
            return "NULL"
        return self.mirror.execute(
            f"SELECT quote(key) FROM {table.name} LIMIT 1 OFFSET ?",
            (self.random.randrange(count),)).fetchone()[0]

    # --- tables ---

    def create(self):
        self.made += 1
        module = self.random.choice(
            ("cuckoo_filter", "cuckoo_filter", "bloom_filter", "flash_kv", "hash_ring"))
        table = Table(f"t{self.made}", module, family=self.made)
        getattr(self, f"create_{module}")(table)
        self.tables[table.name] = table

    def declare(self, table, options, mirrored):
        columns = [table.column] if table.is_filter() else []
        arguments = ", ".join(columns + options)
        self.emit(f"CREATE VIRTUAL TABLE {table.name} USING {table.module}({arguments})", mirrored)

    def seed(self):
        return [f"seed = {self.random.randrange(1, 1 << 40)}"] if self.with_seeds else []

    def filter_seed(self, table):
        relatives = [t for t in self.tables.values() if table.has_hashes_for(t)]
        if not relatives or self.chance(0.3):
            return self.seed()
        relative = self.random.choice(relatives)
        table.family = relative.family
        return [f"seed_of = '{relative.name}'"]

    def filter_size(self, table):
        table.fpr = self.random.choice((0.03, 0.001, 0.001, 1e-5))
        return [f"capacity = {self.random.choice((1, 10, 100, 1000, 20000))}", f"fpr = {table.fpr}"]

    def create_filter(self, table, options):
        table.column = self.random.choice(
            ("key", "key", "key TEXT", "key TEXT COLLATE NOCASE", "key TEXT COLLATE RTRIM"))
        unique = " UNIQUE" if table.unique else ""
        self.declare(
            table, options + self.filter_seed(table),
            f"CREATE TABLE {table.name}({table.column}{unique}, generation INTEGER DEFAULT 0)")

    def create_cuckoo_filter(self, table):
        kind = self.random.randrange(6)
        if kind == 0:
            return self.create_following(table)
        options = self.filter_size(table)
        if kind == 1:
            table.unique = True
            options = ["unique = on", "fpr = 1e-9"]  # nothing is skipped but what is there
        elif kind == 2:
            table.generations, table.removes = 3, False
            options.append("generations = 3")
        elif kind == 3 and self.with_seeds:
            table.wild = True
            options = ["capacity = 50", "growth = off"]
        return self.create_filter(table, options)

    def create_bloom_filter(self, table):
        options = self.filter_size(table)
        kind = self.random.randrange(5)
        table.removes = kind == 0
        if kind == 0:
            table.layout = "counting = on"
        elif kind == 1:
            table.layout = "layout = blocked"
        elif kind == 2:
            table.generations = 2
            options.append("generations = 2")
        elif kind == 3 and self.with_seeds:
            table.wild = True
            options = ["capacity = 50", "growth = off"]
        self.create_filter(table, options + ([table.layout] if table.layout else []))

    def create_following(self, table):
        table.source = f"s{self.made}"
        self.emit(f"CREATE TABLE {table.source}(id INTEGER PRIMARY KEY, v)")
        self.insert(table)
        self.declare(
            table, [f"source = {table.source}(v)", "triggers = on", *self.seed()],
            f"CREATE VIEW {table.name} AS SELECT v AS key FROM {table.source} WHERE v IS NOT NULL")

    def create_flash_kv(self, table):
        table.wild = self.with_seeds and self.chance(0.3)
        table.layout = self.random.choice(("", "", "addressed"))
        if table.wild:
            options = ["size = '24KB'", "sector_size = 512", "erase_block = 2",
                       f"endurance = {self.random.choice((20, 100_000))}"]
        else:
            options = ["size = '4MB'"]
            options += self.random.choice(([], ["program_unit = 32", "hashes = 3"]))
        self.declare(table, options + self.seed(),
                     f"CREATE TABLE {table.name}(key NOT NULL PRIMARY KEY, value)")

    def create_hash_ring(self, table):
        table.layout = self.random.choice(("ring", "slots", "ketama"))
        options = [f"algorithm = {table.layout}"]
        if table.layout != "ketama":
            options += self.seed()
        if table.layout == "ring":
            options.append(f"vnodes = {self.random.choice((10, 200))}")
        self.declare(table, options,
                     f"CREATE TABLE {table.name}(node PRIMARY KEY, weight DEFAULT 1)")

    def drop(self, table):
        what = "VIEW" if table.source else "TABLE IF EXISTS"  # a wild one too has an empty mirror
        self.emit(f"DROP TABLE {table.name}", f"DROP {what} {table.name}")
        if table.source:
            self.emit(f"DROP TABLE {table.source}")
        del self.tables[table.name]

    def rename(self, table):
        if table.source:
            return
        self.made += 1
        name = f"t{self.made}"
        self.emit(f"ALTER TABLE {table.name} RENAME TO {name}")
        del self.tables[table.name]
        table.name = name
        self.tables[name] = table

    # --- rows ---

    def insert(self, table):
        name = table.name
        if table.source:
            values = ", ".join(f"({key})" for key in [*self.keys(4), "NULL"])
            self.emit(f"INSERT INTO {table.source}(v) VALUES {values}", changes=True)
        elif table.module == "hash_ring":
            values = ", ".join(f"({self.node()}, {self.random.randint(1, 3)})"
                               for _ in range(self.random.randint(1, 3)))
            clause = self.random.choice(("", "OR IGNORE "))
            self.emit(f"INSERT {clause}INTO {name}(node, weight) VALUES {values}", changes=True)
        elif table.layout == "addressed":
            chunk = f"'chunk-{self.random.randrange(50)}'"
            self.change(table, f"INSERT OR IGNORE INTO {name}(value) VALUES ({chunk})",
                        f"INSERT OR IGNORE INTO {name} VALUES (sha1({chunk}), {chunk})")
        elif table.module == "flash_kv":
            values = ", ".join(f"({key}, {self.value()})" for key in self.keys(8))
            clause = self.random.choice(("OR REPLACE ", "OR REPLACE ", "OR IGNORE ", ""))
            sql = f"INSERT {clause}INTO {name} VALUES {values}"
            self.change(table, sql, sql)
        else:
            self.insert_keys(table)

    def insert_keys(self, table):
        if self.chance(0.15) and not table.unique:
            first, rows = self.random.randrange(5000), self.random.choice((100, 600, 3000))
            rows = (f"WITH RECURSIVE c(i) AS (VALUES ({first}) UNION ALL SELECT i + 1 FROM c"
                    f" WHERE i < {first + rows - 1}) SELECT 'bulk-' || i FROM c")
        else:
            most = self.random.choice((1, 1, 4, 40))
            rows = "VALUES " + ", ".join(f"({key})" for key in self.keys(most))
        clause = self.random.choice(("", "OR IGNORE ")) if table.unique else ""
        self.change(table, f"INSERT {clause}INTO {table.name} {rows}",
                    f"INSERT {clause}INTO {table.name}(key) {rows}",
                    f"UPDATE {table.name} SET generation = {table.generation} WHERE generation = 0")

    def node(self):
        return f"'10.0.0.{self.random.randrange(30)}:11211'"

    def delete(self, table):
        if table.source:
            self.emit(f"DELETE FROM {table.source} WHERE id % 9 = {self.random.randrange(9)}",
                      changes=True)
        elif table.module == "hash_ring":
            self.emit(f"DELETE FROM {table.name} WHERE node = {self.node()}", changes=True)
        elif table.removes:
            keys = ", ".join({self.held(table) for _ in range(self.random.randint(1, 3))})
            of_each = ("rowid IN (SELECT min(rowid) FROM {0} WHERE key IN ({1}) GROUP BY key)"
                       if table.is_filter() else "key IN ({1})").format(table.name, keys)
            self.change(table, f"DELETE FROM {table.name} WHERE key IN ({keys})",
                        f"DELETE FROM {table.name} WHERE {of_each}")

    def update(self, table):
        name = table.name
        if table.source:
            self.emit(f"UPDATE {table.source} SET v = {self.key()}"
                      f" WHERE id % 11 = {self.random.randrange(11)}", changes=True)
        elif table.module == "hash_ring":
            what = self.random.choice((f"weight = {self.random.randint(1, 3)}",
                                       f"node = {self.node()}"))
            self.emit(f"UPDATE {name} SET {what} WHERE node = {self.node()}", changes=True)
        elif table.layout == "addressed":
            pass  # an address has one value
        elif table.module == "flash_kv":
            what = self.random.choice((f"value = {self.value()}", f"key = {self.key()}"))
            sql = f"UPDATE {name} SET {what} WHERE key = {self.held(table)}"
            self.change(table, sql, sql)
        elif table.removes:
            old, new = self.held(table), self.key()
            self.change(table, f"UPDATE {name} SET key = {new} WHERE key = {old}",
                        f"UPDATE {name} SET key = {new}"
                        f" WHERE rowid = (SELECT min(rowid) FROM {name} WHERE key = {old})")

    # --- commands ---

    def command(self, table):
        if not table.is_filter():
            commands = ["check", "clear"]
            if table.module == "flash_kv":
                commands += ["collect", "collect", "resize"]
            return getattr(self, self.random.choice(commands))(table)
        commands = ["check", "clear", "rebuild", "resize", "rebuild", "resize"]
        if table.wild:
            commands = ["check", "clear"]
        elif table.source:
            commands = ["check", "rebuild", "resize"]
        elif table.generations > 1:
            commands += ["rotate"] * 8
        elif not table.unique:
            commands += ["merge", "merge", "load_image", "load_image"]
        return getattr(self, self.random.choice(commands))(table)

    def tell(self, table, command, *mirrored, argument=None):
        columns, values = table.name, f"'{command}'"
        if argument is not None:
            columns, values = f"{columns}, key", f"{values}, {argument}"
        sql = f"INSERT INTO {table.name}({columns}) VALUES ({values})"
        if table.wild:
            self.statements.append(Statement(sql, fails=None))
        else:
            self.emit(sql, *(mirrored or ("SELECT 1",)))

    def check(self, table):
        self.tell(table, "check")

    def collect(self, table):
        self.tell(table, "collect")

    def rebuild(self, table):
        self.tell(table, "rebuild")

    def clear(self, table):
        self.tell(table, "clear", f"DELETE FROM {table.name}")

    def resize(self, table):
        size = self.random.choice((1, 300, 5000))
        if table.module == "flash_kv":
            table.megabytes += 1
            size = "'32KB'" if table.wild else f"'{table.megabytes}MB'"
        self.tell(table, "resize", argument=size)

    def rotate(self, table):
        table.generation += 1
        oldest = table.generation - table.generations
        self.tell(table, "rotate", f"DELETE FROM {table.name} WHERE generation <= {oldest}")

    def merge(self, table):
        others = [t for t in self.tables.values()
                  if table.has_hashes_for(t) and t.family == table.family]
        if others:
            other = self.random.choice(others).name
            self.tell(table, "merge",
                      f"INSERT INTO {table.name}(key) SELECT key FROM {other}",
                      argument=f"'{other}'")

    def load_image(self, table):
        others = [t for t in self.tables.values() if table.has_hashes_for(t)]
        if others:
            other = self.random.choice(others)
            table.family = other.family
            self.tell(table, "import", f"DELETE FROM {table.name}",
                      f"INSERT INTO {table.name}(key) SELECT key FROM {other.name}",
                      argument=f"filter_export('{other.name}', 'hashes')")

    # --- transactions ---

    def transaction(self):
        savepoints = [i for i, (name, _) in enumerate(self.open) if name]
        roll = self.random.random()
        if not self.open and roll < 0.7:
            self.begin("BEGIN", None)
        elif not self.open and roll < 0.97 or self.open and roll < 0.35:
            name = f"p{len(self.open)}"
            self.begin(f"SAVEPOINT {name}", name)
        elif not self.open:
            self.both("VACUUM")
        elif roll < 0.55 and savepoints:
            self.roll_back_to(self.random.choice(savepoints))
        elif roll < 0.70 and savepoints:
            index = self.random.choice(savepoints)
            self.both(f"RELEASE {self.open[index][0]}")
            del self.open[index:]
        elif roll < 0.85:
            self.commit()
        else:
            self.both("ROLLBACK")
            self.tables = self.open[0][1]
            self.open = []

    def both(self, sql):
        self.mirror.execute(sql)
        self.statements.append(Statement(sql))

    def begin(self, sql, name):
        self.both(sql)
        self.open.append((name, copy.deepcopy(self.tables)))

    def roll_back_to(self, index):
        name, tables = self.open[index]
        self.both(f"ROLLBACK TO {name}")
        self.tables = copy.deepcopy(tables)
        del self.open[index + 1:]

    def commit(self):
        self.both("COMMIT")
        self.open = []
