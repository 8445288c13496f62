"""run.sh's scenario by APSW: apsw_client.py DIRECTORY"""
import io

import apsw

from scenario import *


def connect():
    db = apsw.Connection(PATH)
    db.enableloadextension(True)
    db.loadextension(EXTENSION)
    db.enableloadextension(False)
    return db


def scalar(db, sql, *values):
    return next(db.cursor().execute(sql, values))[0]


def rows(db, sql, *values):
    return list(db.cursor().execute(sql, values))


def contains(db, email):
    return scalar(db, "SELECT filter_contains('seen', ?)", email)


def scenario():
    db = connect()
    cursor = db.cursor()
    cursor.execute(schema())
    show("tables", *[name for (name,) in cursor.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1")])

    with db:
        cursor.executemany("INSERT INTO users VALUES (?, ?)", USERS)
        cursor.executemany("INSERT INTO seen VALUES (?)", [(email,) for _, email in USERS])
        cursor.executemany("INSERT INTO ids VALUES (?)", [(id,) for id in IDS])
        cursor.executemany("INSERT INTO kv VALUES (?, ?)", PAIRS)
        cursor.execute("INSERT INTO kv(doc) VALUES (?)", ("to be",))
        cursor.executemany("INSERT INTO ring(node, weight) VALUES (?, ?)", NODES)
        cursor.executemany("INSERT INTO requests VALUES (?)", [(email,) for email in REQUESTS])
    show("inserts", *[scalar(db, f"SELECT count(*) FROM {table}") for table in TABLES])

    for row in cursor.execute("SELECT u.id, u.email FROM requests JOIN seen USING (email)"
                              " JOIN users u USING (email) ORDER BY u.id"):
        show("join", *row)
    show("in", *[email for (email,) in cursor.execute(
        "SELECT email FROM seen WHERE email IN (?, ?, ?) ORDER BY email", (ZOE, EVE, ADA))])

    deleted = []
    with db:
        for _ in range(2):
            cursor.execute("DELETE FROM seen WHERE email = ?", (BOB,))
            deleted.append(db.changes())
    show("delete", *deleted, contains(db, BOB))

    with db:
        cursor.execute("INSERT INTO seen VALUES (?)", (DORA,))
        try:
            with db:  # a savepoint, which the exception rolls back
                cursor.execute("INSERT INTO seen VALUES (?)", (FRED,))
                cursor.execute("DELETE FROM seen WHERE email = ?", (ADA,))
                cursor.execute("UPDATE kv SET doc = ? WHERE name = ?", ("bye", "greeting"))
                raise InterruptedError
        except InterruptedError:
            pass
    greeting = "SELECT doc FROM kv WHERE name = 'greeting'"
    show("savepoint", contains(db, DORA), contains(db, FRED), contains(db, ADA),
         scalar(db, greeting))

    second = connect()
    of_first = contains(second, DORA)
    with second:
        second.cursor().execute("INSERT INTO seen VALUES (?)", (GINA,))
    show("second connection", of_first, contains(db, GINA))
    second.close()
    db.close()

    db = connect()
    cursor = db.cursor()
    show("reopen", scalar(db, "SELECT count(*) FROM seen"), scalar(db, greeting),
         *[scalar(db, "SELECT cuckoo_check(?)", table) for table in TABLES[1:]])

    image = scalar(db, "SELECT filter_export('seen')")
    cursor.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", (image,))
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
         len(rows(db, "SELECT email FROM seen WHERE email = ?", None)))

    with db:
        cursor.execute("INSERT INTO seen VALUES (?)", (HANA,))
        words = [
            refused("duplicate", "UNIQUE constraint failed: kv.name",
                    lambda: rows(db, "INSERT INTO kv VALUES (?, ?)", "greeting", "again")),
            refused("NULL", "a filter can't hold NULL",
                    lambda: rows(db, "INSERT INTO seen VALUES (?)", None)),
            refused("list", "does not know its keys", lambda: rows(db, "SELECT * FROM seen")),
        ]
    show("refused", *words, contains(db, HANA))
    return db


def own_checks(db):
    copy = apsw.Connection(PATH + ".backup")
    with copy.backup("main", db, "main") as backup:
        backup.step()
    copy.enableloadextension(True)
    copy.loadextension(EXTENSION)
    own("a copy by backup() is whole",
        scalar(copy, "SELECT cuckoo_check('seen')") == "ok" and contains(copy, ADA) == 1)

    # APSW's shell dumps virtual tables as SQLite's own does.
    dumped = io.StringIO()
    apsw.Shell(stdout=dumped, db=db).process_command(".dump")
    restored = apsw.Connection(PATH + ".restored")
    restored.enableloadextension(True)
    restored.loadextension(EXTENSION)
    restored.cursor().execute(dumped.getvalue())
    restored.close()
    restored = apsw.Connection(PATH + ".restored")
    restored.enableloadextension(True)
    restored.loadextension(EXTENSION)
    own("a .dump by apsw.Shell is whole when the restored database is opened again",
        [scalar(restored, "SELECT cuckoo_check(?)", table) for table in TABLES[1:]] == ["ok"] * 4
        and contains(restored, ADA) == 1)


print("client: APSW", apsw.apswversion() + ", SQLite", apsw.sqlitelibversion())
own_checks(scenario())
