"""An application that uses all kinds of tables, and keeps the same in ordinary ones beside them. So
a copy of its database can tell whether it is right: verify().

Statements are given as text with literals and go through execute(sql), so that any engine will do.
"""
import random
import statistics
import time

# name of an ordinary table -> the filters that must have all of its keys
KEYS = {"present": ("seen", "fixed", "once"), "users": ("known",), "visits": ("recent",)}

SCHEMA = """
CREATE TABLE progress(transactions INTEGER, generation INTEGER)
INSERT INTO progress VALUES (0, 0)
CREATE TABLE present(key TEXT PRIMARY KEY) WITHOUT ROWID
CREATE TABLE users(id INTEGER PRIMARY KEY, key TEXT)
CREATE TABLE visits(key TEXT, generation INTEGER)
CREATE TABLE documents(key TEXT PRIMARY KEY, value) WITHOUT ROWID
CREATE TABLE nodes(node TEXT PRIMARY KEY, weight)
CREATE VIRTUAL TABLE seen USING cuckoo_filter(key TEXT, capacity = 100)
CREATE VIRTUAL TABLE fixed USING bloom_filter(key TEXT, capacity = 20000, layout = blocked)
CREATE VIRTUAL TABLE once USING bloom_filter(key TEXT, capacity = 1000, counting = on)
CREATE VIRTUAL TABLE known USING cuckoo_filter(key TEXT, source = users(key), triggers = on)
CREATE VIRTUAL TABLE recent USING cuckoo_filter(key TEXT, capacity = 500, generations = 3)
CREATE VIRTUAL TABLE store USING flash_kv(key TEXT, value, size = '1MB')
CREATE VIRTUAL TABLE ring USING hash_ring(vnodes = 100)
"""


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def make(execute):
    for sql in SCHEMA.strip().splitlines():
        execute(sql)


class Application:
    """Random transactions. Names of keys begin with `prefix`, so that several may write in turn; one
    statement adds at most `most` of them."""

    def __init__(self, seed, prefix="k", most=1000):
        self.random = random.Random(seed)
        self.prefix = prefix
        self.most = most
        self.made = 0

    def transaction(self):
        """Its statements. One in ten ends in ROLLBACK and leaves no trace."""
        yield "BEGIN IMMEDIATE"
        for _ in range(self.random.randint(1, 4)):
            yield from self.random.choice((
                self.add_keys, self.add_keys, self.remove_keys, self.change_users, self.visit,
                self.write_documents, self.write_documents, self.remove_documents,
                self.change_nodes, self.command, self.regret))()
        yield "UPDATE progress SET transactions = transactions + 1"
        yield self.random.choice(("COMMIT",) * 9 + ("ROLLBACK",))

    def new_keys(self, most):
        rows = self.random.choice((1, 5, most))
        first, self.made = self.made, self.made + rows
        return ", ".join(f"('{self.prefix}{key}')" for key in range(first, first + rows))

    def some(self):
        """A condition that about a tenth of the keys meets."""
        return f"key LIKE '{self.prefix}%{self.random.randrange(10)}'"

    def add_keys(self):
        values = self.new_keys(self.most)
        for table in ("present", "seen", "fixed", "once"):
            yield f"INSERT INTO {table} VALUES {values}"

    def remove_keys(self):
        where = self.some()
        for table in ("seen", "once"):
            yield (f"INSERT INTO {table}({table}, key)"
                   f" SELECT 'delete', key FROM present WHERE {where}")
        yield f"DELETE FROM present WHERE {where}"

    def change_users(self):
        yield f"INSERT INTO users(key) VALUES {self.new_keys(40)}"
        yield f"UPDATE users SET key = key || '+' WHERE id % 50 = {self.random.randrange(50)}"
        yield f"DELETE FROM users WHERE id % 30 = {self.random.randrange(30)}"

    def visit(self):
        values = self.new_keys(50)
        yield f"INSERT INTO recent VALUES {values}"
        yield (f"INSERT INTO visits SELECT column1, generation FROM (VALUES {values}), progress")
        if self.random.random() < 0.3:
            yield "INSERT INTO recent(recent) VALUES ('rotate')"
            yield "UPDATE progress SET generation = generation + 1"
            yield "DELETE FROM visits WHERE generation <= (SELECT generation FROM progress) - 3"

    def write_documents(self):
        rows = ", ".join(
            f"('{self.prefix}{self.random.randrange(150)}',"
            f" printf('%0{self.random.randint(1, 1500)}d', {self.random.randrange(10**9)}))"
            for _ in range(self.random.randint(1, 8)))
        for table in ("documents", "store"):
            yield f"INSERT OR REPLACE INTO {table} VALUES {rows}"

    def remove_documents(self):
        key = f"'{self.prefix}{self.random.randrange(150)}'"
        for table in ("documents", "store"):
            yield f"DELETE FROM {table} WHERE key = {key}"

    def change_nodes(self):
        node, weight = f"'10.0.0.{self.random.randrange(9)}:11211'", self.random.randint(1, 3)
        for table in ("nodes", "ring"):
            yield f"DELETE FROM {table} WHERE node = {node}"
        if self.random.random() < 0.8:
            for table in ("nodes", "ring"):
                yield f"INSERT INTO {table}(node, weight) VALUES ({node}, {weight})"

    def command(self):
        table, command = self.random.choice((("seen", "rebuild"), ("once", "rebuild"),
                                             ("known", "rebuild"), ("store", "collect")))
        yield f"INSERT INTO {table}({table}) VALUES ('{command}')"

    def regret(self):
        yield "SAVEPOINT regret"
        yield from self.add_keys()
        yield from self.write_documents()
        yield "ROLLBACK TO regret"
        yield "RELEASE regret"


class Writer:
    """Marks each transaction, so that it is known whether what an engine acknowledged is there."""

    def __init__(self, seed=1, prefix="k", tried=0, most=1000):
        self.application = Application(seed, prefix, most)
        self.tried, self.acknowledged, self.uncertain = tried, set(), 0

    def transaction(self, execute):
        self.tried += 1
        *statements, end = self.application.transaction()
        for table in ("present", "seen", "fixed", "once"):
            statements.append(f"INSERT INTO {table} VALUES ('mark{self.tried}')")
        for table in ("documents", "store"):
            statements.append(f"INSERT INTO {table} VALUES ('mark{self.tried}', {self.tried})")
        for sql in statements:
            execute(sql)
        self.uncertain += end == "COMMIT"
        execute(end)
        if end == "COMMIT":
            self.uncertain -= 1
            self.acknowledged.add(self.tried)

    def compare(self, query):
        """Nothing acknowledged is lost, nothing else is there but commits cut short."""
        found = {number for number, in query("SELECT value FROM documents WHERE key LIKE 'mark%'")}
        lost = self.acknowledged - found
        require(not lost, f"acknowledged and lost: {sorted(lost)[:5]}")
        extra = found - self.acknowledged
        require(len(extra) <= self.uncertain, f"never acknowledged: {sorted(extra)[:5]}")
        for name in ("seen", "fixed", "once"):
            missed = query("SELECT key FROM documents WHERE key LIKE 'mark%'"
                           f" AND NOT filter_contains('{name}', key) LIMIT 3")
            require(not missed, f"{name} misses {missed}")


def measure(execute):
    """Prints the median time of a transaction of 50 rows."""
    for name, declaration, row in (
            ("an ordinary table", "TABLE speed(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
             "{}, {}"),
            ("cuckoo_filter", "VIRTUAL TABLE speed USING cuckoo_filter(key TEXT)", "{}"),
            ("flash_kv", "VIRTUAL TABLE speed USING flash_kv(key TEXT, value)", "{}, {}")):
        execute(f"CREATE {declaration}")
        times = []
        for first in range(0, 10_000, 50):
            keys = [f"'key{i * 7919 % 1_000_003}'" for i in range(first, first + 50)]
            values = ", ".join(f"({row.format(key, key)})" for key in keys)
            begun = time.monotonic()
            execute(f"INSERT INTO speed VALUES {values}")
            times.append(1000 * (time.monotonic() - begun))
        execute("DROP TABLE speed")
        print(f"50 rows into {name}: {statistics.median(times):.1f} ms", flush=True)


def verify(query):
    """How many transactions there are. query(sql) gives rows; each statement is right by itself, so
    others may write meanwhile."""
    for table, filters in KEYS.items():
        for name in filters:
            missed = query(f"SELECT key FROM {table}"
                           f" WHERE NOT filter_contains('{name}', key) LIMIT 3")
            require(not missed, f"{name} misses keys of {table}, such as {missed}")
            joined = query(f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*)"
                           f" FROM {table} t CROSS JOIN {name} f ON f.key = t.key)")[0]
            require(joined[0] == joined[1], f"{table} JOIN {name}: {joined}")
    for name, table in (("seen", "present"), ("once", "present"), ("known", "users"),
                        ("recent", "visits")):
        counts = query(f"SELECT (SELECT count(*) FROM {name}), (SELECT count(*) FROM {table})")[0]
        require(counts[0] == counts[1], f"{name} has {counts[0]} keys, {table} {counts[1]}")
    for one, other, columns in (
            ("store", "documents", "key, value"), ("documents", "store", "key, value"),
            ("ring", "nodes", "node, weight"), ("nodes", "ring", "node, weight")):
        extra = query(f"SELECT {columns} FROM {one} EXCEPT SELECT {columns} FROM {other} LIMIT 3")
        require(not extra, f"{one} has what {other} has not: {str(extra)[:200]}")
    found = query("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM documents d"
                  " CROSS JOIN store s ON s.key = d.key WHERE s.value IS d.value)")[0]
    require(found[0] == found[1], f"documents JOIN store: {found}")
    return query("SELECT transactions FROM progress")[0][0]


def ask_everything(query):
    """What else can be asked of the tables."""
    query("SELECT * FROM filter_info")
    for name in ("seen", "fixed", "once", "known"):
        query(f"SELECT items FROM filter_info((SELECT filter_export('{name}')))")
    for name in ("seen", "once", "known"):
        query(f"SELECT length(filter_export('{name}', 'hashes'))")
    query("SELECT filter_contains(cuckoo_build(key), 'x')"
          " FROM (SELECT key FROM present UNION ALL VALUES ('x'))")
    query("SELECT * FROM flash_kv_info")
    query("SELECT * FROM flash_kv_sectors('store')")
    query("SELECT length(flash_kv_map('store'))")
    query("SELECT *, seq, sector, digest FROM store")
    query("SELECT * FROM ring WHERE key = 'x' AND replicas = 3")
    query("SELECT * FROM hash_ring_moves('ring', 'add', 'another:1', 2)")
    query("SELECT * FROM hash_ring_moves('ring', 'remove', (SELECT node FROM nodes LIMIT 1))")
    query("SELECT * FROM hash_ring_moves('ring', 'weight', (SELECT node FROM nodes LIMIT 1), 3)")
    query("SELECT hash_ring_mark('ring'), length(hash_ring_export('ring'))")
    if query("SELECT 1 FROM pragma_function_list WHERE name = 'cuckoo_check'"):
        for name in ("seen", "fixed", "once", "known", "recent", "store", "ring"):
            said = query(f"SELECT cuckoo_check('{name}')")[0][0]
            require(said == "ok", f"cuckoo_check('{name}'): {said}")
