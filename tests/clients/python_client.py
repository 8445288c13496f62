"""run.sh's scenario by Python's own sqlite3: python_client.py DIRECTORY"""
import sqlite3
import subprocess
import sys

from scenario import *


def connect(path=PATH):
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension("cuckoo")
    db.enable_load_extension(False)
    return db


def scalar(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def contains(db, email):
    return scalar(db, "SELECT filter_contains('seen', ?)", email)


def scenario():
    db = connect()
    db.executescript(schema())
    names = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1")
    show("tables", *[name for (name,) in names])

    with db:
        db.executemany("INSERT INTO users VALUES (?, ?)", USERS)
        db.executemany("INSERT INTO seen VALUES (?)", [(email,) for _, email in USERS])
        db.executemany("INSERT INTO ids VALUES (?)", [(id,) for id in IDS])
        db.executemany("INSERT INTO kv VALUES (?, ?)", PAIRS)
        db.execute("INSERT INTO kv(doc) VALUES (?)", ("to be",))
        db.executemany("INSERT INTO ring(node, weight) VALUES (?, ?)", NODES)
        db.executemany("INSERT INTO requests VALUES (?)", [(email,) for email in REQUESTS])
    show("inserts", *[scalar(db, f"SELECT count(*) FROM {table}") for table in TABLES])

    for row in db.execute("SELECT u.id, u.email FROM requests JOIN seen USING (email)"
                          " JOIN users u USING (email) ORDER BY u.id"):
        show("join", *row)
    found = db.execute("SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email",
                       (ZOE, EVE, ADA))
    show("in", *[email for (email,) in found])

    delete = "DELETE FROM seen WHERE email = ?"
    with db:
        show("delete", db.execute(delete, (BOB,)).rowcount, db.execute(delete, (BOB,)).rowcount,
             contains(db, BOB))

    with db:
        db.execute("INSERT INTO seen VALUES (?)", (DORA,))
        db.execute("SAVEPOINT inner")
        db.execute("INSERT INTO seen VALUES (?)", (FRED,))
        db.execute(delete, (ADA,))
        db.execute("UPDATE kv SET doc = ? WHERE name = ?", ("bye", "greeting"))
        db.execute("ROLLBACK TO inner")
        db.execute("RELEASE inner")
    greeting = "SELECT doc FROM kv WHERE name = 'greeting'"
    show("savepoint", contains(db, DORA), contains(db, FRED), contains(db, ADA),
         scalar(db, greeting))

    second = connect()
    of_first = contains(second, DORA)
    with second:
        second.execute("INSERT INTO seen VALUES (?)", (GINA,))
    show("second connection", of_first, contains(db, GINA))
    second.close()
    db.close()

    db = connect()
    show("reopen", scalar(db, "SELECT count(*) FROM seen"), scalar(db, greeting),
         *[scalar(db, "SELECT cuckoo_check(?)", table) for table in TABLES[1:]])

    image = scalar(db, "SELECT filter_export('seen')")
    with db:
        db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", (image,))
    show("image", len(image) == scalar(db, "SELECT length(filter_export('seen'))"),
         scalar(db, "SELECT filter_contains(?, ?)", image, ADA),
         scalar(db, "SELECT filter_contains(?, ?)", image, BOB),
         scalar(db, "SELECT count(*) FROM copy"),
         scalar(db, "SELECT filter_contains('copy', ?)", ZOE))

    doc = "SELECT doc FROM kv WHERE name = ?"
    show("integers", *[scalar(db, "SELECT filter_contains('ids', ?)", id) for id in ASKED_IDS],
         scalar(db, doc, "big"), scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", "big"))
    show("text", scalar(db, doc, "note"), contains(db, ZOE),
         scalar(db, "SELECT node FROM ring WHERE key = ?", "Grüße 😀"))
    show("blob", scalar(db, doc, "raw").hex(),
         scalar(db, "SELECT doc FROM kv WHERE name = sha1(?)", "to be"))
    show("null", contains(db, None), scalar(db, doc, "nothing"),
         len(db.execute("SELECT email FROM seen WHERE email = ?", (None,)).fetchall()))

    with db:
        db.execute("INSERT INTO seen VALUES (?)", (HANA,))
        words = [
            refused("duplicate", "UNIQUE constraint failed: kv.name",
                    lambda: db.execute("INSERT INTO kv VALUES (?, ?)", ("greeting", "again"))),
            refused("NULL", "a filter can't hold NULL",
                    lambda: db.execute("INSERT INTO seen VALUES (?)", (None,))),
            refused("list", "does not know its keys",
                    lambda: db.execute("SELECT * FROM seen").fetchall()),
        ]
    show("refused", *words, contains(db, HANA))
    return db


def shell(path, script, text=None):
    command = ["sqlite3", "-batch", "-cmd", ".load " + EXTENSION, path]
    command += [script] if script else []
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def own_checks(db):
    own("iterdump() lists a filter's keys: an error",
        fails("does not know its keys", lambda: list(db.iterdump())))

    # What copies a database instead.
    db.execute("VACUUM INTO ?", (PATH + ".vacuum",))
    target = connect(PATH + ".backup")
    db.backup(target)
    target.close()
    shell(PATH + ".restored", None, shell(PATH, ".dump"))
    for way in ("vacuum", "backup", "restored"):
        copy = connect(f"{PATH}.{way}")
        own(f"a copy by {way} is whole",
            [scalar(copy, "SELECT cuckoo_check(?)", table) for table in TABLES[1:]] == ["ok"] * 4
            and contains(copy, ADA) == 1 and contains(copy, BOB) == 0
            and scalar(copy, "SELECT doc FROM kv WHERE name = 'raw'") == b"\x00\xff\x80")
        copy.close()

    cloned = subprocess.run(["sqlite3", "-batch", "-cmd", ".load " + EXTENSION, PATH,
                             f".clone {PATH}.clone"], capture_output=True, text=True)
    own("the shell's .clone: no such module",
        "no such module: cuckoo_filter" in cloned.stdout + cloned.stderr)

    # What no trigger sees, and what the triggers of a restored dump may not have seen.
    followed = connect(PATH + ".followed")
    followed.executescript("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);"
                           "CREATE VIRTUAL TABLE f USING cuckoo_filter(a, source = t(a),"
                           " triggers = on); INSERT INTO t VALUES (1, 'old')")
    with followed.blobopen("t", "a", 1) as blob:
        blob.write(b"new")
    own("blobopen() on a source: the filter lacks the value, 'check' says so",
        scalar(followed, "SELECT filter_contains('f', a) FROM t") == 0
        and "lacks 1" in scalar(followed, "SELECT cuckoo_check('f')"))
    followed.execute("INSERT INTO f(f) VALUES ('rebuild')")
    followed.execute("CREATE INDEX i ON t(a)")
    own("not where the column has an index", scalar(followed, "SELECT cuckoo_check('f')") == "ok"
        and fails("cannot open indexed column", lambda: followed.blobopen("t", "a", 1)))
    followed.close()
    shell(PATH + ".again", None, shell(PATH + ".followed", ".dump"))
    again = connect(PATH + ".again")
    own("a filter with triggers from a dump refuses until 'rebuild'",
        fails("restored from a dump", lambda: scalar(again, "SELECT filter_contains('f', 'new')")))
    again.execute("INSERT INTO f(f) VALUES ('rebuild')")
    own("and answers then", scalar(again, "SELECT filter_contains('f', 'new')") == 1)
    again.close()

    # Without filters iterdump() writes what can't be read back.
    plain = connect(":memory:")
    plain.execute("CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB')")
    dumped = "\n".join(plain.iterdump())
    own("iterdump() of a flash_kv can't be restored",
        fails("already exists", lambda: connect(":memory:").executescript(dumped)))

    own("SELECT * with a key", db.execute("SELECT * FROM seen WHERE email = ?", (ADA,)).fetchall()
        == [(ADA,)])
    own("UPSERT on a filter: an error", fails("UPSERT not implemented", lambda: db.execute(
        "INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING", (ADA,))))
    own("UPSERT on a flash_kv: an error", fails("UPSERT not implemented", lambda: db.execute(
        "INSERT INTO kv VALUES ('a', 1) ON CONFLICT(name) DO UPDATE SET doc = excluded.doc")))
    with db:
        ignored = db.execute("INSERT OR IGNORE INTO kv VALUES ('greeting', 'again')").rowcount
        replaced = db.execute("INSERT OR REPLACE INTO kv VALUES ('greeting', 'hello')").rowcount
    own("OR IGNORE and OR REPLACE instead", (ignored, replaced) == (0, 1))
    own("an image as str: an error that says so",
        fails("bind an image as a BLOB, not as TEXT", lambda: db.execute(
            "INSERT INTO copy(copy, email) VALUES ('import', ?)", ("image",))))


print("client: Python", sys.version.split()[0] + ", SQLite", sqlite3.sqlite_version)
own_checks(scenario())
