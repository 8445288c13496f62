"""What applications do with a filter, a window or a store, from end to end, beside plain SQLite.

tests/bench/tasks.sh builds what is needed and calls this. Each task is done both ways in turn, in
database files of their own and with SQLite's settings as they are, and must give the same answer,
or one that differs by no more than the false positive rate. Prints a table: seconds of processor
time, medians, and megabytes on disk.
"""
import hashlib
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time

EXTENSION = sys.argv[1]
SCALE = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
ROUNDS = 3 if SCALE >= 1 else 1
FPR = 0.001


def size(n):
    return max(int(n * SCALE), 100)


def connect(path, *, extension=True):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    if extension:
        db.enable_load_extension(True)
        db.load_extension(EXTENSION)
    return db


def megabytes(path):
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)) / 1e6


def one(db, sql, *parameters):
    return db.execute(sql, parameters).fetchone()[0]


class Task:
    """Two ways, plain and ours: each prepares a file (not timed), then does the work and answers."""

    def __init__(self, name, prepare, ways, exact=True, lower=None):
        self.name, self.prepare, self.ways, self.exact, self.lower = name, prepare, ways, exact, lower

    def run(self, folder):
        times = {name: [] for name in self.ways}
        sizes, answers = {}, {}
        for _ in range(ROUNDS):
            for name, work in self.ways.items():
                path = os.path.join(folder, "task.db")
                for end in ("", "-wal", "-shm"):
                    if os.path.exists(path + end):
                        os.remove(path + end)
                db = connect(path)
                state = self.prepare(db, name)
                start = time.process_time()
                answers[name] = work(db, state)
                times[name].append(time.process_time() - start)
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                sizes[name] = megabytes(path)
                db.close()
        plain, ours = self.ways
        expected, found = answers[plain], answers[ours]
        slack = 0 if self.exact else max(5, 3 * FPR * expected)
        assert abs(found - expected) <= slack, (self.name, answers)
        a, b = (statistics.median(times[name]) for name in self.ways)
        print(f"| {self.name} | {a:.2f} | {b:.2f} | {a / b:.1f}× | {sizes[plain]:.0f} | "
              f"{sizes[ours]:.0f} |", flush=True)


def address(i):
    return f"user{(i * 2654435761) % 4294967296:010d}@example.org"


# --- a guard in front of a table -----------------------------------------------------------------

def users(db, way):
    n = size(1_000_000)
    db.execute("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO users(email, name) VALUES (?, ?)",
                   ((address(i), f"name {i}") for i in range(n)))
    db.execute("COMMIT")
    if way == "ours":
        db.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(email, source = users(email),"
                   " triggers = on)")
    random.seed(1)
    asked = [address(random.randrange(n) if random.random() < 0.1 else n + random.randrange(9 * n))
             for _ in range(size(300_000))]
    db.execute("CREATE TEMP TABLE requests(email TEXT)")
    db.executemany("INSERT INTO requests VALUES (?)", ((a,) for a in asked))
    return asked


def guard_join(sql):
    return lambda db, asked: one(db, sql)


def guard_rows(sql):
    def work(db, asked):
        return sum(db.execute(sql, (email,)).fetchone() is not None for email in asked)
    return work


# --- a crawler -------------------------------------------------------------------------------------

def links(db, way):
    n = size(2_000_000)
    random.seed(2)
    return [f"https://example.org/articles/{random.randrange(n):08d}/index.html" for _ in range(n)]


def crawl_table(way):
    return ("CREATE TABLE seen(url TEXT PRIMARY KEY) WITHOUT ROWID" if way == "plain" else
            "CREATE VIRTUAL TABLE seen USING cuckoo_filter(url TEXT, unique = on, capacity = 2e6)")


def crawl_rows(way):
    def work(db, urls):
        db.execute(crawl_table(way))
        new = 0
        db.execute("BEGIN")
        for url in urls:
            new += db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (url,)).rowcount
        db.execute("COMMIT")
        return new
    return work


def stage(db, way):
    db.execute("CREATE TEMP TABLE staging(url TEXT)")
    db.executemany("INSERT INTO staging VALUES (?)", ((url,) for url in links(db, way)))


def crawl_staging(way):
    def work(db, _):
        db.execute(crawl_table(way))
        return db.execute("INSERT OR IGNORE INTO seen SELECT url FROM staging").rowcount
    return work


# --- a rate limit ------------------------------------------------------------------------------------

LIMIT = 5  # requests of a client in two minutes


def clients(db, way):
    random.seed(3)
    if way == "plain":
        db.execute("CREATE TABLE hits(ip TEXT, minute INTEGER, n INTEGER, PRIMARY KEY (ip, minute))"
                   " WITHOUT ROWID")
    else:
        db.execute("CREATE VIRTUAL TABLE hits USING cuckoo_filter(ip TEXT, generations = 2,"
                   " capacity = 50000)")
    n = size(400_000)
    return [(i * 10 // n, f"10.{int(random.expovariate(1 / 8000)) % 65536}.0.1") for i in range(n)]


def limit_plain(db, requests):
    refused, now = 0, 0
    for minute, ip in requests:
        if minute != now:
            now = minute
            db.execute("DELETE FROM hits WHERE minute < ?", (minute - 1,))
        if one(db, "SELECT coalesce(sum(n), 0) FROM hits WHERE ip = ?", ip) >= LIMIT:
            refused += 1
        else:
            db.execute("INSERT INTO hits VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
                       (ip, minute))
    return refused


def limit_ours(db, requests):
    refused, now = 0, 0
    for minute, ip in requests:
        if minute != now:
            now = minute
            db.execute("INSERT INTO hits(hits) VALUES ('rotate')")
        row = db.execute("SELECT count FROM hits WHERE ip = ?", (ip,)).fetchone()
        if row is not None and row[0] >= LIMIT:
            refused += 1
        else:
            db.execute("INSERT INTO hits VALUES (?)", (ip,))
    return refused


# --- seen items of each user -------------------------------------------------------------------------

def shown_pairs(db, way):
    n = size(2_000_000)
    db.execute("CREATE TEMP TABLE shown(user_id INTEGER, item_id INTEGER)")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)"
               " INSERT INTO shown SELECT i * 2654435761 % 20011, i * 40503 % 500009 FROM n", (n,))
    db.execute("CREATE TEMP TABLE feed(item_id INTEGER PRIMARY KEY)")
    db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
               " INSERT INTO feed SELECT i * 4999 FROM n")
    db.execute("CREATE TABLE seen(user_id INTEGER, item_id INTEGER, PRIMARY KEY (user_id, item_id))"
               " WITHOUT ROWID" if way == "plain" else
               "CREATE VIRTUAL TABLE seen USING cuckoo_filter(user_id INTEGER, item_id INTEGER,"
               " capacity = 2e6)")


def mark_seen(db, _):
    return db.execute("INSERT OR IGNORE INTO seen SELECT user_id, item_id FROM shown").rowcount


def marked_pairs(db, way):
    shown_pairs(db, way)
    mark_seen(db, way)


def unseen(sql):
    return lambda db, _: sum(one(db, sql, user) for user in range(0, 20_000, 4))


# --- unique visitors --------------------------------------------------------------------------------

def visits(db, way):
    random.seed(4)
    n = size(1_000_000)
    db.execute("CREATE TABLE log(visitor TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO log VALUES (?)",
                   ((address(int(random.random() ** 2 * n / 3)),) for _ in range(n)))
    db.execute("COMMIT")


def visitors_ours(db, _):
    db.execute("CREATE VIRTUAL TABLE day USING cuckoo_filter(visitor TEXT, unique = on, fpr = 1e-4)")
    return db.execute("INSERT OR IGNORE INTO day SELECT visitor FROM log").rowcount


# --- what is in one file and not in the other ---------------------------------------------------------

def two_files(db, way):
    n = size(3_000_000)
    db.execute("CREATE TABLE a(k TEXT)")
    db.execute("CREATE TABLE b(k TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute("BEGIN")
    fill = ("INSERT INTO {} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " SELECT 'key' || (i * 2654435761 % 4294967291 * 2 + {}) FROM n")
    db.execute(fill.format("a", "(i % 10 > 0)"), (n,))
    db.execute(fill.format("b", "0"), (n,))
    db.execute("COMMIT")


def anti_ours(db, _):
    db.execute("CREATE VIRTUAL TABLE f USING cuckoo_filter(k TEXT, capacity = 3e6, growth = off)")
    db.execute("INSERT INTO f SELECT k FROM b")
    return one(db, "SELECT count(*) FROM a WHERE NOT EXISTS"
                   " (SELECT 1 FROM f CROSS JOIN b ON b.k = f.k WHERE f.k = a.k)")


# --- versions of files in chunks ---------------------------------------------------------------------

def versions(db, way):
    random.seed(5)
    chunks = [random.randbytes(4000) for _ in range(size(2500))]
    result = []
    for _ in range(20):
        for _ in range(len(chunks) // 50):
            chunks[random.randrange(len(chunks))] = random.randbytes(4000)
        result.append(list(chunks))
    if way == "plain":
        db.execute("CREATE TABLE chunk(digest BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
    else:
        db.execute("CREATE VIRTUAL TABLE chunk USING flash_kv(address, value, size = '256 MB')")
    return result


def backup_plain(db, all_versions):
    for chunks in all_versions:
        db.execute("BEGIN")
        for value in chunks:
            db.execute("INSERT OR IGNORE INTO chunk VALUES (?, ?)", (hashlib.sha1(value).digest(), value))
        db.execute("COMMIT")
    return one(db, "SELECT count(*) FROM chunk")


def backup_ours(db, all_versions):
    for chunks in all_versions:
        db.execute("BEGIN")
        for value in chunks:
            db.execute("INSERT OR IGNORE INTO chunk(value) VALUES (?)", (value,))
        db.execute("COMMIT")
    return one(db, "SELECT count(*) FROM chunk")


# --- counters of several writers -----------------------------------------------------------------------

WRITERS = 4


def writers(db, way):
    random.seed(6)
    for writer in range(WRITERS):
        if way == "plain":
            db.execute(f"CREATE TABLE w{writer}(page TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID")
        else:
            db.execute(f"CREATE VIRTUAL TABLE w{writer} USING bloom_filter(page TEXT, counting = on,"
                       " capacity = 200000, seed = 7)")
    n = size(200_000)
    return [[(f"/page/{int(random.random() ** 2 * n)}",) for _ in range(n)] for _ in range(WRITERS)]


def add_hits(db, hits, values):
    for writer, pages in enumerate(hits):
        db.execute("BEGIN")
        db.executemany(f"INSERT INTO w{writer} VALUES {values}", pages)
        db.execute("COMMIT")


def count_plain(db, hits):
    add_hits(db, hits, "(?, 1) ON CONFLICT DO UPDATE SET n = n + 1")
    for writer in range(1, WRITERS):
        db.execute(f"INSERT INTO w0 SELECT page, n FROM w{writer} WHERE true"
                   " ON CONFLICT DO UPDATE SET n = n + excluded.n")
    return one(db, "SELECT n FROM w0 WHERE page = '/page/0'")


def count_ours(db, hits):
    add_hits(db, hits, "(?)")
    for writer in range(1, WRITERS):
        db.execute(f"INSERT INTO w0(w0, page) VALUES ('merge', 'w{writer}')")
    return one(db, "SELECT count FROM w0 WHERE page = '/page/0'")


# --- spelling ----------------------------------------------------------------------------------------

def words(db, way):
    with open("/usr/share/dict/words", encoding="utf-8") as file:
        known = [line.strip() for line in file]
    db.execute("CREATE TABLE words(word TEXT PRIMARY KEY) WITHOUT ROWID")
    db.execute("BEGIN")
    db.executemany("INSERT OR IGNORE INTO words VALUES (?)", ((word,) for word in known))
    db.execute("COMMIT")
    if way == "ours":
        db.execute("CREATE VIRTUAL TABLE spelled USING bloom_filter(word, layout = blocked, growth = off,"
                   " source = words(word), triggers = off)")
    random.seed(8)
    db.execute("CREATE TEMP TABLE text(word TEXT)")
    db.executemany("INSERT INTO text VALUES (?)",
                   ((random.choice(known) + ("x" if random.random() < 0.02 else ""),)
                    for _ in range(size(1_000_000))))


TASKS = [
    Task("guard in front of a users table, 90 % absent: JOIN", users, {
        "plain": guard_join("SELECT count(u.name) FROM requests CROSS JOIN users u USING (email)"),
        "ours": guard_join("SELECT count(u.name) FROM requests CROSS JOIN known USING (email)"
                           " CROSS JOIN users u USING (email)")}),
    Task("… a statement for each", users, {
        "plain": guard_rows("SELECT name FROM users WHERE email = ?1"),
        "ours": guard_rows("SELECT u.name FROM known CROSS JOIN users u USING (email)"
                           " WHERE known.email = ?1")}),
    Task("crawler, 2 M URLs row by row", links,
         {way: crawl_rows(way) for way in ("plain", "ours")}, exact=False),
    Task("… from a staging table", stage,
         {way: crawl_staging(way) for way in ("plain", "ours")}, exact=False),
    Task("rate limit, 400,000 requests, a transaction each", clients,
         {"plain": limit_plain, "ours": limit_ours}, exact=False),
    Task("2 M pairs of user and item marked as seen", shown_pairs,
         {"plain": mark_seen, "ours": mark_seen}, exact=False),
    Task("… which of 100 items have 5,000 users not seen", marked_pairs, {
        "plain": unseen("SELECT count(*) FROM feed f WHERE NOT EXISTS (SELECT 1 FROM seen s"
                        " WHERE s.user_id = ?1 AND s.item_id = f.item_id)"),
        "ours": unseen("SELECT count(*) FROM feed WHERE"
                       " NOT filter_contains('seen', ?1, item_id)")}, exact=False),
    Task("unique visitors in 1 M visits, beside count(DISTINCT)", visits, {
        "plain": lambda db, _: one(db, "SELECT count(DISTINCT visitor) FROM log"),
        "ours": visitors_ours}, exact=False),
    Task("3 M keys that another table lacks", two_files, {
        "plain": lambda db, _: one(db, "SELECT count(*) FROM a WHERE NOT EXISTS"
                                       " (SELECT 1 FROM b WHERE b.k = a.k)"),
        "ours": anti_ours}),
    Task("backup of 20 versions of 2500 chunks, 2 % changed", versions,
         {"plain": backup_plain, "ours": backup_ours}),
    Task("4 writers count 200,000 hits each, then merged", writers,
         {"plain": count_plain, "ours": count_ours}, exact=False),
    Task("spelling of 1 M words", words, {
        "plain": lambda db, _: one(db, "SELECT count(*) FROM text WHERE NOT EXISTS"
                                       " (SELECT 1 FROM words WHERE words.word = text.word)"),
        "ours": lambda db, _: one(db, "SELECT count(*) FROM text WHERE NOT EXISTS"
                                      " (SELECT 1 FROM spelled WHERE spelled.word = text.word)")},
         exact=False),
]

if __name__ == "__main__":
    print("| task | plain SQLite, s | with the extension, s | | on disk, MB | with the extension |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS:
            task.run(folder)
