"""run.sh's scenario by the library sqlite-utils: sqlite_utils_client.py DIRECTORY"""
import json
import sqlite3
import subprocess
from importlib.metadata import version

import sqlite_utils

from scenario import *


def connect(path=PATH):
    db = sqlite_utils.Database(path)
    db.conn.enable_load_extension(True)
    db.conn.load_extension(EXTENSION)
    db.conn.enable_load_extension(False)
    return db


def scalar(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def contains(db, email):
    return db["seen"].count_where("email = ?", [email])


def scenario():
    db = connect()
    db.conn.executescript(schema())
    show("tables", *[name for name in sorted(db.table_names())
                     if name in ("copy", "ids", "kv", "ring", "seen")])

    db["users"].insert_all({"id": id, "email": email} for id, email in USERS)
    db["seen"].insert_all({"email": email} for _, email in USERS)
    db["ids"].insert_all({"id": id} for id in IDS)
    db["kv"].insert_all({"name": name, "doc": doc} for name, doc in PAIRS)
    db["kv"].insert({"doc": "to be"})
    db["ring"].insert_all({"node": node, "weight": weight} for node, weight in NODES)
    db["requests"].insert_all({"email": email} for email in REQUESTS)
    show("inserts", *[db[table].count for table in TABLES])

    for row in db.query("SELECT u.id, u.email FROM requests JOIN seen USING (email)"
                        " JOIN users u USING (email) ORDER BY u.id"):
        show("join", row["id"], row["email"])
    show("in", *[row["email"] for row in db["seen"].rows_where(
        "email IN (?, ?, ?)", [ZOE, EVE, ADA], order_by="email")])

    with db.conn:
        delete = "DELETE FROM seen WHERE email = ?"
        show("delete", db.execute(delete, [BOB]).rowcount, db.execute(delete, [BOB]).rowcount,
             contains(db, BOB))

    with db.conn:
        db.execute("INSERT INTO seen VALUES (?)", [DORA])
        db.execute("SAVEPOINT inside")
        db.execute("INSERT INTO seen VALUES (?)", [FRED])
        db.execute(delete, [ADA])
        db.execute("UPDATE kv SET doc = ? WHERE name = ?", ["bye", "greeting"])
        db.execute("ROLLBACK TO inside")
        db.execute("RELEASE inside")
    greeting = "SELECT doc FROM kv WHERE name = 'greeting'"
    show("savepoint", contains(db, DORA), contains(db, FRED), contains(db, ADA),
         scalar(db, greeting))

    second = connect()
    of_first = contains(second, DORA)
    second["seen"].insert({"email": GINA})
    show("second connection", of_first, contains(db, GINA))
    second.conn.close()
    db.conn.close()

    db = connect()
    show("reopen", db["seen"].count, scalar(db, greeting),
         *[scalar(db, "SELECT cuckoo_check(?)", table) for table in TABLES[1:]])

    image = scalar(db, "SELECT filter_export('seen')")
    with db.conn:
        db.execute("INSERT INTO copy(copy, email) VALUES ('import', ?)", [image])
    show("image", len(image) == scalar(db, "SELECT length(filter_export('seen'))"),
         scalar(db, "SELECT filter_contains(?, ?)", image, ADA),
         scalar(db, "SELECT filter_contains(?, ?)", image, BOB),
         db["copy"].count, db["copy"].count_where("email = ?", [ZOE]))

    doc = "SELECT doc FROM kv WHERE name = ?"
    show("integers", *[db["ids"].count_where("id = ?", [id]) for id in ASKED_IDS],
         scalar(db, doc, "big"), scalar(db, "SELECT typeof(doc) FROM kv WHERE name = ?", "big"))
    show("text", scalar(db, doc, "note"), contains(db, ZOE),
         scalar(db, "SELECT node FROM ring WHERE key = ?", "Grüße 😀"))
    show("blob", scalar(db, doc, "raw").hex(),
         scalar(db, "SELECT doc FROM kv WHERE name = sha1(?)", "to be"))
    show("null", scalar(db, "SELECT filter_contains('seen', ?)", None), scalar(db, doc, "nothing"),
         db["seen"].count_where("email = ?", [None]))

    with db.conn:
        db.execute("INSERT INTO seen VALUES (?)", [HANA])
        words = [
            refused("duplicate", "UNIQUE constraint failed: kv.name",
                    lambda: db.execute("INSERT INTO kv VALUES (?, ?)", ["greeting", "again"])),
            refused("NULL", "a filter can't hold NULL",
                    lambda: db.execute("INSERT INTO seen VALUES (?)", [None])),
            refused("list", "does not know its keys", lambda: list(db["seen"].rows)),
        ]
    show("refused", *words, contains(db, HANA))
    return db


def command(*arguments):
    done = subprocess.run(["sqlite-utils", *arguments], capture_output=True, text=True)
    return done.stdout + done.stderr


def own_checks(db):
    kv = db["kv"]
    own("rows without a key: an error; get() and rows_where() with one answer",
        fails("does not know its keys", lambda: list(db["seen"].rows))
        and db["seen"].get(ADA) == {"email": ADA}
        and list(db["seen"].rows_where("email = ?", [ADA])) == [{"email": ADA}])
    kv.upsert({"name": "greeting", "doc": "upsert"}, pk="name")
    own("upsert() on a flash_kv", kv.get("greeting")["doc"] == "upsert")
    kv.insert({"name": "greeting", "doc": "again"}, ignore=True)
    own("insert(ignore = True)", kv.get("greeting")["doc"] == "upsert")
    kv.insert({"name": "greeting", "doc": "hello"}, replace=True)
    own("insert(replace = True)", kv.get("greeting")["doc"] == "hello")
    before = db["seen"].count
    db["seen"].upsert_all([{"email": "kim@example.org"}] * 2, pk="email")
    own("upsert() on a filter adds each time", db["seen"].count == before + 2)

    load = ("--load-extension", EXTENSION)
    asked = command("query", PATH, "SELECT email FROM seen WHERE email = :key",
                    "-p", "key", ADA, *load)
    own("query --load-extension", json.loads(asked) == [{"email": ADA}])
    own("query without it: no such module", "no such module: cuckoo_filter" in command(
        "query", PATH, "SELECT count(*) FROM seen"))
    own("dump: an error, as it is iterdump()",
        "does not know its keys" in command("dump", PATH, *load))
    own("rows: an error", "does not know its keys" in command("rows", PATH, "seen", *load))


print("client: sqlite-utils", version("sqlite-utils") + ", SQLite", sqlite3.sqlite_version)
own_checks(scenario())
